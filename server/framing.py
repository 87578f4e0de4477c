"""Cuts a byte stream into the frames of the LSP base protocol."""

from collections.abc import Iterator
from typing import NamedTuple

FRAME_BYTES_MAX = 64 * 1024 * 1024  # A longer frame is drained and refused.
LENGTH_BYTES_MAX = 1024 * 1024 * 1024  # Nobody means a longer one: the stream is broken.
HEADER_BYTES_MAX = 8192

_USUAL = b"Content-Length: "
_USUAL_END_WITHIN = len(_USUAL) + 20
_NAME_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_")
_INCOMPLETE = (-1, 0)


class BrokenStream(Exception):
    """No further frame can be found; the message says why and quotes nothing of the stream."""


class Oversized(NamedTuple):
    """Stands for a frame above FRAME_BYTES_MAX, which was drained."""

    length_bytes: int


class FrameCutter:
    """Takes the stream in chunks as they come and gives the bodies of the frames in them."""

    __slots__ = ("_header", "_length", "_missing", "_parts")

    def __init__(self) -> None:
        self._header = b""  # The beginning of a header whose end has not come yet.
        self._length = 0  # Of the frame whose body is coming, in bytes.
        self._missing = 0  # What has not come of it.
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes | Oversized]:
        """Give the frames that this chunk completes, in order.

        Raises BrokenStream after the last good one; the cutter is of no use from then on.
        """
        at = 0
        if self._missing:
            at = min(self._missing, len(chunk))
            self._keep(chunk[:at])
            if self._missing:
                return
            yield self._completed()
        elif self._header:
            chunk, self._header = self._header + chunk, b""
        while at < len(chunk):
            start, length = _header_at(chunk, at)
            if start < 0:
                self._header = chunk[at:]
                return
            at = start + length
            if at <= len(chunk) and length <= FRAME_BYTES_MAX:
                yield chunk[start:at]
                continue
            self._length = self._missing = length
            self._keep(chunk[start:at])
            if self._missing:
                return
            yield self._completed()

    def _keep(self, part: bytes) -> None:
        self._missing -= len(part)
        if self._length <= FRAME_BYTES_MAX:
            self._parts.append(part)

    def _completed(self) -> bytes | Oversized:
        if self._length > FRAME_BYTES_MAX:
            return Oversized(self._length)
        body = b"".join(self._parts)
        self._parts.clear()
        return body


def _header_at(data: bytes, at: int) -> tuple[int, int]:
    """Where the body starts and its length in bytes; (-1, 0) while the header is incomplete."""
    if data.startswith(_USUAL, at):
        end = data.find(b"\r\n\r\n", at, at + _USUAL_END_WITHIN)
        if end > 0 and (digits := data[at + len(_USUAL) : end]).isdigit():
            return end + 4, _checked_length(digits)
    return _any_header_at(data, at)


def _any_header_at(data: bytes, at: int) -> tuple[int, int]:
    """The same for every spelling: any case, any fields, bare line feeds, blank lines before."""
    limit = at + HEADER_BYTES_MAX
    length: int | None = None
    fields = 0
    while (end := data.find(b"\n", at, limit)) >= 0:
        line = data[at:end].strip()
        at = end + 1
        if line:
            fields += 1
            length = _length_after(line, length)
        elif length is not None:
            return at, length
        elif fields:
            raise BrokenStream("a header has no Content-Length")
    if len(data) >= limit:
        raise BrokenStream(f"a header is longer than {HEADER_BYTES_MAX} bytes")
    return _INCOMPLETE


def _length_after(line: bytes, length: int | None) -> int | None:
    """The body's length as known after one header line."""
    name, colon, value = line.partition(b":")
    name = name.strip().lower()
    if not colon or not name or not _NAME_BYTES.issuperset(name):
        raise BrokenStream("a header line is not `name: value`")
    if name != b"content-length":
        return length
    found = _checked_length(value.strip())
    if length not in (None, found):
        raise BrokenStream("a header has two different lengths")
    return found


def _checked_length(digits: bytes) -> int:
    if not digits.isdigit():
        raise BrokenStream("Content-Length is no number of bytes")
    digits = digits.lstrip(b"0") or b"0"  # int() refuses a text of thousands of digits.
    if len(digits) > len(str(LENGTH_BYTES_MAX)) or int(digits) > LENGTH_BYTES_MAX:
        raise BrokenStream(f"Content-Length is above {LENGTH_BYTES_MAX} bytes")
    return int(digits)
