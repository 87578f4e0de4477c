"""The audit ledger: receipts that follow from journal lines, each written exactly once."""

import json
import os
import re
import stat
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from core.store.failures import StoreError
from core.store.files import (
    make_file,
    make_folder,
    open_file,
    open_or_make,
    read_range,
    remove_file,
    status,
    sync_data,
    sync_folder,
    write_whole,
)
from core.store.lines import SCHEMA, SEQ_LIMIT, Line, LineFault, encode, is_plain, why_bad
from core.store.locks import Lock, Patience

RECEIPT_BYTES_MAX = 64 * 1024  # With its newline.
_CUT = "_cut"
_BLOCK_BYTES = 1 << 20
_LONG_NUMBER = re.compile(rb"\d{19}")


class Place(NamedTuple):
    """A point in one ledger file; after a purge it is another file, and old points mean nothing."""

    offset: int = 0  # Bytes.
    file: str = ""


class Receipt(NamedTuple):
    """A receipt as it is or will be printed."""

    event_id: str
    data: bytes


class Found(NamedTuple):
    """One page of the ledger."""

    receipts: list[Line]
    next: int | None  # The `since` of the next page of one session; None at the end.
    faults: list[LineFault]


class Ledger:
    """Appends to the ledger that all sessions of a root share.

    A writer holds its session's lock; the ledger's own lock keeps a purge from the file meanwhile.
    """

    __slots__ = ("_descriptor", "_lock", "path", "patience")

    def __init__(self, path: str) -> None:
        self.path = path
        self.patience = Patience()  # Of all locks of whoever uses this ledger.
        self._lock = Lock(lock_path(path), self.patience)
        self._descriptor = -1

    def place(self) -> Place:
        """Give the end of the ledger as it is now."""
        try:
            status = os.stat(self.path)
            rewrites = os.stat(self._lock.path).st_size
        except OSError:
            return Place()  # Then the search for a receipt begins at the start.
        return Place(status.st_size, f"{status.st_ino}-{rewrites}")

    def append(self, receipts: list[Receipt]) -> Place:
        """Append receipts that are known to be new, all of them or none; give the end.

        Raises StoreError, and Unreadable where locks do not work.
        """
        self._prepare()
        with self._lock:
            return self._write(receipts)

    def append_missing(self, receipts: list[Receipt], session: str, since: Place) -> Place:
        """Append those that do not stand behind `since` yet; give the end.

        `session` is the 16 hex digits in their event ids. Raises as `append` does.
        """
        self._prepare()
        with self._lock:
            written = {receipt["event_id"] for receipt in self.behind(since, session)}
            return self._write([receipt for receipt in receipts if receipt.event_id not in written])

    def behind(self, since: Place, session: str) -> list[Line]:
        """Give a session's receipts behind a place, or all of them if it is of another file."""
        end = self.place()
        is_valid = since.file == end.file and since.offset <= end.offset
        lines = _lines_with(_needle(session), self.path, since.offset if is_valid else 0)
        receipts = map(_parsed, lines)
        return [receipt for receipt in receipts if receipt and _is_of(receipt, session)]

    def remove_session(self, session: str) -> int:
        """Rewrite the ledger without the receipts of a session; give how many lines went."""
        if not _is_file(self.path):
            return 0
        with self._lock:
            temporary = f"{self.path}.tmp"  # One name is enough: the lock is held.
            remove_file(temporary)
            try:
                gone = _copy_without(_needle(session), self.path, temporary)
                if gone:
                    self._lock.add_mark()
                    os.replace(temporary, self.path)
            except OSError as error:
                raise StoreError("rewrite", self.path, error) from None
            finally:
                remove_file(temporary)
            sync_folder(os.path.dirname(self.path))
            return gone

    def remove_all(self) -> None:
        """Remove the ledger, and its lock last; what is no file of ours is left alone."""
        if not _is_file(self.path) and not _is_file(self._lock.path):
            return
        with self._lock:
            for path in (f"{self.path}.tmp", self.path, self._lock.path):
                if _is_file(path):
                    remove_file(path)
        self.close()

    def sync(self) -> None:
        """Have all receipts on the disk before this returns."""
        if os.path.exists(self.path):
            sync_data(self._open(), self.path)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Give the descriptors back; the next use opens the files again."""
        self._lock.close()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _write(self, receipts: list[Receipt]) -> Place:
        descriptor = self._open()
        there = status(descriptor, self.path)
        size = there.st_size
        last = read_range(descriptor, size - 1, size, self.path) if size else b"\n"
        close = b"" if last == b"\n" else b"\n"  # A killed process left half a line.
        data = close + b"".join(receipt.data for receipt in receipts)
        if data:
            write_whole(descriptor, data, size, self.path)
        return Place(size + len(data), f"{there.st_ino}-{self._lock.size}")

    def _prepare(self) -> None:
        """Refuse a ledger that is no file before a lock file is made beside it."""
        if self._descriptor < 0:
            make_folder(os.path.dirname(self.path))
            self._open()

    def _open(self) -> int:
        if self._descriptor >= 0 and not status(self._descriptor, self.path).st_nlink:
            os.close(self._descriptor)  # A purge put another file in its place.
            self._descriptor = -1
        if self._descriptor < 0:
            made = not os.path.exists(self.path)
            try:
                self._descriptor = open_or_make(self.path, os.O_RDWR | os.O_APPEND)
            except FileNotFoundError as error:
                raise StoreError("open", self.path, error) from None
            if made:
                sync_folder(os.path.dirname(self.path))
        return self._descriptor


def lock_path(ledger: str) -> str:
    """Name the lock file of a ledger; it grows by a byte each time the ledger is rewritten."""
    return f"{ledger}.lock"


def printed(fields: Line, line: Line, number: int, session: str, session_id: str) -> Receipt:
    """Print the receipt number `number` of a journal line: `fields` are its event and the rest.

    What makes it longer than RECEIPT_BYTES_MAX is cut; `<field>_cut` counts what is lacking.
    """
    event_id = f"{session}-{line['seq']}-{number}"
    own = {"v": SCHEMA, "seq": line["seq"], "event_id": event_id, "ts": line["ts"]}
    receipt = {**own, "event": fields["event"], "session_id": session_id}
    rest = {name: value for name, value in fields.items() if name not in receipt}
    data = encode({**receipt, **rest})
    while len(data) >= RECEIPT_BYTES_MAX and rest:
        _cut_largest(rest, len(data) - RECEIPT_BYTES_MAX)
        data = encode({**receipt, **rest})
    return Receipt(event_id, data + b"\n")


def read_receipts(
    path: str,
    session_id: str | None = None,
    task_id: str | None = None,
    since: int | None = None,
    limit: int | None = None,
) -> Found:
    """Read receipts in the order of the ledger, those with a `seq` above `since`.

    With a session, `limit` gives the oldest, and `next` leads on; receipts of one journal line
    stay together, so it can be passed by a few. Without one there is nothing to lead on by, and
    `limit` gives the newest.
    """
    faults: list[LineFault] = []
    found = (
        receipt
        for receipt in _receipts(path, faults)
        if (session_id is None or receipt["session_id"] == session_id)
        and (task_id is None or receipt.get("task_id") == task_id)
        and (since is None or receipt["seq"] > since)
    )
    if session_id is None:
        return Found(list(deque(found, limit)), None, faults)
    page: list[Line] = []
    for receipt in found:
        if limit is not None and len(page) >= limit and receipt["seq"] != page[-1]["seq"]:
            return Found(page, page[-1]["seq"], faults)
        page.append(receipt)
    return Found(page, None, faults)


def _needle(session: str) -> bytes:
    """Give the bytes that stand in each receipt of a session, and in no text of another."""
    return f'"event_id":"{session}-'.encode()


def _copy_without(needle: bytes, source: str, target: str) -> int:
    """Copy the lines that do not hold the needle; give the count of the others."""
    gone = 0
    with (
        open(open_file(source, os.O_RDONLY), "rb") as ledger,
        open(make_file(target, os.O_WRONLY), "wb") as copy,
    ):
        for raw in ledger:
            if needle in raw:
                gone += 1
            else:
                copy.write(raw)
        copy.flush()
        sync_data(copy.fileno(), target)
    return gone


def _receipts(path: str, faults: list[LineFault]) -> Iterator[Line]:
    name = os.path.basename(path)
    for number, raw in enumerate(_raw_lines(path, 0), 1):
        if not raw.endswith(b"\n"):
            return  # Being written, or never finished.
        receipt = _parsed(raw)
        if receipt is None:
            faults.append(LineFault(name, number, _why(raw[:-1])))
        else:
            yield receipt


def _raw_lines(path: str, offset: int) -> Iterator[bytes]:
    """Give the lines behind an offset, as many as there are when the reading begins."""
    try:
        with open(open_file(path, os.O_RDONLY), "rb") as ledger:
            end = status(ledger.fileno(), path).st_size
            ledger.seek(offset)
            for raw in ledger:
                yield raw
                offset += len(raw)
                if offset >= end:
                    return
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError("read", path, error) from None


def _lines_with(needle: bytes, path: str, offset: int) -> Iterator[bytes]:
    """Give the lines behind an offset that hold the needle; it takes a tenth of looking at each."""
    try:
        with open(open_file(path, os.O_RDONLY), "rb") as ledger:
            end = status(ledger.fileno(), path).st_size
            ledger.seek(offset)
            while offset < end:
                block = ledger.read(_BLOCK_BYTES) + ledger.readline()
                if not block:
                    return  # It was cut meanwhile.
                offset += len(block)
                found = block.find(needle)
                while found >= 0:
                    stop = block.find(b"\n", found)
                    stop = len(block) if stop < 0 else stop
                    yield block[block.rfind(b"\n", 0, found) + 1 : stop]
                    found = block.find(needle, stop)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError("read", path, error) from None


def _refused(text: str) -> None:
    raise ValueError("no number of ours")


_DECODER = json.JSONDecoder(parse_float=_refused, parse_constant=_refused)


def _parsed(raw: bytes) -> Line | None:
    """Read a line of the ledger; None for what is no receipt, or could not be passed on."""
    try:
        line = _DECODER.decode(raw.decode())
        if _LONG_NUMBER.search(raw) or b"\\u" in raw:
            is_plain(line)
            json.dumps(line, ensure_ascii=False).encode()  # Fails for a lone surrogate.
    except (ValueError, RecursionError, AssertionError):
        return None
    if type(line) is not dict or line.get("v") != SCHEMA or type(line.get("seq")) is not int:
        return None
    known = all(type(line.get(name)) is str for name in ("event_id", "event", "session_id"))
    return line if known and 0 < line["seq"] < SEQ_LIMIT else None


def _is_of(receipt: Line, session: str) -> bool:
    """Say whether id and number agree: a damaged digit must not tell of a fact that never was."""
    ours: str = receipt["event_id"]
    return ours.startswith(f"{session}-{receipt['seq']}-")


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _why(raw: bytes) -> str:
    why = why_bad(raw)
    return "it is no receipt of this schema" if "checksum" in why else why


def _cut_largest(fields: Line, excess_bytes: int) -> None:
    """Take from the largest field: from a list its last items, anything else as a whole."""
    name = max(fields, key=lambda field: len(encode(fields[field])))
    value = fields.pop(name)
    kept, items = 0, value if type(value) is list else []
    room = len(encode(items)) - excess_bytes - len(name) - 32  # 32: what the count itself takes.
    for item in items:
        room -= len(encode(item)) + 1
        if room < 0:
            break
        kept += 1
    if kept:
        fields[name] = items[:kept]
    taken = len(items) - kept if items else 1
    fields[name + _CUT] = fields.get(name + _CUT, 0) + taken
