"""The report on one corpus, beside others that read the same files; all in one run.

    python -m tests.bench.report SAMPLES [--peers NODE_MODULES]... [--megabytes 200] [--rounds 5]

SAMPLES holds cc-*.jsonl (tests/bench/corpus.py); a peer is looked for in each NODE_MODULES given.
"""

import argparse
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import orjson

from core.recordings.tail import Tail
from server.child import turnkeeper_argv
from tests.bench.corpus import MEGABYTES, Corpus, build, largest

ROUNDS = 5
RSS_MB_MAX = 100
LONG_LINE_CHARACTERS = 60 * 1024 * 1024
FILE_BYTES = 3_500_000
ADDED_BYTES = 20_000
UPDATES = 40
LOOK_SECONDS = 0.005  # From one look at the memory to the next.

OURS, BARE = "turnkeeper report --json", "python -c pass"
CCUSAGE, TOKSCALE = "ccusage session", "tokscale, cold cache"
CACHES = (".config", ".cache", ".local")  # Where a peer keeps what it has read, below the home.


class Cost(NamedTuple):
    """What one run took, its children included."""

    wall_s: float
    cpu_s: float
    rss_mb: float  # Of the largest process.
    exit_code: int


class Contender(NamedTuple):
    """One program that reads the corpus."""

    argv: list[str]
    environment: dict[str, str]
    before: Callable[[], object] = lambda: None


