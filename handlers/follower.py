"""Follows recordings of sessions that no host reports: finds them, reads on, pushes accounts."""

import logging
import os
import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

import orjson

from core.errors import InvalidParams, Unreadable
from core.recordings.contract import UnknownFormat
from core.recordings.recording import Recording
from core.runtimes.registry import known, runtime
from handlers import answers
from handlers import wire_results as r
from handlers.convert import unstructure
from handlers.followed import Followed
from handlers.hub import Hub

FRESH_SECONDS = 24 * 3600.0  # A recording without a change for so long is opened when it grows.
FOLLOWED_MAX = 50  # At once; the newest.
RESTING_SECONDS = 60.0  # One without news for so long may have to make room.
POLL_SECONDS, IDLE_SECONDS = 0.25, 0.75  # Between two looks at the files.
LATELY_SECONDS = 10.0  # After the last news looks are that close together.
PUSH_SECONDS = 0.25  # At most one account per session in this time.
SLICE_SECONDS = 0.02  # Reading holds the loop up no longer than this at a time.
LIST_SECONDS = 2.0  # How often new recordings are looked for;
LIST_SHARE = 20  # which takes at most this part of the time.

_log = logging.getLogger("turnkeeper")


class Watch(NamedTuple):
    """What a client asked to be followed: a workspace or one file, of one runtime or of all."""

    workspace: str | None
    path: str | None
    runtime: str | None

    def covers(self, other: "Watch") -> bool:
        """Say whether the end of this one is the end of the other."""
        same = (self.workspace, self.path) == (other.workspace, other.path)
        return same and self.runtime in (None, other.runtime)


class Found(NamedTuple):
    """A recording on disk; `recording` is None where it is followed already."""

    path: str
    changed: float  # As of time.time().
    recording: Recording | None


class Listing(NamedTuple):
    """What a look found, newest first, and what need not be opened until it changes."""

    found: tuple[Found, ...]
    passed: dict[str, float]  # Path: when it was changed.
    seconds: float


def found_by(
    watch: Watch,
    home: str,
    environ: Mapping[str, str],
    followed: frozenset[str],
    passed: Mapping[str, float],
    *,
    is_asked: bool = False,
) -> Listing:
    """Look for the recordings of a watch; on any thread.

    The first time (`is_asked`) a single file that is none is refused.
    """
    begun = time.monotonic()
    if is_asked and watch.path is not None:
        found = [Found(watch.path, time.time(), _opened(watch.path, watch.runtime))]
        return Listing(tuple(found), {}, 0.0)
    found, skipped = [], {}
    dated = sorted(_dated(watch, home, environ), reverse=True)[:FOLLOWED_MAX]
    for changed, path in dated:
        if path in followed:
            found.append(Found(path, changed, None))
        elif passed.get(path) != changed:
            try:
                recording = Recording(path, orjson.loads, bounded=True)
            except (UnknownFormat, OSError):
                skipped[path] = changed
                continue
            if watch.path is None and recording.head.side_only:
                skipped[path] = changed  # It is read with the session that it belongs to.
            else:
                found.append(Found(path, changed, recording))
    return Listing(tuple(found), skipped, time.monotonic() - begun)


def _opened(path: str, runtime_id: str | None) -> Recording:
    try:
        recording = Recording(path, orjson.loads, bounded=True)
    except OSError as error:
        why = f"the recording cannot be read: {error.strerror}"
        raise Unreadable(why, hint="Name a file that is there.", field="path") from None
    if runtime_id not in (None, recording.head.runtime):
        raise InvalidParams(
            "params.runtime: expected the runtime of the recording",
            hint=f"This recording is one of {recording.head.runtime}.",
            field="runtime",
        )
    return recording


def _dated(watch: Watch, home: str, environ: Mapping[str, str]) -> Iterator[tuple[float, str]]:
    """Give (changed, path) of every recording of a watch that is fresh."""
    if watch.path is not None:
        paths = [watch.path]
    else:
        paths = []
        for name in (watch.runtime,) if watch.runtime else known():
            host = runtime(name)
            if host is not None and host.recordings is not None:
                paths += host.recordings(home, environ, watch.workspace or "")
    oldest = time.time() - FRESH_SECONDS
    for path in paths:
        changed = _changed(path)
        if changed >= oldest:
            yield changed, path


