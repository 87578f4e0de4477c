"""What counts as opening a skill: the good result of a call, or of a whole read of its file."""

import pytest

from core import events as e
from core import facts as f
from core.phases.plan import Phase
from tests.core.given import ARMED, STARTED, Given, arming, call, given, prompt, prompted, result

SHAPE = {"skill": "pack:Shape"}
NAMES_A_PATH = Phase("survey", "Look.", shu_skills=("notes/how.md",))


def opened(ident: str = "k", **changes: object) -> f.SkillOpened:
    fact = f.SkillOpened(ident, "shape", "call", "pack:Shape", "T1", 1, "survey")
    return fact._replace(**changes)  # type: ignore[arg-type]  # Any field may change.


def skills(session: Given) -> list[f.SkillOpened]:
    return [fact for fact in session.facts if isinstance(fact, f.SkillOpened)]


def test_a_call_counts_when_its_good_result_arrives() -> None:
    called = given(ARMED).when(call("k", "Skill", SHAPE))
    assert not skills(called)

    assert skills(called.when(result("k"))) == [opened()]


def test_a_result_before_its_call_counts_with_the_call() -> None:
    session = given(ARMED).when(result("k"))

    assert skills(session.when(call("k", "Skill", SHAPE))) == [opened()]


@pytest.mark.parametrize("is_first", [True, False])
def test_a_failed_call_is_no_evidence(is_first: bool) -> None:
    events: list[e.Event] = [call("k", "Skill", SHAPE), result("k", is_error=True)]
    session = given(ARMED)
    for event in events if is_first else reversed(events):
        session = session.when(event)

    assert not skills(session)
    assert skills(session.when(result("k"))) == [opened()]


def test_a_result_that_comes_twice_leaves_one_receipt() -> None:
    session = given(ARMED).when(call("k", "Skill", SHAPE)).when(result("k")).when(result("k"))

    assert len(skills(session)) == 1


def test_a_whole_read_counts_and_a_partial_one_does_not() -> None:
    path = "/s/shape/SKILL.md"
    whole = given(ARMED).when(call("k", "Read", {"file_path": path})).when(result("k"))
    assert skills(whole) == [opened(source="read", name=path)]

    partial = given(ARMED).when(call("k", "Read", {"file_path": path, "limit": 5}))
    assert not skills(partial.when(result("k")))


def test_a_file_that_the_plan_names_counts_and_another_does_not() -> None:
    session = given(STARTED, arming(NAMES_A_PATH), prompted())

    named = session.when(call("k", "Read", {"file_path": "/w/notes/how.md"})).when(result("k"))
    other = session.when(call("k", "Read", {"file_path": "/w/notes/other.md"})).when(result("k"))

    assert [fact.skill for fact in skills(named)] == ["how"]
    assert not skills(other)


def test_a_result_that_comes_after_the_next_prompt_still_counts() -> None:
    session = given(ARMED).when(call("k", "Skill", SHAPE, agent_id="a1")).when(prompt())

    assert skills(session.when(result("k"))) == [opened(agent_id="a1")]


def test_the_evidence_of_a_sub_agent_carries_its_id_whatever_the_result_says() -> None:
    session = given(ARMED).when(call("k", "Skill", SHAPE, agent_id="a1"))

    assert skills(session.when(result("k"))) == [opened(agent_id="a1")]


def test_a_session_without_a_plan_leaves_no_evidence() -> None:
    for facts in (STARTED, (*STARTED, f.PlanDeclined("no", "agent"))):
        session = given(facts).when(call("k", "Skill", SHAPE)).when(result("k"))
        assert not skills(session)


def test_a_skill_opened_under_an_offer_belongs_to_no_phase() -> None:
    session = given(STARTED, prompted(), f.ArmDirected("t1")).when(call("k", "Skill", SHAPE))

    found = skills(session.when(result("k")))

    assert found == [opened(task_id=None, phase=None, phase_id=None)]
