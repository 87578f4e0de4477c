"""Lines of a recording: what is used, what is set aside, and what a file does while it is read."""

import json
import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from core.recordings import lines as lines_module
from core.recordings.contract import Fault, Loads
from core.recordings.lines import rows

PARSERS = pytest.mark.parametrize("loads", [json.loads, orjson.loads], ids=["json", "orjson"])
SHORTER = "the file became shorter while it was read"


def read(
    path: Path, loads: Loads = json.loads, *, bounded: bool = False
) -> tuple[list[Any], list[Fault]]:
    faults: list[Fault] = []
    return list(rows(str(path), faults, loads, bounded=bounded)), faults


@PARSERS
def test_each_unusable_line_is_named_and_the_rest_is_used(tmp_path: Path, loads: Loads) -> None:
    path = tmp_path / "s.jsonl"
    why = {
        b"\0" * 20: "holds NUL bytes",
        b'{"a": "\0"}': "holds NUL bytes",
        b'"text"': "is a JSON string, not an object",
        b'{"a": 1}{"a": 2}': "holds two records on one line",
        b"[1]": "is a JSON array, not an object",
        b"null": "is a bare JSON value, not an object",
        b"{not json}": "is not JSON",
        b'{"a": "\xff"}': "is not UTF-8",
        b'{"a": "\xed\xa0\x80"}': "is not UTF-8",
        b'{"a": ' + b"[" * 100_000: "is nested too deep",
        b'{"a": ' + b"9" * 5_000 + b"}": "holds a number of too many digits",
    }
    path.write_bytes(b"\n".join([*why, b"", b"  \r", b'{"good": 1}', b'{"a": "cut']))

    found, faults = read(path, loads)

    assert [row for _, row in found if "good" in row] == [{"good": 1}]
    expected = [Fault(line, reason) for line, reason in enumerate(why.values(), 1)]
    if loads is orjson.loads:  # To it such a number is as JavaScript has it: infinite.
        expected = [fault for fault in expected if fault in faults or "digits" not in fault.why]
    assert faults == [*expected, Fault(len(why) + 4, "is cut off")]


@PARSERS
@pytest.mark.parametrize(
    ("line", "row"),
    [
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b'{"a": "\\ud83d", "b": "\\ud83d\\ude00"}', {"a": "�", "b": "😀"}),
        (b'{"a": -Infinity}', {"a": float("-inf")}),
        (b'{"a": ' + b"[" * 300 + b"]" * 300 + b"}", None),
        (b'{"a": 1}\r', {"a": 1}),
    ],
    ids=["BOM", "duplicate key", "surrogates", "infinite", "nested", "CRLF"],
)
def test_what_is_odd_but_has_a_meaning_is_used(
    tmp_path: Path, loads: Loads, line: bytes, row: Any
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(line + b"\n")

    found, faults = read(path, loads)

    assert faults == []
    assert found == [(1, row if row is not None else json.loads(line))]


def test_a_huge_whole_number_comes_as_its_parser_gives_it(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"a": 123456789012345678901234567890}\n')

    assert read(path, json.loads)[0] == [(1, {"a": 123456789012345678901234567890})]
    assert read(path, orjson.loads)[0] == [(1, {"a": 123456789012345678901234567890.0})]


def test_a_line_at_the_limit_is_used_and_one_past_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines_module, "LINE_BYTES_MAX", 2_000_000)
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"a":1}'.ljust(1_999_999) + b"\n" + b'{"a":2}'.ljust(2_000_000) + b"\n{}\n")

    found, faults = read(path)

    assert found == [(1, {"a": 1}), (3, {})]
    assert faults == [Fault(2, "longer than 2000000 bytes")]


def test_a_file_that_shrinks_while_it_is_read_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"a": "%s"}\n' % (b"x" * 990) * 5_000)
    faults: list[Fault] = []
    coming = rows(str(path), faults)
    next(coming)

    os.truncate(path, 500)

    number = 1 + sum(1 for _ in coming)
    assert 1 < number < 5_000
    assert faults[-1].why == SHORTER
    assert all(fault.why in ("is cut off", SHORTER) for fault in faults)


def test_a_file_that_grows_is_read_to_its_new_end(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"a": 1}\n')
    faults: list[Fault] = []
    coming = rows(str(path), faults)
    next(coming)
    with open(path, "ab") as file:
        file.write(b'{"a": 2}\n')

    assert list(coming) == [(2, {"a": 2})]
    assert faults == []


def test_a_file_that_is_replaced_is_read_as_it_was(tmp_path: Path) -> None:
    path, other = tmp_path / "s.jsonl", tmp_path / "other"
    path.write_bytes(b'{"a": 1}\n' * 3)
    other.write_bytes(b'{"b": 1}\n')
    faults: list[Fault] = []
    coming = rows(str(path), faults)
    next(coming)
    os.replace(other, path)

    assert [row for _, row in coming] == [{"a": 1}] * 2
    assert faults == []


def test_what_is_no_file_raises_and_never_waits(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("missing", ".", "pipe"):
        with pytest.raises(OSError, match=r"No such file|Is a directory|Not a regular file"):
            read(tmp_path / name)


@PARSERS
def test_a_bounded_read_gives_the_same_rows_and_the_length_of_long_texts(
    tmp_path: Path, loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines_module, "LONG_LINE_BYTES", 200_000)
    path = tmp_path / "s.jsonl"
    long = '读"\\😀' * 30_000
    lines = [
        {"n": 1, "content": [{"text": long, "kept": "short"}, 2.5, None]},
        {"n": 2},
        {"n": 3, "data": "x" * 300_000, "data2": long},
    ]
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines))

    found, faults = read(path, loads, bounded=True)

    assert faults == []
    assert [row["n"] for _, row in found] == [1, 2, 3]
    measured = found[0][1]["content"][0].pop("text")
    assert found[0][1] == {"n": 1, "content": [{"kept": "short"}, 2.5, None]}
    assert (measured.units, measured.escaped_units) == (150_000, 210_000)
    assert found[2][1]["data"].units == 300_000
    assert found[2][1]["data2"].units == 5 * 30_000
