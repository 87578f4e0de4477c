"""Reads many recordings on all processors and puts their accounts together."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import orjson

from core.phases.display import shown
from core.recordings.contract import UnknownFormat
from core.world import World
from server.report.apart import apart
from server.report.fold import Counted, Detail, Folded, figures_json, fold
from server.report.totals import Totals

Json = Any
Progress = Callable[[int, int], None]  # Bytes done, bytes in all.

PARALLEL_BYTES_MIN = 16 * 1024 * 1024  # Below it a second process costs more than it saves.
NOTES_MAX = 50


class Gathered(NamedTuple):
    """The text of a report's JSON, how many sessions it has, and its notes."""

    text: bytes
    sessions: int
    notes: list[str]


class _Part(NamedTuple):
    """What one recording came to, on its way from one process to another."""

    path: str
    started: str
    session: bytes | None  # As JSON: many sessions together are kept as short as can be.
    messages: list[Counted]
    unreadable: int
    notes: list[str]


def gather(
    paths: list[str], home: str, detail: Detail, progress: Progress, notes: Sequence[str] = ()
) -> dict[str, Json]:
    """Give the report of these recordings, oldest session first.

    A message id counts once over all files, in the session that began first; in the others it is
    inherited. A file that cannot be read, or is no recording, is told in `notes`, after those
    that are given.
    """
    return _read(paths, home, detail, progress, notes).to_json()


def gather_json(
    paths: list[str], home: str, detail: Detail, progress: Progress, notes: Sequence[str] = ()
) -> Gathered:
    """Give the same report as the text of its JSON."""
    return _read(paths, home, detail, progress, notes).to_text()


def _read(
    paths: list[str], home: str, detail: Detail, progress: Progress, notes: Sequence[str]
) -> "_Report":
    sizes = {path: _size(path) for path in paths}
    total, done = sum(sizes.values()), 0
    parts = []
    for part in _read_all(paths, sizes, home, detail):
        done += sizes[part.path]
        progress(done, total)
        parts.append(part)
    return _report(parts, detail, notes)


def put_together(folded: list[Folded], detail: Detail) -> dict[str, Json]:
    """Give the report of sessions that were folded before."""
    return _report([_part(each.session["path"], each) for each in folded], detail).to_json()


def _report(parts: list[_Part], detail: Detail, notes: Sequence[str] = ()) -> "_Report":
    report = _Report(len(parts), detail.locale, list(notes))
    for part in sorted(parts, key=lambda part: (part.started, part.path)):
        report.add(part)
    return report


class _Report:
    """Puts the parts together and owns each message id once."""

    def __init__(self, files: int, locale: str, notes: list[str]) -> None:
        self._files = files
        self._locale = locale
        self._unreadable = 0
        self._notes = notes
        self._sessions: list[bytes] = []
        self._totals = Totals()
        self._owned: set[str] = set()

    def add(self, part: _Part) -> None:
        self._unreadable += part.unreadable
        self._notes += part.notes
        if part.session is None:
            return
        session = orjson.loads(part.session)
        copied = [message for message in part.messages if message.message_id in self._owned]
        for message in copied:
            _disown(session, message)
        self._owned.update(message.message_id for message in part.messages)
        self._totals.add_session(session)
        self._sessions.append(orjson.dumps(session) if copied else part.session)

    def to_json(self) -> dict[str, Json]:
        """Give the report as JSON values."""
        return {**self._around(), "sessions": [orjson.loads(each) for each in self._sessions]}

    def to_text(self) -> Gathered:
        """Give the text of its JSON."""
        sessions = [orjson.Fragment(each) for each in self._sessions]
        around = self._around()
        return Gathered(
            orjson.dumps({**around, "sessions": sessions}), len(sessions), around["notes"]
        )

    def _around(self) -> dict[str, Json]:
        notes = self._notes[:NOTES_MAX]
        if len(self._notes) > NOTES_MAX:
            notes.append(f"{len(self._notes) - NOTES_MAX} more notes")
        return {
            "files": self._files,
            "unreadableLines": self._unreadable,
            "notes": notes,
            "locale": self._locale,
            "sessions": [],
            "totals": self._totals.to_json(),
        }


def _disown(session: dict[str, Json], message: Counted) -> None:
    """Take a message out of a turn that an earlier session has already counted."""
    turn = session["turns"][message.turn]
    owners = [turn]
    if message.agent_id:
        told = [agent for agent in session["subagents"] if agent["turnId"] == turn["turnId"]]
        agents = (*turn["snapshot"]["subagents"], *told)
        owners = [agent for agent in agents if agent["agentId"] == message.agent_id]
    taken = {**figures_json(message.figures), "messages": 1, "inherited": -1}
    for usage in (owner["usage"] for owner in owners if "usage" in owner):
        for name, count in taken.items():
            usage[name] = max(0, usage.get(name, 0) - count)
        if usage.get("partial", 0) > usage["messages"]:
            usage["partial"] = usage["messages"]


def _read_all(
    paths: list[str], sizes: dict[str, int], home: str, detail: Detail
) -> Iterator[_Part]:
    workers = min(os.cpu_count() or 1, len(paths))
    if workers < 2 or sum(sizes.values()) < PARALLEL_BYTES_MIN or not hasattr(os, "fork"):
        yield from _read_here(paths, home, detail)
        return
    shares: list[list[str]] = [[] for _ in range(workers)]
    loads = [0] * workers
    for path in sorted(paths, key=lambda path: -sizes[path]):
        least = loads.index(min(loads))
        shares[least].append(path)
        loads[least] += sizes[path]
    seen = set()
    for part in apart([partial(_read_here, share, home, detail) for share in shares]):
        seen.add(part.path)
        yield part
    # What a process that died did not come to.
    yield from _read_here([path for path in paths if path not in seen], home, detail)


def _read_here(paths: Iterable[str], home: str, detail: Detail) -> Iterator[_Part]:
    world = World(home, {})
    for path in paths:
        try:
            yield _part(path, fold(path, world.measure_recorded, detail))
        except UnknownFormat as unknown:
            yield _no_part(path, unknown.message)
        except OSError as error:
            yield _no_part(path, f"cannot be read: {error.strerror}")


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _part(path: str, folded: Folded) -> _Part:
    session = folded.session
    text, started = orjson.dumps(session), session.get("startedAt", "")
    return _Part(path, started, text, folded.messages, folded.unreadable, folded.notes)


def _no_part(path: str, why: str) -> _Part:
    return _Part(path, "", None, [], 0, [f"{shown(path, 500)} {why}"])
