"""Turn ends of an armed session: block, continue, complete, give up, and never block."""

import pytest

from core import events as e
from core import facts as f
from core.errors import NotHuman, Refusal
from core.phases.plan import Limits, Phase
from core.state import MAIN
from tests.core.given import (
    ARMED,
    BUILD,
    COMPLETED,
    CONTINUED,
    STARTED,
    SURVEY,
    advanced,
    arming,
    artifact,
    blocked,
    call,
    given,
    prompt,
    prompted,
    started,
    turn_end,
)

GIVEN_UP = f.DriveGivenUp("t1", "T1", 1, "survey", 3, 3)
NEAR = f.HostCapNeared("t1", "T1", 1, "survey")


def injected(turn_id: str = "t2", phase: int = 1, phase_id: str = "survey") -> f.Fact:
    return f.PhaseInjected(turn_id, "T1", phase, phase_id)


def test_an_unmet_turn_end_is_blocked_and_says_what_to_do() -> None:
    decided = given(ARMED).when(turn_end()).then(blocked(1)).answers("block", 1, left=2).decided

    assert decided.verdict is not None
    assert decided.verdict.reason.startswith("Automated phase check (not the user)")
    assert "Create out.md." in decided.verdict.reason
    assert "turnkeeper status --session S" in decided.verdict.reason
    assert [gap["criterion_id"] for gap in decided.verdict.gaps] == ["out.md"]


@pytest.mark.parametrize("stop_hook_active", [True, False])
def test_after_three_blocks_it_gives_up_once_and_is_silent_then(stop_hook_active: bool) -> None:
    stop = turn_end(stop_hook_active=stop_hook_active)
    session = given(ARMED)
    for attempt in (1, 2, 3):
        session = session.when(stop).then(blocked(attempt)).answers("block", attempt)
        session = session.when(call(f"c{attempt}")).then(f.ToolCalled(f"c{attempt}", "Bash", 4))

    given_up = session.when(stop).then(GIVEN_UP).answers("allow", 3, left=0)
    given_up.flags("phase_drive_giveup").stands("given_up")

    given_up.when(stop).then().answers("allow", 3).flags()


def test_activity_is_no_progress_a_closed_phase_is() -> None:
    two = (artifact("out.md"), artifact("notes.md"))
    plan = arming(SURVEY._replace(criteria=two), BUILD)
    session = given(STARTED, plan, prompted()).when(turn_end(), "unrelated.md").then(blocked(1))

    session.when(turn_end(), "unrelated.md", "more.md").answers("block", 2)
    after = session.when(turn_end(), "out.md", "notes.md").answers("continue")

    after.when(turn_end(), "out.md", "notes.md").answers("block", 1, left=2)


def test_the_blocks_of_all_phases_count_together() -> None:
    limits = Limits(blocks_per_phase=3, blocks_total=3)
    session = given(STARTED, arming(SURVEY, BUILD, limits=limits), prompted())
    session = session.when(turn_end()).answers("block", 1, left=2)
    session = session.when(turn_end()).answers("block", 2, left=1)
    session = session.when(turn_end(), "out.md").answers("continue", 0, left=1)
    session = session.when(turn_end(), "out.md").answers("block", 1, left=0)

    session.when(turn_end(), "out.md").answers("allow", 1).flags("phase_drive_giveup")


def test_a_closed_phase_goes_on_with_what_the_next_one_asks_for() -> None:
    session = given(ARMED, blocked(1)).when(turn_end(), "out.md").then(advanced(), CONTINUED)

    assert session.answers("continue", 0, left=3).decided.verdict is not None
    reason = session.decided.verdict.reason if session.decided.verdict else ""
    assert all(words in reason for words in ("survey", "build", "Build it.", "done.md"))
    assert session.state.cursor.blocks_total == 1


def test_the_last_phase_completes_the_plan_and_the_turn_may_end() -> None:
    session = given(ARMED, advanced(), CONTINUED).when(turn_end(), "done.md")

    session.then(advanced(BUILD, None), COMPLETED).answers("allow").stands("complete")
    session.when(turn_end()).then().answers("allow")
    session.when(prompt()).then().injects()


def test_several_phases_close_at_one_stop_each_on_its_own_evidence() -> None:
    both = given(ARMED).when(turn_end(), "out.md", "done.md")
    both.then(advanced(), advanced(BUILD, None), COMPLETED).answers("allow")

    needs_skill = BUILD._replace(required_skills=("shape",))
    early = f.SkillOpened("k", "shape", "call", "shape", "T1", 1, "survey")
    session = given(STARTED, arming(SURVEY, needs_skill), prompted(), early)
    session = session.when(turn_end(), "out.md", "done.md").then(advanced(), CONTINUED)
    session.when(turn_end(), "out.md", "done.md").answers("block", 1)


