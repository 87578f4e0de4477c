"""Notices the death of another process."""

import asyncio
import os
import sys
from collections.abc import Callable

PID_MAX = 2**31 - 1  # No process of any system has a higher one.
POLL_SECONDS = 0.4  # Where the kernel cannot tell; an exit is due within a second.


def watch(loop: asyncio.AbstractEventLoop, pid: int, gone: Callable[[], None]) -> None:
    """Call gone once the process has ended, at once when there is none.

    A number that can name no process is not watched, and on Windows nothing is: there the end of
    a client closes its pipe to us.
    """
    if not 0 < pid <= PID_MAX or sys.platform == "win32":
        return
    if sys.platform == "linux":
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            gone()
            return
        except OSError:  # An old kernel, or a sandbox that forbids it.
            _poll(loop, pid, gone)
            return
        loop.add_reader(handle, _ended, loop, handle, gone)
    else:
        _poll(loop, pid, gone)


def _ended(loop: asyncio.AbstractEventLoop, handle: int, gone: Callable[[], None]) -> None:
    loop.remove_reader(handle)
    os.close(handle)
    gone()


def _poll(loop: asyncio.AbstractEventLoop, pid: int, gone: Callable[[], None]) -> None:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        gone()
        return
    except PermissionError:
        pass  # It lives, and is somebody else's.
    loop.call_later(POLL_SECONDS, _poll, loop, pid, gone)
