"""What each model request held, from the rows in which Claude Code wrote its requests down.

Three kinds of rows (2.1.33x): `api-request-shape` {shapeHash, shape {system[], tools[]}},
`api-request-blob` {hash, message} and `api-request` {id, shapeHash, base?, keep, tail[]}. The
messages of a request are the first `keep` of the request `base` (else of the last one in this
file), then those of the hashes in `tail`. A message that stands in the `user` or `assistant` rows
word for word has no blob: its hash is that of the blocks of consecutive rows.
"""

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import chain

from core.events import Json, Part, Request
from core.recordings.contract import Row
from core.runtimes.claude_code.request_texts import BLOB, Kind, Measured, RequestTexts, texts_of
from core.units import javascript_number, json_units, utf16_order, utf16_units

_SHAPE = "transcript/api-request-shape"
_ASSISTANT = "transcript/assistant"
_USER = "transcript/user"
_RUNS_HELD = 8  # Between two requests there is one of the assistant and one of the user.


class RequestLog:
    """Reads every row of one transcript, the main one or a sub-agent's, and gives its requests.

    It keeps measures and digests; of the texts only those since the last request, as long as the
    next one may consist of them.
    """

    def __init__(self) -> None:
        self._texts = RequestTexts()
        self._tools: dict[str, str] = {}  # Tool use id to the tool's name.
        self._shapes: dict[str, Measured] = {}
        self._messages: dict[str, Measured] = {}  # By hash.
        self._runs: deque[_Run] = deque(
            maxlen=_RUNS_HELD
        )  # Since the last request, and its own last.
        self._start = _Prefix(None, (), 0)
        self._prefixes: dict[str, _Prefix] = {}  # By the request's id.
        self._last = self._start
        self._sum = _Sum(self._start)

    def read(self, row: Row) -> Request | None:
        """Take a row; give the request where it is the row of one.

        A request of which a message or the shape is missing comes without parts.
        """
        match row.get("type"):
            case "user" | "assistant":
                self._note_message(row)
            case "attachment":
                self._texts.note_attachment(row)
            case "api-request-shape":
                key = row.get("shapeHash")
                if isinstance(key, str) and key not in self._shapes:
                    self._shapes[key] = _measured_shape(row.get("shape"))
            case "api-request-blob":
                message = row.get("message")
                if isinstance(key := row.get("hash"), str) and isinstance(message, dict):
                    self._messages[key] = self._measured(message.get("content"), message, BLOB)
            case "api-request":
                return self._request(row)
        return None

    def _note_message(self, row: Row) -> None:
        message = row.get("message")
        if not isinstance(message, dict):
            return
        role, message_id = message.get("role"), message.get("id")
        blocks = _blocks(message.get("content"))
        if role == "user":
            self._texts.note_user_row(row, texts_of(blocks))
        elif role == "assistant":
            self._note_calls(blocks)
        else:
            return
        run = self._runs[-1] if self._runs else None
        if run is None or not run.goes_on(role, message_id):
            run = _Run(role, message_id)
            self._runs.append(run)
        run.rows.append(blocks)

    def _note_calls(self, blocks: list[Json]) -> None:
        for block in blocks:
            if isinstance(block, dict) and block.get("type") == "tool_use":
                call, name = block.get("id"), block.get("name")
                if isinstance(call, str) and isinstance(name, str):
                    self._tools[call] = name
                    if name == "Skill":
                        self._texts.note_skill_call(call, block.get("input"))

    def _request(self, row: Row) -> Request:
        found = row.get("id")
        request_id = found if isinstance(found, str) else None
        prefix = self._kept(row)
        tail = row.get("tail")
        hashes = [key for key in tail if isinstance(key, str)] if isinstance(tail, list) else []
        self._resolve(hashes)
        for key in hashes:
            prefix = _Prefix(prefix, self._messages.get(key), prefix.depth + 1)
        while len(self._runs) > 1:
            self._runs.popleft()  # The last one may go on, when nothing answers this request.
        self._last = prefix
        if request_id is not None:
            self._prefixes[request_id] = prefix
        shape_key = row.get("shapeHash")
        shape = self._shapes.get(shape_key) if isinstance(shape_key, str) else None
        if shape is None or not prefix.is_whole:
            return Request(request_id)
        return Request(request_id, self._sum.parts(shape, prefix))

    def _kept(self, row: Row) -> "_Prefix":
        """Give the messages that this request has in common with an earlier one."""
        keep, base = row.get("keep"), row.get("base")
        if type(keep) is not int or keep <= 0:
            return self._start
        prefix: _Prefix | None = self._last
        if base is not None:
            prefix = self._prefixes.get(base) if isinstance(base, str) else None
        while prefix is not None and prefix.depth > keep:
            prefix = prefix.before
        if prefix is None or prefix.depth < keep:
            return _Prefix(None, None, keep)
        return prefix

    def _resolve(self, hashes: list[str]) -> None:
        """Find the messages that have no blob among the rows since the last request."""
        wanted = {key for key in hashes if key not in self._messages}
        for printed in (_printed, _printed_exactly):
            for run in self._runs:
                # The rows of a user are hashed only on demand: they hold the long texts.
                if wanted or (run.role == "assistant" and printed is _printed):
                    self._match(run, wanted, printed)

    def _match(self, run: "_Run", wanted: set[str], printed: Callable[[Json], str]) -> None:
        """Measure the messages of a run that are wanted; of an assistant's run the last anyway."""
        blocks = list(chain(*run.rows))
        source = _ASSISTANT if run.role == "assistant" else _USER
        for key, count in run.hashes(printed):
            is_last = run.role == "assistant" and count == len(blocks)
            if key in wanted or (is_last and key not in self._messages):
                self._messages[key] = self._measured(blocks[:count], {"role": run.role}, source)
                wanted.discard(key)

    def _measured(self, content: Json, message: Row, source: str) -> Measured:
        """Measure a message: how much of which kind it holds, each kind once."""
        blocks = _blocks(content)
        if message.get("role") != "user":
            self._note_calls(blocks)
        total: dict[Kind, int] = {}
        role = "user_text" if message.get("role") == "user" else "assistant_text"
        own = Kind(role, None, source)
        for block in blocks:
            if not isinstance(block, dict):
                continue
            measure = _MEASURES.get(str(block.get("type")), RequestLog._nothing)
            for kind, units in measure(self, block, own):
                if units:
                    total[kind] = total.get(kind, 0) + units
        return tuple(total.items())

    def _text(self, block: Row, own: Kind) -> Measured:
        text = block.get("text")
        return self._texts.measure(text, own) if isinstance(text, str) else ()

    def _thinking(self, block: Row, own: Kind) -> Measured:
        text = block.get("thinking")
        if not isinstance(text, str):
            return ()
        return ((Kind("thinking", None, own.source), utf16_units(text)),)

    def _call(self, block: Row, own: Kind) -> Measured:
        name = block.get("name")
        kind = Kind("tool_input", name if isinstance(name, str) else None, own.source)
        return ((kind, _json_units(block.get("input"))),)

    def _result(self, block: Row, own: Kind) -> Measured:
        call = block.get("tool_use_id")
        tool = self._tools.get(call) if isinstance(call, str) else None
        own = Kind("tool_result", tool, own.source)
        found: list[tuple[Kind, int]] = []
        for part in _blocks(block.get("content")):
            if isinstance(part, dict):
                measure = _IN_RESULTS.get(str(part.get("type")), RequestLog._nothing)
                found += measure(self, part, own)
        return tuple(found)

    def _data(self, block: Row, own: Kind) -> Measured:
        """Measure an image, or a document, by the data as sent."""
        source = block.get("source")
        given = source if isinstance(source, dict) else {}
        sent = next((given[key] for key in ("data", "url") if isinstance(given.get(key), str)), "")
        role = "image" if block.get("type") == "image" else "file"
        name = own.name if own.role == "tool_result" else None
        return ((Kind(role, name, own.source), utf16_units(sent)),)

    def _nothing(self, block: Row, own: Kind) -> Measured:
        return ()


