"""Runs the real Codex offline, by `codex exec` or by its app server; the model is the fake one."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tests.hosts import programs, scenarios
from tests.hosts.claude import (
    HERE,
    Hear,
    heard,
    recorder,
    rows,
    settings,
    starting,
    write_files,
    write_json,
)
from tests.hosts.fake_model import Asked, Model, Scenario, serving

Json: TypeAlias = Any

RUN_SECONDS_MAX = 120
MODEL = "gpt-5.5"  # A model that Codex knows: the name decides which tools it offers.
EVENTS = (
    *("PreToolUse", "PermissionRequest", "PostToolUse", "PreCompact", "PostCompact"),
    *("SessionStart", "SessionEnd", "UserPromptSubmit", "SubagentStart", "SubagentStop"),
    *("Stop", "Interrupt", "PreModelRequest", "PostModelRequest"),
)
WORKSPACE = {
    "AGENTS.md": "# Project rules\n\nKeep it small.\n",
    "notes.txt": "first line\nsecond line\n",
    ".codex/skills/release-notes/SKILL.md": (
        "---\nname: release-notes\ndescription: Write release notes in two steps.\n---\n"
        "# Release notes\n\n## Collect\nRead the log.\n\n## Write\nWrite the notes.\n"
    ),
}


class Case(NamedTuple):
    """One run; the prompt "/compact" asks the app server to compact."""

    prompts: tuple[str, ...]
    policy: Json = None  # What hooks answer, for hook_recorder.py.
    config: str = ""  # TOML that comes first in config.toml.
    model: str = MODEL
    skills: tuple[str, ...] = ()  # Names, chosen with the first prompt; for the app server.


class Run(NamedTuple):
    """What a run left behind."""

    project: Path
    rollout: Path
    said: list[Json]  # Lines of `exec --json`, or what the app server sent.
    hooks: list[Json]  # {event, payload, answer}, as hook_recorder.py wrote them.
    asked: list[Asked]  # What the model server received.
    errors: str  # What it wrote to standard error.


LOOK = "[[script:tools]] Please look around."
_SAYING = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse")
CASES: Mapping[str, Case] = {
    "tools": Case((LOOK,)),
    "context": Case(
        (LOOK,),
        {
            event: [
                {
                    "json": {
                        "hookSpecificOutput": {"hookEventName": event, "additionalContext": event}
                    }
                }
            ]
            for event in _SAYING
        },
    ),
    "stop-block": Case(
        ("[[script:claims-then-work]] Please test it.",),
        {"Stop": [{"json": {"decision": "block", "reason": "Run the tests."}}]},
    ),
    "auto-compact": Case(
        ("[[script:big]] Please look around.",),
        config="model_context_window = 200000\nmodel_auto_compact_token_limit = 150000\n",
    ),
    "two-turns": Case((LOOK, "[[script:claims]] And now?")),  # For the app server, as the next.
    "compact": Case((LOOK, "/compact", "[[script:claims]] Go on.")),
}


def run_exec(
    case: Case,
    folder: Path,
    *,
    hook_command: str | None = None,
    scenario: Scenario | None = None,
    hear: Hear | None = None,
) -> Run:
    """Run the first prompt of a case with `codex exec --json`, in an empty folder.

    `hear` is given each line while the program runs.
    """
    with serving(scenario or scenarios.codex()) as model:
        project, variables = prepare(case, folder, model, hook_command)
        (prompt,) = case.prompts
        argv = [
            *(str(programs.CODEX_PROGRAM), "exec", "--json", "--skip-git-repo-check"),
            *("--dangerously-bypass-hook-trust", prompt),
        ]
        said: list[Json] = []
        with starting(argv, project, variables, folder / "errors.txt", RUN_SECONDS_MAX) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            said += heard(process.stdout, hear)
        return _run(folder, project, said, model)


def run_server(
    case: Case,
    folder: Path,
    *,
    hook_command: str | None = None,
    scenario: Scenario | None = None,
    hear: Hear | None = None,
) -> Run:
    """Run the prompts of a case as turns of one thread of `codex app-server`.

    `hear` is given each message while the program runs.
    """
    with serving(scenario or scenarios.codex()) as model:
        project, variables = prepare(case, folder, model, hook_command)
        errors = folder / "errors.txt"
        with AppServer(project, variables, hear=hear, errors=errors) as server:
            server.start_thread(project)
            chosen = case.skills
            for prompt in case.prompts:
                server.take_turn(prompt, [project / skill_file(name) for name in chosen])
                chosen = ()
        return _run(folder, project, server.said, model)


def _run(folder: Path, project: Path, said: list[Json], model: Model) -> Run:
    (rollout,) = (folder / "home" / ".codex" / "sessions").rglob("rollout-*.jsonl")
    errors = (folder / "errors.txt").read_text(encoding="utf-8")
    return Run(project, rollout, said, rows(folder / "hooks.jsonl"), model.asked, errors)


def skill_file(name: str) -> str:
    """Name the file of one of the project's skills."""
    return f".codex/skills/{name}/SKILL.md"


