"""What the model requests of a session used, each counted once, in the turn where it first came."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

OWNED_IDS_MAX = 4096  # Message ids remembered in one session; the oldest are forgotten first.


class Figures(NamedTuple):
    """Tokens of one request or of several, in parts that do not overlap."""

    input: int  # Without what was read from or written to a cache.
    output: int
    cache_read: int = 0
    cache_creation: int = 0

    @property
    def used(self) -> int:
        """Tokens that were sent: the input and both parts of the cache."""
        return self.input + self.cache_read + self.cache_creation


class TurnReport(NamedTuple):
    """The last request of a turn, and the context window reported in it, in tokens."""

    last: Figures
    window: int | None = None


class Baseline(NamedTuple):
    """The newest request that says how full the window is."""

    figures: Figures
    weak: bool = False  # Only an output was reported: what was sent is unknown.


class Walk(NamedTuple):
    """What the reports of a session's turns say now."""

    baseline: Baseline | None
    window: int | None


NOTHING = Figures(0, 0)


def walk(reports: Sequence[TurnReport | None]) -> Walk:
    """Find the newest request that sent something, and the newest window; oldest turn first.

    None is a turn whose usage is unreadable.
    """
    readable = [report for report in reversed(reports) if report is not None]
    windows = (report.window for report in readable if report.window and report.window > 0)
    return Walk(newest_baseline(report.last for report in readable), next(windows, None))


def newest_baseline(newest_first: Iterable[Figures]) -> Baseline | None:
    """Find the first request that sent something, else the first with an output, as a weak one."""
    weak = None
    for figures in newest_first:
        if figures.used > 0:
            return Baseline(figures)
        if weak is None and figures.output > 0:
            weak = Baseline(figures, weak=True)
    return weak


class _Turn(NamedTuple):
    sums: Figures
    last: Figures  # The last request that sent something, else the last one.
    last_id: str | None


_NO_USAGE = _Turn(NOTHING, NOTHING, None)


class UsageLedger:
    """Usage of one session by turn.

    Invariant: the sums of the turns are the sums over message ids, each with its last figures, and
    over the reports without an id; a report that changes nothing adds nothing.
    """

    __slots__ = ("_owned", "_stale", "_totals", "_turns", "_window")

    def __init__(self) -> None:
        self._owned: dict[str, tuple[str, Figures]] = {}  # Message id: (turn, its figures).
        self._turns: dict[str, _Turn] = {}
        self._totals = NOTHING  # The last running totals that were reported.
        self._stale = False
        self._window: int | None = None

    def report(
        self,
        turn_id: str,
        figures: Figures,
        *,
        message_id: str | None = None,
        window: int | None = None,
        cumulative: bool = False,
        includes_cache: bool = False,
    ) -> str:
        """Take one report of the host; give the turn in which it counts.

        The last report of a message id counts. Without an id each report is one request. Running
        totals (`cumulative`) count by their difference to the last ones, never below 0. With
        `includes_cache` the input still contains what the cache gave.
        """
        if includes_cache:
            sent = figures.input - figures.cache_read - figures.cache_creation
            figures = figures._replace(input=max(0, sent))
        turn_id, known = self._owned.get(message_id or "", (turn_id, NOTHING))
        if cumulative:
            figures, self._totals = _add(known, _growth(self._totals, figures)), figures
        if window is not None and window > 0:
            self._window = window
        if any(known):
            self._replace(turn_id, message_id, known, figures)
        elif any(figures):
            self._append(turn_id, message_id, figures)
        if message_id:
            self._own(message_id, turn_id, figures)
        return turn_id

    def compacted(self) -> None:
        """Take note that the context was compacted: no report so far says how full it is now."""
        self._stale = True

    @property
    def stale(self) -> bool:
        """Say whether a compaction came after the last request."""
        return self._stale

    def turn(self, turn_id: str) -> Figures | None:
        """Sum the requests of a turn; None when no usage was reported for it."""
        found = self._turns.get(turn_id)
        return found.sums if found is not None and any(found.sums) else None

    @property
    def window(self) -> int | None:
        """The context window in tokens, as last reported with usage."""
        return self._window

    def baseline(self) -> Baseline | None:
        """Give the newest request, also when it is stale."""
        return newest_baseline(turn.last for turn in reversed(self._turns.values()))

    def fill(self) -> int | None:
        """Give the tokens in the window as of the last request; None when nothing says so."""
        baseline = self.baseline()
        if self._stale or baseline is None or baseline.weak:
            return None
        return baseline.figures.used

    def rename_turn(self, old: str, new: str) -> None:
        """Give the newest turn the name under which it is known from now on."""
        turn = self._turns.pop(old, None)
        if turn is not None:
            sums = _add(self._turns.pop(new, _NO_USAGE).sums, turn.sums)
            self._turns[new] = turn._replace(sums=sums)
        for message_id, (turn_id, figures) in self._owned.items():
            if turn_id == old:
                self._owned[message_id] = (new, figures)

    def to_json(self) -> dict[str, Any]:
        """Give all of it as JSON values."""
        runs = groupby(self._owned.items(), key=lambda item: item[1][0])
        return {
            "owned": [
                [turn_id, [[message_id, *owned[1]] for message_id, owned in run]]
                for turn_id, run in runs
            ],
            "turns": [
                [name, list(turn.sums), list(turn.last), turn.last_id]
                for name, turn in self._turns.items()
            ],
            "totals": list(self._totals),
            "stale": self._stale,
            "window": self._window,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "UsageLedger":
        """Read what `to_json` wrote."""
        ledger = cls()
        for turn_id, run in data["owned"]:
            for message_id, *figures in run:
                ledger._owned[message_id] = (turn_id, Figures(*figures))
        for name, sums, last, last_id in data["turns"]:
            ledger._turns[name] = _Turn(Figures(*sums), Figures(*last), last_id)
        ledger._totals = Figures(*data["totals"])
        ledger._stale = data["stale"]
        ledger._window = data["window"]
        return ledger

    def _append(self, turn_id: str, message_id: str | None, figures: Figures) -> None:
        turn = self._turns.get(turn_id, _NO_USAGE)
        turn = turn._replace(sums=_add(turn.sums, figures))
        # An output alone does not say how full the window is, so what did say so stays.
        if figures.used > 0 or turn.last.used == 0:
            turn = turn._replace(last=figures, last_id=message_id)
        self._turns[turn_id] = turn
        if figures.used > 0:
            self._stale = False

    def _replace(
        self, turn_id: str, message_id: str | None, known: Figures, figures: Figures
    ) -> None:
        turn = self._turns[turn_id]
        sums = Figures(*(s + f - k for s, f, k in zip(turn.sums, figures, known, strict=True)))
        turn = turn._replace(sums=sums)
        if turn.last_id == message_id:
            turn = turn._replace(last=figures)
        self._turns[turn_id] = turn

    def _own(self, message_id: str, turn_id: str, figures: Figures) -> None:
        self._owned[message_id] = (turn_id, figures)
        if len(self._owned) > OWNED_IDS_MAX:
            del self._owned[next(iter(self._owned))]


def _add(one: Figures, other: Figures) -> Figures:
    return Figures(*(a + b for a, b in zip(one, other, strict=True)))


def _growth(before: Figures, now: Figures) -> Figures:
    return Figures(*(max(0, n - b) for b, n in zip(before, now, strict=True)))
