"""Real processes that kill themselves at a chosen system call; what they left must open well.

A request is acknowledged through a pipe once `append` has returned. Whatever the moment: the
journal holds the acknowledged requests, or those and one more, each whole; every receipt once.
"""

import fcntl
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.store.purge import purge_all, purge_session
from core.store.receipts import Ledger
from tests.core.store.support import (
    NEVER_WAS,
    SESSION,
    everything,
    expected_ids,
    fact,
    folder,
    journal_lines,
    names,
    opened,
    receipt_ids,
)

REQUESTS = [["a"], ["b", "c", "d"], ["e"], ["f", "g"], ["h"]]
CALLS = ("open", "mkdir", "write", "ftruncate", "replace", "unlink", "fsync", "fdatasync", "close")
CALLS_MAX = 400


class Crash:
    """Counts system calls and kills the process at one: before a call, or halfway in a write."""

    def __init__(self, at: int, how: str) -> None:
        self.left = at
        self.how = how
        self.write = os.write

    def install(self) -> None:
        for name in CALLS if self.how == "before" else ("write",):
            setattr(os, name, self.wrapped(getattr(os, name)))
        if self.how == "before":
            fcntl.flock = self.wrapped(fcntl.flock)

    def wrapped(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left:
                return call(*args, **named)
            if self.how == "halfway":
                self.write(args[0], args[1][: len(args[1]) * 2 // 3])
            os.kill(os.getpid(), signal.SIGKILL)
            raise AssertionError("survived SIGKILL")

        return counted


def carry_out(root: Path, acknowledge: Callable[[int], object]) -> None:
    """Send the requests that are not in the journal yet, with a checkpoint after every second."""
    store, found = opened(root)
    known = (found.state["names"] if found.state else []) + names(found.lines)
    for number, request in enumerate(REQUESTS):
        if request[0] in known:
            continue
        store.append([fact(name, receipts=2) for name in request], sync=number == 3)
        known += request
        acknowledge(number)
        if number % 2:
            store.write_checkpoint({"names": known})


def run_killed(root: Path, at: int, how: str) -> tuple[int, bool]:
    """Run the requests in a process that dies at a call; give the acknowledged ones, and if so."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        write, rc = os.write, 1
        try:
            Crash(at, how).install()
            carry_out(root, lambda number: write(writer, bytes([number])))
            rc = 0
        finally:
            os._exit(rc)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        acknowledged = len(pipe.read())
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return acknowledged, os.WIFSIGNALED(status)


def flat(requests: list[list[str]]) -> list[str]:
    return [name for request in requests for name in request]


def check_receipts(root: Path) -> None:
    opened(root)
    assert receipt_ids(root) == expected_ids(journal_lines(root))


@pytest.mark.parametrize("how", ["before", "halfway"])
def test_killed_at_any_call_it_holds_what_was_acknowledged_or_one_request_more(
    tmp_path: Path, how: str
) -> None:
    for at in range(1, CALLS_MAX):
        root = tmp_path / str(at)
        acknowledged, was_killed = run_killed(root, at, how)

        allowed = [flat(REQUESTS[:acknowledged]), flat(REQUESTS[: acknowledged + 1])]
        found = opened(root)[1]
        assert everything(root) in allowed, at
        assert not found.lost, at
        check_receipts(root)
        carry_out(root, str)
        assert everything(root) == flat(REQUESTS), at
        check_receipts(root)
        if not was_killed:
            assert acknowledged == len(REQUESTS)
            assert at > len(REQUESTS) * 2  # It was killed at each call before this one.
            return
    raise AssertionError("the requests never ended")


@pytest.mark.parametrize("how", ["before", "halfway"])
def test_killed_again_and_again_while_it_recovers_it_gets_there(tmp_path: Path, how: str) -> None:
    acknowledged, was_killed = 0, True
    for at in range(4, CALLS_MAX):
        done, was_killed = run_killed(tmp_path, at, how)
        acknowledged += done
        if not was_killed:
            break

    assert not was_killed
    assert everything(tmp_path) == flat(REQUESTS)
    assert acknowledged <= len(REQUESTS)
    check_receipts(tmp_path)
    left = {path.name for path in folder(tmp_path).iterdir()}
    assert left <= {"journal.jsonl", "checkpoint.json", "lock"}


@pytest.mark.parametrize("remove", [purge_session, purge_all])
def test_a_purge_killed_at_any_call_leaves_no_session_that_counts_as_lost(
    tmp_path: Path, remove: Callable[..., object]
) -> None:
    for at in range(1, CALLS_MAX):
        root = tmp_path / str(at)
        carry_out(root, str)

        was_killed = run_purge(root, remove, at)

        found = opened(root)[1]
        assert not found.lost, at
        assert everything(root) in ([], flat(REQUESTS)), at
        purge_session(str(root), SESSION, Ledger(str(root / "receipts.jsonl")))
        assert receipt_ids(root) == []
        assert opened(root)[1] == NEVER_WAS
        if not was_killed:
            assert at > 5
            return
    raise AssertionError("the purge never ended")


def run_purge(root: Path, remove: Callable[..., object], at: int) -> bool:
    """Purge in a process that dies at a call; say whether it came to that."""
    child = os.fork()
    if not child:
        rc = 1
        try:
            ledger = Ledger(str(root / "receipts.jsonl"))
            arguments = (SESSION, ledger) if remove is purge_session else (ledger,)
            Crash(at, "before").install()
            remove(str(root), *arguments)
            rc = 0
        finally:
            os._exit(rc)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)
