"""Many recordings in one report: each message counts once, and nothing is lost or left behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from server.report import gather as gather_module
from server.report.apart import apart
from server.report.fold import Detail, Folded, fold
from server.report.gather import NOTES_MAX, gather
from tests.core.runtimes.claude.given import written
from tests.server.recorded import answer, report, rollout, session_id, stamped, turn, write

Json = Any

PARENT = [*turn("1", answer("m1", 10)), *turn("2", answer("m2", 20))]
OWN = turn("3", answer("m3", 40))


def used(told: dict[str, Json], session: int) -> list[tuple[int, int, int]]:
    """Give output, messages and inherited messages of a session's turns."""
    (found,) = [one for one in told["sessions"] if one["sessionId"] == session_id(session)]
    usages = [turn.get("usage", {}) for turn in found["turns"]]
    return [(u.get("output", 0), u.get("messages", 0), u.get("inherited", 0)) for u in usages]


def sums(told: dict[str, Json]) -> tuple[int, int]:
    return told["totals"]["output"], told["totals"]["messages"]


@pytest.mark.parametrize("folders", [("p", "p"), ("p", "q")], ids=["beside", "elsewhere"])
def test_u05_a_forks_copy_of_its_parents_rows_is_inherited_and_adds_nothing(
    tmp_path: Path, folders: tuple[str, str]
) -> None:
    parent = write(tmp_path / folders[0], 1, PARENT)
    rows = [*stamped(PARENT, sessionId=session_id(1)), *stamped(OWN, 60, sessionId=session_id(2))]
    fork = written(tmp_path / folders[1] / f"{session_id(2)}.jsonl", *rows)
    told = report(fork, parent, home=tmp_path)

    assert used(told, 1) == [(10, 1, 0), (20, 1, 0)]
    named = {turn["turnId"]: turn["usage"] for turn in told["sessions"][-1]["turns"]}
    assert [named[name].get("inherited", 0) for name in ("1", "2", "3")] == [1, 1, 0]
    assert [named[name]["output"] for name in ("1", "2", "3")] == [0, 0, 40]
    assert sums(told) == (70, 3)


def test_u05_a_copy_under_the_forks_own_name_belongs_to_the_session_that_began_first(
    tmp_path: Path,
) -> None:
    # The fork's path comes first; its rows are younger.
    fork = write(tmp_path / "a", 2, [*PARENT, *OWN], start=500)
    parent = write(tmp_path / "b", 1, PARENT, start=100)

    for paths in ([fork, parent], [parent, fork]):
        told = report(*paths, home=tmp_path)
        assert [one["sessionId"] for one in told["sessions"]] == [session_id(1), session_id(2)]
        assert used(told, 1) == [(10, 1, 0), (20, 1, 0)]
        assert used(told, 2) == [(0, 0, 1), (0, 0, 1), (40, 1, 0)]
        assert sums(told) == (70, 3)


def test_u06_a_resumed_session_goes_on_in_its_own_file_and_counts_whole(tmp_path: Path) -> None:
    # Other programs copy files, so that ids within are not the file's: then it is counted.
    rows = stamped([*PARENT, *OWN], sessionId=session_id(9))
    path = written(tmp_path / f"{session_id(1)}.jsonl", *rows)

    assert sums(report(path, home=tmp_path)) == (70, 3)


def test_a_sub_agents_messages_are_owned_once_too(tmp_path: Path) -> None:
    paths = []
    for number, start in ((2, 500), (1, 100)):
        paths.append(write(tmp_path, number, PARENT[:2], start))
        side = tmp_path / session_id(number) / "subagents" / "agent-a1.jsonl"
        more = {"sessionId": session_id(number), "agentId": "a1", "isSidechain": True}
        written(side, *stamped(turn("s", answer("side", 7)), start, **more))
    told = report(*paths, home=tmp_path)

    first, second = (one["subagents"][0]["usage"] for one in told["sessions"])
    assert (first["output"], second["output"]) == (7, 0)
    assert sums(told) == (17, 2)


def test_a_file_that_cannot_be_used_is_named_and_the_rest_is_right(tmp_path: Path) -> None:
    good = write(tmp_path, 1, PARENT)
    other = tmp_path / "other.jsonl"
    other.write_text('{"level": "info"}\n')
    gone = tmp_path / "gone.jsonl"
    locked = tmp_path / "folder.jsonl"
    locked.mkdir()
    with open(good, "a", encoding="utf-8") as file:
        file.write('{"cut off\n[1]\n')
    told = report(str(other), good, str(gone), str(locked), home=tmp_path)

    assert sums(told) == (30, 2)
    assert (told["files"], told["unreadableLines"], len(told["sessions"])) == (4, 2, 1)
    wanted = "; wanted is the recording of an agent's session"
    notes = [note.removeprefix(f"{tmp_path}/") for note in told["notes"]]
    assert sorted(notes) == [
        f"{session_id(1)}.jsonl:5: is not JSON",
        f"{session_id(1)}.jsonl:6: is a JSON array, not an object",
        f"folder.jsonl is no regular file, and it would be read twice{wanted}",
        "gone.jsonl cannot be read: No such file or directory",
        f"other.jsonl seems to be JSON lines of another program{wanted}",
    ]


