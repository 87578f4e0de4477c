"""The messages of the protocol, however they were recorded, and what they say of a session."""

import os
from collections.abc import Iterable
from itertools import islice

from core.events import Json
from core.recordings.content import count_of, text_of
from core.recordings.contract import Head, Row

ID = "acp_agent"
HEAD_ROWS = 2_000  # A session is known when it is first prompted.

_UPDATES = frozenset({
    "user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call",
    "tool_call_update", "plan", "plan_update", "plan_removed", "available_commands_update",
    "current_mode_update", "config_option_update", "session_info_update", "usage_update",
})  # fmt: skip


def message_of(row: Row) -> Row:
    """Take a message out of the row that it was recorded in."""
    found = row.get("message")
    return found if "direction" in row and isinstance(found, dict) else row


def request_id(message: Row) -> Json:
    """Give the id of a request or an answer; None for what cannot be one."""
    found = message.get("id")
    return found if isinstance(found, str) or type(found) is int else None


def update_of(message: Row) -> Row:
    """Find the update in a notification, in its params or in itself; {} when there is none."""
    method = message.get("method")
    params = message.get("params") if method == "session/update" else message
    if method not in (None, "session/update") or not isinstance(params, dict):
        return {}
    found = params.get("update", params)
    return found if isinstance(found, dict) else {}


def is_message(row: Row) -> bool:
    """Say whether this row is of the protocol."""
    message = message_of(row)
    method, params = text_of(message, "method"), message.get("params")
    if message.get("jsonrpc") == "2.0" and method:
        # The same method begins the Model Context Protocol, whose versions are dates.
        is_hello = method == "initialize" and count_of(params, "protocolVersion") is not None
        return is_hello or method.startswith("session/")
    return not method and text_of(update_of(message), "sessionUpdate") in _UPDATES


class _Sighting:
    """What the head gathers from the messages, by session."""

    def __init__(self) -> None:
        self.version = self.prompted = ""
        self.cwds: dict[str, str] = {}  # The session first seen comes first.
        self.models: dict[str, str] = {}
        self._asked: dict[Json, Row] = {}  # Requests for a session.

    def see(self, message: Row) -> None:
        method, params, result = (message.get(key) for key in ("method", "params", "result"))
        asked_id = request_id(message)
        session_id = text_of(params, "sessionId")
        if method in ("session/new", "session/load", "session/resume") and isinstance(params, dict):
            self._asked[asked_id] = params
        elif method == "session/prompt":
            self.prompted = session_id
        elif isinstance(result, dict) and not method:
            self._answer(self._asked.pop(asked_id, None), result)
        if session_id:
            self.cwds[session_id] = self.cwds.get(session_id) or text_of(params, "cwd")

    def _answer(self, asked: Row | None, result: Row) -> None:
        info = result.get("agentInfo")
        name = text_of(info, "name").rsplit("/", 1)[-1]
        self.version = self.version or f"{name} {text_of(info, 'version')}".strip()
        session_id = text_of(result, "sessionId") or text_of(asked, "sessionId")
        if asked is not None and session_id:
            self.cwds[session_id] = text_of(asked, "cwd")
            self.models[session_id] = _model(result)


def _model(result: Row) -> str:
    found = text_of(result.get("models"), "currentModelId")
    options = result.get("configOptions")
    for option in options if isinstance(options, list) else ():
        if text_of(option, "category") == "model":
            found = found or text_of(option, "currentValue")
    return "" if found == "default" else found  # Its own word for what it would take.


def read_head(path: str, rows: Iterable[Row]) -> Head:
    """Take the session that is prompted first, else the one seen first, else the file's name."""
    seen = _Sighting()
    for row in islice(rows, HEAD_ROWS):
        seen.see(message_of(row))
        if seen.prompted:
            break
    session_id = seen.prompted or next(iter(seen.cwds), "")
    cwd, model = seen.cwds.get(session_id, ""), seen.models.get(session_id, "")
    name = session_id or os.path.splitext(os.path.basename(path))[0]
    return Head(ID, name, cwd, model or None, seen.version or None, path=path)
