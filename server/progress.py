"""A progress bar for people, on stderr."""

import shutil
import sys
import time
from contextlib import suppress

import click

LONG_SECONDS = 0.5  # Work that takes longer shows its progress.
PROGRESS_SECONDS = 0.1
PROGRESS_CELLS = 40


class LateProgress:
    """A bar on stderr that appears only on a terminal and when it takes long.

    It never hides the cursor and has no thread, so that a signal at any moment leaves a line of
    text at the worst.
    """

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._next = time.monotonic() + LONG_SECONDS if sys.stderr.isatty() else float("inf")
        self._columns = shutil.get_terminal_size().columns - 1  # A full line would wrap.
        self._shown = 0  # Columns that are taken.

    def update(self, done: int, total: int) -> None:
        """Show how far it is; a total of 0 is not known yet."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + PROGRESS_SECONDS
        cells = PROGRESS_CELLS * done // total if total else 0
        bar = f"[{'#' * cells:.<{PROGRESS_CELLS}}] {done / total:4.0%}" if total else "reading"
        self._draw(f"{self._verb} {bar}"[: self._columns])

    def close(self) -> None:
        """Clear the line."""
        if self._shown:
            self._draw("")
            self._draw("")

    def _draw(self, line: str) -> None:
        # A signal may come at any point: what is perhaps drawn counts as taken.
        taken, self._shown = self._shown, max(self._shown, len(line))
        with suppress(OSError):  # A terminal that has gone needs no bar.
            click.echo(f"\r{line:<{taken}}", nl=False, err=True)
        self._shown = len(line)