def test_a_phase_that_asks_for_no_evidence_closes_only_after_it_was_shown() -> None:
    talk = tuple(Phase(name, f"Talk about {name}.") for name in ("one", "two"))
    session = given(STARTED, arming(*talk), prompted()).when(turn_end()).answers("continue")

    assert session.decided.verdict is not None
    assert "Talk about two." in session.decided.verdict.reason
    session.when(turn_end()).answers("allow").stands("complete")


def test_a_skill_of_an_earlier_phase_counts_only_with_carry() -> None:
    carries = BUILD._replace(required_skills=("shape",), carry=True)
    early = f.SkillOpened("k", "shape", "call", "shape", "T1", 1, "survey")
    session = given(STARTED, arming(SURVEY, carries), prompted(), early)

    session.when(turn_end(), "out.md", "done.md").answers("allow").stands("complete")


def test_a_required_skill_is_a_gap_of_its_own_before_the_criteria() -> None:
    phase = SURVEY._replace(required_skills=("pack:Shape",))
    decided = given(STARTED, arming(phase), prompted()).when(turn_end()).decided

    assert decided.verdict is not None
    ids = [gap["criterion_id"] for gap in decided.verdict.gaps]
    assert ids == ["survey.skill.shape", "out.md"]


@pytest.mark.parametrize("counts", [False, True])
def test_what_sub_agents_opened_counts_only_where_the_plan_says_so(counts: bool) -> None:
    phase = SURVEY._replace(required_skills=("shape",), count_subagents=counts)
    opened = f.SkillOpened("k", "shape", "read", "/s/shape/SKILL.md", "T1", 1, "survey", "a1")
    session = given(STARTED, arming(phase), prompted(), opened).when(turn_end(), "out.md")

    session.answers("allow" if counts else "block", 0 if counts else 1)


def test_stops_of_sub_agents_are_recorded_and_never_count() -> None:
    session = given(ARMED)
    for agent in ("a1", "a2", "a3", "a4"):
        session = session.when(turn_end(agent_id=agent), "out.md", "done.md").answers("allow")
        session.then(f.AgentTurnEnded("t1", agent, "completed"))

    session.when(turn_end()).answers("block", 1)


@pytest.mark.parametrize(
    "stop",
    [
        turn_end(outcome="interrupted"),
        turn_end(outcome="failed"),
        turn_end(outcome="awaitingUser"),
        turn_end(background_tasks=1),
        turn_end(agent_id="a1"),
    ],
)
def test_it_never_blocks_what_is_no_finished_turn(stop: e.TurnEnd) -> None:
    given(ARMED).when(stop).answers("allow", 0, left=3).flags()


def test_awaiting_the_user_counts_nothing_until_the_next_human_prompt() -> None:
    waits = given(ARMED).when(turn_end(outcome="awaitingUser"))
    waits.then(f.UserAwaited("t1", "T1")).stands("waiting_user")

    waits.when(prompt(from_human=False)).injects("phase").stands("waiting_user")
    back = waits.when(prompt()).then(injected()).injects("phase").stands("armed")

    back.when(turn_end("t2")).answers("block", 1)


def test_a_parked_plan_injects_and_blocks_nothing_and_keeps_its_correction() -> None:
    parked = given(ARMED, blocked(1)).when(e.Park("host")).stands("parked")
    parked.when(turn_end()).then().answers("allow", 1)
    parked.when(prompt()).injects()

    resumed = parked.when(e.Resume("host")).stands("armed")

    resumed.when(prompt()).injects("correction", "phase")
    resumed.when(turn_end()).answers("block", 2)


def test_the_newest_correction_is_given_to_the_next_human_prompt_once() -> None:
    session = given(ARMED, blocked(1, reason="old"), blocked(2, reason="new"))
    session.when(prompt(from_human=False)).injects("phase")
    after_stop = session.when(turn_end(outcome="interrupted"))

    delivered = after_stop.when(prompt()).injects("correction", "phase")

    delivered.then(f.CorrectionDelivered("t2", "T1"), injected())
    assert delivered.decided.injections[0].text == "new"
    delivered.when(prompt("t3")).injects("phase")


@pytest.mark.parametrize(
    "fact",
    [
        advanced(),
        f.PlanDeclined("no", "human", "T1"),
        f.PlanCancelled("human", "no", "T1"),
        GIVEN_UP,
    ],
)
def test_what_settles_a_phase_drops_its_correction(fact: f.Fact) -> None:
    session = given(ARMED, blocked(1, reason="old"), fact).when(prompt())

    assert "old" not in [injection.text for injection in session.decided.injections]
    assert session.state.cursor.correction is None


