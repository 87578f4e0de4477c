"""Following a file of JSON lines: what is new, what waits, and what begins anew."""

import json
import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from core.recordings import tail as tail_module
from core.recordings.contract import Fault, Row
from core.recordings.tail import Tail


class Writer:
    """A file that grows, and a tail that follows it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()
        self.tail = Tail(str(path), orjson.loads)

    def append(self, data: bytes) -> None:
        with open(self.path, "ab") as file:
            file.write(data)

    def read(self) -> list[tuple[int, Row]]:
        return list(self.tail.read())


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(tmp_path / "s.jsonl")


def test_each_row_is_given_once_with_its_line(writer: Writer) -> None:
    assert writer.read() == []
    writer.append(b'{"a": 1}\n\n{"a": 2}\n')
    assert writer.read() == [(1, {"a": 1}), (3, {"a": 2})]
    assert writer.read() == []
    writer.append(b'{"a": 3}\n')
    assert writer.read() == [(4, {"a": 3})]
    assert not writer.tail.restarted


def test_a_line_waits_until_it_is_whole(writer: Writer) -> None:
    line = json.dumps({"text": 'a "}" 读 \\ }'}, ensure_ascii=False).encode() + b"\n"
    given = []
    for at in range(len(line)):
        writer.append(line[at : at + 1])
        given += writer.read()

    assert given == [(1, json.loads(line))]
    assert writer.tail.faults == []
    writer.append(b"{}\n")
    assert writer.read() == [(2, {})]


def test_a_row_without_its_newline_counts_as_one_line(writer: Writer) -> None:
    writer.append(b'{"a": 1}')
    assert writer.read() == [(1, {"a": 1})]
    writer.append(b" \n{}\n")
    assert writer.read() == [(2, {})]
    assert writer.tail.faults == []


def test_a_second_record_on_a_line_is_a_fault(writer: Writer) -> None:
    writer.append(b'{"a": 1}')
    writer.read()
    writer.append(b'{"a": 2}\n{"a": 3}\n')

    assert writer.read() == [(2, {"a": 3})]
    assert writer.tail.faults == [Fault(1, "holds two records on one line")]


def test_unusable_lines_are_told_of_once(writer: Writer) -> None:
    writer.append(b"nonsense\n[]\n{}\n")
    assert writer.read() == [(3, {})]
    writer.append(b"\0\n")
    assert writer.read() == []
    assert writer.tail.faults == [
        Fault(1, "is not JSON"),
        Fault(2, "is a JSON array, not an object"),
        Fault(4, "holds NUL bytes"),
    ]


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b'{"b": 1}\n' * 9)
    os.replace(other, path)


def cut_short(path: Path) -> None:
    path.write_bytes(b'{"b": 1}\n')


def written_anew(path: Path) -> None:
    with open(path, "r+b") as file:
        file.write(b'{"b": 1}\n' * 9)


@pytest.mark.parametrize("change", [replaced, cut_short, written_anew])
@pytest.mark.parametrize("rest", [b"", b'{"unfinish'])
def test_a_file_with_another_content_begins_anew(writer: Writer, change: Any, rest: bytes) -> None:
    writer.append(b'nonsense\n{"a": 1}\n{"a": 2}\n' + rest)
    writer.read()

    change(writer.path)
    rows = writer.tail.read()

    assert writer.tail.restarted
    assert next(rows) == (1, {"b": 1})
    assert all(row == {"b": 1} for _, row in rows)
    assert writer.tail.faults == []
    assert writer.read() == []
    assert not writer.tail.restarted


def test_a_reader_may_stop_at_a_row_and_go_on(writer: Writer) -> None:
    writer.append(b'{"a": 1}\n{"a": 2}\n')
    assert next(writer.tail.read()) == (1, {"a": 1})
    assert next(writer.tail.read()) == (2, {"a": 2})
    assert writer.read() == []


def test_a_file_that_is_gone_raises_and_one_that_comes_back_begins_anew(writer: Writer) -> None:
    writer.append(b'{"a": 1}\n')
    writer.read()
    kept = writer.path.rename(writer.path.with_name("kept"))
    with pytest.raises(FileNotFoundError):
        writer.tail.read()
    kept.with_name("other").write_bytes(b'{"c": 1}\n{"c": 2}\n')
    kept.with_name("other").rename(writer.path)

    assert writer.read() == [(1, {"c": 1}), (2, {"c": 2})]
    assert writer.tail.restarted


def test_nothing_is_open_between_two_reads(writer: Writer) -> None:
    before = os.listdir("/dev/fd")
    writer.append(b'{"a": 1}\n')
    unread = writer.tail.read()
    writer.read()

    assert os.listdir("/dev/fd") == before
    assert list(unread) == []


def test_only_what_is_new_is_read(writer: Writer) -> None:
    old = b'{"a": "%s"}\n' % (b"x" * 1_000_000)
    writer.append(old * 3)
    assert len(writer.read()) == 3
    # What was read before may not be looked at again, so it may become anything.
    with open(writer.path, "r+b") as file:
        file.write(b"\0" * 2_000_000)
    writer.append(b'{"a": 1}\n')

    assert writer.read() == [(4, {"a": 1})]
    assert not writer.tail.restarted


def test_a_long_line_is_measured_when_its_end_has_come(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, size in (("LONG_LINE_BYTES", 100_000), ("HELD_BYTES", 50_000)):
        monkeypatch.setattr(tail_module, name, size)
    writer.append(b'{"a": 1}\n{"text": "')
    assert writer.read() == [(1, {"a": 1})]
    for _ in range(5):
        writer.append(b"x" * 70_000)
        assert writer.read() == []
    writer.append(b'"}\n{"b": 1}\n')

    (line, long), after = writer.read()

    assert (line, repr(long["text"])) == (2, "LongText(350000, 350000)")
    assert after == (3, {"b": 1})
    assert writer.tail.faults == []
