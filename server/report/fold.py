"""The accounts of one recording, in the shape of `turnkeeper report --json`."""

import os
from typing import Any, NamedTuple

import orjson

from core.account import View, view
from core.accounting.breakdown import Breakdown, bars
from core.accounting.error import PER_MILLE, Measured
from core.accounting.kinds import classify, label
from core.accounting.usage import Figures
from core.phases.display import shown
from core.recordings.book import Book, Measure, TurnBook
from core.recordings.contract import Fault, Head
from core.recordings.recording import Recording

Json = Any

_KIND_OF_CLASS = {"tool": "tools", "skill": "skills"}
PICTURED = ("rows", "bars", "calls", "requests")  # What pictures need of a turn besides.
CACHE = "cache_or_previous"
NOTES_PER_FILE = 5  # Lines that are told of one by one.


class Counted(NamedTuple):
    """A message whose usage counts in this session: in which turn, for which agent, how much."""

    message_id: str
    turn: int  # Index into the session's turns.
    agent_id: str  # "" for the main agent.
    figures: Figures


class Folded(NamedTuple):
    """One session as reported, and what is needed to put many of them together."""

    session: dict[str, Json]
    messages: list[Counted]
    unreadable: int
    notes: list[str]


class Detail(NamedTuple):
    """How much of each turn is wanted: with `pictures` also rows, bars, calls and requests."""

    pictures: bool = False
    locale: str = "en"


def fold(path: str, measure: Measure, detail: Detail) -> Folded:
    """Read a recording and keep its accounts; raise UnknownFormat or OSError for another file."""
    recording = Recording(path, orjson.loads, bounded=True, wants_changes=False)
    session = Session(recording.head, path, detail)
    book = Book(recording.head.session_id, measure, session.add, detail=detail.pictures)
    for step in recording.steps():
        book.take(step)
        if session.started is None:
            session.seen(recording.timestamp)
    session.seen(recording.timestamp)
    book.close()
    notes = _notes(path, recording.faults)
    unreadable = sum(1 for fault in recording.faults if fault.line)
    return session.finished(book, unreadable, notes)


class Session:
    """Gathers the turns of one session as they close."""

    def __init__(self, head: Head, path: str, detail: Detail) -> None:
        self._detail = detail
        self.started: str | None = None  # Of the open turn.
        self._now: str | None = None
        self._books: list[tuple[TurnBook, str | None]] = []  # And when each began.
        self._data: dict[str, Json] = {
            "sessionId": head.session_id,
            "runtime": head.runtime,
            "path": os.fsencode(path).decode(errors="replace"),
            "cwd": head.cwd,
            **_present(
                model=head.model, version=head.version, parentSessionId=head.parent_session_id
            ),
        }

    def seen(self, timestamp: str | None) -> None:
        """Note when a row was written, as recorded."""
        if timestamp is not None:
            self._now = timestamp
            if self.started is None:
                self.started = timestamp
                self._data.setdefault("startedAt", timestamp)

    def add(self, book: TurnBook) -> None:
        """Take the account of a turn that is over."""
        self._books.append((book, self.started))
        self.started = None

    def _turn(self, book: TurnBook, started: str | None) -> dict[str, Json]:
        seen = view(book.data)
        turn = turn_json(book, seen)
        if started is not None:
            turn["startedAt"] = started
        if self._detail.pictures:
            turn |= pictures(book, seen, self._detail.locale)
        return turn

    def finished(self, book: Book, unreadable: int, notes: list[str]) -> Folded:
        """Give the whole session, once the book is closed."""
        turns = [self._turn(*each) for each in self._books]
        agents = [
            {"turnId": turn["turnId"], **agent}
            for turn in turns
            for agent in turn["snapshot"]["subagents"]
        ]
        data = {**self._data, "turns": turns, "subagents": agents}
        measured = book.state.error.measured()
        if measured is not None:
            data["estimator"] = error_json(measured)
        if self._now is not None:
            data["endedAt"] = self._now
        messages = [
            Counted(m.message_id, index, m.agent_id, m.figures)
            for index, (turn, _) in enumerate(self._books)
            for m in turn.messages
        ]
        return Folded(data, messages, unreadable, notes)


