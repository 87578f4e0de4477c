"""Which turn an event belongs to, and what the account of a turn holds."""

import pytest

from core import events as e
from core import facts as f
from core.account import NOT_MEASURED, View, account, view
from core.session import decide
from core.state import MAIN, Session, Turn
from tests.core.given import (
    ARMED,
    ROUTING,
    STARTED,
    Given,
    call,
    given,
    prompt,
    prompted,
    result,
    started,
    turn_end,
)

T1 = (*STARTED, prompted())
USAGE = e.Usage(100, 10)


def turn(session: Given) -> Turn:
    assert session.state.turn is not None
    return session.state.turn


def calls(session: Given, agent: str = MAIN) -> list[str]:
    found = turn(session).agents.get(agent)
    return [] if found is None else [row[0] for row in found.to_json()["calls"]]


def seen(session: Given) -> View:
    return view(account(session.state, turn(session), NOT_MEASURED))


@pytest.mark.parametrize(
    "event", [call("c"), result("c"), USAGE, e.Context("memory", "notes", units=8)]
)
def test_an_event_with_no_turn_open_opens_one_without_a_name(event: e.Event) -> None:
    session = given(STARTED).when(event)

    assert turn(session).turn_id is None


@pytest.mark.parametrize("event", [call("d", turn_id="t9"), turn_end("t9"), prompt("t9")])
def test_an_unnamed_turn_takes_the_next_name(event: e.Event) -> None:
    session = given(STARTED).when(call("c")).when(USAGE).when(event)

    assert turn(session).turn_id == "t9"
    assert "c" in calls(session)
    assert session.state.usage.turn("t9") is not None
    assert not session.state.closed


@pytest.mark.parametrize("event", [call("d", turn_id="t2"), turn_end("t2"), prompt("t2")])
def test_a_new_name_opens_that_turn_and_closes_the_open_one(event: e.Event) -> None:
    session = given(T1).when(call("c")).when(event)

    assert turn(session).turn_id == "t2"
    assert "c" not in calls(session)
    assert list(session.state.closed) == ["t1"]


def test_a_call_without_a_turn_belongs_to_the_open_one() -> None:
    assert calls(given(T1).when(call("c")).when(call("d", turn_id="t1"))) == ["c", "d"]


def test_a_prompt_of_the_open_turn_joins_it() -> None:
    chosen = prompt("t1", selected_skills=(e.SelectedSkill("shape"),))
    session = given(T1).when(call("c")).when(chosen)

    assert calls(session) == ["c"]
    assert turn(session).selected == [["shape", None]]


def test_a_call_of_an_earlier_turn_is_kept_with_it_as_late() -> None:
    session = given(T1).when(turn_end()).when(prompt()).when(call("c", turn_id="t1"))

    assert calls(session) == []
    closed = session.state.closed["t1"]
    assert (closed.revision, closed.late) == (2, [["call", "c", 4]])


def test_a_result_is_matched_before_and_after_its_call() -> None:
    first, second = call("c"), result("c", "x" * 36)
    orders: list[list[e.Event]] = [[first, second], [second, first]]
    for events in orders:
        session = given(T1)
        for event in events:
            session = session.when(event)
        assert seen(session).snapshot.entries["tools"].tokens == 10


def test_a_result_without_its_call_is_unknown_until_it_comes() -> None:
    session = given(T1).when(result("c"))
    unknown = [(entry.name, entry.reason) for entry in seen(session).snapshot.unknown]
    assert unknown == [("c", "orphan_result")]

    assert not seen(session.when(call("c"))).snapshot.unknown


def test_a_result_after_its_account_was_closed_raises_that_accounts_revision() -> None:
    session = given(T1).when(call("c")).when(turn_end()).when(prompt()).when(result("c", "abc"))

    closed = session.state.closed["t1"]
    assert (closed.revision, closed.late) == (2, [["result", "c", 3]])
    assert turn(session).agents[MAIN].is_empty()


def test_a_result_answers_the_call_of_the_open_turn_first() -> None:
    session = given(T1).when(call("c")).when(prompt()).when(call("c")).when(result("c"))

    assert turn(session).agents[MAIN].pending() == []
    assert session.state.closed["t1"].late == []


