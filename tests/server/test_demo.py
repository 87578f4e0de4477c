"""The demo shows the job: a block, an advance, a completed plan."""

import io
import re

import pytest
from rich.console import Console

from server.demo import figures, run_demo
from server.replay.report import Report, Stop
from server.replay.show import console, show


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


def test_each_share_is_a_part_of_the_total_that_is_told(report: Report) -> None:
    told = printed(report, terminal=False)

    assert "of 22,797 tokens that the last request sent" in told
    for turn in report.turns.values():
        sent = turn.accounting["snapshot"]["reconciliation"]["input"]
        for row in turn.accounting["rows"]:
            assert row["share"] == round(row["tokens"] / sent, 4)
            written = re.search(rf"{row['label']} +{row['tokens']:,} +(\S+)", told)
            assert written is not None
            assert written[1] == (">99%" if row["share"] > 0.5 else "<1%")


@pytest.mark.parametrize("columns", [40, 99, 100])
def test_rows_and_bars_fit_into_the_terminal(report: Report, columns: int) -> None:
    lines = printed(report, terminal=False, columns=columns).splitlines()
    bars = [line for line in lines if line.endswith("----")]
    rows = [line for line in lines if re.match(r"  [trkm-] \w", line)]

    assert [len(bar) for bar in bars] == [100 if columns == 100 else 10] * 2
    assert len(rows) == 8
    assert max(map(len, rows)) <= columns
    assert any(row.endswith("…") for row in rows)


def test_the_width_is_as_told_also_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "64")

    assert console(io.StringIO()).width == 64


def test_without_colours_there_is_no_style_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")

    assert console(io.StringIO()).color_system is None


def test_words_stand_where_the_protocol_has_codes() -> None:
    offer = {"id": "1", "kind": "arm_directive", "text": "one\ntwo"}
    snapshot = {"unknown": [{"kind": "tools", "name": "t-1", "reason": "orphan_result"}]}
    flag = {"code": "late_turn_end", "message": "the turn is closed", "hint": "Open another."}
    verdict = {"decision": "allow", "phase": None, "gaps": [], "flags": [flag]}
    told = Report("0123456789abcdef0123456789", "claude_code", None)
    told.plan_state = {
        "taskId": "session-0123456789abcdef01234567",
        "phaseCount": 1,
        "state": "armed",
    }
    for name, recorded in (("a", ""), ("b", "ended")):
        told.turn(name).injections.append(offer)
        accounting = {"rows": [], "snapshot": snapshot}
        told.turn(name).stops.append(Stop(7, recorded, {**verdict, "accounting": accounting}))

    shown = printed(told, terminal=False)

    assert "Plan of this session: 1 phase\n" in shown
    assert "turn ends at line 7 (the recording shows no stop here): ALLOW" in shown
    assert "stop at line 7 (allowed in the recording): ALLOW" in shown
    assert "not counted: Tools, call t-1: a result without its call" in shown
    assert "warning: the turn is closed\n       next: Open another." in shown
    assert shown.count("the sidecar offers this for long prompts while no plan is armed") == 1
    assert not re.search("arm_directive|orphan_result|late_turn_end", shown)


def test_names_are_cleaned_before_they_are_shown(report: Report) -> None:
    odd = Report("s\x1b[2J\u202e1", "claude_code", None)

    shown = printed(odd, terminal=False)

    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_the_figures_give_the_turns_as_a_number(report: Report) -> None:
    told = figures(report)

    assert (told["turns"], told["blocks"], told["advances"], told["completed"]) == (2, 1, 1, True)
