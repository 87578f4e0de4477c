"""Runs the connection to the one client of this process, from the first byte to the last."""

import asyncio
import gc
import os
import signal
import threading
from functools import partial
from types import FrameType
from typing import Any

from handlers.method import App
from server.errors import log_bug, outcome
from server.log import clean, log, place_of
from server.protocol import Sidecar
from server.stdio import Stdio
from server.transport import Input, Output, open_input
from server.watch import watch

FLUSH_SECONDS = 0.6
EXIT_SECONDS = 0.9  # From the reason to the end of the process, whatever hangs.


class Ending:
    """The one end of the process: the first reason sets the exit code, later ones are ignored."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._code: asyncio.Future[int] = loop.create_future()
        self._last_resort: threading.Timer | None = None

    def stop(self, code: int, reason: str) -> None:
        """End with this exit code, within EXIT_SECONDS."""
        if self._code.done():
            return
        log.log(_level(code), "stopping: %s", reason)
        self._code.set_result(code)
        self._arm(code)

    def stop_on_signal(self, number: int, _frame: FrameType | None) -> None:
        """The same as a signal handler; it may run in the middle of another handler."""
        self._arm(0)
        reason = signal.Signals(number).name
        self._loop.call_soon_threadsafe(self.stop, 0, reason)

    def stopped(self) -> bool:
        return self._code.done()

    async def code(self) -> int:
        """Wait for the end."""
        return await self._code

    def over(self) -> None:
        """All is closed in time."""
        if self._last_resort is not None:
            self._last_resort.cancel()

    def _arm(self, code: int) -> None:
        if self._last_resort is None:
            # What was promised is in the journal, so an abrupt end loses nothing.
            self._last_resort = threading.Timer(EXIT_SECONDS, os._exit, (code,))
            self._last_resort.daemon = True
            self._last_resort.start()


async def run(app: App, stdio: Stdio, client_process_id: int | None) -> int:
    """Serve the client until it goes away or asks us to exit; the exit code is returned."""
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_log_loop_fault)
    ending = Ending(loop)
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), ending.stop_on_signal)
    output = Output(loop, stdio.sink, ending.stop)
    client_gone = partial(ending.stop, 0, "the client's process has ended")
    sidecar = Sidecar(app, output.send, ending.stop, lambda pid: watch(loop, pid, client_gone))
    app.register(sidecar)
    if client_process_id is not None:
        watch(loop, client_process_id, client_gone)
    gc.freeze()  # What is loaded stays; a full collection need not look at it.
    reader = Input(sidecar.protocol.receive, ending.stop, ending.stopped)
    await open_input(loop, stdio.source, reader)
    code = await ending.code()
    sidecar.protocol.abandon()
    _, fault = outcome(app.close)
    if fault is not None:
        log_bug("close", fault)
        code = 1
    await output.flush(FLUSH_SECONDS)
    ending.over()
    return code


def _level(code: int) -> int:
    return 20 if code == 0 else 40


def _log_loop_fault(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    fault = context.get("exception")
    where = f", {place_of(fault)}" if fault is not None else ""
    log.error("event loop: %s%s", clean(context["message"]), where)
