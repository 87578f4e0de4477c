"""A line that is too long to be held: rows as a parser gives them, long texts as their lengths."""

import io
import json
import re
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.recordings import long_text
from core.recordings.contract import Loads
from core.recordings.lines import parse_long
from core.recordings.long_text import REST_BYTES_MAX, TEXT_BYTES_MAX, LongLine, pieces
from core.units import LongText, json_units, utf16_units

CHARACTERS = st.sampled_from([*'ab"\\/\n\t\x01\x7f', "é", "读", "\uffff", "😀", "\ud83d", "\ude00"])
TEXTS = st.lists(CHARACTERS, max_size=24).map("".join)
KEYS = st.text("ab读😀", max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=10,
)


def printed(value: Any, escape_all: bool) -> bytes:
    """Print JSON with all characters escaped, or only what UTF-8 cannot hold."""
    text = json.dumps(value, ensure_ascii=escape_all)
    text = re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found.group()):04X}", text)
    return text.encode()


def reduced(line: bytes, chunk_bytes: int, loads: Loads) -> Any:
    taken = LongLine(loads)
    for piece in pieces(line[:3], io.BytesIO(line[3:]).readline, chunk_bytes):
        taken.feed(piece)
    return taken.restored(json.loads(taken.rest()))


@given(
    text=TEXTS,
    escape_all=st.booleans(),
    chunk_bytes=st.integers(1, 40),
    loads=st.sampled_from([json.loads, orjson.loads]),
)
def test_a_text_has_its_length_wherever_it_is_cut(
    text: str, escape_all: bool, chunk_bytes: int, loads: Loads
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_text, "TEXT_BYTES_MAX", 1)
        line = printed({"a": text}, escape_all) + b"\n"

        found = reduced(line, chunk_bytes, loads)["a"]

    whole = json.loads(line)["a"]
    assert utf16_units(found) == utf16_units(whole)
    assert json_units(found) == json_units(whole)
    assert isinstance(found, LongText) == (len(printed(text, escape_all)) > len('"x"'))
    assert bool(found) == bool(text)


@given(
    value=VALUES,
    escape_all=st.booleans(),
    chunk_bytes=st.integers(1, 40),
    text_bytes=st.integers(0, 30),
)
def test_a_row_is_as_long_as_the_parser_gives_it(
    value: Any, escape_all: bool, chunk_bytes: int, text_bytes: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_text, "TEXT_BYTES_MAX", text_bytes)
        line = printed({"value": [value]}, escape_all)

        found = reduced(line, chunk_bytes, orjson.loads)

    assert without_long(found, text_bytes) == without_long(json.loads(line), text_bytes)


def without_long(value: Any, text_bytes: int) -> Any:
    """Give the value with the length of each text that may have been left out; keys are left."""
    if isinstance(value, dict):
        return sorted(repr(without_long(item, text_bytes)) for item in value.values())
    if isinstance(value, list):
        return [without_long(item, text_bytes) for item in value]
    if isinstance(value, str) and (isinstance(value, LongText) or len(value) * 6 > text_bytes):
        return utf16_units(value), json_units(value)
    return value


def test_short_texts_are_kept_to_the_last_byte() -> None:
    at, past = "x" * TEXT_BYTES_MAX, "x" * (TEXT_BYTES_MAX + 1)
    line = json.dumps({"at": at, "past": past}).encode() + b"\n"

    found = parse_long(line, io.BytesIO().readline)

    assert isinstance(found, dict)
    assert found["at"] == at
    assert repr(found["past"]) == f"LongText({len(past)}, {len(past)})"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"a": "' + b"x" * 70_000, "is cut off"),
        (b'{"a": "' + b"x" * 70_000 + b"\\", "is cut off"),
        (b'{"a": "' + b"x" * 70_000 + b"\n", "is not JSON"),
        (b'{"a": "' + b"x" * 70_000 + b'\x01"}\n', "is not JSON"),
        (b'{"a": "' + b"x" * 70_000 + b'\\q"}          \n', "is not JSON"),
        (b'{"a": "' + b"x" * 70_000 + b'\0"}\n', "holds NUL bytes"),
        (b'{"a": "' + b"x" * 70_000 + b'\xff"}\n', "is not UTF-8"),
        (b'["' + b"x" * 70_000 + b'"]\n', "is a JSON array, not an object"),
        (b'{"a": "' + b"x" * 70_000 + b'"}{"b": 1}\n', "holds two records on one line"),
        (
            b'{"a": [' + b"1," * (REST_BYTES_MAX // 2) + b"1]}\n",
            f"longer than {REST_BYTES_MAX} bytes even without its long texts",
        ),
    ],
)
def test_a_long_line_that_cannot_be_used_says_why_and_is_passed(line: bytes, why: str) -> None:
    after = b"next\n" if line.endswith(b"\n") else b""
    file = io.BytesIO(line + after)

    found = parse_long(file.readline(100), file.readline, orjson.loads)

    assert found == why
    assert file.read() == after


def test_many_texts_of_middling_length_are_left_out_before_the_line_is_given_up() -> None:
    texts = ["y" * (TEXT_BYTES_MAX - 1)] * 200
    line = json.dumps({"a": texts}).encode()

    found = parse_long(line, io.BytesIO().readline)

    assert isinstance(found, dict)
    assert [utf16_units(text) for text in found["a"]] == [TEXT_BYTES_MAX - 1] * 200


def test_a_long_key_is_counted_too() -> None:
    line = json.dumps({"k" * 70_000: 1}).encode()

    assert json_units(parse_long(line, io.BytesIO().readline)) == len(line) - 1  # No space.
