"""`make bench`: what our promises about speed rest on, as ratios within one run."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from tests.bench.servers import COMMANDS, INITIALIZE, Running, frame, spawn_seconds

MESSAGES = 20_000
ROUNDS = 3
SPAWNS = 9
NANOSECONDS_PER_US = 1_000

STOCK = "stock pygls, typed"
OURS = "turnkeeper"


def main() -> int:
    """Print both tables; the exit code says whether the promises held."""
    root = tempfile.mkdtemp(prefix="turnkeeper-bench-")
    try:
        hot = _hot_path(root)
        spawn = _spawn(root)
    finally:
        shutil.rmtree(root)
    return 0 if hot and spawn else 1


def _hot_path(root: str) -> bool:
    data = _tool_calls()
    rounds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for number in range(ROUNDS):
        for name, figures in rounds.items():
            state_root = os.path.join(root, f"hot-{number}-{len(figures)}-{name[:4]}")
            figures.append(_cpu_us_per_message(name, state_root, data))
    medians = {name: statistics.median(figures) for name, figures in rounds.items()}
    print(f"CPU per toolCall notification, {MESSAGES:,} streamed, median of {ROUNDS} rounds;")
    print("turnkeeper with journal and accounting on")
    for name, us in medians.items():
        print(f"  {name:20} {us:7.1f} us   {medians[STOCK] / us:5.1f} x less than stock")
    held = medians[STOCK] >= 3 * medians[OURS]
    print(f"  at least 3 x less than stock: {_word(held)}\n")
    return held


def _cpu_us_per_message(name: str, state_root: str, data: bytes) -> float:
    with Running(name, state_root) as server:
        server.request("initialize", INITIALIZE)
        server.send(frame({"method": "initialized", "params": {}}))
        if name == OURS:
            start = {"sessionId": "bench", "runtime": "claude_code", "workspace": state_root}
            server.request("turnkeeper/sessionStart", start)
        server.fence()
        before = server.cpu_ns()
        server.send(data)
        server.fence()
        return (server.cpu_ns() - before) / NANOSECONDS_PER_US / MESSAGES


def _tool_calls() -> bytes:
    frames = []
    for number in range(MESSAGES):
        params = {
            "sessionId": "bench",
            "toolUseId": f"toolu_{number:08}",
            "name": ("Bash", "Read", "mcp__github__list_issues")[number % 3],
            "input": {"command": "grep -rn pattern src", "description": "Look for it " * 8},
        }
        frames.append(frame({"method": "turnkeeper/toolCall", "params": params}))
    return b"".join(frames)


def _spawn(root: str) -> bool:
    measures: dict[str, Callable[[], float]] = {
        "python -c pass": _bare_python,
        STOCK: lambda: spawn_seconds(STOCK, root),
        OURS: lambda: spawn_seconds(OURS, os.path.join(root, "spawn")),
    }
    figures: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(SPAWNS):
        for name, measure in measures.items():
            figures[name].append(measure())
    medians = {name: statistics.median(found) for name, found in figures.items()}
    ratios = [ours / stock for ours, stock in zip(figures[OURS], figures[STOCK], strict=True)]
    print(f"Spawn to the answer to initialize, wall, median of {SPAWNS} interleaved runs")
    for name, seconds in medians.items():
        print(f"  {name:20} {seconds * 1000:7.1f} ms   {seconds / medians[STOCK]:5.2f} x stock")
    held = statistics.median(ratios) <= 1.2
    print(f"  at most 1.2 x stock: {_word(held)} (median of pairs {statistics.median(ratios):.2f})")
    return held


def _bare_python() -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - start


def _word(held: bool) -> str:
    return "yes" if held else "NO"


if __name__ == "__main__":
    sys.exit(main())
