"""What sub-agents did, in every layout that Claude Code has written them in."""

from pathlib import Path
from typing import Any

from core.events import Request, Skill, Spoken, ToolCall, ToolResult, Usage
from core.recordings.contract import AgentSeen
from core.recordings.recording import Recording
from core.runtimes.claude_code import RUNTIME
from tests.core.runtimes.claude.given import (
    BASE,
    OTHER,
    SESSION,
    Row,
    assistant,
    attachment,
    call,
    events,
    read,
    recorded,
    result,
    text,
    user,
    written,
)


def side(row: Row, agent_id: str = "a1f") -> Row:
    return {**row, "isSidechain": True, "agentId": agent_id}


def side_rows(agent_id: str = "a1f", output: int = 30) -> list[Row]:
    """A sub-agent's file: one call, and the message that ends it."""
    rows = (
        user("Count."),
        assistant(call(f"{agent_id}-t"), message_id=f"{agent_id}-1", output=output),
        user([result(f"{agent_id}-t", "2")]),
        assistant(text("Two."), message_id=f"{agent_id}-2", output=4),
    )
    return [side(row, agent_id) for row in rows]


def parent_rows(agent_id: str = "a1f") -> list[Row]:
    outcome = {"status": "completed", "agentId": agent_id}
    return [
        user("go", uuid="u-1"),
        assistant(call("task-1", "Agent", prompt="Count."), message_id="m-1"),
        user([result("task-1", "Two.")], toolUseResult=outcome),
        assistant(text("done"), message_id="m-2"),
    ]


def progress(row: Row, agent_id: str = "a1f", parent: str = "task-1") -> Row:
    data = {"type": "agent_progress", "agentId": agent_id, "message": row}
    return {**BASE, "type": "progress", "data": data, "parentToolUseID": parent}


def outputs(told: list[Any]) -> dict[tuple[str | None, str | None], int]:
    """Give the output tokens by (agent, message): the last report counts."""
    return {(one.agent_id, one.message_id): one.output_tokens for one in told}


def test_a_folder_of_the_session_holds_its_sub_agents_nested_ones_too(tmp_path: Path) -> None:
    path = written(tmp_path / f"{SESSION}.jsonl", *parent_rows())
    below = tmp_path / SESSION / "subagents"
    written(below / "agent-a1f.jsonl", *side_rows())
    written(below / "workflows" / "w-1" / "agent-b2e.jsonl", *side_rows("b2e"))
    written(below / "agent-acompact-c3.jsonl", *side_rows("acompact-c3"))

    told = recorded(path, Usage)

    assert {one.agent_id for one in told} == {None, "a1f", "b2e", "acompact-c3"}
    assert outputs(told)[(None, "m-2")] == 5
    assert outputs(told)[("a1f", "a1f-1")] == 30


def test_files_beside_the_session_are_its_own_where_they_name_it(tmp_path: Path) -> None:
    path = written(tmp_path / f"{SESSION}.jsonl", *parent_rows())
    written(tmp_path / "agent-a1f.jsonl", *side_rows())
    others = [{**row, "sessionId": OTHER} for row in side_rows("b2e")]
    written(tmp_path / "agent-b2e.jsonl", *others)

    assert [one.agent_id for one in Recording(path).sides()] == ["a1f"]
    assert Recording(str(tmp_path / "agent-a1f.jsonl")).sides() == ()


def test_a_sub_agents_file_is_read_where_its_parent_first_tells_of_it(tmp_path: Path) -> None:
    path = written(tmp_path / f"{SESSION}.jsonl", *parent_rows())
    written(tmp_path / SESSION / "subagents" / "agent-a1f.jsonl", *side_rows())

    told = recorded(path, ToolCall, ToolResult)

    assert [(type(one).__name__, one.tool_use_id, one.agent_id) for one in told] == [
        ("ToolCall", "task-1", None),
        ("ToolCall", "a1f-t", "a1f"),
        ("ToolResult", "a1f-t", "a1f"),
        ("ToolResult", "task-1", None),
    ]
    assert told[1].parent_tool_use_id == "task-1"


