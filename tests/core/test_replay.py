"""Any sequence of events gives a journal that folds to the same state, from any point of it."""

import json
from typing import Any, get_type_hints

import pytest
from hypothesis import given as sample
from hypothesis import settings
from hypothesis import strategies as st

from core import events as e
from core import facts as f
from core.errors import Refusal
from core.evolve import evolve
from core.session import decide
from core.state import CLOSED_TURNS_KEPT, Session
from tests.core.given import (
    ARMED,
    ROUTING,
    STARTED,
    Given,
    arming,
    call,
    fold,
    given,
    prompt,
    prompted,
    result,
    text,
    turn_end,
)

IDS = st.sampled_from(["c1", "c2", "c3"])
TURNS = st.sampled_from(["t1", "t2", "t3"])
AGENTS = st.sampled_from([None, None, "a1"])
TOKENS = st.integers(0, 500)
PLAN = arming()

CALLS = st.builds(
    e.ToolCall,
    IDS,
    st.sampled_from(["Bash", "Skill", "mcp__a__b", "Read"]),
    st.sampled_from([{"skill": "shape"}, {"file_path": "/s/shape/SKILL.md"}, None, "text"]),
    st.one_of(st.none(), TURNS),
    AGENTS,
)
RESULTS = st.builds(e.ToolResult, IDS, st.sampled_from(["ok", [], None]), st.booleans(), AGENTS)
PROMPTS = st.builds(
    e.Prompt,
    TURNS,
    st.sampled_from(["go", "x" * 300]),
    st.booleans(),
    st.sampled_from([(), (e.SelectedSkill("shape"),)]),
)
USAGES = st.builds(
    e.Usage,
    TOKENS,
    TOKENS,
    TOKENS,
    message_id=st.sampled_from([None, "m1", "m2"]),
    cumulative=st.booleans(),
    agent_id=AGENTS,
    inherited=st.booleans(),
    partial=st.booleans(),
    request_id=st.sampled_from([None, "r1"]),
)
ENDS = st.builds(
    e.TurnEnd,
    TURNS,
    st.sampled_from(["completed", "completed", "interrupted", "failed", "awaitingUser"]),
    background_tasks=st.sampled_from([0, 0, 0, 1]),
    agent_id=AGENTS,
)
OTHERS = st.sampled_from(
    [
        e.SessionStart("claude_code", "/w", source="resume"),
        e.SessionStart("codex_runtime", "/w", source="clear", context_window=900),
        e.SessionEnd(),
        e.Context("rules", "/w/CLAUDE.md", bytes=9),
        e.Context("memory", "notes", units=9),
        e.Composer(units=9, files=(e.Attachment("a", "a", bytes=1),)),
        e.Compaction("after", post_tokens=400),
        e.Context("system_prompt", "given", units=90),
        e.Fill(700, 1000, "host/fill"),
        e.Request("r1", (e.Part("system_prompt", None, "shape", 40),)),
        e.Request(agent_id="a1"),
        e.Spoken("model", "好 and so on"),
        e.Skill("tidy", "loaded", "/w/tidy/SKILL.md", 90),
        e.Skill("tidy", "dropped"),
        e.Skill("tidy", "reinjected", units=40, note="truncated", agent_id="a1"),
        e.SkillListing(("tidy", "write"), is_initial=True),
        e.SkillListing((), removed=("tidy",)),
        e.Arm(PLAN.plan, PLAN.path, PLAN.digest, "host"),
        e.Decline("no", "host"),
        e.Park("host"),
        e.Resume("host"),
        e.Cancel("no", "host"),
    ]
)
EVENTS = st.one_of(CALLS, RESULTS, PROMPTS, USAGES, ENDS, OTHERS)
FILES = st.sampled_from([(), ("out.md",), ("out.md", "done.md")])


