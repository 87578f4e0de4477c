"""The rows of a Claude Code transcript file: line by line, what is unreadable set aside."""

import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from core.errors import Unreadable
from core.events import Json
from core.runtimes.claude_code import SYNTHETIC_MODEL

LINE_BYTES_MAX = 48 * 1024 * 1024  # Below the frame limit, so that every readable row can be sent.

_LOOKED_AT_BYTES = 4096  # Of a file that holds no row of ours.

Row: TypeAlias = dict[str, Json]


class UnknownFormat(Unreadable):
    """The file is no Claude Code transcript; the message names what it looks like."""

    kind = "unreadable_capture"


class Fault(NamedTuple):
    """A line that was set aside, 1-based, and why."""

    line: int
    why: str


class Head(NamedTuple):
    """What the rows say about their session."""

    session_id: str
    cwd: str  # As recorded; "" when no row has it.
    model: str | None
    version: str | None
    side_only: bool  # A sub-agent's own file.
    parent_session_id: str | None


def rows(path: str, faults: list[Fault]) -> Iterator[tuple[int, Row]]:
    """Read the file line by line; what cannot be used goes to `faults`."""
    with open(path, "rb") as file:
        number = 0
        while line := file.readline(LINE_BYTES_MAX + 1):
            number += 1
            if len(line) > LINE_BYTES_MAX:
                _skip_line(file.readline, line)
                faults.append(Fault(number, f"longer than {LINE_BYTES_MAX} bytes"))
                continue
            row = _parse(line)
            if isinstance(row, str):
                faults.append(Fault(number, row))
            elif row is not None:
                yield number, row


def _skip_line(readline: Callable[[int], bytes], part: bytes) -> None:
    while part and not part.endswith(b"\n"):
        part = readline(LINE_BYTES_MAX)


def _parse(line: bytes) -> Row | str | None:
    """Give the row, why there is none, or None for an empty line."""
    if not line.strip():
        return None
    if b"\0" in line:
        return "holds NUL bytes"
    try:
        value = json.loads(line.decode("utf-8-sig"))
        # Half a surrogate pair cannot be sent as UTF-8; the row is used without it.
        if b"\\ud" in line or b"\\uD" in line:
            value = _whole_characters(value)
    except UnicodeDecodeError:
        return "is not UTF-8"
    except RecursionError:
        return "is nested too deep"
    except ValueError as error:
        return _why_unparsable(line, str(error))
    return value if isinstance(value, dict) else f"is {_json_name(value)}, not an object"


def _why_unparsable(line: bytes, error: str) -> str:
    if error.startswith("Extra data"):
        return "holds two records on one line"
    if not line.endswith(b"\n"):
        return "is cut off"
    return "is not JSON"


def _json_name(value: Json) -> str:
    if isinstance(value, list):
        return "a JSON array"
    return "a JSON string" if isinstance(value, str) else "a bare JSON value"


def _whole_characters(value: Json) -> Json:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole_characters(item) for item in value]
    if isinstance(value, dict):
        return {_whole_characters(key): _whole_characters(item) for key, item in value.items()}
    return value


class _Sighting:
    """What the head gathers from the rows, first one wins."""

    __slots__ = (
        "agent_id",
        "cwd",
        "foreign",
        "has_rows",
        "is_ours",
        "main",
        "model",
        "session_id",
        "side",
        "version",
    )

    def __init__(self) -> None:
        self.session_id = self.cwd = self.model = self.version = self.agent_id = ""
        self.main = self.side = self.is_ours = self.has_rows = False
        self.foreign = ""

    def see(self, row: Row) -> None:
        self.has_rows = True
        self.is_ours = self.is_ours or _is_ours(row)
        self.foreign = self.foreign or _foreign(row)
        if not _is_ours(row):
            return
        self.session_id = self.session_id or text_of(row, "sessionId")
        self.cwd = self.cwd or text_of(row, "cwd")
        self.version = self.version or text_of(row, "version")
        if row.get("type") in ("user", "assistant"):
            self._see_message(row)

    def _see_message(self, row: Row) -> None:
        if row.get("isSidechain") is True:
            self.side = True
            self.agent_id = self.agent_id or text_of(row, "agentId")
        else:
            self.main = True
        message = row.get("message")
        model = text_of(message, "model") if isinstance(message, dict) else ""
        if model != SYNTHETIC_MODEL:
            self.model = self.model or model

    def is_complete(self) -> bool:
        return self.main and bool(self.session_id and self.cwd and self.model)


