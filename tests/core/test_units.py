"""Lengths as JavaScript counts them, against a slow and plain printer."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.accounting.estimator import call_tokens, file_tokens
from core.units import (
    LongText,
    content_units,
    image_count,
    javascript_number,
    json_units,
    utf16_order,
    utf16_units,
)

SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r"}
SHORT_ESCAPES["\t"] = "\\t"
MARK = "iVBORw0KGgo="


def slow_json(value: Any) -> str:
    """Print JSON as ECMA-262 tells it, one character at a time."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return '"' + "".join(slow_character(unit) for unit in code_units(value)) + '"'
    if isinstance(value, list):
        return "[" + ",".join(map(slow_json, value)) + "]"
    if isinstance(value, dict):
        pairs = (f"{slow_json(key)}:{slow_json(item)}" for key, item in value.items())
        return "{" + ",".join(pairs) + "}"
    return slow_number(float(value))


def code_units(text: str) -> str:
    """Give the text with every surrogate pair as one character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def slow_character(character: str) -> str:
    if character in SHORT_ESCAPES:
        return SHORT_ESCAPES[character]
    if character < " " or "\ud800" <= character <= "\udfff":
        return f"\\u{ord(character):04x}"
    return character


def slow_number(value: float) -> str:
    if value != value or abs(value) == float("inf"):
        return "null"
    if value == 0:
        return "0"
    number = Decimal(repr(value)).normalize()
    if Decimal("1e-6") <= abs(number) < Decimal("1e21"):
        return f"{number:f}"
    sign, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits))
    power = int(exponent) + len(text) - 1
    point = "." if len(text) > 1 else ""
    return f"{'-' * sign}{text[0]}{point}{text[1:]}e{'+' if power > 0 else '-'}{abs(power)}"


TEXTS = st.text(alphabet=st.characters(exclude_categories=[]), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_the_length_of_json_is_that_of_what_javascript_prints(value: Any) -> None:
    assert json_units(value) == utf16_units(slow_json(value))


@given(st.floats() | st.integers(-(2**80), 2**80))
def test_numbers_are_printed_as_javascript_prints_them(value: float) -> None:
    assert javascript_number(value) == slow_number(float(value))


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (-12.5, "-12.5"),
        (2**53, "9007199254740992"),
        (2**53 + 1, "9007199254740992"),
        (12345678901234567890, "12345678901234567000"),
        (10**400, "null"),
        (float("nan"), "null"),
        (float("-inf"), "null"),
    ],
)
def test_known_numbers(value: float, printed: str) -> None:
    assert javascript_number(value) == printed
    assert json_units([value]) == len(printed) + 2


@pytest.mark.parametrize(
    ("value", "units"),
    [
        (None, 4),
        ({}, 2),
        ("\x00\x1f\x7f\n", 6 + 6 + 1 + 2 + 2),
        ("\ud800", 6 + 2),
        ("\ud83d\ude00", 2 + 2),  # Two halves of one character.
        ("😀é", 2 + 1 + 2),
        ({"a": [1, "b"], "c": True}, len('{"a":[1,"b"],"c":true}')),
    ],
)
def test_known_values(value: Any, units: int) -> None:
    assert json_units(value) == units


def test_a_text_that_is_not_kept_has_its_length_everywhere() -> None:
    text = LongText(7, 9)

    assert utf16_units(text) == content_units(text) == content_units([{"text": text}]) == 7
    assert json_units(text) == 9 + 2
    assert json_units({text: [text]}) == len('{"":[""]}') + 2 * 9
    assert image_count(text) == 0


def test_a_text_that_is_not_kept_is_not_taken_for_an_empty_one() -> None:
    text = LongText(7, 9)

    assert text
    assert text not in {"", LongText(7, 9)}
    assert len({text, LongText(7, 9), ""}) == 3


def test_nesting_of_any_depth_is_counted() -> None:
    value: Any = 1
    for _ in range(50_000):
        value = [value]

    assert json_units(value) == 100_001


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(TypeError, match="set is no JSON value"):
        json_units({"a": {1}})


def test_tokens_are_rounded_up() -> None:
    assert [call_tokens(units) for units in (0, 1, 4, 5)] == [0, 1, 1, 2]
    assert [file_tokens(size) for size in (0, 1, 8, 9)] == [0, 1, 2, 3]


def test_code_unit_order_puts_a_pair_before_the_last_plain_characters() -> None:
    assert sorted(["\uffee", "😀", "a"], key=utf16_order) == ["a", "😀", "\uffee"]


@pytest.mark.parametrize(
    ("content", "units", "images"),
    [
        ("读 ok", 4, 0),
        (None, 0, 0),
        ([{"type": "text", "text": "ab"}, {"type": "text", "text": "cd"}], 4, 0),
        ([{"type": "tool_reference", "tool_name": "Read"}], 0, 0),
        ([{"type": "image", "source": {"type": "base64", "data": MARK}}], 0, 1),
        ([{"type": "image", "data": MARK}, {"type": "text", "text": "x"}], 1, 1),
        ([{"type": "resource", "resource": {"uri": "a:", "text": "abc"}}], 3, 0),
        ([{"type": "resource", "resource": {"uri": "a:", "blob": MARK}}], 0, 1),
        ([{"type": "content", "content": {"type": "text", "text": "abc"}}], 3, 0),
        ([{"type": "tool_result", "content": [{"type": "text", "text": "a"}, "bc"]}], 3, 0),
        ([{"type": "tool_result", "content": "abc"}], 3, 0),
        ([{"type": "text", "text": 7}, 8, None], 0, 0),
    ],
)
def test_only_the_text_of_content_counts(content: Any, units: int, images: int) -> None:
    assert content_units(content) == units
    assert image_count(content) == images
