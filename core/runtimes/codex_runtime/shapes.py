"""The raw shapes of Codex, told apart by what only they have."""

from core.events import Json
from core.recordings.content import text_of
from core.recordings.contract import Row

RUNTIME = "codex_runtime"

ROLLOUT = "rollout"  # {timestamp, type, payload}, since autumn 2025.
BARE = "bare"  # A rollout before that: response items themselves.
SERVER = "server"  # A notification of the app-server.
EXEC = "exec"  # A line of `codex exec --json`.
HOOK = "hook"
NOTIFY = "notify"  # What the `notify` program is given.

_ROLLOUT_TYPES = frozenset({
    "session_meta", "turn_context", "response_item", "event_msg", "token_usage_record",
    "compacted", "world_state", "inter_agent_communication", "inter_agent_communication_metadata",
})  # fmt: skip
_EXEC_TYPES = frozenset({
    "thread.started", "turn.started", "turn.completed", "turn.failed", "item.started",
    "item.updated", "item.completed",
})  # fmt: skip
_BARE_ITEMS = {
    "function_call": "call_id",
    "function_call_output": "call_id",
    "custom_tool_call": "call_id",
    "custom_tool_call_output": "call_id",
    "local_shell_call": "action",
    "web_search_call": "action",
    "reasoning": "summary",
}
_METHODS = ("thread/", "turn/", "item/", "hook/", "rawResponseItem/", "codex/event")
_CONTENT = frozenset({"input_text", "output_text", "input_image"})
_ROLES = frozenset({"user", "assistant", "developer", "system"})


def unwrapped(row: Row) -> Row:
    """Take a raw event out of the row that a recorder put it in; what a client sent is nothing."""
    if "message" in row and "direction" in row:
        message = row["message"]
        return message if isinstance(message, dict) and row["direction"] != "to" else {}
    payload = row.get("payload")
    if "event" in row and "type" not in row and isinstance(payload, dict):
        return payload
    return row


def shape_of(row: Row) -> str:
    """Name the shape of a raw event of Codex; "" for one that is not surely its own."""
    row = unwrapped(row)
    if "hook_event_name" in row:
        is_own = "turn_id" in row or "/rollout-" in text_of(row, "transcript_path")
        return HOOK if is_own else ""
    kind = row.get("type")
    if not isinstance(kind, str):
        return _untyped_shape(row)
    if kind in _ROLLOUT_TYPES and isinstance(row.get("payload"), dict):
        return ROLLOUT
    if kind in _EXEC_TYPES:
        return EXEC
    if kind == "agent-turn-complete" and "turn-id" in row:
        return NOTIFY
    if _BARE_ITEMS.get(kind, "") in row or (kind == "message" and _is_item(row)):
        return BARE
    return ""


def _untyped_shape(row: Row) -> str:
    method, params = text_of(row, "method"), row.get("params")
    if isinstance(params, dict) and "jsonrpc" not in row:
        is_own = method.startswith(_METHODS) or (method == "error" and "threadId" in params)
        return SERVER if is_own else ""
    if row.get("record_type") == "state" or is_bare_head(row):
        return BARE
    return ""


def is_bare_head(row: Row) -> bool:
    """Say whether this is the first row of a rollout from before it had envelopes."""
    has_start = isinstance(row.get("id"), str) and isinstance(row.get("timestamp"), str)
    return has_start and "type" not in row and ("instructions" in row or "git" in row)


def _is_item(row: Row) -> bool:
    content: Json = row.get("content")
    if text_of(row, "role") not in _ROLES or not isinstance(content, list) or "message" in row:
        return False
    return any(text_of(part, "type") in _CONTENT for part in content)
