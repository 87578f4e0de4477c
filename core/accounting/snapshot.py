"""What a snapshot holds: what really entered the context in one turn, and what is not known."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from core.accounting.error import Measured
from core.accounting.estimator import ESTIMATOR, TOKENS_MAX
from core.accounting.kinds import KINDS
from core.accounting.skill_states import SkillState
from core.accounting.usage import Figures


class Item(NamedTuple):
    """One part of an entry: a tool, a server, a skill, a file."""

    name: str
    tokens: int
    calls: int | None = None
    source: str | None = None
    note: str | None = None  # What people should know before they trust the figure.


class Entry(NamedTuple):
    """What one kind put into the context, in tokens, and where that is known from."""

    tokens: int
    source: str
    detail: str | None = None
    items: tuple[Item, ...] = ()
    calibrated: int | None = None  # `tokens`, corrected by the measured error of the estimate.


def files_entry(items: Iterable[Item]) -> Entry:
    """Make the entry of whole files, one item each."""
    items = tuple(items)
    return Entry(
        sum(item.tokens for item in items),
        " + ".join(item.source or item.name for item in items),
        ", ".join(item.name for item in items),
        items,
    )


class Unknown(NamedTuple):
    """Something that belongs to a kind but has no figure, and why."""

    kind: str
    name: str
    reason: str


class SubAgent(NamedTuple):
    """What entered a sub-agent's own context."""

    agent_id: str
    entries: dict[str, Entry]
    unknown: tuple[Unknown, ...] = ()
    usage: Figures | None = None  # Of its own requests in this turn, in tokens.
    skill_states: tuple[SkillState, ...] = ()
    messages: int = 0  # How many requests that is the sum of.


class Window(NamedTuple):
    """The size of the context window in tokens, as reported; never guessed."""

    tokens: int
    source: str


class Reconciliation(NamedTuple):
    """The reported input of the last request against what the kinds explain, in tokens."""

    input: int  # With what was read from and written to the cache.
    kinds: int
    remainder: int  # Input less kinds: conversation and the like.
    overcount: bool  # True when the kinds come to more than was sent; the remainder is negative.
    error: Measured | None = None  # Of the estimate, as far as it was measured.
    calibrated: int | None = None  # Sum of the kinds, corrected by it.


class Snapshot(NamedTuple):
    """What one turn put into the context."""

    entries: dict[str, Entry]
    unsupported: tuple[str, ...]
    produced_by: str
    provider_backend: str | None = None
    unknown: tuple[Unknown, ...] = ()
    available: dict[str, Any] | None = None  # What could have been used, as the host named it.
    subagents: tuple[SubAgent, ...] = ()
    estimator: str = ESTIMATOR
    window: Window | None = None
    reconciliation: Reconciliation | None = None
    skill_states: tuple[SkillState, ...] = ()


def to_json(snapshot: Snapshot) -> dict[str, Any]:
    """Give the snapshot as JSON values without floats; what is not known is left out."""
    data: dict[str, Any] = {
        "entries": _entries_json(snapshot.entries),
        "unsupported": list(snapshot.unsupported),
        "produced_by": snapshot.produced_by,
        "unknown": [unknown._asdict() for unknown in snapshot.unknown],
        "subagents": [_sub_agent_json(agent) for agent in snapshot.subagents],
        "estimator": snapshot.estimator,
    }
    if snapshot.skill_states:
        data["skill_states"] = [list(state) for state in snapshot.skill_states]
    if snapshot.provider_backend is not None:
        data["provider_backend"] = snapshot.provider_backend
    if snapshot.available is not None:
        data["available"] = snapshot.available
    if snapshot.window is not None:
        data["window"] = snapshot.window._asdict()
    if snapshot.reconciliation is not None:
        data["reconciliation"] = _reconciliation_json(snapshot.reconciliation)
    return data


def from_json(data: dict[str, Any]) -> Snapshot:
    """Read what `to_json` wrote."""
    window, reconciliation = data.get("window"), data.get("reconciliation")
    return Snapshot(
        entries=_entries(data["entries"]),
        unsupported=tuple(data["unsupported"]),
        produced_by=data["produced_by"],
        provider_backend=data.get("provider_backend"),
        unknown=_unknown(data["unknown"]),
        available=data.get("available"),
        subagents=tuple(
            SubAgent(
                agent["agent_id"],
                _entries(agent["entries"]),
                _unknown(agent["unknown"]),
                Figures(*agent["usage"]) if "usage" in agent else None,
                _states(agent),
                agent.get("messages", 0),
            )
            for agent in data["subagents"]
        ),
        estimator=data["estimator"],
        window=Window(**window) if window is not None else None,
        reconciliation=None if reconciliation is None else _reconciliation(reconciliation),
        skill_states=_states(data),
    )


def _reconciliation_json(reconciliation: Reconciliation) -> dict[str, Any]:
    data = _present(reconciliation)
    if reconciliation.error is not None:
        data["error"] = list(reconciliation.error)
    return data


def _reconciliation(data: dict[str, Any]) -> Reconciliation:
    error = data.get("error")
    return Reconciliation(**{**data, "error": None if error is None else Measured(*error)})


def _states(data: dict[str, Any]) -> tuple[SkillState, ...]:
    return tuple(SkillState(*row) for row in data.get("skill_states", ()))


def _present(record: NamedTuple) -> dict[str, Any]:
    return {
        name: min(value, TOKENS_MAX) if type(value) is int else value
        for name, value in record._asdict().items()
        if value is not None
    }


def _entry_json(entry: Entry) -> dict[str, Any]:
    data = _present(entry._replace(items=()))
    del data["items"]
    if entry.items:
        data["items"] = [_present(item) for item in entry.items]
    return data


def _entries_json(entries: dict[str, Entry]) -> dict[str, Any]:
    return {kind: _entry_json(entries[kind]) for kind in KINDS if kind in entries}


def _sub_agent_json(agent: SubAgent) -> dict[str, Any]:
    return {
        "agent_id": agent.agent_id,
        "entries": _entries_json(agent.entries),
        "unknown": [unknown._asdict() for unknown in agent.unknown],
        **({} if agent.usage is None else _usage_json(agent.usage, agent.messages)),
        **(
            {"skill_states": [list(state) for state in agent.skill_states]}
            if agent.skill_states
            else {}
        ),
    }


def _usage_json(usage: Figures, messages: int) -> dict[str, Any]:
    return {"usage": [min(tokens, TOKENS_MAX) for tokens in usage], "messages": messages}


def _entries(data: dict[str, Any]) -> dict[str, Entry]:
    return {
        kind: Entry(
            entry["tokens"],
            entry["source"],
            entry.get("detail"),
            tuple(Item(**item) for item in entry.get("items", ())),
            entry.get("calibrated"),
        )
        for kind, entry in data.items()
    }


def _unknown(data: list[dict[str, str]]) -> tuple[Unknown, ...]:
    return tuple(Unknown(**unknown) for unknown in data)
