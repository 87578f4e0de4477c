"""The ledger shows what the real programs give today."""

import pytest

from tests.hosts.smoke import LEDGER, evidence
from tests.hosts.smoke_runs import MCP, SPOKEN, TOOLS, Line, lines

PICKED = [
    line
    for line in lines()
    for runtime, backend, kind in (
        ("claude_code", None, SPOKEN),
        ("codex_runtime", "codepilot_proxy", MCP),
        ("codepilot_runtime", None, TOOLS),
    )
    if (line.runtime, line.backend, line.kind) == (runtime, backend, kind)
]


@pytest.mark.parametrize("line", PICKED, ids=lambda line: line.title)
def test_a_line_of_the_ledger_comes_out_as_it_is_written(line: Line) -> None:
    section, why = evidence(line)

    assert why == ""
    assert section in LEDGER.read_text(encoding="utf-8")


def test_each_line_has_its_evidence_in_the_ledger() -> None:
    page = LEDGER.read_text(encoding="utf-8")

    assert [line.title for line in lines() if f"\n## {line.title}\n" not in page] == []
