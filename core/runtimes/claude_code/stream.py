"""The lines of stream-json, and the messages of the Agent SDK."""

from collections.abc import Callable

from core.events import Fill, Json, SessionStart, Skill
from core.recordings.contract import BLOCKED, Row
from core.runtimes.claude_code import rows
from core.runtimes.claude_code.messages import complete_usage, tell_message
from core.runtimes.claude_code.shapes import (
    RUNTIME,
    SYNTHETIC_MODEL,
    count_of,
    dict_of,
    dicts_of,
    list_of,
    text_of,
    texts_of,
)
from core.runtimes.claude_code.state import State, Thread
from core.units import utf16_units

_FAILURES = frozenset({"error", "error_during_execution", "error_max_turns"})


class StreamLines:
    """Reads stream-json lines.

    The usage on an assistant line is that of the message's beginning: its output is 1 and it is
    told as partial. A message_delta gives the true one. Where none came, the sums in `result`
    complete it: of the turn's output, what the other messages have not is given to the last
    message, as a new report of that message, so nothing is added twice. With several incomplete
    messages the sum of the turn is right, the split between them is not known: they stay partial.
    A result without any message before it tells of the window only.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._turns = state.turns
        self._current: dict[str, tuple[str, Row]] = {}  # Thread -> message begun, its usage.
        self._turn_messages: dict[str, None] = {}  # Of the session's own thread, in this turn.
        self._model = ""
        self._window: int | None = None
        self._was_announced = False
        self._lines: dict[str, Callable[[Row], None]] = {
            "system": self._system,
            "user": self._user,
            "assistant": self._assistant,
            "stream_event": self._event,
            "result": self._result,
        }

    def read(self, row: Row) -> None:
        """Read one line; one of another type tells nothing."""
        line = self._lines.get(text_of(row, "type"))
        if line is not None:
            line(row)

    def read_message(self, value: Row) -> None:
        """Read a message of the Agent SDK in its JSON form."""
        line = _line_of(value)
        if line is not None:
            self.read(line)

    def read_context_usage(self, value: Row) -> None:
        """Read what the SDK's get_context_usage answers, in tokens."""
        used, window = count_of(value, "totalTokens"), count_of(value, "maxTokens")
        if used is not None or window:
            self._state.tell(Fill(used, window or None, "sdk/get_context_usage"))

    def _system(self, row: Row) -> None:
        subtype, state = row.get("subtype"), self._state
        if subtype == "init":
            self._init(row)
        elif subtype == "compact_boundary":
            state.compact_skills(state.main, rows.preserved_rows(row))
            state.compacted("stream", row, "stream-json/compact_boundary")
        elif subtype == "task_started":
            state.agent_seen(text_of(row, "task_id"), text_of(row, "tool_use_id"))

    def _init(self, row: Row) -> None:
        state, turns = self._state, self._turns
        self._model = text_of(row, "model") or self._model
        if turns.open_turn is None or turns.open_turn.is_over:
            turns.announced = turns.new_id(text_of(row, "uuid"))
        available = _available(row)
        if not self._was_announced and (available or not state.line):
            self._was_announced = True
            workspace = text_of(row, "cwd") or state.head.cwd
            model = self._model or None
            state.begin_in(workspace)
            state.tell(SessionStart(RUNTIME, workspace, model=model, available=available or None))

    def _user(self, row: Row) -> None:
        state = self._state
        thread = self._thread(row)
        found = rows.blocks(rows.content_of(row))
        outcome: Json = row.get("tool_use_result")
        if found.results and thread is state.main:
            self._turns.act()
        if isinstance(outcome, dict) and len(found.results) == 1:
            state.agent_seen(text_of(outcome, "agentId"), found.results[0][0])
        for result in found.results:
            state.result(thread, result, outcome)
        if found.text and not found.results:
            self._text(thread, row, found.text)

    def _text(self, thread: Thread, row: Row, text: str) -> None:
        state, is_main = self._state, thread is self._state.main
        body = rows.skill_body(text)
        if body is not None:
            state.tell(body)
            units, agent_id = utf16_units(text), thread.agent_id
            name, file = rows.folder_name(body), rows.skill_file(body)
            skill = Skill(name, "loaded", file, units, agent_id=agent_id)
            state.load(thread, skill, text_of(row, "uuid"))
        elif is_main and _is_prompt(row, text):
            self._prompt(row, text)
        else:
            if is_main and rows.is_stop_feedback(text):
                self._turns.stop(BLOCKED)
            elif is_main and rows.is_interrupt(text):
                self._turns.act("interrupted")
            state.say(thread, "program", text)

    def _prompt(self, row: Row, text: str) -> None:
        """Tell a prompt that the program repeats; one that comes meanwhile joins the turn."""
        turns = self._turns
        turn = turns.open_turn
        if turn is None or turn.is_over or turns.announced:
            turns.open(turns.new_id(turns.announced, text_of(row, "uuid")))
        if turns.is_new("stream", turns.id()):
            turns.prompt(text, not rows.is_from_machine(text))

    def _assistant(self, row: Row) -> None:
        message = dict_of(row, "message")
        thread = self._thread(row)
        is_main = thread is self._state.main
        if message.get("model") == SYNTHETIC_MODEL:
            if is_main:
                self._turns.act("failed")
            return
        if is_main:
            turn = self._turns.act()
            turn.last_text = rows.blocks(message.get("content")).text or turn.last_text
            self._turn_messages.setdefault(text_of(message, "id"))
        tell_message(self._state, thread, row, True)

    def _event(self, row: Row) -> None:
        event, key = dict_of(row, "event"), text_of(row, "parent_tool_use_id")
        kind = event.get("type")
        if kind == "message_start":
            message = dict_of(event, "message")
            self._current[key] = (text_of(message, "id"), dict_of(message, "usage"))
        elif kind == "message_delta":
            begun, usage = self._current.get(key, ("", {}))
            message_id = text_of(row, "api_message_id") or begun
            if not message_id:
                return
            thread = self._thread(row)
            if thread is self._state.main:
                self._turns.act()
                self._turn_messages.setdefault(message_id)
            told = {**usage, **dict_of(event, "usage")} if message_id == begun else event["usage"]
            end = dict_of(event, "delta").get("stop_reason")
            message = {"id": message_id, "usage": told, "stop_reason": end}
            tell_message(self._state, thread, {"message": message}, False)

    def _result(self, row: Row) -> None:
        state = self._state
        usage = dict_of(row, "usage")
        complete_usage(
            state, state.main, list(self._turn_messages), count_of(usage, "output_tokens")
        )
        self._turn_messages = {}
        window = self._window_of(dict_of(row, "modelUsage"))
        if window is not None and window != self._window:
            self._window = window
            state.tell(Fill(None, window, "stream-json/result"))
        turn = self._turns.open_turn
        outcome = "completed" if turn is None else turn.outcome
        if outcome != "interrupted":
            is_failed = row.get("is_error") is True or text_of(row, "subtype") in _FAILURES
            outcome = "failed" if is_failed else "completed"
        self._turns.finish(outcome, text_of(row, "result") or None)

    def _window_of(self, models: Row) -> int | None:
        """Give the window of the session's model, in tokens; None where it is not told."""
        named = models.get(self._model) or (
            next(iter(models.values())) if len(models) == 1 else None
        )
        return count_of(named, "contextWindow") or None if isinstance(named, dict) else None

    def _thread(self, row: Row) -> Thread:
        parent, agent_id = text_of(row, "parent_tool_use_id"), text_of(row, "agent_id")
        if not parent and not agent_id:
            return self._state.main
        if agent_id:
            self._state.agent_seen(agent_id, parent)
        return self._state.thread(agent_id or self._state.agent_of.get(parent, parent), parent)


