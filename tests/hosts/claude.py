"""Runs the real Claude Code offline: its model is the fake one, its HOME a folder of the run."""

import base64
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tests.hosts import programs, scenarios
from tests.hosts.fake_model import Asked, Scenario, serving

Json: TypeAlias = Any
Hear: TypeAlias = Callable[[Json], object]  # Is given each thing that a host says, as it says it.

HERE = Path(__file__).resolve().parent
RUN_SECONDS_MAX = 120
TOOLS = "Bash,Read,Edit,Write,Skill,Agent,TaskCreate,mcp__echo__echo"
EVENTS = (
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Notification"),
    *("UserPromptSubmit", "UserPromptExpansion", "SessionStart", "SessionEnd", "Stop"),
    *("StopFailure", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact"),
    *("PermissionRequest", "PermissionDenied", "InstructionsLoaded", "MessageDisplay"),
)

SKILL = """---
name: release-notes
description: Write release notes in two steps.
---
# Release notes

## Collect
Read the log — all of it 😀.

## Write
Write the notes for $ARGUMENTS.
"""
# A picture of one pixel, as base64.
DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg"
    "=="
)
WORKSPACE: Mapping[str, str | bytes] = {
    "CLAUDE.md": "# Project rules\n\nKeep it small. ж\n",
    "CLAUDE.local.md": "# Local rules\n\nSay why.\n",
    "notes.txt": "first line\nsecond line\n",
    "parts/CLAUDE.md": "# Rules for parts\n\nCount twice.\n",
    "parts/list.txt": "one\ntwo\n",
    "dot.png": base64.b64decode(DOT),
    ".claude/skills/release-notes/SKILL.md": SKILL,
}

MEMORY = "- Likes tea.\n"  # What Claude Code keeps of a project beside its transcripts.
HOME = {".claude/CLAUDE.md": "# Mine\n\nBe kind.\n"}


class Case(NamedTuple):
    """One run; each prompt is sent when the one before is answered."""

    prompts: tuple[str, ...]
    policy: Json = None  # What hooks answer, for hook_recorder.py.
    arguments: tuple[str, ...] = ()
    resumed_with: tuple[str, ...] = ()  # Prompts to a second process that goes on with the session.


class Run(NamedTuple):
    """What a run left behind."""

    project: Path
    transcript: Path
    sides: dict[str, Path]  # Sub-agent's id to its own transcript.
    stream: list[Json]  # The lines of stream-json.
    hooks: list[Json]  # {event, payload, answer}, as hook_recorder.py wrote them.
    asked: list[Asked]  # What the model server received.
    elsewhere: list[str]  # Other hosts that the program tried to reach.
    errors: str  # What it wrote to standard error.


def context(event: str, said: str) -> Json:
    """Give the hook answer that puts a text into the context."""
    return [{"json": {"hookSpecificOutput": {"hookEventName": event, "additionalContext": said}}}]


_SAYING = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch", "Stop")
_BLOCK = {"json": {"decision": "block", "reason": "You claimed a test run: run the tests."}}

CASES: Mapping[str, Case] = {
    "plain": Case(("[[script:tools]] Please look around.",)),
    "tools": Case(
        ("[[script:tools]] Please look around.",),
        {event: context(event, f"CONTEXT OF {event} ж") for event in _SAYING},
    ),
    "two-turns": Case(("[[script:tools]] Please look around.", "[[script:claims]] And now?")),
    "subagent": Case(
        ("[[script:parent]] Please look around.",),
        {"SubagentStop": [{"json": {"decision": "block", "reason": "Name the files."}}]},
    ),
    "compact": Case(
        (
            "[[script:tools]] Please look around.",
            "/compact keep the file names",
            "[[script:claims]] Go on.",
        )
    ),
    "auto-compact": Case(
        ("[[script:big]] Please look around.", "[[script:claims]] Go on."),
        arguments=("--autocompact", "100000"),
    ),
    "resumed": Case(
        ("[[script:tools]] Please look around.",), resumed_with=("[[script:claims]] And now?",)
    ),
    "typed-skill": Case(("[[script:claims]] Please look around.", "/release-notes for 1.3")),
    "stop-block": Case(
        ("[[script:claims-then-work]] Please test it.",),
        {"Stop": [_BLOCK, {"exit": 2, "stderr": "Say what you ran."}]},
    ),
    "reads": Case(("[[script:reads]] Please look at @notes.txt and around.",)),
    "failures": Case(("[[script:failures]] Please look around.",)),
    "refused": Case(("[[script:refused]] Please look around.",)),
}