def test_the_last_of_two_calls_of_an_id_counts_and_is_flagged() -> None:
    session = given(T1).when(call("c", "Bash", "x" * 100)).when(call("c", "Bash", "xy"))

    assert session.flags("duplicate_call").decided.flags
    assert seen(session).snapshot.entries["tools"].tokens == 1


def test_the_same_id_in_another_turn_is_no_duplicate() -> None:
    session = given(T1).when(call("c"))

    session.when(call("c", turn_id="t2")).flags()
    session.when(prompt()).when(call("c")).flags()


def test_calls_of_sub_agents_stay_out_of_the_parents_account() -> None:
    session = given(T1).when(call("c", agent_id="a1")).when(call("d", parent_tool_use_id="toolu_1"))

    assert calls(session) == []
    snapshot = seen(session.when(result("c"))).snapshot
    assert "tools" not in snapshot.entries
    assert [agent.agent_id for agent in snapshot.subagents] == ["a1", "toolu_1"]


def test_the_end_of_a_sub_agent_leaves_the_parents_turn_open() -> None:
    session = given(T1).when(call("c")).when(turn_end("its own", agent_id="a1"))

    session.recorded(f.AgentTurnEnded)
    assert (turn(session).turn_id, turn(session).revision) == ("t1", 0)


def test_each_turn_end_answers_the_account_of_the_whole_turn() -> None:
    session = given(T1)
    for number in (1, 2, 3):
        session = session.when(call(f"c{number}", "Bash", "xy")).when(turn_end())
        fact = session.decided.facts[0]
        assert isinstance(fact, f.TurnAccounted)
        assert (fact.revision, fact.final) == (number, True)
        entries = fact.accounting["snapshot"]["entries"]
        assert entries["tools"]["detail"] == f"Bash × {number}"


def test_only_an_allowed_turn_end_is_final() -> None:
    session = given(ARMED).when(turn_end())
    assert [fact.final for fact in session.facts if isinstance(fact, f.TurnAccounted)] == [False]

    session = session.when(turn_end(), "out.md", "done.md")
    finals = [fact.final for fact in session.facts if isinstance(fact, f.TurnAccounted)]
    assert finals == [False, True]


@pytest.mark.parametrize("outcome", ["completed", "awaitingUser"])
def test_the_end_of_a_closed_turn_is_recorded_and_moves_no_plan(outcome: str) -> None:
    session = given(ARMED).when(turn_end()).when(prompt())
    session = session.when(turn_end("t1", outcome=outcome))

    session.answers("allow", 1, left=2).flags("late_turn_end").stands("armed")
    assert session.decided.accounting == {"kept": True}
    assert turn(session).turn_id == "t2"
    assert (session.state.closed["t1"].revision, turn(session).revision) == (2, 0)


def test_a_result_belongs_to_the_agent_that_it_names() -> None:
    skill = call("c", "Skill", {"skill": "shape"})
    session = given(ARMED).when(skill).when(result("c", is_error=True))
    session = session.when(call("c", agent_id="sub")).when(result("c", agent_id="sub"))

    assert session.state.cursor.opened == []


def test_usage_of_two_turns_that_were_never_named_stays_apart() -> None:
    first = given(STARTED).when(call("c")).when(e.Usage(100, 0)).when(e.SessionEnd())
    again = first.when(e.SessionStart("claude_code", "/w")).when(call("d")).when(e.Usage(50, 0))
    named = again.when(turn_end("t9"))

    assert named.state.usage.turn("t9") == (50, 0, 0, 0)


def test_sums_beyond_what_json_readers_hold_are_bounded() -> None:
    session = given(STARTED)
    for number in range(4):
        session = session.when(e.Context("memory", f"notes {number}", units=2**55))
        session = session.when(e.Usage(2**53, 0))
    seen_now = view(account(session.state, turn(session), NOT_MEASURED))

    assert seen_now.snapshot.entries["memory"].tokens == 2**53
    assert seen_now.usage is not None
    assert seen_now.usage.input == 2**53


def test_what_is_too_long_for_a_path_is_not_kept() -> None:
    session = given(STARTED).when(call("c", "Read", {"file_path": "x" * 4097}))

    assert "xxxx" not in repr(session.facts)


