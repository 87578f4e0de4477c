"""Removing what was stored, also from the ledger that all sessions share."""

import os

from core.store import checkpoint, journal
from core.store.failures import StoreError
from core.store.files import remove_file, sync_folder
from core.store.locks import Lock
from core.store.receipts import Ledger
from core.store.root import CAPTURES, SESSIONS, session_dir, session_name

_LOCK = "lock"


def purge_session(root: str, session_id: str, ledger: Ledger) -> bool:
    """Remove all of one session; say whether there was anything.

    A process that has it open gets Gone at its next use. Raises StoreError.
    """
    folder = session_dir(root, session_id)
    if not os.path.isdir(folder):
        return bool(ledger.remove_session(session_name(session_id)))
    _remove_session(folder, ledger)
    sync_folder(os.path.dirname(folder))
    return True


def purge_all(root: str, ledger: Ledger) -> int:
    """Remove every session, capture and receipt; give the count of sessions. Raises StoreError."""
    sessions = os.path.join(root, SESSIONS)
    names = _names(sessions)
    ledger.remove_all()  # First: receipts without their journal would tell of a loss.
    for name in names:
        _remove_session(os.path.join(sessions, name), ledger)
    ledger.remove_all()
    captures = os.path.join(root, CAPTURES)
    for name in _names(captures):
        remove_file(os.path.join(captures, name))
    for folder in (sessions, captures):
        _remove_folder(folder)
    return len(names)


def _remove_session(folder: str, ledger: Ledger) -> None:
    """Remove a session's files; killed on the way, it leaves a session that opens well."""
    lock = Lock(os.path.join(folder, _LOCK), ledger.patience)
    try:
        with lock:
            # Else a journal that is absent would count as lost; receipts can be made again.
            ledger.remove_session(os.path.basename(folder))
            lock.clear_marks()
            for name in (checkpoint.NAME, journal.NAME, *_names(folder)):
                if name != _LOCK:
                    remove_file(os.path.join(folder, name))
            remove_file(lock.path)
    finally:
        lock.close()
    _remove_folder(folder)


def _remove_folder(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        return  # Something was begun in it anew, or it is not there: that is no part of this.


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError("read", folder, error) from None
