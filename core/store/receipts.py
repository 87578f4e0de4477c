"""The audit ledger: receipts that follow from journal lines, each written exactly once."""

import json
import os
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
    sync_data,
    sync_folder,
    write_whole,
)
from core.store.lines import SCHEMA, Line, LineFault, encode, why_bad
from core.store.locks import Lock

RECEIPT_BYTES_MAX = 64 * 1024  # With its newline.
_CUT = "_cut"


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
    next: int | None  # The `since` of the next page of this session; None at the end.
    faults: list[LineFault]


class Ledger:
    """Appends to the ledger that all sessions of a root share.

    A writer holds its session's lock; the ledger's own lock keeps a purge from the file meanwhile.
    """

    __slots__ = ("_descriptor", "_lock", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = Lock(lock_path(path))
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
        if self._descriptor < 0:
            make_folder(os.path.dirname(self.path))
        with self._lock:
            return self._write(receipts)

    def append_missing(self, receipts: list[Receipt], session: str, since: Place) -> Place:
        """Append those that do not stand behind `since` yet; give the end.

        `session` is the 16 hex digits in their event ids. Raises as `append` does.
        """
        make_folder(os.path.dirname(self.path))
        with self._lock:
            written = {receipt["event_id"] for receipt in self._behind(since, session)}
            return self._write([receipt for receipt in receipts if receipt.event_id not in written])

    def highest_seq(self, session: str, since: Place) -> int:
        """Give the highest number of a journal line that left a receipt behind `since`, else 0."""
        return max((receipt["seq"] for receipt in self._behind(since, session)), default=0)

    def remove_session(self, session: str) -> int:
        """Rewrite the ledger without the receipts of a session; give how many lines went."""
        if not os.path.exists(self.path):
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
        """Remove the ledger, and its lock last."""
        if not os.path.exists(os.path.dirname(self.path)):
            return
        with self._lock:
            for path in (f"{self.path}.tmp", self.path, self._lock.path):
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
        status = os.fstat(descriptor)
        size = status.st_size
        last = read_range(descriptor, size - 1, size, self.path) if size else b"\n"
        close = b"" if last == b"\n" else b"\n"  # A killed process left half a line.
        data = close + b"".join(receipt.data for receipt in receipts)
        if data:
            write_whole(descriptor, data, size, self.path)
        return Place(size + len(data), f"{status.st_ino}-{self._lock.size}")

    def _behind(self, since: Place, session: str) -> Iterator[Line]:
        """Give a session's receipts behind a place, or all of them if it is of another file."""
        end = self.place()
        is_valid = since.file == end.file and since.offset <= end.offset
        needle = _needle(session)
        for raw in _raw_lines(self.path, since.offset if is_valid else 0):
            if needle in raw and (receipt := _parsed(raw)) is not None:
                yield receipt

    def _open(self) -> int:
        if self._descriptor >= 0 and not os.fstat(self._descriptor).st_nlink:
            os.close(self._descriptor)  # A purge put another file in its place.
            self._descriptor = -1
        if self._descriptor < 0:
            made = not os.path.exists(self.path)
            self._descriptor = open_or_make(self.path, os.O_RDWR | os.O_APPEND)
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

    Receipts of one journal line stay together on a page, so `limit` can be passed by a few.
    """
    faults: list[LineFault] = []
    page: list[Line] = []
    for receipt in _receipts(path, faults):
        if session_id is not None and receipt.get("session_id") != session_id:
            continue
        if task_id is not None and receipt.get("task_id") != task_id:
            continue
        if since is not None and receipt["seq"] <= since:
            continue
        if limit is not None and len(page) >= limit and _starts_new(page, receipt):
            following = page[-1]["seq"] if session_id is not None else None
            return Found(page, following, faults)
        page.append(receipt)
    return Found(page, None, faults)


def _needle(session: str) -> bytes:
    """Give the bytes that stand in each receipt of a session, and in no text of another."""
    return f'"event_id":"{session}-'.encode()


def _copy_without(needle: bytes, source: str, target: str) -> int:
    """Copy the lines that do not hold the needle; give the count of the others."""
    gone = 0
    with open(source, "rb") as ledger, open(make_file(target, os.O_WRONLY), "wb") as copy:
        for raw in ledger:
            if needle in raw:
                gone += 1
            else:
                copy.write(raw)
        copy.flush()
        sync_data(copy.fileno(), target)
    return gone


def _starts_new(page: list[Line], receipt: Line) -> bool:
    last = page[-1]
    return bool(receipt["seq"] != last["seq"] or receipt["session_id"] != last["session_id"])


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
    try:
        with open(path, "rb", opener=open_file) as ledger:
            ledger.seek(offset)
            yield from ledger
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError("read", path, error) from None


def _parsed(raw: bytes) -> Line | None:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if type(line) is not dict or line.get("v") != SCHEMA or type(line.get("seq")) is not int:
        return None
    known = all(type(line.get(name)) is str for name in ("event_id", "event", "session_id"))
    return line if known else None


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