def test_a_name_used_again_after_a_session_end_is_a_turn_that_can_be_blocked() -> None:
    ended = (
        given(ARMED)
        .when(turn_end())
        .when(e.SessionEnd())
        .when(e.SessionStart("claude_code", "/w", source="resume"))
    )

    again = ended.when(prompt("t1")).injects("correction", "phase").when(turn_end("t1"))

    assert turn(again.answers("block", 2)).revision == 2
    assert "t1" not in again.state.closed


def test_a_session_end_closes_the_open_turn() -> None:
    session = given(T1).when(call("c")).when(e.SessionEnd("exit"))

    assert (session.state.turn, session.state.ended) == (None, True)
    assert list(session.state.closed) == ["t1"]


def test_usage_belongs_to_the_open_turn_and_a_repeated_message_replaces() -> None:
    session = given(T1)
    for tokens in (100, 100, 120):
        session = session.when(USAGE._replace(input_tokens=tokens, message_id="m1"))
    session = session.when(USAGE)

    usage = seen(session).usage
    assert usage is not None
    assert (usage.input, usage.output) == (220, 20)
    assert seen(session.when(prompt())).usage is None


def test_running_totals_count_by_their_difference() -> None:
    session = given(T1).when(USAGE._replace(cumulative=True)).when(prompt())
    session = session.when(e.Usage(250, 30, cumulative=True))

    usage = seen(session).usage
    assert usage is not None
    assert (usage.input, usage.output) == (150, 20)


def test_what_waits_in_the_composer_is_shown_until_the_next_prompt() -> None:
    files = (e.Attachment("a.md", "a.md", bytes=40),)
    session = given(T1).when(USAGE).when(e.Composer(units=8, files=files))

    rows = {row.kind: row.tokens for row in seen(session).breakdown.shown}
    assert (rows["pending_next_turn"], rows["files_attachments"]) == (2, 10)

    after = {row.kind for row in seen(session.when(prompt())).breakdown.shown}
    assert not after & {"pending_next_turn", "files_attachments"}


def test_instruction_files_that_the_host_named_stay_for_all_later_turns() -> None:
    named = e.Context("rules", "/w/CLAUDE.md", bytes=40)
    session = given(T1).when(named).when(prompt()).when(prompt("t3"))

    assert seen(session).snapshot.entries["rules"].tokens == 10


def test_a_kind_that_the_host_supplied_is_supported_from_then_on() -> None:
    session = given(T1).when(e.Context("memory", "notes", units=40))
    assert seen(session).snapshot.entries["memory"].tokens == 10
    assert "memory" not in seen(session).snapshot.unsupported

    later = seen(session.when(prompt())).snapshot
    assert "memory" not in later.entries
    assert "memory" not in later.unsupported


def test_context_given_before_the_first_prompt_counts_with_it() -> None:
    session = given(STARTED).when(e.Context("system_prompt", "host", units=40)).when(prompt("t1"))

    assert seen(session).snapshot.entries["system_prompt"].tokens == 10


def test_the_window_is_what_the_host_reported_last() -> None:
    session = given(started(window=1000), prompted()).when(USAGE._replace(context_window=2000))
    assert seen(session).breakdown.window == 2000

    assert seen(given(T1)).breakdown.window is None


def test_after_a_compaction_nobody_knows_the_fill_until_new_usage() -> None:
    session = given(T1).when(USAGE)
    assert session.when(e.Compaction("before")).state.usage.fill() == 100
    compacted = session.when(e.Compaction("after"))
    assert compacted.state.usage.fill() is None

    assert compacted.when(e.Usage(40, 1)).state.usage.fill() == 40


def test_deciding_the_same_twice_gives_the_same() -> None:
    state: Session = given(ARMED).state
    event = prompt("t2", "x" * 300)

    assert decide(state, event, ROUTING) == decide(state, event, ROUTING)


def test_content_of_unknown_length_is_unknown_and_never_zero() -> None:
    snapshot = seen(given(T1).when(e.Context("rules", "/gone/CLAUDE.md"))).snapshot

    assert "rules" not in snapshot.entries
    assert ("rules", "/gone/CLAUDE.md") in [(one.kind, one.name) for one in snapshot.unknown]
