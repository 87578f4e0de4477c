"""What a command prints for programs and people, and the exit codes that commands give."""

import os
import sys
import tempfile
from contextlib import suppress

import click

DONE, FAILED, WRONG_INPUT = 0, 1, 2
PAGE_MODE = 0o600  # It tells what somebody worked on.


def refuse(*lines: str) -> int:
    """Say why this cannot be done, on stderr."""
    for line in lines:
        click.echo(f"turnkeeper: {line}", err=True)
    return WRONG_INPUT


def write(data: bytes) -> int:
    """Write to stdout; a reader that has seen enough is no failure."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except OSError as error:
        # Python would try again on leaving, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return DONE
        click.echo(f"turnkeeper: cannot write the output: {error.strerror}", err=True)
        return FAILED
    return DONE


def replace_file(path: str, text: str) -> None:
    """Write a file whole or not at all; what is no regular file, such as a pipe, is written to.

    Raises OSError when it cannot be written; then nothing is left of it.
    """
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return
    descriptor, unfinished = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".turnkeeper-")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(unfinished, PAGE_MODE)
        os.replace(unfinished, path)
    finally:
        with suppress(FileNotFoundError):  # It has its name.
            os.unlink(unfinished)
