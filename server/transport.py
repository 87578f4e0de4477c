"""Moves frames between the client's two pipes and the protocol; reading never waits for writing."""

import asyncio
import os
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable

from server.framing import BrokenStream, FrameCutter, Oversized
from server.log import log

CHUNK_BYTES = 256 * 1024

Stop = Callable[[int, str], None]  # Exit code and reason.


class Input(asyncio.Protocol):
    """Gives every frame that comes to `receive`, in order, until something stops the process."""

    def __init__(
        self, receive: Callable[[bytes | Oversized], None], stop: Stop, stopped: Callable[[], bool]
    ) -> None:
        self._receive = receive
        self._stop = stop
        self._stopped = stopped
        self._cutter = FrameCutter()

    def data_received(self, data: bytes) -> None:
        if self._stopped():
            return
        try:
            for frame in self._cutter.feed(data):
                self._receive(frame)
                if self._stopped():
                    return
        except BrokenStream as broken:
            self._stop(1, f"broken stream: {broken}")

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop(0, "the client closed our input")


async def open_input(loop: asyncio.AbstractEventLoop, source: int, reader: Input) -> None:
    """Read from a descriptor for as long as the loop runs."""
    mode = os.fstat(source).st_mode
    if sys.platform != "win32" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        pipe = os.fdopen(source, "rb", buffering=0)
        await loop.connect_read_pipe(lambda: reader, pipe)
        return
    # A file, a terminal, or any pipe on Windows: the loop cannot wait for those.
    threading.Thread(target=_read_blocking, args=(loop, source, reader), daemon=True).start()


def _read_blocking(loop: asyncio.AbstractEventLoop, source: int, reader: Input) -> None:
    taken = threading.Semaphore(0)

    def take(chunk: bytes) -> None:
        reader.data_received(chunk)
        taken.release()

    try:
        while chunk := os.read(source, CHUNK_BYTES):
            loop.call_soon_threadsafe(take, chunk)
            taken.acquire()  # A file is read no faster than it is dealt with.
    except OSError:
        pass  # The terminal is gone: that is its end.
    try:
        loop.call_soon_threadsafe(reader.connection_lost, None)
    except RuntimeError:
        pass  # The loop has ended for another reason.


class Output:
    """Sends frames at once as far as the client takes them; the rest waits in memory.

    On Windows a pipe cannot be asked whether it would block, so there a write may wait.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, sink: int, stop: Stop) -> None:
        self._loop = loop
        self._sink = sink
        self._stop = stop
        self._open = True
        self._waiting: deque[memoryview] = deque()
        self._all_sent = asyncio.Event()
        self._all_sent.set()
        if sys.platform != "win32":
            os.set_blocking(sink, False)
            if stat.S_ISFIFO(os.fstat(sink).st_mode):
                # The writing end of a pipe becomes "readable" when its reader has gone.
                loop.add_reader(sink, self._lose)

    def send(self, body: bytes) -> None:
        """Frame a body and queue it; never blocks, drops it when the client has gone."""
        if not self._open:
            return
        frame = memoryview(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        if self._waiting:
            self._waiting.append(frame)
        elif rest := self._write(frame):
            self._waiting.append(rest)
            self._all_sent.clear()
            self._loop.add_writer(self._sink, self._drain)

    async def flush(self, seconds: float) -> None:
        """Wait until all is sent, the client has gone, or the time is over."""
        try:
            async with asyncio.timeout(seconds):
                await self._all_sent.wait()
        except TimeoutError:
            log.warning("the client did not take %d messages in time", len(self._waiting))

    def _write(self, frame: memoryview) -> memoryview:
        """Write what fits and return the rest; all of it while it would block."""
        try:
            while frame:
                frame = frame[os.write(self._sink, frame) :]
        except BlockingIOError:
            return frame
        except OSError:
            self._lose()
            return frame[:0]
        return frame

    def _drain(self) -> None:
        while self._waiting:
            if rest := self._write(self._waiting[0]):
                self._waiting[0] = rest
                return
            if self._waiting:  # It is empty when the client has gone meanwhile.
                self._waiting.popleft()
        self._all_sent.set()
        self._loop.remove_writer(self._sink)

    def _lose(self) -> None:
        self._open = False
        self._waiting.clear()
        self._all_sent.set()
        if sys.platform != "win32":
            self._loop.remove_reader(self._sink)
            self._loop.remove_writer(self._sink)
        self._stop(0, "the client closed our output")
