"""A session over the protocol as a sequence of canonical events."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from core.events import Attachment, Event, Fill, Json, Prompt, Spoken, TurnEnd, Usage
from core.recordings.content import count_of, joined, text_of
from core.recordings.contract import ENDED, NOT_RECORDED, Head, Row, Step
from core.runtimes.acp_agent.calls import Call, meta_of
from core.runtimes.acp_agent.messages import message_of, request_id, update_of
from core.units import utf16_units

FILL_SOURCE = "acp/usage_update"

# An agent that was refused or ran out did not end its turn by itself: nothing is there to check.
_OUTCOMES = {
    "end_turn": "completed",
    "cancelled": "interrupted",
    "refusal": "failed",
    "max_tokens": "failed",
    "max_turn_requests": "failed",
}


class _Turn:
    """The open turn."""

    __slots__ = ("id", "is_prompted", "last_text")

    def __init__(self, turn_id: str, is_prompted: bool) -> None:
        self.id = turn_id
        self.is_prompted = is_prompted  # By a request, which will be answered.
        self.last_text: str | None = None


class _Voice(NamedTuple):
    """Who speaks in a run of chunks, and in which message."""

    by: str
    message_id: str
    agent_id: str | None


class AcpReader:
    """Maps messages; holds the open turn, its calls, and the text that comes in chunks."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._session_id = ""  # The protocol's own; a host may call the session otherwise.
        self._turn: _Turn | None = None
        self._turn_ids: set[str] = set()
        self._has_prompts = False
        self._prompts: dict[Json, str] = {}  # Requests that wait for their answer, and their turns.
        self._load: Json = None  # The request that has the agent tell an earlier conversation.
        self._calls: dict[str, Call] = {}
        self._voice: _Voice | None = None
        self._chunks: list[str] = []
        self._fill: Fill | None = None
        self._updates: dict[str, Callable[[int, Row], Iterable[Event]]] = {
            "user_message_chunk": self._user_chunk,
            "agent_message_chunk": self._chunk,
            "agent_thought_chunk": self._chunk,
            "tool_call": self._tool,
            "tool_call_update": self._tool,
            "usage_update": self._usage_update,
        }

    def read(self, line: int, row: Row) -> Iterator[Step]:
        """Give what this message tells; one of another session tells nothing."""
        message = message_of(row)
        method, params = text_of(message, "method"), message.get("params")
        if not method and request_id(message) is not None:
            if row.get("direction") != "to":
                yield from self._answer(line, message, has_direction="direction" in row)
        elif not self._is_ours(line, params if method else message):
            return
        elif method == "session/prompt" and isinstance(params, dict):
            yield from self._prompt(line, params, request_id(message))
        elif method == "session/load":
            self._load = request_id(message)
        else:
            yield from self._updated(line, update_of(message))

    def read_side(self, agent_id: str, line: int, row: Row) -> Iterator[Step]:
        """Give nothing: the protocol has no files of sub-agents."""
        return iter(())

    def finish(self, line: int) -> Iterator[Step]:
        """End what is open: a prompt without an answer was broken off."""
        for event in self._flush(line):
            yield Step(line, event)
        if self._turn is not None:
            outcome = "interrupted" if self._turn.is_prompted else "completed"
            yield from self._end_turn(line, self._turn.id, outcome, NOT_RECORDED)

    def _is_ours(self, line: int, params: Json) -> bool:
        """Say whether params name this session: in a file the one of its head, else the first."""
        session_id = text_of(params, "sessionId")
        if session_id and line == 0 and not self._session_id:
            self._session_id = session_id
        return session_id in ("", self._session_id or self._head.session_id)

    def _prompt(self, line: int, params: Row, asked: Json) -> Iterator[Step]:
        self._load, self._has_prompts = None, True
        yield from self._say(line)
        number = len(self._turn_ids) + 1 if asked is None else asked
        turn_id = self._fresh(text_of(params, "messageId") or f"prompt-{number}")
        self._turn = _Turn(turn_id, is_prompted=True)
        if asked is not None:
            self._prompts[asked] = turn_id
        found = params.get("prompt")
        items: list[Json] = found if isinstance(found, list) else []
        blocks = [block for block in items if isinstance(block, dict)]
        text = joined((text_of(block, "text") for block in blocks), "\n")
        attached = tuple(file for block in blocks if (file := _attachment(block)) is not None)
        yield Step(line, Prompt(turn_id, text, attachments=attached))

    def _fresh(self, turn_id: str) -> str:
        """Keep ids of turns apart: a client that connects again counts from the start."""
        number, fresh = 1, turn_id
        while fresh in self._turn_ids:
            number += 1
            fresh = f"{turn_id}-{number}"
        self._turn_ids.add(fresh)
        return fresh

    def _answer(self, line: int, message: Row, *, has_direction: bool) -> Iterator[Step]:
        answered = request_id(message)
        if answered == self._load:
            self._load = None
        result, error = message.get("result"), message.get("error")
        reason = text_of(result, "stopReason")
        # Both sides number their requests: without a direction the reason tells whose answer it is.
        is_end = reason or isinstance(error, dict) or has_direction
        if answered not in self._prompts or not is_end:
            return
        turn_id = self._prompts.pop(answered)
        yield from self._say(line)
        for call in self._calls.values():
            if not call.is_told:
                yield Step(line, call.told(turn_id))
        usage = _turn_usage(turn_id, result)
        if usage is not None:
            yield Step(line, usage)
            # It is the sum of several requests, and no window holds that.
            yield Step(line, self._fill or Fill(None, None, FILL_SOURCE))
        outcome = "failed" if isinstance(error, dict) else _OUTCOMES.get(reason, "completed")
        yield from self._end_turn(line, turn_id, outcome, ENDED)

    def _end_turn(self, line: int, turn_id: str, outcome: str, recorded: str) -> Iterator[Step]:
        last_text = None
        if self._turn is not None and self._turn.id == turn_id:
            last_text, self._turn = self._turn.last_text, None
        yield Step(line, TurnEnd(turn_id, outcome, last_text), recorded)

    def _updated(self, line: int, update: Row) -> Iterator[Step]:
        kind = text_of(update, "sessionUpdate")
        # What a loaded session tells again was counted when it happened.
        reader = self._updates.get(kind) if self._load is None else None
        if reader is None:
            return
        voice = _voice(kind, update)
        if kind == "tool_call" or (voice is not None and voice != self._voice):
            yield from self._say(line)
        for event in reader(line, update):
            yield Step(line, event)

    def _say(self, line: int) -> Iterator[Step]:
        for event in self._flush(line):
            yield Step(line, event)

    def _flush(self, line: int) -> list[Event]:
        """End a run of chunks and give what was said; a user's message in a file opens a turn."""
        voice, text = self._voice, joined(self._chunks)
        self._voice, self._chunks = None, []
        if voice is None or not text:
            return []
        if voice.by != "user":
            if voice == _Voice("model", voice.message_id, None) and self._turn is not None:
                self._turn.last_text = text
            return [Spoken(voice.by, text, voice.agent_id)]
        ended: list[Event] = []
        if self._turn is not None:
            ended = [TurnEnd(self._turn.id, "completed", self._turn.last_text)]
        self._turn = _Turn(self._fresh(f"message-{len(self._turn_ids) + 1}"), is_prompted=False)
        return [*ended, Prompt(self._turn.id, text)]

    def _user_chunk(self, line: int, update: Row) -> Iterable[Event]:
        """Take a user's chunk, unless prompts are told of by the host or by their requests."""
        return () if line == 0 or self._has_prompts else self._chunk(line, update)

    def _chunk(self, line: int, update: Row) -> Iterable[Event]:
        text = text_of(update.get("content"), "text")
        if text:
            self._voice = _voice(text_of(update, "sessionUpdate"), update)
            self._chunks.append(text)
        return ()

    def _tool(self, line: int, update: Row) -> Iterable[Event]:
        call_id = text_of(update, "toolCallId")
        if not call_id:
            return ()
        call = self._calls.setdefault(call_id, Call(call_id))
        return call.updated(update, self._turn_id())

    def _turn_id(self) -> str | None:
        return None if self._turn is None else self._turn.id

    def _usage_update(self, line: int, update: Row) -> Iterable[Event]:
        """Take the fill of the window; before the first request both its figures are made up."""
        used, size = count_of(update, "used"), count_of(update, "size")
        if used is None or (used == 0 and self._fill is None):
            return ()
        self._fill = Fill(used, (size or None) if used else None, FILL_SOURCE)
        return (self._fill,)


