"""What an editor shows of a session that carries a plan out; given facts, then hints and gaps."""

from typing import Any

from lsprotocol import types
from pygls.workspace import PositionCodec

from core import facts as f
from core.phases.cursor import Cursor
from core.phases.plan import to_json
from handlers.editor_text import PlanText
from handlers.editor_view import diagnostics, hints, inlay_hints

TEXT = """\
version: 1
phases:
  - id: survey
    skill_injection: {dao_skills: [tools:Looking, reading]}
    exit_criteria:
      - artifact_exists: a.md
      - {id: found, artifact_exists: b.md}
  - id: build
    task_prompt: Build it.
  - id: ship
    task_prompt: Ship it.
"""
EVERYWHERE = types.Range(types.Position(0, 0), types.Position(99, 0))


def plan_text(text: str = TEXT) -> PlanText:
    return PlanText(text, PositionCodec())


def given(*facts: f.Fact) -> Cursor:
    """A session that was armed with TEXT, and what happened then."""
    plan = plan_text().loaded.plan
    assert plan is not None
    cursor = Cursor()
    for fact in (f.PlanArmed("T", to_json(plan), "/w/plan.yaml", "0", "human"), *facts):
        cursor.evolve(fact)
    return cursor


def gap(criterion_id: str) -> dict[str, Any]:
    why, next_action = "the file is missing", "Create it."
    return {"criterion_id": criterion_id, "why": why, "next_action": next_action, "state": "unmet"}


def blocked(*criterion_ids: str, attempt: int = 1) -> f.Fact:
    gaps = [gap(id_) for id_ in criterion_ids]
    return f.PhaseBlocked("t", "T", 1, "survey", attempt, 3 - attempt, gaps, "reason")


OPENED = f.SkillOpened("u", "looking", "call", "tools:Looking")
CHECKED = f.ChecksRecorded("survey", [["survey.1", "unmet", "missing"], ["found", "met", ""]])
ADVANCED = f.PhaseAdvanced("t", "T", 1, "survey", "build")


def labels(*facts: f.Fact) -> list[str]:
    return [hint.label for hint in hints(given(*facts))]


def test_what_was_not_checked_yet_is_not_called_unmet() -> None:
    first = "armed: 0 of 2 skills opened, 2 unchecked, blocked 0 of 3"
    assert labels() == [first, "next", "later"]


def test_a_hint_tells_state_evidence_and_attempts() -> None:
    once = (OPENED, CHECKED, blocked("survey.1"))
    assert labels(*once)[0] == "armed: 1 of 2 skills opened, 1 of 2 met, blocked 1 of 3"

    given_up = f.DriveGivenUp("t", "T", 1, "survey", 3, 3)
    thrice = (*once, blocked(attempt=2), blocked(attempt=3), given_up)
    assert labels(*thrice)[0] == "given up: 1 of 2 skills opened, 1 of 2 met, blocked 3 of 3"


def test_the_attempts_of_a_phase_end_where_those_of_the_plan_end() -> None:
    cursor = given(blocked())
    cursor.blocks_total = 11
    assert hints(cursor)[0].label.endswith("blocked 1 of 2")


def test_a_closed_phase_is_done_and_all_are_after_completion() -> None:
    assert labels(ADVANCED) == ["done", "armed: blocked 0 of 3", "next"]
    assert labels(ADVANCED, f.PlanCompleted("t", "T")) == ["done", "done", "done"]


def test_a_plan_that_was_dropped_has_no_hints() -> None:
    assert labels(f.PlanCancelled("human", "no", "T")) == []


def test_the_tooltip_lists_every_skill_and_criterion() -> None:
    assert hints(given(OPENED, CHECKED))[0].tooltip.splitlines() == [
        "Task T, phase 1 of 3",
        "skill tools:Looking: opened",
        "skill reading: not opened",
        "survey.1, artifact_exists: unmet, missing",
        "found, artifact_exists: met",
    ]


def test_a_hint_stands_at_the_end_of_its_id_line_if_that_was_asked_for() -> None:
    found = hints(given())
    asked = types.Range(types.Position(3, 0), types.Position(7, 5))

    everywhere = inlay_hints(plan_text(), found, EVERYWHERE)
    assert [hint.position for hint in everywhere] == [
        types.Position(2, len("  - id: survey")),
        types.Position(7, len("  - id: build")),
        types.Position(9, len("  - id: ship")),
    ]
    assert [hint.label for hint in inlay_hints(plan_text(), found, asked)] == ["next"]


def test_a_hint_follows_its_phase_through_edits() -> None:
    edited = TEXT.replace("  - id: survey", "  # moved\n  - id: survey").replace("ship", "send")
    placed = inlay_hints(plan_text(edited), hints(given()), EVERYWHERE)
    assert [hint.position.line for hint in placed] == [3, 8]


def marked(text: str, criterion_id: str) -> str:
    """What is marked for a gap."""
    (found,) = diagnostics(plan_text(text), given(blocked(criterion_id)))
    assert (found.code, found.severity) == (criterion_id, types.DiagnosticSeverity.Warning)
    assert found.message == "the file is missing. Create it."
    start, end = found.range.start, found.range.end
    return text.splitlines()[start.line][start.character : end.character]


def test_a_gap_marks_its_criterion_or_skill() -> None:
    assert marked(TEXT, "survey.1") == "artifact_exists: a.md"
    assert marked(TEXT, "found") == "artifact_exists: b.md"
    assert marked(TEXT, "survey.skill.looking") == "tools:Looking"


def test_a_gap_whose_place_was_edited_away_marks_its_phase_or_the_start() -> None:
    assert marked(TEXT.replace("id: found, ", "id: lost, "), "found") == "survey"
    assert marked(TEXT.replace("id: survey", "id: look"), "survey.skill.looking") == ""


def test_faults_and_gaps_are_shown_together() -> None:
    faulty = plan_text(TEXT + "unknown: 1\n")
    found = diagnostics(faulty, given(blocked("survey.1")))
    assert [diagnostic.code for diagnostic in found] == ["unknown_key", "survey.1"]