def test_giving_up_is_told_once_to_the_next_human_prompt() -> None:
    session = given(ARMED, GIVEN_UP)
    session.when(prompt(from_human=False)).injects()
    told = session.when(prompt()).then(f.GiveUpNoted("t2", "T1")).injects("correction")

    told.when(prompt("t3")).then().injects()


def test_a_dropped_plan_is_not_told_to_have_given_up() -> None:
    session = given(ARMED, GIVEN_UP, f.PlanCancelled("human", "enough", "T1"))

    session.when(prompt()).then().injects()


def test_a_human_resume_after_giving_up_gives_fresh_counters() -> None:
    session = given(ARMED, blocked(1), blocked(2), blocked(3), GIVEN_UP)

    session.when(e.Resume("host")).when(turn_end()).answers("block", 1, left=2)
    parked = given(ARMED, blocked(1), f.PlanParked("host", "T1"))
    parked.when(e.Resume("host")).when(turn_end()).answers("block", 2, left=1)


def test_arming_anew_starts_from_nothing() -> None:
    opened = f.SkillOpened("k", "shape", "call", "shape", "T1", 1, "survey")
    session = given(ARMED, opened, blocked(1), advanced()).when(_arm()).stands("armed")

    assert (session.state.cursor.index, session.state.cursor.opened) == (0, [])
    session.when(turn_end()).answers("block", 1, left=2)


def test_an_agent_may_arm_where_no_plan_is_under_way_and_replace_none() -> None:
    given(STARTED, f.ArmDirected("t1")).when(_arm("agent")).stands("armed")
    for facts in (ARMED, (*ARMED, f.PlanParked("host", "T1")), (*ARMED, GIVEN_UP)):
        with pytest.raises(NotHuman):
            given(facts).when(_arm("agent"))


def _arm(by: str = "host") -> e.Arm:
    fact = arming()
    return e.Arm(fact.plan, fact.path, fact.digest, by)


def test_a_host_that_goes_on_over_a_block_is_recorded_as_override() -> None:
    overrode = f.HostOverrode("t2", "T1", "survey")
    over = given(ARMED, blocked(1)).when(prompt())
    over.then(overrode, f.CorrectionDelivered("t2", "T1"), injected()).stands("armed")
    over.when(prompt("t3")).then(injected("t3"))

    stopped = given(ARMED, blocked(1)).when(turn_end(outcome="interrupted"))
    stopped.when(prompt()).then(f.CorrectionDelivered("t2", "T1"), injected())


def test_one_answer_before_the_host_stops_listening_the_turn_is_let_go_uncounted() -> None:
    two = Limits(blocks_per_phase=10, blocks_total=50)
    session = given(STARTED, arming(SURVEY, BUILD, limits=two), prompted())
    for attempt in (1, 2):
        session = session.when(turn_end(), host_cap=3).answers("block", attempt)

    near = session.when(turn_end(), host_cap=3).then(NEAR).answers("allow", 2, left=8)
    near.flags("host_cap_near").stands("armed")

    near.when(prompt()).when(turn_end("t2"), host_cap=3).answers("block", 3)


def test_a_tool_call_of_the_main_agent_alone_resets_the_hosts_count() -> None:
    session = given(ARMED).when(turn_end(), host_cap=2).answers("block", 1)

    by_sub_agent = session.when(call("c", agent_id="a1"))
    by_sub_agent.when(turn_end(), host_cap=2).answers("allow", 1).flags("host_cap_near")
    session.when(call("c")).when(turn_end(), host_cap=2).answers("block", 2)


def test_a_host_that_names_each_continuation_anew_still_counts_them() -> None:
    session = given(ARMED).when(turn_end("t1"), host_cap=2).answers("block", 1)

    session.when(turn_end("t1b"), host_cap=2).answers("allow", 1).flags("host_cap_near")


def test_continue_counts_for_the_host_and_never_for_the_caps() -> None:
    session = given(ARMED).when(turn_end(), "out.md", host_cap=2).answers("continue")
    assert session.state.cursor.blocks_total == 0
    near = session.when(turn_end(), host_cap=2).answers("allow", 0, left=3)
    near.flags("host_cap_near")

    advances = given(ARMED, blocked(1)).when(turn_end(), "out.md", host_cap=2)
    advances.then(advanced(), f.HostCapNeared("t1", "T1", 2, "build")).answers("allow")
    advances.flags("host_cap_near").stands("armed")


def test_a_host_without_a_cap_is_blocked_up_to_ours() -> None:
    session = given(ARMED)
    for attempt in (1, 2, 3):
        session = session.when(turn_end(), host_cap=None).answers("block", attempt)

    session.when(turn_end()).flags("phase_drive_giveup")


