"""A sidecar with a few methods that misbehave in every way; `python -m tests.server.echo_app FILE`.

FILE is written when the application is closed.
"""

import argparse
import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pygls.lsp.server import LanguageServer

from core.errors import InvalidParams, UnknownSession
from core.events import Json
from core.later import Later
from handlers.method import App, Call, Client, Method
from server.serve import serve

SECRET = "the text of a prompt"


class EchoApp:
    """Counts what it is told and gives back what it is given."""

    version = "0"
    announced: Mapping[str, Json] = {"kinds": ["k"], "runtimes": ["r"], "criteria": ["c"]}

    def __init__(self, closed: str) -> None:
        self._closed = closed
        self._seen: list[Json] = []
        self._flags: list[Json] = []
        self._client: Client | None = None
        self._server: LanguageServer | None = None
        self._answers: list[Json] = []

    @property
    def methods(self) -> Sequence[Method]:
        return (
            _method("echo", lambda params, call: {"call": call.value, "params": params}),
            _method("note", self._note),
            _method("seen", lambda _params, _call: {"seen": self._seen, "flags": self._flags}),
            _method("print", _print_everywhere),
            _method("refuse", _refuse),
            _method("bug", _fail),
            _method("unprintable", lambda _params, _call: {"value": object()}),
            _method("flood", lambda params, _call: "x" * params["bytes"]),
            _method("stall", _stall),
            _method("check", self._check),
            _method("push", self._push),
            _method("ask", self._ask),
            _method("answers", lambda _params, _call: self._answers),
            _method("client", lambda _params, _call: self._described()),
            Method(
                "turnkeeper/asked", _plain, lambda _params, _call: None, _plain, only_request=True
            ),
        )

    def register(self, server: LanguageServer) -> None:
        self._server = server

        @server.feature("textDocument/hover")
        def hover(params: Json) -> None:
            raise ValueError(SECRET)

        @server.feature("textDocument/definition")
        async def definition(params: Json) -> None:
            raise UnknownSession("no session s", hint="Start it.")

        @server.feature("textDocument/references")
        async def references(params: Json) -> None:
            await asyncio.Event().wait()

        @server.feature("workspace/didChangeConfiguration")
        def did_change_configuration(params: Json) -> None:
            raise ValueError(SECRET)

        @server.feature("test/raw")
        def raw(params: Json) -> Json:
            return params

    def connected(self, client: Client) -> None:
        self._client = client

    def flag(self, session_id: str | None, code: str, message: str, hint: str) -> None:
        self._flags.append([session_id, code, message])

    def close(self) -> None:
        Path(self._closed).write_text("closed")

    def _note(self, params: Json, call: Call) -> None:
        self._seen.append(params.get("n"))

    def _check(self, params: Json, call: Call) -> Later[Json]:
        """Wait for a line through each gate (a FIFO) in turn; the answer is the last one."""
        gate, *others = params["gates"]

        def finish(word: str) -> Json | Later[Json]:
            if word == "fail":
                raise ValueError(SECRET)
            if others:
                return self._check({**params, "gates": others}, call)
            self._seen.append(params.get("n"))
            return {"word": word}

        return Later(lambda: _word_through(gate), finish)

    def _push(self, params: Json, call: Call) -> None:
        assert self._client is not None
        self._client.push("turnkeeper/flag", params)

    def _ask(self, params: Json, call: Call) -> None:
        assert self._server is not None
        asked = self._server.protocol.send_request("turnkeeper/correction", params)
        asked.add_done_callback(lambda done: self._answers.append(done.result()))

    def _described(self) -> Json:
        assert self._client is not None
        return {
            "settings": self._client.settings,
            "optedIn": self._client.opted_in,
            "correctionRequest": self._client.correction_request,
        }


def _method(name: str, handle: Json) -> Method:
    return Method(f"turnkeeper/{name}", _plain, handle, _plain)


def _plain(value: Json) -> Json:
    return value


def _print_everywhere(params: Json, call: Call) -> Json:
    sys.stdout.write("printed\n")
    sys.stdout.flush()
    os.write(1, b"written to 1\n")
    child = subprocess.run(["cat"], stdout=None, timeout=5)
    subprocess.run(["echo", "printed by a child"])
    return {"catEnded": child.returncode}


def _refuse(params: Json, call: Call) -> None:
    raise InvalidParams(
        "turnId is no string",
        field="turnId",
        hint='Send "10", not 10.',
        problems=(
            {
                "line": 1,
                "column": 2,
                "end_line": 1,
                "end_column": 5,
                "code": "bad_id",
                "message": "no id",
            },
        ),
    )


def _fail(params: Json, call: Call) -> None:
    raise ValueError(SECRET)


def _word_through(gate: str) -> str:
    with open(gate, encoding="ascii") as words:
        word = words.readline().rstrip("\n")
    if word == "refuse":
        raise InvalidParams("turnId is no string", field="turnId", hint='Send "10", not 10.')
    return word


def _stall(params: Json, call: Call) -> None:
    subprocess.run(["sleep", "5"])


def make_app() -> App:
    return EchoApp(_ARGUMENTS.closed)


if __name__ == "__main__":
    _PARSER = argparse.ArgumentParser()
    _PARSER.add_argument("closed")
    _PARSER.add_argument("--clientProcessId", type=int)
    _PARSER.add_argument("--log-file")
    _ARGUMENTS = _PARSER.parse_args()
    sys.exit(
        serve(
            make_app,
            client_process_id=_ARGUMENTS.clientProcessId,
            log_file=_ARGUMENTS.log_file,
        )
    )
