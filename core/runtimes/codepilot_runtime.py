"""A loop of the AI SDK (versions 5 to 7): the parts of its full stream, bare or recorded.

A recorded row is a part, or {"kind": "part", "value": part}. The stream has no prompts and no ids
of turns. Raw events that a host sends one by one (line 0) therefore neither open nor end a turn:
the loop's owner says so itself. In a file each `start` opens the turn "turn-1", "turn-2" and so on,
with an empty prompt that is not from a human; `finish`, `abort` or the next `start` ends it.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from core.events import Event, Json, Prompt, Request, Spoken, ToolCall, ToolResult, TurnEnd, Usage
from core.recordings.content import count_of, joined, json_text, result_content, text_of
from core.recordings.contract import (
    ENDED,
    NOT_RECORDED,
    Head,
    Reader,
    Row,
    Runtime,
    Step,
)

ID = "codepilot_runtime"
HEAD_ROWS = 2_000  # The model is named by the first step that ends; later it is not looked for.

# Types that no other host has; `start`, `finish`, `error`, `file` and the like may be anyone's.
_OWN_TYPES = frozenset({"start-step", "finish-step", "tool-output-denied", "tool-approval-request"})
_OWN_WITH = {
    "text-start": "id",
    "text-delta": "id",
    "text-end": "id",
    "reasoning-start": "id",
    "reasoning-delta": "id",
    "reasoning-end": "id",
    "tool-input-start": "toolName",
    "tool-call": "toolCallId",
    "tool-result": "toolCallId",
    "tool-error": "toolCallId",
}
_BOUNDS = frozenset({"start", "finish", "abort", "error"})


class _Turn:
    """The open turn of a recorded stream."""

    __slots__ = ("id", "last_text", "outcome")

    def __init__(self, turn_id: str) -> None:
        self.id = turn_id
        self.outcome: str | None = None  # What it will be if no `finish` says otherwise.
        self.last_text: str | None = None


class PartReader:
    """Maps stream parts; holds the texts that are being streamed and, of a file, the open turn."""

    def __init__(self, head: Head) -> None:
        self._turn: _Turn | None = None
        self._turns = 0
        self._texts: dict[tuple[str, str], list[str]] = {}
        self._approvals: set[str] = set()  # Calls that wait for a human's word.
        self._readers: dict[str, Callable[[Row], Iterable[Event]]] = {
            "start-step": _request,
            "text-delta": self._delta,
            "text-end": self._text_end,
            "reasoning-delta": self._delta,
            "reasoning-end": self._text_end,
            "tool-call": self._call,
            "tool-result": self._result,
            "tool-error": self._result,
            "tool-output-denied": self._result,
            "tool-approval-request": self._ask,
            "tool-approval-response": self._answer,
            "steering-message": _steering,
            "finish-step": self._finish_step,
        }

    def read(self, line: int, row: Row) -> Iterator[Step]:
        """Give what this part tells; callbacks that were recorded beside the parts tell nothing."""
        part = _part(row)
        kind = text_of(part, "type")
        if kind in _BOUNDS:
            yield from self._bound(line, kind, part)
        elif (reader := self._readers.get(kind)) is not None:
            yield from self._opened(line)
            for event in reader(part):
                yield Step(line, event)

    def read_side(self, agent_id: str, line: int, row: Row) -> Iterator[Step]:
        """Give nothing: this host has no files of sub-agents."""
        return iter(())

    def finish(self, line: int) -> Iterator[Step]:
        """End what is open: a stream without an end was broken off."""
        if self._turn is not None:
            yield from self._end_turn(line, self._turn.outcome or "interrupted", NOT_RECORDED)

    def _bound(self, line: int, kind: str, part: Row) -> Iterator[Step]:
        """Read a part that begins or ends the stream, or breaks it."""
        for event in self._flush():
            yield Step(line, event)
        if kind == "start":
            yield from self.finish(line)
            yield from self._opened(line)
        elif self._turn is None:
            return
        elif kind == "error":
            self._turn.outcome = "failed"  # The parts after it still belong to this turn.
        elif kind == "abort":
            yield from self._end_turn(line, "interrupted", ENDED)
        elif kind == "finish":
            failed = "failed" if _reason(part) == "error" else self._turn.outcome
            waits = "awaitingUser" if self._approvals else "completed"
            yield from self._end_turn(line, failed or waits, ENDED)

    def _opened(self, line: int) -> Iterator[Step]:
        """Open a turn of a file that has none open."""
        if line > 0 and self._turn is None:
            self._turns += 1
            self._turn = _Turn(f"turn-{self._turns}")
            yield Step(line, Prompt(self._turn.id, "", from_human=False))

    def _end_turn(self, line: int, outcome: str, recorded: str) -> Iterator[Step]:
        for event in self._flush():
            yield Step(line, event)
        turn, self._turn = self._turn, None
        self._approvals.clear()
        if turn is not None:
            yield Step(line, TurnEnd(turn.id, outcome, turn.last_text), recorded)

    def _delta(self, part: Row) -> Iterable[Event]:
        text = text_of(part, "text") or text_of(part, "delta")
        if text:
            self._texts.setdefault(_stream_of(part), []).append(text)
        return ()

    def _text_end(self, part: Row) -> Iterable[Event]:
        return self._spoken(_stream_of(part))

    def _flush(self) -> list[Event]:
        """End the texts whose end never came."""
        return [event for stream in list(self._texts) for event in self._spoken(stream)]

    def _spoken(self, stream: tuple[str, str]) -> list[Event]:
        text = joined(self._texts.pop(stream, ()))
        if not text:
            return []
        if stream[0] == "text" and self._turn is not None:
            self._turn.last_text = text
        return [Spoken("model" if stream[0] == "text" else "thinking", text)]

    def _call(self, part: Row) -> Iterable[Event]:
        call_id, name = text_of(part, "toolCallId"), text_of(part, "toolName")
        if not call_id or not name:
            return ()
        return (ToolCall(call_id, name, part.get("input"), self._turn_id()),)

    def _turn_id(self) -> str | None:
        return None if self._turn is None else self._turn.id

    def _result(self, part: Row) -> Iterable[Event]:
        call_id = text_of(part, "toolCallId")
        # Preliminary results are shown while the tool runs; the model gets the last one only.
        if not call_id or part.get("preliminary") is True:
            return ()
        self._approvals.discard(call_id)
        content, is_error = _outcome(part)
        return (ToolResult(call_id, content, is_error),)

    def _ask(self, part: Row) -> Iterable[Event]:
        call_id = text_of(part.get("toolCall"), "toolCallId")
        if call_id and part.get("isAutomatic") is not True:
            self._approvals.add(call_id)
        return ()

    def _answer(self, part: Row) -> Iterable[Event]:
        self._approvals.discard(text_of(part.get("toolCall"), "toolCallId"))
        return ()

    def _finish_step(self, part: Row) -> Iterable[Event]:
        usage = _usage(part)
        return [*self._flush(), *(() if usage is None else (usage,))]


def _part(row: Row) -> Row:
    """Take a part out of the row that it was recorded in."""
    if "kind" not in row or "type" in row:
        return row
    value = row.get("value")
    return value if row["kind"] == "part" and isinstance(value, dict) else {}


def _stream_of(part: Row) -> tuple[str, str]:
    return text_of(part, "type").partition("-")[0], text_of(part, "id")


def _request(part: Row) -> Iterable[Event]:
    return (Request(),)


def _steering(part: Row) -> Iterable[Event]:
    """Give what the user said while the loop ran (version 7)."""
    message = part.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    pieces = content if isinstance(content, list) else [{"text": content}]
    text = joined((text_of(piece, "text") for piece in pieces), "\n")
    return (Spoken("user", text),) if text else ()


def _reason(part: Row) -> str:
    """Say why the model stopped; version 7 beta gave {unified, raw}."""
    reason = part.get("finishReason")
    return text_of(reason, "unified") if isinstance(reason, dict) else text_of(part, "finishReason")


def _outcome(part: Row) -> tuple[Json, bool]:
    """Give what the model is told of a call, and whether it is told as an error."""
    kind = text_of(part, "type")
    if kind == "tool-output-denied":
        return text_of(part, "reason"), True
    if kind == "tool-error":
        error = part.get("error")
        # An error loses its message on its way into JSON, unless the recorder kept it.
        return text_of(error, "message") or result_content(error), True
    output = part.get("output", part.get("result"))
    if not isinstance(output, dict):
        return result_content(output), False
    return _model_output(output)


def _model_output(output: Row) -> tuple[Json, bool]:
    """Take apart what a tool made for the model itself: {type, value}; other objects are JSON."""
    kind = text_of(output, "type")
    if kind == "execution-denied":
        return text_of(output, "reason"), True
    if "value" in output and kind in ("text", "error-text", "content"):
        return result_content(output["value"]), kind == "error-text"
    if "value" in output and kind in ("json", "error-json"):
        return json_text(output["value"]), kind == "error-json"
    return result_content(output), output.get("isError") is True


def _usage(part: Row) -> Usage | None:
    """Give the usage of a step, in tokens; None where the provider reported none.

    Input holds what was read from and written to a cache, by the SDK's own definition. Version 5
    passed Anthropic's figure on, without them: where they exceed it, it cannot hold them.
    """
    reported = part.get("usage")
    sent, made = count_of(reported, "inputTokens"), count_of(reported, "outputTokens")
    if sent is None or made is None or not isinstance(reported, dict):
        return None
    details = reported.get("inputTokenDetails")
    read = count_of(details, "cacheReadTokens")
    if read is None:
        read = count_of(reported, "cachedInputTokens") or 0
    written = count_of(details, "cacheWriteTokens") or 0
    return Usage(
        sent,
        made,
        read,
        written,
        message_id=text_of(part.get("response"), "id") or None,
        input_includes_cache=read + written <= sent,
    )


def _recognise(row: Row) -> bool:
    part = _part(row)
    kind = text_of(part, "type")
    if kind in _OWN_TYPES:
        return True
    if kind in _OWN_WITH:
        return isinstance(part.get(_OWN_WITH[kind]), str)
    return part is not row and kind == "start"


def _head(path: str, rows: Iterable[Row]) -> Head:
    """Name the session after its file, since nothing in the stream does; find the model."""
    name = os.path.splitext(os.path.basename(path))[0]
    for row in islice(rows, HEAD_ROWS):
        part = _part(row)
        if text_of(part, "type") == "finish-step":
            model = text_of(part.get("response"), "modelId")
            if model:
                return Head(ID, name, "", model, path=path)
    return Head(ID, name, "", path=path)


def _reader(head: Head) -> Reader:
    return PartReader(head)


RUNTIME = Runtime(reader=_reader, recognise=_recognise, head=_head)
