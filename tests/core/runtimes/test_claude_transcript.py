"""What the reader makes of transcript files of several versions of Claude Code."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.events import (
    Compaction,
    Context,
    Prompt,
    SelectedSkill,
    SessionStart,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
)
from core.recordings.contract import Fault, FileChange, SkillBody, Step, UnknownFormat
from core.recordings.lines import LINE_BYTES_MAX
from core.recordings.recording import Recording
from core.runtimes.claude_code.turns import OPENING_TURN

Row = dict[str, Any]

CWD = "/repo"
BASE = {"sessionId": "s-1", "cwd": CWD, "version": "2.1.332", "isSidechain": False}


def user(content: Any, **more: Any) -> Row:
    return {**BASE, "type": "user", "message": {"role": "user", "content": content}, **more}


def assistant(*content: Row, message_id: str = "m-1", output: int = 5, **more: Any) -> Row:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 40, "output_tokens": output}
    message = {"id": message_id, "model": "claude-x", "content": list(content), "usage": usage}
    return {**BASE, "type": "assistant", "message": message, **more}


def text(value: str) -> Row:
    return {"type": "text", "text": value}


def call(call_id: str, name: str, **given: Any) -> Row:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def result(call_id: str, content: Any = "ok", is_error: bool = False) -> Row:
    return {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": content,
        "is_error": is_error,
    }


def feedback() -> Row:
    return user("Stop hook feedback:\nnot yet", isMeta=True, rowSource="hook")


def blocking_error(stop_id: str) -> Row:
    attachment = {"type": "hook_blocking_error", "hookEvent": "Stop", "toolUseID": stop_id}
    return {**BASE, "type": "attachment", "attachment": attachment}


def stop_summary(stop_id: str, *errors: str) -> Row:
    row = {"type": "system", "subtype": "stop_hook_summary", "hookErrors": list(errors)}
    return {**BASE, **row, "toolUseID": stop_id}


def attachment(**told: Any) -> Row:
    return {**BASE, "type": "attachment", "attachment": told}


def written(folder: Path, *rows: Row, name: str = "s-1.jsonl") -> Recording:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return Recording(str(path))


def steps(transcript: Recording, *kinds: type) -> list[Step]:
    return [step for step in transcript.steps() if isinstance(step.event, kinds)]


def events(transcript: Recording, *kinds: type) -> list[Any]:
    return [step.event for step in steps(transcript, *kinds)]


def ends(transcript: Recording) -> list[tuple[int, str, str, str]]:
    return [
        (step.line, step.event.turn_id, step.event.outcome, step.recorded)
        for step in steps(transcript, TurnEnd)
        if isinstance(step.event, TurnEnd)
    ]


def test_all_rows_about_one_stop_make_one_turn_end(tmp_path: Path) -> None:
    transcript = written(
        tmp_path,
        user("go", uuid="u-1"),
        assistant(text("done")),
        feedback(),
        blocking_error("stop-1"),
        stop_summary("stop-1", "not yet"),
        assistant(text("now done"), message_id="m-2"),
        stop_summary("stop-2"),
    )

    assert ends(transcript) == [
        (3, "u-1", "completed", "blocked"),
        (7, "u-1", "completed", "ended"),
    ]


def test_a_summary_that_is_written_late_is_no_second_stop(tmp_path: Path) -> None:
    transcript = written(
        tmp_path,
        user("go", uuid="u-1"),
        assistant(text("done")),
        feedback(),
        blocking_error("stop-1"),
        assistant(text("now done"), message_id="m-2"),
        stop_summary("stop-1", "not yet"),
        stop_summary("stop-2"),
    )

    assert ends(transcript) == [
        (3, "u-1", "completed", "blocked"),
        (7, "u-1", "completed", "ended"),
    ]


def test_a_later_stop_of_a_turn_says_that_a_hook_kept_it_going(tmp_path: Path) -> None:
    transcript = written(
        tmp_path, user("go"), assistant(text("a")), feedback(), assistant(text("b")), feedback()
    )

    assert [end.stop_hook_active for end in events(transcript, TurnEnd)] == [False, True]


def test_a_turn_ends_before_the_next_prompt_and_at_the_end_of_the_file(tmp_path: Path) -> None:
    transcript = written(
        tmp_path,
        user("one", uuid="u-1"),
        assistant(text("a")),
        user("two", uuid="u-2"),
        assistant(text("b"), message_id="m-2"),
    )

    assert ends(transcript) == [(3, "u-1", "completed", ""), (4, "u-2", "completed", "")]


def test_rows_before_the_first_prompt_are_a_turn(tmp_path: Path) -> None:
    transcript = written(
        tmp_path, assistant(call("t-1", "Read")), user([result("t-1")]), user("go", uuid="u-1")
    )

    assert ends(transcript)[0] == (3, OPENING_TURN, "completed", "")


def test_an_interrupted_turn_and_a_failed_one_end_as_such(tmp_path: Path) -> None:
    transcript = written(
        tmp_path,
        user("one", uuid="u-1"),
        assistant(text("a")),
        user([text("[Request interrupted by user]")]),
        user("two", uuid="u-2"),
        assistant(text("API Error: 529"), isApiErrorMessage=True),
    )

    assert [(turn, outcome) for _, turn, outcome, _ in ends(transcript)] == [
        ("u-1", "interrupted"),
        ("u-2", "failed"),
    ]


def test_an_api_error_that_was_overcome_fails_nothing(tmp_path: Path) -> None:
    transcript = written(
        tmp_path,
        user("go", uuid="u-1"),
        assistant(text("API Error: 529"), isApiErrorMessage=True),
        assistant(text("done"), message_id="m-2"),
    )

    assert ends(transcript) == [(3, "u-1", "completed", "")]


def test_a_file_of_side_rows_is_a_session_of_its_own(tmp_path: Path) -> None:
    side: Row = {"isSidechain": True, "agentId": "a1f"}
    transcript = written(
        tmp_path,
        user("count the files", uuid="u-1", **side),
        assistant(call("t-1", "Bash", command="ls"), **side),
        user([result("t-1", "2")], **side),
    )

    assert transcript.head.session_id == "a1f"
    assert transcript.head.parent_session_id == "s-1"
    assert [event.agent_id for event in events(transcript, ToolCall, ToolResult)] == [None, None]
    assert [prompt.from_human for prompt in events(transcript, Prompt)] == [False]
    assert len(ends(transcript)) == 1


def test_inline_side_rows_belong_to_the_call_whose_prompt_they_began_with(tmp_path: Path) -> None:
    transcript = written(
        tmp_path,
        user("go"),
        assistant(call("task-1", "Task", prompt="count"), call("task-2", "Task", prompt="list")),
        user("list", isSidechain=True, uuid="x", parentUuid=None),
        assistant(
            call("t-1", "Bash"), isSidechain=True, uuid="y", parentUuid="x", message_id="m-2"
        ),
        user([result("t-1")], isSidechain=True, uuid="z", parentUuid="y"),
    )

    side = [event for event in events(transcript, ToolCall, ToolResult) if event.agent_id]
    assert [(type(event).__name__, event.agent_id) for event in side] == [
        ("ToolCall", "task-2"),
        ("ToolResult", "task-2"),
    ]
    assert side[0].parent_tool_use_id == "task-2"
    assert [usage.agent_id for usage in events(transcript, Usage)] == [None, "task-2"]
    assert len(events(transcript, Prompt)) == 1


def test_unreadable_lines_are_named_and_the_rest_is_used(tmp_path: Path) -> None:
    good = json.dumps(user("go", uuid="u-1")).encode()
    lines = [
        b"\0" * 20,
        b'"a string"',
        good + good,
        b"[1]",
        b"{not json}",
        b"\xff\xfe",
        b"",
        good,
        b'{"type": "assistant", "mess',
    ]
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(b"\n".join(lines))
    transcript = Recording(str(path))

    assert len(events(transcript, Prompt)) == 1
    assert transcript.faults == [
        Fault(1, "holds NUL bytes"),
        Fault(2, "is a JSON string, not an object"),
        Fault(3, "holds two records on one line"),
        Fault(4, "is a JSON array, not an object"),
        Fault(5, "is not JSON"),
        Fault(6, "is not UTF-8"),
        Fault(9, "is cut off"),
    ]


def test_a_line_over_the_limit_is_set_aside_and_the_next_one_read(tmp_path: Path) -> None:
    path = tmp_path / "s-1.jsonl"
    opening, closing = json.dumps(user("go")).encode() + b"\n", json.dumps(user("on")).encode()
    for spare, lines in ((0, []), (1, [2])):
        with open(path, "wb") as file:
            file.write(opening)
            file.write(b'{"type":"system"}'.ljust(LINE_BYTES_MAX - 1 + spare) + b"\n")
            file.write(closing)
        transcript = Recording(str(path))

        assert [prompt.text for prompt in events(transcript, Prompt)] == ["go", "on"]
        assert [fault.line for fault in transcript.faults] == lines


def test_rows_of_unusual_shape_are_passed_over(tmp_path: Path) -> None:
    transcript = written(
        tmp_path,
        user("go"),
        {"silly": "row"},
        {**BASE, "type": "user", "message": "error"},
        user(["bare"], toolUseResult="x"),
        {**BASE, "type": "assistant", "message": {"content": [7, {"type": "tool_use"}]}},
        {**BASE, "type": "brand-new", "message": {}},
    )

    assert [step.line for step in steps(transcript, Prompt, ToolCall, ToolResult)] == [1]
    assert transcript.faults == []


def test_a_call_that_stands_on_two_rows_counts_once(tmp_path: Path) -> None:
    row = assistant(call("t-1", "Read"))
    answer = user([result("t-1")])
    transcript = written(tmp_path, user("go"), row, row, answer, answer)

    assert len(events(transcript, ToolCall)) == 1
    assert len(events(transcript, ToolResult)) == 1


def test_usage_is_told_again_when_a_later_row_knows_more(tmp_path: Path) -> None:
    transcript = written(
        tmp_path,
        user("go"),
        assistant(text("a"), output=1),
        assistant(text("b"), output=9),
        assistant(text("c"), output=9),
    )

    told = [(usage.message_id, usage.output_tokens) for usage in events(transcript, Usage)]
    assert told == [("m-1", 1), ("m-1", 9)]


@pytest.mark.parametrize(
    "row",
    [
        user("Caveat: The messages below were generated by the user while running commands"),
        user("<local-command-stdout>x</local-command-stdout>"),
        user("<bash-input>ls</bash-input>"),
        user("This session is being continued", isCompactSummary=True),
        user("told by the program", isMeta=True),
        user([result("t-9")]),
    ],
)
def test_what_no_person_asked_is_no_prompt(tmp_path: Path, row: Row) -> None:
    transcript = written(tmp_path, row, user("go"))

    assert [step.line for step in steps(transcript, Prompt)] == [2]


def test_a_command_that_never_reached_the_model_is_no_prompt(tmp_path: Path) -> None:
    transcript = written(
        tmp_path,
        user("<local-command-caveat>the command below", isMeta=True),
        user("<command-name>/model</command-name>"),
        user("<command-name>/review</command-name>"),
    )

    assert [step.line for step in steps(transcript, Prompt)] == [3]


def test_a_typed_skill_is_named_by_the_body_that_follows(tmp_path: Path) -> None:
    body = "Base directory for this skill: /repo/.claude/skills/notes\n\n# Notes"
    transcript = written(
        tmp_path,
        user("<command-name>/notes</command-name>"),
        user([text(body)], isMeta=True),
    )

    (prompt,) = events(transcript, Prompt)
    place = "/repo/.claude/skills/notes"
    assert prompt.selected_skills == (SelectedSkill("notes", f"{place}/SKILL.md"),)
    assert events(transcript, SkillBody) == [SkillBody(place, "# Notes")]


def test_a_notice_of_the_program_joins_the_running_turn_or_opens_one(tmp_path: Path) -> None:
    notice = user("<task-notification>done", uuid="u-2")
    transcript = written(
        tmp_path,
        user("go", uuid="u-1"),
        assistant(text("a")),
        notice,
        stop_summary("stop-1"),
        notice,
    )

    told = [(prompt.turn_id, prompt.from_human) for prompt in events(transcript, Prompt)]
    assert told == [("u-1", True), ("u-1", False), ("u-2", False)]


def test_a_prompt_that_was_queued_meanwhile_joins_the_running_turn(tmp_path: Path) -> None:
    transcript = written(
        tmp_path,
        user("go", uuid="u-1"),
        assistant(text("a")),
        attachment(type="queued_command", prompt="and this"),
        assistant(text("b"), message_id="m-2"),
        stop_summary("stop-1"),
    )

    assert [prompt.turn_id for prompt in events(transcript, Prompt)] == ["u-1", "u-1"]
    assert len(ends(transcript)) == 1


def test_instruction_files_are_evidence_with_their_size_in_bytes(tmp_path: Path) -> None:
    transcript = written(
        tmp_path,
        user("go"),
        attachment(
            type="instructions",
            files=[{"path": "/repo/CLAUDE.md", "content": "é"}, {"path": "/etc/x/CLAUDE.md"}],
        ),
        attachment(
            type="nested_memory",
            path="/else/r.md",
            content={"path": "/else/r.md", "content": "abc"},
        ),
    )

    assert events(transcript, Context) == [
        Context("rules", "workspace/CLAUDE.md", bytes=2, detail="CLAUDE.md"),
        Context("rules", "/else/r.md", bytes=3, detail="r.md"),
    ]


def test_a_compaction_is_told_once_it_is_proved(tmp_path: Path) -> None:
    told = {"trigger": "auto", "preTokens": 167094}
    boundary = {**BASE, "type": "system", "subtype": "compact_boundary", "compactMetadata": told}
    transcript = written(tmp_path, user("go"), boundary)

    assert events(transcript, Compaction) == [Compaction("after", "auto", 167094, None)]


def test_file_tools_that_succeeded_tell_what_they_wrote(tmp_path: Path) -> None:
    edit = {"old_string": "a", "new_string": "b", "replace_all": True}
    transcript = written(
        tmp_path,
        user("go"),
        assistant(
            call("t-1", "Write", file_path="/repo/new.md", content="text"),
            call("t-2", "Edit", file_path="/repo/old.md", **edit),
            call("t-3", "MultiEdit", file_path="/repo/old.md", edits=[edit, edit]),
            call("t-4", "Write", file_path="/repo/denied.md", content="text"),
        ),
        user([result("t-1")], toolUseResult={"content": "text as written"}),
        user([result("t-2")], toolUseResult={"originalFile": "aa"}),
        user([result("t-3")]),
        user([result("t-4", is_error=True)]),
    )

    assert events(transcript, FileChange) == [
        FileChange("Write", "/repo/new.md", content="text as written"),
        FileChange("Edit", "/repo/old.md", original="aa", edits=(("a", "b", True),)),
        FileChange("MultiEdit", "/repo/old.md", edits=(("a", "b", True),) * 2),
    ]


def test_half_a_character_cannot_stop_a_row(tmp_path: Path) -> None:
    transcript = written(tmp_path, user("cut \ud83d here"))

    assert [prompt.text for prompt in events(transcript, Prompt)] == ["cut \ufffd here"]


def test_the_session_starts_with_what_the_rows_say(tmp_path: Path) -> None:
    transcript = written(tmp_path, user("go"), assistant(text("a")))

    (start,) = events(transcript, SessionStart)
    assert (start.runtime, start.workspace, start.model) == ("claude_code", CWD, "claude-x")
    assert transcript.head.session_id == "s-1"


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('{"type": "session", "id": "x", "provider": "p"}', "JSON lines of another program"),
        ('{"event": "click", "at": 3}', "JSON lines of another program"),
        ('{\n  "type": "user"\n}', "none of its lines is a whole object"),
        ("version: 1\nphases:", "seems to be YAML"),
        ("# A plan", "seems to be plain text"),
        ("\0\1\2", "seems to be a binary file"),
        ("", "is empty"),
    ],
)
def test_another_format_is_refused_by_its_look(tmp_path: Path, line: str, named: str) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(line + "\n", encoding="utf-8")

    with pytest.raises(UnknownFormat, match=named):
        Recording(str(path))
