"""Calls and results of one agent, in any order."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.accounting.estimator import call_tokens
from core.accounting.invocations import SkillCall, ToolInvocationAccumulator

IDS = st.sampled_from(["a", "b", "c", "d"])
NAMES = st.sampled_from(["Bash", "Read", "mcp__s__t", "Skill"])
WIDE = st.integers(0, 9)
NO_SKILL, NO_PATH = st.none(), st.none()
CALLS = st.tuples(st.just("call"), IDS, NAMES, st.integers(0, 50), NO_SKILL, NO_PATH, WIDE)
RESULTS = st.tuples(
    st.just("result"), IDS, st.integers(0, 50), st.booleans(), st.integers(0, 2), WIDE
)
EVENTS = st.lists(CALLS | RESULTS, max_size=30)


def fed(events: list[Any]) -> ToolInvocationAccumulator:
    account = ToolInvocationAccumulator()
    for kind, *args in events:
        getattr(account, kind)(*args)
    return account


def summed_anew(events: list[Any]) -> dict[str, tuple[int, int, int, int]]:
    """Take the last call and the last result of every id, and sum them."""
    calls = {event[1]: event[2:] for event in events if event[0] == "call"}
    results = {event[1]: event[2:] for event in events if event[0] == "result"}
    totals: dict[str, tuple[int, int, int, int]] = {}
    for tool_use_id, (name, units, _, _, wide) in calls.items():
        result_units, _, images, wide_result = results.get(tool_use_id, (0, False, 0, 0))
        count, tokens, seen, wides = totals.get(name, (0, 0, 0, 0))
        spent = call_tokens(units + result_units)
        totals[name] = (count + 1, tokens + spent, seen + images, wides + wide + wide_result)
    return totals


@given(EVENTS)
def test_running_totals_are_those_summed_anew(events: list[Any]) -> None:
    assert fed(events).totals() == summed_anew(events)


@given(EVENTS, EVENTS)
def test_an_account_read_back_goes_on_as_if_never_written(
    before: list[Any], after: list[Any]
) -> None:
    kept = fed(before)
    read = ToolInvocationAccumulator.from_json(json.loads(json.dumps(kept.to_json())))
    for kind, *args in after:
        assert getattr(read, kind)(*args) == getattr(kept, kind)(*args)

    assert read.to_json() == kept.to_json()
    assert read.totals() == kept.totals()
    assert read.skill_calls() == kept.skill_calls()


def test_a_result_says_what_it_is() -> None:
    account = ToolInvocationAccumulator()

    assert account.result("late", 1) == "orphan"
    account.call("a", "Bash", 1)
    assert account.result("a", 1) == "matched"
    assert account.result("a", 1) == "replaced"
    assert account.orphans() == ["late"]


def test_a_result_before_its_call_is_kept() -> None:
    account = ToolInvocationAccumulator()
    account.result("a", 5)

    assert account.call("a", "Bash", 15) is False
    assert account.totals() == {"Bash": (1, 5, 0, 0)}
    assert account.orphans() == account.pending() == []


def test_a_second_call_of_an_id_replaces_the_first_and_is_named() -> None:
    account = fed([("call", "a", "Bash", 40), ("call", "b", "Bash", 4)])

    assert account.call("a", "Read", 8) is True
    assert account.totals() == {"Bash": (1, 1, 0, 0), "Read": (1, 2, 0, 0)}
    assert account.duplicates() == ["a"]
    assert account.find("a") == ("Read", None, None)


def test_skill_calls_stand_in_the_order_they_were_made() -> None:
    account = ToolInvocationAccumulator()
    account.call("1", "Skill", 9, "beta")
    account.call("2", "Skill", 9, None)
    account.call("3", "Skill", 9, "alpha")
    account.call("1", "Skill", 9, "beta")  # The same call told again keeps its place.
    account.result("3", 7, True)

    assert account.skill_calls() == [
        SkillCall("1", "beta", False),
        SkillCall("2", None, False),
        SkillCall("3", "alpha", True),
    ]
    assert account.pending() == ["1", "2"]