def _is_prompt(row: Row, text: str) -> bool:
    """Say whether a person gave this text, not the program."""
    marks = (rows.is_stop_feedback, rows.is_interrupt, rows.is_summary, rows.is_local)
    return row.get("isSynthetic") is not True and not any(is_mark(text) for is_mark in marks)


def _available(row: Row) -> dict[str, Json]:
    servers = [text_of(server, "name") for server in dicts_of(row, "mcp_servers")]
    found: dict[str, Json] = {
        "tools": texts_of(row, "tools"),
        "mcp_servers": [name for name in servers if name],
        "skills": texts_of(row, "skills"),
    }
    return {key: names for key, names in found.items() if isinstance(row.get(key), list)}


_BLOCKS = {
    "TextBlock": "text",
    "ThinkingBlock": "thinking",
    "ToolUseBlock": "tool_use",
    "ToolResultBlock": "tool_result",
}


def _line_of(value: Row) -> Row | None:
    """Write a message of the Agent SDK as the stream-json line that it came from."""
    name = text_of(value, "class")
    common = {"parent_tool_use_id": value.get("parent_tool_use_id"), "uuid": value.get("uuid")}
    if name == "SystemMessage":
        return {"type": "system", **dict_of(value, "data")}
    if name == "AssistantMessage":
        message = {
            "id": value.get("message_id"),
            "model": value.get("model"),
            "content": _content(value),
            "usage": value.get("usage"),
            "stop_reason": value.get("stop_reason"),
        }
        return {"type": "assistant", "message": message, **common}
    if name == "UserMessage":
        # Prompts come back only where asked for; what the program puts in is not marked as such.
        told = {"message": {"content": _content(value)}, "isSynthetic": True}
        return {"type": "user", "tool_use_result": value.get("tool_use_result"), **told, **common}
    if name == "StreamEvent":
        return {"type": "stream_event", "event": value.get("event"), **common}
    if name == "ResultMessage":
        return {**value, "type": "result", "modelUsage": value.get("model_usage")}
    return None


def _content(value: Row) -> Json:
    content = value.get("content")
    if isinstance(content, str):
        return content
    blocks = (block for block in list_of(value, "content") if isinstance(block, dict))
    return [{"type": _BLOCKS.get(text_of(block, "class"), ""), **block} for block in blocks]
