"""One session's journal: read on from where it stands, append where it ends."""

import errno
import os
import time
import zlib
from typing import NamedTuple

from core.store.failures import Gone, Moved, StoreError
from core.store.files import (
    cut_back,
    open_file,
    open_or_make,
    read_range,
    status,
    sync_data,
    sync_folder,
    write_whole,
)
from core.store.lines import Cursor, Line, LineFault, Tail, read_lines, stamp, verified

NAME = "journal.jsonl"
OWNER_DIGITS = 8  # Of the session's name; each line's id begins with them.
MARK_BYTES = 64  # Enough to hold the checksum of the line before, and its end.
START = Cursor()


class Stamped(NamedTuple):
    """Facts as lines: as any reader will see them, and as bytes."""

    lines: list[Line]
    data: bytes


class Journal:
    """The journal of one folder and how far this process has read it.

    Opening makes no file. `append` is called with the session's lock held, the rest without.
    """

    __slots__ = (
        "_descriptor",
        "_folder",
        "_inode",
        "_owner",
        "_path",
        "_writable",
        "_writer",
        "cursor",
        "size",
    )

    def __init__(self, folder: str, cursor: Cursor = START) -> None:
        self.cursor = cursor  # Behind the last line that was read or written.
        self.size = cursor.offset  # Of the file, in bytes, when it was last read or written.
        self._folder = folder
        self._path = os.path.join(folder, NAME)
        self._descriptor = -1
        self._inode = 0  # Of the file that was read: another of that name is another journal.
        self._writable = False
        self._owner = f"{os.path.basename(folder)[:OWNER_DIGITS]}."
        # Tells lines of this session and this process from all others.
        self._writer = self._owner + os.urandom(4).hex()

    def has_moved(self) -> bool:
        """Say whether the file has another size than when it was last read or written.

        Raises Gone when it was removed meanwhile.
        """
        descriptor = self._reading()
        if descriptor < 0:
            if self.size:
                raise Gone(self._path)
            return False
        return self._length(descriptor) != self.size

    def read_on(self) -> Tail:
        """Read what stands after the cursor, and move it there.

        A file that became shorter is read again from its start: what was not known is given.
        """
        descriptor = self._reading()
        if descriptor < 0:
            return Tail([], self.cursor, [], 0)
        end = self._length(descriptor)
        if end < self.size:
            return self.read_again("it is shorter than what was read before")
        return self._read(descriptor, end)

    def read_again(self, why: str) -> Tail:
        """Read from the start, and give only lines with numbers above those that are known."""
        known = self.cursor.seq
        fault = LineFault(NAME, 0, why)
        self.cursor, self.size = START, 0
        descriptor = self._reading()
        if descriptor < 0:
            self.cursor = START._replace(seq=known)
            return Tail([], self.cursor, [fault], 0)
        tail = self._read(descriptor, self._length(descriptor))
        self.cursor = tail.cursor._replace(seq=max(known, tail.cursor.seq))
        lines = [line for line in tail.lines if line["seq"] > known]
        return Tail(lines, self.cursor, [fault, *tail.faults], tail.missing_before)

    def stamp(self, facts: list[Line]) -> Stamped:
        """Make the lines that would follow on what was read; writes nothing."""
        now_ms = time.time_ns() // 1_000_000
        lines, pieces = [], []
        seq, more = self.cursor.seq, len(facts)
        for fact in facts:
            seq, more = seq + 1, more - 1
            line, data = stamp(fact, seq, f"{self._writer}-{seq}", now_ms, more)
            lines.append(line)
            pieces.append(data)
        return Stamped(lines, b"".join(pieces))

    def append(self, stamped: Stamped, sync: bool) -> None:
        """Append what `stamp` made, in one write: all of it or nothing.

        With `sync` it is on the disk when this returns. Raises Moved, Gone, StoreError.
        """
        descriptor = self._writing()
        size = self._length(descriptor)
        if size != self.size:
            raise Moved(self._path)
        unread, close = self._unfinished(descriptor) if size > self.cursor.offset else (b"", b"")
        data = close + stamped.data
        write_whole(descriptor, data, size, self._path)
        if sync:
            self._sync(descriptor, size)
        self.size = size + len(data)
        number = self.cursor.line + unread.count(b"\n") + len(close) + len(stamped.lines)
        self.cursor = Cursor(self.size, self.cursor.seq + len(stamped.lines), number)

    def skip_to(self, seq: int) -> None:
        """Give out no number up to `seq` any more; the lock is held. Raises as `append` does."""
        if self.size > self.cursor.offset:
            self._unfinished(self._writing())
        self.cursor = self.cursor._replace(seq=max(seq, self.cursor.seq))

    def mark(self, offset: int) -> str:
        """Give a checksum of the last bytes before an offset: it tells this journal from others."""
        descriptor = self._reading()
        if descriptor < 0:
            return ""
        data = read_range(descriptor, max(0, offset - MARK_BYTES), offset, self._path)
        return f"{zlib.crc32(data):08x}"

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Give the descriptor back; the next use opens the file again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor, self._writable = -1, False

    def unread_tail(self) -> bytes:
        """Give the bytes of an unfinished write at the end."""
        return self._bytes(self._reading(), self.cursor.offset, self.size)

    def unread_seqs(self) -> set[int]:
        """Give the numbers of the lines that wait for nothing but their newline."""
        lines = self._lines_of(self.unread_tail() + b"\n").lines
        return {line["seq"] for line in lines}

    def _lines_of(self, data: bytes) -> Tail:
        return read_lines(data, self.cursor, NAME, self._owner)

    def _read(self, descriptor: int, end: int) -> Tail:
        data = self._bytes(descriptor, self.cursor.offset, end)
        tail = self._lines_of(data)
        self.size = self.cursor.offset + len(data)
        self.cursor = tail.cursor
        return tail

    def _unfinished(self, descriptor: int) -> tuple[bytes, bytes]:
        """Give the unread tail and the newline that it lacks, if any.

        Where the newline is all that lacks, it is written and Moved is raised: what the tail says
        has to be folded before anything is decided.
        """
        unread = self._bytes(descriptor, self.cursor.offset, self.size)
        if unread.endswith(b"\n"):
            return unread, b""
        is_proved = verified(unread[unread.rfind(b"\n") + 1 :]) is not None
        if is_proved and self._lines_of(unread + b"\n").lines:
            write_whole(descriptor, b"\n", self.size, self._path)
            raise Moved(self._path)
        return unread, b"\n"

    def _sync(self, descriptor: int, size: int) -> None:
        try:
            sync_data(descriptor, self._path)
        except StoreError:
            cut_back(descriptor, size)  # Not durable: then not said at all.
            raise

    def _bytes(self, descriptor: int, start: int, end: int) -> bytes:
        return read_range(descriptor, start, end, self._path) if start < end else b""

    def _length(self, descriptor: int) -> int:
        there = status(descriptor, self._path)
        if not there.st_nlink or self._inode not in (0, there.st_ino):
            raise Gone(self._path)
        self._inode = there.st_ino
        return there.st_size

    def _reading(self) -> int:
        """Give a descriptor to read from, -1 when there is no file yet."""
        if self._descriptor < 0:
            try:
                self._descriptor = open_file(self._path, os.O_RDWR | os.O_APPEND)
                self._writable = True
            except FileNotFoundError:
                return -1
            except StoreError as error:
                if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
                    raise
                self._descriptor = self._open(os.O_RDONLY)
        return self._descriptor

    def _open(self, flags: int) -> int:
        try:
            return open_file(self._path, flags)
        except FileNotFoundError:
            raise Gone(self._path) from None  # It was there a moment ago.

    def _writing(self) -> int:
        """Give a descriptor to append to; the file is made when there is none."""
        if self._descriptor >= 0 and not self._writable:
            self.close()
            self._descriptor = self._open(os.O_RDWR | os.O_APPEND)
            self._writable = True
        if self._reading() < 0:
            if self.size:
                raise Gone(self._path)
            try:
                self._descriptor = open_or_make(self._path, os.O_RDWR | os.O_APPEND)
            except FileNotFoundError:
                raise Gone(self._folder) from None
            self._writable = True
            sync_folder(self._folder)
        return self._descriptor
