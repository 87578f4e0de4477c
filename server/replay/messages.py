"""Canonical events as requests of the protocol, named as docs/protocol.md names them."""

from typing import Any, NamedTuple

from core.events import (
    Compaction,
    Context,
    Event,
    Prompt,
    SelectedSkill,
    SessionEnd,
    SessionStart,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
)


class Message(NamedTuple):
    """A request: its method and its params, without the session."""

    method: str
    params: dict[str, Any]


def message_of(event: Event) -> Message | None:
    """Give the request that tells this event; None for one that no recording holds."""
    name, params = _named(event)
    # An input of null is a value like any other; elsewhere None is what is not known.
    known = {key: value for key, value in params.items() if value is not None or key == "input"}
    return Message(f"turnkeeper/{name}", known) if name else None


def _named(event: Event) -> tuple[str, dict[str, Any]]:
    match event:
        case SessionStart():
            return "sessionStart", _session_start(event)
        case Prompt():
            return "prompt", _prompt(event)
        case ToolCall():
            return "toolCall", {
                "toolUseId": event.tool_use_id,
                "name": event.name,
                "turnId": event.turn_id,
                "agentId": event.agent_id,
                "parentToolUseId": event.parent_tool_use_id,
                # An input of null is left out like any other null: both read as null.
                "input": event.input,
            }
        case ToolResult():
            return "toolResult", {
                "toolUseId": event.tool_use_id,
                "content": event.content,
                "isError": event.is_error,
                "agentId": event.agent_id,
            }
        case Usage():
            return "usage", _usage(event)
        case TurnEnd():
            return "turnEnd", _turn_end(event)
        case _:
            return _rare(event)


def _rare(event: Event) -> tuple[str, dict[str, Any]]:
    match event:
        case Context() if event.units is None and event.bytes is None:
            return "", {}  # The protocol takes no content of unknown length.
        case Context():
            return "context", {
                "kind": event.kind,
                "source": event.source,
                "chars": event.units,
                "bytes": event.bytes,
                "detail": event.detail,
            }
        case Compaction():
            return "compaction", {
                "stage": event.stage,
                "trigger": event.trigger,
                "preTokens": event.pre_tokens,
                "postTokens": event.post_tokens,
            }
        case SessionEnd():
            return "sessionEnd", {"reason": event.reason}
        case _:
            return "", {}


def _session_start(event: SessionStart) -> dict[str, Any]:
    return {
        "runtime": event.runtime,
        "workspace": event.workspace,
        "model": event.model,
        "source": event.source,
        "parentSessionId": event.parent_session_id,
    }


def _prompt(event: Prompt) -> dict[str, Any]:
    return {
        "turnId": event.turn_id,
        "text": event.text,
        "fromHuman": event.from_human,
        "selectedSkills": [_skill(skill) for skill in event.selected_skills],
    }


def _skill(skill: SelectedSkill) -> dict[str, str]:
    named = {"name": skill.name}
    return {**named, "sourcePath": skill.source_path} if skill.source_path else named


def _usage(event: Usage) -> dict[str, Any]:
    return {
        "input": event.input_tokens,
        "output": event.output_tokens,
        "cacheRead": event.cache_read_tokens,
        "cacheCreation": event.cache_creation_tokens,
        "messageId": event.message_id,
        "agentId": event.agent_id,
        "contextWindow": event.context_window,
        "inputIncludesCache": event.input_includes_cache or None,
        "cumulative": event.cumulative or None,
    }


def _turn_end(event: TurnEnd) -> dict[str, Any]:
    return {
        "turnId": event.turn_id,
        "outcome": event.outcome,
        "lastAssistantMessage": event.last_assistant_message,
        "stopHookActive": event.stop_hook_active,
    }
