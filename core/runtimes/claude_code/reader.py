"""Raw events of Claude Code of every kind, as canonical events."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from core.recordings.contract import Head, Row, Step
from core.runtimes.claude_code.kinds import hook_payload, is_stream_line, sdk_value
from core.runtimes.claude_code.state import State
from core.runtimes.claude_code.transcript import TranscriptRows

if TYPE_CHECKING:
    from core.runtimes.claude_code.hooks import HookPayloads
    from core.runtimes.claude_code.stream import StreamLines


class ClaudeReader:
    """Maps the raw events of one session, whichever kinds of them come, in any mixture.

    What two kinds tell alike is told once: prompts and turns by prompt id, calls by tool use id,
    messages by message id, compactions by their number.
    """

    def __init__(self, head: Head) -> None:
        self._state = State(head)
        self._transcript = rows = TranscriptRows(self._state)
        self._hooks: HookPayloads | None = None
        self._stream: StreamLines | None = None
        self._rows: dict[str, Callable[[Row], None]] = {
            "user": rows.user,
            "assistant": rows.assistant,
            "system": rows.system,
            "attachment": rows.attachment,
            "progress": rows.progress,
            "api-request": rows.request,
            "api-request-shape": rows.request,
            "api-request-blob": rows.request,
        }

    def read(self, line: int, row: Row) -> Iterable[Step]:
        """Give what this raw event tells; of an unknown kind, nothing."""
        kind = row.get("type")
        if type(kind) is not str:
            return self._read_other(line, row)
        if kind == "progress":  # By far the most: nearly all are of a hook or a shell at work.
            data = row.get("data")
            if type(data) is not dict or data.get("type") != "agent_progress":
                return ()
        read = self._rows.get(kind)
        if read is None:
            return () if "sessionId" in row else self._read_other(line, row)
        if "sessionId" not in row and is_stream_line(row):
            return self._read_other(line, row)
        state = self._state
        state.line, state.out = line, []
        read(row)
        return state.out

    def read_side(self, agent_id: str, line: int, row: Row) -> list[Step]:
        """Give what a row of a sub-agent's own file tells."""
        out = self._state.begin(line)
        self._transcript.side(agent_id, row)
        return out

    def finish(self, line: int) -> list[Step]:
        """End what is still open at the end of the file."""
        out = self._state.begin(line)
        self._transcript.finish()
        return out

    def _read_other(self, line: int, row: Row) -> list[Step]:
        """Read a hook payload, a line of stream-json or a message of the Agent SDK."""
        out = self._state.begin(line)
        payload = hook_payload(row)
        if payload is not None:
            self._hook_payloads().read(payload, row.get("answer"))
        elif is_stream_line(row):
            self._stream_lines().read(row)
        elif (value := sdk_value(row)) is not None:
            self._stream_lines().read_message(value)
        elif row.get("kind") == "context_usage" and isinstance(row.get("value"), dict):
            self._stream_lines().read_context_usage(row["value"])
        return out

    def _hook_payloads(self) -> "HookPayloads":
        if self._hooks is None:
            from core.runtimes.claude_code.hooks import HookPayloads

            self._hooks = HookPayloads(self._state)
        return self._hooks

    def _stream_lines(self) -> "StreamLines":
        if self._stream is None:
            from core.runtimes.claude_code.stream import StreamLines

            self._stream = StreamLines(self._state)
        return self._stream
