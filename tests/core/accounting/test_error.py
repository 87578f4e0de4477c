"""The measured error of the estimate: what counts as a measurement, and what measurements say."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import events as e
from core.accounting.error import SAMPLES_KEPT, ErrorLedger, Measured
from core.phases.routing import Routing
from core.session import decide
from core.state import Session
from tests.core.given import fold

BEGUN = [e.SessionStart("claude_code", "/w"), e.Prompt("t1", "go"), e.Usage(1000, 1, 0, 0, None)]


def measured(*growths: tuple[int, int, int]) -> Measured:
    """Measure requests before each of which (units, wide units) came and the input grew so much."""
    ledger, input_tokens = ErrorLedger(), 1000
    ledger.usage(None, input_tokens)
    for units, wide, change in growths:
        ledger.append(units, wide)
        input_tokens += change
        ledger.usage(None, input_tokens)
    found = ledger.measured()
    assert found is not None
    return found


def after(*events: Any) -> Measured | None:
    """Tell a session these events; give what it measured."""
    state = Session("s-1")
    for event in [*BEGUN, *events]:
        fold(decide(state, event, Routing()).facts, state)
    return state.error.measured()


def said(units: int) -> e.Spoken:
    return e.Spoken("model", "x" * units)


def test_median_and_p90_are_those_of_the_errors_and_the_ratio_that_of_the_sums() -> None:
    # Estimates of 100 tokens each, against changes that make errors of 0, 25, 300 % and so on.
    changes = [100, 80, 125, 25, 200, 50, 100, 100, 160, 100, 100]
    found = measured(*((400, 0, change) for change in changes))

    errors = sorted(abs(100 - change) * 1000 // change for change in changes)
    assert errors == [0, 0, 0, 0, 0, 200, 250, 375, 500, 1000, 3000]
    assert found == Measured(11, median=200, p90=1000, ratio=sum(changes) * 1000 // 1100)


@given(st.lists(st.integers(1, 4000), min_size=1, max_size=60))
def test_half_are_within_the_median_and_nine_of_ten_within_p90(changes: list[int]) -> None:
    found = measured(*((400, 0, change) for change in changes))
    errors = [abs(100 - change) * 1000 // change for change in changes]

    assert sum(error <= found.median for error in errors) * 2 >= len(errors)
    assert sum(error >= found.median for error in errors) * 2 >= len(errors)
    assert sum(error <= found.p90 for error in errors) * 10 >= len(errors) * 9
    assert {found.median, found.p90} <= set(errors)


def test_wide_scripts_have_a_ratio_of_their_own_where_there_is_enough_of_them() -> None:
    narrow = [(400, 0, 90), (800, 0, 180)]

    assert measured(*narrow).wide_ratio is None
    found = measured(*(*narrow, (400, 400, 300), (800, 400, 390)) * 2)
    assert (found.ratio, found.wide_ratio) == (900, 3000)
    assert found.calibrated(200, wide=400) == 100 * 9 // 10 + 100 * 3
    little = measured((80_000, 0, 18_000), (400, 400, 300))
    assert (little.ratio, little.wide_ratio) == (18_300 * 1000 // 20_100, None)
    same_mixture = measured((400, 200, 200), (800, 400, 400))
    assert (same_mixture.ratio, same_mixture.wide_ratio) == (2000, None)


def test_a_correction_says_what_was_measured() -> None:
    pair = ((400, 0, 80), (4000, 0, 800))
    assert measured(*pair).calibrated(1000) is None  # Two measurements correct nothing.
    found = measured(*pair * 4)

    assert found.calibrated(1000) == 800
    assert found.calibrated(1000, wide=400) == 800
    assert found.calibrated(0) == 0


@pytest.mark.parametrize(
    ("between", "samples"),
    [
        ([said(400)], 1),
        ([e.ToolCall("c", "Bash", "x" * 200), e.ToolResult("c", "x" * 198)], 1),
        ([e.Skill("notes", "loaded", units=400)], 1),
        ([e.Context("memory", "m.md", units=400)], 1),
        ([said(400), e.Compaction("after")], 0),
        ([said(400), e.Compaction("before")], 1),
        ([said(400), e.Prompt("t2", "a new turn")], 0),
        ([said(400), e.Prompt("t1", "of the same turn")], 1),
        ([], 0),
        ([e.Spoken("model", "x" * 400, agent_id="a1")], 0),
        ([e.ToolCall("c", "Bash", "x" * 400, agent_id="a1")], 0),
        ([e.Usage(5000, 1, agent_id="a1")], 0),
        ([e.Usage(9, 9, cumulative=True)], 0),
    ],
)
def test_only_what_entered_between_two_requests_of_a_turn_is_measured(
    between: list[Any], samples: int
) -> None:
    found = after(*between, e.Usage(1100, 1))

    assert (found is not None) == bool(samples)
    assert found is None or found[:5] == (1, 0, 0, 1000, None)


def test_nothing_is_measured_over_a_window_that_shrank() -> None:
    assert after(said(400), e.Usage(900, 1)) is None
    found = after(said(400), e.Usage(900, 1), said(400), e.Usage(1000, 1))
    assert found is not None
    assert (found.samples, found.ratio) == (1, 1000)


def test_a_message_that_is_told_again_is_one_request() -> None:
    once = [e.Usage(2000, 1, message_id="m1"), said(400)]
    again = [
        *once,
        e.Usage(2000, 90, message_id="m1"),
        said(400),
        e.Usage(2200, 1, message_id="m2"),
    ]

    found = after(*again)
    assert found is not None
    assert (found.samples, found.median) == (1, 0)


def test_a_request_that_is_told_of_cuts_off_what_came_before_it() -> None:
    # What the model answers to a request is told before its usage, and is no part of its input.
    first = [said(400), e.Request("r1"), said(8000), e.Usage(1100, 2000)]

    assert after(*first) == Measured(1, 0, 0, 1000)
    assert after(*first, e.Request("r2"), said(40), e.Usage(3100, 10)) == Measured(2, 0, 0, 1000)


def test_the_newest_measurements_are_kept_and_the_ratio_is_over_all() -> None:
    found = measured(*[(400, 0, 200)] * 10, *[(400, 0, 100)] * SAMPLES_KEPT)

    assert found == Measured(
        SAMPLES_KEPT + 10, 0, 0, (SAMPLES_KEPT + 20) * 1000 // (SAMPLES_KEPT + 10)
    )


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 900), st.integers(0, 900))))
def test_a_ledger_read_back_goes_on_as_if_never_written(steps: list[tuple[int, int, int]]) -> None:
    kept, read = ErrorLedger(), ErrorLedger()
    for kind, one, other in steps:
        read = ErrorLedger.from_json(json.loads(json.dumps(read.to_json())))
        for ledger in (kept, read):
            if kind == 0:
                ledger.append(max(one, other), min(one, other))
            elif kind == 1:
                ledger.request()
            elif kind == 2:
                ledger.restart()
            else:
                ledger.usage(f"m{one % 3}" if one % 2 else None, other)

    assert read.to_json() == kept.to_json()
    assert read.measured() == kept.measured()
