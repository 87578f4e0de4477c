"""The command line: `turnkeeper serve` for hosts and editors, the rest for people and scripts."""

import os
import sys
from typing import Any

import click
import orjson

from handlers.version import VERSION
from server.cli_replay import demo, replay
from server.cli_report import report
from server.log import clean

NEXT_STEPS = """\
Turnkeeper tells what entered an agent's context, and lets a turn end only when its plan says so.

Next steps:
  1. turnkeeper demo                    see it at work on a recorded session
  2. turnkeeper report FILE.jsonl       see what filled the context of a session of yours
  3. turnkeeper serve                   what an editor or an agent host starts, over stdio

All commands: turnkeeper --help
"""

EXIT_CODES = (
    "Exit codes: 0 done, 1 refused or failed, 2 wrong usage or unreadable input, 130 Ctrl-C."
)

_SESSION = click.option(
    "--session",
    "session_id",
    metavar="ID",
    envvar="TURNKEEPER_SESSION_ID",
    required=True,
    callback=lambda _context, _option, value: _real_id(value),
    help="Id of the agent's session, as its host names it.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object for programs.")


@click.group(
    invoke_without_command=True,
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(VERSION)
@click.pass_context
def cli(context: click.Context) -> None:
    """What entered the context this turn, and may the turn end? A sidecar for agent sessions."""
    if context.invoked_subcommand is None:
        click.echo(NEXT_STEPS, nl=False)


@cli.command(epilog=EXIT_CODES, short_help="Serve one editor or host over stdio.")
@click.option("--stdio", is_flag=True, help="Talk over stdin and stdout; the only way there is.")
@click.option(
    "--clientProcessId",
    "client_process_id",
    type=click.IntRange(min=1),
    metavar="PID",
    help="End when this process is gone.",
)
@click.option(
    "--log-file", type=click.Path(dir_okay=False), help="Write the log there, not to stderr."
)
def serve(stdio: bool, client_process_id: int | None, log_file: str | None) -> int:
    """Serve one editor or host over stdio (LSP frames, JSON-RPC 2.0)."""
    from server.start import serve_stdio

    return serve_stdio(client_process_id, log_file)


@cli.command(epilog=EXIT_CODES, short_help="Freeze a plan and carry it out in a session.")
@click.option("--plan", "path", required=True, metavar="PLAN", help="The plan file (YAML).")
@_SESSION
@_JSON
def arm(path: str, session_id: str, as_json: bool) -> None:
    """Freeze a plan and carry it out in a session, from its first phase on.

    From then on a turn of that session may end only when its phase is done: the required skills
    were really opened and the artifacts are there.
    """
    from server.acts import arm_plan

    state, unseen = arm_plan(session_id, os.path.abspath(path))
    _warn_unseen(session_id, unseen)
    _show(state, as_json)


@cli.command(epilog=EXIT_CODES, short_help="Say that a session needs no plan.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; it goes into the receipts.")
@_SESSION
@_JSON
def decline(reason: str, session_id: str, as_json: bool) -> None:
    """Say that this session needs no plan.

    A plan that is armed is declined only by a human, who types a phrase on the terminal.
    """
    from server.acts import decline_plan

    state, unseen = decline_plan(session_id, reason)
    _warn_unseen(session_id, unseen)
    _show(state, as_json)


@cli.command(epilog=EXIT_CODES, short_help="Show where a session stands in its plan.")
@_SESSION
@_JSON
def status(session_id: str, as_json: bool) -> None:
    """Show where a session stands in its plan, and what is still missing."""
    from server.acts import plan_status

    state, unseen = plan_status(session_id)
    _warn_unseen(session_id, unseen)
    _show(state, as_json)


@cli.command(epilog=EXIT_CODES, short_help="List receipts, oldest first.")
@click.option("--session", "session_id", metavar="ID", help="Only those of this session.")
@click.option("--task", "task_id", metavar="ID", help="Only those of this task.")
@click.option(
    "--since", type=click.IntRange(min=0), help="Only those after this seq; with --session."
)
@click.option("--limit", type=click.IntRange(min=1), help="At most this many.")
@_JSON
def receipts(
    session_id: str | None,
    task_id: str | None,
    since: int | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """List receipts, oldest first: one JSON object a line, or all in one object with --json."""
    from server.acts import read_receipts

    if since is not None and session_id is None:
        raise click.UsageError("--since counts within one session: give --session too.")
    answer = read_receipts(session_id, task_id, since, limit)
    if as_json:
        _print_json(answer)
        return
    for receipt in answer["receipts"]:
        click.echo(orjson.dumps(receipt).decode())
    for fault in answer["unreadable"]:
        click.echo(f"line {fault['line']} of the ledger is set aside: {fault['why']}", err=True)


@cli.command(epilog=EXIT_CODES, short_help="Remove what is kept on disk.")
@click.option(
    "--session",
    "session_id",
    metavar="ID",
    callback=lambda _context, _option, value: None if value is None else _real_id(value),
    help="Remove this session alone.",
)
@click.option("--all", "everything", is_flag=True, help="Remove every session and all receipts.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def purge(session_id: str | None, everything: bool, yes: bool) -> None:
    """Remove what is kept on disk of a session, or of all; this cannot be undone.

    While a plan is under way it takes a human, who types a phrase on the terminal.
    """
    from server.acts import purge_state

    if (session_id is None) == (not everything):
        raise click.UsageError("Give either --session ID or --all.")
    what = "everything" if everything else f"session {session_id}"
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError(f"Nobody is there to ask: give --yes to remove {what}.")
        if not click.confirm(f"Remove {what} from {_root()}?"):
            click.echo("nothing was removed")
            return
    removed = purge_state(None if everything else session_id)
    click.echo(f"removed {what}" if removed else "there was nothing to remove")


@cli.command(epilog=EXIT_CODES, short_help="Print one line for Claude Code's status line.")
@click.option(
    "--locale",
    type=click.Choice(["en", "zh"]),
    default="en",
    show_default=True,
    help="Language of the line.",
)
@click.option(
    "--width",
    type=click.IntRange(min=10),
    metavar="CELLS",
    help="Widest line; by default $COLUMNS, else 100.",
)
@click.option("--color", is_flag=True, help="Use colours; NO_COLOR switches them off.")
@_JSON
def statusline(locale: str, width: int | None, color: bool, as_json: bool) -> None:
    """Print one line about a Claude Code session: phase, context, the largest kinds of this turn.

    Claude Code gives its JSON on standard input. In its settings.json:
    {"statusLine": {"type": "command", "command": "turnkeeper statusline"}}
    """
    from server.statusline import Style, print_statusline

    style = Style(locale, width, color and not os.environ.get("NO_COLOR"))
    print_statusline(style, as_json=as_json)


cli.add_command(replay)
cli.add_command(demo)
cli.add_command(report)


def _warn_unseen(session_id: str, unseen: bool) -> None:
    if unseen:
        warning = f"warning: session {clean(session_id)} was never seen here; is the id right?"
        click.echo(warning, err=True)


def _real_id(value: str) -> str:
    from handlers.wire_kinds import SESSION_ID
    from handlers.wire_records import Wrong

    try:
        return str(SESSION_ID.read(value))
    except Wrong as wrong:
        raise click.BadParameter(f"{wrong.message}.") from None


def _root() -> str:
    from core.store.root import state_root

    return state_root()


def _print_json(value: Any) -> None:
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def _show(state: dict[str, Any], as_json: bool) -> None:
    """Show a PhaseState (docs/protocol.md) to a person, or as it is to a program."""
    if as_json:
        _print_json(state)
        return
    session = clean(state["sessionId"])
    if state["phaseId"] is None:
        click.echo(f"{state['state']}: no plan is armed in session {session}")
        return
    if state["state"] == "complete":
        click.echo(
            f"complete: all {state['phaseCount']} phases are closed (task {state['taskId']})"
        )
        return
    click.echo(
        f"{state['state']}: phase {state['phaseIndex']} of {state['phaseCount']}, "
        f"{state['phaseId']} (task {state['taskId']})"
    )
    times = "once" if state["attempt"] == 1 else f"{state['attempt']} times"
    click.echo(f"blocked {times} in this phase, {state['attemptsLeft']} left before it gives up")
    for skill in state["skills"]:
        opened = "opened" if skill["evidence"] else "not opened yet"
        click.echo(f"  skill {skill['name']}: {opened}")
    for criterion in state["criteria"]:
        why = f" ({criterion['why']})" if criterion["why"] else ""
        click.echo(f"  {criterion['kind']} {criterion['id']}: {criterion['state']}{why}")
    for number, gap in enumerate(state["gaps"], 1):
        click.echo(f"  {number}. {gap['nextAction']}")
    for warning in state["warnings"]:
        click.echo(f"  warning: {warning['message']}")
