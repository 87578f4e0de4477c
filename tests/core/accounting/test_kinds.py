"""Which kind a tool is, by its name."""

import json
from pathlib import Path

import pytest

from core.accounting.kinds import KINDS, LABELS, ROWS, ToolClass, classify, label

CONFORMANCE = Path(__file__).parents[2] / "conformance" / "breakdown.json"


@pytest.mark.parametrize(
    "name", ["Bash", "skill", "mcp__", "mcp__a", "mcp__a__", "mcp____b", "MCP__a__b"]
)
def test_a_name_that_is_no_whole_mcp_name_is_a_built_in_tool(name: str) -> None:
    assert classify(name) == classify(name, ("a", "")) == ToolClass("tool", name)


@pytest.mark.parametrize(
    ("name", "servers", "server", "ambiguous"),
    [
        ("mcp__github__list", (), "github", False),
        ("mcp__a__b__c", (), "a", True),
        ("mcp__a__b__c", ("a", "a__b"), "a__b", False),
        ("mcp__a__b__c", ("a__b__c", "a"), "a", False),
        ("mcp__a__b__c", ("other",), "a", True),
        ("mcp__a___b", (), "a", True),
        ("mcp__evil____thing", (), "evil", True),
        ("mcp__evil____thing", ("evil__",), "evil__", False),
        ("mcp____a__b", (), "__a", False),
        ("mcp__" + "_" * 1_000_000 + "a", (), "_", True),
    ],
)
def test_an_mcp_name_is_split_at_the_longest_known_server(
    name: str, servers: tuple[str, ...], server: str, ambiguous: bool
) -> None:
    """Field case U30: what no named server settles is split at the first "__", and said so."""
    assert classify(name, servers) == ToolClass("mcp", server, ambiguous)


@pytest.mark.parametrize(
    ("tool", "spelling", "key"),
    [
        ("mcp__plugin_maps_maps__find", "plugin:maps:maps", "plugin_maps_maps"),
        ("mcp__claude_ai_Big_Drive__search", "claude.ai Big Drive", "claude_ai_Big_Drive"),
        ("mcp__claude_ai_A_B__search", "claude.ai A (B)", "claude_ai_A_B"),
        ("mcp__my_server__io__x", "my server..io", "my_server__io"),
    ],
)
def test_all_spellings_of_a_server_are_one_key_with_the_hosts_own_as_alias(
    tool: str, spelling: str, key: str
) -> None:
    """Field case U32: configuration, display and tool name differ, and name one server."""
    assert classify(tool, (spelling,)) == ToolClass("mcp", key, False, spelling)
    assert classify(tool, (key,)) == ToolClass("mcp", key)
    assert classify(tool, ("x", key, spelling)) == ToolClass("mcp", key, False, spelling)


def test_rows_and_labels_are_the_agreed_ones() -> None:
    agreed = json.loads(CONFORMANCE.read_text(encoding="utf-8"))["labels"]

    assert {row: list(names) for row, names in LABELS.items()} == agreed
    assert list(ROWS) == list(agreed)
    assert ROWS[:7] == KINDS


def test_a_chinese_locale_reads_chinese_and_any_other_english() -> None:
    assert [label("tools", locale) for locale in ("zh-CN", "en", "", "fr")] == [
        "工具",
        "Tools",
        "Tools",
        "Tools",
    ]
