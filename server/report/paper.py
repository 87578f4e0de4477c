"""Text in columns for a terminal: cut, filled up, side by side, with colours or without."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import click
from rich.cells import cell_len, set_cell_size

from server.looks import LOOKS
from server.report.words import said

# A line may end after a space, and after any Chinese character or sign.
_WORD = re.compile("[\u3000-\u9fff\uff00-\uffef]|[^ \u3000-\u9fff\uff00-\uffef]+ *| +")


class Paper(NamedTuple):
    """How to write: so many columns, with colours or without, in one language."""

    columns: int
    colour: bool
    locale: str

    def say(self, key: str, **values: Any) -> str:
        """Say a text of the table of words."""
        return said(self.locale, key, **values)

    def style(self, text: str, **looks: Any) -> str:
        """Write a text with looks, where there are colours."""
        return click.style(text, **looks) if self.colour and text else text

    def cut(self, text: str) -> str:
        """Cut a line to the columns."""
        return left(text, self.columns).rstrip()

    def cells(self, kind: Any, wide: int) -> str:
        """Draw so many cells of a kind."""
        colour, letter = LOOKS.get(kind, ("white", "."))
        return self.style("█" * wide, fg=colour) if self.colour else letter * wide

    def wrapped(self, texts: list[str], kinds: list[str] | None = None) -> Iterator[str]:
        """Write texts side by side, on as many lines as they need; each with its kind's cell."""
        line, used = "", 0
        for at, text in enumerate(texts):
            mark, wide = "", cell_len(text) + 3
            if kinds is not None:
                mark = self.cells(kinds[at], 1) + " "
                wide += 2
            if line and used + wide - 3 > self.columns:
                yield line.rstrip()
                line, used = "", 0
            line += f"{mark}{text}   "
            used += wide
        if line:
            yield line.rstrip()

    def filled(self, text: str) -> Iterator[str]:
        """Write a sentence on as many lines as it needs."""
        line = ""
        for word in _WORD.findall(text):
            if line and cell_len(line) + cell_len(word.rstrip()) > self.columns:
                yield line.rstrip()
                line = ""
            line += word
        if line:
            yield line.rstrip()


def left(text: str, columns: int) -> str:
    """Fill a text up to so many columns at its end, or cut it there."""
    if cell_len(text) > columns:
        return set_cell_size(text, columns - 1).rstrip() + "…"
    return set_cell_size(text, columns)


def right(text: str, columns: int) -> str:
    """Fill a text up to so many columns at its start."""
    return " " * max(0, columns - cell_len(text)) + text
