"""The runs behind docs/smoke-ledger.md: each a real program, fed to a real sidecar as it speaks."""

import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tests.hosts import acp, ai_sdk, claude, codex, programs
from tests.hosts.fake_model import (
    Asked,
    Block,
    Scenario,
    call,
    custom,
    say,
    shell,
    text,
    thinking,
)
from tests.hosts.feed import Feed, Serve, listening
from tests.hosts.scenarios import PATCH

Json: TypeAlias = Any

# Paths stand in what is counted: a folder of the same length gives the same figures anywhere.
FOLDER_CHARS = 120

PLAIN, TOOLS, MCP = "plain", "tools", "MCP"
SPOKEN, CHOSEN = "skill by natural language", "skill by selection"
KINDS = (PLAIN, TOOLS, MCP, SPOKEN, CHOSEN)

ECHO = "mcp__echo__echo"
SKILL_NAME = "release-notes"
BACKEND_TOLD = "the session's start, with its backend"
SKILL_SIGN = "Write the notes"  # Stands in the body of the skill and nowhere else.
PROMPTS = {
    PLAIN: "What is this project?",
    TOOLS: "Look around and mend notes.txt.",
    MCP: "Say hello by the echo tool.",
    SPOKEN: "Write the release notes for 1.3.",
    CHOSEN: "For 1.3, please.",
}

# Tokens of the first request, about as many as it has; what comes after it is reckoned.
FIRST_TOKENS = {"claude": 18_000, "codex": 9_000, "ai": 340}


class Line(NamedTuple):
    """A line of the ledger."""

    runtime: str
    backend: str | None
    kind: str
    program: str
    run: "Run"

    @property
    def title(self) -> str:
        return ", ".join(filter(None, (self.runtime, self.backend, self.program, self.kind)))


class Told(NamedTuple):
    """A run that was fed to a sidecar."""

    feed: Feed
    project: Path
    asked: list[Asked]
    errors: str  # What the program wrote to standard error.
    how: str  # What the host itself told, beside the raw events.


# Is given the kind of turn, an empty folder, the sidecar and the backend.
Run: TypeAlias = Callable[[str, Path, Serve, str | None], Told]


class Made(NamedTuple):
    """What a line has for evidence."""

    accounting: Json  # As it is stored.
    told: Told
    log: str  # The sidecar's log file.
    flags: list[Json]
    folder: Path


def made(line: Line) -> Made:
    """Run a line and read back what was stored, by another sidecar on the same state folder."""
    with _folder() as folder:
        state, log, home = folder / "state", folder / "log.txt", folder / "home"
        with Serve(state, home, log) as sidecar:
            told = line.run(line.kind, folder, sidecar, line.backend)
            code, errors = sidecar.end()
            flags = [params for method, params in sidecar.pushed if method == "turnkeeper/flag"]
        assert (code, errors) == (0, ""), errors
        feed = told.feed
        with Serve(state, home, folder / "second.txt") as second:
            start = {"runtime": line.runtime, "workspace": str(told.project)}
            second.call("sessionStart", feed.session, **start)
            stored = second.call("accounting/snapshot", feed.session, turnId=feed.turn)
            assert second.end() == (0, "")
        return Made(stored, told, log.read_text(encoding="utf-8"), flags, folder)


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="smoke-") as base:
        root = Path(base).resolve()
        folder = root / ("x" * (FOLDER_CHARS - len(str(root)) - 1))
        folder.mkdir()
        yield folder


def spoken(host: str, *replies: tuple[Block, ...]) -> Scenario:
    """Give a scenario of these replies to a host."""
    return {"main": tuple(say(*blocks, first_tokens=FIRST_TOKENS[host]) for blocks in replies)}


def run_claude(kind: str, folder: Path, sidecar: Serve, backend: str | None) -> Told:
    """Claude Code by its hooks, its stream-json and the rows of its transcript."""
    project = folder / "project"
    feed = Feed(sidecar, "claude_code", project)
    prompt = f"/{SKILL_NAME} for 1.3" if kind == CHOSEN else PROMPTS[kind]
    with listening(feed) as port:
        run = claude.run(
            claude.Case((prompt,)),
            folder,
            hook_command=_caller(port),
            scenario=claude_scenario(kind, project),
            hear=partial(feed.hear, "lines of stream-json"),
        )
    assert run.elsewhere == []
    return Told(feed, project, run.asked, run.errors, "the session's start")