def read_head(path: str) -> Head:
    """Read as many rows as it takes to know the session; of a sub-agent's file, all.

    Raises UnknownFormat when the file has no row of ours, OSError when it cannot be read.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise _unknown("is no regular file, and it would be read twice")
    seen = _Sighting()
    faults: list[Fault] = []
    for _, row in rows(path, faults):
        seen.see(row)
        if seen.is_complete():
            break
    if not seen.is_ours:
        raise _unknown(f"seems to be {seen.foreign}" if seen.foreign else _look_of(path, seen))
    side_only = seen.side and not seen.main
    agent_id = (seen.agent_id or _agent_of_name(path)) if side_only else ""
    own_id = agent_id or seen.session_id or os.path.splitext(os.path.basename(path))[0]
    parent = seen.session_id if agent_id else ""
    return Head(
        own_id, seen.cwd, seen.model or None, seen.version or None, side_only, parent or None
    )


def _unknown(what: str) -> UnknownFormat:
    return UnknownFormat(
        f"{what}; wanted is a Claude Code transcript",
        hint="That is the .jsonl file of a session, below ~/.claude/projects.",
    )


def _look_of(path: str, seen: _Sighting) -> str:
    """Say what a file seems to be in which no row tells its format."""
    with open(path, "rb") as file:
        start = file.read(_LOOKED_AT_BYTES)
    if not start.strip():
        return "is empty"
    if seen.has_rows:
        return "seems to be JSON lines of another program"
    if not _is_text(start):
        return "seems to be a binary file"
    if re.match(rb'\s*(\{\s*["}]|\[\s*[\[{"\d\]])', start):
        return "seems to be JSON, but none of its lines is a whole object"
    first = next(line for line in start.splitlines() if line.strip())
    is_yaml = path.endswith((".yaml", ".yml")) or re.match(rb"---\s*$|[A-Za-z_]\w*:(\s|$)", first)
    return "seems to be YAML" if is_yaml else "seems to be plain text"


def _is_text(start: bytes) -> bool:
    try:
        start.decode()
    except UnicodeDecodeError as error:
        # The last character may have been cut through.
        if error.start < len(start) - 3:
            return False
    return b"\0" not in start


def _agent_of_name(path: str) -> str:
    found = re.fullmatch(r"agent-([A-Za-z0-9]+)\.jsonl", os.path.basename(path))
    return found.group(1) if found else ""


def _is_ours(row: Row) -> bool:
    kind = row.get("type")
    if kind in ("user", "assistant"):
        return "message" in row and "session_id" not in row and "payload" not in row
    if kind == "summary":
        return "leafUuid" in row or "summary" in row
    if kind == "file-history-snapshot":
        return True
    return isinstance(kind, str) and isinstance(row.get("sessionId"), str)


def _foreign(row: Row) -> str:
    """Name a format that is not ours by one of its rows; "" when it is not recognised."""
    kind = row.get("type")
    if "hook_event_name" in row:
        return "a file of hook payloads"
    if "session_id" in row and kind in ("system", "user", "assistant", "result", "stream_event"):
        return "a stream-json output"
    if "payload" in row or "record_type" in row or kind in ("function_call", "reasoning"):
        return "a Codex rollout"
    if "instructions" in row and "timestamp" in row:
        return "a Codex rollout"
    if kind in ("session", "model_change", "thinking_level_change"):
        return "a pi session"
    return ""


def text_of(row: Row, key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""
