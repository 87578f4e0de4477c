"""A client of the real `turnkeeper serve`, opted in, whose answers are found among the pushes."""

from pathlib import Path
from typing import Any

from server.child import turnkeeper_argv
from tests.server.raw_client import RawClient, notification, request


class Sidecar(RawClient):
    """One initialized process on a state folder of its own."""

    def __init__(self, root: Path, home: Path) -> None:
        home.mkdir(exist_ok=True)
        env = {"TURNKEEPER_STATE_DIR": str(root), "HOME": str(home)}
        super().__init__(turnkeeper_argv("serve"), env)
        self.pushed: list[tuple[str, Any]] = []
        self._asked = 0
        self.initialize()

    def post(self, method: str, session: str | None = "S", /, **params: Any) -> int:
        """Send a request and wait for nothing; gives its id."""
        self._asked += 1
        self.send(request(self._asked, f"turnkeeper/{method}", _with_id(session, params)))
        return self._asked

    def answer(self, ident: int) -> Any:
        """Give the message that answers a request; what comes before it is kept as pushed."""
        while True:
            message = self.receive()
            if message.get("id") == ident and "method" not in message:
                return message
            self.pushed.append((message["method"], message["params"]))

    def call(self, method: str, session: str | None = "S", /, **params: Any) -> Any:
        """Send a request and give its result; an error fails the test."""
        answer = self.answer(self.post(method, session, **params))
        assert "result" in answer, answer
        return answer["result"]

    def refused(self, method: str, session: str | None = "S", /, **params: Any) -> Any:
        """Send a request and give its error."""
        answer = self.answer(self.post(method, session, **params))
        assert "error" in answer, answer
        return answer["error"]

    def tell(self, method: str, session: str | None = "S", /, **params: Any) -> None:
        self.send(notification(f"turnkeeper/{method}", _with_id(session, params)))

    def begin(self, workspace: Path, session: str = "S", **params: Any) -> Any:
        workspace.mkdir(exist_ok=True)
        defaults = {"runtime": "claude_code", "workspace": str(workspace)}
        return self.call("sessionStart", session, **{**defaults, **params})

    def turn_end(self, turn: str = "t1", session: str = "S") -> Any:
        return self.call("turnEnd", session, turnId=turn, outcome="completed")

    def kill(self) -> None:
        """As kill -9 does; gives nothing the chance to be flushed."""
        self.process.kill()
        self.process.wait()


def _with_id(session: str | None, params: dict[str, Any]) -> dict[str, Any]:
    return params if session is None else {"sessionId": session, **params}
