"""Starts this very installation again as a child process."""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def turnkeeper_argv(*args: str) -> list[str]:
    """The argument list that runs `turnkeeper` with args, whatever the child's folder and PATH.

    It goes through the launcher, so the child is safe from a foreign `core` as we are.
    """
    return [sys.executable, "-P", _launcher(), *args]


def _launcher() -> str:
    """In the source tree it stands beside us, in the wheel two folders up (see _launch.py)."""
    beside = os.path.join(_HERE, "_launch.py")
    if os.path.exists(beside):
        return beside
    return os.path.join(os.path.dirname(os.path.dirname(_HERE)), "__main__.py")
