"""One tool call of the protocol: what its updates tell, put together."""

from collections.abc import Iterator

from core.events import Json, ToolCall, ToolResult
from core.recordings.content import result_content, text_of
from core.recordings.contract import Row

NAMELESS = "other"  # What the protocol calls a tool of no special kind.

# What Codex's own events hold beside the input that its model wrote.
_CODEX_FRAME = frozenset({
    "call_id", "process_id", "turn_id", "started_at_ms", "cwd", "parsed_cmd", "source",
    "auto_approved", "interaction_input",
})  # fmt: skip
_CODEX_OUTPUTS = ("formatted_output", "aggregated_output", "stdout")


class Call:
    """A tool call, as far as its updates have told."""

    __slots__ = ("_content", "_given", "_id", "_is_done", "_kind", "_name", "_parent", "is_told")

    def __init__(self, call_id: str) -> None:
        self._id = call_id
        self._name = self._kind = self._parent = ""
        self._given: Json = None
        self._content: Json = None
        self._is_done = False
        self.is_told = False

    def updated(self, update: Row, turn_id: str | None) -> Iterator[ToolCall | ToolResult]:
        """Tell of the call once its input is known, and of its result once it has ended."""
        meta, status = meta_of(update), text_of(update, "status")
        self._name = text_of(meta, "toolName") or self._name
        self._parent = text_of(meta, "parentToolUseId") or self._parent
        self._kind = text_of(update, "kind") or self._kind
        given, content = update.get("rawInput"), update.get("content")
        has_ended = status in ("completed", "failed") and not self._is_done
        # What is shown together with an input describes the call, it does not answer it.
        if isinstance(content, list) and (given is None or has_ended):
            self._content = content
        if given is not None and not self.is_told:
            self._given = given
        if not self.is_told and (self._given or has_ended):
            yield self.told(turn_id)
        if has_ended:
            yield from self._ended(update.get("rawOutput"), status == "failed")

    def told(self, turn_id: str | None) -> ToolCall:
        """Give the call as it is known by now."""
        self.is_told = True
        name, given = _asked(self._given)
        self._given = None
        name = self._name or name or self._kind or NAMELESS
        return ToolCall(self._id, name, given, turn_id, parent_tool_use_id=self._parent or None)

    def _ended(self, raw: Json, has_failed: bool) -> Iterator[ToolResult]:
        self._is_done = True
        shown, self._content = self._content, None
        content, is_error = _outcome(raw, shown)
        yield ToolResult(self._id, content, is_error or has_failed)


def meta_of(update: Row) -> Json:
    """Give what an agent that runs Claude Code says of the update beside the protocol."""
    found = update.get("_meta")
    return found.get("claudeCode") if isinstance(found, dict) else None


def _asked(given: Json) -> tuple[str, Json]:
    """Give the tool's name, where its input tells, and the input as the model wrote it.

    An agent that runs Codex sends Codex's own event of the call instead of an input.
    """
    if not isinstance(given, dict):
        return "", given
    mcp = given.get("invocation", given)
    server, tool = text_of(mcp, "server"), text_of(mcp, "tool")
    if server and tool and "arguments" in mcp:
        return f"mcp__{server}__{tool}", mcp["arguments"]
    if not text_of(given, "call_id"):
        return "", given
    rest = {key: value for key, value in given.items() if key not in _CODEX_FRAME}
    command = given.get("command")
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        is_shell = len(command) == 3 and command[1] in ("-lc", "-c", "-Command")
        return "Bash", {**rest, "command": command[2] if is_shell else " ".join(command)}
    return ("apply_patch" if "changes" in given else ""), rest


def _outcome(raw: Json, content: Json) -> tuple[Json, bool]:
    """Give what a tool answered, its raw output before what was shown, and if that is an error."""
    if raw is None:
        shown = content if isinstance(content, list) else []
        # Diffs and terminals are shown to people; the model was not sent them.
        texts = [block for block in shown if text_of(block, "type") == "content"]
        return (result_content(texts) if texts else ""), False
    if isinstance(raw, dict) and len(raw) == 1:
        if "Err" in raw:
            return result_content(raw["Err"]), True
        raw = raw.get("Ok", raw)
    if text_of(raw, "call_id"):
        outputs = [text for key in _CODEX_OUTPUTS if (text := text_of(raw, key))]
        return (outputs[0] if outputs else text_of(raw, "stderr")), False
    return result_content(raw), isinstance(raw, dict) and raw.get("isError") is True
