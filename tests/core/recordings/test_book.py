"""A book folds a recording to what deciding each event gives, and gives each turn once."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import events as e
from core.account import NOT_MEASURED
from core.accounting.usage import Figures
from core.evolve import evolve
from core.phases.routing import Routing
from core.recordings.book import Book, Compaction, Fill, Message, TurnBook
from core.recordings.contract import AgentSeen, FileChange, Step
from core.session import decide
from core.state import Session
from core.units import LongText

SESSION = "s-1"
START = e.SessionStart("claude_code", "/w", source="startup")

few = st.sampled_from
TURN_IDS = few(["t1", "t2", "t3"])
AGENTS = few([None, None, None, "", "a1", "a2"])
CALL_IDS = few(["c1", "c2", "c3", "c4"])
TEXTS = few(["", "plain", "é" * 9, "说明文字" * 5, "😀", "half \ud800"]) | st.builds(
    LongText, few([40_000, 50_001]), few([40_000, 90_002])
)
INPUTS = few(
    [
        None,
        {},
        {"command": "ls"},
        {"规则": ["一", 2.5, None]},
        {"skill": "notes"},
        {"file_path": "/w/notes/SKILL.md"},
        {"file_path": "/w/a.txt", "limit": 3},
    ]
)
RESULTS = TEXTS | st.builds(
    lambda text: [{"type": "text", "text": text}, {"type": "image", "source": {}}], TEXTS
)
TOKENS = few([0, 0, 1, 7, 400, 2**70])
WINDOWS = few([None, None, 0, -1, 200_000])
PARTS = st.lists(
    st.builds(e.Part, few(["user_text", "tool_schema"]), few([None, "Bash"]), few(["r"]), TOKENS),
    max_size=2,
).map(tuple)

COMMON: list[st.SearchStrategy[Any]] = [
    st.builds(
        e.ToolCall,
        CALL_IDS,
        few(["Bash", "Bash", "Skill", "Read", "mcp__a__b"]),
        INPUTS,
        few([None, "t1", "t2"]),
        AGENTS,
        few([None, None, "a1", "c9", ""]),
    ),
    st.builds(e.ToolResult, CALL_IDS, RESULTS, st.booleans(), AGENTS),
    st.builds(
        e.Usage,
        *(TOKENS, TOKENS, TOKENS, TOKENS),
        WINDOWS,
        few([None, "", "m1", "m2"]),
        few([False, False, True]),
        few([False, False, True]),
        AGENTS,
        few([False, False, True]),
        st.booleans(),
        few([None, "r1", "r2"]),
    ),
    st.builds(e.Spoken, few(["model", "user"]), TEXTS, AGENTS),
    st.builds(e.Request, few([None, "r1", "r2"]), PARTS, AGENTS),
]
RARE: list[st.SearchStrategy[Any]] = [
    st.builds(e.Prompt, TURN_IDS, TEXTS.map(str), st.booleans()),
    st.builds(
        e.Skill,
        few(["notes", "/tools:notes"]),
        few(["loaded", "reinjected", "dropped"]),
        few([None, "/w/notes/SKILL.md"]),
        few([None, 40]),
        few([None, "truncated"]),
        AGENTS,
    ),
    st.builds(e.SkillListing, few([(), ("a",), ("a", "b")]), st.booleans(), few([(), ("a",)])),
    st.builds(e.Context, few(["memory", "rules"]), few(["m.md"]), few([None, 9]), few([None, 8])),
    st.builds(e.Compaction, few(["before", "after"]), few([None, "auto"]), TOKENS, few([None, 90])),
    st.builds(e.Fill, few([None, 50]), few([None, 0, 1000]), few(["statusline"])),
    st.builds(e.Composer, few([None, 8])),
    st.builds(e.SessionEnd),
    few([START, START._replace(source="clear"), START._replace(source="resume")]),
]
EVENTS: st.SearchStrategy[Any] = st.one_of(*COMMON * 4, *RARE)


def book_of(events: Iterable[Any], *, detail: bool = False) -> tuple[Book, list[TurnBook]]:
    closed: list[TurnBook] = []
    book = Book(SESSION, lambda _state, _turn: NOT_MEASURED, closed.append, detail=detail)
    for line, event in enumerate(events, 1):
        book.take(Step(line, event))
    return book, closed


def turns(*events: Any, detail: bool = False) -> list[TurnBook]:
    book, closed = book_of(events, detail=detail)
    book.close()
    return closed


def decided(state: Session, event: Any) -> str:
    """Decide and fold an event, as a served session does; give the state that it comes to."""
    for fact in decide(state, event, Routing()).facts:
        evolve(state, fact, state.seq + 1)
    return json.dumps(state.to_json())


@settings(max_examples=200)
@given(st.lists(EVENTS, max_size=40), st.booleans())
def test_any_events_fold_to_the_state_that_deciding_each_gives(
    events: list[Any], detail: bool
) -> None:
    book, _ = book_of([], detail=detail)
    state = Session(SESSION)
    for line, event in enumerate([e.Prompt("t1", "go"), *events], 1):
        book.take(Step(line, event))

        assert json.dumps(book.state.to_json()) == decided(state, event)
    assert book.refused == 0


@settings(max_examples=50)
@given(st.lists(EVENTS, max_size=30))
def test_detail_changes_nothing_but_the_detail(events: list[Any]) -> None:
    plain, closed = book_of(events)
    detailed, with_detail = book_of(events, detail=True)

    assert json.dumps(plain.state.to_json()) == json.dumps(detailed.state.to_json())
    assert closed == [turn._replace(calls=(), fills=()) for turn in with_detail]


NEW_TURN_EVENTS = st.lists(EVENTS.filter(lambda event: type(event) is not e.SessionStart))


@given(NEW_TURN_EVENTS)
def test_every_call_and_every_token_stands_in_one_turn_that_was_given(events: list[Any]) -> None:
    named = [_with_its_own_turn(number, event) for number, event in enumerate(events)]
    closed = turns(*named, detail=True)

    calls = [
        (turn.turn_id, call.agent_id, call.row.tool_use_id)
        for turn in closed
        for call in turn.calls
    ]
    assert len(set(calls)) == len(calls)
    assert {call[1:] for call in calls} == {
        (event.agent_id or event.parent_tool_use_id or "", event.tool_use_id)
        for event in named
        if isinstance(event, e.ToolCall)
    }
    usage = [Figures(*turn.data["usage"]) for turn in closed if "usage" in turn.data]
    told = [event for event in named if isinstance(event, e.Usage) and event.agent_id is None]
    assert sum(figures.output for figures in usage) == sum(event.output_tokens for event in told)


def _with_its_own_turn(number: int, event: Any) -> Any:
    """Let each prompt open a turn of its own, and each usage be of a message of its own."""
    if isinstance(event, e.Prompt):
        return event._replace(turn_id=f"turn {number}")
    if isinstance(event, e.ToolCall):
        return event._replace(turn_id=None)
    if isinstance(event, e.Usage):
        once = event._replace(message_id=f"m{number}", cumulative=False, inherited=False)
        return once._replace(output_tokens=event.output_tokens % 1000)
    return event


def test_each_turn_is_given_once_when_the_next_begins_and_the_last_at_the_end() -> None:
    book, closed = book_of(
        [
            START,
            e.ToolCall("c0", "Bash", {}),
            e.SessionEnd(),
            START,
            e.Prompt("t1", "one"),
            e.Prompt("t1", "joins it"),
            e.Prompt("t2", "two"),
            e.ToolCall("c1", "Bash", {}),
        ]
    )

    assert [turn.turn_id for turn in closed] == [None, "t1"]
    open_turn = book.open_turn()
    assert open_turn is not None
    assert open_turn.turn_id == "t2"
    book.take(Step(9, e.SessionEnd()))
    book.close()
    book.close()
    assert [turn.turn_id for turn in closed] == [None, "t1", "t2"]


def test_what_begins_no_turn_gives_none() -> None:
    nothing = [START, e.Compaction("after"), e.Fill(1, 2, "x"), AgentSeen("a1"), e.SessionEnd()]

    assert turns(*nothing, FileChange("Write", "/w/a.txt", "text")) == []


def test_detail_keeps_the_line_of_each_call_and_the_fill_of_each_request() -> None:
    (turn,) = turns(
        START,
        e.Prompt("t1", "规则😀"),
        e.Usage(3, 1, 40, 5, message_id="m1"),
        e.ToolCall("c1", "Bash", {"command": "ls"}),
        e.ToolResult("c1", "a.txt", is_error=True),
        e.ToolCall("c2", "Skill", {"skill": "notes"}, agent_id="a1"),
        e.Usage(3, 9, 40, 5, message_id="m1"),
        e.Usage(100, 2, 60, input_includes_cache=True),
        e.Usage(70, 2, agent_id="a1", message_id="side"),
        e.Usage(500, 20, cumulative=True),
        e.Compaction("before", "auto"),
        e.Compaction("after", "auto", 100, 30),
        e.TurnEnd("t1", "completed"),
        e.TurnEnd("its own", "failed", agent_id="a1"),
        detail=True,
    )

    assert turn[:5] == ("t1", 2, "completed", True, 4)
    rows = [
        (call.line, call.agent_id, call.row.tool_use_id, call.row.failed) for call in turn.calls
    ]
    assert rows == [(4, "", "c1", True), (6, "a1", "c2", False)]
    assert turn.fills == (Fill(7, 48, 9), Fill(8, 100, 2))
    assert turn.compactions == (Compaction(12, "auto", 100, 30),)
    assert turn.messages == (
        Message("m1", "", Figures(3, 9, 40, 5)),
        Message("side", "a1", Figures(70, 2)),
    )


def test_an_end_names_the_turn_that_nothing_else_named() -> None:
    (turn,) = turns(START, e.ToolCall("c1", "Bash", {}), e.TurnEnd("t9", "interrupted"))

    assert (turn.turn_id, turn.outcome, turn.from_human) == ("t9", "interrupted", None)


def test_a_message_counts_in_the_turn_where_it_first_came_and_in_no_other() -> None:
    first, second = turns(
        e.Prompt("t1", "one"),
        e.Usage(10, 1, message_id="m1"),
        e.Usage(99, 9, message_id="copied", inherited=True),
        e.Prompt("t2", "two"),
        e.Usage(10, 1, message_id="m1"),
        e.Usage(20, 2, message_id="m2"),
    )

    assert (first.data["usage"], first.data["requests"]) == ([10, 1, 0, 0], [1, 1, 0])
    assert (second.data["usage"], second.data["requests"]) == ([20, 2, 0, 0], [1, 0, 0])
    ids = [[message.message_id for message in turn.messages] for turn in (first, second)]
    assert ids == [["m1"], ["m2"]]


@pytest.mark.parametrize(
    "told",
    [
        [e.Usage(10, 1, message_id="m1"), e.Prompt("t2", "two"), e.Usage(10, 50, message_id="m1")],
        [e.Usage(10, 2), e.Prompt("t2", "two"), e.Prompt("t1", "again"), e.Usage(0, 48)],
    ],
    ids=["a message that is told again later", "a turn that is opened again"],
)
def test_given_turns_sum_to_what_was_used(told: list[Any]) -> None:
    closed = turns(e.Prompt("t1", "one"), *told)

    assert sum(turn.data["usage"][1] for turn in closed if "usage" in turn.data) == 50
