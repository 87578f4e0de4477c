"""The five states of a skill in a turn, and what each adds to the context."""

from typing import Any

import pytest

from core import events as e
from core.account import NOT_MEASURED, account, view
from core.accounting.invocations import ToolInvocationAccumulator
from core.accounting.skill_use import AGAIN, CALL_FAILED, NOT_FOUND, READ, Note, Used, skills_used
from core.accounting.skills import SkillFile
from core.accounting.snapshot import Item, Unknown
from core.phases.routing import Routing
from core.session import decide
from core.state import Session
from tests.core.given import fold

FILE = SkillFile("notes", "/w/.claude/skills/notes/SKILL.md", "workspace/notes/SKILL.md", 400)
PATH = "/w/.claude/skills/notes/SKILL.md"
SHOWN = "workspace/.claude/skills/notes/SKILL.md"


def used(*calls: Any, notes: Any = (), selected: Any = (), files: Any = None) -> Used:
    """Tell what became of skills; a call is (id, tool, skill, path, how it ended or None)."""
    made = ToolInvocationAccumulator()
    for tool_use_id, name, skill, path, failed in calls:
        made.call(tool_use_id, name, 20, skill, path)
        if failed is not None:
            made.result(tool_use_id, 40, failed)
    return skills_used(made, selected, notes, files or {}, "/w")


def test_called_loaded_reinjected_and_dropped_are_told_apart() -> None:
    found = used(
        ("1", "Skill", "fails", None, True),
        ("2", "Skill", "notes", None, False),
        notes=[
            Note("back", "loaded", "/w/back/SKILL.md", 100),
            Note("back", "reinjected", "/w/back/SKILL.md", 60, "truncated"),
            Note("gone", "loaded", "/w/gone/SKILL.md", 40),
            Note("gone", "dropped"),
        ],
        files={"notes": FILE},
    )

    assert [(state.name, state.state, state.tokens) for state in found.states] == [
        ("fails", "called", None),
        ("notes", "loaded", 100),
        ("back", "reinjected", 25 + 15),
        ("gone", "dropped", 10),
    ]
    assert found.unknown == (Unknown("skills", "fails", CALL_FAILED),)
    assert found.entry is not None
    assert found.entry.items == (
        Item("notes", 100, None, "workspace/notes/SKILL.md"),
        Item("back", 40, None, "workspace/back/SKILL.md", f"truncated, {AGAIN}"),
        Item("gone", 10, None, "workspace/gone/SKILL.md"),
    )


@pytest.mark.parametrize(
    ("notes", "state", "tokens", "note"),
    [
        (["loaded", "dropped"], "dropped", 25, None),
        (["dropped"], "dropped", None, None),
        (["loaded", "dropped", "loaded"], "loaded", 25, None),
        (["loaded", "dropped", "reinjected"], "reinjected", 50, AGAIN),
        (["loaded", "reinjected", "reinjected"], "reinjected", 75, AGAIN),
        (["loaded", "reinjected", "dropped"], "dropped", 50, None),
        (["loaded", "loaded"], "loaded", 25, None),
        (["reinjected"], "reinjected", 25, AGAIN),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_last_that_was_told_is_the_state_and_each_return_counts_again(
    notes: list[str], state: str, tokens: int | None, note: str | None
) -> None:
    told = [
        Note("notes", each, PATH, None if each == "dropped" else 100) for each in notes
    ]  # 100 units are 25 tokens.

    (found,) = used(notes=told).states
    assert found == ("notes", state, SHOWN, tokens, note)


def test_a_call_that_failed_and_then_did_not_is_a_load() -> None:
    failed, done = ("1", "Skill", "notes", None, True), ("2", "Skill", "/Notes", None, False)

    assert [state.state for state in used(failed).states] == ["called"]
    found = used(failed, done, files={"notes": FILE})
    assert [(state.state, state.tokens) for state in found.states] == [("loaded", 100)]
    assert found.unknown == ()


def test_a_body_named_by_its_folder_is_the_skill_that_was_called_with_its_plugin() -> None:
    call = ("1", "Skill", "tools:notes", None, False)
    found = used(call, notes=[Note("notes", "loaded", PATH, 44)], files={"tools:notes": FILE})

    assert [state.name for state in found.states] == ["tools:notes"]
    assert found.entry is not None
    assert found.entry.items == (Item("notes", 11, None, SHOWN),)  # As recorded, not the file.
    other = used(call, ("2", "Skill", "more:notes", None, False), notes=[Note("notes", "loaded")])
    assert [state.name for state in other.states] == ["tools:notes", "more:notes", "notes"]


def test_a_whole_read_of_its_file_is_a_load_that_counts_as_a_result() -> None:
    found = used(("1", "Read", None, PATH, False))

    assert found.states == (("notes", "loaded", SHOWN, None, READ),)
    assert found.entry is None
    no_load = [PATH.replace("SKILL.md", "more.md"), "SKILL.md"]
    assert used(("1", "Read", None, PATH, True), ("2", "Read", None, PATH, None)).states == ()
    assert used(*((path, "Read", None, path, False) for path in no_load)).states == ()


def test_a_load_without_a_file_or_a_length_is_unknown_and_not_zero() -> None:
    found = used(selected=[e.SelectedSkill("ghost")], notes=[Note("other", "loaded")])

    assert found.entry is None
    assert [(state.state, state.tokens) for state in found.states] == [("loaded", None)] * 2
    assert found.unknown == tuple(Unknown("skills", name, NOT_FOUND) for name in ("ghost", "other"))


def test_u25_a_skill_that_is_only_listed_is_available_and_has_no_state() -> None:
    events = [
        e.SessionStart("claude_code", "/w"),
        e.SkillListing(("notes", "draw"), is_initial=True),
        e.Prompt("t1", "/notes please; and see draw"),
        e.ToolCall("1", "Grep", {"pattern": "name: notes"}),
        e.ToolResult("1", "/w/.claude/skills/notes/SKILL.md: name: notes"),
    ]
    snapshot = _snapshot(*events)

    assert snapshot.available == {"skills": ["notes", "draw"]}
    assert snapshot.skill_states == ()
    assert "skills" not in snapshot.entries


def test_u28_only_a_listing_since_the_last_compaction_names_what_is_available() -> None:
    told: list[Any] = [
        e.SessionStart("claude_code", "/w"),
        e.SkillListing(("notes", "draw"), is_initial=True),
        e.SkillListing(("ship",)),
        e.SkillListing((), removed=("draw",)),
        e.Prompt("t1", "go"),
    ]
    state = _session(*told)
    assert _snapshot(*told).available == {"skills": ["notes", "ship"]}

    compacted = [*told, e.Compaction("after")]
    assert _snapshot(*compacted).available is None
    assert _snapshot(*compacted, e.SkillListing(("late",))).available == {"skills": ["late"]}
    assert _session(*told, e.SkillListing(("notes", "ship"))).listed == {"notes": 2, "ship": 2}
    assert state.listed == {"notes": 1, "ship": 1}


def _session(*events: Any) -> Session:
    state = Session("s-1")
    for event in events:
        fold(decide(state, event, Routing()).facts, state)
    return state


def _snapshot(*events: Any) -> Any:
    state = _session(*events)
    assert state.turn is not None
    return view(account(state, state.turn, NOT_MEASURED)).snapshot
