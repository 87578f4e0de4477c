"""Several processes append to one session at once; one of them may be killed."""

import os
import subprocess
import sys
from pathlib import Path

from tests.core.store.support import expected_ids, journal_lines, opened, receipt_ids

REPOSITORY = Path(__file__).resolve().parents[3]
FACTS = 500
PROGRAM = """
import sys
from pathlib import Path
from core.store.failures import Moved
from tests.core.store.support import fact, opened

root, who, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store, found = opened(root)
seen = [line["name"] for line in found.lines]
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    while True:
        try:
            lines = store.append([fact(f"{who}-{number}", receipts=number % 3)], sync=False)
            break
        except Moved:
            seen += [line["name"] for line in store.catch_up().lines]
    seen += [line["name"] for line in lines]
    if number % 100 == 99:
        store.write_checkpoint({"names": seen})
    print(number, flush=True)
"""


def started(root: Path, who: str, count: int = FACTS) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(root), who, str(count)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


def test_two_processes_lose_and_double_no_fact_and_no_receipt(tmp_path: Path) -> None:
    processes = [started(tmp_path, who) for who in "ab"]
    for process in processes:
        ready(process)
    for process in processes:
        go(process)
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0

    lines = journal_lines(tmp_path)
    assert [line["seq"] for line in lines] == list(range(1, 2 * FACTS + 1))
    for who in "ab":
        mine = [line["name"] for line in lines if line["name"].startswith(who)]
        assert mine == [f"{who}-{number}" for number in range(FACTS)]
    assert receipt_ids(tmp_path) == expected_ids(lines)
    found = opened(tmp_path)[1]
    assert found.state is not None
    assert found.faults == []
    assert [*found.state["names"], *[line["name"] for line in found.lines]] == [
        line["name"] for line in lines
    ]


def test_a_process_killed_among_others_leaves_no_hole(tmp_path: Path) -> None:
    victim, other = started(tmp_path, "victim", 100_000), started(tmp_path, "other", 100)
    for process in (victim, other):
        ready(process)
        go(process)
    assert victim.stdout is not None
    while int(victim.stdout.readline()) < 60:
        pass
    victim.kill()
    victim.communicate(timeout=60)
    other.communicate(timeout=60)
    assert other.returncode == 0

    opened(tmp_path)
    lines = journal_lines(tmp_path)
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert receipt_ids(tmp_path) == expected_ids(lines)
