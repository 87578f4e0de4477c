"""The commands that replay a recorded session: replay, and demo with the recording we carry.

What they need is imported when they run: every other command starts without it.
"""

from typing import Any

import click


class _File(click.Path):
    """A file that is there; stdin is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "-":
            self.fail("it is read more than once, so save stdin to a file first.", param, ctx)
        return super().convert(value, param, ctx)


_FILE = _File(exists=True, dir_okay=False)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object for programs.")
_EXIT_CODES = (
    "Exit codes: 0 done, 1 the server failed, 2 a file, folder or plan that cannot be used,"
    " 130 Ctrl-C."
)


@click.command(epilog=_EXIT_CODES, short_help="Play a recorded session to a server of its own.")
@click.argument("file", type=_FILE)
@click.option("--plan", type=_FILE, help="Plan to arm when the session has started.")
@click.option(
    "--workspace",
    type=click.Path(exists=True, file_okay=False),
    help="Folder as it was before the session; it is copied, never written.",
)
@click.option(
    "--state",
    type=click.Path(file_okay=False),
    help="Keep the state in this folder: a new one, an empty one, which becomes yours alone"
    " (mode 0700), or one that keeps the state of other sessions.",
)
@_JSON
def replay(
    file: str, plan: str | None, workspace: str | None, state: str | None, as_json: bool
) -> int:
    """Play a recorded session to a fresh server, as its host would have told it.

    FILE is a transcript, a rollout, a stream or recorded hook payloads of any agent host. Shows
    turn by turn what entered the context, and with --plan where a turn end would have been blocked.
    Your files are not touched.
    """
    from server.replay.command import replay_command

    return replay_command(file, plan, workspace, state, as_json)


@click.command(epilog=_EXIT_CODES, short_help="Show it at work on a recorded session.")
@_JSON
def demo(as_json: bool) -> int:
    """Show it at work on a recorded session: a block, an advance, a completed plan."""
    from server.replay.command import demo_command

    return demo_command(as_json)
