"""A session's state at one point of its journal, so that reading starts there and not at line 1."""

import fcntl
import hashlib
import json
import os
from typing import NamedTuple

from core.errors import Unreadable
from core.store.failures import Gone, Irregular, StoreError
from core.store.files import (
    make_file,
    open_file,
    read_range,
    remove_file,
    status,
    sync_data,
    sync_folder,
    write_whole,
)
from core.store.lines import (
    SCHEMA,
    SEQ_LIMIT,
    Line,
    LineFault,
    encode,
    encode_checked,
    newer_schema,
)
from core.store.locks import Lock

NAME = "checkpoint.json"
_TEMPORARY = "checkpoint.", ".tmp"
_HASH = b',"hash":"'
_KINDS = (int, int, int, int, str, int, str)  # Of the generation and of what it covers.
_NONE = "it is no checkpoint"


class Covers(NamedTuple):
    """What a checkpoint stands for; all receipts up to `seq` lie before the ledger's offset."""

    seq: int
    offset: int  # In the journal, bytes.
    line: int  # Journal lines before the offset.
    mark: str  # Checksum of the journal's last bytes before the offset.
    receipts_offset: int  # In the ledger, bytes.
    receipts_file: str  # Which ledger file the offset counts in.


_HEAD = ("session", "generation", *Covers._fields)


class _Unproved(Exception):
    """A checkpoint that cannot be used, and why."""


class Checkpoint(NamedTuple):
    """One checkpoint as it was found."""

    generation: int  # Grows with each one that is written to this folder.
    covers: Covers
    state: Line


def load(folder: str) -> tuple[Checkpoint | None, LineFault | None]:
    """Read the checkpoint; None beside a fault when there is one that cannot be used.

    Raises Unreadable for one of a newer schema, StoreError when the disk refuses.
    """
    try:
        data = _read(folder)
        if data is None:
            return None, None
        return _parsed(data, folder), None
    except Irregular:
        return None, LineFault(NAME, 0, "it is no regular file")
    except _Unproved as bad:
        return None, LineFault(NAME, 0, str(bad))


def save(folder: str, state: Line, covers: Covers, generation: int, lock: Lock) -> int:
    """Write a checkpoint above a known generation; give the generation that is now on disk.

    Nothing is replaced when another process has written one that covers as much; one that cannot
    be used is always replaced. The lock is taken only for that comparison and the rename. Raises
    Gone, StoreError, Unreadable.
    """
    while True:
        generation += 1
        descriptor, temporary = _write(folder, _printed(folder, state, covers, generation))
        try:
            there = _put_in_place(folder, temporary, generation, lock)
        finally:
            os.close(descriptor)
        if there is None:
            sync_folder(folder)
            return generation
        remove_file(temporary)
        generation, covered = there
        if covered.seq >= covers.seq:
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
    except (FileNotFoundError, StoreError):
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_file(path)
    except (OSError, StoreError):
        return  # Its writer lives, or the disk refuses: it does no harm.
    finally:
        os.close(descriptor)


def _printed(folder: str, state: Line, covers: Covers, generation: int) -> bytes:
    session = os.path.basename(folder)
    own = {"v": SCHEMA, "session": session, "generation": generation}
    head = encode({**own, **covers._asdict()})
    body = head + b"\n" + encode_checked(state) + b"\n"
    digest = hashlib.sha256(body).hexdigest().encode()
    return head[:-1] + _HASH + digest + b'"}' + body[len(head) :]


def _parsed(data: bytes, folder: str) -> Checkpoint:
    """Read a checkpoint; raise _Unproved."""
    covered = _proved(data, folder)
    try:
        state = json.loads(data[data.index(b"\n") :])
    except (ValueError, RecursionError):
        raise _Unproved(_NONE) from None
    if type(state) is not dict:
        raise _Unproved(_NONE)
    return Checkpoint(*covered, state)


def _proved(data: bytes, folder: str) -> tuple[int, Covers]:
    """Give generation and what is covered, if it proves itself and to be of this folder."""
    end = data.find(b"\n")
    start = data.rfind(_HASH, 0, max(end, 0))
    body = data[:start] + b"}" + data[end:]
    digest = hashlib.sha256(body).hexdigest().encode()
    if start < 0 or data[start:end] != _HASH + digest + b'"}':
        raise _Unproved("it does not prove itself" if data else "it is empty")
    try:
        head = json.loads(data[:end])
        if head["v"] > SCHEMA:
            raise newer_schema(head["v"])
        session, generation, *values = (head[name] for name in _HEAD)
    except (ValueError, RecursionError, KeyError, TypeError):
        raise _Unproved(_NONE) from None
    if session != os.path.basename(folder):
        raise _Unproved("it is of another session")
    covers = Covers(*values)
    if tuple(map(type, (generation, *covers))) != _KINDS:
        raise _Unproved(_NONE)
    if not all(0 <= n < SEQ_LIMIT for n in (generation, *covers[:3], covers.receipts_offset)):
        raise _Unproved(_NONE)
    return generation, covers


def _put_in_place(
    folder: str, temporary: str, generation: int, lock: Lock
) -> tuple[int, Covers] | None:
    """Rename the temporary file unless another generation is in the way: give that one."""
    path = os.path.join(folder, NAME)
    try:
        with lock:
            there = _in_the_way(folder)
            if there is not None and there[0] >= generation:
                return there
            os.replace(temporary, path)
    except FileNotFoundError:
        raise Gone(folder) from None
    except OSError as error:
        remove_file(temporary)
        raise StoreError("replace", path, error) from None
    except (StoreError, Unreadable):
        remove_file(temporary)
        raise
    return None


def _in_the_way(folder: str) -> tuple[int, Covers] | None:
    try:
        data = _read(folder)
        return None if data is None else _proved(data, folder)
    except (Irregular, _Unproved):
        return None


def _write(folder: str, data: bytes) -> tuple[int, str]:
    """Write a new temporary file; it counts as alive as long as the descriptor is open."""
    while True:
        path = os.path.join(folder, os.urandom(8).hex().join(_TEMPORARY))
        try:
            descriptor = make_file(path, os.O_WRONLY)
        except FileNotFoundError:
            raise Gone(folder) from None
        if _is_locked(descriptor, path):
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


def _is_locked(descriptor: int, path: str) -> bool:
    """Lock a new temporary file; say whether it has not been taken for a left one before."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(descriptor).st_nlink > 0
    except BlockingIOError:
        return False
    except OSError as error:
        os.close(descriptor)
        raise StoreError("lock", path, error) from None


def _read(folder: str) -> bytes | None:
    path = os.path.join(folder, NAME)
    try:
        descriptor = open_file(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        return read_range(descriptor, 0, status(descriptor, path).st_size, path)
    finally:
        os.close(descriptor)
