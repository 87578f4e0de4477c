"""Codex: its rollouts, app-server notifications, `exec --json` lines and hook payloads.

One reader takes all of them, also mixed: what two of them tell of one thing is told once. A shell
command is called `exec_command` whichever of them tells of it, except where the record has the
model's own call (`shell`, `local_shell`).
"""

import re
from collections.abc import Iterable, Mapping

from core.recordings.contract import Head, Reader, Row, Runtime

# Rows of a rollout that repeat what other rows say, by how Codex begins them.
_IDLE = re.compile(
    rb'\{"timestamp": ?"[^"]*", ?(?:"ordinal": ?\d+, ?)?"type": ?(?:"world_state"|"event_msg", ?'
    rb'"payload": ?\{"type": ?(?:"thread_settings_applied"|"item_completed", ?'
    rb'"thread_id": ?"[^"]*", ?"turn_id": ?"[^"]*", ?'
    rb'"item": ?\{"type": ?"(?:UserMessage|AgentMessage|Reasoning)"))'
)


def _reader(head: Head) -> Reader:
    from core.runtimes.codex_runtime.reader import CodexReader

    return CodexReader(head)


def _recognise(row: Row) -> bool:
    from core.runtimes.codex_runtime.shapes import shape_of

    return bool(shape_of(row))


def _head(path: str, rows: Iterable[Row]) -> Head:
    from core.runtimes.codex_runtime.head import read_head

    return read_head(path, rows)


def _recordings(home: str, environ: Mapping[str, str], workspace: str) -> list[str]:
    from core.runtimes.codex_runtime.head import recordings

    return recordings(home, environ, workspace)


def _is_idle(line: bytes) -> bool:
    # A line that is cut off is left to be found so.
    return line.endswith(b"}\n") and _IDLE.match(line) is not None


RUNTIME = Runtime(
    reader=_reader,
    recognise=_recognise,
    head=_head,
    recordings=_recordings,
    is_idle=_is_idle,
)
