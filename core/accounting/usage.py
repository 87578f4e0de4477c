"""What the model requests of a session used, each counted once, in the turn where it first came."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

REPORTED = "host"  # Who says how large the window is, where nothing else is said.
COMPACTION = "compaction"
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


class Fill(NamedTuple):
    """The tokens in the window by another source than a request's usage."""

    used: int
    source: str


class _Turn:
    """The usage of one turn."""

    __slots__ = ("inherited", "last", "last_id", "messages", "partial", "sums")

    def __init__(self) -> None:
        self.sums = NOTHING
        self.last = NOTHING  # The last request that sent something, else the last one.
        self.last_id: str | None = None
        self.messages = 0  # Requests that count here.
        self.inherited = 0  # Reports of requests that count in the session this was forked from.
        self.partial: list[str] = []  # Messages that had not ended when last written.

    def add(self, figures: Figures) -> None:
        """Add usage that is no single request's; how many they were nobody says."""
        self.sums = _add(self.sums, figures)
        self.messages += 1

    def append(self, message_id: str | None, figures: Figures) -> None:
        """Add a request."""
        self.add(figures)
        # An output alone does not say how full the window is, so what did say so stays.
        if figures.used > 0 or self.last.used == 0:
            self.last, self.last_id = figures, message_id

    def replace(self, message_id: str | None, known: Figures, figures: Figures) -> None:
        """Count a request anew."""
        grown = [now - before for now, before in zip(figures, known, strict=True)]
        self.sums = _add(self.sums, Figures(*grown))
        if self.last_id == message_id:
            self.last = figures

    def mark(self, message_id: str, partial: bool) -> None:
        """Say whether a message has ended."""
        if message_id in self.partial:
            self.partial.remove(message_id)
        if partial:
            self.partial.append(message_id)

    def join(self, earlier: "_Turn") -> None:
        """Take an earlier turn of the same name in."""
        self.sums = _add(earlier.sums, self.sums)
        self.messages += earlier.messages
        self.inherited += earlier.inherited
        self.partial = earlier.partial + self.partial

    def to_json(self) -> list[Any]:
        """Give it as JSON values."""
        figures = [list(self.sums), list(self.last)]
        return [*figures, self.last_id, self.messages, self.inherited, self.partial]

    @classmethod
    def from_json(cls, data: list[Any]) -> "_Turn":
        """Read what `to_json` wrote."""
        turn = cls()
        turn.sums, turn.last = Figures(*data[0]), Figures(*data[1])
        turn.last_id, turn.messages, turn.inherited, turn.partial = data[2:]
        return turn


class Requests(NamedTuple):
    """How many requests a turn's usage is the sum of, and what to know about it."""

    messages: int
    inherited: int = 0
    partial: int = 0


