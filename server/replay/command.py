"""What the commands replay and demo print, and the exit codes they give."""

import os
import shutil
import sys
import time
from contextlib import suppress
from typing import Any

import click
import orjson

from core.errors import PlanRefused
from core.phases.display import shown
from core.runtimes.claude_file import UnknownFormat
from server.demo import figures, run_demo
from server.replay.kept import StateInTheWay
from server.replay.report import Report
from server.replay.run import replay
from server.replay.show import picture_of

DONE, FAILED, WRONG_INPUT = 0, 1, 2
LONG_SECONDS = 0.5  # A replay that takes longer shows its progress.
PROGRESS_SECONDS = 0.1
PROGRESS_CELLS = 40


def replay_command(
    file: str, plan: str | None, workspace: str | None, state: str | None, as_json: bool
) -> int:
    """Replay and print; 0 done, 2 for a file, folder or plan that cannot be used, on stderr."""
    progress = _LateProgress()
    try:
        report = replay(file, plan, workspace, state, progress.update)
    except UnknownFormat as unknown:
        return _refuse(f"{shown(file)} {unknown.message}. {unknown.hint}")
    except StateInTheWay as refused:
        return _refuse(f"{shown(refused.message, 500)}; {refused.hint}.")
    except PlanRefused as refused:
        return _refuse(*_faults(plan or "", refused))
    except OSError as error:
        return _refuse(f"{shown(os.fsdecode(error.filename or file))}: {error.strerror}")
    finally:
        progress.close()
    return _print(report, report.to_json() if as_json else None)


def demo_command(as_json: bool) -> int:
    """Run the demo and print it; 0 done."""
    report = run_demo()
    return _print(report, figures(report) if as_json else None)


def _refuse(*lines: str) -> int:
    for line in lines:
        click.echo(f"turnkeeper: {line}", err=True)
    return WRONG_INPUT


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
        return _write(orjson.dumps(figures, option=orjson.OPT_INDENT_2) + b"\n")
    # A terminal that cannot show a character gets a question mark.
    return _write(picture_of(report).encode(sys.stdout.encoding, "replace"))


def _write(data: bytes) -> int:
    """Write to stdout; a reader that has seen enough is no failure."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except OSError as error:
        # Python would try again on leaving, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return DONE
        click.echo(f"turnkeeper: cannot write the output: {error.strerror}", err=True)
        return FAILED
    return DONE


class _LateProgress:
    """A bar on stderr that appears only on a terminal and when it takes long.

    It never hides the cursor and has no thread, so that a signal at any moment leaves a line of
    text at the worst.
    """

    def __init__(self) -> None:
        self._next = time.monotonic() + LONG_SECONDS if sys.stderr.isatty() else float("inf")
        self._columns = shutil.get_terminal_size().columns - 1  # A full line would wrap.
        self._shown = 0  # Columns that are taken.

    def update(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + PROGRESS_SECONDS
        cells = PROGRESS_CELLS * done // total if total else 0
        bar = f"[{'#' * cells:.<{PROGRESS_CELLS}}] {done / total:4.0%}" if total else "reading"
        self._draw(f"replaying {bar}"[: self._columns])

    def close(self) -> None:
        if self._shown:
            self._draw("")
            self._draw("")

    def _draw(self, line: str) -> None:
        # A signal may come at any point: what is perhaps drawn counts as taken.
        taken, self._shown = self._shown, max(self._shown, len(line))
        with suppress(OSError):  # A terminal that has gone needs no bar.
            click.echo(f"\r{line:<{taken}}", nl=False, err=True)
        self._shown = len(line)