@pytest.mark.parametrize(
    ("text", "is_offered"),
    [
        ("x" * 199 + "  ", False),
        ("x" * 200, True),
        ("\N{SEEDLING}" * 199, False),
        ("deploy it", False),
        ("deploy the schema", True),
    ],
)
def test_a_prompt_that_is_not_trivial_gets_the_arm_directive(text: str, is_offered: bool) -> None:
    session = given(STARTED).when(prompt("t1", text))

    if is_offered:
        session.then(f.ArmDirected("t1")).injects("arm_directive").stands("offered")
        directive = session.decided.injections[0].text
        assert "turnkeeper arm --plan" in directive
        assert "turnkeeper decline --session S --reason" in directive
    else:
        session.then().injects().stands("idle")


def test_a_prompt_that_no_human_wrote_never_offers_a_plan() -> None:
    given(STARTED).when(prompt("t1", "x" * 500, from_human=False)).then().injects()


def test_after_a_decline_no_plan_is_offered_again() -> None:
    session = given(STARTED).when(e.Decline("trivial", "agent")).stands("declined")

    session.when(prompt("t1", "x" * 500)).then().injects()


def test_every_prompt_of_an_armed_session_gets_its_phase() -> None:
    session = given(ARMED).when(prompt("t2"))
    for turn_id in ("t3", "t4"):
        session = session.when(prompt(turn_id)).then(injected(turn_id)).injects("phase")

    assert "Look around." in session.decided.injections[0].text


@pytest.mark.parametrize(
    "act", [e.Decline("no", "agent"), e.Park("agent"), e.Resume("agent"), e.Cancel("no", "agent")]
)
def test_an_agent_may_not_change_an_armed_plan(act: e.Decline | e.Park) -> None:
    for facts in (ARMED, (*ARMED, f.PlanParked("host", "T1")), (*ARMED, GIVEN_UP)):
        with pytest.raises(NotHuman):
            given(facts).when(act)


@pytest.mark.parametrize("act", [e.Park("host"), e.Resume("host"), e.Cancel("no", "host")])
def test_an_act_that_fits_no_plan_is_refused_and_names_the_states(act: e.Park) -> None:
    with pytest.raises(Refusal) as refused:
        given(STARTED).when(act)

    assert "idle" in refused.value.message
    assert "parked" in refused.value.hint or "armed" in refused.value.hint


def test_a_lost_plan_never_looks_like_no_plan() -> None:
    without_arming = (started(), prompted(), blocked(1))
    session = given(without_arming)

    assert session.state.cursor.status == "state_lost"
    session.when(turn_end()).answers("allow").then()
    session.when(prompt("t2", "x" * 500)).injects()
    session.when(_arm()).stands("armed").when(turn_end()).answers("block", 1)
    session.when(e.Decline("start over", "human")).stands("declined")


def test_compaction_and_resume_keep_the_run_and_a_clear_begins_anew() -> None:
    opened = f.SkillOpened("k", "shape", "call", "shape", "T1", 1, "survey")
    facts = (*ARMED, opened, blocked(1))
    for source in ("compact", "resume", "startup", None):
        again = e.SessionStart("claude_code", "/w", source=source)
        session = given(facts).when(again).stands("armed")
        assert session.state.cursor.blocks == 1
        assert session.state.cursor.opened == given(facts).state.cursor.opened
        session.when(turn_end(outcome="interrupted")).when(prompt()).injects("correction", "phase")

    cleared = given(facts).when(e.SessionStart("claude_code", "/w", source="clear"))

    cleared.stands("idle").when(turn_end()).answers("allow")
    assert cleared.state.seq == len(cleared.facts)


@pytest.mark.parametrize(
    ("path", "is_denied"),
    [("secret", True), ("/w/secret/a.txt", True), ("x/../secret/a", True), ("secrets", False)],
)
def test_a_read_that_the_phase_forbids_is_denied(path: str, is_denied: bool) -> None:
    phase = Phase("survey", "Look.", forbidden_read=("secret",))
    session = given(STARTED, arming(phase), prompted())

    decided = session.when(call("c", "Read", {"file_path": path})).decided

    assert (decided.deny is not None) == is_denied
    assert decided.deny is None or "secret" in decided.deny


def test_stops_of_unarmed_sessions_write_nothing_about_plans() -> None:
    session = given(STARTED, prompted()).when(call("c", "Skill", {"skill": "shape"}))
    assert session.state.turn is not None
    assert session.state.turn.agents[MAIN].find("c") == ("Skill", "shape", None)

    session.when(turn_end()).recorded(f.TurnAccounted).answers("allow")