_Measure = Callable[[RequestLog, Row, Kind], Measured]
_IN_RESULTS: Mapping[str, _Measure] = {
    "text": RequestLog._text,
    "image": RequestLog._data,
    "document": RequestLog._data,
}
_MEASURES: Mapping[str, _Measure] = {
    **_IN_RESULTS,
    "thinking": RequestLog._thinking,
    "tool_use": RequestLog._call,
    "server_tool_use": RequestLog._call,
    "mcp_tool_use": RequestLog._call,
    "tool_result": RequestLog._result,
    "mcp_tool_result": RequestLog._result,
}


class _Prefix:
    """The first `depth` messages of some request; its last one, and those before it."""

    __slots__ = ("before", "depth", "is_whole", "parts")

    def __init__(self, before: "_Prefix | None", parts: Measured | None, depth: int) -> None:
        """Have no `parts` for a message that is missing."""
        self.before = before
        self.depth = depth
        self.is_whole: bool = parts is not None and (before is None or before.is_whole)
        self.parts: Measured = parts or ()


class _Run:
    """Consecutive rows that make up one message of a request, or the beginning of one."""

    __slots__ = ("message_id", "role", "rows")

    def __init__(self, role: str, message_id: Json) -> None:
        self.role = role
        self.message_id = message_id
        self.rows: list[list[Json]] = []

    def goes_on(self, role: str, message_id: Json) -> bool:
        """Say whether a row of this role and message id belongs to the same message."""
        if role != self.role:
            return False
        return role == "user" or (message_id is not None and message_id == self.message_id)

    def hashes(self, printed: Callable[[Json], str]) -> Iterator[tuple[str, int]]:
        """Give, after each row, the hash of the message so far and how many blocks it has."""
        digest, count = hashlib.sha256(b'{"content":['), 0
        end = f'],"role":"{self.role}"}}'.encode()
        for blocks in self.rows:
            for block in blocks:
                try:
                    data = printed(block).encode()
                except (ValueError, TypeError, RecursionError):
                    return
                digest.update(b"," + data if count else data)
                count += 1
            whole = digest.copy()
            whole.update(end)
            yield whole.hexdigest(), count


