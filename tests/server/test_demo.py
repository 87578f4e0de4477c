"""The demo shows the job: a block, an advance, a completed plan."""

import io

import pytest
from rich.console import Console

from server.demo import figures, run_demo
from server.replay.report import Report
from server.replay.show import show


@pytest.fixture(scope="module")
def report() -> Report:
    return run_demo()


def printed(report: Report, *, terminal: bool, columns: int = 120) -> str:
    out = io.StringIO()
    show(report, Console(file=out, force_terminal=terminal, width=columns, highlight=False))
    return out.getvalue()


def test_one_stop_is_blocked_then_satisfied_and_the_plan_completed(report: Report) -> None:
    decided = [
        [(stop.verdict["decision"], stop.recorded) for stop in turn.stops]
        for turn in report.turns.values()
    ]

    assert decided == [[("block", "blocked"), ("continue", "ended")], [("allow", "ended")]]
    assert (report.blocks, report.advances, report.completed) == (1, 1, True)
    assert (report.unreadable, report.refused, report.not_played) == ([], [], [])


def test_the_block_names_each_gap_and_what_to_do(report: Report) -> None:
    first = next(iter(report.turns.values())).stops[0].verdict

    assert [gap["criterionId"] for gap in first["gaps"]] == ["draft.skill.release-notes", "draft.1"]
    assert all(gap["nextAction"] for gap in first["gaps"])


def test_what_entered_the_context_is_told_kind_by_kind(report: Report) -> None:
    entries = next(iter(report.turns.values())).accounting["snapshot"]["entries"]

    assert entries["tools"]["detail"] == "Bash × 1, Read × 1, Write × 1"
    assert entries["skills"]["source"] == "workspace/.claude/skills/release-notes/SKILL.md"
    assert entries["rules"]["source"] == "workspace/CLAUDE.md"
    assert entries["mcp"]["source"] == "tool_use/mcp/echo"


def test_the_receipts_tell_the_whole_run(report: Report) -> None:
    events = [receipt["event"] for receipt in report.receipts]

    assert [event for event in events if event.startswith(("phase_", "skill_"))] == [
        "phase_cursor_armed",
        "phase_injection",
        "phase_block",
        "skill_call",
        "phase_advance_drive",
        "phase_injection",
        "phase_advance_drive",
        "phase_plan_complete",
    ]


def test_the_picture_shows_block_advance_and_completion(report: Report) -> None:
    shown = printed(report, terminal=False)

    for told in ("BLOCK", "1. ", "2. ", "CONTINUE", "ALLOW", "the plan is complete", "Tools"):
        assert told in shown
    assert "2 turns, 1 block, 1 advance" in shown
    assert "\x1b" not in shown


def test_colours_are_for_terminals_that_want_them(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b[32m" in printed(report, terminal=True)

    monkeypatch.setenv("NO_COLOR", "1")

    assert "\x1b[32m" not in printed(report, terminal=True)


def test_names_are_cleaned_before_they_are_shown(report: Report) -> None:
    odd = Report("s\x1b[2J\u202e1", "claude_code", None)

    shown = printed(odd, terminal=False)

    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_the_figures_give_the_turns_as_a_number(report: Report) -> None:
    told = figures(report)

    assert (told["turns"], told["blocks"], told["advances"], told["completed"]) == (2, 1, 1, True)
