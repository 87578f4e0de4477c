"""What is written down of a session: facts derived from events, never a prompt's or result's text.

A fact is one journal line. Its kind is its class name in snake_case; fields that hold None are left
out of the line. The state of a session is the fold of its facts (core/session.py, `evolve`).
"""

from typing import Any, NamedTuple, TypeAlias

from core.plan_facts import (
    ChecksRecorded as ChecksRecorded,
)
from core.plan_facts import (
    CorrectionDelivered as CorrectionDelivered,
)
from core.plan_facts import (
    DriveGivenUp as DriveGivenUp,
)
from core.plan_facts import (
    GiveUpNoted as GiveUpNoted,
)
from core.plan_facts import (
    HostCapNeared as HostCapNeared,
)
from core.plan_facts import (
    HostOverrode as HostOverrode,
)
from core.plan_facts import (
    PhaseAdvanced as PhaseAdvanced,
)
from core.plan_facts import (
    PhaseBlocked as PhaseBlocked,
)
from core.plan_facts import (
    PhaseInjected as PhaseInjected,
)
from core.plan_facts import (
    PlanArmed as PlanArmed,
)
from core.plan_facts import (
    PlanCancelled as PlanCancelled,
)
from core.plan_facts import (
    PlanCompleted as PlanCompleted,
)
from core.plan_facts import (
    PlanDeclined as PlanDeclined,
)
from core.plan_facts import (
    PlanDrifted as PlanDrifted,
)
from core.plan_facts import (
    PlanParked as PlanParked,
)
from core.plan_facts import (
    PlanResumed as PlanResumed,
)
from core.plan_facts import (
    SkillOpened as SkillOpened,
)
from core.plan_facts import (
    TurnContinued as TurnContinued,
)
from core.plan_facts import (
    UserAwaited as UserAwaited,
)

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
    wide: int | None = None  # How many of the units are of wide scripts such as Chinese.


class ToolReturned(NamedTuple):
    """A tool answered."""

    tool_use_id: str
    units: int  # UTF-16 units of the result's text.
    is_error: bool = False
    agent_id: str | None = None
    images: int | None = None  # Images in the result; they are not text.
    late_turn: str | None = None
    wide: int | None = None


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
    agent_id: str | None = None  # The sub-agent whose request it was.
    inherited: bool | None = None  # Counts in the session that this one was forked from.
    partial: bool | None = None  # The message had not ended.
    request_id: str | None = None
    is_sum: bool | None = None  # Of several requests.


class FillReported(NamedTuple):
    """The host's own word about its window, in tokens."""

    source: str
    used: int | None = None
    window: int | None = None


class RequestMade(NamedTuple):
    """The model was asked; its parts where the host wrote them down."""

    request_id: str | None = None
    parts: list[list[Any]] | None = None  # [role, name, source, UTF-16 units]
    agent_id: str | None = None


class TextSpoken(NamedTuple):
    """Text of the conversation, by its length alone."""

    by: str
    units: int
    wide: int | None = None
    agent_id: str | None = None


class SkillNoted(NamedTuple):
    """A skill's body was loaded, came again after a compaction, or was dropped."""

    name: str
    state: str
    path: str | None = None
    units: int | None = None  # UTF-16 units of the body, where it was recorded.
    note: str | None = None
    agent_id: str | None = None
    is_result: bool | None = None  # Its text is a tool's result and counts there.


class SkillsListed(NamedTuple):
    """Skills were named to the model."""

    names: list[str]
    is_initial: bool | None = None
    removed: list[str] | None = None


class ContextSupplied(NamedTuple):
    """The host itself put this into the context."""

    context_kind: str
    source: str
    tokens: int | None = None  # None when nobody knows how long it is.
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
    | FillReported
    | RequestMade
    | TextSpoken
    | SkillNoted
    | SkillsListed
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
