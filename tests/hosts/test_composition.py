"""What the transcript of the real Claude Code says of its requests is what the model server got."""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from core.events import Part, Request, Usage
from core.recordings.recording import Recording
from tests.hosts.claude import HOME, MEMORY, WORKSPACE, Run
from tests.hosts.conftest import ClaudeRuns
from tests.hosts.fake_model import Asked

Json: TypeAlias = Any
What: TypeAlias = tuple[str, str | None]  # A role and, for tools, skills and files, the name.

COMPARED = (
    *("plain", "tools", "two-turns", "subagent", "compact", "auto-compact"),
    *("resumed", "typed-skill", "stop-block", "failures", "reads"),
)
# The one text that Claude Code leaves out of what it writes down: its version, for billing.
HEADER = "x-anthropic-billing-header:"
UNATTRIBUTED_MAX = 0.02
KNOWN_REMINDERS = {
    *("deferred_tools_delta", "agent_listing_delta", "remote_session_change"),
    *("local_command", "tool_loaded"),
}
NAMED = {"tool_schema", "tool_input", "tool_result", "skill_body", "instructions"}

# What a text of a user's message is, by words that stand in it.
SIGNS = (
    ("Base directory for this skill", "skill_body"),
    ("Codebase and user instructions are shown", "instructions"),
    ("Contents of ", "instructions"),
    ("The following skills are available", "skill_listing"),
    ("# MCP Server Instructions", "mcp_instructions"),
    ("# Environment\n", "environment"),
    ("You are powered by", "environment"),
    ("Today's date", "environment"),
    ("<total_tokens>", "environment"),
    ("hook additional context", "hook_context"),
    ("hook blocking error", "hook_context"),
    ("hook feedback", "hook_context"),
    ("the Read tool", "file"),
    ("deferred tools are now available", "reminder"),
    ("Available agent types", "reminder"),
    ("Attribution for git commits", "reminder"),
    ("<local-command-", "reminder"),
    ("Tool loaded.", "reminder"),
)


@pytest.fixture(params=COMPARED)
def live(request: pytest.FixtureRequest, claude_run: ClaudeRuns) -> Run:
    name: str = request.param
    return claude_run(name)


def test_every_recorded_request_holds_what_the_server_received_part_by_part(live: Run) -> None:
    compared = 0
    for agent_id in (None, *live.sides):
        told = [found for found in requests(live.transcript) if found.agent_id == agent_id]
        got = [asked for asked in live.asked if is_recorded(asked) and asked.agent_id == agent_id]
        assert len(told) == len(got)
        for said, asked in zip(told, got, strict=True):
            assert by_what(said.parts) == measured(asked.body)
            compared += 1

    assert compared >= 2


def test_at_most_two_percent_of_a_request_has_no_known_origin(live: Run) -> None:
    for said in requests(live.transcript):
        total = sum(part.units for part in said.parts)
        unknown = [
            part
            for part in said.parts
            if part.role == "reminder" and part.name not in KNOWN_REMINDERS
        ]

        assert all(part.source for part in said.parts)
        assert sum(part.units for part in unknown) <= UNATTRIBUTED_MAX * total


def test_each_usage_names_the_request_that_it_is_of(live: Run) -> None:
    events = [step.event for step in Recording(str(live.transcript)).steps()]
    asked = [event.request_id for event in events if isinstance(event, Request)]
    used = {event.request_id for event in events if isinstance(event, Usage)}

    assert used == set(asked)


def test_no_host_but_the_model_on_the_loopback_is_called(live: Run) -> None:
    assert live.elsewhere == []


@cache
def requests(path: Path) -> list[Request]:
    """List the requests of a session and its sub-agents."""
    steps = Recording(str(path)).steps()
    return [step.event for step in steps if isinstance(step.event, Request)]


def is_recorded(asked: Asked) -> bool:
    """Say whether Claude Code writes the request down; it does not when it asks for a summary."""
    return asked.script != "side"


