"""The ten rows, the walk over usage and the two bars, as agreed."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.accounting.breakdown import Bars, Breakdown, Pending, bars, format_tokens, rows
from core.accounting.kinds import KINDS, ROWS
from core.accounting.snapshot import Entry
from core.accounting.usage import Baseline, Figures, TurnReport, walk

CONFORMANCE = Path(__file__).parents[2] / "conformance" / "breakdown.json"
AGREED = json.loads(CONFORMANCE.read_text(encoding="utf-8"))
TOKENS = st.integers(0, 300_000)


def numbered(cases: list[Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[f"{n}" for n in range(1, len(cases) + 1)])


def broken_down(given: dict[str, Any]) -> Breakdown:
    """Make the rows of a case; its `used` still holds what the cache gave."""
    read, creation = given.get("cache_read", 0), given.get("cache_creation", 0)
    used, output = given.get("used", 0), given.get("output", 0)
    figures = Figures(used - read - creation, output, read, creation)
    return rows(
        {kind: Entry(tokens, kind) for kind, tokens in given.get("known", {}).items()},
        Baseline(figures, weak=used == 0 and output > 0),
        Pending(given.get("composer_tokens", 0), tuple(given.get("pending_files", ()))),
        given.get("window"),
    )


@numbered(AGREED["breakdown"])
def test_the_rows_are_the_agreed_ones(case: dict[str, Any]) -> None:
    breakdown = broken_down(case["given"])
    tokens = {row.kind: row.tokens for row in breakdown.rows}
    facts = {
        **tokens,
        "used": breakdown.used,
        "ratio": breakdown.ratio,
        "remaining": breakdown.remaining,
        "sum_of_rows": sum(tokens.values()),
        "all_rows": max(tokens.values()),
    }

    expected = {name: value for name, value in case["expect"].items() if name != "note"}
    assert {name: facts[name] for name in expected} == expected
    assert tuple(tokens) == ROWS


@numbered(AGREED["usage_walk"]["cases"])
def test_the_walk_finds_the_agreed_baseline(case: dict[str, Any]) -> None:
    found = walk([_report(turn) for turn in case["given"]])
    facts: dict[str, Any] = {"baseline": found.baseline, "window": found.window}
    if found.baseline is not None:
        figures = found.baseline.figures
        facts |= {"used": figures.used, "output": figures.output, "weak": found.baseline.weak}

    assert {name: facts[name] for name in case["expect"]} == case["expect"]


def _report(turn: Any) -> TurnReport | None:
    if turn == "unreadable":
        return None
    figures = Figures(turn["input"], turn["output"], turn.get("cache_read", 0))
    return TurnReport(figures, turn.get("window"))


@numbered(AGREED["bars"]["cases"])
def test_the_bars_have_the_agreed_cells(case: dict[str, Any]) -> None:
    cells = cells_of(case["given"])
    filled = sum(cells.values())
    facts: dict[str, Any] = {
        **cells,
        "filled": filled,
        "empty": case["given"]["cells"] - filled,
        "each": max(cells.values()),
        "on": next(iter(cells)),
    }

    assert {name: facts[name] for name in case["expect"]} == case["expect"]


def cells_of(given: dict[str, Any]) -> dict[str, int]:
    kinds = given["kinds"]
    if isinstance(kinds, list):
        kinds = dict(zip(KINDS, kinds, strict=False))
    conversation = kinds.get("conversation", 0)
    known = {kind: Entry(kinds[kind], kind) for kind in KINDS if kind in kinds}
    used = conversation + sum(entry.tokens for entry in known.values())
    drawn = bars(rows(known, Baseline(Figures(used, 0)), window=given["window"]))
    return dict(drawn.cells100 if given["cells"] == 100 else drawn.cells10)


PENDING = st.builds(Pending, TOKENS, st.lists(TOKENS, max_size=3).map(tuple))
BASELINES = st.builds(Baseline, st.builds(Figures, TOKENS, TOKENS, TOKENS, TOKENS), st.booleans())


@given(
    st.dictionaries(st.sampled_from(KINDS), TOKENS.map(lambda tokens: Entry(tokens, "s"))),
    st.none() | BASELINES,
    PENDING,
    st.none() | st.integers(-1, 300_000),
)
def test_bars_never_overflow_and_the_wide_one_shows_every_row(
    entries: dict[str, Entry], baseline: Baseline | None, pending: Pending, window: int | None
) -> None:
    breakdown = rows(entries, baseline, pending, window)
    drawn = bars(breakdown)

    assert sum(run.cells for run in drawn.cells100) <= 100
    assert sum(run.cells for run in drawn.cells10) <= 10
    assert {run.kind for run in drawn.cells100} == {row.kind for row in breakdown.shown}
    assert bool(drawn.cells10) == bool(breakdown.used) or pending != Pending()


def test_what_is_pending_stands_last_and_is_trimmed_first() -> None:
    entries = {"files_attachments": Entry(500, "a.txt", "a.txt")}
    drawn = bars(rows(entries, Baseline(Figures(900, 0)), Pending(400, (300,)), window=1000))

    assert drawn.cells100 == (
        ("files_attachments", 50),
        ("conversation", 40),
        ("files_attachments", 9),
        ("pending_next_turn", 1),
    )
    assert drawn.cells10 == (
        ("files_attachments", 5),
        ("conversation", 4),
        ("files_attachments", 1),
    )


def test_with_nothing_known_nothing_is_drawn() -> None:
    assert bars(rows({})) == Bars((), ())
    assert rows({}).shown == ()


def test_a_row_says_where_its_tokens_are_known_from() -> None:
    row = rows({"tools": Entry(9, "tool_use/tool/Bash", "Bash × 1")}).shown[0]

    assert row == ("tools", 9, 0, "tool_use/tool/Bash", "Bash × 1")


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1K"),
        (1049, "1K"),
        (1050, "1.1K"),
        (2750, "2.8K"),
        (99_949, "99.9K"),
        (99_950, "100K"),
        (100_499, "100K"),
        (258_400, "258K"),
        (999_600, "1000K"),
        (1_000_000, "1000K"),
    ],
)
def test_tokens_are_written_for_people(tokens: int, text: str) -> None:
    assert format_tokens(tokens) == text