def main() -> int:
    """Print all tables; the exit code says whether every promise held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("samples")
    parser.add_argument("--peers", action="append", default=[], metavar="NODE_MODULES")
    parser.add_argument("--megabytes", type=int, default=MEGABYTES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    home = tempfile.mkdtemp(prefix="turnkeeper-bench-")
    try:
        size_bytes = options.megabytes * 1_000_000
        corpus = build(options.samples, os.path.join(home, ".claude"), size_bytes)
        held = [
            _beside_peers(home, corpus, options.peers, options.rounds),
            _memory(home, corpus),
            _update(home, largest(options.samples)),
        ]
    finally:
        shutil.rmtree(home)
    return 0 if all(held) else 1


def _beside_peers(home: str, corpus: Corpus, peers: list[str], rounds: int) -> bool:
    contenders = _contenders(home, corpus.projects, peers)
    costs: dict[str, list[Cost]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            contender.before()
            costs[name].append(_run(contender))
    walls = {
        name: statistics.median(cost.wall_s for cost in found) for name, found in costs.items()
    }
    cpus = {name: statistics.median(cost.cpu_s for cost in found) for name, found in costs.items()}
    print(
        f"{corpus.files} transcripts, {corpus.size_bytes:,} bytes, {corpus.lines:,} lines; "
        f"median of {rounds} interleaved rounds"
    )
    print(f"  {'':26} {'wall s':>7} {'CPU s':>7} {'wall':>7} {'CPU':>7}   times ours")
    for name, found in costs.items():
        failed = [cost.exit_code for cost in found if cost.exit_code]
        print(
            f"  {name:26} {walls[name]:7.2f} {cpus[name]:7.2f}"
            f" {walls[name] / walls[OURS]:7.2f} {cpus[name] / cpus[OURS]:7.2f}"
            + (f"   FAILED, exit code {failed[0]}" if failed else "")
        )
    held = not any(cost.exit_code for cost in costs[OURS])
    if CCUSAGE in costs:
        held &= _promise("at least 4 times faster than ccusage", walls[CCUSAGE] / walls[OURS], 4)
    if TOKSCALE in costs:
        held &= _promise("no more CPU than tokscale", cpus[TOKSCALE] / cpus[OURS], 1)
    return held


def _contenders(home: str, projects: str, peers: list[str]) -> dict[str, Contender]:
    plain = {"HOME": home, "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
    found = {
        BARE: Contender([sys.executable, "-c", "pass"], plain),
        OURS: Contender(turnkeeper_argv("report", projects, "--json"), _ours(home)),
    }
    ccusage = _first(peers, ".bin/ccusage")
    if ccusage:
        claude = {**plain, "CLAUDE_CONFIG_DIR": os.path.dirname(projects)}
        argv = [ccusage, "session", "--json", "--offline"]
        found[CCUSAGE] = Contender(argv, claude)
    tokscale = _first(peers, "@tokscale/cli-*/bin/tokscale")
    if tokscale:
        argv = [tokscale, "models", "--json", "--no-spinner", "--client", "claude"]
        found[TOKSCALE] = Contender(argv, plain, lambda: _forget(home))
    for name, path in ((CCUSAGE, ccusage), (TOKSCALE, tokscale)):
        print(f"{name}: {_version(path, plain) if path else 'not there, left out'}")
    return found


def _ours(home: str) -> dict[str, str]:
    """Give our own environment, without what keeps an installation from having its bytecode."""
    environment = {**os.environ, "HOME": home, "TURNKEEPER_STATE_DIR": os.path.join(home, "state")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment.pop("CLAUDE_CONFIG_DIR", None)
    return environment


def _first(folders: list[str], pattern: str) -> str | None:
    paths = [path for folder in folders for path in glob.glob(os.path.join(folder, pattern))]
    return os.path.abspath(paths[0]) if paths else None


def _version(path: str, environment: dict[str, str]) -> str:
    done = subprocess.run([path, "--version"], env=environment, capture_output=True, text=True)
    return done.stdout.strip() or f"--version gave {done.returncode}"


def _forget(home: str) -> None:
    for name in CACHES:
        shutil.rmtree(os.path.join(home, name), ignore_errors=True)


def _run(contender: Contender) -> Cost:
    start = time.perf_counter()
    process = _started(contender)
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu_s = usage.ru_utime + usage.ru_stime
    return Cost(wall_s, cpu_s, usage.ru_maxrss / 1024, process.returncode)


def _started(contender: Contender) -> "subprocess.Popen[bytes]":
    nothing = subprocess.DEVNULL
    return subprocess.Popen(
        contender.argv, env=contender.environment, stdout=nothing, stderr=nothing
    )


def _memory(home: str, corpus: Corpus) -> bool:
    long = os.path.join(home, "long.jsonl")
    with open(long, "w") as file:
        for text in ("go", "x" * LONG_LINE_CHARACTERS, "on"):
            message = {"role": "user", "content": text}
            row = {"type": "user", "sessionId": "s", "cwd": home, "uuid": text[:2]}
            file.write(json.dumps({**row, "message": message}) + "\n")
    held = True
    print(f"\nMemory of {OURS}, all its processes together")
    for name, target in (("the corpus", corpus.projects), ("a line of 60 MB", long)):
        peak_mb, exit_code = _peak_mb(
            Contender(turnkeeper_argv("report", target, "--json"), _ours(home))
        )
        failed = f"   FAILED, exit code {exit_code}" if exit_code else ""
        print(f"  {name:26} {peak_mb:7.0f} MB{failed}")
        held &= not exit_code and peak_mb <= RSS_MB_MAX
    print(f"  at most {RSS_MB_MAX} MB: {_word(held)}")
    return held


def _peak_mb(contender: Contender) -> tuple[float, int]:
    """Give the greatest sum of what the processes hold, shared pages counted once (Linux)."""
    process = _started(contender)
    peak_kb = 0
    while True:
        peak_kb = max(peak_kb, sum(_held_kb(pid) for pid in _family(process.pid)))
        try:
            return peak_kb / 1024, process.wait(LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            pass


def _family(pid: int) -> list[int]:
    family = [pid]
    for member in family:
        for children in glob.glob(f"/proc/{member}/task/*/children"):
            try:
                family += map(int, Path(children).read_text().split())
            except OSError:
                pass  # It ended just now.
    return family


def _held_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _update(home: str, sample: str) -> bool:
    """Measure what it takes to have the rows of 20 KB more, beside parsing these twice."""
    with open(sample, "rb") as file:
        lines = [line for line in file if line.endswith(b"\n")]
    path = os.path.join(home, "growing.jsonl")
    with open(path, "wb") as file:
        while file.tell() < FILE_BYTES:
            file.writelines(lines)
    tail = Tail(path, orjson.loads)
    for _ in tail.read():
        pass
    costs: dict[str, list[float]] = {"read by Tail": [], "parsed by json": [], "by orjson": []}
    source = iter(lines * UPDATES)
    for _ in range(UPDATES):
        added: list[bytes] = []
        while sum(map(len, added)) < ADDED_BYTES:
            added.append(next(source))
        with open(path, "ab") as file:
            file.writelines(added)
        costs["read by Tail"].append(_cpu_us(lambda: list(tail.read())))
        costs["parsed by json"].append(_cpu_us(partial(_parse, json.loads, added)))
        costs["by orjson"].append(_cpu_us(partial(_parse, orjson.loads, added)))
    print(f"\n{ADDED_BYTES:,} bytes more of {FILE_BYTES:,}, CPU, median of {UPDATES} updates")
    medians = {name: statistics.median(found) for name, found in costs.items()}
    for name, us in medians.items():
        print(f"  {name:26} {us:7.0f} us")
    limit = 2 * medians["parsed by json"] / medians["read by Tail"]
    return _promise("at most parsing them twice", limit, 1)


def _parse(loads: Callable[[bytes], object], lines: list[bytes]) -> None:
    for line in lines:
        loads(line)


def _cpu_us(work: Callable[[], object]) -> float:
    start = time.process_time_ns()
    work()
    return (time.process_time_ns() - start) / 1000


def _promise(name: str, ratio: float, ratio_min: float) -> bool:
    print(f"  {name}: {_word(ratio >= ratio_min)} ({ratio:.2f} of {ratio_min})")
    return ratio >= ratio_min


def _word(held: bool) -> str:
    return "yes" if held else "NO"


if __name__ == "__main__":
    sys.exit(main())