def test_notes_are_as_many_as_people_read(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{number}.jsonl") for number in range(NOTES_MAX + 5)]

    notes = report(*paths, home=tmp_path)["notes"]
    assert len(notes) == NOTES_MAX + 1
    assert notes[-1] == "5 more notes"


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    claude = [
        write(tmp_path / f"p{number % 2}", number, [*PARENT[: number % 5], *OWN], number * 50)
        for number in range(1, 8)
    ]
    return [*claude, rollout(tmp_path / "rollout.jsonl", session_id(99), 2), str(tmp_path / "gone")]


@pytest.fixture
def apart_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather_module, "PARALLEL_BYTES_MIN", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)


def test_read_apart_and_read_here_give_the_same_report(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = report(*files, home=tmp_path, pictures=True)
    monkeypatch.setattr(gather_module, "PARALLEL_BYTES_MIN", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)

    assert report(*files, home=tmp_path, pictures=True) == here
    assert report(*reversed(files), home=tmp_path, pictures=True) == here


def test_the_progress_ends_at_all_the_bytes(
    files: list[str], tmp_path: Path, apart_always: None
) -> None:
    seen: list[tuple[int, int]] = []
    gather(files, str(tmp_path), Detail(), lambda done, total: seen.append((done, total)))

    size = sum(os.path.getsize(path) for path in files if os.path.exists(path))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert (len(seen), seen[-1]) == (len(files), (size, size))


def test_what_a_process_that_died_did_not_read_is_read(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = report(*files, home=tmp_path)
    parent = os.getpid()

    def fold_or_die(path: str, *rest: Any) -> Folded:
        if path == files[2] and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return fold(path, *rest)

    monkeypatch.setattr(gather_module, "fold", fold_or_die)
    monkeypatch.setattr(gather_module, "PARALLEL_BYTES_MIN", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert report(*files, home=tmp_path) == here


def test_what_pieces_give_comes_whole_however_large() -> None:
    large = ["x" * 3_000_000, "", "y"]

    assert sorted(apart([lambda: large, lambda: ["z"], list])) == sorted([*large, "z"])


def test_a_caller_that_has_enough_leaves_no_process() -> None:
    pids: set[int] = set()
    with closing(apart([_endless, _endless])) as coming:  # type: ignore[type-var]  # A generator.
        while len(pids) < 2:
            pids.add(next(coming))

    assert [pid for pid in pids if _is_there(pid)] == []


def test_a_process_that_cannot_be_started_leaves_none_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pids: list[int] = []
    fork = os.fork

    def fork_once() -> int:
        if pids:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        pids.append(fork())
        return pids[0]

    monkeypatch.setattr(os, "fork", fork_once)
    with pytest.raises(BlockingIOError):
        list(apart([_endless, _endless]))

    left = [pid for pid in pids if _is_there(pid)]
    for pid in left:  # Only where this fails.
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert left == []


def _endless() -> Iterator[int]:
    while True:
        yield os.getpid()


WAITS = """\
import os, signal, sys
from server.report.apart import apart

def wait():
    os.write(1, b"%d\\n" % os.getpid())
    yield signal.pause()

list(apart([wait, wait]))
"""


@pytest.mark.parametrize("to_all", [True, False], ids=["terminal", "parent alone"])
def test_ctrl_c_leaves_no_process(to_all: bool) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        pids = [int(process.stdout.readline()) for _ in range(2)]
        (os.killpg if to_all else os.kill)(process.pid, signal.SIGINT)
        process.wait(timeout=10)
        left = [pid for pid in pids if _is_there(pid)]
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # Only where this fails.
        log = process.stderr.read() if process.stderr else b""

    assert left == []
    assert process.returncode != 0
    assert log.count(b"KeyboardInterrupt") == 1


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_sub_agents_file_that_cannot_be_read_is_named_and_its_session_told(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, 1, turn("1", answer("m1", 5)))
    side = tmp_path / session_id(1) / "subagents" / "agent-aa.jsonl"
    side.parent.mkdir(parents=True)
    os.mkfifo(side)

    told = report(path, home=tmp_path)

    assert (told["totals"]["output"], told["unreadableLines"]) == (5, 0)
    assert [note for note in told["notes"] if "agent-aa.jsonl: cannot be read" in note]


def test_what_only_the_copied_session_s_sub_agent_did_still_counts(tmp_path: Path) -> None:
    rows = turn("1", answer("m1", 5))
    own = write(tmp_path / "b", 2, rows)
    more = {"agentId": "aa", "isSidechain": True, "sessionId": session_id(2)}
    written(
        tmp_path / "b" / session_id(2) / "subagents" / "agent-aa.jsonl",
        *stamped(turn("s", answer("side", 7)), 3, **more),
    )
    backup = write(tmp_path / "a", 1, rows)

    told = report(backup, own, home=tmp_path)

    assert (told["totals"]["output"], told["totals"]["messages"]) == (12, 2)
    assert set(told["totals"]["bySubagent"]) == {"aa"}


def test_the_same_rollout_twice_counts_once(tmp_path: Path) -> None:
    path = Path(rollout(tmp_path / "rollout-a.jsonl", "thread-a", 2))
    copy = tmp_path / "backup" / path.name
    copy.parent.mkdir()
    copy.write_bytes(path.read_bytes())

    once = report(str(path), home=tmp_path)
    twice = report(str(path), str(copy), home=tmp_path)

    assert once["totals"]["messages"] > 0
    assert twice["totals"] == once["totals"]
