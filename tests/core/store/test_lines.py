"""Journal lines: the format to the byte, and what becomes of bad ones."""

import json
import zlib
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import Unreadable
from core.store.lines import Cursor, LineFault, Tail, read_lines, stamp, verified

PAGE = Path(__file__).resolve().parents[3] / "docs" / "state-format.md"
LINE = (
    b'{"v":1,"seq":7,"id":"2cf24dba.aa-7","ts":1700000000000,"kind":"noted"'
    b',"name":"\xc3\xa9","n":3,"sum":"3cfc54e6"}\n'
)


def line(seq: int, more: int = 0, **fields: Any) -> bytes:
    return stamp({"kind": "noted", **fields}, seq, f"aa-{seq}", 0, more)[1]


def read(data: bytes) -> Tail:
    return read_lines(data, Cursor(), "journal.jsonl", "aa-")


def seqs(tail: Tail) -> list[int]:
    return [found["seq"] for found in tail.lines]


def test_a_line_has_this_format_to_the_byte() -> None:
    _, data = stamp(
        {"kind": "noted", "name": "é", "n": 3}, 7, "2cf24dba.aa-7", 1_700_000_000_000, 0
    )

    assert data == LINE
    assert LINE.decode().rstrip("\n") in PAGE.read_text("utf-8")


def test_the_sum_is_the_crc_of_the_object_without_it() -> None:
    body = LINE[: LINE.rindex(b',"sum"')] + b"}"

    assert json.loads(LINE)["sum"] == f"{zlib.crc32(body):08x}"


def test_both_json_libraries_read_a_line_alike_and_either_may_have_written_it() -> None:
    body = orjson.dumps(
        {"v": 1, "seq": 1, "id": "x-1", "ts": 5, "kind": "noted", "t": "\x7f\u2028"}
    )
    written = body[:-1] + b',"sum":"%08x"}' % zlib.crc32(body)

    assert verified(written) == orjson.loads(body)
    assert orjson.loads(LINE) == json.loads(LINE)


def test_a_lone_surrogate_is_replaced_for_the_writer_as_for_the_reader() -> None:
    seen, data = stamp({"kind": "noted", "t": "a\ud800b\ud83d\ude00"}, 1, "aa-1", 0, 0)

    assert seen["t"] == "a\ufffdb\U0001f600"
    assert verified(data[:-1]) == seen


def test_a_tuple_is_a_list_for_the_writer_as_for_the_reader() -> None:
    assert stamp({"kind": "noted", "t": ((1, 2),)}, 1, "aa-1", 0, 0)[0]["t"] == [[1, 2]]


@pytest.mark.parametrize("value", [1.5, 2**63, -(2**63), {1: 2}, b"x", [float("nan")], (1, 0.5)])
def test_what_readers_could_differ_on_is_never_written(value: object) -> None:
    with pytest.raises(AssertionError):
        stamp({"kind": "noted", "value": value}, 1, "aa-1", 0, 0)


@pytest.mark.parametrize("key", ["v", "seq", "id", "ts", "more", "sum"])
def test_a_fact_cannot_bring_a_key_of_the_stores_own(key: str) -> None:
    with pytest.raises(AssertionError):
        stamp({"kind": "noted", key: 1}, 1, "aa-1", 0, 0)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=60)
@given(st.lists(VALUES, max_size=4))
def test_what_is_written_is_read_back(values: list[Any]) -> None:
    written = [
        stamp({"kind": "noted", "value": value}, seq, f"aa-{seq}", 0, 0)
        for seq, value in enumerate(values, 1)
    ]

    tail = read(b"".join(data for _, data in written))

    assert tail.lines == [seen for seen, _ in written]
    assert tail.faults == []
    assert tail.cursor.seq == len(values)


