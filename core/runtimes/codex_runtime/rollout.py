"""Rollouts: the model's items as they were sent, and the events that were shown beside them."""

from collections.abc import Callable
from datetime import datetime

from core.events import Json
from core.recordings.content import count_of, text_of
from core.recordings.contract import Row
from core.runtimes.codex_runtime import calls, head, shapes, texts
from core.runtimes.codex_runtime.story import Story
from core.runtimes.codex_runtime.tokens import tokens, usage
from core.runtimes.codex_runtime.turns import COMPLETED, FAILED, INTERRUPTED
from core.units import utf16_units

ITEMS, EVENTS = "items", "events"
_COMPACTED_ROW, _COMPACTED_ITEM = "row", "item"
_FORK_SECONDS = 0.5  # What was copied is written at once; what comes so much later is new.
_UUID7 = 14  # Where a version 7 UUID has its 7; the time stands before it.


class RolloutReader:
    """Reads the rows of one thread's rollout.

    A forked thread's rollout begins with a copy of the rows of the thread that it was forked from.
    Of these only usage is told, as inherited, and what Codex itself put into the context.
    """

    def __init__(self, story: Story, agent: Callable[[str], Story], thread: str) -> None:
        self._story = story
        self._agent = agent
        self._thread = thread
        self._has_meta = False
        self._is_copy = False
        self._began: datetime | None = None  # When the thread did.
        self._rows: dict[str, Callable[[Row], None]] = {
            "turn_context": self._turn,
            "response_item": self.item,
            "event_msg": self.event,
            "token_usage_record": self._record,
            "compacted": self._compacted,
        }
        self._events: dict[str, Callable[[Row], None]] = {
            "task_started": self._turn,
            "turn_started": self._turn,
            "task_complete": self._task_complete,
            "turn_complete": self._task_complete,
            "turn_aborted": self._aborted,
            "error": self._error,
            "token_count": self._token_count,
            "user_message": self._user_message,
            "agent_message": self._agent_message,
            "agent_reasoning": self._agent_reasoning,
            "item_completed": self._item_completed,
            "mcp_tool_call_begin": self._mcp_call,
            "mcp_tool_call_end": self._mcp_call,
            "exec_command_begin": self._exec_call,
            "exec_command_end": self._exec_call,
            "context_compacted": lambda _: self._story.compacted("event"),
        }

    def read(self, kind: str, payload: Row, timestamp: str) -> None:
        """Read a row in its envelope."""
        if kind == "session_meta":
            self._meta(payload, timestamp)
        elif (reader := self._rows.get(kind)) is not None:
            if self._is_copy and self._is_own(kind, payload, timestamp):
                self._is_copy = False
            reader(payload)

    def read_bare(self, row: Row) -> None:
        """Read a row from before there were envelopes, or an event without one."""
        if shapes.shape_of(row) == shapes.BARE:
            self.item(row)
        elif text_of(row.get("msg"), "type"):
            self.event(row["msg"])
        elif text_of(row, "type") in self._events:
            self.event(row)

    # Whose rows they are.

    def _meta(self, payload: Row, timestamp: str) -> None:
        thread = text_of(payload, "id")
        if self._has_meta:
            self._is_copy = bool(thread) and thread != self._thread
            return
        self._has_meta = True
        self._thread = thread or self._thread
        self._began = _time(text_of(payload, "timestamp") or timestamp)
        self._is_copy = bool(head.parent_of(payload))
        self._story.cwd = self._story.cwd or text_of(payload, "cwd")
        given = payload.get("base_instructions")
        text = given if isinstance(given, str) else text_of(given, "text")
        self._story.base_instructions = text
        self._story.supply("system_prompt", "rollout/base_instructions", text)

    def _is_own(self, kind: str, payload: Row, timestamp: str) -> bool:
        """Say whether the copied rows are over: with a turn that began after the thread itself."""
        if text_of(payload, "thread_id") == self._thread:
            return True
        starts = kind == "turn_context" or text_of(payload, "type") == "task_started"
        if not starts:
            return False
        turn_id = text_of(payload, "turn_id")
        if _is_uuid7(turn_id) and _is_uuid7(self._thread):
            return turn_id[:_UUID7] >= self._thread[:_UUID7]
        now = _time(timestamp)
        if now is None or self._began is None:
            return bool(turn_id)
        return (now - self._began).total_seconds() >= _FORK_SECONDS

    def _is_other(self, payload: Row) -> bool:
        """Say whether a row is of another thread; without a head the first one named is ours."""
        thread = text_of(payload, "thread_id")
        if thread and not self._has_meta:
            self._has_meta, self._thread = True, thread
        return bool(thread) and thread != self._thread

    # Rows.

    def _turn(self, payload: Row) -> None:
        window = count_of(payload, "model_context_window")
        if window:
            self._story.window = window
        if not self._is_copy:
            self._story.enter(text_of(payload, "turn_id"))

    def _compacted(self, payload: Row) -> None:
        if self._is_copy:
            return
        self._story.compacted(_COMPACTED_ROW)
        history = payload.get("replacement_history")
        if isinstance(history, list):
            self._replaced([item for item in history if isinstance(item, dict)])

    def _replaced(self, history: list[Row]) -> None:
        """Take what a compaction left in the context: skills and their listing."""
        kept: dict[str, int] = {}
        for piece in (piece for item in history for piece in texts.pieces(item)):
            self._story.list_skills(texts.listed_skills(piece.text))
            if piece.kind == texts.SKILL and (skill := texts.skill(piece.text)) is not None:
                kept[skill.name] = utf16_units(skill.body)
        self._story.keep_skills(kept)

    def _record(self, payload: Row) -> None:
        found = tokens(payload.get("usage"))
        response_id = text_of(payload, "response_id")
        if found is None or not response_id:
            return
        if self._is_copy:
            if self._story.ledger.is_new_response(response_id, found):
                self._story.tell(usage(found, None, response_id)._replace(inherited=True))
            return
        if self._is_other(payload):
            return
        self._story.enter(text_of(payload, "turn_id"))
        self._story.used_response(response_id, found)
        self._story.end_response()

    def _token_count(self, event: Row) -> None:
        info = event.get("info")
        data = info if isinstance(info, dict) else event
        window = count_of(data, "model_context_window")
        if window:
            self._story.window = window
        total = tokens(data.get("total_token_usage"))
        last = tokens(data.get("last_token_usage"))
        if last is None and data is event:
            last = tokens(event)  # The first versions had no totals.
        if last is None:
            return
        if not self._is_copy:
            self._story.used_total(total, last, "rollout/token_count")
            self._story.end_response()
        elif (last.input or last.output) and self._story.ledger.is_new_total(total, last):
            self._story.tell(usage(last, self._story.window)._replace(inherited=True))

    # Items: the model was sent them, or wrote them.

    def item(self, item: Row) -> None:
        """Read a response item."""
        kind, turn_id = text_of(item, "type"), _turn_of(item)
        if kind == "token_count":
            self._token_count(item)
            return
        if kind == "agent_message" or (kind == "message" and _is_input(item)):
            self._message(item, turn_id)
            return
        if self._is_copy:
            return
        self._story.has_items = True
        if kind == "message":
            text = "\n".join(filter(None, (text.text for text in texts.pieces(item))))
            self._story.say("model", text, text_of(item, "id"))
        elif kind == "reasoning":
            self._story.say("thinking", _thought(item), text_of(item, "id"))
        if (call := calls.call_of(item)) is not None:
            self._story.call(call, turn_id)
        if (answer := calls.answer_of(item)) is not None:
            self._story.answer(answer)

    def _message(self, item: Row, turn_id: str) -> None:
        """Read a message to the model: each piece of it for itself, what people wrote as one."""
        found = texts.pieces(item)
        message_id = text_of(item, "id")
        prompt = [piece.text for piece in found if piece.kind == texts.PROMPT]
        has_picture = any(piece.kind == texts.PICTURE for piece in found)
        for index, piece in enumerate(found):
            if piece.kind not in (texts.PROMPT, texts.PICTURE):
                self.put_in(piece, f"{message_id}/{index}" if message_id else "")
        if (prompt or has_picture) and not self._is_copy:
            self._story.has_items = True
            self._story.prompt("\n".join(prompt), turn_id, ITEMS)

    def put_in(self, piece: texts.Text, text_id: str = "") -> None:
        """Take a text that Codex put in."""
        story, text = self._story, piece.text
        if piece.kind == texts.RULES:
            source, inner = texts.rules(text, story.cwd)
            story.supply("rules", source, inner, "AGENTS.md")
            story.list_skills(texts.listed_skills(inner))
        elif piece.kind == texts.MEMORY:
            story.supply("memory", texts.memory_source(text), text)
        elif piece.kind == texts.SKILL and (skill := texts.skill(text)) is not None:
            story.load_skill(skill.name, skill.path, skill.body)
        elif piece.kind == texts.BASE or text == story.base_instructions:
            if not story.base_instructions:
                story.base_instructions = text
                story.supply("system_prompt", "rollout/base_instructions", text)
        else:
            self._say(piece, text_id)

    def _say(self, piece: texts.Text, text_id: str) -> None:
        story = self._story
        if piece.kind == texts.HOOK_PROMPT and not self._is_copy:
            story.follow(story.turns.block())
        elif piece.kind == texts.ABORTED and not story.turns.has_ids:
            story.turns.fail(INTERRUPTED)
        story.list_skills(texts.listed_skills(piece.text))
        story.say("user" if piece.kind == texts.SHELL else "program", piece.text, text_id)

    # Events: what was shown of it.

    def event(self, event: Row) -> None:
        """Read an event."""
        reader = self._events.get(text_of(event, "type"))
        if reader is not None and (not self._is_copy or reader == self._token_count):
            reader(event)

    def _task_complete(self, event: Row) -> None:
        outcome = FAILED if event.get("error") else COMPLETED
        self._end(event, outcome, text_of(event, "last_agent_message"))

    def _aborted(self, event: Row) -> None:
        self._end(event, INTERRUPTED, "")

    def _end(self, event: Row, outcome: str, text: str) -> None:
        turns = self._story.turns
        self._story.follow(turns.end(text_of(event, "turn_id"), outcome, text or None))

    def _error(self, event: Row) -> None:
        self._story.turns.fail(FAILED)

    def _user_message(self, event: Row) -> None:
        text = text_of(event, "message")
        if text and not self._story.has_items:
            self._story.prompt(text, "", EVENTS)

    def _agent_message(self, event: Row) -> None:
        if not self._story.has_items:
            self._story.say("model", text_of(event, "message"))

    def _agent_reasoning(self, event: Row) -> None:
        if not self._story.has_items:
            self._story.say("thinking", text_of(event, "text"))

    def _item_completed(self, event: Row) -> None:
        item, turn_id = event.get("item"), text_of(event, "turn_id")
        if not isinstance(item, dict) or self._is_other(event):
            return
        for agent in calls.agents_of(item):
            if agent != self._thread:
                self._agent(agent)
        kind, item_id = calls.item_kind(item), text_of(item, "id")
        if kind == "contextcompaction":
            self._story.compacted(_COMPACTED_ITEM)
        elif item_id.startswith(calls.INNER_CALL) or not self._story.has_items:
            self._shown(item, turn_id)
        elif calls.item_failed(item):
            self._story.fail(item_id)

    def _shown(self, item: Row, turn_id: str) -> None:
        """Take a call from what was shown of it, where nothing else tells of it."""
        if (call := calls.item_call(item)) is not None:
            self._story.call(call, turn_id)
        if (answer := calls.item_answer(item)) is not None:
            self._story.answer(answer)

    def _mcp_call(self, event: Row) -> None:
        call, result = event.get("invocation"), event.get("result")
        ok, error = _result(result)
        item: Row = {"type": "mcp_tool_call", "id": text_of(event, "call_id")}
        if isinstance(call, dict):
            item |= {key: call.get(key) for key in ("server", "tool", "arguments")}
        self._call_event(event, item | {"result": ok, "error": error})

    def _exec_call(self, event: Row) -> None:
        item = event | {"type": "command_execution", "id": text_of(event, "call_id")}
        self._call_event(event, item)

    def _call_event(self, event: Row, item: Row) -> None:
        ended = text_of(event, "type").endswith("_end")
        if not self._story.has_items:
            if (call := calls.item_call(item)) is not None:
                self._story.call(call, text_of(event, "turn_id"))
            if ended and (answer := calls.item_answer(item)) is not None:
                self._story.answer(answer)
        elif ended and calls.item_failed(item):
            self._story.fail(text_of(item, "id"))


def _result(result: Json) -> tuple[Json, Json]:
    """Take a Rust result apart: {"Ok": value} or {"Err": text}."""
    if not isinstance(result, dict):
        return result, None
    error = result.get("Err")
    return result.get("Ok", result), None if error is None else {"message": error}


def _is_input(item: Row) -> bool:
    return text_of(item, "role") != "assistant"


def _turn_of(item: Row) -> str:
    return text_of(item.get("internal_chat_message_metadata_passthrough"), "turn_id")


def _thought(item: Row) -> str:
    """Give the readable part of the model's thinking; most of it is encrypted."""
    for key in ("summary", "content"):
        parts = item.get(key)
        found = [text_of(part, "text") for part in parts] if isinstance(parts, list) else []
        if any(found):
            return "\n".join(filter(None, found))
    return ""


def _is_uuid7(text: str) -> bool:
    return len(text) == 36 and text[_UUID7] == "7"


def _time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if found.tzinfo is None else found