def by_what(parts: tuple[Part, ...]) -> Counter[What]:
    found: Counter[What] = Counter()
    for part in parts:
        found[part.role, part.name if part.role in NAMED else None] += part.units
    return found


def measured(body: Json) -> Counter[What]:
    """Measure a request as the server got it, by nothing but its own texts."""
    found: Counter[What] = Counter()
    for text in (block["text"] for block in body["system"]):
        if not text.startswith(HEADER):
            found["system_prompt", None] += units(text)
    for tool in body["tools"]:
        found["tool_schema", tool["name"]] += units(compact(tool))
    tools: dict[str, str] = {}
    for message in body["messages"]:
        content = message["content"]
        blocks: Json = content
        if isinstance(content, str):
            blocks = [{"type": "text", "text": content}]
        for block in blocks:
            measure_block(block, message["role"], tools, found)
    return +found


def measure_block(block: Json, role: str, tools: dict[str, str], found: Counter[What]) -> None:
    match block["type"]:
        case "text" if role == "assistant":
            found["assistant_text", None] += units(block["text"])
        case "text":
            measure_text(block["text"], ("user_text", None), found)
        case "thinking":
            found["thinking", None] += units(block["thinking"])
        case "tool_use":
            tools[block["id"]] = block["name"]
            found["tool_input", block["name"]] += units(compact(block["input"]))
        case "tool_result":
            content = block["content"]
            text_only = [{"type": "text", "text": content}]
            for part in text_only if isinstance(content, str) else content:
                if part["type"] == "image":
                    found["image", None] += units(part["source"]["data"])
                elif part["type"] == "text":
                    own = ("tool_result", tools[block["tool_use_id"]])
                    measure_text(part["text"], own, found)
        case other:
            raise AssertionError(other)


def measure_text(text: str, own: What, found: Counter[What]) -> None:
    """Measure a text and the reminders that were put behind it."""
    for piece in re.split(r"(?=\n\n<system-reminder>\n)", text):
        role = next((role for sign, role in SIGNS if sign in piece), own[0])
        if piece.startswith("This session is being continued"):
            role = "user_text"
        is_added = piece.lstrip().startswith("<system-reminder>") or own[0] == "user_text"
        if not is_added or role == own[0]:
            found[own] += units(piece)
        elif role == "skill_body":
            measure_skill(piece, found)
        elif role == "instructions":
            measure_instructions(piece, found)
        else:
            found[role, None] += units(piece)


def measure_skill(piece: str, found: Counter[What]) -> None:
    """The body begins with its folder; after a compaction there is a frame around it."""
    at = piece.index("Base directory for this skill")
    body = piece[at : piece.index("\n</system-reminder>")] if at else piece
    found["skill_body", "release-notes"] += units(body)
    found["skill_body", "frame"] += units(piece) - units(body)


def measure_instructions(piece: str, found: Counter[What]) -> None:
    rest = units(piece)
    for path in re.findall(r"^Contents of (\S+?)(?: \(|:$)", piece, re.MULTILINE):
        content = written(path)
        # All that is shown at the start is stripped; what a Read brings along is not.
        held = content if "/parts/" in path else content.strip()
        assert held in piece
        role = "memory" if path.endswith("MEMORY.md") else "instructions"
        found[role, path if role in NAMED else None] += units(held)
        rest -= units(held)
    found["instructions", "frame"] += rest


def written(path: str) -> str:
    """Give what the run wrote into a file."""
    if path.endswith("/memory/MEMORY.md"):
        return MEMORY
    places = {f"/project/{name}": content for name, content in WORKSPACE.items()}
    places |= {"/home" + f"/{name}": content for name, content in HOME.items()}
    (content,) = (content for place, content in places.items() if path.endswith(place))
    assert isinstance(content, str)
    return content


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def compact(value: Json) -> str:
    plain = {key: item for key, item in value.items() if key != "cache_control"}
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
