"""Checks the report of recordings against a count of its own, and prints the estimate's error.

    python -m tests.bench.samples FOLDER

Exit code 1 when a total differs. The count knows nothing of the readers: the last row of each
message id for Claude Code, the last running total for Codex.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from server.report.fold import Detail
from server.report.gather import gather

Json = Any
NAMES = ("input", "output", "cacheRead", "cacheCreation")


def counted(path: Path) -> dict[str, int] | None:
    """Count the usage in a recording; None when it reports none."""
    claude: dict[str, Json] = {}
    codex: dict[str, int] = {}
    for number, row in enumerate(_rows(path)):
        payload = row.get("payload")
        if isinstance(payload, dict) and payload.get("type") == "token_count":
            info = payload.get("info") or {"last_token_usage": payload}
            if "total_token_usage" in info:
                codex = info["total_token_usage"]
            else:
                last = info.get("last_token_usage") or {}
                codex = {
                    name: codex.get(name, 0) + tokens
                    for name, tokens in last.items()
                    if name.endswith("_tokens")
                }
        for message, name in _messages(row, number):
            claude[name] = message["usage"]
    if codex:
        cached = codex.get("cached_input_tokens", 0)
        figures = (codex["input_tokens"] - cached, codex["output_tokens"], cached, 0)
        return dict(zip(NAMES, figures, strict=True))
    if not claude:
        return None
    keys = (
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    )
    sums = [sum(usage.get(key) or 0 for usage in claude.values()) for key in keys]
    return dict(zip(NAMES, sums, strict=True))


def _rows(path: Path) -> Iterator[dict[str, Json]]:
    for line in path.read_bytes().splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row


def _messages(row: dict[str, Json], number: int) -> Iterator[tuple[dict[str, Json], str]]:
    """Give the assistant messages of a row, a sub-agent's progress row included."""
    data = row.get("data")
    inner = data.get("message") if isinstance(data, dict) else None
    for holder in (row, inner if isinstance(inner, dict) else {}):
        message = holder.get("message")
        if holder.get("type") == "assistant" and isinstance(message, dict):
            usage = isinstance(message.get("usage"), dict)
            if usage and message.get("model") != "<synthetic>":
                yield message, message.get("id") or holder.get("requestId") or f"row {number}"


def _quiet(_done: int, _total: int) -> None:
    pass


def main(folder: str) -> int:
    """Print a line a file; give the exit code."""
    wrong = 0
    print(f"{'file':48} {'output':>9} {'as counted':>10}  error of the estimate")
    for path in sorted(Path(folder).glob("*.jsonl")):
        report = gather([str(path)], "/nonexistent", Detail(), _quiet)
        if not report["sessions"]:
            print(f"{path.name:48} {report['notes'][0].rpartition('/')[2]}")
            continue
        totals, right = report["totals"], counted(path) or dict.fromkeys(NAMES, 0)
        same = all(totals[name] == right[name] for name in NAMES)
        wrong += not same
        error = report["sessions"][0].get("estimator")
        told = "not measured"
        if error is not None:
            told = f"median {error['median']:.0%}, p90 {error['p90']:.0%} of {error['samples']}"
        sign = "=" if same else "DIFFERS"
        print(f"{path.name:48} {totals['output']:>9} {right['output']:>10} {sign} {told}")
        for turn in report["sessions"][0]["turns"]:
            found = turn.get("reconciliation")
            if found and (found["remainder"] < 0) != found["overcount"]:
                wrong += 1
                print(f"  turn {turn['turnId']}: a negative remainder is not called overcount")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
