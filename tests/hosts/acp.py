"""Runs real agents that speak the Agent Client Protocol, offline; the model is the fake one."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

from tests.hosts import claude, codex, programs
from tests.hosts.claude import HERE, Hear, starting, write_files, write_json
from tests.hosts.fake_model import Asked, Model, Scenario, serving

Json: TypeAlias = Any

RUN_SECONDS_MAX = 120
HELLO = {
    "protocolVersion": 1,
    "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}},
    "clientInfo": {"name": "turn-driver", "version": "1"},
}


class Run(NamedTuple):
    """What a run left behind."""

    project: Path
    said: list[Json]  # {direction: to or from, message}
    asked: list[Asked]  # What the model server received.
    errors: str  # What the agent wrote to standard error.


def run(agent: str, prompt: str, folder: Path, scenario: Scenario, hear: Hear | None = None) -> Run:
    """Have `claude` or `codex` answer a prompt in an empty folder; `hear` is given each message."""
    project, errors = folder / "project", folder / "errors.txt"
    with serving(scenario) as model:
        if agent == "claude":
            program, variables = _claude(project, folder, model)
        else:
            program = programs.ACP_CODEX_PROGRAM
            project, variables = codex.prepare(codex.Case((prompt,)), folder, model, "true")
        with starting(
            [str(program)], project, variables, errors, RUN_SECONDS_MAX, in_own_group=True
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            client = _Client(process.stdin, process.stdout, hear)
            client.request("initialize", HELLO)
            mcp = {"name": "echo", "command": sys.executable, "args": [str(HERE / "echo_mcp.py")]}
            servers = [{**mcp, "env": []}]
            session = client.request("session/new", {"cwd": str(project), "mcpServers": servers})
            said = [{"type": "text", "text": prompt}]
            client.request("session/prompt", {"sessionId": session["sessionId"], "prompt": said})
            process.stdin.close()
            # Neither ends with its input, and one is a wrapper around the program itself.
            os.killpg(process.pid, signal.SIGTERM)
        return Run(project, client.said, model.asked, errors.read_text(encoding="utf-8"))


def _claude(project: Path, folder: Path, model: Model) -> tuple[Path, dict[str, str]]:
    home = folder / "home"
    write_files(project, claude.WORKSPACE)
    write_files(home, claude.HOME)
    allowed = {"permissions": {"allow": claude.TOOLS.split(",")}}
    write_json(home / ".claude" / "settings.json", allowed)
    return programs.ACP_CLAUDE_PROGRAM, claude.environment(home, model.url)


class _Client:
    """Asks one thing after the other; gives every permission."""

    def __init__(self, to: IO[str], come: IO[str], hear: Hear | None) -> None:
        self.said: list[Json] = []
        self._to, self._come, self._hear = to, come, hear
        self._number = 0

    def request(self, method: str, params: Json) -> Json:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        for line in self._come:
            message = json.loads(line)
            self._keep("from", message)
            if "method" in message and "id" in message:
                self._send({"id": message["id"], "result": _permission(message["params"])})
            elif message.get("id") == self._number and "method" not in message:
                assert "error" not in message, message
                return message["result"]
        raise AssertionError("the agent ended")

    def _send(self, message: Json) -> None:
        message = {"jsonrpc": "2.0", **message}
        self._keep("to", message)
        self._to.write(json.dumps(message) + os.linesep)
        self._to.flush()

    def _keep(self, direction: str, message: Json) -> None:
        self.said.append({"direction": direction, "message": message})
        if self._hear is not None:
            self._hear(self.said[-1])


def _permission(params: Json) -> Json:
    kinds = {option["kind"]: option["optionId"] for option in params["options"]}
    return {"outcome": {"outcome": "selected", "optionId": kinds["allow_once"]}}
