"""The hosts that we know, and when they stop listening to blocks."""

from typing import NamedTuple


class Runtime(NamedTuple):
    """One host, by the id that its snapshots are produced by."""

    id: str
    block_cap: int | None = None  # Answers in a row that it obeys; None: it has no cap.
    block_cap_variable: str | None = None  # Environment variable that moves the cap; 0 lifts it.


KNOWN = {
    runtime.id: runtime
    for runtime in (
        Runtime("claude_code", 8, "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"),
        Runtime("codepilot_runtime"),
        Runtime("codex_runtime"),
        Runtime("acp_agent"),
    )
}


def runtime(runtime_id: str) -> Runtime:
    """Give the host of this id; a host of its own (`x-<name>`) sends canonical events."""
    return KNOWN.get(runtime_id) or Runtime(runtime_id)