def run(
    case: Case,
    folder: Path,
    *,
    hook_command: str | None = None,
    scenario: Scenario | None = None,
    hear: Hear | None = None,
) -> Run:
    """Run a case in an empty folder; `hook_command` takes the place of the recorder.

    `hear` is given each line of stream-json while the program runs.
    """
    project, home = folder / "project", folder / "home"
    write_files(project, WORKSPACE)
    write_files(home, {**HOME, memory_file(project): MEMORY})
    hooks = folder / "hooks.jsonl"
    command = hook_command or recorder(hooks, write_json(folder / "policy.json", case.policy or {}))
    errors = folder / "errors.txt"
    with serving(scenario or scenarios.claude(str(project))) as model:
        variables = environment(home, model.url)
        arguments = (
            *("--settings", str(write_json(folder / "settings.json", settings(command)))),
            *("--mcp-config", str(write_json(folder / "mcp.json", mcp_servers()))),
            *("--strict-mcp-config", "--allowedTools", TOOLS, "--max-turns", "30"),
            *case.arguments,
        )
        speaking = partial(speak, programs.CLAUDE_PROGRAM, hear=hear, errors=errors)
        stream = speaking(case.prompts, project, variables, arguments)
        if case.resumed_with:
            going_on = (*arguments, "--continue")
            stream += speaking(case.resumed_with, project, variables, going_on)
        main, sides = transcripts(home)
        said, asked = errors.read_text(encoding="utf-8"), model.asked
        return Run(project, main, sides, stream, rows(hooks), asked, model.elsewhere, said)


def memory_file(project: Path) -> str:
    """Name the file, below HOME, of what is remembered of a project."""
    return f".claude/projects/{re.sub(r'[^A-Za-z0-9]', '-', str(project))}/memory/MEMORY.md"


def recorder(log: Path, policy: Path) -> str:
    """Give the hook command that writes down its calls and answers by the policy."""
    return shlex.join([sys.executable, str(HERE / "hook_recorder.py"), str(log), str(policy)])


def settings(command: str, events: Sequence[str] = EVENTS) -> Json:
    """Give the settings that call one command for each of these hook events."""
    handler = [{"hooks": [{"type": "command", "command": command, "timeout": 20}]}]
    return {"hooks": dict.fromkeys(events, handler)}


def mcp_servers() -> Json:
    """Give the configuration of one MCP server, echo."""
    server = {"command": sys.executable, "args": [str(HERE / "echo_mcp.py")]}
    return {"mcpServers": {"echo": server}}


def environment(home: Path, url: str) -> dict[str, str]:
    """Nothing of ours, and no way to anywhere but the model on the loopback."""
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "not-a-key",
        "HTTPS_PROXY": url,
        "NO_PROXY": "127.0.0.1,localhost",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
    }


def speak(
    program: Path,
    prompts: Sequence[str],
    project: Path,
    variables: Mapping[str, str],
    arguments: Sequence[str],
    *,
    hear: Hear | None = None,
    errors: Path | None = None,
) -> list[Json]:
    """Give the program one prompt after the other; return the lines it said."""
    argv = [
        *(str(program), "-p", "--verbose", "--model", "claude-sonnet-4-5"),
        *("--input-format", "stream-json", "--output-format", "stream-json"),
        *arguments,
    ]
    said: list[Json] = []
    with starting(argv, project, variables, errors, RUN_SECONDS_MAX) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for prompt in prompts:
            message = {"role": "user", "content": prompt}
            process.stdin.write(json.dumps({"type": "user", "message": message}) + "\n")
            process.stdin.flush()
            said += heard(process.stdout, hear, until="result")
        process.stdin.close()
        said += heard(process.stdout, hear)
    return said


@contextmanager
def starting(
    argv: Sequence[str],
    folder: Path,
    variables: Mapping[str, str],
    errors: Path | None,
    seconds_max: float,
    *,
    in_own_group: bool = False,
) -> Iterator["subprocess.Popen[str]"]:
    """Run a program, and wait for its end; `errors` gets its standard error, else it is ours."""
    with nullcontext() if errors is None else errors.open("ab") as file:
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env=dict(variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            process_group=0 if in_own_group else None,
        )
    limit = threading.Timer(seconds_max, process.kill)
    limit.start()
    try:
        with process:
            yield process
    finally:
        limit.cancel()


def heard(lines: Iterable[str], hear: Hear | None, until: str | None = None) -> list[Json]:
    """Read JSON lines as they come, to the end or to one of this type."""
    said: list[Json] = []
    for line in lines:
        said.append(json.loads(line))
        if hear is not None:
            hear(said[-1])
        if until is not None and said[-1].get("type") == until:
            break
    return said


def transcripts(home: Path) -> tuple[Path, dict[str, Path]]:
    """Find the one session that the program wrote, and the files of its sub-agents by their ids."""
    projects = home / ".claude" / "projects"
    (main,) = projects.glob("*/*.jsonl")
    sides = projects.glob("*/*/subagents/agent-*.jsonl")
    return main, {path.stem.removeprefix("agent-"): path for path in sides}


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files below the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def write_json(path: Path, value: Json) -> Path:
    """Write a JSON file and give its path."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def rows(path: Path) -> list[Json]:
    """Read a file of JSON lines; one that is not there has none."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]
