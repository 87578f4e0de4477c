"""Where Claude Code wrote its requests down, they are told with their parts, once each."""

from pathlib import Path

from core.events import Context, Request, Skill, Usage
from tests.core.runtimes.claude.given import (
    BASE,
    SESSION,
    Row,
    assistant,
    attachment,
    boundary,
    events,
    read,
    recorded,
    text,
    user,
    written,
)

PROMPT = {"role": "user", "content": "go"}


def asked(request_id: str, **told: object) -> Row:
    row = {"type": "api-request", "id": request_id, "shapeHash": "s", "keep": 0, "tail": ["h-1"]}
    return {**row, "sessionId": SESSION, **told}


def shape() -> Row:
    told = {"system": [{"type": "text", "text": "You."}], "tools": []}
    return {"type": "api-request-shape", "sessionId": SESSION, "shapeHash": "s", "shape": told}


def blob() -> Row:
    return {"type": "api-request-blob", "sessionId": SESSION, "hash": "h-1", "message": PROMPT}


def test_a_request_with_parts_takes_the_place_of_the_bare_one() -> None:
    rows = [user("go"), shape(), blob(), asked("q-1"), assistant(text("a"), requestRef="q-1")]

    told = events(read(*rows), Request, Usage)

    assert [type(one).__name__ for one in told] == ["Request", "Usage"]
    assert (told[0].request_id, told[1].request_id) == ("q-1", "q-1")
    assert sum(part.units for part in told[0].parts) == len("You.") + len("go")


def test_a_message_whose_request_was_not_written_down_has_a_bare_one() -> None:
    rows = [shape(), blob(), asked("q-1"), assistant(text("a"), requestRef="q-2")]

    assert [one.request_id for one in events(read(*rows), Request)] == ["q-1", "q-2"]


def test_the_system_prompt_is_not_told_beside_the_parts() -> None:
    snapshot = attachment("prompt_snapshot", systemPrompt=["You."])
    rows = [
        snapshot,
        shape(),
        blob(),
        asked("q-1"),
        assistant(text("a"), requestRef="q-1"),
        snapshot,
    ]

    assert events(read(*rows), Context) == []


def test_a_dropped_skill_is_told_before_the_request_without_it() -> None:
    body = "Base directory for this skill: /repo/skills/notes\n\n# Notes"
    rows = [
        user([text(body)], isMeta=True),
        boundary(trigger="auto"),
        shape(),
        blob(),
        asked("q-1"),
    ]

    told = events(read(*rows), Skill, Request)
    assert [type(one).__name__ for one in told] == ["Skill", "Skill", "Request"]
    assert told[1].state == "dropped"


def test_the_requests_of_a_sub_agent_are_its_own(tmp_path: Path) -> None:
    path = written(tmp_path / f"{SESSION}.jsonl", user("go"), assistant(text("a")))
    side: Row = {**BASE, "isSidechain": True, "agentId": "a1f"}
    answer = {**assistant(text("b"), message_id="m-2", requestRef="q-9"), **side}
    rows = [{**user("go"), **side}, shape(), blob(), asked("q-9", agentId="a1f"), answer]
    written(tmp_path / SESSION / "subagents" / "agent-a1f.jsonl", *rows)

    (one,) = [told for told in recorded(path, Request) if told.agent_id]
    assert (one.request_id, one.agent_id, one.parts != ()) == ("q-9", "a1f", True)
