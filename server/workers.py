"""Runs slow work in threads, so that the loop goes on reading and answering meanwhile."""

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, NamedTuple

from server.errors import outcome

# With more the loop would wait longer for its turn; with one a long check would hold up short ones.
THREADS_MAX = 4

Then = Callable[[Any, Exception | None], None]  # What work returned, or the fault that ended it.


class _Job(NamedTuple):
    loop: asyncio.AbstractEventLoop
    work: Callable[[], Any]
    then: Then


class Workers:
    """A few daemon threads: the process ends without waiting for them."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._threads = 0
        self._unfinished = 0
        self._abandoned = False

    def run(self, work: Callable[[], Any], then: Then) -> None:
        """Call work in a thread, as soon as one is free, and then `then` on the running loop."""
        job = _Job(asyncio.get_running_loop(), work, then)
        if self._unfinished >= self._threads < THREADS_MAX:
            threading.Thread(target=self._take_jobs, name="worker", daemon=True).start()
            self._threads += 1
        self._unfinished += 1
        self._jobs.put(job)

    def abandon(self) -> None:
        """Begin nothing and report nothing from now on; what runs already is left to itself."""
        self._abandoned = True

    def _take_jobs(self) -> None:
        while not self._abandoned:
            job = self._jobs.get()
            result, fault = outcome(job.work)
            try:
                job.loop.call_soon_threadsafe(self._report, job.then, result, fault)
            except RuntimeError:
                return  # The loop has ended meanwhile.

    def _report(self, then: Then, result: Any, fault: Exception | None) -> None:
        self._unfinished -= 1
        if not self._abandoned:
            then(result, fault)
