"""Which facts leave a receipt, and that a receipt holds no text that is not ours to keep."""

from typing import get_args

from core import facts as f
from core.receipts import FIELDS, KINDS, receipts_of, under_way
from tests.core.given import advanced, arming, blocked, prompted

GAP = {"criterion_id": "survey.1", "locator": "out.md", "state": "unmet", "why": "words"}


def test_a_block_names_its_gaps_and_none_of_its_words() -> None:
    fact = blocked(1, gaps=[GAP], reason="words")

    assert receipts_of(f.to_line(fact)) == [
        {
            "event": "phase_block",
            "turn_id": "t1",
            "task_id": "T1",
            "phase": 1,
            "phase_id": "survey",
            "attempt": 1,
            "attempts_left": 2,
            "gaps": ["survey.1"],
        }
    ]


def test_an_opened_skill_leaves_the_receipt_of_its_way() -> None:
    fact = f.SkillOpened("k", "shape", "call", "pack:Shape", "T1", 1, "survey", "a1")

    (called,) = receipts_of(f.to_line(fact))
    (read,) = receipts_of(f.to_line(fact._replace(source="read", name="/s/shape/SKILL.md")))

    assert (called["event"], called["tool"], called["success"]) == ("skill_call", "Skill", True)
    assert (read["event"], read["tool"], read["success"]) == ("skill_read", "Read", True)
    assert called["agent_id"] == read["agent_id"] == "a1"


def test_an_advance_names_the_artifacts_it_rests_on() -> None:
    (receipt,) = receipts_of(f.to_line(advanced()))

    assert receipt["event"] == "phase_advance_drive"
    assert (receipt["artifact_paths"], receipt["next_phase_id"]) == (["out.md"], "build")


def test_prompts_calls_and_accounts_leave_no_receipt() -> None:
    facts = (prompted(), f.ToolCalled("c", "Bash", 4), f.ToolReturned("c", 2))
    account = f.TurnAccounted("t1", 1, "completed", True, {})

    assert [receipts_of(f.to_line(fact)) for fact in (*facts, account)] == [[], [], [], []]


def test_every_receipt_is_made_from_fields_that_its_fact_has() -> None:
    for kind in KINDS:
        assert kind.fact in get_args(f.Fact)
        assert set(kind.fields) <= set(getattr(kind.fact, "_fields", ())), kind.event


def test_every_event_and_every_field_is_explained_once() -> None:
    used = {name for kind in KINDS for name in (*kind.fields, *dict(kind.fixed))}
    of_the_store = {"v", "seq", "event_id", "ts", "event", "session_id"}

    assert set(FIELDS) == used | of_the_store
    assert all(kind.doc.endswith(".") for kind in KINDS)
    assert len({kind.event for kind in KINDS}) == len(KINDS)


def test_receipts_tell_which_sessions_have_a_plan_under_way() -> None:
    armed = receipts_of(f.to_line(arming()))[0]
    events = [
        armed | {"session_id": "A"},
        armed | {"session_id": "B"},
        armed | {"session_id": "C"},
        {"event": "phase_cancelled", "session_id": "A"},
        {"event": "phase_drive_giveup", "session_id": "B"},
        {"event": "phase_plan_complete", "session_id": "C"},
        armed | {"session_id": "C"},
    ]

    assert under_way(events) == ["B", "C"]