def turn_json(book: TurnBook, seen: View) -> dict[str, Json]:
    """Give one turn: {turnId, snapshot, usage?, reconciliation?, ...}."""
    data = book.data
    snapshot = snapshot_json(data["snapshot"])
    turn: dict[str, Json] = {
        "turnId": book.turn_id,
        "line": book.line,
        **_present(outcome=book.outcome, fromHuman=book.from_human, promptUnits=book.prompt_units),
        "snapshot": snapshot,
    }
    if seen.usage is not None or seen.requests.inherited:
        turn["usage"] = usage_json(seen)
    if "reconciliation" in snapshot:
        turn["reconciliation"] = snapshot["reconciliation"]
    if seen.composition is not None:
        turn["composition"] = _composition_json(data["composition"])
    window = _window_json(seen)
    if window is not None:
        turn["window"] = window
    if book.compactions:
        turn["compactions"] = [
            _present(
                line=c.line, trigger=c.trigger, preTokens=c.pre_tokens, postTokens=c.post_tokens
            )
            for c in book.compactions
        ]
    return turn


def pictures(book: TurnBook, seen: View, locale: str) -> dict[str, Json]:
    """Give what the pictures of a turn need besides."""
    stacked = _stacked(seen.breakdown)
    drawn = bars(stacked)
    servers = tuple((seen.snapshot.available or {}).get("mcp_servers", ()))
    return {
        "rows": _rows(stacked, locale),
        "bars": {
            "cells100": [cells._asdict() for cells in drawn.cells100],
            "cells10": [cells._asdict() for cells in drawn.cells10],
        },
        "calls": [
            {
                "id": call.row.tool_use_id,
                "name": call.row.name,
                **_class(call.row.name, servers),
                "tokens": call.row.tokens,
                "line": call.line,
                **({"isError": True} if call.row.failed else {}),
                **({"agentId": call.agent_id} if call.agent_id else {}),
            }
            for call in book.calls
        ],
        "requests": [fill._asdict() for fill in book.fills],
    }


def _stacked(breakdown: Breakdown) -> Breakdown:
    """Let the rows sum to what was used: the cache holds most of what the kinds name, too."""
    others = sum(row.tokens - row.pending for row in breakdown.rows if row.kind != CACHE)
    rest = max(0, breakdown.used - others)
    rows = (row._replace(tokens=rest) if row.kind == CACHE else row for row in breakdown.rows)
    return breakdown._replace(rows=tuple(rows))


def _class(name: str, servers: tuple[str, ...]) -> dict[str, str]:
    tool = classify(name, servers)
    return {"kind": _KIND_OF_CLASS.get(tool.kind, tool.kind), "group": tool.group}


def snapshot_json(data: dict[str, Json]) -> dict[str, Json]:
    """Give a kept snapshot (core/accounting/snapshot.py, to_json) with the names of the wire."""
    given = {
        "entries": data["entries"],
        "unsupported": data["unsupported"],
        "producedBy": data["produced_by"],
        "unknown": data["unknown"],
        "subagents": [_agent_json(agent) for agent in data["subagents"]],
        "estimator": data["estimator"],
    }
    if "provider_backend" in data:
        given["providerBackend"] = data["provider_backend"]
    if "skill_states" in data:
        given["skillStates"] = [_state_json(row) for row in data["skill_states"]]
    if "available" in data:
        given["available"] = _available_json(data["available"])
    if "window" in data:
        given["window"] = data["window"]
    if "reconciliation" in data:
        found = dict(data["reconciliation"])
        if "error" in found:
            found["error"] = error_json(Measured(*found["error"]))
        given["reconciliation"] = found
    return given


