"""The command that shows what entered the context of recorded sessions."""

import click

from core.accounting.kinds import LOCALES

_EXIT_CODES = "Exit codes: 0 done, 1 refused or failed, 2 a target that cannot be used, 130 Ctrl-C."


@click.command(epilog=_EXIT_CODES, short_help="Show what entered the context, with its sources.")
@click.argument("target", required=False, metavar="[SESSION|FILE|DIR]")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, allow_dash=False),
    metavar="OUT.html",
    help="Write one self-contained page: turns, calls, requests, the window over time.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for programs.")
@click.option(
    "--locale",
    type=click.Choice(LOCALES),
    default="en",
    show_default=True,
    help="Language of the pictures.",
)
def report(target: str | None, html: str | None, as_json: bool, locale: str) -> int:
    """Show what entered the context of recorded sessions, each number with its source.

    SESSION is a session's id, or the first 8 characters of it; FILE a transcript, a rollout or
    another recording; DIR a folder of them. Without any, everything that Claude Code and Codex
    recorded is read. It is drawn in the terminal unless --html or --json says otherwise.
    """
    from server.report.command import report_command

    return report_command(target, html, as_json, locale)
