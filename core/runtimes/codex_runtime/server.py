"""Notifications of the app-server: {method, params}, of all its threads at once."""

from collections.abc import Callable

from core.events import Json, SelectedSkill
from core.recordings.content import count_of, text_of
from core.recordings.contract import Row
from core.runtimes.codex_runtime import calls, head
from core.runtimes.codex_runtime.rollout import RolloutReader
from core.runtimes.codex_runtime.story import Story
from core.runtimes.codex_runtime.threads import Threads
from core.runtimes.codex_runtime.tokens import tokens
from core.runtimes.codex_runtime.turns import COMPLETED, FAILED, INTERRUPTED

SERVER = "server"
_USAGE = "app-server/thread/tokenUsage/updated"
_COMPACTION_ITEM = "server item"
_OUTCOMES = {"completed": COMPLETED, "interrupted": INTERRUPTED, "failed": FAILED}
_SHOWN_WHOLE_AT_END = frozenset({"websearch", "imagegeneration"})


class ServerReader:
    """Reads what concerns the session and its sub-agents; other threads tell nothing.

    The session's thread is the one of its id, else the first that is named.
    """

    def __init__(self, threads: Threads, session_id: str) -> None:
        self._threads = threads
        self._session_id = session_id
        self._thread = ""
        self._items: set[str] = set()  # Messages of the user that are told.
        self._raw = RolloutReader(threads.main, threads.agent, session_id)
        self._readers: dict[str, Callable[[Story, Row], None]] = {
            "turn/started": _turn_started,
            "turn/completed": _turn_completed,
            "item/started": self._item_started,
            "item/completed": self._item_completed,
            "rawResponseItem/completed": self._raw_item,
            "thread/tokenUsage/updated": _used,
            "thread/compacted": lambda story, _: story.compacted("server"),
            "hook/completed": _hook_completed,
            "error": _error,
        }

    def read(self, row: Row) -> None:
        """Read a notification."""
        method, params = text_of(row, "method"), row.get("params")
        if not isinstance(params, dict):
            return
        thread = params.get("thread")
        if method == "thread/started" and isinstance(thread, dict):
            self._thread_started(thread)
            return
        story = self._story_of(text_of(params, "threadId") or text_of(params, "conversationId"))
        if story is None:
            return
        story.has_bounds = True  # By the usage that comes after each response.
        if method.startswith("codex/event") and isinstance(params.get("msg"), dict):
            self._raw.event(params["msg"])
        elif (reader := self._readers.get(method)) is not None:
            reader(story, params)

    def _thread_started(self, thread: Row) -> None:
        thread_id, parent = text_of(thread, "id"), head.parent_of(thread)
        is_child = head.is_sub_agent(thread) or bool(text_of(thread, "parentThreadId"))
        if is_child and parent and self._is_ours(parent):
            self._threads.agent(thread_id)
        elif thread_id and (not self._thread or thread_id == self._session_id):
            self._thread = thread_id
        if thread_id == self._thread:
            self._threads.main.cwd = self._threads.main.cwd or text_of(thread, "cwd")

    def _is_ours(self, thread: str) -> bool:
        return thread in (self._thread, self._session_id) or self._threads.is_agent(thread)

    def _story_of(self, thread: str) -> Story | None:
        if self._threads.is_agent(thread):
            return self._threads.agent(thread)
        if thread and (not self._thread or thread == self._session_id):
            self._thread = thread
        return self._threads.main if thread == self._thread else None

    def _item_started(self, story: Story, params: Row) -> None:
        item, turn_id = params.get("item"), text_of(params, "turnId")
        if not isinstance(item, dict) or not story.enter(turn_id):
            return
        self._tell_agents(item)
        kind = calls.item_kind(item)
        if kind == "usermessage":
            self._prompt(story, item, turn_id)
        elif kind == "contextcompaction":
            story.compacting(_COMPACTION_ITEM)
        elif kind not in _SHOWN_WHOLE_AT_END and (call := calls.item_call(item)) is not None:
            story.call(call, turn_id)

    def _item_completed(self, story: Story, params: Row) -> None:
        item, turn_id = params.get("item"), text_of(params, "turnId")
        if not isinstance(item, dict):
            return
        story.enter(turn_id)
        self._tell_agents(item)
        kind, item_id = calls.item_kind(item), text_of(item, "id")
        if kind == "usermessage":
            self._prompt(story, item, turn_id)
        elif kind == "agentmessage":
            story.say("model", text_of(item, "text"), item_id)
        elif kind == "reasoning":
            story.say(
                "thinking", _lines(item.get("summary")) or _lines(item.get("content")), item_id
            )
        elif kind == "hookprompt":
            story.follow(story.turns.block())
            story.say("program", _fragments(item.get("fragments")), f"{item_id}/0")
        elif kind == "contextcompaction":
            story.compacted(_COMPACTION_ITEM)
        elif (call := calls.item_call(item)) is not None:
            story.call(call, turn_id)
            if (answer := calls.item_answer(item)) is not None:
                story.answer(answer)

    def _raw_item(self, story: Story, params: Row) -> None:
        item = params.get("item")
        if isinstance(item, dict) and story is self._threads.main:
            story.enter(text_of(params, "turnId"))
            self._raw.item(item)

    def _prompt(self, story: Story, item: Row, turn_id: str) -> None:
        item_id = text_of(item, "id")
        if item_id not in self._items:
            self._items.add(item_id)
            content = item.get("content")
            parts = content if isinstance(content, list) else []
            text = "\n".join(filter(None, (text_of(part, "text") for part in parts)))
            skills = tuple(
                SelectedSkill(part["name"], text_of(part, "path") or None)
                for part in parts
                if text_of(part, "type") == "skill" and text_of(part, "name")
            )
            story.prompt(text, turn_id, SERVER, skills)

    def _tell_agents(self, item: Row) -> None:
        for thread in calls.agents_of(item):
            if thread != self._thread:
                self._threads.agent(thread)


def _turn_started(story: Story, params: Row) -> None:
    story.enter(text_of(params.get("turn"), "id"))


def _turn_completed(story: Story, params: Row) -> None:
    turn = params.get("turn")
    outcome = _OUTCOMES.get(text_of(turn, "status"))
    if not isinstance(turn, dict) or outcome is None:
        return
    items = turn.get("items")
    shown = items if isinstance(items, list) else []
    said = [text_of(item, "text") for item in shown if text_of(item, "type") == "agentMessage"]
    text = said[-1] if said else None
    story.follow(story.turns.end(text_of(turn, "id"), outcome, text or None))


def _used(story: Story, params: Row) -> None:
    found = params.get("tokenUsage")
    data = found if isinstance(found, dict) else {}
    story.window = count_of(data, "modelContextWindow") or story.window
    last = tokens(data.get("last"))
    if last is not None:
        story.enter(text_of(params, "turnId"))
        story.used_total(tokens(data.get("total")), last, _USAGE)
        story.end_response()


def _hook_completed(story: Story, params: Row) -> None:
    run = params.get("run")
    if text_of(run, "eventName") == "stop" and text_of(run, "status") == "blocked":
        story.follow(story.turns.block())


def _error(story: Story, params: Row) -> None:
    if params.get("willRetry") is not True and story.enter(text_of(params, "turnId")):
        story.turns.fail(FAILED)


def _lines(parts: Json) -> str:
    found = parts if isinstance(parts, list) else []
    return "\n".join(part for part in found if isinstance(part, str) and part)


def _fragments(parts: Json) -> str:
    found = parts if isinstance(parts, list) else []
    return "\n".join(filter(None, (text_of(part, "text") for part in found)))
