"""Starts the sidecar on standard input and output.

    serve(make_app, client_process_id=None, log_file=None) -> exit code

`make_app` gives the application (handlers/method.py, App) and is called only when nothing printed
can reach the protocol any more; so it should import what it needs itself. Exit codes: 0 after
shutdown and exit, when the client goes away (end of input, closed output, its process ends), and on
SIGTERM; 1 after exit without shutdown, on a broken stream, when closing failed, and when it cannot
start.
"""

import gc
import os
import signal
import sys
from collections.abc import Callable

from server.stdio import claim_stdio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from handlers.method import App

# A full collection is the longest pause of a resident process; most of what we make is not cyclic.
GC_THRESHOLDS = (50_000, 20, 50)
# With four workers that compute, the loop answered within 20 ms instead of 120 (95 of 100 times).
SWITCH_SECONDS = 0.0005


def serve(
    make_app: "Callable[[], App]", *, client_process_id: int | None, log_file: str | None
) -> int:
    """Serve one client until it goes away; its standard streams are ours from now on."""
    try:
        stdio = claim_stdio()
    except OSError:
        return _cannot_start("it needs an open standard input and output")
    # Until the loop runs there is nothing to flush.
    signal.signal(signal.SIGTERM, lambda _number, _frame: os._exit(0))
    gc.set_threshold(*GC_THRESHOLDS)
    sys.setswitchinterval(SWITCH_SECONDS)
    import asyncio

    from server.log import start_logging

    try:
        start_logging(log_file)
    except OSError as error:
        return _cannot_start(f"cannot open the log file: {error.strerror}")
    from server.connection import run

    return asyncio.run(run(make_app(), stdio, client_process_id))


def _cannot_start(why: str) -> int:
    if sys.stderr is not None:  # It is None when it was closed before the start.
        sys.stderr.write(f"turnkeeper: {why}\n")
    return 1
