"""A client of the application in this very process: real sessions on a real folder, no transport.

Answers and pushes are the JSON objects that a client would get.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.later import here
from handlers.app import Application
from handlers.method import Call, Client

PLAN = """\
version: 1
task_id: T1
original_prompt: Build a house.
phases:
  - id: survey
    task_prompt: Look around.
    skill_injection: {dao_skills: [shape]}
    exit_criteria:
      - artifact_exists: out.md
  - id: build
    task_prompt: Build it.
    exit_criteria:
      - artifact_contains: "done.md::done"
"""


class Host:
    """An opted-in client with one workspace; `pushed` holds what came without being asked for."""

    def __init__(
        self,
        root: Path,
        workspace: Path,
        settings: dict[str, Any] | None = None,
        *,
        correction_request: bool = False,
        environ: dict[str, str] | None = None,
    ) -> None:
        self.workspace = workspace
        workspace.mkdir(exist_ok=True)
        self.app = Application(str(root), environ or {})
        self.pushed: list[tuple[str, Any]] = []
        self.asked: list[tuple[Any, Callable[[Any], None]]] = []
        self.soon: list[Callable[[], None]] = []
        self.app.connected(Client(settings or {}, True, correction_request, self._push))
        self.app.hub.ask = lambda _method, params, then: self.asked.append((params, then))
        self.app.hub.later = lambda _seconds, work: self.soon.append(work)
        self._methods = {method.name: method for method in self.app.methods}

    def ask(self, method: str, session: str | None = "S", /, **params: Any) -> Any:
        """Send a request; gives its result or raises the Refusal."""
        return self._send(method, session, params, Call.REQUEST)

    def tell(self, method: str, session: str | None = "S", /, **params: Any) -> None:
        """Send a notification."""
        self._send(method, session, params, Call.NOTIFICATION)

    def start(self, session: str = "S", **params: Any) -> Any:
        defaults = {"runtime": "claude_code", "workspace": str(self.workspace)}
        return self.ask("sessionStart", session, **{**defaults, **params})

    def arm(self, session: str = "S", text: str = PLAN) -> Any:
        self.write("plan.yaml", text)
        return self.ask("plan/arm", session, path="plan.yaml")

    def end(self, turn: str = "t1", session: str = "S", **params: Any) -> Any:
        return self.ask("turnEnd", session, turnId=turn, **{"outcome": "completed", **params})

    def open_skill(self, name: str = "shape", ident: str = "k", session: str = "S") -> None:
        self.ask("toolCall", session, toolUseId=ident, name="Skill", input={"skill": name})
        self.ask("toolResult", session, toolUseId=ident, content="ok")

    def write(self, name: str, text: str) -> None:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def pushes(self, name: str) -> list[Any]:
        return [params for method, params in self.pushed if method == f"turnkeeper/{name}"]

    def run_soon(self) -> None:
        """Do what was put off, as the loop would."""
        work, self.soon = self.soon, []
        for step in work:
            step()

    def _push(self, method: str, params: Any) -> None:
        self.pushed.append((method, params))

    def _send(self, name: str, session: str | None, params: dict[str, Any], call: Call) -> Any:
        method = self._methods[f"turnkeeper/{name}"]
        sent = params if session is None else {"sessionId": session, **params}
        return method.unstructure(here(method.handle(method.structure(sent), call)))
