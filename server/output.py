"""What a command prints for programs and people, and the exit codes that commands give."""

import os
import sys

import click

DONE, FAILED, WRONG_INPUT = 0, 1, 2


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
