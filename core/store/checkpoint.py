"""A session's state at one point of its journal, so that reading starts there and not at line 1."""

import fcntl
import hashlib
import json
import os
from typing import NamedTuple

from core.store.failures import Gone, StoreError
from core.store.files import (
    make_file,
    open_file,
    read_range,
    remove_file,
    sync_data,
    sync_folder,
    write_whole,
)
from core.store.lines import SCHEMA, Line, LineFault, encode, encode_checked, newer_schema
from core.store.locks import Lock

NAME = "checkpoint.json"
_TEMPORARY = "checkpoint.", ".tmp"
_HASH = b',"hash":"'
_HEAD_BYTES_MAX = 4096


class Covers(NamedTuple):
    """What a checkpoint stands for; all receipts up to `seq` lie before the ledger's offset."""

    seq: int
    offset: int  # In the journal, bytes.
    line: int  # Journal lines before the offset.
    mark: str  # Checksum of the journal's last bytes before the offset.
    receipts_offset: int  # In the ledger, bytes.
    receipts_file: str  # Which ledger file the offset counts in.


class Checkpoint(NamedTuple):
    """One checkpoint as it was found."""

    generation: int  # Grows with each one that is written to this folder.
    covers: Covers
    state: Line


def load(folder: str) -> tuple[Checkpoint | None, LineFault | None]:
    """Read the checkpoint; None beside a fault when there is one that does not prove itself.

    Raises Unreadable for one of a newer schema, StoreError when the disk refuses.
    """
    data = _read(folder)
    if data is None:
        return None, None
    found = _parsed(data)
    if found is None:
        why = "it does not prove itself" if data else "it is empty"
        return None, LineFault(NAME, 0, why)
    return found, None


def save(folder: str, state: Line, covers: Covers, generation: int, lock: Lock) -> int:
    """Write a checkpoint above a known generation; give the generation that is now on disk.

    Nothing is replaced when another process has written one that covers as much. The lock is
    taken only for that comparison and the rename. Raises Gone, StoreError.
    """
    while True:
        generation += 1
        descriptor, temporary = _write(folder, _printed(state, covers, generation))
        try:
            there = _put_in_place(folder, temporary, generation, lock)
        finally:
            os.close(descriptor)
        if there is None:
            sync_folder(folder)
            return generation
        generation = int(there["generation"])
        if there["seq"] >= covers.seq and load(folder)[0] is not None:
            return generation


def clean(folder: str) -> None:
    """Remove what killed processes left of a checkpoint; one that is being written is locked."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError("read", folder, error) from None
    for name in names:
        if name.startswith(_TEMPORARY[0]) and name.endswith(_TEMPORARY[1]):
            _remove_if_left(os.path.join(folder, name))


def _remove_if_left(path: str) -> None:
    try:
        descriptor = open_file(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_file(path)
    except (OSError, StoreError):
        return  # Its writer lives, or the disk refuses: it does no harm.
    finally:
        os.close(descriptor)


def _printed(state: Line, covers: Covers, generation: int) -> bytes:
    head = encode({"v": SCHEMA, "generation": generation, **covers._asdict()})
    body = head + b"\n" + encode_checked(state) + b"\n"
    digest = hashlib.sha256(body).hexdigest().encode()
    return head[:-1] + _HASH + digest + b'"}' + body[len(head) :]


def _parsed(data: bytes) -> Checkpoint | None:
    end = data.find(b"\n")
    start = data.rfind(_HASH, 0, max(end, 0))
    if start < 0:
        return None
    body = data[:start] + b"}" + data[end:]
    digest = hashlib.sha256(body).hexdigest().encode()
    if data[start:end] != _HASH + digest + b'"}':
        return None
    head, state = json.loads(data[:end]), json.loads(data[end:])
    if head["v"] > SCHEMA:
        raise newer_schema(head["v"])
    covers = Covers(*(head[name] for name in Covers._fields))
    return Checkpoint(head["generation"], covers, state)


def _put_in_place(folder: str, temporary: str, generation: int, lock: Lock) -> Line | None:
    """Rename the temporary file unless another generation is in the way: give that one's head."""
    path = os.path.join(folder, NAME)
    with lock:
        there = _head(folder)
        if there is None or there["generation"] < generation:
            try:
                os.replace(temporary, path)
            except FileNotFoundError:
                raise Gone(folder) from None
            except OSError as error:
                remove_file(temporary)
                raise StoreError("replace", path, error) from None
            return None
    remove_file(temporary)
    return there


def _write(folder: str, data: bytes) -> tuple[int, str]:
    """Write a new temporary file; it counts as alive as long as the descriptor is open."""
    while True:
        path = os.path.join(folder, os.urandom(8).hex().join(_TEMPORARY))
        try:
            descriptor = make_file(path, os.O_WRONLY)
        except FileNotFoundError:
            raise Gone(folder) from None
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            break
        os.close(descriptor)  # Taken for a left one before it was locked.
    try:
        write_whole(descriptor, data, 0, path)
        sync_data(descriptor, path)
    except StoreError:
        os.close(descriptor)
        remove_file(path)
        raise
    return descriptor, path


def _read(folder: str, limit: int = 1 << 62) -> bytes | None:
    path = os.path.join(folder, NAME)
    try:
        descriptor = open_file(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        size = min(limit, os.fstat(descriptor).st_size)
        return read_range(descriptor, 0, size, path)
    finally:
        os.close(descriptor)


def _head(folder: str) -> Line | None:
    """Read the first line of the checkpoint that is there; None when it tells nothing."""
    data = _read(folder, _HEAD_BYTES_MAX)
    try:
        head = json.loads((data or b"").split(b"\n")[0])
    except (ValueError, RecursionError):
        return None
    if type(head) is not dict or type(head.get("v")) is not int:
        return None
    if head["v"] > SCHEMA:
        raise newer_schema(head["v"])
    known = type(head.get("generation")) is int and type(head.get("seq")) is int
    return head if known else None
