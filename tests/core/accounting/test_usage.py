"""Usage: every request once, in the turn where it first came."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.accounting.usage import OWNED_IDS_MAX, Baseline, Figures, UsageLedger

TURNS = ("t1", "t2", "t3")
FIGURES = st.builds(
    Figures, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)
)
REPORTS = st.lists(
    st.tuples(st.sampled_from(TURNS), FIGURES, st.none() | st.sampled_from(["a", "b", "c"])),
    max_size=20,
)


def fed(reports: list[Any]) -> UsageLedger:
    ledger = UsageLedger()
    for turn_id, figures, message_id in reports:
        ledger.report(turn_id, figures, message_id=message_id)
    return ledger


def summed_anew(reports: list[Any]) -> dict[str, Figures]:
    owners: dict[str, str] = {}
    requests: dict[Any, tuple[str, Figures]] = {}
    for number, (turn_id, figures, message_id) in enumerate(reports):
        owner = owners.setdefault(message_id, turn_id) if message_id else turn_id
        requests[message_id or number] = (owner, figures)
    return {
        turn: Figures(*map(sum, zip(*(f for t, f in requests.values() if t == turn), strict=True)))
        for turn in {turn for turn, figures in requests.values() if any(figures)}
    }


@given(REPORTS)
def test_sums_are_those_over_the_last_figures_of_every_message(reports: list[Any]) -> None:
    ledger, expected = fed(reports), summed_anew(reports)

    assert {turn: ledger.turn(turn) for turn in TURNS} == {t: expected.get(t) for t in TURNS}


@given(REPORTS, REPORTS, st.booleans())
def test_a_ledger_read_back_goes_on_as_if_never_written(
    before: list[Any], after: list[Any], stale: bool
) -> None:
    kept = fed(before)
    kept.report("t1", Figures(3, 4, 5), cumulative=True, window=1000)
    if stale:
        kept.compacted()
    read = UsageLedger.from_json(json.loads(json.dumps(kept.to_json())))
    assert read.stale == kept.stale
    for turn_id, figures, message_id in after:
        for ledger in (kept, read):
            ledger.report(turn_id, figures, message_id=message_id, cumulative=True)

    assert read.to_json() == kept.to_json()
    assert read.fill() == kept.fill()


def test_the_last_row_of_a_message_counts_in_the_turn_where_it_first_came() -> None:
    ledger = UsageLedger()
    assert ledger.report("t1", Figures(10, 1), message_id="m") == "t1"
    assert ledger.report("t2", Figures(20, 2), message_id="n") == "t2"

    assert ledger.report("t2", Figures(12, 5), message_id="m") == "t1"
    assert ledger.turn("t1") == Figures(12, 5)
    assert ledger.turn("t2") == Figures(20, 2)
    assert ledger.fill() == 20


def test_an_older_message_told_again_does_not_become_the_last_request() -> None:
    ledger = UsageLedger()
    ledger.report("t1", Figures(10, 1), message_id="m")
    ledger.report("t1", Figures(20, 2), message_id="n")
    ledger.report("t1", Figures(12, 5), message_id="m")

    assert ledger.fill() == 20
    assert ledger.turn("t1") == Figures(32, 7)


def test_the_fill_is_the_last_request_and_never_a_sum() -> None:
    ledger = UsageLedger()
    assert ledger.fill() is None
    ledger.report("t1", Figures(10, 1, 100, 1000))
    ledger.report("t1", Figures(20, 1, 200, 2000))

    assert ledger.turn("t1") == Figures(30, 2, 300, 3000)
    assert ledger.fill() == 2220


def test_an_output_alone_does_not_say_how_full_the_window_is() -> None:
    ledger = UsageLedger()
    ledger.report("t1", Figures(0, 8))
    assert ledger.fill() is None
    assert ledger.baseline() == Baseline(Figures(0, 8), weak=True)

    ledger.report("t1", Figures(10, 1))
    ledger.report("t1", Figures(0, 7))
    ledger.report("t2", Figures(0, 9))
    ledger.report("t3", Figures(0, 0))
    assert ledger.fill() == 10
    assert ledger.turn("t1") == Figures(10, 16)
    assert ledger.turn("t3") is None


def test_what_an_input_includes_of_the_cache_is_taken_out() -> None:
    ledger = UsageLedger()
    ledger.report("t1", Figures(100, 1, 60, 10), includes_cache=True)
    ledger.report("t2", Figures(5, 1, 60), includes_cache=True)

    assert ledger.turn("t1") == Figures(30, 1, 60, 10)
    assert ledger.turn("t2") == Figures(0, 1, 60)


def test_running_totals_count_by_their_difference() -> None:
    ledger = UsageLedger()
    for totals in (Figures(100, 10), Figures(100, 10), Figures(250, 15)):
        ledger.report("t1", totals, cumulative=True)
    assert ledger.turn("t1") == Figures(250, 15)
    assert ledger.fill() == 150

    ledger.report("t2", Figures(40, 2), cumulative=True)  # The host counts from 0 again.
    ledger.report("t2", Figures(60, 5), cumulative=True)
    assert ledger.turn("t2") == Figures(20, 3)


def test_after_a_compaction_only_a_new_request_tells_the_fill() -> None:
    ledger = UsageLedger()
    ledger.report("t1", Figures(100, 1), message_id="m")
    ledger.compacted()
    assert ledger.fill() is None

    ledger.report("t1", Figures(110, 9), message_id="m")
    assert ledger.stale
    ledger.report("t1", Figures(30, 1), message_id="n")
    assert ledger.fill() == 30
    assert not ledger.stale


@pytest.mark.parametrize("window", [None, 0, -5])
def test_the_window_is_the_last_positive_one(window: int | None) -> None:
    ledger = UsageLedger()
    ledger.report("t1", Figures(1, 1), window=200_000)
    ledger.report("t1", Figures(1, 1), window=1_000_000)
    ledger.report("t1", Figures(1, 1), window=window)

    assert ledger.window == 1_000_000


def test_a_turn_keeps_its_usage_under_its_new_name() -> None:
    ledger = UsageLedger()
    ledger.report("", Figures(5, 1), message_id="m")
    ledger.rename_turn("", "t1")

    assert ledger.report("t2", Figures(6, 1), message_id="m") == "t1"
    assert ledger.turn("t1") == Figures(6, 1)
    assert ledger.turn("") is None

    ledger.report("", Figures(1, 1))
    ledger.rename_turn("", "t1")
    assert ledger.turn("t1") == Figures(7, 2)
    assert ledger.fill() == 1


@pytest.mark.parametrize(("others", "owner"), [(OWNED_IDS_MAX - 1, "t1"), (OWNED_IDS_MAX, "t2")])
def test_so_many_messages_are_remembered_and_no_more(others: int, owner: str) -> None:
    ledger = UsageLedger()
    ledger.report("t1", Figures(1, 1), message_id="first")
    for number in range(others):
        ledger.report("t1", Figures(1, 1), message_id=f"m{number}")

    assert ledger.report("t2", Figures(1, 1), message_id="first") == owner
