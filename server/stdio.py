"""Takes the standard streams away from everybody but the transport.

Imports next to nothing, so that it can run before anything else has a chance to print.
"""

import os
import sys
from typing import NamedTuple


class Stdio(NamedTuple):
    """The client's two streams, as file descriptors that no child inherits."""

    source: int
    sink: int


def claim_stdio() -> Stdio:
    """Move the protocol to private descriptors; then 0 reads nothing and 1 is another name for 2.

    What a print, a C library or a child process writes to 1 lands in the log, and a child cannot
    eat the client's input. Raises OSError when the process was started without 0 or 1.
    """
    for descriptor in (0, 1):
        os.fstat(descriptor)
    nothing = os.open(os.devnull, os.O_RDWR)
    if nothing == 2:  # Started without standard error: what is printed goes nowhere.
        os.set_inheritable(2, True)
        sys.stderr = os.fdopen(2, "w", closefd=False)
    claimed = Stdio(os.dup(0), os.dup(1))
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    if nothing > 2:
        os.close(nothing)
    sys.stdout = sys.stderr
    return claimed
