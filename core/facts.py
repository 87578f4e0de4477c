"""What is written down of a session: facts derived from events, never a prompt's or result's text.

A fact is one journal line. Its kind is its class name in snake_case; fields that hold None are left
out of the line. The state of a session is the fold of its facts (core/session.py, `evolve`).
"""

from typing import Any, NamedTuple, TypeAlias

JsonObject: TypeAlias = dict[str, Any]


class SessionStarted(NamedTuple):
    """The session began or goes on; a known id keeps its state, except after a clear."""

    runtime: str
    workspace: str
    provider_backend: str | None = None
    task_id: str | None = None
    model: str | None = None
    window: int | None = None  # Tokens, as the host reports it.
    available: JsonObject | None = None  # {tools, mcp_servers, skills: names; system_prompt: units}
    source: str | None = None
    parent_session_id: str | None = None


class SessionEnded(NamedTuple):
    """The session is over until it is started again."""

    reason: str | None = None


class TurnOpened(NamedTuple):
    """An event with no turn open opened an account; an unnamed one takes the next name given."""

    turn_id: str | None = None


class TurnNamed(NamedTuple):
    """The open account, unnamed until now, got its name."""

    turn_id: str


class PromptTaken(NamedTuple):
    """A prompt closed the open account and opened its own, or joined the turn of its name."""

    turn_id: str
    units: int  # UTF-16 units of the text.
    digest: str  # First 16 hex of the text's sha256.
    from_human: bool = True
    routes: int = 0  # Routes hit.
    joins: bool = False  # True when the turn of this name is open already.
    selected: list[list[Any]] | None = None  # [name, source path]
    attachments: list[list[Any]] | None = None  # [name, source, tokens]


class ToolCalled(NamedTuple):
    """A tool was called. Name and path are kept for Skill and Read alone."""

    tool_use_id: str
    name: str
    units: int  # UTF-16 units of the input as compact JSON.
    skill: str | None = None
    path: str | None = None
    partial: bool | None = None  # A read of a part of the file.
    agent_id: str | None = None
    late_turn: str | None = None  # The closed turn that it belongs to.


class ToolReturned(NamedTuple):
    """A tool answered."""

    tool_use_id: str
    units: int  # UTF-16 units of the result's text.
    is_error: bool = False
    agent_id: str | None = None
    images: int | None = None  # Images in the result; they are not text.
    late_turn: str | None = None


class UsageReported(NamedTuple):
    """One model request, in tokens, as the host reported it."""

    input: int
    output: int
    cache_read: int = 0
    cache_creation: int = 0
    window: int | None = None
    message_id: str | None = None
    cumulative: bool = False
    includes_cache: bool = False


class ContextSupplied(NamedTuple):
    """The host itself put this into the context."""

    context_kind: str
    source: str
    tokens: int
    detail: str | None = None


class ComposerChanged(NamedTuple):
    """What waits in the composer, in tokens."""

    tokens: int = 0
    files: list[list[Any]] | None = None  # [name, tokens]


class Compacted(NamedTuple):
    """A compaction was announced (before) or happened (after)."""

    stage: str
    trigger: str | None = None
    pre_tokens: int | None = None
    post_tokens: int | None = None


class TurnAccounted(NamedTuple):
    """The account of a turn as it was answered at a turn end; a later one replaces it."""

    turn_id: str
    revision: int
    outcome: str
    final: bool
    accounting: JsonObject  # As core/accounting/account.py wrote it.


class AgentTurnEnded(NamedTuple):
    """A sub-agent stopped; recorded, never blocked."""

    turn_id: str
    agent_id: str
    outcome: str


class ArmDirected(NamedTuple):
    """A prompt that is not trivial got the arm directive."""

    turn_id: str


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


class StateLost(NamedTuple):
    """What was known of this session's plan cannot be read back; never a silent "no plan"."""

    path: str  # The file that is damaged, below the state root.
    why: str


Fact: TypeAlias = (
    SessionStarted
    | SessionEnded
    | TurnOpened
    | TurnNamed
    | PromptTaken
    | ToolCalled
    | ToolReturned
    | UsageReported
    | ContextSupplied
    | ComposerChanged
    | Compacted
    | TurnAccounted
    | AgentTurnEnded
    | ArmDirected
    | PlanArmed
    | PlanDrifted
    | PlanDeclined
    | PlanParked
    | PlanResumed
    | PlanCancelled
    | PhaseInjected
    | CorrectionDelivered
    | SkillOpened
    | ChecksRecorded
    | PhaseBlocked
    | PhaseAdvanced
    | TurnContinued
    | PlanCompleted
    | DriveGivenUp
    | GiveUpNoted
    | HostCapNeared
    | UserAwaited
    | HostOverrode
    | StateLost
)


def _kind(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


KINDS: dict[str, type[Fact]] = {_kind(cls.__name__): cls for cls in Fact.__args__}
_KIND_OF: dict[type, str] = {cls: kind for kind, cls in KINDS.items()}

# A power cut may not undo these: they are synced before the answer that tells of them.
DURABLE: frozenset[type] = frozenset(
    {
        PlanArmed,
        PlanDeclined,
        PlanParked,
        PlanResumed,
        PlanCancelled,
        PhaseBlocked,
        PhaseAdvanced,
        PlanCompleted,
        DriveGivenUp,
        CorrectionDelivered,
        GiveUpNoted,
        StateLost,
    }
)


def to_line(fact: Fact) -> JsonObject:
    """Give the fact as the JSON object of its journal line, without the store's own keys."""
    line: JsonObject = {"kind": _KIND_OF[type(fact)]}
    for name, value in zip(fact._fields, fact, strict=True):
        if value is not None:
            line[name] = value
    return line


def from_line(line: JsonObject) -> Fact | None:
    """Read a journal line; None for a kind that this version does not know."""
    cls = KINDS.get(line["kind"])
    if cls is None:
        return None
    return cls(**{name: line[name] for name in cls._fields if name in line})