def _voice(kind: str, update: Row) -> _Voice | None:
    by = {
        "user_message_chunk": "user",
        "agent_message_chunk": "model",
        "agent_thought_chunk": "thinking",
    }.get(kind)
    if by is None:
        return None
    agent_id = text_of(meta_of(update), "parentToolUseId")
    return _Voice(by, text_of(update, "messageId"), agent_id or None)


def _attachment(block: Row) -> Attachment | None:
    """Give a file that was put beside the prompt, where its size is known."""
    kind, found = text_of(block, "type"), block.get("resource")
    if kind == "resource" and isinstance(found, dict) and isinstance(found.get("text"), str):
        uri = text_of(found, "uri")
        return Attachment(_file_name(uri), uri, units=utf16_units(found["text"]))
    if kind == "resource_link" and (size := count_of(block, "size")) is not None:
        uri = text_of(block, "uri")
        return Attachment(text_of(block, "name") or _file_name(uri), uri, bytes=size)
    return None


def _file_name(uri: str) -> str:
    return uri.rstrip("/").rsplit("/", 1)[-1] or uri


def _turn_usage(turn_id: str, result: Json) -> Usage | None:
    """Give the usage of a whole turn, in tokens; None where the agent does not report it."""
    reported = result.get("usage") if isinstance(result, dict) else None
    sent, made = count_of(reported, "inputTokens"), count_of(reported, "outputTokens")
    if sent is None or made is None:
        return None
    read = count_of(reported, "cachedReadTokens") or 0
    written = count_of(reported, "cachedWriteTokens") or 0
    thought = count_of(reported, "thoughtTokens") or 0
    # The sum tells whether the cached tokens were counted inside the input.
    total = count_of(reported, "totalTokens")
    includes = total in (sent + made, sent + made + thought) and read + written <= sent
    return Usage(
        sent, made, read, written, message_id=turn_id, input_includes_cache=includes, is_sum=True
    )