def test_what_progress_rows_tell_is_not_told_again_by_the_agents_own_file(tmp_path: Path) -> None:
    early = assistant(call("a1f-t"), message_id="a1f-1", output=1, stop=None)
    rows = parent_rows()
    shown = [progress(side_rows()[0]), progress(early), progress(side_rows()[2])]
    path = written(tmp_path / f"{SESSION}.jsonl", *rows[:2], *shown, *rows[2:])
    written(tmp_path / SESSION / "subagents" / "agent-a1f.jsonl", *side_rows())

    told = recorded(path, ToolCall, ToolResult, Usage, Request)

    calls = [one.tool_use_id for one in told if isinstance(one, ToolCall)]
    results = [one.tool_use_id for one in told if isinstance(one, ToolResult)]
    requests = [one for one in told if isinstance(one, Request) and one.agent_id == "a1f"]
    assert sorted(calls) == ["a1f-t", "task-1"]
    assert sorted(results) == ["a1f-t", "task-1"]
    assert len(requests) == 2
    assert outputs([one for one in told if isinstance(one, Usage)])[("a1f", "a1f-1")] == 30


def test_without_a_file_of_its_own_progress_rows_tell_of_an_agent() -> None:
    early = assistant(call("a1f-t"), message_id="a1f-1", output=1, stop=None)
    rows = parent_rows()
    steps = read(*rows[:2], progress(early), progress(side_rows()[2]), *rows[2:])

    assert events(steps, AgentSeen) == [AgentSeen("a1f")]
    (one,) = [used for used in events(steps, Usage) if used.agent_id]
    assert (one.agent_id, one.output_tokens, one.partial) == ("a1f", 1, True)
    assert [made.agent_id for made in events(steps, ToolCall)] == [None, "a1f"]


def test_usage_of_inline_rows_is_that_of_the_agent_whose_prompt_they_began_with() -> None:
    inline: Row = {"isSidechain": True}
    steps = read(
        user("go"),
        assistant(call("task-1", "Task", prompt="Count.")),
        user("Count.", uuid="x", parentUuid=None, **inline),
        assistant(text("Two."), message_id="m-2", uuid="y", parentUuid="x", **inline),
    )

    assert [(one.message_id, one.agent_id) for one in events(steps, Usage)] == [
        ("m-1", None),
        ("m-2", "task-1"),
    ]


def test_a_sub_agent_that_still_runs_is_seen_when_it_is_launched() -> None:
    launched = {"isAsync": True, "status": "async_launched", "agentId": "a1f"}
    steps = read(
        assistant(call("task-1", "Agent", prompt="Count.")),
        user([result("task-1", "launched")], toolUseResult=launched),
    )

    assert events(steps, AgentSeen) == [AgentSeen("a1f")]


def test_texts_and_skills_of_a_sub_agent_are_its_own(tmp_path: Path) -> None:
    body = "Base directory for this skill: /repo/.claude/skills/notes\n\n# Notes"
    rows = [
        side(user("Count.")),
        side(attachment("date", "It is today.")),
        side(attachment("instructions", "Rules.", files=[{"path": "/r", "content": "x"}])),
        side(user([text(body)], isMeta=True)),
        *side_rows()[1:],
    ]
    path = written(tmp_path / f"{SESSION}.jsonl", *parent_rows())
    written(tmp_path / SESSION / "subagents" / "agent-a1f.jsonl", *rows)

    said = [one for one in recorded(path, Spoken) if one.agent_id]
    assert [(one.by, one.text) for one in said] == [
        ("user", "Count."),
        ("program", "It is today."),
        ("program", "Rules."),
        ("model", "Two."),
    ]
    assert [(one.name, one.agent_id) for one in recorded(path, Skill)] == [("notes", "a1f")]


def test_a_file_without_sub_agents_has_no_sides(tmp_path: Path) -> None:
    path = written(tmp_path / f"{SESSION}.jsonl", *parent_rows())

    assert RUNTIME.sides is not None
    assert RUNTIME.sides(path) == ()
    assert RUNTIME.sides(str(tmp_path / "gone" / "s.jsonl")) == ()
