"""Carries our own messages out: one after the other within a session, slow ones in a worker."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from core.errors import InvalidRequest
from core.events import Json
from core.later import Later
from handlers.method import Call, Method
from server.errors import outcome
from server.message import Message, params_of, session_of
from server.workers import Workers

SLICE_SECONDS = 0.01  # What waited for a worker is caught up in slices; others go in between.

Conclude = Callable[[Message, Json, Exception | None], None]


class OwnMessages:
    """The messages to a table of methods.

    Invariant: each message is concluded once, those of one session in the order they came.
    `conclude` is given a message and its result, or the fault that ended it.
    """

    def __init__(self, methods: Sequence[Method], conclude: Conclude) -> None:
        self.methods = {method.name: method for method in methods}
        self._conclude = conclude
        self._workers = Workers()
        # Session id -> what came while a worker works for it; limited by what a client can send
        # in that time, since nothing that was told may be left out of an account.
        self._waiting: dict[str, deque[Message]] = {}

    def take(self, message: Message) -> None:
        """Carry a message out, at once unless its session waits for a worker."""
        if self._waiting:
            waiting = self._waiting.get(session_of(message) or "")
            if waiting is not None:
                waiting.append(message)
                return
        self._begin(message)

    def abandon(self) -> None:
        """Leave what is unfinished without an answer: the process ends."""
        self._workers.abandon()
        self._waiting.clear()

    def _begin(self, message: Message) -> bool:
        """Start a message; say whether that was all of it."""
        method = self.methods[message["method"]]
        answer, fault = outcome(_handled, method, message)
        return self._went_on(method, message, answer, fault)

    def _went_on(
        self, method: Method, message: Message, answer: Json, fault: Exception | None
    ) -> bool:
        """Conclude a message, or hand it to a worker; say whether it is concluded."""
        if isinstance(answer, Later):
            then = partial(self._worked, method, message, answer)
            _, fault = outcome(self._workers.run, answer.work, then)
            if fault is None:
                if session_id := session_of(message):
                    self._waiting.setdefault(session_id, deque())
                return False
        self._conclude(message, answer, fault)
        return True

    def _worked(
        self,
        method: Method,
        message: Message,
        later: Later[Json],
        result: Json,
        fault: Exception | None,
    ) -> None:
        """Go on with a message whose worker has ended."""
        answer: Json = None
        if fault is None:
            answer, fault = outcome(_finished, method, message, later, result)
        session_id = session_of(message)
        if self._went_on(method, message, answer, fault) and session_id:
            self._catch_up(session_id)

    def _catch_up(self, session_id: str) -> None:
        """Carry out what waited, as far as the next message that needs a worker."""
        waiting = self._waiting.get(session_id)
        until = time.monotonic() + SLICE_SECONDS
        while waiting:
            if time.monotonic() > until:
                asyncio.get_running_loop().call_soon(self._catch_up, session_id)
                return
            if not self._begin(waiting.popleft()):
                return
        self._waiting.pop(session_id, None)


def _handled(method: Method, message: Message) -> Json:
    is_request = "id" in message
    if method.only_request and not is_request:
        raise InvalidRequest("an id is missing", hint="Send it as a request.")
    params = method.structure(params_of(message))
    answer = method.handle(params, Call.REQUEST if is_request else Call.NOTIFICATION)
    return _as_json(method, message, answer)


def _finished(method: Method, message: Message, later: Later[Json], result: Json) -> Json:
    return _as_json(method, message, later.finish(result))


def _as_json(method: Method, message: Message, answer: Json) -> Json:
    """Make an answer ready to be sent; nobody hears that of a notification."""
    if isinstance(answer, Later) or "id" not in message:
        return answer
    return method.unstructure(answer)
