"""What hook payloads tell: prompts, calls, results, stops and instruction files, never usage."""

from pathlib import Path

import pytest

from core.events import (
    Compaction,
    Context,
    Prompt,
    SessionEnd,
    SessionStart,
    Skill,
    Spoken,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
)
from core.recordings.contract import AgentSeen, FileChange
from core.recordings.recording import Recording
from tests.core.runtimes.claude.given import CWD, SESSION, Row, events, hook, read, text, written

BASH: Row = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t-1"}


def prompt(prompt_id: str = "p-1", said: str = "go") -> Row:
    return hook("UserPromptSubmit", prompt=said, prompt_id=prompt_id)


def stop(prompt_id: str = "p-1", **told: object) -> Row:
    return hook("Stop", prompt_id=prompt_id, last_assistant_message="Done.", **told)


def results(*rows: Row) -> list[tuple[str, object, bool]]:
    return [(one.tool_use_id, one.content, one.is_error) for one in events(read(*rows), ToolResult)]


def test_a_session_starts_and_ends_as_its_hooks_say() -> None:
    start = hook("SessionStart", source="resume", model="claude-x")
    steps = read(start, hook("SessionEnd", reason="other"), live=True)

    assert events(steps, SessionStart, SessionEnd) == [
        SessionStart("claude_code", CWD, model="claude-x", source="resume"),
        SessionEnd("other"),
    ]


def test_a_turn_is_called_as_its_prompt() -> None:
    steps = read(prompt(), hook("PreToolUse", **BASH, prompt_id="p-1"), stop(), live=True)

    assert events(steps, Prompt, ToolCall, TurnEnd) == [
        Prompt("p-1", "go"),
        ToolCall("t-1", "Bash", {"command": "ls"}, "p-1"),
        TurnEnd("p-1", "completed", "Done."),
    ]
    assert events(steps, Spoken) == [Spoken("user", "go")]
    assert events(steps, Usage) == []


def test_every_stop_is_told_for_each_waits_for_an_answer() -> None:
    again = stop(stop_hook_active=True, background_tasks=[{"id": "b-1"}, {"id": "b-2"}])
    ends = events(read(prompt(), stop(), again, live=True), TurnEnd)

    assert [(one.stop_hook_active, one.background_tasks) for one in ends] == [(False, 0), (True, 2)]


def test_a_prompt_sent_meanwhile_belongs_to_the_running_turn() -> None:
    steps = read(prompt(), prompt(said="and this"), stop(), prompt("p-2"), stop("p-2"), live=True)

    assert [(one.turn_id, one.text) for one in events(steps, Prompt)] == [
        ("p-1", "go"),
        ("p-1", "and this"),
        ("p-2", "go"),
    ]
    assert [one.turn_id for one in events(steps, TurnEnd)] == ["p-1", "p-2"]


def test_a_turn_without_a_stop_was_broken_off() -> None:
    steps = read(prompt(), prompt("p-2"), stop("p-2"), live=True)

    assert [(one.turn_id, one.outcome) for one in events(steps, TurnEnd)] == [
        ("p-1", "interrupted"),
        ("p-2", "completed"),
    ]


def test_older_versions_without_prompt_ids_have_turns_too() -> None:
    rows = [prompt(), stop(), prompt(said="more"), stop()]
    for row in rows:
        del row["prompt_id"]

    steps = read(*rows, live=True)

    turns = [one.turn_id for one in events(steps, Prompt)]
    assert len(set(turns)) == 2
    assert [one.turn_id for one in events(steps, TurnEnd)] == turns


def test_a_failed_model_request_fails_the_turn() -> None:
    failure = hook("StopFailure", prompt_id="p-1", error="unknown")

    (end,) = events(read(prompt(), failure, live=True), TurnEnd)
    assert (end.turn_id, end.outcome) == ("p-1", "failed")


def test_a_batch_gives_results_as_the_model_sees_them() -> None:
    shaped = hook("PostToolUse", **BASH, tool_response={"stdout": "a", "stderr": "warning"})
    batch = hook("PostToolBatch", tool_calls=[{**BASH, "tool_response": "a\nwarning!"}])

    assert results(prompt(), shaped, batch) == [
        ("t-1", "a\nwarning", False),
        ("t-1", "a\nwarning!", False),
    ]


def test_a_batch_brings_calls_that_no_other_hook_named() -> None:
    refused = {
        "tool_name": "Edit",
        "tool_input": {"file_path": "/repo/a"},
        "tool_use_id": "t-2",
        "tool_response": "<tool_use_error>Read it first.</tool_use_error>",
    }
    answered = {**BASH, "tool_response": [text("a"), "b"]}
    rows = [prompt(), hook("PostToolBatch", tool_calls=[answered, refused, {"tool_use_id": 3}])]
    steps = read(*rows)

    assert [one.name for one in events(steps, ToolCall)] == ["Bash", "Edit"]
    assert [(one.tool_use_id, one.is_error) for one in events(steps, ToolResult)] == [
        ("t-1", False),
        ("t-2", True),
    ]


