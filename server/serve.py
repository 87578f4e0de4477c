"""Starts the sidecar on standard input and output.

    serve(make_app, client_process_id=None, log_file=None) -> exit code

`make_app` gives the application (handlers/method.py, App) and is called only when nothing printed
can reach the protocol any more; so it should import what it needs itself. Exit codes: 0 after
shutdown and exit, when the client goes away (end of input, closed output, its process ends), and on
SIGTERM; 1 after exit without shutdown, on a broken stream, or when closing failed.
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


def serve(
    make_app: "Callable[[], App]", *, client_process_id: int | None, log_file: str | None
) -> int:
    """Serve one client until it goes away; its standard streams are ours from now on."""
    stdio = claim_stdio()
    # Until the loop runs there is nothing to flush.
    signal.signal(signal.SIGTERM, lambda _number, _frame: os._exit(0))
    gc.set_threshold(*GC_THRESHOLDS)
    import asyncio

    from server.log import start_logging

    try:
        start_logging(log_file)
    except OSError as error:
        sys.stderr.write(f"turnkeeper: cannot open the log file: {error.strerror}\n")
        return 1
    from server.connection import run

    return asyncio.run(run(make_app(), stdio, client_process_id))
