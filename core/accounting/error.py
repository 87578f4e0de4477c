"""How far the estimate is off, measured against the usage that the provider reports.

Between two consecutive requests of one turn the reported input grows by what was appended
meanwhile. What was appended is known by its length, so each such pair is a measurement.
"""

from typing import Any, NamedTuple

from core.accounting.estimator import UNITS_PER_TOKEN

SAMPLES_KEPT = 512  # Of the newest measurements; the sums are over all.
CALIBRATING_SAMPLES_MIN = 8  # Fewer measurements correct no figure.
WIDE_SHARE_MIN = 0.02  # Below it the samples say nothing about wide scripts.
PER_MILLE = 1000
PER_MILLE_MAX = 1_000_000


class Measured(NamedTuple):
    """What the measurements say; errors and ratios in per mille.

    An error is |estimate - change| / change. A ratio is reported tokens by estimated tokens:
    `ratio` of text apart from wide scripts, `wide_ratio` of wide scripts, if any was measured.
    """

    samples: int
    median: int
    p90: int
    ratio: int
    wide_ratio: int | None = None

    def calibrated(self, tokens: int, wide: int = 0) -> int | None:
        """Correct an estimate of so many tokens, of which `wide` units are of wide scripts.

        None while too little was measured.
        """
        if self.samples < CALIBRATING_SAMPLES_MIN:
            return None
        wide_tokens = min(tokens, wide // UNITS_PER_TOKEN)
        ratio = self.ratio if self.wide_ratio is None else self.wide_ratio
        return (
            (tokens - wide_tokens) * self.ratio + wide_tokens * ratio + PER_MILLE // 2
        ) // PER_MILLE


class ErrorLedger:
    """Pairs what was appended with how the reported input grew.

    A request that is told of cuts off what was appended before it; where a host tells of none, its
    usage does. Nothing is measured over a compaction, a new turn or a window that shrank.
    """

    __slots__ = ("_appended", "_cut", "_errors", "_last", "_last_id", "_sums", "samples")

    def __init__(self) -> None:
        self._appended = [0, 0]  # UTF-16 units since the last request, and those of wide scripts.
        self._cut: list[int] | None = None  # What was appended before the request under way.
        self._last: int | None = None  # Reported input of the last request, cache included.
        self._last_id: str | None = None
        self._errors: list[int] = []  # In per mille.
        # Of estimated tokens n (narrow) and w (wide) and the change c: n*n, n*w, w*w, n*c, w*c,
        # and n, w, c themselves.
        self._sums = [0] * 8
        self.samples = 0

    def append(self, units: int, wide: int) -> None:
        """Take note that so many UTF-16 units were added to the conversation."""
        self._appended[0] += units
        self._appended[1] += wide

    def request(self) -> None:
        """Take note that the model is asked now."""
        if self._cut is None:
            self._cut, self._appended = self._appended, [0, 0]

    def usage(self, message_id: str | None, used: int) -> None:
        """Take the reported input of a request, in tokens, cache included."""
        if message_id is not None and message_id == self._last_id:
            self._last = used or self._last
            return
        cut = self._cut if self._cut is not None else self._appended
        if self._cut is None:
            self._appended = [0, 0]
        self._cut = None
        if self._last is not None and used > self._last and cut[0] > 0:
            self._measure(cut[0], cut[1], used - self._last)
        self._last, self._last_id = used or None, message_id

    def restart(self) -> None:
        """Measure nothing across this point: a new turn, or a compaction."""
        self._appended, self._cut, self._last, self._last_id = [0, 0], None, None, None

    def measured(self) -> Measured | None:
        """Say what was measured; None before the first measurement."""
        if not self._errors:
            return None
        ordered = sorted(self._errors)
        ratio, wide_ratio = self._ratios()
        return Measured(
            self.samples,
            ordered[(len(ordered) - 1) // 2],
            ordered[(len(ordered) * 9 + 9) // 10 - 1],
            ratio,
            wide_ratio,
        )

    def to_json(self) -> list[Any]:
        """Give all of it as JSON values."""
        return [
            self._appended,
            self._cut,
            self._last,
            self._last_id,
            self._errors,
            self._sums,
            self.samples,
        ]

    @classmethod
    def from_json(cls, data: list[Any]) -> "ErrorLedger":
        """Read what `to_json` wrote."""
        ledger = cls()
        (
            ledger._appended,
            ledger._cut,
            ledger._last,
            ledger._last_id,
            ledger._errors,
            ledger._sums,
            ledger.samples,
        ) = data
        return ledger

    def _measure(self, units: int, wide: int, change: int) -> None:
        estimate = -(-units // UNITS_PER_TOKEN)
        self._errors.append(min(PER_MILLE_MAX, abs(estimate - change) * PER_MILLE // change))
        if len(self._errors) > SAMPLES_KEPT:
            del self._errors[0]
        self.samples += 1
        w = wide // UNITS_PER_TOKEN
        n = estimate - w
        for place, value in enumerate((n * n, n * w, w * w, n * change, w * change, n, w, change)):
            self._sums[place] += value

    def _ratios(self) -> tuple[int, int | None]:
        """Fit change = a * narrow + b * wide; one ratio for all where too little is wide."""
        nn, nw, ww, nc, wc, n, w, c = self._sums
        whole = min(PER_MILLE_MAX, c * PER_MILLE // max(1, n + w))
        determinant = nn * ww - nw * nw
        if w < WIDE_SHARE_MIN * (n + w) or determinant <= 0:
            return whole, None
        a = (nc * ww - wc * nw) * PER_MILLE // determinant
        b = (wc * nn - nc * nw) * PER_MILLE // determinant
        return (a, b) if 0 < a < PER_MILLE_MAX and 0 < b < PER_MILLE_MAX else (whole, None)