def prepare(
    case: Case, folder: Path, model: Model, hook_command: str | None
) -> tuple[Path, dict[str, str]]:
    """Write the project and the configuration; give the project and the variables."""
    project, home = folder / "project", folder / "home"
    codex_home = home / ".codex"
    codex_home.mkdir(parents=True)
    write_files(project, WORKSPACE)
    policy = write_json(folder / "policy.json", case.policy or {})
    command = hook_command or recorder(folder / "hooks.jsonl", policy)
    write_json(codex_home / "hooks.json", settings(command, EVENTS))
    (codex_home / "config.toml").write_text(config(case, project, model.url), encoding="utf-8")
    return project, {
        "HOME": str(home),
        "CODEX_HOME": str(codex_home),
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "LOOPBACK_KEY": "not-a-key",
        "HTTPS_PROXY": model.url,
        "NO_PROXY": "127.0.0.1,localhost",
    }


def config(case: Case, project: Path, url: str) -> str:
    """Give the text of config.toml; JSON strings are TOML strings too."""
    quote = json.dumps
    return f"""{case.config}
model = {quote(case.model)}
model_provider = "loopback"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.loopback]
name = "loopback"
base_url = {quote(url + "/v1")}
wire_api = "responses"
env_key = "LOOPBACK_KEY"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
[mcp_servers.echo]
command = {quote(sys.executable)}
args = [{quote(str(HERE / "echo_mcp.py"))}]
[projects.{quote(str(project))}]
trust_level = "trusted"
"""


class AppServer:
    """A running `codex app-server`, for a with statement; `said` is what it sent, in order."""

    def __init__(
        self,
        project: Path,
        variables: Mapping[str, str],
        *,
        hear: Hear | None,
        errors: Path,
    ) -> None:
        self.said: list[Json] = []
        self._hear = hear
        self._thread_id = ""
        self._number = 0
        self._deadline = time.monotonic() + RUN_SECONDS_MAX
        self._lines: queue.Queue[str | None] = queue.Queue()
        with errors.open("wb") as file:
            self._process = subprocess.Popen(
                [str(programs.CODEX_PROGRAM), "app-server"],
                cwd=project,
                env=dict(variables),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
            )
        self._pump = threading.Thread(target=self._read, daemon=True)
        self._pump.start()

    def __enter__(self) -> "AppServer":
        client = {"name": "turn-driver", "title": None, "version": "1"}
        capabilities = {"experimentalApi": True}
        self.request("initialize", {"clientInfo": client, "capabilities": capabilities})
        self._send({"method": "initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._pump.join()
        self._process.stdout.close()

    def start_thread(self, project: Path) -> None:
        """Start the one thread; its hooks run without having been reviewed."""
        given = {
            "cwd": str(project),
            "approvalPolicy": "never",
            "sandbox": "danger-full-access",
            "config": {"bypass_hook_trust": True},
        }
        self._thread_id = self.request("thread/start", given)["thread"]["id"]

    def take_turn(self, prompt: str, skills: Sequence[Path] = ()) -> None:
        """Send a prompt, or ask for a compaction, and wait until that turn has ended.

        The SKILL.md files of `skills` are chosen with the prompt.
        """
        thread = {"threadId": self._thread_id}
        if prompt == "/compact":
            self.request("thread/compact/start", thread)
        else:
            given: list[Json] = [{"type": "text", "text": prompt}]
            given += [
                {"type": "skill", "name": path.parent.name, "path": str(path)} for path in skills
            ]
            self.request("turn/start", {**thread, "input": given})
        self._until(lambda message: message.get("method") == "turn/completed")

    def request(self, method: str, params: Json) -> Json:
        """Send a request and wait for its result."""
        self._number += 1
        number = self._number
        self._send({"id": number, "method": method, "params": params})
        answer = self._until(
            lambda message: message.get("id") == number and "method" not in message
        )
        assert "error" not in answer, answer
        return answer["result"]

    def _send(self, message: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _until(self, is_wanted: Callable[[Json], bool]) -> Json:
        while True:
            line = self._lines.get(timeout=max(0.1, self._deadline - time.monotonic()))
            assert line is not None, "the app server ended"
            message = json.loads(line)
            self.said.append(message)
            if self._hear is not None:
                self._hear(message)
            if "id" in message and "method" in message:
                self._send({"id": message["id"], "result": {"decision": "accept"}})
            if is_wanted(message):
                return message
