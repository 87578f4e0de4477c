"""Hands a real sidecar what a real host says, while it says it."""

import json
import socketserver
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from server.child import turnkeeper_argv
from tests.server.raw_client import RawClient
from tests.server.sidecar import Sidecar

Json: TypeAlias = Any


class Serve(Sidecar):
    """A real `turnkeeper serve` whose log goes to a file."""

    def __enter__(self) -> "Serve":
        return self

    def __init__(self, state: Path, home: Path, log: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        env = {"TURNKEEPER_STATE_DIR": str(state), "HOME": str(home), "CODEX_HOME": ""}
        RawClient.__init__(self, turnkeeper_argv("serve", "--log-file", str(log)), env)
        self.pushed: list[tuple[str, Any]] = []
        self._asked = 0
        self.initialize()


class Feed:
    """One session of a sidecar, told by raw events that come from several threads.

    With a workspace the host begins the session itself, as soon as its id is known; else a raw
    event does. With `hooks_first` all else waits until a hook was called: then the order is the
    same each time.
    """

    def __init__(
        self,
        sidecar: Sidecar,
        runtime: str,
        workspace: Path | None = None,
        *,
        hooks_first: bool = False,
        **start: str,
    ) -> None:
        self.session = ""
        self.turn = ""  # Of the last verdict.
        self.verdicts: list[Json] = []
        self.heard: Counter[str] = Counter()  # Raw events by the door that they came through.
        self._sidecar = sidecar
        self._runtime = runtime
        self._workspace = workspace
        self._start = start
        self._holds_back = hooks_first
        self._waiting: list[Json] = []
        self._instructions: list[Json] = []
        self._rows = 0
        self._lock = threading.RLock()

    def hear(self, door: str, row: Json) -> Json:
        """Hand on a raw event; what comes before the session's id is known waits for it."""
        with self._lock:
            self.heard[door] += 1
            session = self.session or session_of(row)
            if not session or (self._holds_back and "hook_event_name" not in row):
                self._waiting.append(row)
                return None
            if not self.session:
                self._begun(session)
            if not self._holds_back:
                self._hand_waiting()
            answer = self._hand(row)
            if self._holds_back:
                self._holds_back = False
                self._hand_waiting()
            return answer

    def begin(self, session: str) -> None:
        """Take a session's id, and hand on what waited for it."""
        with self._lock:
            self._begun(session)
            self._hand_waiting()

    def hook(self, payload: Json) -> Json:
        """Hand on a hook's payload; give what the hook answers.

        At the end of a turn the rows that the recording got so far come first. The hooks of
        instruction files run beside each other: they wait for the next hook, and for each other.
        """
        event = payload["hook_event_name"]
        with self._lock:
            if event == "InstructionsLoaded":
                self._instructions.append(payload)
                return {}
            if event != "SessionStart":
                for told in sorted(self._instructions, key=_path_of):
                    self.hear("hook payloads", told)
                self._instructions = []
            if event == "Stop":
                self.hear_recording(Path(payload["transcript_path"]))
            verdict = self.hear("hook payloads", payload)
        if isinstance(verdict, dict) and verdict.get("decision", "allow") != "allow":
            return {"decision": "block", "reason": verdict["reason"]}
        return {}

    def hear_recording(self, path: Path) -> None:
        """Hand on the rows that were added since."""
        rows = path.read_text(encoding="utf-8").splitlines()
        for row in rows[self._rows :]:
            self.hear("rows of its recording", json.loads(row))
        self._rows = len(rows)

    def tell(self, method: str, **params: Json) -> Json:
        """Tell what the host itself knows, by a method of its own."""
        with self._lock:
            answer = self._sidecar.call(method, self.session, **params)
            self._keep(answer)
            return answer

    def _begun(self, session: str) -> None:
        self.session = session
        if self._workspace is not None:
            start = {"runtime": self._runtime, "workspace": str(self._workspace)}
            self._sidecar.call("sessionStart", session, **start, **self._start)

    def _hand_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for row in waiting:
            self._hand(row)

    def _hand(self, row: Json) -> Json:
        told = {"runtime": self._runtime, "event": row}
        answer = self._sidecar.call("hostEvent", self.session, **told)
        self._keep(answer)
        return answer

    def _keep(self, answer: Json) -> None:
        if isinstance(answer, dict) and "accounting" in answer:
            self.verdicts.append(answer)
            self.turn = answer["accounting"]["turnId"]


def _path_of(payload: Json) -> str:
    return str(payload["file_path"])


def session_of(row: Json) -> str:
    """Name the session that a raw event belongs to; "" where it does not say."""
    message = row.get("message", row) if "direction" in row else row
    params, result = message.get("params") or {}, message.get("result") or {}
    found = (
        *(message.get(key) for key in ("session_id", "sessionId", "thread_id")),
        *(params.get("threadId"), (params.get("thread") or {}).get("id")),
        *(params.get("sessionId"), result.get("sessionId")),
    )
    return next((name for name in found if isinstance(name, str) and name), "")


@contextmanager
def listening(feed: Feed) -> Iterator[int]:
    """Listen for hook_caller.py; gives the port."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            answer = feed.hook(json.loads(self.rfile.readline()))
            if answer:
                self.wfile.write(json.dumps(answer).encode())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
