"""Ranges of a plan's text as clients count them."""

import pytest
from lsprotocol import types
from pygls.workspace import PositionCodec

from core.phases.places import Span
from handlers.editor_text import PlanText

PLAN = 'version: 1\nphases:\n  - id: "survey" # \U0001f600\n    task_prompt: Look.\n'


def ends(text: str, encoding: str, span: Span) -> tuple[int, int, int, int]:
    found = PlanText(text, PositionCodec(encoding)).range(span)
    return (found.start.line, found.start.character, found.end.line, found.end.character)


@pytest.mark.parametrize(("encoding", "start"), [("utf-8", 10), ("utf-16", 5), ("utf-32", 3)])
def test_characters_beyond_the_basic_plane_count_as_the_client_counts(
    encoding: str, start: int
) -> None:
    text = "a\r\n\U0001f600\u00e9\U0001f600x: y\r\n"
    assert ends(text, encoding, Span(1, 3, 1, 4)) == (1, start, 1, start + 1)


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_only_what_ends_a_line_for_the_client_ends_one(line_break: str) -> None:
    text = f"# \u2028 \x0c \x85{line_break}\U0001f600x{line_break}"
    assert ends(text, "utf-16", Span(1, 1, 1, 2)) == (1, 2, 1, 3)
    assert ends(text, "utf-16", Span(2, 0, 2, 0)) == (2, 0, 2, 0)


def test_a_byte_order_mark_counts_for_the_client_in_the_first_line_alone() -> None:
    text = "\ufeffversion: 2\nphases: []\n"
    plan = PlanText(text, PositionCodec("utf-16"))
    wrong = next(p for p in plan.loaded.problems if p.line == 0)

    assert plan.range(Span(*wrong[:4])).start == types.Position(0, len("\ufeffversion: "))
    assert plan.range(Span(1, 0, 1, 6)).start == types.Position(1, 0)


def test_the_end_of_a_line_is_before_its_break() -> None:
    plan = PlanText(PLAN.replace("\n", "\r\n"), PositionCodec("utf-16"))
    assert plan.line_end(2) == types.Position(2, len('  - id: "survey" # ') + 2)


def test_phases_are_found_also_while_the_text_has_faults() -> None:
    good = PlanText(PLAN, PositionCodec())
    faulty = PlanText(PLAN + "    unknown: 1\n", PositionCodec())

    assert good.loaded.problems == ()
    assert faulty.loaded.problems != ()
    assert good.phases == faulty.phases == {"survey": 0}
