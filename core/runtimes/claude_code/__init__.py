"""Claude Code: its transcripts, stream-json, Agent SDK messages and hook payloads."""

import re
from collections.abc import Iterable, Mapping

from core.recordings.contract import Head, Reader, Row, Runtime, SideFile


def _reader(head: Head) -> Reader:
    from core.runtimes.claude_code.reader import ClaudeReader

    return ClaudeReader(head)


def _recognise(row: Row) -> bool:
    from core.runtimes.claude_code.kinds import is_ours

    return is_ours(row)


def _head(path: str, rows: Iterable[Row]) -> Head:
    from core.runtimes.claude_code.head import read_head

    return read_head(path, rows)


def _sides(path: str) -> tuple[SideFile, ...]:
    from core.runtimes.claude_code.files import sides

    return sides(path)


def _recordings(home: str, environ: Mapping[str, str], workspace: str) -> list[str]:
    from core.runtimes.claude_code.files import recordings

    return recordings(home, environ, workspace)


# A row about a hook or a shell at work: most rows are, and tell nothing. The marker stands before
# any inner object, so it is the row's own and no text of a conversation.
_AT_WORK = re.compile(
    rb'\{[^{]*"type":"progress","data":\{"type":"(?!agent_progress").*\}\n\Z', re.DOTALL
)

RUNTIME = Runtime(
    reader=_reader,
    recognise=_recognise,
    head=_head,
    sides=_sides,
    recordings=_recordings,
    is_idle=_AT_WORK.match,
    block_cap=8,
    block_cap_variable="CLAUDE_CODE_STOP_HOOK_BLOCK_CAP",
)