def test_a_failed_call_stays_failed_in_its_batch() -> None:
    failed = hook("PostToolUseFailure", **BASH, error="Exit code 3\nbad")
    batch = hook("PostToolBatch", tool_calls=[{**BASH, "tool_response": "Exit code 3\nbad"}])

    assert results(prompt(), failed, batch) == [("t-1", "Exit code 3\nbad", True)]


@pytest.mark.parametrize(
    ("response", "content"),
    [
        ({"type": "text", "file": {"filePath": "/a", "content": "one"}}, "one"),
        ({"content": [{"type": "text", "text": "two"}]}, [text("two")]),
        ([{"type": "text", "text": "echo"}], [text("echo")]),
        ({"success": True, "commandName": "notes"}, "notes"),
        ({"filePath": "/repo/a", "content": "long", "originalFile": "longer"}, "/repo/a"),
        ({"filenames": ["/a", "/b"], "numFiles": 2}, "/a\n/b"),
        ({"bytes": 9, "code": 200, "result": "A page."}, "A page."),
        ("plain", "plain"),
        (None, ""),
        (7, ""),
    ],
)
def test_a_result_in_the_tools_own_shape_is_read_for_its_text(
    response: object, content: object
) -> None:
    row = hook("PostToolUse", **BASH, tool_response=response)

    assert results(row) == [("t-1", content, False)]


def test_a_file_tool_tells_what_it_wrote() -> None:
    given = {"file_path": "/repo/new.md", "content": "text"}
    row = hook("PostToolUse", tool_name="Write", tool_input=given, tool_use_id="t-1")

    assert events(read(row), FileChange) == [FileChange("Write", "/repo/new.md", content="text")]


def test_a_typed_skill_is_loaded_and_its_length_unknown() -> None:
    row = hook("UserPromptExpansion", expansion_type="slash_command", command_name="notes")

    assert events(read(prompt(), row), Skill) == [Skill("notes", "loaded")]


def test_instruction_files_have_the_size_that_they_have_on_disk(tmp_path: Path) -> None:
    file = tmp_path / "CLAUDE.md"
    file.write_text("rules", encoding="utf-8")
    rows = [
        hook("InstructionsLoaded", cwd=str(tmp_path), file_path=str(file), memory_type="Project"),
        hook("InstructionsLoaded", file_path="/gone/CLAUDE.md", memory_type="User"),
        hook("InstructionsLoaded", file_path="/gone/team.md", memory_type="TeamMem"),
    ]

    assert events(read(*rows), Context) == [
        Context("rules", "workspace/CLAUDE.md", bytes=5, detail="CLAUDE.md"),
        Context("rules", "/gone/CLAUDE.md", detail="CLAUDE.md"),
        Context("memory", "/gone/team.md", detail="team.md"),
    ]


def test_only_what_proves_a_compaction_tells_of_one() -> None:
    rows = [
        hook("PreCompact", trigger="auto"),
        hook("PreCompact", trigger="auto"),
        hook("SubagentStop", agent_id="c-1", agent_type="", prompt_id="p-1"),
        hook("SessionStart", source="compact"),
        hook("PostCompact", trigger="auto"),
    ]
    steps = read(prompt(), *rows, stop())

    assert [one.stage for one in events(steps, Compaction)] == ["before", "before", "after"]
    assert [one.agent_id for one in events(steps, TurnEnd)] == [None]


def test_what_a_sub_agent_does_is_its_own() -> None:
    own: Row = {"agent_id": "a1f", "agent_type": "Explore", "prompt_id": "p-1"}
    call = hook("PreToolUse", **BASH, **own)
    done = hook("PostToolUse", **BASH, **own, tool_response={"stdout": "2"})
    end = hook("SubagentStop", **own, stop_hook_active=True)
    steps = read(prompt(), hook("SubagentStart", **own), call, done, end, live=True)

    assert events(steps, AgentSeen) == [AgentSeen("a1f")]
    assert [one.agent_id for one in events(steps, ToolCall, ToolResult)] == ["a1f", "a1f"]
    (ended,) = events(steps, TurnEnd)
    assert (ended.turn_id, ended.agent_id, ended.stop_hook_active) == ("p-1", "a1f", True)


def test_a_recorders_file_of_payloads_is_a_recording(tmp_path: Path) -> None:
    blocked = {"json": {"decision": "block", "reason": "not yet"}}
    rows = [
        {"event": "SessionStart", "payload": hook("SessionStart", source="startup"), "answer": {}},
        {"event": "UserPromptSubmit", "payload": prompt(), "answer": {}},
        {"event": "Stop", "payload": stop(), "answer": blocked},
        {"event": "Stop", "payload": stop(stop_hook_active=True), "answer": {"exit": 2}},
        {"event": "Stop", "payload": stop(stop_hook_active=True), "answer": {}},
        {"event": "UserPromptSubmit", "payload": prompt("p-2"), "answer": blocked},
    ]
    recording = Recording(written(tmp_path / "hooks.jsonl", *rows))
    steps = list(recording.steps())

    assert (recording.head.session_id, recording.head.cwd) == (SESSION, CWD)
    assert len(events(steps, SessionStart)) == 1
    assert [one.turn_id for one in events(steps, Prompt)] == ["p-1"]
    ends = [step.recorded for step in steps if isinstance(step.event, TurnEnd)]
    assert ends == ["blocked", "blocked", "ended"]
