"""Disks that refuse: the limit on a file's size stands in for a full one, and it is as real."""

import errno
import fcntl
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.errors import Unreadable
from core.store.failures import StoreError
from core.store.purge import purge_all, purge_session
from core.store.receipts import Ledger, read_receipts
from tests.core.store.support import (
    NEVER_WAS,
    SESSION,
    everything,
    expected_ids,
    fact,
    folder,
    journal_lines,
    opened,
    receipt_ids,
)


@contextmanager
def no_file_above(size_bytes: int) -> Iterator[None]:
    """Have the system cut every write at that size, and refuse the next."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_write_that_the_disk_cuts_leaves_the_journal_as_it_was(tmp_path: Path) -> None:
    store, _ = opened(tmp_path)
    store.append([fact("a")], sync=True)
    journal = folder(tmp_path) / "journal.jsonl"
    before = journal.read_bytes()

    with no_file_above(len(before) + 60), pytest.raises(StoreError) as refused:
        store.append([fact("b"), fact("c")], sync=True)

    assert refused.value.errno == errno.EFBIG
    assert str(refused.value) == f"cannot write {journal}: File too large"
    assert journal.read_bytes() == before
    store.append([fact("d")], sync=True)
    assert everything(tmp_path) == ["a", "d"]
    assert opened(tmp_path)[1].faults == []


def test_a_first_write_that_fails_leaves_a_session_that_is_new_not_lost(tmp_path: Path) -> None:
    store, _ = opened(tmp_path)
    with no_file_above(20), pytest.raises(StoreError):
        store.append([fact("a")], sync=True)

    assert opened(tmp_path)[1] == NEVER_WAS
    store.append([fact("a")], sync=True)
    assert everything(tmp_path) == ["a"]


def test_a_checkpoint_that_cannot_be_written_leaves_the_last_one(tmp_path: Path) -> None:
    store, _ = opened(tmp_path)
    store.append([fact("a")], sync=False)
    store.write_checkpoint({"names": ["a"]})
    store.append([fact("b")], sync=False)

    with no_file_above(100), pytest.raises(StoreError):
        store.write_checkpoint({"names": ["a", "b"]})

    assert opened(tmp_path)[1].state == {"names": ["a"]}
    assert not list(folder(tmp_path).glob("*.tmp"))
    assert store.due(float("inf"))
    assert store.write_checkpoint({"names": ["a", "b"]})


def test_receipts_that_the_disk_refuses_are_owed_and_the_facts_stand(tmp_path: Path) -> None:
    ledger = tmp_path / "receipts.jsonl"
    ledger.mkdir()
    store, _ = opened(tmp_path)

    store.append([fact("a", receipts=1)], sync=True)
    store.append([fact("b", receipts=2)], sync=True)
    assert isinstance(store.trouble, StoreError)
    assert not store.write_checkpoint({"names": ["a", "b"]})
    ledger.rmdir()
    store.append([fact("c", receipts=1)], sync=True)

    assert store.trouble is None
    assert receipt_ids(tmp_path) == expected_ids(journal_lines(tmp_path))
    assert store.write_checkpoint({"names": ["a", "b", "c"]})


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder_there(path: Path) -> None:
    path.mkdir()


def link(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("put", [pipe, folder_there, link])
@pytest.mark.parametrize("name", ["journal.jsonl", "lock"])
def test_what_is_no_regular_file_is_refused_with_its_path_and_nobody_waits(
    tmp_path: Path, name: str, put: Callable[[Path], None]
) -> None:
    opened(tmp_path)[0].append([fact("a")], sync=False)
    path = folder(tmp_path) / name
    path.unlink()
    put(path)

    with pytest.raises(StoreError, match=f"cannot use {path}: it is no regular file"):
        opened(tmp_path)[0].append([fact("b")], sync=False)


@pytest.mark.parametrize("put", [pipe, folder_there, link])
@pytest.mark.parametrize("name", ["checkpoint.json", "checkpoint.x.tmp"])
def test_a_checkpoint_that_is_no_regular_file_is_passed_over(
    tmp_path: Path, name: str, put: Callable[[Path], None]
) -> None:
    opened(tmp_path)[0].append([fact("a")], sync=False)
    put(folder(tmp_path) / name)

    store, found = opened(tmp_path)

    named = [("checkpoint.json", 0, "it is no regular file")]
    assert found.faults == (named if name == "checkpoint.json" else [])
    assert everything(tmp_path) == ["a"]
    if name == "checkpoint.json" and put is folder_there:
        with pytest.raises(StoreError, match="cannot replace"):
            store.write_checkpoint({"names": ["a"]})
    else:
        assert store.write_checkpoint({"names": ["a"]})
        assert opened(tmp_path)[1].state == {"names": ["a"]}


@pytest.mark.parametrize("put", [pipe, folder_there, link])
@pytest.mark.parametrize("name", ["receipts.jsonl", "receipts.jsonl.lock"])
def test_a_ledger_that_is_no_regular_file_is_owed_its_receipts(
    tmp_path: Path, name: str, put: Callable[[Path], None]
) -> None:
    put(tmp_path / name)
    store, _ = opened(tmp_path)
    store.append([fact("a", receipts=1)], sync=False)
    store.append([fact("b", receipts=1)], sync=False)

    assert "it is no regular file" in str(store.trouble)
    assert everything(tmp_path) == ["a", "b"]
    if name == "receipts.jsonl":
        assert not (tmp_path / "receipts.jsonl.lock").exists()
        with pytest.raises(StoreError, match="no regular file"):
            read_receipts(str(tmp_path / name))


@pytest.mark.parametrize("device", ["/dev/full", "/dev/null", "/dev/zero"])
def test_a_device_is_no_ledger_and_a_purge_leaves_it_alone(tmp_path: Path, device: str) -> None:
    ledger = Ledger(device)
    with pytest.raises(StoreError, match="no regular file"):
        ledger.append([])
    with pytest.raises(StoreError, match="no regular file"):
        read_receipts(device)

    purge_session(str(tmp_path), SESSION, ledger)
    purge_all(str(tmp_path), ledger)

    assert os.path.exists(device)
    assert not os.path.exists(f"{device}.lock")


def test_where_locks_do_not_work_the_session_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(Unreadable, match="file locks do not work") as refused:
        opened(tmp_path)[0].append([fact("a")], sync=False)

    assert "TURNKEEPER_STATE_DIR" in refused.value.hint
    assert not (folder(tmp_path) / "journal.jsonl").exists()
