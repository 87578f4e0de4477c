"""One journal line: how it is written, how it is proved, and how a bad one is passed over.

The format to the byte is in docs/state-format.md.
"""

import json
import zlib
from typing import Any, NamedTuple, TypeAlias

from core.errors import Unreadable

Line: TypeAlias = dict[str, Any]

SCHEMA = 1
INTEGER_LIMIT = 2**63
SEQ_LIMIT = 2**62  # No journal comes near; whatever follows on a number stays an integer.
OWN_KEYS = frozenset({"v", "seq", "id", "ts", "more", "sum"})  # No fact may bring these.
_SUM = b',"sum":"%08x"}'
_SUM_BYTES = len(_SUM % 0)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_DECODER = json.JSONDecoder()
_STAMPED = (str, str, int, int, int)  # Kinds of id, kind, seq, ts, more.


class LineFault(NamedTuple):
    """A line that was set aside (it stays in the file), or a file that cannot be used."""

    file: str  # Its name, without the folder.
    line: int  # Counted from 1; 0 means the file as a whole.
    why: str


class Cursor(NamedTuple):
    """How far a journal was read."""

    offset: int = 0  # Bytes.
    seq: int = 0  # The highest sequence number that is taken.
    line: int = 0  # Lines before the offset.


class Tail(NamedTuple):
    """What stood after a cursor; an unfinished write at the end stays unread."""

    lines: list[Line]
    cursor: Cursor
    faults: list[LineFault]
    missing_before: int  # Facts lost without a trace before the first of `lines`.


def encode(value: object) -> bytes:
    """Give compact JSON in UTF-8; a lone surrogate becomes U+FFFD.

    The value holds no float and no integer of 64 bits or more: that is asserted.
    """
    is_plain(value)
    return encode_checked(value)


