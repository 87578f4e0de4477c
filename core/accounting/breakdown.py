"""The ten rows and two bars that people look at, computed once so that every client shows the same.

Right values: tests/conformance/breakdown.json.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from core.accounting.kinds import KINDS
from core.accounting.snapshot import Entry
from core.accounting.usage import Baseline

WIDE_CELLS = 100
NARROW_CELLS = 10


class Pending(NamedTuple):
    """What waits in the composer and is not in the context yet, in tokens."""

    text: int = 0
    files: tuple[int, ...] = ()


NOTHING_PENDING = Pending()


class Row(NamedTuple):
    """One of the ten rows; `pending` is the part of its tokens that waits in the composer."""

    kind: str
    tokens: int
    pending: int = 0
    source: str | None = None
    detail: str | None = None


class Breakdown(NamedTuple):
    """All ten rows in their order, and what they are part of."""

    rows: tuple[Row, ...]
    used: int
    pending: int
    window: int | None  # Tokens; None when nobody reported one.

    @property
    def denominator(self) -> int:
        """Tokens that a whole bar and a share of 1 stand for; 0 when there is nothing to show."""
        return self.window or self.used + self.pending

    @property
    def shown(self) -> tuple[Row, ...]:
        """The rows that are shown: those with tokens."""
        return tuple(row for row in self.rows if row.tokens)

    @property
    def ratio(self) -> float | None:
        """How full the window is, at most 1; None without a reported window."""
        return None if self.window is None else min(1.0, self.used / self.window)

    @property
    def remaining(self) -> int | None:
        """Tokens left in the window; None without a reported window."""
        return None if self.window is None else max(0, self.window - self.used)


class Cells(NamedTuple):
    """Neighbouring cells of a bar that belong to one kind."""

    kind: str
    cells: int


class Bars(NamedTuple):
    """The wide and the narrow bar; cells that belong to no kind are left out."""

    cells100: tuple[Cells, ...]
    cells10: tuple[Cells, ...]


def rows(
    entries: Mapping[str, Entry],
    baseline: Baseline | None = None,
    pending: Pending = NOTHING_PENDING,
    window: int | None = None,
) -> Breakdown:
    """Break the context down by the snapshot's kinds and what the last request tells besides."""
    kinds = sum(entry.tokens for entry in entries.values())
    used = max(_used(baseline, kinds), kinds)  # What is known to be there was used.
    cache = 0
    if baseline is not None:
        cache = max(0, baseline.figures.cache_read + baseline.figures.cache_creation)
    return Breakdown(
        (
            *(_kind_row(kind, entries.get(kind), pending) for kind in KINDS),
            Row("conversation", max(0, used - kinds - cache)),
            Row("pending_next_turn", pending.text, pending.text),
            Row("cache_or_previous", cache),
        ),
        used,
        pending.text + sum(pending.files),
        window if window is not None and window > 0 else None,
    )


def bars(breakdown: Breakdown) -> Bars:
    """Draw both bars: first what is used, then what is pending, each in the order of the rows.

    Files have two runs of cells when some are in the context and some still wait.
    """
    used = [(row.kind, row.tokens - row.pending) for row in breakdown.rows]
    pending = [(row.kind, row.pending) for row in breakdown.rows]
    runs = [(kind, tokens) for kind, tokens in (*used, *pending) if tokens > 0]
    whole = breakdown.denominator
    wide = [max(1, -(-tokens * WIDE_CELLS // whole)) for _, tokens in runs]
    narrow = [(2 * tokens * NARROW_CELLS + whole) // (2 * whole) for _, tokens in runs]
    largest = max((tokens for _, tokens in used), default=0)
    if largest > 0 and not any(narrow):
        narrow[[tokens for _, tokens in runs].index(largest)] = 1
    kinds = [kind for kind, _ in runs]
    return Bars(
        _cells(kinds, _trimmed(wide, WIDE_CELLS, least=1)),
        _cells(kinds, _trimmed(narrow, NARROW_CELLS, least=0)),
    )


def format_tokens(tokens: int) -> str:
    """Write a number of tokens for people: 999, 1K, 2.8K, 258K, 1000K; halves are rounded up."""
    if tokens < 1000:
        return str(tokens)
    tenths = (tokens + 50) // 100
    if tenths >= 1000:
        return f"{(tokens + 500) // 1000}K"
    whole, tenth = divmod(tenths, 10)
    return f"{whole}.{tenth}K" if tenth else f"{whole}K"


def _used(baseline: Baseline | None, kinds: int) -> int:
    if baseline is None:
        return 0
    if baseline.weak:
        return kinds + baseline.figures.output
    return max(0, int(baseline.figures.used))


def _kind_row(kind: str, entry: Entry | None, pending: Pending) -> Row:
    waiting = sum(pending.files) if kind == "files_attachments" else 0
    if entry is None:
        return Row(kind, waiting, waiting)
    return Row(kind, entry.tokens + waiting, waiting, entry.source, entry.detail)


def _trimmed(cells: Sequence[int], limit: int, least: int) -> list[int]:
    """Take cells away from the end until they fit, leaving each run its least if that can be."""
    trimmed = list(cells)
    for floor in (least, 0):
        for place in range(len(trimmed) - 1, -1, -1):
            over = max(0, sum(trimmed) - limit)
            trimmed[place] -= min(over, max(0, trimmed[place] - floor))
    return trimmed


def _cells(kinds: Sequence[str], cells: Sequence[int]) -> tuple[Cells, ...]:
    return tuple(Cells(kind, count) for kind, count in zip(kinds, cells, strict=True) if count)
