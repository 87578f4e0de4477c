"""The kinds of context, their order and labels, and which kind a tool call belongs to."""

import re
from functools import lru_cache
from typing import NamedTuple

KINDS = (
    "system_prompt",
    "tools",
    "rules",
    "skills",
    "mcp",
    "memory",
    "files_attachments",
)
ROWS = (*KINDS, "conversation", "pending_next_turn", "cache_or_previous")

# What can be derived from calls and files alone; the rest only when the host supplies it.
DERIVED_KINDS = frozenset({"tools", "rules", "skills", "mcp"})

LABELS = {  # Row: (English, Chinese).
    "system_prompt": ("System prompt", "系统提示"),
    "tools": ("Tools", "工具"),
    "rules": ("Rules", "规则"),
    "skills": ("Skills", "Skills"),
    "mcp": ("MCP", "MCP"),
    "memory": ("Memory", "Memory"),
    "files_attachments": ("Files & attachments", "文件与附件"),
    "conversation": ("Conversation", "对话历史"),
    "pending_next_turn": ("Pending next turn", "本次待加入"),
    "cache_or_previous": ("Cache / previous", "缓存 / 上轮"),
}

SKILL_TOOL = "Skill"
_MCP_PREFIX = "mcp__"
_OUTSIDE_TOOL_NAMES = r"[^A-Za-z0-9_-]"


class ToolClass(NamedTuple):
    """What a tool's name says: its kind (skill, mcp, tool) and the group it is shown under."""

    kind: str
    group: str  # The server of an MCP tool, else the tool's own name.
    ambiguous: bool = False  # More than one server could have this tool, and none is known.


def label(row: str, locale: str) -> str:
    """Name a row for people; any locale but a Chinese one reads English."""
    return LABELS[row][locale.casefold().startswith("zh")]


@lru_cache(maxsize=4096)
def classify(name: str, servers: tuple[str, ...] = ()) -> ToolClass:
    """Say what a tool is by its name; `servers` are the MCP servers that the host named.

    The longest named server that fits wins, else the name is split at the first "__".
    """
    if name == SKILL_TOOL:
        return ToolClass("skill", name)
    if not name.startswith(_MCP_PREFIX):
        return ToolClass("tool", name)
    splits = _splits(name[len(_MCP_PREFIX) :])
    if not splits:
        return ToolClass("tool", name)
    known = {re.sub(_OUTSIDE_TOOL_NAMES, "_", server) for server in servers}
    for server in reversed(splits):
        if server in known:
            return ToolClass("mcp", server)
    return ToolClass("mcp", splits[0], len(splits) > 1)


def _splits(rest: str) -> list[str]:
    """List the servers that `<server>__<tool>` can mean, shortest first; neither part is empty."""
    ends = range(1, len(rest) - 2)
    return [rest[:end] for end in ends if rest.startswith("__", end)]
