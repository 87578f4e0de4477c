"""Ctrl-C, SIGTERM and SIGHUP in a command: raised only where that leaves nothing behind."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class Interrupts:
    """Holds these signals back but for the sections that are marked `heard`.

    A folder or a process is made and removed outside of them, so no signal comes in between. The
    first signal raises KeyboardInterrupt, or SystemExit with 128 and its number; one that was held
    does so in the next such section, at the latest on leaving. Later ones change nothing: the work
    is ending already.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._came: int | None = None
        self._is_heard = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                # What the caller ignores, as nohup does, stays ignored.
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        is_ending = error_type is not None and not issubclass(error_type, Exception)
        if self._came is not None and not is_ending:
            raise _ending(self._came)

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Mark a section in which a signal may raise at any point."""
        self._is_heard = True
        try:
            if self._came is not None:
                raise _ending(self._came)
            yield
        finally:
            self._is_heard = False

    def _take(self, number: int, _frame: FrameType | None) -> None:
        if self._came is None:
            self._came = number
            if self._is_heard:
                self._is_heard = False
                raise _ending(number)


def _ending(number: int) -> BaseException:
    return KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)
