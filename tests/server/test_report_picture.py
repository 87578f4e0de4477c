"""The report on a terminal: tidy, within its columns, and honest about what is left out."""

import re
from typing import Any

import pytest
from rich.cells import cell_len

from core.accounting.breakdown import format_tokens
from core.phases.display import shown
from server.report.picture import (
    PARTS_MAX,
    SESSIONS_MAX,
    TURNS_MAX,
    picture,
    scaled,
)
from server.report.tables import NAMES_MAX
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

    assert any(line.split() == ["1", "-"] for line in drawn)
    assert not any("0" in line for line in drawn[1:])


def test_a_turn_comes_to_what_the_window_held() -> None:
    drawn = lines(turn(rows=[{"kind": "tools", "tokens": 900}], window={"used": 700}))

    assert any(line.split()[:2] == ["1", "700"] for line in drawn)


def test_bars_without_a_window_share_one_scale() -> None:
    def of(tokens: int, **told: Json) -> Json:
        cells = [{"kind": "tools", "cells": 100}]
        rows = [{"kind": "tools", "tokens": tokens}]
        return {"rows": rows, "bars": {"cells100": cells}, **told}

    turns = [of(1_000, outcome="interrupted"), of(2_000), of(500)]
    drawn = lines({"sessions": [{"turns": turns[:2]}, {"turns": turns[2:]}]})
    wide = [len(found[0]) for line in drawn if (found := re.search("t{9,}", line))]

    assert wide == [wide[1] // 2, wide[1], wide[1] // 4]
    assert "a whole bar is 2,000 tokens" in " ".join(drawn)
    assert not any("Full" in line for line in drawn)


def test_where_a_window_is_not_known_beside_others_a_line_says_so() -> None:
    known = {"window": {"tokens": 4_000, "used": 2_000, "ratio": 0.5}}
    rows = {"rows": [{"kind": "tools", "tokens": 300}]}
    bars = {"bars": {"cells100": [{"kind": "tools", "cells": 50}]}}
    drawn = lines({"sessions": [{"turns": [known | rows | bars, rows | bars]}]})

    assert any(line.split()[:3] == ["2", "300", "-"] for line in drawn)
    assert "Full is - where its size is not known" in " ".join(drawn)


def test_the_last_turn_of_a_session_is_told_in_figures_with_their_sources() -> None:
    made = report(sessions=1, turns=3)
    last = made["sessions"][0]["turns"][-1]
    drawn = lines(made)
    start = drawn.index("  Turn 3 by kind, tokens and source")
    told = drawn[start + 1 : start + 1 + len(last["rows"])]

    for line, row in zip(told, last["rows"], strict=True):
        assert f" {row['label']} " in line
        assert f" {format_tokens(row['tokens'])} " in line
        assert row.get("source", "")[:20] in line


def test_the_largest_parts_of_the_last_request_are_listed() -> None:
    parts = [
        {"kind": "tool_result", "name": "Read", "tokens": tokens, "source": "transcript/x"}
        for tokens in (700, 800)
    ]
    parts += [{"kind": "tool_schema", "name": f"T{at}", "tokens": 10 + at} for at in range(9)]
    drawn = lines(turn(composition={"parts": parts, "reported": 1_626}))
    start = drawn.index("  Its last request by part, tokens and source")
    told = drawn[start + 1 :]

    assert told[0].split() == ["Tool", "results:", "Read", "1.5K", "transcript/x"]
    assert [line.split()[-1] for line in told[1:PARTS_MAX]] == ["18", "17", "16", "15", "14"]
    assert told[PARTS_MAX].split() == ["4", "more"]


def test_usage_that_nobody_reported_is_no_row_of_zeros() -> None:
    zeros = dict.fromkeys(("input", "output", "cacheRead", "cacheCreation", "messages"), 0)
    drawn = lines({"totals": zeros})

    assert drawn[1:] == ["no usage was reported"]


@pytest.mark.parametrize("columns", [40, 80])
def test_a_session_is_named_by_its_time_its_id_and_its_runtime(columns: int) -> None:
    session = {
        "sessionId": "5828bd52-7a67-4f45-8cf3-382373e7ecaf",
        "cwd": "/srv/a-folder-of-a-long-name/of-a-project",
        "runtime": "claude_code",
        "version": "2.1.332",
        "startedAt": "2026-11-30T07:49:49.887Z",
    }
    head = lines({"sessions": [session]}, columns)[2]

    assert head.startswith("2026-11-30 07:49  5828bd52  claude_code")


def test_tables_say_what_they_are_the_totals_of() -> None:
    drawn = lines(report(sessions=SESSIONS_MAX + 2, turns=2))

    assert f"Totals of all {SESSIONS_MAX + 2} sessions" in drawn
    assert not any("Totals of all" in line for line in lines(report(sessions=2, turns=2)))
    assert any(line.startswith("Tools, those of sub-agents included ") for line in drawn)


def test_a_server_that_was_never_called_put_its_instructions_there() -> None:
    drawn = lines({"totals": {"byMcpServer": {"github": {"tokens": 65, "calls": 0}}}})

    assert any(line.split()[:3] == ["github", "65", "instructions"] for line in drawn)


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
