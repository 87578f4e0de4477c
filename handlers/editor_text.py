"""The text of an open plan: what the loader reads in it, and where, as the client counts."""

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.workspace import PositionCodec

from core.phases.places import LINE_BREAK, Span

if TYPE_CHECKING:
    from core.phases.loader import Loaded

BYTE_ORDER_MARK = "\ufeff"
START = Span(0, 0, 0, 0)


class PlanText:
    """One version of a plan's text, read; whatever it holds, this never raises."""

    __slots__ = ("_codec", "_lines", "_mark", "loaded", "phases", "text")

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self.text = text
        from core.phases.loader import load  # A YAML parser; most processes never open a plan.

        self.loaded: Loaded = load(text)
        self._codec = codec
        self._lines = LINE_BREAK.split(text)
        self._mark = len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0
        self.phases = self._phase_indices()

    def range(self, span: Span) -> types.Range:
        """Give a range of the loader, in code points, in the units that the client chose."""
        return types.Range(
            self._position(span.line, span.column), self._position(span.end_line, span.end_column)
        )

    def line_end(self, line: int) -> types.Position:
        """Give the end of a line, before its line break."""
        return self._codec.position_to_client_units(
            self._lines, types.Position(line, len(self._lines[line]))
        )

    def _position(self, line: int, column: int) -> types.Position:
        # The loader counts without a byte order mark, the client with it.
        column += self._mark if line == 0 else 0
        return self._codec.position_to_client_units(self._lines, types.Position(line, column))

    def _phase_indices(self) -> dict[str, int]:
        """Phase id -> 0-based index in this text, as far as the ids can be read."""
        found: dict[str, int] = {}
        plan = self.loaded.plan
        for index, span in self.loaded.places.phase.items():
            found.setdefault(self._cut(span) if plan is None else plan.phases[index].id, index)
        return found

    def _cut(self, span: Span) -> str:
        mark = self._mark if span.line == 0 else 0
        line = self._lines[span.line]
        return line[span.column + mark : span.end_column + mark].strip("\"'")
