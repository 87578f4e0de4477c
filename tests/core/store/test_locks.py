"""Locks that are not given back: a stopped process must not stop everybody else."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.store import locks
from core.store.failures import StoreError
from core.store.locks import Lock, Patience
from core.store.receipts import Ledger
from core.store.session_store import SessionStore
from tests.core.store.support import (
    SESSION,
    everything,
    fact,
    folder,
    opened,
    project,
    receipt_ids,
)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock as a stopped process does."""
    with path.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        yield


def refused_after_s(lock: Lock) -> float:
    begun = time.monotonic()
    with pytest.raises(StoreError, match=r"cannot lock .*: another process holds it"), lock:
        pass
    return time.monotonic() - begun


def test_the_limits_are_short_enough_for_a_turn_and_for_an_exit() -> None:
    assert (locks.WAIT_S_MAX, locks.AGAIN_S, locks.LAST_WAIT_S) == (2.0, 10.0, 0.2)


def test_a_lock_is_waited_for_once_and_then_only_tried_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "WAIT_S_MAX", 0.3)
    monkeypatch.setattr(locks, "AGAIN_S", 60.0)
    lock = Lock(str(tmp_path / "lock"), Patience())

    with held(tmp_path / "lock"):
        assert refused_after_s(lock) >= 0.3
        assert refused_after_s(lock) < 0.3

    with lock:  # It is had as soon as it is free.
        pass

    monkeypatch.setattr(locks, "AGAIN_S", 0.0)
    again = Lock(str(tmp_path / "lock"), Patience())
    with held(tmp_path / "lock"):
        assert min(refused_after_s(again), refused_after_s(again)) >= 0.3


def test_a_process_that_ends_waits_a_little_for_all_locks_together(tmp_path: Path) -> None:
    patience = Patience()
    names = [tmp_path / str(number) for number in range(5)]
    patience.hurry()

    begun = time.monotonic()
    for name in names:
        with held(name):
            refused_after_s(Lock(str(name), patience))

    assert 0.2 <= time.monotonic() - begun < 1.0


def test_the_ledgers_patience_is_that_of_its_sessions(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path / "receipts.jsonl"))
    store = SessionStore(str(tmp_path), SESSION, ledger, project)
    store.open()
    store.append([fact("a")], sync=False)

    ledger.patience.hurry()
    begun = time.monotonic()
    with held(folder(tmp_path) / "lock"), pytest.raises(StoreError, match="cannot lock"):
        store.write_checkpoint({"names": ["a"]})

    assert time.monotonic() - begun < 1.0


def test_a_ledger_whose_lock_is_held_is_owed_its_receipts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "WAIT_S_MAX", 0.01)
    store, _ = opened(tmp_path)
    store.append([fact("a", receipts=1)], sync=False)

    with held(tmp_path / "receipts.jsonl.lock"):
        store.append([fact("b", receipts=1)], sync=False)
        store.append([fact("c", receipts=1)], sync=False)
        assert "another process holds it" in str(store.trouble)
        assert not store.write_checkpoint({"names": ["a", "b", "c"]})

    store.append([fact("d")], sync=False)
    assert store.trouble is None
    assert len(receipt_ids(tmp_path)) == 3
    assert everything(tmp_path) == ["a", "b", "c", "d"]


def test_a_checkpoint_that_cannot_have_the_lock_leaves_no_file_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "WAIT_S_MAX", 0.01)
    store, _ = opened(tmp_path)
    store.append([fact("a")], sync=False)

    with held(folder(tmp_path) / "lock"), pytest.raises(StoreError, match="cannot lock"):
        store.write_checkpoint({"names": ["a"]})

    assert sorted(path.name for path in folder(tmp_path).iterdir()) == ["journal.jsonl", "lock"]
    assert store.write_checkpoint({"names": ["a"]})
