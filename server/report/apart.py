"""Carries several pieces of work out at once, each in a process of its own."""

import os
import pickle
import selectors
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar

from server.interrupts import SIGNALS

_T = TypeVar("_T")

_LENGTH_BYTES = 8
_CHUNK_BYTES = 1 << 20


class _Child(NamedTuple):
    pid: int
    descriptor: int
    received: bytearray


def apart(work: Sequence[Callable[[], Iterable[_T]]]) -> Iterator[_T]:
    """Give what the pieces of work give, in whatever order it comes.

    A process that dies gives no more; the caller looks for what is missing. None is left behind,
    whatever ends this. Only where os.fork is.
    """
    children: list[_Child] = []
    try:
        for piece in work:
            # A signal between a fork and its being noted would leave that process behind.
            held = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
            try:
                children.append(_start(piece, held))
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, held)
        with selectors.DefaultSelector() as selector:
            for child in children:
                selector.register(child.descriptor, selectors.EVENT_READ, child)
            while selector.get_map():
                for key, _ in selector.select():
                    chunk = os.read(key.fd, _CHUNK_BYTES)
                    if not chunk:
                        selector.unregister(key.fd)
                    child = key.data
                    child.received.extend(chunk)
                    yield from _whole(child.received)
    finally:
        for child in children:
            os.close(child.descriptor)
            with suppress(OSError):
                os.kill(child.pid, signal.SIGKILL)
            with suppress(OSError):
                os.waitpid(child.pid, 0)


def _start(work: Callable[[], Iterable[_T]], held: set[signal.Signals | int]) -> _Child:
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        os.close(writing)
        return _Child(pid, reading, bytearray())
    code = 1
    try:
        os.close(reading)
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        with open(writing, "wb", buffering=_CHUNK_BYTES) as pipe:
            for item in work():
                data = pickle.dumps(item, pickle.HIGHEST_PROTOCOL)
                pipe.write(len(data).to_bytes(_LENGTH_BYTES, "little"))
                pipe.write(data)
        code = 0
    finally:
        os._exit(code)  # Nothing of the parent's is cleaned up twice.


def _whole(received: bytearray) -> Iterator[_T]:
    """Take the items out that have arrived whole; both ends are this very program."""
    while len(received) >= _LENGTH_BYTES:
        end = _LENGTH_BYTES + int.from_bytes(received[:_LENGTH_BYTES], "little")
        if len(received) < end:
            return
        data = bytes(received[_LENGTH_BYTES:end])
        del received[:end]
        yield pickle.loads(data)  # noqa: S301  # Written by our own child over its pipe.