def claude_scenario(kind: str, project: Path) -> Scenario:
    """What the model says to Claude Code."""
    done = (text("Done."),)
    match kind:
        case "tools":
            looks = (
                thinking("List the folder first: ж, 😀."),
                text("I will look around."),
                call("Bash", command="ls", description="List files"),
                call("Bash", command="echo bad >&2; exit 3", description="Fail"),
                call("Read", file_path=f"{project}/notes.txt"),
            )
            edit = {"old_string": "second line", "new_string": "changed line ж"}
            return spoken(
                "claude", looks, (call("Edit", file_path=f"{project}/notes.txt", **edit),), done
            )
        case "MCP":
            hello = (call(ECHO, text="hello ж 😀"), call(ECHO, text="again"))
            return spoken("claude", hello, done)
        case "skill by natural language":
            return spoken("claude", (call("Skill", skill=SKILL_NAME, args="for 1.3"),), done)
        case _:
            return spoken("claude", done)


def run_codex_server(kind: str, folder: Path, sidecar: Serve, backend: str | None) -> Told:
    """Codex by the notifications of its app server, its hooks and the rows of its rollout."""
    feed = _codex_feed(folder, sidecar, backend)
    with listening(feed) as port:
        return _codex_server(kind, folder, feed, _caller(port))


def run_codex_notified(kind: str, folder: Path, sidecar: Serve, backend: str | None) -> Told:
    """Codex by the notifications of its app server alone."""
    return _codex_server(kind, folder, _codex_feed(folder, sidecar, backend), "true")


def _codex_server(kind: str, folder: Path, feed: Feed, hook_command: str) -> Told:
    run = codex.run_server(
        codex.Case((PROMPTS[kind],), skills=(SKILL_NAME,) if kind == CHOSEN else ()),
        folder,
        hook_command=hook_command,
        scenario=codex_scenario(kind),
        hear=partial(_notified, feed),
    )
    return Told(feed, run.project, run.asked, run.errors, BACKEND_TOLD)


def run_codex_exec(kind: str, folder: Path, sidecar: Serve, backend: str | None) -> Told:
    """Codex by the lines of `codex exec --json`, its hooks and the rows of its rollout."""
    feed = _codex_feed(folder, sidecar, backend, hooks_first=True)
    prompt = f"${SKILL_NAME} {PROMPTS[kind]}" if kind == CHOSEN else PROMPTS[kind]
    with listening(feed) as port:
        run = codex.run_exec(
            codex.Case((prompt,)),
            folder,
            hook_command=_caller(port),
            scenario=codex_scenario(kind),
            hear=partial(feed.hear, "lines of exec --json"),
        )
    return Told(feed, run.project, run.asked, run.errors, BACKEND_TOLD)


def _codex_feed(
    folder: Path, sidecar: Serve, backend: str | None, *, hooks_first: bool = False
) -> Feed:
    start = {} if backend is None else {"providerBackend": backend}
    project = folder / "project"
    return Feed(sidecar, "codex_runtime", project, hooks_first=hooks_first, **start)


def _notified(feed: Feed, message: Json) -> None:
    if "method" in message and "id" not in message:
        feed.hear("notifications of the app server", message)


def codex_scenario(kind: str) -> Scenario:
    """What the model says to Codex."""
    done = (text("Done."),)
    match kind:
        case "tools":
            looks = (
                thinking("List the folder first."),
                text("I will look around."),
                shell("ls"),
                shell("echo bad >&2; exit 3"),
            )
            return spoken("codex", looks, (custom("apply_patch", PATCH),), done)
        case "MCP":
            return spoken("codex", (call(ECHO, text="hello ж 😀"), call(ECHO, text="again")), done)
        case "skill by natural language":
            return spoken("codex", (shell(f"cat {codex.skill_file(SKILL_NAME)}"),), done)
        case _:
            return spoken("codex", done)


