"""What a thread used, each response told once, however many rows report it."""

from collections import deque
from typing import NamedTuple

from core.events import Json, Usage
from core.recordings.content import count_of

_KEPT = 64  # Reports that may still be matched with another report of the same response.


class Tokens(NamedTuple):
    """One report, in tokens; the input includes what a cache gave and took."""

    input: int
    output: int
    cached: int = 0
    written: int = 0
    total: int = 0


def tokens(data: Json) -> Tokens | None:
    """Read a report in either spelling; None where input or output is no count."""
    sent, made = _count(data, "input"), _count(data, "output")
    if sent is None or made is None:
        return None
    total = count_of(data, "total_tokens")
    if total is None:
        total = count_of(data, "totalTokens")
    cached, written = _count(data, "cached_input"), _count(data, "cache_write_input")
    return Tokens(sent, made, cached or 0, written or 0, sent + made if total is None else total)


def _count(data: Json, name: str) -> int | None:
    found = count_of(data, f"{name}_tokens")
    if found is not None:
        return found
    first, *rest = name.split("_")
    return count_of(data, first + "".join(word.title() for word in rest) + "Tokens")


def usage(
    found: Tokens,
    window: int | None = None,
    message_id: str | None = None,
    request_id: str | None = None,
) -> Usage:
    """Give a report as an event."""
    return Usage(
        found.input,
        found.output,
        found.cached,
        found.written,
        window,
        message_id,
        input_includes_cache=True,
        request_id=request_id,
    )


class Ledger:
    """Which responses are told already.

    A response may be reported by its id (hooks, token_usage_record) and beside the running total
    of its thread (token_count, tokenUsage/updated), in any order and several times.
    """

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._highest = 0  # Running total so far, in tokens.
        self._totals: set[Tokens] = set()  # Running totals that counted.
        self._last: Tokens | None = None  # The last report without a running total.
        self._left: tuple[Tokens | None, Tokens] | None = None  # The last estimate.
        self._named: deque[Tokens] = deque(maxlen=_KEPT)  # By id, not seen beside a total yet.
        self._unnamed: deque[Tokens] = deque(maxlen=_KEPT)  # Beside a total, their id not seen.

    def is_new_response(self, response_id: str, found: Tokens) -> bool:
        """Take a report that names its response."""
        if response_id in self._ids:
            return False
        self._ids.add(response_id)
        if _taken(self._unnamed, found):
            return False
        self._named.append(found)
        return True

    def is_new_total(self, total: Tokens | None, found: Tokens) -> bool:
        """Take a report beside a running total: it counts when the total has advanced."""
        if total is None:
            is_repeated, self._last = found == self._last, found
            if is_repeated:
                return False
        elif total in self._totals or not self._advances(total, found):
            return False
        else:
            self._highest = total.total
            self._totals.add(total)
        if _taken(self._named, found):
            return False
        self._unnamed.append(found)
        return True

    def _advances(self, total: Tokens, found: Tokens) -> bool:
        # A fork counts from zero again: its first total is that of its first response.
        return total.total > self._highest or total == found

    def is_new_estimate(self, total: Tokens | None, left: Tokens) -> bool:
        """Take what a compaction left, in tokens; an old row, read late, tells nothing."""
        is_repeated, self._left = (total, left) == self._left, (total, left)
        return not is_repeated and (total is None or total.total >= self._highest)


def _taken(waiting: deque[Tokens], found: Tokens) -> bool:
    if found not in waiting:
        return False
    waiting.remove(found)
    return True
