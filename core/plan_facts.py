"""The facts of a plan: how it was armed, what its phases said at each stop, how it ended.

They are facts like those of core/facts.py, which has the rest and the list of them all.
"""

from typing import Any, NamedTuple, TypeAlias

JsonObject: TypeAlias = dict[str, Any]


class PlanArmed(NamedTuple):
    """A plan was frozen and is carried out from its first phase on."""

    task_id: str
    plan: JsonObject  # core/phases/plan.py, to_json
    path: str
    digest: str
    by: str
    warnings: list[str] | None = None


class PlanDrifted(NamedTuple):
    """The plan file is no longer what was armed; its frozen copy counts until it is armed again."""

    task_id: str
    path: str
    digest: str  # sha256 of the file as it is now, hex.


class PlanDeclined(NamedTuple):
    """An offer or an armed plan was declined."""

    reason: str
    by: str
    task_id: str | None = None


class PlanParked(NamedTuple):
    """The armed plan rests."""

    by: str
    task_id: str
    reason: str | None = None


class PlanResumed(NamedTuple):
    """A parked plan goes on; a given-up one goes on with fresh counters."""

    by: str
    task_id: str
    reason: str | None = None


class PlanCancelled(NamedTuple):
    """The plan was dropped."""

    by: str
    reason: str
    task_id: str


class PhaseInjected(NamedTuple):
    """The current phase was put in front of a prompt."""

    turn_id: str
    task_id: str
    phase: int  # 1-based.
    phase_id: str


class CorrectionDelivered(NamedTuple):
    """The pending correction goes out with this prompt's answer; never again."""

    turn_id: str
    task_id: str


class SkillOpened(NamedTuple):
    """A skill was really opened: a good Skill result, or a good whole read of its SKILL.md."""

    tool_use_id: str
    skill: str  # Canonical id, core/phases/plan.py skill_id.
    source: str  # call, read
    name: str  # As called, or the path as read.
    task_id: str | None = None
    phase: int | None = None
    phase_id: str | None = None
    agent_id: str | None = None


class ChecksRecorded(NamedTuple):
    """What the criteria of the current phase said at a turn end."""

    phase_id: str
    criteria: list[list[str]]  # [criterion id, state, why]


class PhaseBlocked(NamedTuple):
    """A turn end was blocked; the correction is pending until the next human prompt."""

    turn_id: str
    task_id: str
    phase: int
    phase_id: str
    attempt: int
    attempts_left: int
    gaps: list[JsonObject]
    reason: str


class PhaseAdvanced(NamedTuple):
    """A phase is closed on its own evidence; the next one begins, or none is left."""

    turn_id: str
    task_id: str
    phase: int
    phase_id: str
    next_phase_id: str | None = None
    artifact_paths: list[str] | None = None  # Paths that its criteria looked at.


class TurnContinued(NamedTuple):
    """The host was asked to go on with the next phase."""

    turn_id: str
    task_id: str


class PlanCompleted(NamedTuple):
    """Every phase is closed."""

    turn_id: str
    task_id: str


class DriveGivenUp(NamedTuple):
    """The caps on blocks are used up: no more blocks until a human resumes or arms anew."""

    turn_id: str
    task_id: str
    phase: int
    phase_id: str
    blocks: int  # Of this phase.
    blocks_total: int


class GiveUpNoted(NamedTuple):
    """The one note about giving up goes out with this prompt's answer."""

    turn_id: str
    task_id: str


class HostCapNeared(NamedTuple):
    """One more answer would reach the host's own cap, so this turn end was let go uncounted."""

    turn_id: str
    task_id: str
    phase: int
    phase_id: str


class UserAwaited(NamedTuple):
    """The agent waits for its user; the next human prompt takes the phase up again."""

    turn_id: str
    task_id: str


class HostOverrode(NamedTuple):
    """The host went on over a block: a prompt came with no stop in between."""

    turn_id: str
    task_id: str
    phase_id: str