def run_ai_sdk(kind: str, folder: Path, sidecar: Serve, backend: str | None) -> Told:
    """A loop of the AI SDK by the parts of its stream; its owner tells of prompt and end."""
    project = folder / "project"
    feed = Feed(sidecar, "codepilot_runtime", project)
    feed.begin("loop-1")
    prompt, chosen = PROMPTS[kind], {}
    asked = prompt
    if kind == CHOSEN:
        chosen = {"selectedSkills": [SKILL_NAME]}
        asked = f"{claude.SKILL}\n{prompt}"
    feed.tell("prompt", turnId="turn-1", text=prompt, **chosen)
    hear = partial(feed.hear, "parts of the full stream")
    run = ai_sdk.run(folder, asked, ai_sdk_scenario(kind), lambda row: _part(hear, row))
    feed.tell("turnEnd", turnId="turn-1", outcome="completed")
    return Told(feed, project, run.asked, run.errors, "the session's start, the prompt, the end")


def _part(hear: Callable[[Json], Json], row: Json) -> None:
    if row["kind"] == "part":
        hear(row["value"])


def ai_sdk_scenario(kind: str) -> Scenario:
    """What the model says to the loop of the AI SDK."""
    done = (text("Done."),)
    match kind:
        case "tools":
            looks = (
                text("I will look around."),
                call("Bash", command="ls"),
                call("Read", file_path="notes.txt"),
            )
            return spoken("ai", looks, (call("Read", file_path="missing.txt"),), done)
        case "MCP":
            hello = (call(ECHO, text="hello ж 😀"), call(ECHO, text="again"))
            return spoken("ai", hello, done)
        case "skill by natural language":
            return spoken("ai", (call("Skill", skill=SKILL_NAME),), done)
        case _:
            return spoken("ai", done)


def run_acp(agent: str, kind: str, folder: Path, sidecar: Serve, backend: str | None) -> Told:
    """An agent by the messages of the Agent Client Protocol, either way."""
    project = folder / "project"
    feed = Feed(sidecar, "acp_agent", project)
    if agent == "claude":
        scenario = claude_scenario(kind, project)
        prompt = f"/{SKILL_NAME} for 1.3" if kind == CHOSEN else PROMPTS[kind]
    else:
        scenario = codex_scenario(kind)
        prompt = f"${SKILL_NAME} {PROMPTS[kind]}" if kind == CHOSEN else PROMPTS[kind]
    chosen = [SKILL_NAME] if kind == CHOSEN else []
    hear = partial(_message, feed, chosen)
    run = acp.run(agent, prompt, folder, scenario, hear)
    how = "the session's start" + (", the skill that was chosen" if chosen else "")
    return Told(feed, project, run.asked, run.errors, how)


def _message(feed: Feed, chosen: list[str], row: Json) -> None:
    feed.hear("protocol messages", row)
    message = row["message"]
    if chosen and message.get("method") == "session/prompt":
        # The protocol has no field for a chosen skill: the client says so itself.
        turn, text = f"prompt-{message['id']}", message["params"]["prompt"][0]["text"]
        feed.tell("prompt", turnId=turn, text=text, selectedSkills=chosen)


def _caller(port: int) -> str:
    return shlex.join([sys.executable, str(claude.HERE / "hook_caller.py"), str(port)])


def lines() -> list[Line]:
    """List the lines of the ledger, in order."""
    claude_code = f"Claude Code {programs.CLAUDE_CODE}"
    codex_exec, codex_server = (
        f"Codex {programs.CODEX}, exec",
        f"Codex {programs.CODEX}, app-server",
    )
    sdk = f"AI SDK {programs.AI_SDK[0].partition('@')[2]}"
    acp_claude, acp_codex = (
        f"claude-agent-acp {programs.ACP_CLAUDE}",
        f"codex-acp {programs.ACP_CODEX}",
    )
    hosts: tuple[tuple[str, str | None, str, Run], ...] = (
        ("claude_code", None, claude_code, run_claude),
        ("codex_runtime", "codex_account", codex_exec, run_codex_exec),
        ("codex_runtime", "codepilot_proxy", codex_server, run_codex_notified),
        ("codex_runtime", "native_app_server", codex_server, run_codex_server),
        ("codepilot_runtime", None, sdk, run_ai_sdk),
        ("acp_agent", None, acp_claude, partial(run_acp, "claude")),
        ("acp_agent", None, acp_codex, partial(run_acp, "codex")),
    )
    return [
        Line(runtime, backend, kind, program, run)
        for runtime, backend, program, run in hosts
        for kind in KINDS
    ]
