"""What a decision gives: facts to write down, and the answer that they promise."""

from typing import Any, NamedTuple

from core.events import TurnEnd
from core.facts import Fact
from core.phases.criteria import CriterionState

ALLOW = "allow"
BLOCK = "block"
CONTINUE = "continue"


class Flag(NamedTuple):
    """Something that a person should see; `hint` says the next step."""

    code: str
    message: str
    hint: str | None = None


class Injection(NamedTuple):
    """A text for the agent's context; kind is arm_directive, phase, correction or delivery."""

    id: str
    kind: str
    text: str


class Verdict(NamedTuple):
    """Whether a turn may end; `attempt` counts the blocks of this phase, this one included."""

    decision: str = ALLOW
    reason: str = ""
    gaps: tuple[dict[str, Any], ...] = ()
    attempt: int = 0
    attempts_left: int = 0


class Checks(NamedTuple):
    """What must be looked up before a turn end can be decided."""

    event: TurnEnd
    phases_from: int | None  # 0-based index of the first phase to check; None checks nothing.


class ChecksFinished(NamedTuple):
    """A turn end with everything that was looked up for it."""

    event: TurnEnd
    outcomes: tuple[tuple[CriterionState, ...], ...]  # From phases_from on, up to the first unmet.
    measured: Any  # core/accounting/account.py, Measured.
    host_cap: int | None  # Answers in a row after which the host stops listening; None: never.
    plan_digest: str | None = None  # Of the plan file as it is now; None when it cannot be read.
    kept: dict[str, Any] | None = None  # The account of a turn that was closed before this end.


class Decided(NamedTuple):
    """The facts of a decision in order, and what the host hears once they are written."""

    facts: tuple[Fact, ...] = ()
    injections: tuple[Injection, ...] = ()
    verdict: Verdict | None = None
    flags: tuple[Flag, ...] = ()
    deny: str | None = None  # Why a tool call may not run.
    accounting: dict[str, Any] | None = None  # Of a turn end; core/account.py, `view` reads it.
    checks: Checks | None = None  # Nothing is decided yet; look these up first.


NOTHING = Decided()
