"""The row of a line that is too long to be held: its long texts are measured and not kept."""

import json
import os
import re
from collections.abc import Callable, Iterator

from core.events import Json
from core.recordings.contract import Loads
from core.units import LongText, json_units, utf16_units

LONG_LINE_BYTES = 8 * 1024 * 1024  # A longer line is read piece by piece.
CHUNK_BYTES = 256 * 1024
TEXT_BYTES_MAX = 64 * 1024  # A longer text is not kept, ...
CROWDED_TEXT_BYTES_MAX = 1024  # ... nor one of this length once half the room below is taken.
REST_BYTES_MAX = 4 * 1024 * 1024  # What may be left of the line.

# Possessive, so that a text of any length is scanned once; it ends before an escape that is cut.
_BODY = re.compile(rb'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
_ESCAPE_BYTES_MAX = len(rb"\u0000")
_FIRST_BYTES = ((0xF0, 4), (0xE0, 3), (0xC0, 2))  # What a character of so many bytes begins with.


class Unusable(Exception):
    """No row can be had from this line; the message says why."""


class _Length:
    """The length of a text that comes in pieces."""

    __slots__ = ("_half", "_loads", "escaped_units", "units")

    def __init__(self, loads: Loads) -> None:
        self.units = self.escaped_units = 0
        self._half = ""  # The first half of a surrogate pair, whose second may come.
        self._loads = loads

    def add(self, body: bytes) -> None:
        """Measure a piece that cuts neither an escape nor a character through."""
        if not body:
            return
        text = _decoded(body, self._loads)
        if b"\\" not in body:
            self._count(self._half)
            self._half = ""
            units = utf16_units(text)
            self.units += units
            self.escaped_units += units  # Nothing in it needs an escape.
            return
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        self._count(text[: len(text) - len(self._half)])

    def text(self) -> LongText:
        """End the text."""
        self._count(self._half)
        return LongText(self.units, self.escaped_units)

    def _count(self, text: str) -> None:
        self.units += utf16_units(text)
        self.escaped_units += json_units(text) - len('""')


class LongLine:
    """Takes the pieces of one line and puts a mark in the place of each long text."""

    def __init__(self, loads: Loads) -> None:
        """Begin a line; `loads` is the parser of its texts."""
        self._rest = bytearray()  # The line with marks for texts.
        self._texts: dict[str, LongText] = {}
        self._mark = os.urandom(12).hex()  # No line can hold it by chance, nor on purpose.
        self._loads = loads
        self._waiting = b""  # Of a text whose end has not come.
        self._is_in_text = False
        self._length: _Length | None = None  # Of the text that is being measured.

    def feed(self, piece: bytes) -> None:
        """Take the next piece; raise Unusable, or UnicodeDecodeError inside a long text."""
        if b"\0" in piece:
            raise Unusable("holds NUL bytes")
        data = self._waiting + piece if self._waiting else piece
        self._waiting = b""
        at = 0
        while at < len(data):
            if self._is_in_text:
                at = self._read_text(data, at)
                if self._is_in_text:
                    self._waiting = data[at:]
                    return
            else:
                quote = data.find(b'"', at)
                end = quote + 1 or len(data)
                self._keep(data[at:end])
                self._is_in_text = quote >= 0
                at = end

    def rest(self) -> bytes:
        """Give the line as it was up to now, with marks for its long texts."""
        return bytes(self._rest) + self._waiting

    def restored(self, value: Json) -> Json:
        """Put the measured texts in the place of their marks in what `rest()` was parsed to."""
        top = [value]
        waiting: list[Json] = [top]
        while waiting:
            item = waiting.pop()
            for key in [name for name in item if name in self._texts] if _is_object(item) else ():
                item[self._texts[key]] = item.pop(key)
            for key, inner in list(item.items() if _is_object(item) else enumerate(item)):
                if isinstance(inner, str):
                    item[key] = self._texts.get(inner, inner)
                elif isinstance(inner, (dict, list)):
                    waiting.append(inner)
        return top[0]

    def _read_text(self, data: bytes, at: int) -> int:
        """Read a text from here on; give where it was read up to."""
        end = _body_end(data, at)
        is_closed = data[end : end + 1] == b'"'
        if not is_closed and len(data) - end >= _ESCAPE_BYTES_MAX:
            raise Unusable("is not JSON")
        if self._length is None and end - at > self._text_bytes_max():
            self._length = _Length(self._loads)
        if self._length is None:
            if not is_closed:
                return at
            self._keep(data[at : end + 1])
        else:
            whole = end if is_closed else _whole_end(data, at, end)
            self._length.add(data[at:whole])
            if not is_closed:
                return whole
            self._end_long_text(self._length)
        self._is_in_text = False
        return end + 1

    def _end_long_text(self, length: _Length) -> None:
        mark = f"{self._mark}{len(self._texts)}"
        self._texts[mark] = length.text()
        self._length = None
        self._keep(mark.encode() + b'"')

    def _text_bytes_max(self) -> int:
        is_crowded = len(self._rest) > REST_BYTES_MAX // 2
        return CROWDED_TEXT_BYTES_MAX if is_crowded else TEXT_BYTES_MAX

    def _keep(self, part: bytes) -> None:
        if len(self._rest) + len(part) > REST_BYTES_MAX:
            raise Unusable(f"longer than {REST_BYTES_MAX} bytes even without its long texts")
        self._rest += part


def pieces(
    start: bytes, readline: Callable[[int], bytes], chunk_bytes: int = CHUNK_BYTES
) -> Iterator[bytes]:
    """Give the line that begins with `start` in pieces, up to and with its newline."""
    for at in range(0, len(start), chunk_bytes):
        yield start[at : at + chunk_bytes]
    part = start
    while not part.endswith(b"\n") and (part := readline(chunk_bytes)):
        yield part


def _body_end(data: bytes, at: int) -> int:
    """Give where the text ends that goes on at `at`, or what of it is here."""
    quote = data.find(b'"', at)
    end = quote if quote >= 0 else len(data)
    if data.find(b"\\", at, end) < 0:
        return end
    found = _BODY.match(data, at)
    assert found is not None  # It matches nothing, too.
    return found.end()


def _decoded(body: bytes, loads: Loads) -> str:
    try:
        value = loads(b'"%s"' % body)
    except ValueError:  # Perhaps the parser wants no half of a surrogate pair.
        try:
            value = json.loads(f'"{body.decode()}"')
        except json.JSONDecodeError:
            raise Unusable("is not JSON") from None
    assert isinstance(value, str)
    return value


def _whole_end(data: bytes, start: int, end: int) -> int:
    """Give where the last character that is whole in data[start:end] ends."""
    for at in range(end - 1, max(start, end - 4) - 1, -1):
        for first, length in _FIRST_BYTES:
            if data[at] >= first:
                return at if at + length > end else end
        if data[at] < 0x80:
            break
    return end


def _is_object(value: Json) -> bool:
    return isinstance(value, dict)
