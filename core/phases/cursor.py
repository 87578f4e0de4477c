"""Where a session stands in its plan, and how the facts of a plan move it."""

from typing import Any, NamedTuple

from core import facts as f
from core.phases.plan import Phase, Plan, from_json, to_json

IDLE = "idle"
OFFERED = "offered"
ARMED = "armed"
WAITING_USER = "waiting_user"
PARKED = "parked"
GIVEN_UP = "given_up"
COMPLETE = "complete"
DECLINED = "declined"
SUPERSEDED = "superseded"
STATE_LOST = "state_lost"

# A plan is under way: its phase has a number and its skills are evidence.
UNDER_WAY = frozenset({ARMED, WAITING_USER, PARKED, GIVEN_UP})


class Opened(NamedTuple):
    """A skill that was really opened, and in which phase (0-based) by whom."""

    skill: str
    phase_index: int
    agent_id: str | None


class Cursor:
    """The phase state of one session; `evolve` alone changes it."""

    __slots__ = (
        "blocks",
        "blocks_total",
        "correction",
        "criteria",
        "digest",
        "drift",
        "gaps",
        "give_up_note",
        "index",
        "opened",
        "path",
        "plan",
        "status",
        "task_id",
        "unanswered",
        "warnings",
    )

    def __init__(self) -> None:
        self.status = IDLE
        self.plan: Plan | None = None
        self.path: str | None = None
        self.digest: str | None = None
        self.drift: str | None = None  # Digest of the edited plan file that was told of last.
        self.task_id: str | None = None
        self.index = 0  # 0-based; the number of phases once all are closed.
        self.blocks = 0  # Of this phase.
        self.blocks_total = 0
        self.opened: list[Opened] = []
        self.gaps: list[dict[str, Any]] = []
        self.criteria: dict[str, tuple[str, str]] = {}  # criterion id -> (state, why)
        self.correction: str | None = None  # Pending until the next human prompt.
        self.give_up_note = False
        self.warnings: list[str] = []
        self.unanswered = False  # Blocked, and no stop of the host since.

    @property
    def phase(self) -> Phase | None:
        """The current phase; the last one after completion; None without a plan."""
        if self.plan is None:
            return None
        return self.plan.phases[min(self.index, len(self.plan.phases) - 1)]

    @property
    def number(self) -> int:
        """The 1-based number of the current phase; 0 without a plan."""
        return 0 if self.plan is None else min(self.index + 1, len(self.plan.phases))

    @property
    def attempts_left(self) -> int:
        """Blocks that are still allowed: the lesser of this phase's and the plan's."""
        if self.plan is None or self.status not in UNDER_WAY:
            return 0
        limits = self.plan.limits
        return max(
            0,
            min(limits.blocks_per_phase - self.blocks, limits.blocks_total - self.blocks_total),
        )

    def evidence(self, index: int) -> frozenset[str]:
        """Canonical ids of the skills that count as opened for the phase at this index."""
        if self.plan is None:
            return frozenset()
        phase = self.plan.phases[index]
        return frozenset(
            opened.skill
            for opened in self.opened
            if (opened.phase_index == index or (phase.carry and opened.phase_index < index))
            and (opened.agent_id is None or phase.count_subagents)
        )

    def evolve(self, fact: f.Fact) -> None:
        """Take a fact of the plan; facts that say nothing about it change nothing."""
        change = _CHANGES.get(type(fact))
        if self.plan is None and type(fact) in _OF_A_PLAN:
            self.status = STATE_LOST
            self.warnings = ["the plan that was armed cannot be read back"]
        elif change is not None:
            change(self, fact)

    def to_json(self) -> dict[str, Any]:
        """Give the cursor as JSON values for a checkpoint."""
        return {
            "status": self.status,
            "plan": None if self.plan is None else to_json(self.plan),
            "path": self.path,
            "digest": self.digest,
            "drift": self.drift,
            "task_id": self.task_id,
            "index": self.index,
            "blocks": self.blocks,
            "blocks_total": self.blocks_total,
            "opened": [list(opened) for opened in self.opened],
            "gaps": self.gaps,
            "criteria": {key: list(value) for key, value in self.criteria.items()},
            "correction": self.correction,
            "give_up_note": self.give_up_note,
            "warnings": self.warnings,
            "unanswered": self.unanswered,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Cursor":
        """Read what `to_json` wrote."""
        cursor = cls()
        for name, value in data.items():
            setattr(cursor, name, value)
        cursor.plan = None if data["plan"] is None else from_json(data["plan"])
        cursor.opened = [Opened(*opened) for opened in data["opened"]]
        cursor.criteria = {key: (value[0], value[1]) for key, value in data["criteria"].items()}
        return cursor

    def clear_pending(self) -> None:
        """Forget what one phase left open: its gaps, its correction and its criteria."""
        self.gaps = []
        self.criteria = {}
        self.correction = None
        self.unanswered = False


def _armed(cursor: Cursor, fact: f.PlanArmed) -> None:
    cursor.__init__()  # type: ignore[misc]  # A new plan starts from nothing.
    cursor.status = ARMED
    cursor.plan = from_json(fact.plan)
    cursor.path = fact.path
    cursor.digest = fact.digest
    cursor.task_id = fact.task_id
    cursor.warnings = list(fact.warnings or ())


def _drifted(cursor: Cursor, fact: f.PlanDrifted) -> None:
    cursor.drift = fact.digest


def _directed(cursor: Cursor, fact: f.ArmDirected) -> None:
    cursor.status = OFFERED


def _ended_as(status: str) -> Any:
    def change(cursor: Cursor, fact: f.Fact) -> None:
        cursor.clear_pending()
        cursor.give_up_note = False
        cursor.status = status

    return change


def _parked(cursor: Cursor, fact: f.PlanParked) -> None:
    cursor.status = PARKED


def _resumed(cursor: Cursor, fact: f.PlanResumed) -> None:
    if cursor.status == GIVEN_UP:
        cursor.blocks = 0
        cursor.blocks_total = 0
    cursor.status = ARMED
    cursor.give_up_note = False


def _opened(cursor: Cursor, fact: f.SkillOpened) -> None:
    if cursor.status in UNDER_WAY:
        opened = Opened(fact.skill, cursor.index, fact.agent_id)
        if opened not in cursor.opened:
            cursor.opened.append(opened)


def _checked(cursor: Cursor, fact: f.ChecksRecorded) -> None:
    cursor.criteria = {id_: (state, why) for id_, state, why in fact.criteria}


def _blocked(cursor: Cursor, fact: f.PhaseBlocked) -> None:
    cursor.blocks = fact.attempt
    cursor.blocks_total += 1
    cursor.gaps = list(fact.gaps)
    cursor.correction = fact.reason
    cursor.unanswered = True


def _advanced(cursor: Cursor, fact: f.PhaseAdvanced) -> None:
    cursor.clear_pending()
    cursor.index += 1
    cursor.blocks = 0


def _given_up(cursor: Cursor, fact: f.DriveGivenUp) -> None:
    cursor.status = GIVEN_UP
    cursor.correction = None
    cursor.unanswered = False
    cursor.give_up_note = True


def _noted(cursor: Cursor, fact: f.GiveUpNoted) -> None:
    cursor.give_up_note = False


def _delivered(cursor: Cursor, fact: f.CorrectionDelivered) -> None:
    cursor.correction = None


def _awaited(cursor: Cursor, fact: f.UserAwaited) -> None:
    cursor.status = WAITING_USER
    cursor.unanswered = False


def _prompted(cursor: Cursor, fact: f.PromptTaken) -> None:
    if fact.from_human:
        cursor.unanswered = False
        if cursor.status == WAITING_USER:
            cursor.status = ARMED


def _stopped(cursor: Cursor, fact: f.Fact) -> None:
    cursor.unanswered = False


def _lost(cursor: Cursor, fact: f.StateLost) -> None:
    cursor.status = STATE_LOST
    cursor.warnings = [f"{fact.path}: {fact.why}"]


# They are decided of an armed plan alone; without one, the fact that armed it is lost.
_OF_A_PLAN: frozenset[type] = frozenset(
    {
        f.PlanDrifted,
        f.PlanParked,
        f.PlanResumed,
        f.PlanCancelled,
        f.PlanCompleted,
        f.PhaseInjected,
        f.ChecksRecorded,
        f.PhaseBlocked,
        f.PhaseAdvanced,
        f.TurnContinued,
        f.DriveGivenUp,
        f.GiveUpNoted,
        f.CorrectionDelivered,
        f.HostCapNeared,
        f.HostOverrode,
        f.UserAwaited,
    }
)

_CHANGES: dict[type, Any] = {
    f.PlanArmed: _armed,
    f.PlanDrifted: _drifted,
    f.ArmDirected: _directed,
    f.PlanDeclined: _ended_as(DECLINED),
    f.PlanCancelled: _ended_as(DECLINED),
    f.PlanCompleted: _ended_as(COMPLETE),
    f.PlanParked: _parked,
    f.PlanResumed: _resumed,
    f.SkillOpened: _opened,
    f.ChecksRecorded: _checked,
    f.PhaseBlocked: _blocked,
    f.PhaseAdvanced: _advanced,
    f.DriveGivenUp: _given_up,
    f.GiveUpNoted: _noted,
    f.CorrectionDelivered: _delivered,
    f.UserAwaited: _awaited,
    f.StateLost: _lost,
    f.PromptTaken: _prompted,
    f.TurnAccounted: _stopped,
}