def test_no_flipped_bit_goes_unnoticed() -> None:
    for place in range((len(LINE) - 1) * 8):
        damaged = bytearray(LINE[:-1])
        damaged[place // 8] ^= 1 << place % 8

        assert verified(bytes(damaged)) is None


def test_a_proved_line_of_a_newer_schema_is_refused() -> None:
    body = b'{"v":2,"seq":1}'
    with pytest.raises(Unreadable, match="schema 2"):
        read(body[:-1] + b',"sum":"%08x"}\n' % zlib.crc32(body))


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"\n", "the line is empty"),
        (b"\0\0\0\0\n", "it holds NUL bytes"),
        (line(2)[:-1] + line(3), "two objects are glued together"),
        (b"[1]\n", "it is not an object"),
        (b'{"v":1,"seq":2}\n', "its checksum does not fit"),
        (b'{"v":1,"seq"\n', "it is not JSON"),
        (b"\xff\xfe\n", "it is not JSON"),
        (line(1), "its sequence number stood before"),
    ],
)
def test_a_bad_line_is_set_aside_with_its_number_and_why(bad: bytes, why: str) -> None:
    tail = read(line(1) + bad + line(4))

    assert seqs(tail) == [1, 4]
    assert LineFault("journal.jsonl", 2, why) in tail.faults
    assert tail.cursor.line == 2 + bad.count(b"\n")


def test_a_line_behind_nul_bytes_is_still_used() -> None:
    tail = read(line(1) + b"\0" * 4096 + line(2))

    assert seqs(tail) == [1, 2]
    assert tail.faults == [LineFault("journal.jsonl", 2, "NUL bytes stand before the line")]


def test_a_line_of_another_session_is_set_aside_and_takes_no_number() -> None:
    foreign = stamp({"kind": "noted"}, 2, "bb-2", 0, 0)[1]

    tail = read(line(1) + foreign + line(2, more=1) + foreign + line(3))

    assert seqs(tail) == [1, 2, 3]
    assert tail.faults == [
        LineFault("journal.jsonl", number, "it is of another session") for number in (2, 4)
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"seq": 2**62},
        {"seq": 0},
        {"seq": True},
        {"ts": None},
        {"id": 7},
        {"kind": []},
        {"more": 0},
        {"more": "x"},
    ],
)
def test_a_line_whose_own_keys_make_no_sense_is_set_aside(fields: dict[str, Any]) -> None:
    body = json.dumps({"v": 1, "seq": 2, "id": "aa-2", "ts": 1, "kind": "noted", **fields}).encode()
    proved = body[:-1] + b',"sum":"%08x"}\n' % zlib.crc32(body)

    tail = read(line(1) + proved + line(3))

    assert seqs(tail) == [1, 3]
    assert [fault.line for fault in tail.faults] == [2]


def test_the_numbers_of_a_bad_line_are_not_given_out_again() -> None:
    glued = line(2)[:-1] + line(3)

    assert read(line(1) + glued).cursor.seq == 3
    assert read(line(1) + b"garbage\n").cursor.seq == 2


def test_a_gap_without_a_trace_is_named() -> None:
    tail = read(line(5) + line(9))

    assert [fault.why for fault in tail.faults] == [
        "4 facts before it are missing",
        "3 facts before it are missing",
    ]
    assert tail.missing_before == 4


def test_a_torn_line_stays_unread() -> None:
    tail = read(line(1) + line(2)[:-1])

    assert tail.cursor == Cursor(len(line(1)), 1, 1)
    assert tail.faults == []


def test_a_write_whose_end_is_missing_stays_unread_as_a_whole() -> None:
    tail = read(line(1) + line(2, more=2) + line(3, more=1))

    assert tail.cursor == Cursor(len(line(1)), 1, 1)
    assert seqs(tail) == [1]


def test_a_write_that_was_cut_short_is_dropped_when_the_next_one_stands_behind_it() -> None:
    tail = read(line(1) + line(2, more=1) + line(3)[:9] + b"\n" + line(2, name="b") + line(3))

    assert seqs(tail) == [1, 2, 3]
    assert tail.lines[1]["name"] == "b"
    assert [(fault.line, fault.why) for fault in tail.faults] == [
        (2, "its write was cut short"),
        (3, "it is not JSON"),
    ]


@pytest.mark.parametrize("damaged", [2, 3, 4])
def test_a_damaged_line_in_a_whole_write_costs_only_itself(damaged: int) -> None:
    written = [line(1), line(2, more=2), line(3, more=1), line(4)]
    written[damaged - 1] = written[damaged - 1].replace(b"noted", b"nated")

    for after in ([], [line(5)]):
        tail = read(b"".join(written + after))

        assert seqs(tail) == [seq for seq in range(1, 5 + len(after)) if seq != damaged]
        assert [fault.line for fault in tail.faults] == [damaged]
