"""A recording that is followed: its account in memory, kept up with the file."""

import os
import time
from collections.abc import Iterator

from core.account import NOT_MEASURED, Measured, account
from core.accounted import Accounted
from core.errors import InvalidParams
from core.events import TurnEnd
from core.recordings.book import Book, Measure, TurnBook
from core.recordings.contract import AgentSeen, Head, Loads, Reader, Runtime, Step, UnknownFormat
from core.recordings.recording import Recording, session_start
from core.recordings.tail import Tail
from core.runtimes.registry import runtime
from core.state import Session, Turn

TURNS_KEPT = 20  # Closed turns whose account can still be asked for.
HEADS_MAX = 40  # Times the first rows are looked at again while they lack a folder or a model.
SIDES_SECONDS = 0.5  # How often files of sub-agents are looked for in a session that is at work.
RESTING_SECONDS = 60.0  # A session without news for so long is not; then this many times less.
RESTING_TIMES = 20
SIDES_SHARE = 20  # Looking for them takes at most this part of the time.


class Followed:
    """The session of one recording; nothing of it is written anywhere.

    Texts are read once; what is kept is derived from them. `has_news` stays until it is cleared.
    """

    def __init__(self, recording: Recording, measure: Measure, loads: Loads, seq: int = 0) -> None:
        """Begin at the start of the file; the session's seq goes on from the given one."""
        self.path = recording.path
        self.head: Head = recording.head
        self.has_news = False
        self.pushed_at = 0.0  # As of time.monotonic(), as the times below.
        self.changed_at = 0.0
        self._loads = loads
        self._measure = measure
        self._heads = 0
        self._tail = Tail(self.path, loads)
        self._start(seq)
        self._news: Iterator[None] | None = self._catch_up()

    @property
    def is_behind(self) -> bool:
        """Say whether the last `read` left something for the next one."""
        return self._news is not None

    @property
    def session(self) -> Session:
        """Give the session as far as it was read."""
        return self._book.state

    def read(self, until: float) -> bool:
        """Take in what is new, up to a time as of time.monotonic(); say whether that was all.

        Raises OSError when the file cannot be read any longer.
        """
        if self._news is None:
            self._news = self._catch_up()
        for _ in self._news:
            if time.monotonic() >= until:
                return False
        self._news = None
        return True

    def accounted(self, turn_id: str | None) -> Accounted:
        """Give the account of a turn, of the latest one without an id."""
        turn = self.session.turn
        if turn_id is not None and (turn is None or turn.turn_id != turn_id):
            if turn_id not in self._closed:
                raise InvalidParams(
                    "no account of this turn is kept",
                    hint=f"The last {TURNS_KEPT} turns of a followed session are kept.",
                    field="turnId",
                )
            return _accounted(self._closed[turn_id])
        book = self._book.open_turn()
        if book is not None:
            return _accounted(book)
        data = account(self.session, Turn(None), self._measured(self.session, Turn(None)))
        return Accounted(None, 0, None, False, data)

    def _start(self, seq: int) -> None:
        found = runtime(self.head.runtime)
        assert found is not None
        self._runtime: Runtime = found
        self._reader: Reader = found.reader(self.head)
        self._sides: dict[str, Tail] = {}
        self._sides_at = 0.0
        self._closed: dict[str, TurnBook] = {}
        self._book = Book(self.head.session_id, self._measured, self._close)
        self._book.state.seq = seq
        self._take(Step(1, session_start(self.head)))

    def _begin_anew(self) -> None:
        """Forget what is no longer in the file; what is there now may be another session."""
        self.head = self._head()
        self._start(self.session.seq)

    def _knows_more(self) -> bool:
        """Begin again once the file says more of its session than its first rows did."""
        if (self.head.cwd and self.head.model) or self._heads >= HEADS_MAX:
            return False
        self._heads += 1
        head = self._head()
        if head == self.head:
            return False
        self.head = head
        self._tail = Tail(self.path, self._loads)
        self._start(self.session.seq)
        return True

    def _head(self) -> Head:
        try:
            return Recording(self.path, self._loads, bounded=True).head
        except UnknownFormat:  # There is nothing in it yet.
            return self.head

    def _catch_up(self) -> Iterator[None]:
        """Take in what came since, a row at a time, of the session's file and its sub-agents'."""
        rows = self._tail.read()
        if self._tail.restarted:
            self._begin_anew()
        self._look_for_sides()
        is_grown = False
        for line, row in rows:
            is_grown = True
            for step in self._reader.read(line, row):
                if not isinstance(step.event, AgentSeen):
                    self._take(step)
                elif step.event.agent_id in self._sides:
                    yield from self._read_side(step.event.agent_id)
            yield
        if is_grown and self._knows_more():
            yield from self._catch_up()
            return
        for agent_id in list(self._sides):
            yield from self._read_side(agent_id)

    def _read_side(self, agent_id: str) -> Iterator[None]:
        try:
            for line, row in self._sides[agent_id].read():
                for step in self._reader.read_side(agent_id, line, row):
                    if not isinstance(step.event, AgentSeen):
                        self._take(step)
                yield
        except OSError:
            del self._sides[agent_id]

    def _look_for_sides(self) -> None:
        now = time.monotonic()
        if self._runtime.sides is None or now < self._sides_at:
            return
        for side in self._runtime.sides(self.path):
            if side.agent_id not in self._sides:
                self._sides[side.agent_id] = Tail(side.path, self._loads)
        is_resting = now - self.changed_at > RESTING_SECONDS
        wait = SIDES_SECONDS * (RESTING_TIMES if is_resting else 1)
        self._sides_at = now + max(wait, SIDES_SHARE * (time.monotonic() - now))

    def _take(self, step: Step) -> None:
        before = self.session.seq
        self._book.take(step)
        if self.session.seq != before or isinstance(step.event, TurnEnd):
            self.has_news = True
            self.changed_at = time.monotonic()

    def _close(self, book: TurnBook) -> None:
        if book.turn_id is None:
            return
        self._closed.pop(book.turn_id, None)  # So that it stands last.
        self._closed[book.turn_id] = book
        if len(self._closed) > TURNS_KEPT:
            del self._closed[next(iter(self._closed))]

    def _measured(self, state: Session, turn: Turn) -> Measured:
        # A recording need not say where its session was.
        return self._measure(state, turn) if os.path.isabs(state.workspace) else NOT_MEASURED


def _accounted(book: TurnBook) -> Accounted:
    return Accounted(book.turn_id, 0, book.outcome, False, book.data)
