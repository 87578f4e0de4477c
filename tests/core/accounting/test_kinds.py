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
    assert classify(name) == ToolClass("tool", name)


@pytest.mark.parametrize(
    ("name", "servers", "server", "ambiguous"),
    [
        ("mcp__github__list", (), "github", False),
        ("mcp__a__b__c", (), "a", True),
        ("mcp__a__b__c", ("a", "a__b"), "a__b", False),
        ("mcp__a__b__c", ("other",), "a", True),
        ("mcp__evil____thing", (), "evil", True),
        ("mcp__my_server_io__x", ("my server.io",), "my_server_io", False),
        ("mcp__plugin_db_x__query", (), "plugin_db_x", False),
    ],
)
def test_an_mcp_name_is_split_at_the_longest_known_server(
    name: str, servers: tuple[str, ...], server: str, ambiguous: bool
) -> None:
    assert classify(name, servers) == ToolClass("mcp", server, ambiguous)


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
