"""Runs the command line and turns every way it can end into an exit code."""

import os
import traceback

import click

from core.errors import Refusal
from server.cli import cli

OK = 0
FAILED = 1
INTERRUPTED = 130


def main(argv: list[str]) -> int:
    """Run one command: 0 done, 1 failed or refused, 2 wrong usage, 130 stopped by Ctrl-C.

    A command may return its exit code; None is 0.
    """
    try:
        code = cli.main(args=argv, prog_name="turnkeeper", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Refusal as refusal:
        _say(refusal.message, refusal.hint)
        return FAILED
    except Exception as bug:
        _say_bug(bug)
        return FAILED
    return code if isinstance(code, int) else OK


def _say(message: str, hint: str) -> None:
    click.echo(f"turnkeeper: {message}", err=True)
    if hint:
        click.echo(f"  {hint}", err=True)


def _say_bug(bug: Exception) -> None:
    """Name the place, not the message: that may hold the text of a prompt or a file."""
    if os.environ.get("TURNKEEPER_DEBUG") == "1":
        traceback.print_exception(bug)
        return
    frame = traceback.extract_tb(bug.__traceback__)[-1]
    place = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    _say(
        f"internal error: {type(bug).__name__} at {place}",
        "This is a bug in Turnkeeper. TURNKEEPER_DEBUG=1 shows the whole traceback.",
    )
