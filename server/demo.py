"""The demo: a recorded session that the program carries, replayed with a plan of two phases."""

import os
from typing import Any

from server.replay.report import Report
from server.replay.run import replay

_DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "demo_data")


def run_demo() -> Report:
    """Replay the carried recording; the errors are those of `replay`."""
    return replay(
        os.path.join(_DATA, "session.jsonl"),
        plan=os.path.join(_DATA, "plan.yaml"),
        workspace=os.path.join(_DATA, "workspace"),
    )


def figures(report: Report) -> dict[str, Any]:
    """Give what `demo --json` prints: a replay's figures, with turns as a number."""
    return {**report.to_json(), "turns": len(report.turns)}