@settings(max_examples=60)
@sample(st.lists(st.tuples(EVENTS, FILES), max_size=25), st.integers(0, 1000))
def test_a_journal_folds_to_the_state_that_wrote_it(
    steps: list[tuple[e.Event, tuple[str, ...]]], point: int
) -> None:
    facts: tuple[f.Fact, ...] = ARMED
    state = fold(ARMED)
    for event, files in steps:
        try:
            new = Fast(facts, state).when(event, *files, host_cap=4).decided.facts
        except Refusal:
            continue
        facts = (*facts, *new)
        fold(new, state)

    point %= len(facts)
    checkpoint = Session.from_json(json.loads(text(fold(facts[:point]))))

    assert text(fold(facts)) == text(state)
    assert text(fold(facts[point:], checkpoint)) == text(state)


class Fast(Given):
    """A session whose replay is proved elsewhere."""

    def __init__(self, facts: tuple[f.Fact, ...], state: Session) -> None:
        self.facts, self.state = facts, state


EXAMPLE: dict[type, Any] = {str: "x", int: 7, bool: True, list: [["x", None, 1]], dict: {"a": 1}}


def example(cls: type[f.Fact]) -> f.Fact:
    """Give a fact of this class with no field left to its default."""
    if cls is f.PlanArmed:
        return arming()
    values = {}
    for name, hint in get_type_hints(cls).items():
        found = [kind for kind in EXAMPLE if kind.__name__ in str(hint)]
        values[name] = EXAMPLE[found[-1] if "list" not in str(hint) else list]
    if cls is f.ChecksRecorded:
        values["criteria"] = [["out.md", "met", ""]]
    if cls is f.ComposerChanged:
        values["files"] = [["a", 1]]
    if cls is f.SkillsListed:
        values["names"], values["removed"] = ["a", "b"], ["b"]
    if cls is f.PlanArmed or "warnings" in values:
        values["warnings"] = ["w"]
    return cls(**values)


@pytest.mark.parametrize("kind", sorted(f.KINDS))
def test_every_kind_of_fact_survives_its_journal_line(kind: str) -> None:
    fact = example(f.KINDS[kind])

    line = json.loads(json.dumps(f.to_line(fact)))

    assert line["kind"] == kind
    assert None not in line.values()
    assert json.dumps(f.to_line(f.from_line(line) or fact)) == json.dumps(f.to_line(fact))


@pytest.mark.parametrize("kind", sorted(f.KINDS))
@pytest.mark.parametrize("before", [(), STARTED, ARMED])
def test_every_kind_of_fact_can_be_folded_onto_any_state(
    kind: str, before: tuple[f.Fact, ...]
) -> None:
    state = fold(before)

    evolve(state, example(f.KINDS[kind]), 99)

    assert state.seq == 99
    assert text(Session.from_json(json.loads(text(state)))) == text(state)


def test_an_absent_field_takes_no_room_in_a_line() -> None:
    assert f.to_line(f.TurnOpened()) == {"kind": "turn_opened"}


def test_a_kind_of_a_newer_version_is_passed_over() -> None:
    assert f.from_line({"kind": "moon_landed", "where": "here"}) is None


def test_only_the_last_turns_are_kept_by_name() -> None:
    state = fold(STARTED)
    for number in range(CLOSED_TURNS_KEPT + 2):
        for fact in decide(state, prompt(f"t{number}"), ROUTING).facts:
            evolve(state, fact, state.seq + 1)
        for fact in decide(state, call(f"c{number}"), ROUTING).facts:
            evolve(state, fact, state.seq + 1)

    assert len(state.closed) == len(state.pending) == CLOSED_TURNS_KEPT
    assert "t0" not in state.closed


def test_a_turn_opened_again_stands_last_of_the_closed_ones() -> None:
    session = given(STARTED, prompted()).when(prompt("t2")).when(prompt("t1")).when(prompt("t3"))

    assert list(session.state.closed) == ["t2", "t1"]
    session.when(result("c")).when(turn_end("t3")).recorded(f.TurnAccounted)


def test_turns_without_a_name_stand_in_the_order_of_their_closing() -> None:
    session = given(STARTED)
    for event in (call("c"), e.SessionEnd(), prompt("t1"), e.SessionEnd(), call("d")):
        session = session.when(event)

    assert list(session.when(e.SessionEnd()).state.closed) == ["t1", ""]
