"""What the commands replay and demo print, and the exit codes they give."""

import os
import sys
from typing import Any

import orjson

from core.errors import PlanRefused
from core.phases.display import shown
from core.recordings.contract import UnknownFormat
from server.demo import figures, run_demo
from server.output import refuse, write
from server.progress import LateProgress
from server.replay.kept import StateInTheWay
from server.replay.report import Report
from server.replay.run import replay
from server.replay.show import picture_of


def replay_command(
    file: str, plan: str | None, workspace: str | None, state: str | None, as_json: bool
) -> int:
    """Replay and print; 0 done, 2 for a file, folder or plan that cannot be used, on stderr."""
    progress = LateProgress("replaying")
    try:
        report = replay(file, plan, workspace, state, progress.update)
    except UnknownFormat as unknown:
        return refuse(f"{shown(file)} {unknown.message}. {unknown.hint}")
    except StateInTheWay as refused:
        return refuse(f"{shown(refused.message, 500)}; {refused.hint}.")
    except PlanRefused as refused:
        return refuse(*_faults(plan or "", refused))
    except OSError as error:
        return refuse(f"{shown(os.fsdecode(error.filename or file))}: {error.strerror}")
    finally:
        progress.close()
    return _print(report, report.to_json() if as_json else None)


def demo_command(as_json: bool) -> int:
    """Run the demo and print it; 0 done."""
    report = run_demo()
    return _print(report, figures(report) if as_json else None)


def _faults(plan: str, refused: PlanRefused) -> list[str]:
    name = shown(os.path.basename(plan))
    found: list[Any] = list(refused.problems)
    if not found:
        return [f"{name}: {refused.message}"]
    return [
        f"{name}:{fault['line'] + 1}:{fault['column'] + 1}: {fault['message']}"
        + (f" ({fault['mend']})" if fault.get("mend") else "")
        for fault in found
    ]


def _print(report: Report, figures: Any) -> int:
    """Print the figures as JSON, or without them the report for people."""
    if figures is not None:
        return write(orjson.dumps(figures, option=orjson.OPT_INDENT_2) + b"\n")
    # A terminal that cannot show a character gets a question mark.
    return write(picture_of(report).encode(sys.stdout.encoding, "replace"))
