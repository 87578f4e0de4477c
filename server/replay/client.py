"""A small client: starts `turnkeeper serve` as a host does and speaks the protocol with it."""

import json
import os
import queue
import subprocess
import threading
from contextlib import suppress
from typing import IO, Any, Self

from core.errors import Refusal
from server.child import turnkeeper_argv

Json = Any

ANSWER_SECONDS_MAX = 120  # Above the time that all checks of one stop may take.
LEAVE_SECONDS_MAX = 5


class Refused(Exception):
    """The server answered a request with an error."""

    def __init__(self, code: int, message: str, data: Json) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data if isinstance(data, dict) else {}


class ChildFailed(Refusal):
    """The server that was started for this went away or fell silent."""

    kind = "child_failed"


class Sidecar:
    """One server process; requests are made one at a time and answered in order.

    Use it as a context manager: leaving it shuts the process down, whatever has happened.
    """

    def __init__(self, folder: str, environment: dict[str, str]) -> None:
        """Start the process in `folder`, where its log file is put."""
        self._next_id = 0
        self._messages: queue.Queue[Json] = queue.Queue()
        self._log_path = os.path.join(folder, "serve.log")
        with open(self._log_path, "wb") as log:
            # A session of its own: Ctrl-C reaches this process only, which then ends the child.
            self._process = subprocess.Popen(
                turnkeeper_argv("serve", "--stdio"),
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input: IO[bytes] = self._process.stdin
        self._output: IO[bytes] = self._process.stdout
        threading.Thread(target=self._read_all, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        # Whoever breaks off does not wait for an answer.
        if error_type is None or issubclass(error_type, Exception):
            self.close()
        else:
            self._process.terminate()
            self._reap()

    def initialize(self, workspace: str, locale: str | None = None) -> Json:
        """Say who we are and opt in; give the server's own words about itself."""
        settings = {"locale": locale} if locale else {}
        answer = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": {"name": "turnkeeper replay"},
                "rootUri": None,
                "capabilities": {"experimental": {"turnkeeper": {"version": 1}}},
                "initializationOptions": {"turnkeeper": settings},
                "workspaceFolders": [{"uri": f"file://{workspace}", "name": "workspace"}],
            },
        )
        self._send({"method": "initialized", "params": {}}, "initialized")
        return answer

    def request(self, method: str, params: Json, seconds_max: float = ANSWER_SECONDS_MAX) -> Json:
        """Give the result; raise Refused for an error answer and ChildFailed without one."""
        self._next_id += 1
        self._send({"id": self._next_id, "method": method, "params": params}, method)
        while True:
            message = self._receive(method, seconds_max)
            if "method" in message:
                self._answer(message)
            elif message.get("id") in (self._next_id, None):
                return _result(message)

    def last_words(self) -> str:
        """Give the last line of the server's log; it never holds the text of a session."""
        with open(self._log_path, encoding="utf-8", errors="replace") as log:
            told = [line.strip() for line in log if line.strip() and not line.startswith(" ")]
        return told[-1] if told else ""

    def close(self) -> None:
        """Shut the process down as the protocol says; kill it if it does not go."""
        try:
            self.request("shutdown", None, LEAVE_SECONDS_MAX)
            self._send({"method": "exit"}, "exit")
        except (ChildFailed, Refused):
            self._process.kill()
        finally:
            self._reap()

    def _reap(self) -> None:
        try:
            self._process.wait(LEAVE_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with suppress(OSError):  # What was not written has no reader any more.
            self._input.close()

    def _send(self, message: Json, about: str) -> None:
        body = _encode(message)
        try:
            self._input.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self._input.flush()
        except (BrokenPipeError, ValueError):
            raise self._failure(about) from None

    def _receive(self, method: str, seconds_max: float) -> Json:
        try:
            message = self._messages.get(timeout=seconds_max)
        except queue.Empty:
            raise ChildFailed(
                f"turnkeeper serve gave no answer to {method} in {seconds_max:g} s"
            ) from None
        if message is None:
            raise self._failure(method)
        return message

    def _answer(self, message: Json) -> None:
        # What the server asks of an editor has no answer here; a notification needs none.
        if "id" in message:
            self._send({"id": message["id"], "result": None}, message["method"])

    def _read_all(self) -> None:
        try:
            while (body := _read_frame(self._output)) is not None:
                self._messages.put(json.loads(body))
        except ValueError:
            pass  # A broken stream ends the conversation like a closed one.
        self._messages.put(None)
        self._output.close()

    def _failure(self, method: str) -> ChildFailed:
        self._messages.put(None)  # Whoever asks next learns the same.
        try:
            code: object = self._process.wait(LEAVE_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            code = "none yet"
        return ChildFailed(
            f"turnkeeper serve ended at {method}, exit code {code}", hint=self.last_words()
        )


def _encode(message: Json) -> bytes:
    try:
        # Not escaped: a row that may be read must fit into a frame that may be sent.
        text = json.dumps({"jsonrpc": "2.0", **message}, allow_nan=False, ensure_ascii=False)
        return text.encode()
    except (RecursionError, ValueError):
        raise Refused(0, "cannot be written as JSON", None) from None


def _read_frame(stream: IO[bytes]) -> bytes | None:
    """Give the body of the next frame; None at the end of the stream."""
    length = 0
    while True:
        line = stream.readline()
        if not line:
            return None
        if line in (b"\r\n", b"\n"):
            return stream.read(length)
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = int(value)


def _result(message: Json) -> Json:
    error = message.get("error")
    if error is None:
        return message.get("result")
    raise Refused(error.get("code", 0), str(error.get("message", "")), error.get("data"))
