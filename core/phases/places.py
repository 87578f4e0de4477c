"""Where things stand in a plan's text, so that an editor can point at them.

Lines end with LF, CR LF or CR, as in the language server protocol; columns are code points; both
count from 0.
"""

import re
from bisect import bisect_right
from typing import NamedTuple

# As in LSP. Not str.splitlines: to a client a form feed or U+2028 ends no line.
LINE_BREAK = re.compile("\r\n|\n|\r")


class Span(NamedTuple):
    """A range of a text; the end is not part of it."""

    line: int
    column: int
    end_line: int
    end_column: int


class Problem(NamedTuple):
    """A fault: where, its stable code, what is wrong, and what to write instead."""

    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    message: str
    mend: str


class Places:
    """The ranges of phases, criteria and skills, also of a plan that has faults."""

    __slots__ = ("criterion", "phase", "skill")

    def __init__(self) -> None:
        self.phase: dict[int, Span] = {}  # 0-based index -> the id, else the phase's first key.
        self.criterion: dict[str, Span] = {}  # criterion id -> kind and arguments.
        self.skill: dict[tuple[int, str], Span] = {}  # (phase index, canonical id) -> the name.


class Lines:
    """The line starts of one text."""

    __slots__ = ("_starts",)

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in LINE_BREAK.finditer(text))]

    def span(self, start: int, end: int) -> Span:
        """Give the range between two code point offsets."""
        return Span(*self._position(start), *self._position(end))

    def _position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset) - 1
        return line, offset - self._starts[line]
