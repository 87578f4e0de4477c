"""Hook payloads, and what the `notify` program is given."""

from collections.abc import Callable

from core.events import SessionEnd, SessionStart
from core.recordings.content import text_of
from core.recordings.contract import Row
from core.runtimes.codex_runtime import calls
from core.runtimes.codex_runtime.calls import Answer
from core.runtimes.codex_runtime.shapes import RUNTIME
from core.runtimes.codex_runtime.story import Story
from core.runtimes.codex_runtime.threads import Threads
from core.runtimes.codex_runtime.tokens import tokens
from core.runtimes.codex_runtime.turns import COMPLETED, FAILED, INTERRUPTED

HOOKS = "hooks"


def read(threads: Threads, payload: Row) -> None:
    """Read the payload of one hook."""
    name = text_of(payload, "hook_event_name")
    if (reader := _READERS.get(name)) is not None:
        agent = _agent_of(payload)
        reader(threads.agent(agent) if agent else threads.main, payload)


def notified(story: Story, row: Row) -> None:
    """Read that a turn is over, as the `notify` program is told."""
    turn_id, text = text_of(row, "turn-id"), text_of(row, "last-assistant-message")
    story.follow(story.turns.end(turn_id, COMPLETED, text or None))


def _agent_of(payload: Row) -> str:
    """Name the sub-agent whose hook this is; "" is the session's own agent."""
    thread = text_of(payload, "thread_id")
    is_own = not thread or thread == text_of(payload, "session_id")
    return text_of(payload, "agent_id") or ("" if is_own else thread)


def _session_start(story: Story, payload: Row) -> None:
    cwd = text_of(payload, "cwd")
    story.cwd = cwd or story.cwd
    model, source = text_of(payload, "model") or None, text_of(payload, "source") or None
    if story.cwd:
        story.tell(SessionStart(RUNTIME, story.cwd, model=model, source=source))


def _prompt(story: Story, payload: Row) -> None:
    turn_id = text_of(payload, "turn_id")
    story.cwd = story.cwd or text_of(payload, "cwd")
    if isinstance(payload.get("prompt"), str):
        story.prompt(payload["prompt"], turn_id, HOOKS)


def _tool_use(story: Story, payload: Row) -> None:
    story.cwd = story.cwd or text_of(payload, "cwd")
    call = calls.hook_call(payload)
    if call is not None and call.id:
        story.call(call, text_of(payload, "turn_id"))


def _tool_used(story: Story, payload: Row) -> None:
    _tool_use(story, payload)
    output = payload.get("tool_response")
    is_failed = isinstance(output, dict) and output.get("isError") is True
    story.answer(Answer(text_of(payload, "tool_use_id"), output, is_failed))


def _request(story: Story, payload: Row) -> None:
    if story.enter(text_of(payload, "turn_id")):
        story.ask_by_hook(text_of(payload, "request_id"))


def _response(story: Story, payload: Row) -> None:
    is_open = story.enter(text_of(payload, "turn_id"))
    found, response_id = tokens(payload.get("token_usage")), text_of(payload, "response_id")
    if text_of(payload, "status") == "failed":
        if is_open:
            story.turns.fail(FAILED)
    elif is_open and story.turns.open is not None:
        story.turns.open.outcome = None  # What failed was tried again.
    if found is not None and response_id and (found.input or found.output):
        story.used_response(response_id, found, text_of(payload, "request_id"))


def _compacting(story: Story, payload: Row) -> None:
    story.enter(text_of(payload, "turn_id"))
    story.compacting(HOOKS, text_of(payload, "trigger") or None)


def _compacted(story: Story, payload: Row) -> None:
    story.enter(text_of(payload, "turn_id"))
    story.compacted(HOOKS, text_of(payload, "trigger") or None)


def _stop(story: Story, payload: Row) -> None:
    turn_id, text = text_of(payload, "turn_id"), text_of(payload, "last_assistant_message")
    is_repeated = payload.get("stop_hook_active") is True
    story.enter(turn_id)
    story.follow(story.turns.stop(turn_id, text or None, is_repeated=is_repeated))


def _agent_start(story: Story, payload: Row) -> None:
    story.enter(text_of(payload, "turn_id"))


def _interrupt(story: Story, payload: Row) -> None:
    story.follow(story.turns.end(text_of(payload, "turn_id"), INTERRUPTED, None))


def _session_end(story: Story, payload: Row) -> None:
    story.follow(story.turns.close())
    story.tell(SessionEnd(text_of(payload, "reason") or None))


_READERS: dict[str, Callable[[Story, Row], None]] = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "PreToolUse": _tool_use,
    "PostToolUse": _tool_used,
    "PreModelRequest": _request,
    "PostModelRequest": _response,
    "PreCompact": _compacting,
    "PostCompact": _compacted,
    "Stop": _stop,
    "SubagentStart": _agent_start,
    "SubagentStop": _stop,
    "Interrupt": _interrupt,
    "SessionEnd": _session_end,
}