class UsageLedger:
    """Usage of one session by turn.

    Invariant: the sums of the turns are the sums over message ids, each with its last figures, and
    over the reports without an id; a report that changes nothing adds nothing.
    """

    __slots__ = ("_fill", "_owned", "_stale", "_totals", "_turns", "_window", "_window_source")

    def __init__(self) -> None:
        self._owned: dict[str, tuple[str, Figures]] = {}  # Message id: (turn, its figures).
        self._turns: dict[str, _Turn] = {}
        self._totals = NOTHING  # The last running totals that were reported.
        self._stale = False
        self._fill: Fill | None = None  # Until the next usage.
        self._window: int | None = None
        self._window_source = REPORTED

    def report(
        self,
        turn_id: str,
        figures: Figures,
        *,
        message_id: str | None = None,
        window: int | None = None,
        cumulative: bool = False,
        includes_cache: bool = False,
        inherited: bool = False,
        partial: bool = False,
        is_sum: bool = False,
    ) -> str:
        """Take one report of the host; give the turn in which it counts.

        The last report of a message id counts. Without an id each report is one request. Running
        totals (`cumulative`) count by their difference to the last ones, never below 0. With
        `includes_cache` the input still contains what the cache gave. An `inherited` report says
        how full the window is and adds nothing; a `partial` one is of a message not yet ended; one
        that `is_sum` is of several requests and does not say how full the window is.
        """
        if includes_cache:
            sent = figures.input - figures.cache_read - figures.cache_creation
            figures = figures._replace(input=max(0, sent))
        known = NOTHING
        if message_id and message_id in self._owned:
            turn_id, known = self._owned[message_id]
        if cumulative:
            figures, self._totals = _add(known, _growth(self._totals, figures)), figures
        if window is not None and window > 0:
            self._window, self._window_source = window, REPORTED
        if inherited:
            self._inherit(turn_id, figures)
            return turn_id
        if known != NOTHING:
            self._turns[turn_id].replace(message_id, known, figures)
        elif figures != NOTHING:
            turn = self._turn(turn_id)
            if is_sum:
                turn.add(figures)
            else:
                turn.append(message_id, figures)
                if figures.used > 0:
                    self._stale, self._fill = False, None
        if message_id:
            self._own(message_id, turn_id, figures)
            owner = self._turns.get(turn_id)
            if owner is not None and (partial or owner.partial):
                owner.mark(message_id, partial)
        return turn_id

    def compacted(self, post_tokens: int | None = None, source: str = COMPACTION) -> None:
        """Take note that the context was compacted: no report so far says how full it is now.

        `post_tokens` is what the host says is left.
        """
        self._stale = True
        self._fill = None if post_tokens is None else Fill(post_tokens, source)

    def filled(self, used: int | None, window: int | None, source: str) -> None:
        """Take the host's own word about its window; it counts until the next usage.

        With neither figure it says that usage so far does not tell how full the window is.
        """
        if used is None and window is None:
            self._stale = True
        if used is not None:
            self._fill = Fill(used, source)
        if window is not None and window > 0:
            self._window, self._window_source = window, source

    @property
    def stale(self) -> bool:
        """Say whether a compaction came after the last request."""
        return self._stale

    def turn(self, turn_id: str) -> Figures | None:
        """Sum the requests of a turn; None when no usage was reported for it."""
        found = self._turns.get(turn_id)
        return found.sums if found is not None and any(found.sums) else None

    def owned(self, message_id: str) -> tuple[str, Figures] | None:
        """Say in which turn a message counts and with what; None for one that is not known."""
        return self._owned.get(message_id)

    def requests(self, turn_id: str) -> Requests:
        """Count the requests of a turn."""
        turn = self._turns.get(turn_id)
        if turn is None:
            return Requests(0)
        return Requests(turn.messages, turn.inherited, len(turn.partial))

    @property
    def window(self) -> int | None:
        """The context window in tokens, as last reported."""
        return self._window

    @property
    def window_source(self) -> str:
        """Who reported the size of the window."""
        return self._window_source

    @property
    def told_fill(self) -> Fill | None:
        """The fill by another source than usage; None once usage came after it."""
        return self._fill

    def baseline(self) -> Baseline | None:
        """Give the newest request, also when it is stale."""
        return newest_baseline(turn.last for turn in reversed(self._turns.values()))

    def fill(self) -> int | None:
        """Give the tokens in the window as last reported; None when nothing says so."""
        if self._fill is not None:
            return self._fill.used
        baseline = self.baseline()
        if self._stale or baseline is None or baseline.weak:
            return None
        return baseline.figures.used

    def rename_turn(self, old: str, new: str) -> None:
        """Give the newest turn the name under which it is known from now on."""
        turn = self._turns.pop(old, None)
        if turn is not None:
            earlier = self._turns.pop(new, None)
            if earlier is not None:
                turn.join(earlier)
            self._turns[new] = turn
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
            "turns": [[name, *turn.to_json()] for name, turn in self._turns.items()],
            "totals": list(self._totals),
            "stale": self._stale,
            "fill": None if self._fill is None else list(self._fill),
            "window": [self._window, self._window_source],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "UsageLedger":
        """Read what `to_json` wrote."""
        ledger = cls()
        for turn_id, run in data["owned"]:
            for message_id, *figures in run:
                ledger._owned[message_id] = (turn_id, Figures(*figures))
        for name, *turn in data["turns"]:
            ledger._turns[name] = _Turn.from_json(turn)
        ledger._totals = Figures(*data["totals"])
        ledger._stale = data["stale"]
        ledger._fill = None if data["fill"] is None else Fill(*data["fill"])
        ledger._window, ledger._window_source = data["window"]
        return ledger

    def _turn(self, turn_id: str) -> _Turn:
        turn = self._turns.get(turn_id)
        if turn is None:
            turn = self._turns[turn_id] = _Turn()
        return turn

    def _inherit(self, turn_id: str, figures: Figures) -> None:
        turn = self._turn(turn_id)
        turn.inherited += 1
        if figures.used > 0:
            self._stale, self._fill = False, None
            turn.last, turn.last_id = figures, None

    def _own(self, message_id: str, turn_id: str, figures: Figures) -> None:
        self._owned[message_id] = (turn_id, figures)
        if len(self._owned) > OWNED_IDS_MAX:
            del self._owned[next(iter(self._owned))]


def _add(one: Figures, other: Figures) -> Figures:
    return Figures(one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3])


def _growth(before: Figures, now: Figures) -> Figures:
    return Figures(*(max(0, n - b) for b, n in zip(before, now, strict=True)))