def error_json(error: Measured) -> dict[str, Json]:
    """Give the measured error of the estimate, as ratios."""
    return {
        "samples": error.samples,
        "median": error.median / PER_MILLE,
        "p90": error.p90 / PER_MILLE,
        "ratio": error.ratio / PER_MILLE,
        **({} if error.wide_ratio is None else {"wideRatio": error.wide_ratio / PER_MILLE}),
    }


def usage_json(seen: View) -> dict[str, int]:
    """Give the usage of a turn in tokens, and how many requests it is the sum of."""
    figures = seen.usage or Figures(0, 0)
    requests = seen.requests
    return {
        **figures_json(figures),
        "messages": requests.messages,
        **({"partial": requests.partial} if requests.partial else {}),
        **({"inherited": requests.inherited} if requests.inherited else {}),
    }


def figures_json(figures: Figures) -> dict[str, int]:
    """Give usage with the names of the wire."""
    return {
        "input": figures.input,
        "output": figures.output,
        "cacheRead": figures.cache_read,
        "cacheCreation": figures.cache_creation,
    }


def _agent_json(agent: dict[str, Json]) -> dict[str, Json]:
    given = {
        "agentId": agent["agent_id"],
        "entries": agent["entries"],
        "unknown": agent["unknown"],
    }
    if "usage" in agent:
        figures = figures_json(Figures(*agent["usage"]))
        given["usage"] = {**figures, "messages": agent.get("messages", 0)}
    if "skill_states" in agent:
        given["skillStates"] = [_state_json(row) for row in agent["skill_states"]]
    return given


def _state_json(row: list[Json]) -> dict[str, Json]:
    name, state, source, tokens, note = row
    return {"name": name, "state": state, **_present(source=source, tokens=tokens, note=note)}


def _available_json(available: dict[str, Json]) -> dict[str, Json]:
    names = {
        "mcp_servers": "mcpServers",
        "system_prompt_units": "systemPromptUnits",
        "listed_again": "listedAgain",
    }
    given = {names.get(name, name): value for name, value in available.items()}
    if "schemas" in given:
        given["schemas"] = [{"name": name, "units": units} for name, units in given["schemas"]]
    return given


def _composition_json(data: dict[str, Json]) -> dict[str, Json]:
    parts = [
        {
            "kind": kind,
            **_present(name=name),
            "source": source,
            "units": units,
            **_present(tokens=tokens),
        }
        for kind, name, source, units, tokens in data["parts"]
    ]
    return {
        **_present(requestId=data["request_id"]),
        "parts": parts,
        **_present(reported=data["reported"]),
    }


def _window_json(seen: View) -> dict[str, Json] | None:
    """Tell how full the window is, also where its size is unknown; None where nothing tells."""
    said, window, used = seen.snapshot.window, seen.breakdown.window, seen.fill
    given: dict[str, Json] = {}
    if used is not None:
        given |= {"used": used, "usedSource": seen.fill_source}
    if window is not None and said is not None:
        given |= {"tokens": window, "source": said.source}
        if used is not None:
            given |= {
                "ratio": round(min(1.0, used / window), 4),
                "remaining": max(0, window - used),
            }
    if seen.stale:
        given["stale"] = True
    return given or None


def _rows(breakdown: Breakdown, locale: str) -> list[dict[str, Json]]:
    whole = breakdown.denominator
    return [
        {
            "kind": row.kind,
            "label": label(row.kind, locale),
            "tokens": row.tokens,
            **({"share": round(row.tokens / whole, 4)} if whole else {}),
            **_present(source=row.source, detail=row.detail),
        }
        for row in breakdown.shown
    ]


def _notes(path: str, faults: list[Fault]) -> list[str]:
    notes = [
        f"{shown(fault.file or path, 500)}{f':{fault.line}' if fault.line else ''}: {fault.why}"
        for fault in faults[:NOTES_PER_FILE]
    ]
    if len(faults) > NOTES_PER_FILE:
        notes.append(f"{shown(path, 500)}: {len(faults) - NOTES_PER_FILE} more lines")
    return notes


def _present(**values: Json) -> dict[str, Json]:
    return {name: value for name, value in values.items() if value is not None}
