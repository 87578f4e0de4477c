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

from tests.core.store.support import (
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
