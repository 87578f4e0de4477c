"""Answers each message exactly once: our methods from a table, standard ones through pygls."""

import contextvars
from collections.abc import Callable, Generator
from concurrent.futures import Future
from enum import Enum
from typing import Any
from urllib.parse import unquote

from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from core.errors import (
    Cancelled,
    Internal,
    InvalidRequest,
    MethodNotFound,
    NotInitialized,
    Refusal,
)
from core.events import Json
from handlers.method import App, Client
from server.errors import error_of, log_bug, outcome
from server.framing import Oversized
from server.jsontext import dump
from server.log import clean, log
from server.message import (
    Message,
    envelope_fault,
    is_id,
    opened,
    params_of,
    readable_id,
    session_of,
)
from server.own import OwnMessages
from server.standard import structure

PROTOCOL_VERSION = 1


class Life(Enum):
    """Where the connection stands; each request is refused outside RUNNING but the one due."""

    NEW = "new"
    RUNNING = "running"
    SHUT = "shut"


class Sidecar(LanguageServer):
    """The language server that features register with; `protocol` does the work.

    `send` takes the body of a frame. `stop` takes an exit code and a reason. `client_process`
    is told the pid of initialize.
    """

    protocol: "SidecarProtocol"

    def __init__(
        self,
        app: App,
        send: Callable[[bytes], None],
        stop: Callable[[int, str], None],
        client_process: Callable[[int], None],
    ) -> None:
        self.app = app
        self.send = send
        self.stop = stop
        self.client_process = client_process
        super().__init__(
            "turnkeeper",
            app.version,
            protocol_cls=SidecarProtocol,
            # pygls applies parts of a text to the wrong place behind a U+2028 or a form feed.
            text_document_sync_kind=types.TextDocumentSyncKind.Full,
        )

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log it; pygls would show each one to the user in a window."""
        log_bug("a feature", error)


class SidecarProtocol(LanguageServerProtocol):
    """JSON-RPC over our own transport.

    Of pygls it uses the handlers' table, its builtin features and its bookkeeping of requests that
    we send. Its own dispatch hangs clients on bad parameters and puts tracebacks on the wire.
    """

    _server: Sidecar

    def __init__(self, server: Sidecar, converter: Converter) -> None:
        super().__init__(server, converter)
        self._app = server.app
        self._send_body = server.send
        self._life = Life.NEW
        self._opted_in = False
        self._own = OwnMessages(server.app.methods, self._conclude)

    def receive(self, frame: bytes | Oversized) -> None:
        """Handle one frame; whatever it holds, the process lives on and so do later frames."""
        _, bug = outcome(self._receive, frame)
        if bug is not None:
            log_bug("a message", bug)

    def push(self, method: str, params: Json) -> None:
        """Send a notification of ours to a client that opted in; others are left alone."""
        if self._opted_in:
            self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def abandon(self) -> None:
        """Answer no more of what a worker works for, or of what waits for that."""
        self._own.abandon()

    # Messages from the client.

    def _receive(self, frame: bytes | Oversized) -> None:
        try:
            message = opened(frame)
        except Refusal as refusal:
            self._refuse(None, refusal)
            return
        fault = envelope_fault(message)
        if fault:
            self._refuse(readable_id(message), InvalidRequest(fault))
        elif "method" not in message:
            self._settle(message)
        elif message["method"] == types.EXIT:
            self._server.stop(0 if self._life is Life.SHUT else 1, "the client asked us to exit")
        elif "id" in message:
            self._request(message)
        else:
            self._notification(message)

    def _request(self, message: Message) -> None:
        ident, name = message["id"], message["method"]
        if self._life is Life.RUNNING and name in self._own.methods:
            self._own.take(message)
            return
        _, fault = outcome(self._standard_request, ident, name, message)
        if fault is not None:
            self._refuse(ident, fault, name)

    def _standard_request(self, ident: Json, name: str, message: Message) -> None:
        """Start a feature; _send_handler_result answers, or this raises."""
        self._admit_request(name)
        params = self.structure_message(message).params
        contextvars.copy_context().run(self._handle_request, ident, name, params)

    def _admit_request(self, name: str) -> None:
        if self._life is Life.SHUT:
            raise InvalidRequest("the server is shut down", hint="Send exit.")
        if self._life is Life.NEW and name != types.INITIALIZE:
            raise NotInitialized("the server is not initialized", hint="Send initialize first.")
        if self._life is Life.RUNNING and name == types.INITIALIZE:
            raise InvalidRequest("initialize came a second time", hint="Start another process.")
        if not self._knows(name):
            raise MethodNotFound(
                f"there is no method {clean(name)}", hint="The initialize answer lists ours."
            )

    def _notification(self, message: Message) -> None:
        name = message["method"]
        if self._life is not Life.RUNNING:
            log.warning("dropped %s: the server is %s", clean(name), self._life.value)
            return
        if name in self._own.methods:
            self._own.take(message)
            return
        _, fault = outcome(self._standard_notification, name, message)
        if fault is not None:
            self._report(name, message, fault)

    def _standard_notification(self, name: str, message: Message) -> None:
        if name == types.CANCEL_REQUEST:
            self._cancel(params_of(message).get("id"))
        elif self._knows(name):
            params = self.structure_message(message).params
            contextvars.copy_context().run(self._handle_notification, name, params)
        elif not name.startswith("$/"):
            log.warning("ignored the unknown notification %s", clean(name))

    def _cancel(self, ident: Json) -> None:
        """Cancel a feature that runs; a message of ours is decided and answered all the same."""
        if is_id(ident) and ident in self._request_futures:
            self._handle_cancel_notification(ident)

    def _settle(self, message: Message) -> None:
        """Give the client's answer to whoever waits for it; also after shutdown."""
        ident = message["id"]
        if ident not in self._result_types:
            log.warning("ignored a response that nobody waits for")
            return
        expected = self._result_types.pop(ident)
        future = self._request_futures.pop(ident, None)
        if future is None or future.done():
            return
        result, fault = outcome(self._result_of, message, expected)
        if fault is None:
            future.set_result(result)
        else:
            future.set_exception(fault)

    def _result_of(self, message: Message, expected: type[Any] | None) -> Any:
        if "error" in message:
            error = self._converter.structure(message["error"], types.ResponseError)
            raise JsonRpcException.from_error(error)
        if expected is None:
            return message["result"]
        return self._converter.structure(message, expected).result

    def _knows(self, name: str) -> bool:
        return name in self.fm.features or name in self.fm.builtin_features

    def structure_message(self, data: Message) -> Any:
        """The typed form of a standard message; raises InvalidParams naming the wire field."""
        return structure(self._converter, self.get_message_type(data["method"]), data)

    # The lifecycle.

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(
        self, params: types.InitializeParams
    ) -> Generator[Any, Any, types.InitializeResult]:
        """Answer initialize with our own part beside what pygls finds out."""
        result = yield from super().lsp_initialize(params)
        result.capabilities.experimental = {"turnkeeper": self._announcement()}
        client = _client_of(params, self.push)
        self._app.connected(client)
        if params.process_id is not None:
            self._server.client_process(params.process_id)
        self._opted_in = client.opted_in
        self._life = Life.RUNNING
        return result

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(
        self, params: types.DidChangeTextDocumentParams
    ) -> Generator[Any, Any, None]:
        """Ignore a change of a document that is not open; pygls takes it for a bug."""
        if unquote(params.text_document.uri) in self.workspace.text_documents:
            yield from super().lsp_text_document__did_change(params)
        else:
            log.debug("ignored a change of a document that is not open")

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        """Refuse requests from now on; those that came before, and ours, may still be answered."""
        if (feature := self.fm.features.get(types.SHUTDOWN)) is not None:
            yield feature, args, None
        self._life = Life.SHUT

    def _announcement(self) -> Json:
        methods = sorted(self._own.methods)
        return {"protocolVersion": PROTOCOL_VERSION, "methods": methods, **self._app.announced}

    # Answers.

    def _conclude(self, message: Message, result: Json, fault: Exception | None) -> None:
        """Answer a request of ours, or report the notification that failed."""
        if "id" not in message:
            if fault is not None:
                self._report(message["method"], message, fault)
            return
        if fault is None:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            _, fault = outcome(self._send, answer)
        if fault is not None:
            self._refuse(message["id"], fault, message["method"])

    def _send_handler_result(self, future: "Future[Any]", *, msg_id: Any) -> None:
        """Answer a standard request once its feature has ended."""
        self._request_futures.pop(msg_id, None)
        if future.cancelled():
            self._refuse(msg_id, Cancelled("the request was cancelled"))
            return
        fault = future.exception()
        if fault is None:
            answer = {"jsonrpc": "2.0", "id": msg_id, "result": future.result()}
            _, fault = outcome(self._send, answer)
        if fault is not None:
            self._refuse(msg_id, fault, "a standard request")

    def _check_handler_result(self, future: "Future[Any]") -> None:
        """Report what a standard notification's feature raised."""
        if not future.cancelled() and (fault := future.exception()) is not None:
            self._report("a standard notification", {}, fault)

    def _send_data(self, data: Any) -> None:
        """Send what pygls and lsprotocol objects stand for."""
        self._send(data)

    def _send(self, message: Json) -> None:
        self._send_body(dump(message, self._plain))

    def _plain(self, value: Any) -> Json:
        """What orjson and json cannot print by themselves: lsprotocol objects, anywhere."""
        return self._converter.unstructure(value)

    def _refuse(self, ident: Json, fault: BaseException, where: str = "a message") -> None:
        error = error_of(fault)
        if error["code"] == Internal.code:
            log_bug(clean(where), fault)
        self._send({"jsonrpc": "2.0", "id": ident, "error": error})

    def _report(self, name: str, message: Message, fault: BaseException) -> None:
        """Log a notification that failed and flag it; it cannot be answered."""
        error = error_of(fault)
        data = error["data"]
        if error["code"] == Internal.code:
            log_bug(clean(name), fault)
        else:
            log.warning(
                "refused %s: %s %s", clean(name), data["kind"], clean(data.get("field", ""))
            )
        text = f"{clean(name)}: {error['message']}"
        session_id = session_of(message)
        _, bug = outcome(self._app.flag, session_id, data["kind"], text, data["hint"])
        if bug is not None:
            log_bug("flag", bug)


def _client_of(params: types.InitializeParams, push: Callable[[str, Json], None]) -> Client:
    asked = _member(params.capabilities.experimental, "turnkeeper") or {}
    settings = _member(params.initialization_options, "turnkeeper")
    speaks_ours = asked.get("version") == PROTOCOL_VERSION
    return Client(
        settings=settings or {},
        opted_in=speaks_ours or settings is not None,
        correction_request=speaks_ours and asked.get("correctionRequest") is True,
        push=push,
    )


def _member(parent: Any, name: str) -> dict[str, Json] | None:
    child = parent.get(name) if isinstance(parent, dict) else None
    return child if isinstance(child, dict) else None
