"""The application behind the transport: the table of methods, and the life of a connection."""

import asyncio
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from core import decided as d
from core.accounting.kinds import KINDS
from core.phases.criteria import KINDS as CRITERIA
from core.phases.display import shown
from core.phases.routing import Routing
from core.runtimes.registry import known
from core.sessions import Sessions
from core.store.root import open_root
from core.world import World
from handlers import editor, follow, host, plans, queries, raw
from handlers.catalogue import METHODS, PREFIX, Contract
from handlers.convert import structure, unstructure
from handlers.hub import Hub
from handlers.method import Call, Client, Method
from handlers.settings import read_settings
from handlers.version import VERSION

if TYPE_CHECKING:
    from concurrent.futures import Future

    from pygls.lsp.server import LanguageServer

ANSWER_SECONDS = 10.0  # After that a question of ours counts as dismissed.

Handler = Callable[[Hub, Any, Call], Any]

HANDLERS: dict[str, Handler] = {
    "sessionStart": host.session_start,
    "prompt": host.prompt,
    "toolCall": host.tool_call,
    "toolResult": host.tool_result,
    "usage": host.usage,
    "context": host.context,
    "composer": host.composer,
    "compaction": host.compaction,
    "turnEnd": host.turn_end,
    "sessionEnd": host.session_end,
    "hostEvent": raw.host_event,
    "plan/check": plans.check,
    "plan/arm": plans.arm,
    "plan/status": plans.status,
    "plan/decline": plans.decline,
    "plan/park": plans.park,
    "plan/resume": plans.resume,
    "plan/cancel": plans.cancel,
    "follow": follow.follow,
    "accounting/snapshot": queries.snapshot,
    "stats": queries.stats,
    "receipts": queries.receipts,
    "sessions": queries.sessions,
}


class Application:
    """Handlers over one state root; handlers/method.py, App, says what the transport asks."""

    version = VERSION

    def __init__(self, root: str, environ: Mapping[str, str]) -> None:
        home = os.path.expanduser("~")
        self.hub = Hub(Sessions(open_root(root), World(home, environ), Routing()))
        self.hub.environ = environ
        self.methods: Sequence[Method] = [_method(self.hub, contract) for contract in METHODS]
        self.announced: Mapping[str, Any] = {
            "kinds": list(KINDS),
            "runtimes": list(known()),
            "criteria": [kind.name for kind in CRITERIA],
        }

    def register(self, server: "LanguageServer") -> None:
        """Register the features for plan files in editors; called within the running loop."""
        loop = asyncio.get_running_loop()
        self.hub.later = lambda seconds, work: _later(loop, seconds, work)
        self.hub.elsewhere = partial(_elsewhere, loop)
        self.hub.ask = partial(_ask, server)
        editor.register(server, self.hub)

    def connected(self, client: Client) -> None:
        """Take the client's settings; keys that mean nothing are reported."""
        self.hub.push = client.push
        self.hub.correction_request = client.correction_request
        settings, unknown = read_settings(client.settings)
        self.hub.settings = settings
        self.hub.sessions.routing = settings.routing()
        if unknown and self.hub.later is not None:
            # Not before initialize is answered.
            self.hub.later(0.0, partial(self._report_settings, unknown))

    def _report_settings(self, unknown: list[str]) -> None:
        names = ", ".join(shown(name) for name in unknown)
        hint = "docs/protocol.md lists the settings."
        self.hub.flag(None, d.Flag("unknown_setting", f"no such setting: {names}", hint))

    def flag(self, session_id: str | None, code: str, message: str, hint: str) -> None:
        """Tell the client of a notification that could not be carried out."""
        state = None if session_id is None else self.hub.sessions.find(session_id)
        self.hub.flag(state, d.Flag(code, message, hint or None))

    def close(self) -> None:
        """Write every checkpoint, and follow nothing any longer."""
        if self.hub.follower is not None:
            self.hub.follower.close()
        self.hub.sessions.close()


def _later(loop: asyncio.AbstractEventLoop, seconds: float, work: Callable[[], None]) -> None:
    loop.call_later(seconds, work)


def _elsewhere(
    loop: asyncio.AbstractEventLoop, work: Callable[[], Any], then: Callable[[Any], None]
) -> None:
    """Do work in a thread that nobody waits for when the process ends."""

    def run() -> None:
        result = work()
        with suppress(RuntimeError):  # The loop has ended meanwhile.
            loop.call_soon_threadsafe(then, result)

    threading.Thread(target=run, name="elsewhere", daemon=True).start()


def _ask(server: "LanguageServer", method: str, params: Any, then: Callable[[Any], None]) -> None:
    """Send a request of ours; an answer after ANSWER_SECONDS, or an error, is no answer."""
    loop = asyncio.get_running_loop()
    asked = server.protocol.send_request(method, params)
    deadline = loop.call_later(ANSWER_SECONDS, asked.cancel)

    def answered(future: "Future[Any]") -> None:
        deadline.cancel()
        if not future.cancelled() and future.exception() is None:
            loop.call_soon_threadsafe(then, future.result())

    asked.add_done_callback(answered)


def _method(hub: Hub, contract: Contract) -> Method:
    handler = HANDLERS[contract.name.removeprefix(PREFIX)]
    return Method(
        contract.name,
        partial(structure, contract.params),
        partial(handler, hub),
        _nullable,
        only_request=not contract.from_host,
    )


def _nullable(answer: Any) -> Any:
    return None if answer is None else unstructure(answer)