def _changed(path: str) -> float:
    """Say when a file was changed, as of time.time(); 0 for one that is not there."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


class Follower:
    """Everything that one connection follows; it writes nothing and ends with the connection."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._watches: dict[Watch, None] = {}
        self._followed: dict[str, Followed] = {}  # By path.
        self._asked_by: dict[str, set[Watch]] = {}  # By path.
        self._passed: dict[str, float] = {}
        self._seqs: dict[str, int] = {}  # Of sessions that are followed no longer.
        self._is_listing = False
        self._ticks = 0  # The last tick that was put off; it takes the place of those before it.
        self._poll_at = self._list_at = self._news_at = 0.0  # As of time.monotonic().

    def paths(self) -> frozenset[str]:
        """Name the files that are followed."""
        return frozenset(self._followed)

    def find(self, session_id: str) -> Followed | None:
        """Give a followed session."""
        found = (x for x in self._followed.values() if x.head.session_id == session_id)
        return next(found, None)

    def states(self, watch: Watch | None = None) -> list[r.SessionState]:
        """Give the sessions that are followed, of one watch or of all."""
        return [
            answers.session_state(followed.session, followed=True)
            for path, followed in self._followed.items()
            if watch is None or watch in self._asked_by[path]
        ]

    def begin(self, watch: Watch, listing: Listing) -> None:
        """Follow what a first look found, and what comes to it later."""
        self._watches[watch] = None
        self._adopt(watch, listing)
        self._news_at = time.monotonic()
        self._list_at = self._news_at + LIST_SECONDS
        self._wake(0.0)

    def leave(self, watch: Watch) -> None:
        """Follow no longer what this watch covers, unless another one asks for it."""
        left = {other for other in self._watches if watch.covers(other)}
        for other in left:
            del self._watches[other]
        for path in list(self._followed):
            self._asked_by[path] -= left
            if not self._asked_by[path]:
                self._drop(path)

    def close(self) -> None:
        """Follow nothing any longer."""
        self._watches.clear()
        self._followed.clear()

    def _adopt(self, watch: Watch, listing: Listing) -> None:
        self._passed.update(listing.passed)
        reported = self._reported()
        for found in listing.found:
            if found.path in self._followed:
                self._asked_by[found.path].add(watch)
            elif found.recording is not None:
                session_id = found.recording.head.session_id
                is_other = session_id in reported or self.find(session_id) is not None
                if is_other or not self._has_room(found.changed):
                    self._passed[found.path] = found.changed
                else:
                    self._follow(watch, found.recording)

    def _follow(self, watch: Watch, recording: Recording) -> None:
        seq = self._seqs.pop(recording.head.session_id, 0)
        measure = self._hub.sessions.world.measure_recorded
        self._followed[recording.path] = Followed(recording, measure, orjson.loads, seq)
        self._asked_by[recording.path] = {watch}

    def _has_room(self, changed: float) -> bool:
        """Say whether one more can be followed; one that is older and rests makes room."""
        if len(self._followed) < FOLLOWED_MAX:
            return True
        oldest, path = min((_changed(path), path) for path in self._followed)
        if oldest > min(changed, time.time() - RESTING_SECONDS):
            return False
        self._drop(path)
        return True

    def _drop(self, path: str) -> None:
        followed = self._followed.pop(path)
        self._asked_by.pop(path)
        self._seqs[followed.head.session_id] = followed.session.seq

    def _reported(self) -> set[str]:
        return {state.session_id for state in self._hub.sessions.states()}

    def _wake(self, seconds: float) -> None:
        if self._hub.later is not None:
            self._ticks += 1
            self._hub.later(seconds, partial(self._tick, self._ticks))

    def _tick(self, number: int) -> None:
        """Read on for a while, push what is due, and come back."""
        if number != self._ticks or not self._watches:
            return
        now = time.monotonic()
        until = now + SLICE_SECONDS
        if now >= self._poll_at:
            self._poll(now, until)
        is_done = self._read_behind(until)
        is_done = self._push_due(until) and is_done
        self._look_again()
        self._wake(max(0.0, self._poll_at - time.monotonic()) if is_done else 0.0)

    def _poll(self, now: float, until: float) -> None:
        reported = self._reported()
        for path, followed in list(self._followed.items()):
            if followed.head.session_id in reported:
                self._drop(path)  # Its host tells more.
            elif not followed.is_behind:
                self._read(path, followed, until)
        is_busy = now - self._news_at < LATELY_SECONDS
        self._poll_at = now + (POLL_SECONDS if is_busy else IDLE_SECONDS)

    def _read_behind(self, until: float) -> bool:
        """Go on with what could not be read at once; say whether that was all."""
        for path, followed in list(self._followed.items()):
            if followed.is_behind and not self._read(path, followed, until):
                return False
        return True

    def _read(self, path: str, followed: Followed, until: float) -> bool:
        try:
            is_done = followed.read(until)
        except OSError as error:
            _log.debug("a recording is followed no longer: %s", type(error).__name__)
            self._drop(path)
            return True
        if followed.has_news:
            self._news_at = time.monotonic()
        return is_done

    def _push_due(self, until: float) -> bool:
        """Push the accounts that have news; say whether there was time for all that are due."""
        for followed in self._followed.values():
            now = time.monotonic()
            is_due = now - followed.pushed_at >= PUSH_SECONDS
            if not followed.has_news or followed.is_behind or not is_due:
                continue
            followed.has_news, followed.pushed_at = False, now
            session = followed.session
            if session.turn is not None:
                account = self._hub.accounting(session, followed.accounted(None))
                self._hub.push("turnkeeper/accounting", unstructure(account))
            if time.monotonic() >= until:
                return False
        return True

    def _look_again(self) -> None:
        if self._is_listing or time.monotonic() < self._list_at:
            return
        self._is_listing = True
        home, environ = self._hub.sessions.world.home, self._hub.environ
        followed, passed = self.paths(), dict(self._passed)
        watches = tuple(self._watches)

        def look() -> list[tuple[Watch, Listing]]:
            return [(w, found_by(w, home, environ, followed, passed)) for w in watches]

        self._hub.elsewhere(look, self._looked)

    def _looked(self, listings: list[tuple[Watch, Listing]]) -> None:
        self._is_listing = False
        seconds = sum(listing.seconds for _, listing in listings)
        self._list_at = time.monotonic() + max(LIST_SECONDS, LIST_SHARE * seconds)
        for watch, listing in listings:
            if watch in self._watches:
                self._adopt(watch, listing)
