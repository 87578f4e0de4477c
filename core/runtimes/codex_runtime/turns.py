"""The turns of one thread: which is open, and whether its end is told."""

from collections.abc import Iterator
from typing import TypeAlias

from core.events import Event, Prompt, SelectedSkill, TurnEnd
from core.recordings.contract import BLOCKED, ENDED, NOT_RECORDED

Told: TypeAlias = tuple[Event, str]  # An event, and what the recorded session did there.

COMPLETED, INTERRUPTED, FAILED = "completed", "interrupted", "failed"


class Turn:
    """One turn, as far as it is told."""

    __slots__ = (
        "id",
        "is_active",
        "is_answered",
        "is_counted",
        "is_ended",
        "is_prompted",
        "is_stopped",
        "last_text",
        "outcome",
        "stops",
    )

    def __init__(self, turn_id: str) -> None:
        self.id = turn_id
        self.is_active = False  # Something happened since its last stop.
        self.is_answered = False  # The last thing in it is a text of the model.
        self.is_counted = True  # An end of it is told after its last usage.
        self.is_ended = False  # Its end is recorded and told.
        self.is_prompted = False
        self.is_stopped = False  # A stop hook was run; it tells of each stop.
        self.last_text: str | None = None
        self.outcome: str | None = None  # Known before its end is.
        self.stops = 0


class Turns:
    """Opens and ends turns; what it gives is what tells so."""

    def __init__(self, is_human: bool) -> None:
        self.open: Turn | None = None
        self.has_ids = False  # The raw events name the turns themselves.
        self._is_human = is_human
        self._known: set[str] = set()  # Every turn so far.

    @property
    def id(self) -> str | None:
        """The open turn."""
        return None if self.open is None else self.open.id

    def enter(self, turn_id: str, *, named: bool = True) -> Iterator[Told]:
        """Something belongs to this turn: it is opened if it is new, and ends the one before."""
        self.has_ids |= named
        if turn_id and turn_id not in self._known:
            yield from self.close()
            self._known.add(turn_id)
            self.open = Turn(turn_id)

    def enter_new(self) -> Iterator[Told]:
        """A turn that nothing names begins."""
        number = len(self._known) + 1
        while f"turn-{number}" in self._known:
            number += 1
        yield from self.enter(f"turn-{number}", named=False)

    def act(self) -> None:
        """Something happened in the open turn."""
        if self.open is not None:
            self.open.is_active, self.open.is_answered = True, False

    def answer(self, text: str) -> None:
        """The model wrote a text for the user."""
        if self.open is not None:
            self.open.is_active = self.open.is_answered = True
            self.open.last_text = text or self.open.last_text

    def fail(self, outcome: str) -> None:
        """What ends the open turn is known before its end is."""
        if self.open is not None:
            self.open.is_active, self.open.outcome = True, outcome

    def prompted(self) -> Iterator[Told]:
        """Open the account of a turn that began without a prompt, as a compaction's does."""
        if self.open is not None and not self.open.is_prompted:
            self.open.is_prompted = True
            yield Prompt(self.open.id, "", from_human=False), NOT_RECORDED

    def prompt(
        self, text: str, skills: tuple[SelectedSkill, ...], *, is_named: bool
    ) -> Iterator[Told]:
        """A prompt came in the open turn, or opens one where the rows name no turns."""
        if self.open is None or not (self.has_ids and (is_named or not self.open.is_ended)):
            yield from self.enter_new()
        assert self.open is not None
        self.open.is_prompted = True
        self.act()
        yield Prompt(self.open.id, text, self._is_human, skills), NOT_RECORDED

    def use(self) -> None:
        """Usage was reported in the open turn."""
        self.act()
        if self.open is not None:
            self.open.is_counted = False

    def stop(self, turn_id: str, text: str | None, *, is_repeated: bool = False) -> Iterator[Told]:
        """A stop hook is asked; again, when an earlier stop of this turn was blocked."""
        turn = self.open
        if turn is None or turn.is_ended or (turn_id and turn.id != turn_id):
            return
        turn.is_stopped = True
        turn.stops += is_repeated and not turn.stops
        turn.last_text = text or turn.last_text
        yield self._end(turn, COMPLETED, NOT_RECORDED)

    def block(self) -> Iterator[Told]:
        """A record says that the stop was blocked; a second one about it adds nothing."""
        turn = self.open
        if turn is not None and turn.is_active and not turn.is_stopped:
            yield self._end(turn, COMPLETED, BLOCKED)

    def end(self, turn_id: str, outcome: str, text: str | None) -> Iterator[Told]:
        """A record says that the turn is over."""
        if turn_id:
            yield from self.enter(turn_id)
        elif self.open is None:
            yield from self.enter_new()
        turn = self.open
        if turn is None or turn.is_ended or (turn_id and turn.id != turn_id):
            return
        turn.is_ended = True
        turn.last_text = text or turn.last_text
        if outcome == COMPLETED:
            outcome = turn.outcome or COMPLETED
        if outcome != COMPLETED or not turn.is_stopped or not turn.is_counted:
            recorded = ENDED if outcome == COMPLETED else NOT_RECORDED
            yield self._end(turn, outcome, recorded)

    def close(self) -> Iterator[Told]:
        """Nothing more comes of the open turn, and nothing told of its end."""
        turn = self.open
        if turn is not None and turn.is_active and not turn.is_ended:
            outcome = turn.outcome or (COMPLETED if turn.is_answered else INTERRUPTED)
            turn.is_ended = True
            yield self._end(turn, outcome, NOT_RECORDED)

    def _end(self, turn: Turn, outcome: str, recorded: str) -> Told:
        event = TurnEnd(turn.id, outcome, turn.last_text, stop_hook_active=turn.stops > 0)
        turn.stops += 1
        turn.is_active, turn.is_counted = False, True
        return event, recorded
