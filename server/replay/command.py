"""What the commands replay and demo print, and the exit codes they give."""

import os
import time
from typing import Any

import click
import orjson
from rich.console import Console
from rich.progress import Progress

from core.errors import PlanRefused
from core.phases.display import shown
from core.runtimes.claude_file import UnknownFormat
from server.demo import figures, run_demo
from server.replay.run import replay
from server.replay.show import show

DONE, WRONG_INPUT = 0, 2
LONG_SECONDS = 1.0  # A replay that takes longer shows its progress.


def replay_command(
    file: str, plan: str | None, workspace: str | None, state: str | None, as_json: bool
) -> int:
    """Replay and print; 0 done, 2 for a file or a plan that cannot be used, named on stderr."""
    progress = _LateProgress()
    try:
        report = replay(file, plan, workspace, state, progress.update)
    except (UnknownFormat, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        click.echo(f"turnkeeper: {shown(file)}: {why}", err=True)
        return WRONG_INPUT
    except PlanRefused as refused:
        for line in _faults(plan or "", refused):
            click.echo(f"turnkeeper: {line}", err=True)
        return WRONG_INPUT
    finally:
        progress.close()
    if as_json:
        _print_json(report.to_json())
    else:
        show(report, Console(highlight=False))
    return DONE


def demo_command(as_json: bool) -> int:
    """Run the demo and print it; 0 done."""
    report = run_demo()
    if as_json:
        _print_json(figures(report))
    else:
        show(report, Console(highlight=False))
    return DONE


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


def _print_json(value: Any) -> None:
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2))


class _LateProgress:
    """A progress bar on stderr that appears only on a terminal and when it takes long."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._console = Console(stderr=True)
        self._bar: Progress | None = None

    def update(self, done: int, total: int) -> None:
        if self._bar is None:
            if not self._console.is_terminal or time.monotonic() - self._begin < LONG_SECONDS:
                return
            self._bar = Progress(console=self._console, transient=True)
            self._bar.add_task("replaying", total=total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
