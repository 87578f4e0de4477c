"""JSON is read as hosts send it and written so that every client can read it."""

import math

import pytest

from core.events import Json
from server.jsontext import DIGITS_MAX, NESTED_MAX, NotJson, dump, parse


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'"\\ud800"', "\ud800"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'{"id": "\\udfff", "n": 1180591620717411303424}', {"id": "\udfff", "n": 2**70}),
        (b"-1E400", -math.inf),
        (b"9" * DIGITS_MAX, 10**DIGITS_MAX - 1),
        (b"-1" + b"0" * DIGITS_MAX, -math.inf),
        (b"9" * 1_000_000, math.inf),
    ],
)
def test_what_a_javascript_host_sends_is_read(body: bytes, value: Json) -> None:
    assert parse(body) == value


@pytest.mark.parametrize("innermost", [b"1", b"1E400", b'"\\ud800"'])
def test_what_is_nested_to_the_limit_is_read(innermost: bytes) -> None:
    value = parse(b"[" * NESTED_MAX + innermost + b"]" * NESTED_MAX)

    for _ in range(NESTED_MAX):
        (value,) = value
    assert value in (1, math.inf, "\ud800")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"NaN",
        b"[Infinity]",
        b'{"a": -Infinity, "b": "\\ud800"}',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b"{} {}",
    ],
)
def test_what_is_no_json_is_refused_without_quoting_it(body: bytes) -> None:
    with pytest.raises(NotJson) as refused:
        parse(body)

    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_text_is_written_as_compact_utf8() -> None:
    assert dump({"a": ["é", 1, None]}) == '{"a":["é",1,null]}'.encode()


def test_half_a_surrogate_pair_is_replaced_and_its_neighbours_stay() -> None:
    assert dump(["a\ud800b", "\udc00"]) == '["a�b","�"]'.encode()


def test_a_number_beyond_64_bits_is_written_whole() -> None:
    assert dump({"id": 2**70}) == b'{"id":1180591620717411303424}'


def test_a_value_that_is_no_json_is_a_bug_of_the_caller() -> None:
    with pytest.raises(TypeError):
        dump({"value": object()})
