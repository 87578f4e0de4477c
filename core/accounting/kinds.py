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

LOCALES = ("en", "zh")  # Languages of the labels.
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
CACHED_CHARS_MAX = 512  # A longer tool name is no real one, and is not remembered.

_MCP_PREFIX = "mcp__"
_BETWEEN = "__"  # Stands between server and tool; either may hold it too.
_OUTSIDE_TOOL_NAMES = r"[^A-Za-z0-9_-]"
_ACCOUNT_CONNECTOR = "claude.ai "


class ToolClass(NamedTuple):
    """What a tool's name says: its kind (skill, mcp, tool) and the group it is shown under."""

    kind: str
    group: str  # The server of an MCP tool by its key, else the tool's own name.
    ambiguous: bool = False  # More than one server could have this tool, and none is known.
    alias: str | None = None  # How the host spells the server, when not as its key.


def label(row: str, locale: str) -> str:
    """Name a row for people; any locale but a Chinese one reads English."""
    return LABELS[row][locale.casefold().startswith("zh")]


def server_key(server: str) -> str:
    """Spell an MCP server as it stands in the names of its tools, whichever way it was spelled.

    `plugin:db:db` is plugin_db_db; `claude.ai Google Drive` is claude_ai_Google_Drive. As seen in
    Claude Code 2.1.332: only a connector's underscores are made one, and taken off its ends.
    """
    key = re.sub(_OUTSIDE_TOOL_NAMES, "_", server)
    if server.startswith(_ACCOUNT_CONNECTOR):
        key = re.sub("_+", "_", key).removeprefix("_").removesuffix("_")
    return key


def classify(name: str, servers: tuple[str, ...] = ()) -> ToolClass:
    """Say what a tool is by its name; `servers` are the MCP servers that the host named.

    The longest named server that fits wins, else the name is split at the first "__", as Claude
    Code does. Neither part is empty: `mcp__evil____thing` is a tool of evil, ambiguously.
    """
    if name == SKILL_TOOL:
        return ToolClass("skill", name)
    if not name.startswith(_MCP_PREFIX):
        return ToolClass("tool", name)
    if len(name) > CACHED_CHARS_MAX:
        return _classify_mcp.__wrapped__(name, servers)
    return _classify_mcp(name, servers)


@lru_cache(maxsize=4096)
def _classify_mcp(name: str, servers: tuple[str, ...]) -> ToolClass:
    rest = name[len(_MCP_PREFIX) :]
    for key, alias in _spellings(servers):
        if rest.startswith(key + _BETWEEN) and len(rest) > len(key) + len(_BETWEEN):
            return ToolClass("mcp", key, False, alias)
    split = rest.find(_BETWEEN, 1, -1)  # A letter at either end is left for server and tool.
    if split == -1:
        return ToolClass("tool", name)
    return ToolClass("mcp", rest[:split], rest.find(_BETWEEN, split + 1, -1) != -1)


@lru_cache(maxsize=64)
def _spellings(servers: tuple[str, ...]) -> tuple[tuple[str, str | None], ...]:
    """Give each server's key and its other spellings, the longest key first."""
    spelled: dict[str, dict[str, None]] = {}
    for server in servers:
        key = server_key(server)
        if key:
            others = spelled.setdefault(key, {})
            if server != key:
                others[server] = None
    keys = sorted(spelled, key=len, reverse=True)
    return tuple((key, ", ".join(spelled[key]) or None) for key in keys)
