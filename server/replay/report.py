"""What a replay found, turn by turn, and its JSON form."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from core.recordings.contract import Fault

Json = Any


class Stop(NamedTuple):
    """One turn end: our verdict, and what the recorded session did there."""

    line: int
    recorded: str  # blocked, ended, or "" where the recording tells of no stop.
    verdict: Json


@dataclass
class Turn:
    """One turn as it went."""

    turn_id: str
    injections: list[Json] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)

    @property
    def accounting(self) -> Json:
        return self.stops[-1].verdict["accounting"] if self.stops else None


@dataclass
class Report:
    """The whole replay; counts are of this replay only."""

    session_id: str
    runtime: str
    version: str | None
    turns: dict[str, Turn] = field(default_factory=dict)
    unreadable: list[Fault] = field(default_factory=list)
    refused: list[Fault] = field(default_factory=list)  # Rows that the server would not take.
    receipts: list[Json] = field(default_factory=list)
    plan_state: Json = None  # The PhaseState after arming, then after the last stop.
    advances: int = 0
    shell_calls: int = 0  # What these made is not played.
    played: int = 0  # File changes that were played.
    not_copied: int = 0  # Entries of the given workspace: links, large files.
    not_played: list[str] = field(default_factory=list)  # Paths of those that were not.

    @property
    def blocks(self) -> int:
        return sum(
            stop.verdict["decision"] == "block"
            for turn in self.turns.values()
            for stop in turn.stops
        )

    @property
    def completed(self) -> bool:
        return bool(self.plan_state) and self.plan_state["state"] == "complete"

    def turn(self, turn_id: str) -> Turn:
        """Give the turn of this id, a new one if need be."""
        return self.turns.setdefault(turn_id, Turn(turn_id))

    def add_stop(self, turn_id: str, stop: Stop) -> None:
        """Note a verdict, and the phases that it closed."""
        self.turn(turn_id).stops.append(stop)
        phase = stop.verdict.get("phase")
        if phase is None:
            return
        before, now = _index(self.plan_state), _index(phase)
        if phase["taskId"] == (self.plan_state or {}).get("taskId"):
            self.advances += max(0, now - before)
        self.plan_state = phase

    def to_json(self) -> dict[str, Json]:
        """Give what --json prints."""
        return {
            "sessionId": self.session_id,
            "runtime": self.runtime,
            "turns": [_turn_json(turn) for turn in self.turns.values()],
            "unreadable": [fault._asdict() for fault in self.unreadable],
            "refused": [fault._asdict() for fault in self.refused],
            "blocks": self.blocks,
            "advances": self.advances,
            "completed": self.completed,
            "receipts": self.receipts,
            "notReproduced": {"shellCalls": self.shell_calls, "files": self.not_played},
        }


def _index(phase: Json) -> int:
    return (phase or {}).get("phaseIndex") or 0


def _turn_json(turn: Turn) -> dict[str, Json]:
    return {
        "turnId": turn.turn_id,
        "accounting": turn.accounting,
        "injections": turn.injections,
        "verdicts": [
            {**stop.verdict, "line": stop.line, "recorded": stop.recorded or None}
            for stop in turn.stops
        ],
    }
