"""Hook payloads of Claude Code, as a hook is given them."""

import os
from collections.abc import Callable

from core.events import (
    Compaction,
    Json,
    SessionEnd,
    SessionStart,
    Skill,
    TurnEnd,
)
from core.recordings.content import joined
from core.recordings.contract import BLOCKED, ENDED, NOT_RECORDED, Row
from core.runtimes.claude_code import rows
from core.runtimes.claude_code.attachments import instruction_file
from core.runtimes.claude_code.shapes import RUNTIME, dict_of, dicts_of, list_of, text_of, texts_of
from core.runtimes.claude_code.state import EXACT, SHAPED, State, Thread

_TOOL_ERROR = "<tool_use_error>"


class HookPayloads:
    """Reads hook payloads. A hook tells no usage and no model message.

    PostToolUse gives a tool's result in the tool's own shape, PostToolBatch as the model sees it:
    then the result is told again, and the later one counts.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._turns = state.turns
        self._answer: Json = None
        self._hooks: dict[str, Callable[[Row], None]] = {
            "SessionStart": self._session_start,
            "SessionEnd": self._session_end,
            "InstructionsLoaded": self._instructions,
            "UserPromptSubmit": self._prompt,
            "UserPromptExpansion": self._expansion,
            "PreToolUse": self._call,
            "PostToolUse": self._result,
            "PostToolUseFailure": self._failure,
            "PostToolBatch": self._batch,
            "Stop": self._stop,
            "StopFailure": self._stop_failure,
            "SubagentStart": self._agent_start,
            "SubagentStop": self._agent_stop,
            "PreCompact": self._pre_compact,
            "PostCompact": self._compacted,
        }

    def read(self, payload: Row, answer: Json = None) -> None:
        """Read one payload; a hook of another name tells nothing.

        `answer` is what a recorder wrote down that the hook said: {exit, json}.
        """
        self._answer = answer
        hook = self._hooks.get(text_of(payload, "hook_event_name"))
        if hook is not None:
            hook(payload)

    def _session_start(self, payload: Row) -> None:
        state, source = self._state, text_of(payload, "source") or None
        if source == "compact":
            self._proved_compaction("session_start")
        # A recording begins with a start of its own.
        if not state.line:
            workspace = text_of(payload, "cwd") or state.head.cwd
            model = text_of(payload, "model") or None
            state.begin_in(workspace)
            state.tell(SessionStart(RUNTIME, workspace, model=model, source=source))

    def _session_end(self, payload: Row) -> None:
        if not self._state.line:
            self._turns.end()
            self._state.tell(SessionEnd(text_of(payload, "reason") or None))

    def _instructions(self, payload: Row) -> None:
        path = text_of(payload, "file_path")
        if path:
            workspace = text_of(payload, "cwd") or self._state.head.cwd
            kind = text_of(payload, "memory_type")
            self._state.supply(instruction_file(path, kind, workspace, _size(path)))

    def _prompt(self, payload: Row) -> None:
        text, prompt_id = text_of(payload, "prompt"), text_of(payload, "prompt_id")
        turns = self._turns
        if _blocks(self._answer):  # Then the prompt is dropped.
            return
        if prompt_id and not turns.is_new("hook", prompt_id):
            return
        # One that was sent meanwhile has the id of the running turn: it belongs to that turn.
        if turns.open_turn is None or turns.open_turn.id != prompt_id:
            turns.open(prompt_id or turns.new_id()).from_hook = True
        turns.prompt(text, not rows.is_from_machine(text))

    def _expansion(self, payload: Row) -> None:
        name = text_of(payload, "command_name").lstrip("/")
        if name:
            self._state.load(self._state.main, Skill(name, "loaded"), "")

    def _call(self, payload: Row) -> None:
        thread = self._thread(payload)
        if thread is self._state.main:
            self._turns.act()
        call_id, name = payload.get("tool_use_id"), payload.get("tool_name")
        self._state.call(thread, call_id, name, payload.get("tool_input"))

    def _result(self, payload: Row) -> None:
        self._call(payload)
        given = payload.get("tool_response")
        call_id = text_of(payload, "tool_use_id")
        if isinstance(given, dict):
            self._state.agent_seen(text_of(given, "agentId"), call_id)
        if call_id:
            told = (call_id, _content(given), False)
            self._state.result(self._thread(payload), told, given, SHAPED)

    def _failure(self, payload: Row) -> None:
        self._call(payload)
        call_id = text_of(payload, "tool_use_id")
        if call_id:
            told = (call_id, text_of(payload, "error"), True)
            self._state.result(self._thread(payload), told, None, EXACT)

    def _batch(self, payload: Row) -> None:
        thread = self._thread(payload)
        for call in dicts_of(payload, "tool_calls"):
            self._call({**call, "agent_id": payload.get("agent_id")})
            call_id, given = text_of(call, "tool_use_id"), call.get("tool_response")
            if call_id and isinstance(given, str | list):
                is_error = isinstance(given, str) and given.startswith(_TOOL_ERROR)
                told = (call_id, rows.result_content(given), is_error)
                self._state.result(thread, told, None, EXACT)

    def _stop(self, payload: Row) -> None:
        recorded = NOT_RECORDED
        if isinstance(self._answer, dict):
            goes_on = _blocks(self._answer) or _adds_context(self._answer)
            recorded = BLOCKED if goes_on else ENDED
        self._turns.hook_stop(self._turn_end(payload, "completed", None), recorded)

    def _stop_failure(self, payload: Row) -> None:
        self._turns.hook_stop(self._turn_end(payload, "failed", None), NOT_RECORDED)

    def _agent_start(self, payload: Row) -> None:
        if text_of(payload, "agent_type"):
            self._state.agent_seen(text_of(payload, "agent_id"))

    def _agent_stop(self, payload: Row) -> None:
        agent_id = text_of(payload, "agent_id")
        # The one without a type writes the summary of a compaction.
        if agent_id and payload.get("agent_type") != "":
            self._state.tell(self._turn_end(payload, "completed", agent_id))

    def _turn_end(self, payload: Row, outcome: str, agent_id: str | None) -> TurnEnd:
        turn_id = text_of(payload, "prompt_id") or self._turns.id()
        if self._turns.open_turn is None:
            self._turns.open(turn_id)
        return TurnEnd(
            turn_id,
            outcome,
            text_of(payload, "last_assistant_message") or None,
            len(list_of(payload, "background_tasks")),
            payload.get("stop_hook_active") is True,
            agent_id,
        )

    def _pre_compact(self, payload: Row) -> None:
        self._state.tell(Compaction("before", text_of(payload, "trigger") or None))

    def _compacted(self, payload: Row) -> None:
        self._proved_compaction("hook", text_of(payload, "trigger"))

    def _proved_compaction(self, door: str, trigger: str = "") -> None:
        self._state.compacted(door, {"compactMetadata": {"trigger": trigger}}, "")

    def _thread(self, payload: Row) -> Thread:
        agent_id = text_of(payload, "agent_id")
        return self._state.thread(agent_id) if agent_id else self._state.main


def _blocks(answer: Json) -> bool:
    """Say whether this recorded answer of a hook blocks."""
    if not isinstance(answer, dict):
        return False
    return answer.get("exit") == 2 or text_of(dict_of(answer, "json"), "decision") == "block"


def _adds_context(answer: Row) -> bool:
    """Say whether this answer makes the model go on without blocking it."""
    output = dict_of(dict_of(answer, "json"), "hookSpecificOutput")
    return bool(text_of(output, "additionalContext"))


def _content(given: Json) -> Json:
    """Give what of a tool's own result the model is likely to see, as text or content blocks."""
    if isinstance(given, str | list):
        return rows.result_content(given)
    if not isinstance(given, dict):
        return ""
    file = given.get("file")
    if isinstance(file, dict) and isinstance(file.get("content"), str):
        return file["content"]
    if isinstance(given.get("stdout"), str):
        parts = (given["stdout"], text_of(given, "stderr"))
        return joined(parts, "\n")
    if isinstance(given.get("filePath"), str):
        return given[
            "filePath"
        ]  # Of a file tool that writes: the model sees no more than its name.
    if "content" in given:
        return rows.result_content(given["content"])
    names = texts_of(given, "filenames") or [one for one in given.values() if isinstance(one, str)]
    return joined(names, "\n")


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return None
