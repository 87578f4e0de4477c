"""A scripted session, and what the state must be after each of its requests."""

import json
from pathlib import Path
from typing import Any

from core.state import Session
from handlers.app import Application
from handlers.method import Call
from tests.server.raw_client import frame

Request = tuple[str, dict[str, Any]]

PLAN = """\
version: 1
task_id: kill-test
phases:
  - id: read
    task_prompt: Read.
    required_skills: [tidy]
  - id: write
    task_prompt: Write.
    exit_criteria:
      - artifact_exists: never/written.md
"""


def script(session_id: str, plan: Path) -> list[Request]:
    """Give the requests of one session: arming, evidence, blocks, giving up, resuming."""
    session = {"sessionId": session_id}
    requests: list[Request] = [
        ("sessionStart", {"runtime": "claude_code", "workspace": str(plan.parent)}),
        ("prompt", {"turnId": "t0", "text": "long " * 60}),
        ("plan/arm", {"path": str(plan)}),
    ]
    for number in range(1, 6):
        turn = f"t{number}"
        requests.append(("prompt", {"turnId": turn, "text": f"go on {number}"}))
        for call in range(3):
            use = f"{turn}-{call}"
            requests.append(("toolCall", {"toolUseId": use, "name": "Bash", "input": {"n": call}}))
            requests.append(("toolResult", {"toolUseId": use, "content": "done"}))
        requests.append(("usage", {"input": number, "output": 2, "messageId": turn}))
        if number == 2:
            skill = {"toolUseId": "skill", "name": "Skill", "input": {"skill": "tidy"}}
            requests.append(("toolCall", skill))
            requests.append(("toolResult", {"toolUseId": "skill", "content": "ok"}))
        requests.append(("turnEnd", {"turnId": turn, "outcome": "completed"}))
        requests.append(("turnEnd", {"turnId": turn, "outcome": "completed"}))
    requests.append(("plan/resume", {"reason": "once more"}))
    requests.append(("turnEnd", {"turnId": "t5", "outcome": "completed"}))
    requests.append(("sessionEnd", {}))
    return [(f"turnkeeper/{name}", {**session, **params}) for name, params in requests]


def frames(requests: list[Request]) -> bytes:
    """Give the whole session as one run of bytes; ids count from 1."""
    return b"".join(
        frame({"jsonrpc": "2.0", "id": number, "method": name, "params": params})
        for number, (name, params) in enumerate(requests, 1)
    )


def states_after_each(requests: list[Request], root: Path) -> list[str]:
    """Fold the session in this process; give the state before the first request and after each."""
    application = Application(str(root), {})
    methods = {method.name: method for method in application.methods}
    session_id = requests[0][1]["sessionId"]
    states = [printed(Session(session_id))]
    for name, params in requests:
        method = methods[name]
        method.handle(method.structure(params), Call.REQUEST)
        state = application.hub.sessions.find(session_id)
        assert state is not None
        states.append(printed(state))
    application.close()
    return states


def printed(state: Session) -> str:
    """Print a state so that equal states give equal texts."""
    return json.dumps(state.to_json(), sort_keys=True)
