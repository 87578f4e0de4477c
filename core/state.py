"""The state of one session: the fold of its facts, small enough to be a checkpoint.

Invariant: `evolve` (core/session.py) is the only writer; two folds of the same facts are equal.
"""

from typing import Any

from core.accounting.error import ErrorLedger
from core.accounting.invocations import ToolInvocationAccumulator
from core.accounting.usage import UsageLedger
from core.phases.cursor import DECLINED, Cursor

MAIN = ""  # The agent id of the main agent.
UNNAMED = ""  # The id of a turn that no event ever named.
STANDING = ("system_prompt", "rules")  # Kinds that stay in the context once supplied.
CLOSED_TURNS_KEPT = 500  # Turns whose last revision can still be asked for by name.


class Turn:
    """The open account: what entered the context since its prompt."""

    __slots__ = (
        "agents",
        "attachments",
        "composition",
        "final",
        "outcome",
        "revision",
        "selected",
        "settled",
        "skills",
        "supplied",
        "turn_id",
    )

    def __init__(self, turn_id: str | None) -> None:
        self.turn_id = turn_id  # None until an event names it.
        self.agents: dict[str, ToolInvocationAccumulator] = {MAIN: ToolInvocationAccumulator()}
        self.selected: list[list[Any]] = []  # [name, source path or None]
        self.attachments: list[list[Any]] = []  # [name, source, tokens]
        self.supplied: list[list[Any]] = []  # [kind, source, tokens, detail]
        self.skills: list[list[Any]] = []  # [name, state, path, units, note, agent id, is result]
        # The last request that was written down: [id, parts, reported input or None].
        self.composition: list[Any] | None = None
        self.revision = 0  # Turn ends answered so far.
        self.outcome: str | None = None
        self.final = False  # The last turn end was allowed, and nothing came since.
        self.settled = False  # The last turn end was allowed.

    def agent(self, agent_id: str | None) -> ToolInvocationAccumulator:
        """Give the account of this agent, opening it at its first call."""
        account = self.agents.get(agent_id or MAIN)
        if account is None:
            account = self.agents[agent_id or MAIN] = ToolInvocationAccumulator()
        return account

    def to_json(self) -> dict[str, Any]:
        """Give the account as JSON values for a checkpoint."""
        data = {name: getattr(self, name) for name in self.__slots__}
        data["agents"] = {name: account.to_json() for name, account in self.agents.items()}
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Turn":
        """Read what `to_json` wrote."""
        turn = cls(data["turn_id"])
        for name, value in data.items():
            setattr(turn, name, value)
        turn.agents = {
            name: ToolInvocationAccumulator.from_json(account)
            for name, account in data["agents"].items()
        }
        return turn


class Closed:
    """What stays of a closed turn: its last revision, and calls that never got their result."""

    __slots__ = ("late", "outcome", "revision", "seq")

    def __init__(self, revision: int, outcome: str | None, seq: int | None) -> None:
        self.revision = revision
        self.outcome = outcome
        self.seq = seq  # Journal sequence of its last TurnAccounted; None when it never ended.
        self.late: list[list[Any]] = []  # [call or result, tool use id, units]

    def to_json(self) -> list[Any]:
        """Give it as JSON values for a checkpoint."""
        return [self.revision, self.outcome, self.seq, self.late]

    @classmethod
    def from_json(cls, data: list[Any]) -> "Closed":
        """Read what `to_json` wrote."""
        closed = cls(data[0], data[1], data[2])
        closed.late = data[3]
        return closed


class Session:
    """Everything that is known of one session."""

    __slots__ = (
        "accounted_seq",
        "available",
        "closed",
        "composer",
        "cursor",
        "ended",
        "error",
        "kept_going",
        "listed",
        "model",
        "parent_session_id",
        "pending",
        "provider_backend",
        "runtime",
        "seq",
        "session_id",
        "side_usage",
        "standing",
        "started",
        "supplied_kinds",
        "task_id",
        "turn",
        "usage",
        "window",
        "workspace",
    )

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.seq = 0  # Of the last fact folded in.
        self.started = False
        self.ended = False
        # Answers that kept the host going since its prompt or the main agent's last call.
        self.kept_going = 0
        self.runtime = ""
        self.workspace = ""
        self.provider_backend: str | None = None
        self.task_id: str | None = None  # As the host gave it.
        self.model: str | None = None
        self.window: int | None = None  # Tokens, as reported by the host.
        self.available: dict[str, Any] = {}
        self.parent_session_id: str | None = None
        # What the host supplied and every later turn still holds: kind: {source: [tokens, detail]}.
        self.standing: dict[str, dict[str, list[Any]]] = {}
        self.supplied_kinds: list[str] = []  # Kinds that the host supplied itself, sorted.
        self.composer: list[Any] = [0, []]  # [text tokens, [[file name, tokens]]]
        self.turn: Turn | None = None
        self.accounted_seq: int | None = None  # Of the open turn's last TurnAccounted.
        self.closed: dict[str, Closed] = {}
        # Calls of closed turns without a result, by id: [turn, agent, name, skill, path].
        self.pending: dict[str, list[Any]] = {}
        self.usage = UsageLedger()
        self.side_usage: dict[str, UsageLedger] = {}  # Of sub-agents, by their id.
        self.error = ErrorLedger()
        self.listed: dict[str, int] = {}  # Skills named since the last compaction: how often.
        self.cursor = Cursor()

    def without_plan(self) -> "Session":
        """Give the session as if it had declined a plan, for doors that are switched off."""
        other = Session(self.session_id)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        other.cursor = Cursor()
        other.cursor.status = DECLINED
        return other

    def to_json(self) -> dict[str, Any]:
        """Give the state as JSON values for a checkpoint; equal states give equal values."""
        data = {name: getattr(self, name) for name in self.__slots__}
        data["turn"] = None if self.turn is None else self.turn.to_json()
        data["closed"] = {name: closed.to_json() for name, closed in self.closed.items()}
        data["usage"] = self.usage.to_json()
        data["side_usage"] = {name: usage.to_json() for name, usage in self.side_usage.items()}
        data["error"] = self.error.to_json()
        data["cursor"] = self.cursor.to_json()
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Session":
        """Read what `to_json` wrote."""
        session = cls(data["session_id"])
        for name, value in data.items():
            setattr(session, name, value)
        session.turn = None if data["turn"] is None else Turn.from_json(data["turn"])
        session.closed = {name: Closed.from_json(c) for name, c in data["closed"].items()}
        session.usage = UsageLedger.from_json(data["usage"])
        session.side_usage = {
            name: UsageLedger.from_json(usage) for name, usage in data["side_usage"].items()
        }
        session.error = ErrorLedger.from_json(data["error"])
        session.cursor = Cursor.from_json(data["cursor"])
        return session
