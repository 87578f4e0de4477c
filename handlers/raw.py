"""Raw events of a host, mapped by its runtime and then told as the methods tell theirs."""

import logging
import os
from collections import deque
from collections.abc import Iterable
from functools import partial

import orjson

from core import events as e
from core.errors import Conflict, InvalidParams, NotWritten, UnknownSession
from core.events import Json
from core.later import Later, then
from core.recordings.contract import AgentSeen, FileChange, Head, Reader, Row, SkillBody, Step
from core.runtimes.registry import known, runtime
from core.state import Session
from handlers import wire as w
from handlers import wire_results as r
from handlers.host import Answer, Told, tell
from handlers.hub import Hub
from handlers.method import Call
from handlers.wire_kinds import ABSOLUTE_PATH
from handlers.wire_records import Wrong

_log = logging.getLogger("turnkeeper")

EVENTS_MAX = 1000  # That wait for the disk; the oldest are given up first.

_NO_EVENTS = (AgentSeen, FileChange, SkillBody)  # For those who read files beside a recording.


class Mapped:
    """The raw events of one session: its reader, and what was mapped and is not recorded yet.

    An event that the disk refused stays, and is told with the next raw event: the reader gives
    each thing once.
    """

    __slots__ = ("events", "reader", "runtime")

    def __init__(self, runtime_id: str, reader: Reader) -> None:
        self.runtime = runtime_id
        self.reader = reader
        self.events: deque[e.Event] = deque()


def host_event(hub: Hub, params: w.HostEventParams, call: Call) -> Told:
    """Map a raw event and tell what it says; one that says nothing is answered with null."""
    session_id = params.session_id
    state = _started(hub, session_id)
    mapped = _mapped(hub, params, state)
    found = _events(mapped.reader.read(0, _whole(params.event)), state)
    if not found and not mapped.events:
        _log.debug("a raw event of %s told nothing", params.runtime)
        return None
    while len(mapped.events) > EVENTS_MAX:
        mapped.events.popleft()
    mapped.events += found
    return _tell_all(hub, session_id, mapped, call, None)


def _whole(event: Row) -> Row:
    """Give an event whose texts can all be written as UTF-8: half a surrogate pair cannot."""
    try:
        orjson.dumps(event)
    except TypeError:
        pass
    else:
        return event
    try:
        cleaned: Row = _cleaned(event)
    except RecursionError:
        return event
    return cleaned


def _cleaned(value: Json) -> Json:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(item) for key, item in value.items()}
    return value


def _started(hub: Hub, session_id: str) -> Session | None:
    try:
        return hub.sessions.state(session_id)
    except UnknownSession:
        return None


def _mapped(hub: Hub, params: w.HostEventParams, state: Session | None) -> Mapped:
    """Give what maps this session's raw events; of one that is not started it is a new one."""
    host = runtime(params.runtime)
    if host is None:
        raise InvalidParams(
            "params.runtime: a host of its own sends canonical events, it has no raw ones",
            hint=f"Raw events are taken from {', '.join(known())}.",
            field="runtime",
        )
    if state is None:
        return Mapped(params.runtime, host.reader(Head(params.runtime, params.session_id, "")))
    if params.runtime != state.runtime:
        raise InvalidParams(
            "params.runtime: expected the runtime that the session was started with",
            hint=f"This session is one of {state.runtime}.",
            field="runtime",
        )
    mapped = hub.mapped.get(params.session_id)
    if mapped is None:
        head = Head(state.runtime, state.session_id, state.workspace, state.model)
        mapped = hub.mapped[params.session_id] = Mapped(params.runtime, host.reader(head))
    return mapped


def _events(steps: Iterable[Step], state: Session | None) -> list[e.Event]:
    """Take the events out of the steps; the workspace of a started session stays what it is."""
    found: list[e.Event] = []
    for step in steps:
        event = step.event
        if isinstance(event, e.SessionStart):
            if state is not None:
                found.append(event._replace(workspace=state.workspace))
            elif _is_folder(event.workspace):  # Nothing can be started nowhere.
                found.insert(0, event)
        elif not isinstance(event, _NO_EVENTS):
            found.append(event)
    return found


def _is_folder(workspace: str) -> bool:
    """Say whether a session can be started there: what sessionStart itself would take."""
    try:
        ABSOLUTE_PATH.read(workspace)
    except Wrong:
        return False
    return os.path.isabs(workspace)


def _tell_all(hub: Hub, session_id: str, mapped: Mapped, call: Call, answer: Answer) -> Told:
    """Tell what waits, in order, each once the one before it is answered."""
    while mapped.events:
        event = mapped.events.popleft()
        is_on = session_id in hub.mapped
        try:
            told = tell(hub, session_id, event, call)
        except (NotWritten, Conflict):
            mapped.events.appendleft(event)
            raise
        if isinstance(told, Later):
            return then(told, partial(_go_on, hub, session_id, mapped, call, answer))
        if isinstance(event, e.SessionStart) and not (is_on and event.source == "clear"):
            hub.mapped[session_id] = mapped  # What has told of the start goes on reading.
        answer = _heard(answer, told)
    return answer


def _go_on(
    hub: Hub, session_id: str, mapped: Mapped, call: Call, before: Answer, told: Answer
) -> Told:
    return _tell_all(hub, session_id, mapped, call, _heard(before, told))


def _heard(before: Answer, told: Answer) -> Answer:
    """Give the answer of two events: a denied call's first, else the later one."""
    return before if told is None or isinstance(before, r.ToolCallAnswer) else told
