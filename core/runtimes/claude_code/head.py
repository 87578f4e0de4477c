"""Whose file a recording is: what its rows say about their session."""

import os
from collections.abc import Iterable

from core.recordings.contract import Head, Row
from core.runtimes.claude_code.files import agent_of_file, has_sibling, is_uuid
from core.runtimes.claude_code.kinds import is_ours, is_transcript, session_of
from core.runtimes.claude_code.shapes import RUNTIME, SYNTHETIC_MODEL, dict_of, text_of


class _Sighting:
    """What the head gathers from the rows, first one wins."""

    __slots__ = (
        "agent_id",
        "cwd",
        "main",
        "model",
        "session_id",
        "side",
        "version",
    )

    def __init__(self) -> None:
        self.session_id = self.cwd = self.model = self.version = self.agent_id = ""
        self.main = self.side = False

    def see(self, row: Row) -> None:
        if is_transcript(row):
            self._take(*(text_of(row, key) for key in ("sessionId", "cwd")))
            self.version = self.version or text_of(row, "version")
            if row.get("type") in ("user", "assistant"):
                self._see_message(row)
        elif is_ours(row):
            session_id, cwd, model, version = session_of(row)
            self._take(session_id, cwd, model)
            self.version = self.version or version
            self.main = True

    def _take(self, session_id: str, cwd: str, model: str = "") -> None:
        self.session_id = self.session_id or session_id
        self.cwd = self.cwd or cwd
        if model != SYNTHETIC_MODEL:
            self.model = self.model or model

    def _see_message(self, row: Row) -> None:
        if row.get("isSidechain") is True:
            self.side = True
            self.agent_id = self.agent_id or text_of(row, "agentId")
        else:
            self.main = True
        self._take("", "", text_of(dict_of(row, "message"), "model"))

    def is_complete(self) -> bool:
        return self.main and bool(self.session_id and self.cwd and self.model)


def read_head(path: str, rows: Iterable[Row]) -> Head:
    """Read as many rows as it takes to know the session; of a sub-agent's file, all.

    A session is called as its file where that is a session's name: a fork begins with rows of the
    session that it was forked from.
    """
    seen = _Sighting()
    for row in rows:
        seen.see(row)
        if seen.is_complete():
            break
    stem = os.path.splitext(os.path.basename(path))[0]
    side_only = seen.side and not seen.main
    agent_id = (seen.agent_id or agent_of_file(path)) if side_only else ""
    own_id = stem if is_uuid(stem) else seen.session_id or stem
    is_fork = has_sibling(path, seen.session_id)
    parent = seen.session_id if agent_id or is_fork else ""
    return Head(
        RUNTIME,
        agent_id or own_id,
        seen.cwd,
        seen.model or None,
        seen.version or None,
        side_only,
        parent or None,
        path,
    )