class _Sum:
    """The parts of the request looked at last; going on to a like one costs its difference."""

    def __init__(self, start: _Prefix) -> None:
        self._parts: dict[Kind, Part] = {}
        self._shape: Measured = ()
        self._prefix = start

    def parts(self, shape: Measured, prefix: _Prefix) -> tuple[Part, ...]:
        """Go on to this request; both its shape and its messages are whole."""
        if shape is not self._shape:
            self._add(self._shape, -1)
            self._add(shape, 1)
            self._shape = shape
        old, new, entering = self._prefix, prefix, list[Measured]()
        while old is not new:
            if old.depth >= new.depth:
                self._add(old.parts, -1)
                old = _before(old)
            else:
                entering.append(new.parts)
                new = _before(new)
        for parts in reversed(entering):
            self._add(parts, 1)
        self._prefix = prefix
        return tuple(self._parts.values())

    def _add(self, parts: Measured, sign: int) -> None:
        for kind, units in parts:
            old = self._parts.get(kind)
            now = sign * units if old is None else old.units + sign * units
            if now:
                self._parts[kind] = Part(*kind, now)
            else:
                self._parts.pop(kind, None)


def _before(prefix: _Prefix) -> _Prefix:
    assert prefix.before is not None  # All whole prefixes begin with the same empty one.
    return prefix.before


def _measured_shape(shape: Json) -> Measured:
    """Measure what stands before the messages: system texts, tool schemas."""
    given = shape if isinstance(shape, dict) else {}
    found: list[tuple[Kind, int]] = []
    for index, text in enumerate(texts_of(_texts_as_blocks(given.get("system")))):
        found.append((Kind("system_prompt", f"system[{index}]", _SHAPE), utf16_units(text)))
    tools = given.get("tools")
    for tool in tools if isinstance(tools, list) else []:
        if isinstance(tool, dict):
            name = tool.get("name")
            sent = {key: value for key, value in tool.items() if key != "cache_control"}
            kind = Kind("tool_schema", name if isinstance(name, str) else None, _SHAPE)
            found.append((kind, _json_units(sent)))
    return tuple((kind, units) for kind, units in found if units)


def _texts_as_blocks(system: Json) -> Json:
    if not isinstance(system, list):
        return system
    return [{"text": item} if isinstance(item, str) else item for item in system]


def _blocks(content: Json) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _printed(value: Json) -> str:
    """Print a value with its keys in order, as the program does before it hashes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _printed_exactly(value: Json) -> str:
    """The same for what JavaScript prints or orders in another way: some numbers, some keys."""
    if isinstance(value, dict):
        keys = sorted(value, key=utf16_order)
        pairs = (f"{_printed(key)}:{_printed_exactly(value[key])}" for key in keys)
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_printed_exactly, value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return javascript_number(value)
    return _printed(value)


def _json_units(value: Json) -> int:
    try:
        return json_units(value)
    except (TypeError, ValueError):
        return 0
