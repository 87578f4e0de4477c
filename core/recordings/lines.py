"""The rows of a recording: one JSON object a line, and what is unreadable set aside."""

import errno
import json
import os
import stat
from collections.abc import Callable, Iterator
from typing import BinaryIO

from core.events import Json
from core.recordings.contract import Fault, Loads, Row
from core.recordings.long_text import LONG_LINE_BYTES, LongLine, Unusable, pieces

LINE_BYTES_MAX = 48 * 1024 * 1024  # Below the frame limit, so that every readable row can be sent.
_BUFFER_BYTES = 256 * 1024
_SHORTER = "the file became shorter while it was read"


def rows(
    path: str,
    faults: list[Fault],
    loads: Loads = json.loads,
    *,
    bounded: bool = False,
    is_idle: Callable[[bytes], object] | None = None,
) -> Iterator[tuple[int, Row]]:
    """Read the file line by line; what cannot be used goes to `faults`.

    Lines that are `is_idle` are left out unparsed.

    With `bounded` a line above LONG_LINE_BYTES is never held, and its long texts come as LongText;
    without it a line above LINE_BYTES_MAX is a fault. Raises OSError when the file cannot be read.
    """
    limit = LONG_LINE_BYTES if bounded else LINE_BYTES_MAX
    with open_recording(path) as file:
        size = os.fstat(file.fileno()).st_size
        readline = file.readline
        number = 0
        while line := readline(limit + 1):
            number += 1
            if is_idle is not None and is_idle(line):
                continue
            row: Row | str | None
            if len(line) <= limit:
                row = parse(line, loads)
            elif bounded:
                row = parse_long(line, readline, loads)
            else:
                _skip_line(line, readline)
                row = f"longer than {LINE_BYTES_MAX} bytes"
            if type(row) is dict:
                yield number, row
            elif isinstance(row, str):
                faults.append(Fault(number, row))
        if file.tell() < size:
            faults.append(Fault(number, _SHORTER))


def open_recording(path: str) -> BinaryIO:
    """Open a regular file for reading; raise OSError for anything else."""
    return open(path, "rb", buffering=_BUFFER_BYTES, opener=open_regular)


def open_regular(path: str, flags: int) -> int:
    """Open a regular file; raise OSError for anything else, without waiting for it."""
    # O_NONBLOCK: a pipe of that name must not hang us.
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "Not a regular file", path)


def parse(line: bytes, loads: Loads = json.loads) -> Row | str | None:
    """Give the row, why there is none, or None for an empty line."""
    if loads is json.loads:
        return _parse_plainly(line)
    try:
        value = loads(line)
    except (ValueError, RecursionError):
        return _parse_plainly(line)  # A stricter parser may refuse what JavaScript writes.
    return value if type(value) is dict else _not_an_object(value)


def parse_long(
    start: bytes, readline: Callable[[int], bytes], loads: Loads = json.loads
) -> Row | str | None:
    """Read on to the end of the line that begins with `start`; give its row, or why there is none.

    Long texts come as LongText; the line is never held.
    """
    line = LongLine(loads)
    coming = pieces(start, readline)
    try:
        for piece in coming:
            line.feed(piece)
        row = parse(line.rest(), loads)
    except UnicodeDecodeError:
        row = "is not UTF-8"
    except Unusable as why:
        row = str(why)
    for _ in coming:
        pass
    return line.restored(row) if isinstance(row, dict) else row


def _skip_line(part: bytes, readline: Callable[[int], bytes]) -> None:
    while part and not part.endswith(b"\n"):
        part = readline(_BUFFER_BYTES)


def _parse_plainly(line: bytes) -> Row | str | None:
    """Parse as the standard library does; this also finds out why a line is unusable."""
    if b"\0" in line:
        return "holds NUL bytes"
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "is not UTF-8"
    if not text.strip():
        return None
    try:
        value = json.loads(text)
        # Half a surrogate pair cannot be sent as UTF-8; the row is used without it.
        if "\\ud" in text or "\\uD" in text:
            value = _whole_characters(value)
    except RecursionError:
        return "is nested too deep"
    except ValueError as error:
        return _why_unparsable(line, str(error))
    return value if isinstance(value, dict) else _not_an_object(value)


def _why_unparsable(line: bytes, error: str) -> str:
    if error.startswith("Extra data"):
        return "holds two records on one line"
    if not line.endswith(b"\n"):
        return "is cut off"
    return "holds a number of too many digits" if error.startswith("Exceeds") else "is not JSON"


def _not_an_object(value: Json) -> str:
    return f"is {_json_name(value)}, not an object"


def _json_name(value: Json) -> str:
    if isinstance(value, list):
        return "a JSON array"
    return "a JSON string" if isinstance(value, str) else "a bare JSON value"


def _whole_characters(value: Json) -> Json:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole_characters(item) for item in value]
    if isinstance(value, dict):
        return {_whole_characters(key): _whole_characters(item) for key, item in value.items()}
    return value
