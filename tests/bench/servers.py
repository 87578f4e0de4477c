"""The servers that are measured, each as a child process spoken to in raw frames."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

from server.child import turnkeeper_argv

REPOSITORY = Path(__file__).resolve().parents[2]

COMMANDS = {
    "turnkeeper": turnkeeper_argv("serve"),
    "stock pygls, typed": [sys.executable, "-m", "tests.bench.stock_server"],
    "asyncio + orjson": [sys.executable, "-m", "tests.bench.bare_loop"],
}
# What each server answers only after all that was sent before it.
FENCES = {
    "turnkeeper": ("turnkeeper/stats", {}),
    "stock pygls, typed": ("workspace/symbol", {"query": ""}),
    "asyncio + orjson": ("fence", {}),
}
INITIALIZE = {
    "processId": None,
    "rootUri": None,
    "capabilities": {"experimental": {"turnkeeper": {"version": 1}}},
}


def frame(message: dict[str, Any]) -> bytes:
    """Give a message as it goes over the pipe."""
    body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


class Running:
    """One server process; use it as a context manager."""

    def __init__(self, name: str, state_root: str) -> None:
        self.name = name
        environment = {**os.environ, "TURNKEEPER_STATE_DIR": state_root}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # An installation has its bytecode.
        self._process = subprocess.Popen(
            COMMANDS[name],
            cwd=REPOSITORY,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self._next_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def request(self, method: str, params: dict[str, Any]) -> None:
        """Send a request and wait for its answer; everything else that comes is thrown away."""
        self._next_id += 1
        self.send(frame({"id": self._next_id, "method": method, "params": params}))
        while self._read().get("id") != self._next_id:
            pass

    def send(self, data: bytes) -> None:
        """Send raw frames."""
        self._in.write(data)
        self._in.flush()

    def fence(self) -> None:
        """Wait until all that was sent is handled."""
        self.request(*FENCES[self.name])

    def cpu_ns(self) -> int:
        """Give the process's CPU time so far, in nanoseconds (Linux)."""
        total = 0
        for task in Path(f"/proc/{self._process.pid}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0])
        return total

    def _read(self) -> dict[str, Any]:
        length = 0
        while (line := self._out.readline().strip()) != b"":
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        message: dict[str, Any] = json.loads(self._out.read(length))
        return message


def spawn_seconds(name: str, state_root: str) -> float:
    """Measure the wall time from the start of a process to its answer to initialize."""
    start = time.perf_counter()
    with Running(name, state_root) as server:
        server.request("initialize", INITIALIZE)
        return time.perf_counter() - start