def encode_checked(value: object) -> bytes:
    """Do the same for values that were checked before, such as a fold of lines."""
    text = _ENCODER.encode(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def is_plain(value: object) -> bool:
    """Assert that both JSON readers will read this alike; say whether it comes back equal."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        assert -INTEGER_LIMIT < value < INTEGER_LIMIT, "integer too large"  # type: ignore[operator]
        return True
    plain = True
    if isinstance(value, dict):
        for key, item in value.items():
            assert type(key) is str, "key is no string"
            plain = is_plain(item) and plain
        return plain
    assert isinstance(value, list | tuple), f"no JSON value: {kind.__name__}"
    for item in value:
        plain = is_plain(item) and plain
    return plain and kind is list  # A tuple comes back as a list.


def stamp(fact: Line, seq: int, fact_id: str, ts: int, more: int) -> tuple[Line, bytes]:
    """Make the journal line of a fact: as the reader will see it, and as bytes.

    `more` counts the lines of the same write that follow; a write is taken whole or not at all.
    """
    assert type(fact.get("kind")) is str, "a fact has a kind"
    assert not OWN_KEYS & fact.keys(), "a fact brings a key of the store's own"
    plain = is_plain(fact)
    line: Line = {"v": SCHEMA, "seq": seq, "id": fact_id, "ts": ts}
    if more:
        line["more"] = more
    line.update(fact)
    body = encode_checked(line)
    if not plain or b"\xef\xbf\xbd" in body:  # What was replaced must be seen by us as by others.
        line = json.loads(body)
    return line, body[:-1] + _SUM % zlib.crc32(body) + b"\n"


def verified(raw: bytes) -> Line | None:
    """Read one line without its newline; None when it does not prove itself.

    Raises Unreadable for a proved line of a newer schema.
    """
    body = _proved(raw)
    try:
        return None if body is None else _known(_DECODER.decode(body.decode()))
    except (ValueError, RecursionError):
        return None


def newer_schema(version: int) -> Unreadable:
    """Make the refusal of state that a later version wrote."""
    return Unreadable(
        f"state of schema {version}, this version reads up to {SCHEMA}",
        hint="Upgrade turnkeeper; the files were left untouched.",
    )


def why_bad(raw: bytes) -> str:
    """Say what is wrong with a line, in words that hold nothing of its text."""
    if not raw:
        return "the line is empty"
    if b"\0" in raw:
        return "it holds NUL bytes"
    try:
        text = raw.decode()
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return "it is not JSON"
    if text[end:].lstrip().startswith("{"):
        return "two objects are glued together"
    if text[end:].strip():
        return "it is not JSON"
    return "its checksum does not fit" if type(value) is dict else "it is not an object"


def read_lines(data: bytes, start: Cursor, file: str, owner: str) -> Tail:
    """Read whole lines that begin at the cursor; bad ones are set aside and named.

    So are those whose id does not begin with `owner`: they are of another journal.
    """
    reader = _Reader(start, file, owner)
    raw_lines = data.split(b"\n")[:-1]
    for raw, line in zip(raw_lines, _all_verified(raw_lines), strict=True):
        reader.take(raw, line)
    return reader.finish()


class _Waiting(NamedTuple):
    """A line of a write whose last line has not been seen yet."""

    number: int
    unread: int
    line: Line


class _Reader:
    """Follows the sequence numbers through good, bad and unfinished writes."""

    __slots__ = (
        *("batch", "batch_faults", "batch_start", "faults", "file", "lines"),
        *("missing_before", "number", "offset", "owner", "seq", "unread"),
    )

    def __init__(self, start: Cursor, file: str, owner: str) -> None:
        self.offset, self.seq, self.number = start
        self.file = file
        self.owner = owner
        self.unread = 0  # Numbers that the bad lines since the last good one may have used.
        self.lines: list[Line] = []
        self.faults: list[LineFault] = []
        self.missing_before = 0
        self.batch: list[_Waiting] = []
        self.batch_start = start
        self.batch_faults = 0

    def take(self, raw: bytes, line: Line | None) -> None:
        self.number += 1
        if line is None:
            self._fault(self.number, why_bad(raw))
            self.unread += max(1, raw.count(b'{"v":'))
        elif not line["id"].startswith(self.owner):
            self._fault(self.number, "it is of another session")  # And takes no number of ours.
        else:
            if raw[0] == 0:
                self._fault(self.number, "NUL bytes stand before the line")
            if self.batch or "more" in line:
                self._take_of_batch(line)
            elif line["seq"] == self.seq + 1 and not self.unread:
                self.lines.append(line)
                self.seq += 1
            else:
                self._deliver(_Waiting(self.number, self.unread, line))
                self.unread = 0
        self.offset += len(raw) + 1

    def finish(self) -> Tail:
        cursor = Cursor(self.offset, self.seq + self.unread, self.number)
        if self.batch:
            last = self.batch[-1].line
            if last["more"] > self.unread:  # The rest was never written.
                cursor = self.batch_start
                del self.faults[self.batch_faults :]
            else:
                self._deliver_batch()
                cursor = cursor._replace(seq=self.seq + self.unread)
        return Tail(self.lines, cursor, sorted(self.faults), self.missing_before)

    def _take_of_batch(self, line: Line) -> None:
        if self.batch and line["seq"] <= self.batch[-1].line["seq"]:
            self._drop_batch()  # Its numbers are used again: it was never finished.
        elif self.batch and line["seq"] > self.batch[0].line["seq"] + self.batch[0].line["more"]:
            self._deliver_batch()  # It was whole once; a later line of it is damaged.
        if not self.batch:
            taken = Cursor(self.offset, self.seq + self.unread, self.number - 1)
            self.batch_start, self.batch_faults = taken, len(self.faults)
        self.batch.append(_Waiting(self.number, self.unread, line))
        self.unread = 0
        if "more" not in line:
            self._deliver_batch()

    def _deliver_batch(self) -> None:
        for waiting in self.batch:
            self._deliver(waiting)
        self.batch = []

    def _drop_batch(self) -> None:
        for waiting in self.batch:
            self._fault(waiting.number, "its write was cut short")
        self.unread = self.batch[0].unread
        self.batch = []

    def _deliver(self, waiting: _Waiting) -> None:
        seq = waiting.line["seq"]
        if seq <= self.seq:
            self._fault(waiting.number, "its sequence number stood before")
            return
        missing = seq - (self.seq + 1 + waiting.unread)
        if missing > 0:
            self._fault(waiting.number, f"{missing} facts before it are missing")
            if not self.lines:
                self.missing_before = missing
        self.lines.append(waiting.line)
        self.seq = seq

    def _fault(self, number: int, why: str) -> None:
        self.faults.append(LineFault(self.file, number, why))


def _all_verified(raw_lines: list[bytes]) -> list[Line | None]:
    """Read many lines at once, which takes half the time of one by one."""
    bodies = [_proved(raw.lstrip(b"\0")) or b"null" for raw in raw_lines]
    try:
        values = json.loads(b"[" + b",".join(bodies) + b"]")
    except (ValueError, RecursionError):
        return [verified(raw.lstrip(b"\0")) for raw in raw_lines]
    return [_known(value) for value in values]


def _proved(raw: bytes) -> bytes | None:
    """Give the object without its checksum when the checksum fits."""
    body = raw[:-_SUM_BYTES] + b"}"
    return body if raw.endswith(_SUM % zlib.crc32(body)) else None


def _known(value: Any) -> Line | None:
    if type(value) is not dict or type(value.get("v")) is not int:
        return None
    if value["v"] > SCHEMA:
        raise newer_schema(value["v"])
    return value if value["v"] == SCHEMA and _is_stamped(value) else None


def _is_stamped(line: Line) -> bool:
    """Say whether the store's own keys are there and of their kinds; else nobody of us wrote it."""
    try:
        seq, ts, more = line["seq"], line["ts"], line.get("more", 1)
        kinds = type(line["id"]), type(line["kind"]), type(seq), type(ts), type(more)
    except KeyError:
        return False
    return kinds == _STAMPED and 0 < seq < SEQ_LIMIT and abs(ts) < INTEGER_LIMIT and more > 0
