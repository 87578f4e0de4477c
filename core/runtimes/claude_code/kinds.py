"""Which raw events are Claude Code's, and of which kind they are."""

import ntpath

from core.events import Json
from core.recordings.contract import Row
from core.runtimes.claude_code.shapes import dict_of, text_of

HOOKS = frozenset(
    {
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "Notification",
        "UserPromptSubmit",
        "UserPromptExpansion",
        "SessionStart",
        "SessionEnd",
        "Stop",
        "StopFailure",
        "SubagentStart",
        "SubagentStop",
        "PreCompact",
        "PostCompact",
        "PreModelSwitch",
        "PostModelSwitch",
        "PermissionRequest",
        "PermissionDenied",
        "Setup",
        "TeammateIdle",
        "TaskCreated",
        "TaskCompleted",
        "Elicitation",
        "ElicitationResult",
        "ConfigChange",
        "WorktreeCreate",
        "WorktreeRemove",
        "InstructionsLoaded",
        "CwdChanged",
        "FileChanged",
        "DirectoryAdded",
        "MessageDisplay",
        "PreSkillShellCommand",
    }
)
_STREAM_TYPES = frozenset({"system", "user", "assistant", "stream_event", "result"})
_SDK_CLASSES = frozenset(
    {"SystemMessage", "AssistantMessage", "UserMessage", "ResultMessage", "StreamEvent"}
)


def is_ours(row: Row) -> bool:
    """Say whether this raw event is Claude Code's."""
    return (
        is_transcript(row)
        or is_stream_line(row)
        or hook_payload(row) is not None
        or sdk_value(row) is not None
    )


def is_transcript(row: Row) -> bool:
    """Say whether this is a row of a transcript."""
    kind = row.get("type")
    if kind in ("user", "assistant"):
        return "message" in row and not {"session_id", "payload"} & row.keys()
    if kind == "summary":
        return "leafUuid" in row or "summary" in row
    if kind == "file-history-snapshot":
        return True
    return isinstance(kind, str) and isinstance(row.get("sessionId"), str)


def is_stream_line(row: Row) -> bool:
    """Say whether this is a line of stream-json, or a message of the SDK in its form."""
    kind = text_of(row, "type")
    if kind not in _STREAM_TYPES or "sessionId" in row:
        return False
    has_session = isinstance(row.get("session_id"), str)
    if kind in ("user", "assistant"):
        return "message" in row and (has_session or "parent_tool_use_id" in row)
    if kind == "stream_event":
        return isinstance(row.get("event"), dict)
    return has_session and "subtype" in row


def hook_payload(row: Row) -> Row | None:
    """Give a hook's payload: bare, as a recorder or the SDK wraps it; None for another row."""
    name = row.get("hook_event_name")
    if name is None:
        found = row.get("payload")
        if not isinstance(found, dict):
            value = row.get("value")
            found = value.get("input") if isinstance(value, dict) else None
        if not isinstance(found, dict):
            return None
        row, name = found, found.get("hook_event_name")
    return row if isinstance(name, str) and name in HOOKS and not _is_codex(row, name) else None


def sdk_value(row: Row) -> Row | None:
    """Give a message of the Agent SDK, bare or wrapped; None for another row."""
    found: Json = row.get("value") if row.get("kind") == "message" else row
    if not isinstance(found, dict) or text_of(found, "class") not in _SDK_CLASSES:
        return None
    return found


def session_of(row: Row) -> tuple[str, str, str, str]:
    """Give session id, folder, model and version, as far as a live raw event tells them."""
    found = hook_payload(row) or sdk_value(row) or row
    data = dict_of(found, "data")
    found = data if data else found
    version = text_of(found, "claude_code_version")
    return text_of(found, "session_id"), text_of(found, "cwd"), text_of(found, "model"), version


def _is_codex(payload: Row, name: str) -> bool:
    """Say whether Codex sent this payload: it has the same hooks, with a turn id and a model."""
    if ntpath.basename(text_of(payload, "transcript_path")).startswith("rollout-"):
        return True
    if "prompt_id" in payload:
        return False
    if "turn_id" in payload and name != "MessageDisplay":
        return True
    return "model" in payload and "permission_mode" in payload
