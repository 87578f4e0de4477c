"""A client that sends bytes, reads frames, and waits for nothing without a limit."""

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 20.0
INITIALIZE = {"processId": None, "capabilities": {"experimental": {"turnkeeper": {"version": 1}}}}


def frame(message: Any) -> bytes:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def request(ident: Any, method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}


def notification(method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


class RawClient:
    """One server process; used as a context manager it leaves none behind."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            argv,
            cwd=ROOT,
            env=None if env is None else {**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.stdin, self.stdout, self.stderr = (
            self.process.stdin,
            self.process.stdout,
            self.process.stderr,
        )
        self._got = bytearray()

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, *exc: object) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.stdin, self.stdout, self.stderr):
            pipe.close()

    def send_bytes(self, data: bytes) -> None:
        """Write all of it; the server must take it within the limit without our reading."""
        os.set_blocking(self.stdin.fileno(), False)
        rest = memoryview(data)
        while rest:
            _, ready, _ = select.select([], [self.stdin], [], LIMIT_SECONDS)
            assert ready, f"the server stopped reading, {len(rest)} bytes to go"
            rest = rest[os.write(self.stdin.fileno(), rest) :]

    def send(self, *messages: Any) -> None:
        self.send_bytes(b"".join(map(frame, messages)))

    def receive(self) -> Any:
        """The next message of the server; its framing is checked byte for byte."""
        while (end := self._got.find(b"\r\n\r\n")) < 0:
            self._fill()
        name, _, length = bytes(self._got[:end]).partition(b": ")
        assert name == b"Content-Length", bytes(self._got[:200])
        size = end + 4 + int(length)
        while len(self._got) < size:
            self._fill()
        body = bytes(self._got[end + 4 : size])
        del self._got[:size]
        return json.loads(body)

    def ask(self, method: str, params: Any = None, ident: Any = "q") -> Any:
        """Send a request and give the server's next message, whatever it is."""
        self.send(request(ident, method, params))
        return self.receive()

    def initialize(self, params: Any = None) -> Any:
        answer = self.ask("initialize", INITIALIZE if params is None else params)
        assert "result" in answer, answer
        self.send(notification("initialized", {}))
        return answer["result"]

    def wait(self, seconds: float = LIMIT_SECONDS) -> int:
        """The exit code, once the process has ended."""
        return self.process.wait(seconds)

    def end(self) -> tuple[int, str]:
        """Close the input; the exit code and all that was logged."""
        self.stdin.close()
        code = self.wait()
        return code, self.stderr.read().decode()

    def rest(self) -> bytes:
        """All that is left to read when the process has ended."""
        return bytes(self._got) + self.stdout.read()

    def _fill(self) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        ready, _, _ = select.select([self.stdout], [], [], deadline - time.monotonic())
        assert ready, "no answer in time"
        chunk = os.read(self.stdout.fileno(), 1 << 20)
        assert chunk, "the server closed its output"
        self._got += chunk
