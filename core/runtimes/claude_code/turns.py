"""Which turn is open, as far as the raw events so far have told."""

from collections.abc import Callable
from typing import Literal, TypeAlias

from core.events import Event, Prompt, SelectedSkill, Spoken, TurnEnd
from core.recordings.contract import NOT_RECORDED

OPENING_TURN = "before-first-prompt"  # What comes before the first prompt is a turn of this name.

Door: TypeAlias = Literal["hook", "stream", "transcript"]
Tell: TypeAlias = Callable[[Event, str], None]


class Turn:
    """One turn of the agent."""

    __slots__ = (
        "by_hook",
        "from_hook",
        "id",
        "is_active",
        "is_over",
        "last_text",
        "outcome",
        "stops",
    )

    def __init__(self, turn_id: str) -> None:
        self.id = turn_id
        self.stops = 0
        self.outcome = "completed"
        self.last_text: str | None = None
        self.is_active = True  # Something happened since its last stop.
        self.is_over = False  # Stream-json gave its result: what comes next is another turn.
        self.by_hook = False  # A hook told of a stop of it.
        self.from_hook = False  # A hook told of its prompt.


class Turns:
    """Opens and ends turns; one that several doors tell of is opened and ended once."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self.open_turn: Turn | None = None
        self.announced = ""  # Id of a turn that stream-json began, with a prompt it does not tell.
        self._ids: set[str] = set()
        self._has_stop_hook = False
        self._prompts: dict[str, dict[str, int]] = {}  # Turn -> prompts by door, and how many told.

    def is_new(self, door: Door, prompt_id: str) -> bool:
        """Say whether no other door has told this prompt; hooks and transcripts share its id."""
        counts = self._prompts.setdefault(prompt_id, {})
        counts[door] = counts.get(door, 0) + 1
        if counts[door] <= counts.get("told", 0):
            return False
        counts["told"] = counts[door]
        return True

    def id(self) -> str:
        """Name the open turn; what comes before the first prompt opens one."""
        turn = self.open_turn
        return self._turn().id if turn is None or turn.is_over else turn.id

    def act(self, outcome: str = "completed") -> Turn:
        """Take note that something happened in the open turn, and how it stands now."""
        turn = self.open_turn
        if turn is None or turn.is_over:
            turn = self._turn()
        turn.is_active, turn.outcome = True, outcome
        return turn

    def open(self, turn_id: str) -> Turn:
        """End the open turn and open another one."""
        self.end()
        self.announced = ""
        self.open_turn = turn = Turn(turn_id)
        self._ids.add(turn_id)
        return turn

    def new_id(self, *candidates: str) -> str:
        """Choose the first name that no turn had yet, or make one up."""
        for candidate in candidates:
            if candidate and candidate not in self._ids:
                return candidate
        return f"turn-{len(self._ids) + 1}"

    def is_at_rest(self) -> bool:
        """Say whether the next prompt of a program opens a turn of its own."""
        turn = self.open_turn
        return turn is None or not turn.is_active or turn.outcome == "interrupted"

    def prompt(self, text: str, by_human: bool, skills: tuple[SelectedSkill, ...] = ()) -> None:
        """Tell a prompt of the open turn."""
        self._tell(Prompt(self.id(), text, by_human, skills), NOT_RECORDED)
        if text:
            self._tell(Spoken("user" if by_human else "program", text), NOT_RECORDED)

    def stop(self, recorded: str) -> None:
        """Tell a recorded stop; a second event about the same stop adds nothing."""
        turn = self._turn()
        if turn.is_active and not turn.by_hook:
            self._end(turn, "completed", recorded)

    def finish(self, outcome: str, text: str | None) -> None:
        """Tell the end that stream-json gives a turn, unless a hook has told it."""
        turn = self.open_turn
        if turn is None or turn.is_over:
            return
        turn.last_text = text or turn.last_text
        if turn.is_active and (not turn.by_hook or outcome != "completed"):
            self._end(turn, outcome, NOT_RECORDED)
        turn.is_over = True

    def end(self) -> None:
        """The open turn is over, with a recorded stop or without one."""
        turn = self.open_turn
        if turn is None or not turn.is_active:
            return
        outcome = turn.outcome
        if turn.by_hook and outcome == "completed":
            return
        if turn.from_hook and (self._has_stop_hook or turn.last_text is None):
            # No hook told of a stop: the user broke it off, or it failed.
            outcome = "failed" if outcome == "failed" else "interrupted"
        self._end(turn, outcome, NOT_RECORDED)

    def hook_stop(self, event: TurnEnd, recorded: str) -> None:
        """Tell a stop that waits for an answer: every one is told."""
        turn, self._has_stop_hook = self.open_turn, True
        if turn is not None and turn.id == event.turn_id:
            turn.by_hook, turn.is_active = True, False
            turn.stops += 1
        self._tell(event, recorded)

    def _turn(self) -> Turn:
        turn = self.open_turn
        if turn is not None and not (turn.is_over and self.announced):
            return turn
        announced = self.announced
        turn = self.open(self.new_id(announced or OPENING_TURN))
        if announced:
            # The prompt was given on standard input; its text is not in the stream.
            self._tell(Prompt(turn.id, ""), NOT_RECORDED)
        return turn

    def _end(self, turn: Turn, outcome: str, recorded: str) -> None:
        event = TurnEnd(turn.id, outcome, turn.last_text, stop_hook_active=turn.stops > 0)
        turn.stops += 1
        turn.is_active = False
        self._tell(event, recorded)
