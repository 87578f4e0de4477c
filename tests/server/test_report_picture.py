"""The report on a terminal: tidy, within its columns, and honest about what is left out."""

import re
from typing import Any

import pytest
from rich.cells import cell_len

from core.phases.display import shown
from server.report.picture import (
    NAMES_MAX,
    SESSIONS_MAX,
    TURNS_MAX,
    picture,
    scaled,
)
from tests.browser.sample import report

Json = Any

HOW = "See all with --html FILE or --json."


def lines(made: Json, columns: int = 100) -> list[str]:
    return picture(made, columns, colour=False).splitlines()


def turn(**told: Json) -> Json:
    return {"sessions": [{"sessionId": "s", "turns": [{"turnId": "t", **told}]}]}


def test_it_begins_with_what_was_read() -> None:
    assert (
        lines(report(sessions=2, turns=4))[0] == "Turnkeeper report: 2 sessions, 6 turns, 4 files"
    )


def test_a_turn_has_its_sum_how_full_the_window_is_and_a_bar() -> None:
    drawn = lines(
        turn(
            rows=[{"kind": "tools", "tokens": 1_200}, {"kind": "conversation", "tokens": 800}],
            bars={
                "cells100": [{"kind": "tools", "cells": 30}, {"kind": "conversation", "cells": 20}]
            },
            window={"tokens": 4_000, "used": 2_000, "ratio": 0.5},
        ),
        columns=125,
    )
    (line,) = [line for line in drawn if "2,000" in line]

    assert line.split() == ["1", "2,000", "50%", "t" * 30 + "c" * 20]


def test_what_is_not_known_is_a_dash_and_no_zero() -> None:
    drawn = lines(turn())

    assert any(line.split() == ["1", "-", "-"] for line in drawn)
    assert not any("0" in line for line in drawn[1:])


def test_a_tool_whose_tokens_are_unknown_says_so() -> None:
    drawn = lines({"totals": {"byTool": {"Bash": {"calls": 2}}}})

    assert any(line.split() == ["Bash", "unknown", "2"] for line in drawn)


@pytest.mark.parametrize("locale", ["en", "zh"])
@pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
def test_tables_and_bars_stay_within_the_columns(columns: int, locale: str) -> None:
    made = report(sessions=2, turns=30, locale=locale)
    made["notes"] = []
    wide = [line for line in lines(made, columns) if cell_len(line) > columns]

    assert wide == []


def test_long_reports_are_cut_and_say_how_to_see_all() -> None:
    drawn = lines(report(sessions=SESSIONS_MAX + 2, turns=TURNS_MAX + 5))

    assert "2 earlier sessions not shown here" in drawn
    assert "  5 earlier turns not shown here" not in drawn[:3]
    assert f"  {9 - NAMES_MAX} more" in drawn
    assert drawn[-1] == HOW


def test_of_a_long_session_the_last_turns_are_shown() -> None:
    drawn = lines(report(sessions=1, turns=TURNS_MAX + 5))
    numbers = [int(found[1]) for line in drawn if (found := re.match(r"  +(\d+) +[\d,]+ ", line))]

    assert numbers == list(range(6, TURNS_MAX + 6))
    assert "  5 earlier turns not shown here" in drawn


def test_a_report_that_is_shown_whole_does_not_say_so() -> None:
    made = report(sessions=1, turns=3)
    made["totals"]["byTool"] = {"Bash": {"calls": 1, "tokens": 10}}

    assert HOW not in lines(made)


@pytest.mark.parametrize("name", ["\x1b[2Jgone", "a\nb", "\u202etxt.exe", "n" * 10_000, "\ud800"])
def test_names_cannot_steer_the_terminal(name: str) -> None:
    made = report(sessions=1, turns=2)
    made["sessions"][0] |= {"cwd": f"/srv/{name}", "sessionId": name, "version": name}
    made["totals"]["byTool"] = {name: {"calls": 1, "tokens": 5}}
    made["notes"] = [name]
    drawn = picture(made, 100, colour=False)

    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", drawn)
    assert shown(name, 20)[:19] in drawn


def test_colours_are_written_only_when_asked_for() -> None:
    made = report(sessions=1, turns=3)
    coloured = picture(made, 100, colour=True)

    assert "\x1b[" in coloured
    assert "\x1b[" not in picture(made, 100, colour=False)
    plain = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert "█" in plain
    assert [len(line) for line in plain.splitlines()] == [len(line) for line in lines(made)]


@pytest.mark.parametrize(
    "made",
    [
        {},
        {"sessions": None, "totals": [], "notes": None, "locale": 5},
        {"sessions": [{"turns": [{"rows": "x", "bars": [], "window": 3, "compactions": {}}]}, 7]},
        {"totals": {"byTool": {"Bash": None}, "input": "many"}, "notes": [None, ""]},
    ],
)
def test_a_report_of_odd_shapes_tells_less(made: Json) -> None:
    assert lines(made)[0].startswith("Turnkeeper report: ")


@pytest.mark.parametrize(
    ("cells", "whole", "room", "wide"),
    [
        ([50, 50], 100, 10, [5, 5]),
        ([1, 99], 100, 10, [1, 9]),
        ([1, 1, 48], 100, 10, [1, 1, 3]),
        ([30], 100, 100, [30]),
        ([], 100, 10, []),
    ],
)
def test_runs_of_cells_are_scaled_and_none_is_lost(
    cells: list[int], whole: int, room: int, wide: list[int]
) -> None:
    assert scaled(cells, whole, room) == wide
