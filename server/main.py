"""Runs the command line and turns every way it can end into an exit code."""

import os
import sys
import traceback
from typing import Any

from core.errors import InvalidParams, PlanRefused, Refusal
from core.store.failures import StoreError

OK = 0
FAILED = 1
UNUSABLE = 2
INTERRUPTED = 130

# What programs start; every other spelling is read by click, which takes its time to load.
PLAIN_STATUSLINE = ["statusline"]  # Claude Code calls it with every message.
PLAIN = (["serve"], ["serve", "--stdio"], PLAIN_STATUSLINE)


def main(argv: list[str]) -> int:
    """Run one command: 0 done, 1 failed or refused, 2 unusable input, 130 stopped by Ctrl-C.

    A command may return its exit code; None is 0. With --json a refusal is printed as JSON too.
    """
    try:
        code = _plain(argv) if argv in PLAIN else _run(argv)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Refusal as refusal:
        _refuse(refusal, as_json="--json" in argv)
        return UNUSABLE if isinstance(refusal, PlanRefused | InvalidParams) else FAILED
    except StoreError as error:
        _say(str(error), "Make room or mend the folder; TURNKEEPER_STATE_DIR names another one.")
        return FAILED
    except Exception as bug:
        _say_bug(bug)
        return FAILED
    return code if isinstance(code, int) else OK


def _plain(argv: list[str]) -> int:
    if argv == PLAIN_STATUSLINE:
        from server.statusline import Style, print_statusline

        print_statusline(Style(), as_json=False)
        return OK
    from server.start import serve_stdio

    return serve_stdio(None, None)


def _run(argv: list[str]) -> object:
    import click

    from server.cli import cli

    try:
        return cli.main(args=argv, prog_name="turnkeeper", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return INTERRUPTED


def _refuse(refusal: Refusal, *, as_json: bool) -> None:
    if as_json:
        from server.errors import error_of
        from server.jsontext import dump

        sys.stdout.write(dump({"error": error_of(refusal)}).decode() + "\n")
        return
    if not refusal.problems:
        _say(refusal.message, refusal.hint)
        return
    count = len(refusal.problems)
    _say(f"the plan has {count} fault{'s' if count > 1 else ''}; nothing has changed", "")
    for problem in refusal.problems:
        place = f"line {_from_one(problem, 'line')}, column {_from_one(problem, 'column')}"
        mend = f" {problem['mend']}" if problem.get("mend") else ""
        sys.stderr.write(f"  {place}: {problem['message']}.{mend}\n")


def _from_one(problem: dict[str, Any], name: str) -> int:
    return int(problem[name]) + 1  # People count from 1.


def _say(message: str, hint: str) -> None:
    sys.stderr.write(f"turnkeeper: {message}\n")
    if hint:
        sys.stderr.write(f"  {hint}\n")


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
