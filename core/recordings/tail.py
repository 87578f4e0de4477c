"""The rows of a recording that is still being written."""

import json
import os
from collections.abc import Iterator
from io import BytesIO
from typing import BinaryIO, NamedTuple

from core.recordings.contract import Fault, Loads, Row
from core.recordings.lines import open_recording, open_regular, parse, parse_long
from core.recordings.long_text import CHUNK_BYTES, LONG_LINE_BYTES

HELD_BYTES = 1024 * 1024  # What is new is read at once if it is not more than this.
_UNREAD = -1  # In the place of a time: not everything has been read.
_MARK_BYTES = (
    64  # Of what was read last; they tell a file that was written anew from one that grew.
)


class _Look(NamedTuple):
    """The file as it was when it was last looked at."""

    device: int
    inode: int
    size: int
    modified_ns: int


class Tail:
    """Follows a file of JSON lines that grows; between two reads it holds nothing open.

    A last line without a newline waits until it is a whole object. A line above LONG_LINE_BYTES is
    never held: its long texts come as LongText.
    """

    def __init__(self, path: str, loads: Loads = json.loads) -> None:
        """Begin at the start of the file, which need not be there yet."""
        self.path = path
        self.faults: list[Fault] = []  # Since the start of the file.
        self.restarted = False  # What came before this read is no longer in the file.
        self._loads = loads
        self._look: _Look | None = None
        self._begin()

    def read(self) -> Iterator[tuple[int, Row]]:
        """Give the rows that were completed since; `restarted` is right before the first comes.

        A caller may stop at any row and go on with the next read. Raises OSError when the file
        cannot be read.
        """
        if self._look == _look_of(os.stat(self.path)):
            self.restarted = False
            return iter(())
        descriptor = open_regular(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            look = _look_of(os.fstat(descriptor))
            held = _held(descriptor, look.size, self._offset - len(self._mark))
            self.restarted = self._look is not None and not self._has_grown(self._look, look, held)
            if self.restarted:
                self._begin()
                held = _held(descriptor, look.size, 0)
        finally:
            os.close(descriptor)
        self._look = look._replace(modified_ns=_UNREAD)
        return self._rows(look, held, self._offset - len(self._mark))

    def _begin(self) -> None:
        self.faults = []
        self._offset = 0  # Bytes that were read: whole lines, or a last one that was an object.
        self._mark = b""  # What stands before the offset.
        self._base = 0  # Where in the file that begins what is being read.
        self._waiting_bytes = 0  # What stands after it, without a newline.
        self._line = 0  # Number of the line that was begun last.
        self._is_line_open = False  # Its object was read, its newline had not come.

    def _has_grown(self, before: _Look, look: _Look, held: bytes) -> bool:
        is_same = (before.device, before.inode) == (look.device, look.inode)
        is_longer = look.size >= self._offset + self._waiting_bytes
        return is_same and is_longer and held.startswith(self._mark)

    def _rows(self, look: _Look, held: bytes, start: int) -> Iterator[tuple[int, Row]]:
        """Read from what is held of the file, from `start` on, or if that is not all from disk."""
        is_held = start + len(held) >= look.size
        self._base = start if is_held else 0
        with BytesIO(held) if is_held else open_recording(self.path) as file:
            if not is_held and not _is_file_of(file, look):
                return  # Replaced just now, as the next read will tell.
            try:
                if not self._is_waiting_still(file):
                    file.seek(self._offset - self._base)
                    while self._waiting_bytes == 0 and (line := file.readline(LONG_LINE_BYTES + 1)):
                        row = self._read_line(file, line)
                        if row is not None:
                            yield self._line, row
                self._look = look
            finally:
                self._mark = _bytes_before(file, self._offset - self._base)

    def _is_waiting_still(self, file: BinaryIO) -> bool:
        """Look for the end of the last line in its new bytes alone."""
        if self._waiting_bytes:
            file.seek(self._offset - self._base + self._waiting_bytes)
            while part := file.readline(CHUNK_BYTES):
                self._waiting_bytes += len(part)
                if _may_be_whole(part):
                    self._waiting_bytes = 0
                    break
        return self._waiting_bytes > 0

    def _read_line(self, file: BinaryIO, line: bytes) -> Row | None:
        """Take one line; it gives no row when it tells nothing or waits for its end."""
        row: Row | str | None
        is_ended, used = line.endswith(b"\n"), len(line)
        if used > LONG_LINE_BYTES:
            row = parse_long(line, file.readline, self._loads)
            is_ended = _bytes_before(file, file.tell()).endswith(b"\n")
            used = file.tell() + self._base - self._offset
        elif is_ended or _may_be_whole(line):
            row = parse(line, self._loads)
        else:
            row = None
        if not is_ended and type(row) is not dict:
            self._waiting_bytes = used
            return None
        self._offset += used
        if self._is_line_open and row is not None:
            row = "holds two records on one line"
        self._line += not self._is_line_open
        self._is_line_open = not is_ended
        if type(row) is dict:
            return row
        if isinstance(row, str):
            self.faults.append(Fault(self._line, row))
        return None


def _look_of(found: os.stat_result) -> _Look:
    return _Look(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _held(descriptor: int, size: int, start: int) -> bytes:
    return os.pread(descriptor, min(HELD_BYTES, max(0, size - start)), start)


def _is_file_of(file: BinaryIO, look: _Look) -> bool:
    found = _look_of(os.fstat(file.fileno()))
    return (found.device, found.inode) == (look.device, look.inode)


def _may_be_whole(line: bytes) -> bool:
    return line.endswith(b"\n") or line[-_MARK_BYTES:].rstrip().endswith(b"}")


def _bytes_before(file: BinaryIO, offset: int) -> bytes:
    """Give the bytes before an offset, and leave the file there."""
    start = max(0, offset - _MARK_BYTES)
    file.seek(start)
    return file.read(offset - start)
