"""Writes the log: ids, sizes, durations and places, never a text that somebody sent."""

import errno
import logging
import os
import select
import stat
import sys
from typing import IO

LINE_BYTES_MAX = 2048  # A pipe that polls as writable takes PIPE_BUF = 4096 without blocking.
NAME_CHARS_MAX = 80

log = logging.getLogger("turnkeeper")

# O_NONBLOCK: a FIFO without a reader must not hold us up, nor a terminal that was stopped.
_APPEND = (
    os.O_WRONLY
    | os.O_APPEND
    | os.O_CREAT
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
)
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def start_logging(log_file: str | None) -> None:
    """Send the log to a file (appended to, made 0600) or to standard error; raises OSError."""
    logging.raiseExceptions = False
    handler = _StderrHandler() if log_file is None else logging.StreamHandler(_opened(log_file))
    handler.setFormatter(_DiscreetFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("pygls").setLevel(logging.ERROR)  # Its warnings tell of usual races.
    # An orderly end is news for a log file, and noise on a terminal.
    log.setLevel(logging.WARNING if log_file is None else logging.INFO)


def place_of(fault: BaseException) -> str:
    """Where it happened, as type and file:line of the innermost frame of ours; never its text."""
    place = "?"
    ours = False
    traceback = fault.__traceback__
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if name.startswith(_ROOT) or not ours:
            ours = name.startswith(_ROOT)
            place = f"{name.removeprefix(_ROOT)}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return f"{type(fault).__name__} at {place}"


def clean(name: object) -> str:
    """A name that came from outside, fit for a log line or a message."""
    text = str(name)[:NAME_CHARS_MAX]
    return "".join(char if char.isprintable() else "?" for char in text)


def _opened(path: str) -> IO[str]:
    descriptor = os.open(path, _APPEND, 0o600)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISCHR(mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is neither a file nor a terminal")
    return open(descriptor, "a", encoding="utf-8", errors="replace", buffering=1)


class _StderrHandler(logging.Handler):
    """Drops a line rather than wait for a client that does not read our standard error."""

    def __init__(self) -> None:
        super().__init__()
        self._dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record).encode("utf-8", "replace")[:LINE_BYTES_MAX] + b"\n"
        if not _takes_a_line(2):
            self._dropped += 1
            return
        if self._dropped:
            line += b"turnkeeper: %d log lines were dropped before this one\n" % self._dropped
            self._dropped = 0
        try:
            os.write(2, line)
        except OSError:  # Nobody is left to read it.
            self._dropped += 1


def _takes_a_line(descriptor: int) -> bool:
    if sys.platform == "win32":
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(0))


class _DiscreetFormatter(logging.Formatter):
    """Prints our own lines in full; of a library's line only where it came from.

    Libraries put parameters and exception texts into theirs, and those hold prompts.
    """

    def format(self, record: logging.LogRecord) -> str:
        stamp = self.formatTime(record, "%Y-%m-%dT%H:%M:%S")
        if record.name == log.name:
            return f"{stamp} {record.levelname} turnkeeper: {record.getMessage()}"
        fault = record.exc_info[1] if record.exc_info else None
        detail = f", {place_of(fault)}" if fault is not None else ""
        origin = f"{record.name}.{record.funcName}:{record.lineno}"
        return f"{stamp} {record.levelname} {origin}{detail}"
