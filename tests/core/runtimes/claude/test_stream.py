"""What stream-json lines and messages of the Agent SDK tell."""

from pathlib import Path
from typing import Any

from core.events import (
    Compaction,
    Fill,
    Prompt,
    Request,
    SessionStart,
    Skill,
    Spoken,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
)
from core.recordings.contract import AgentSeen
from core.recordings.recording import Recording
from tests.core.runtimes.claude.given import (
    CWD,
    SESSION,
    Row,
    call,
    ended,
    events,
    hook,
    init,
    read,
    result,
    said,
    stream,
    text,
    usage,
    written,
)


def told(*content: Row, **more: Any) -> Row:
    return stream("user", message={"role": "user", "content": list(content)}, **more)


def event(kind: str, **more: Any) -> Row:
    return stream("stream_event", event={"type": kind, **more})


def outputs(*rows: Row) -> dict[str | None, tuple[int, bool]]:
    found = events(read(*rows, live=True), Usage)
    return {one.message_id: (one.output_tokens, one.partial) for one in found}


def test_a_session_starts_with_what_could_be_used() -> None:
    servers = [{"name": "hub", "status": "connected"}]
    row = init("i-1", tools=["Bash"], mcp_servers=servers, skills=["notes"])

    (start,) = events(read(row, init("i-2", tools=["Bash"]), live=True), SessionStart)
    assert (start.workspace, start.model) == (CWD, "claude-x")
    assert start.available == {"tools": ["Bash"], "mcp_servers": ["hub"], "skills": ["notes"]}


def test_a_turn_goes_from_init_to_result() -> None:
    rows = [init("i-1"), said("m-1", text("a")), ended(4, result="a"), init("i-2")]
    steps = read(*rows, said("m-2", text("b")), ended(4, subtype="error_max_turns"), live=True)

    assert events(steps, Prompt, TurnEnd) == [
        Prompt("i-1", ""),
        TurnEnd("i-1", "completed", "a"),
        Prompt("i-2", ""),
        TurnEnd("i-2", "failed", "b"),
    ]


def test_a_prompt_that_the_program_repeats_opens_the_turn_and_a_later_one_joins_it() -> None:
    rows = [init("i-1"), told(text("go"), isReplay=True), said("m-1", text("a"))]
    steps = read(*rows, told(text("and this"), isReplay=True), ended(4), live=True)

    assert [(one.turn_id, one.text) for one in events(steps, Prompt)] == [
        ("i-1", "go"),
        ("i-1", "and this"),
    ]


def test_each_block_comes_on_a_line_of_its_own_and_the_request_once() -> None:
    rows = [said("m-1", text("a")), said("m-1", call("t-1")), told(result("t-1", "x"))]
    steps = read(init("i-1"), *rows, live=True)

    assert [type(one).__name__ for one in events(steps, Request, Usage, ToolCall, ToolResult)] == [
        "Request",
        "Usage",
        "ToolCall",
        "ToolResult",
    ]


def test_a_message_delta_has_the_true_output() -> None:
    begun = {"id": "m-1", "usage": usage(output=1)}
    rows = [
        init("i-1"),
        event("message_start", message=begun),
        said("m-1", text("a")),
        event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 70}),
        said("m-1", text("b")),
        ended(70),
    ]

    assert outputs(*rows) == {"m-1": (70, False)}


def test_the_sum_of_the_turn_completes_the_one_message_that_had_only_begun() -> None:
    rows = [init("i-1"), said("m-1", text("a")), ended(42)]

    assert outputs(*rows) == {"m-1": (42, False)}


def test_of_several_begun_messages_only_the_sum_is_known() -> None:
    rows = [init("i-1"), said("m-1", call("t-1")), said("m-2", text("b")), ended(42)]

    assert outputs(*rows) == {"m-1": (1, True), "m-2": (41, True)}


def test_the_sum_of_a_later_turn_is_its_own() -> None:
    first = [init("i-1"), said("m-1", text("a")), ended(42)]

    assert outputs(*first, init("i-2"), said("m-2", text("b")), ended(7)) == {
        "m-1": (42, False),
        "m-2": (7, False),
    }


def test_a_result_alone_tells_of_the_window_only() -> None:
    steps = read(ended(42), ended(43), live=True)

    assert events(steps, Usage, Fill, TurnEnd) == [Fill(None, 200_000, "stream-json/result")]


def test_what_the_program_puts_in_is_no_prompt() -> None:
    body = "Base directory for this skill: /repo/skills/notes\n\n# Notes"
    rows = [
        told(text(body), isSynthetic=True),
        told(text("This session is being continued from a previous conversation")),
        told(text("Stop hook feedback:\nnot yet"), isSynthetic=True),
    ]
    steps = read(init("i-1"), said("m-1", text("a")), *rows)

    assert [one.text for one in events(steps, Prompt)] == [""]
    assert [one.name for one in events(steps, Skill)] == ["notes"]
    assert [one.by for one in events(steps, Spoken)] == ["model", "program", "program"]
    recorded = [step.recorded for step in steps if isinstance(step.event, TurnEnd)]
    assert recorded == ["blocked"]


def test_lines_of_a_sub_agent_are_its_own() -> None:
    own: Row = {"parent_tool_use_id": "task-1", "agent_id": "a1f"}
    rows = [
        init("i-1"),
        said("m-1", call("task-1", "Agent", prompt="Count.")),
        stream("system", subtype="task_started", task_id="a1f", tool_use_id="task-1"),
        told(text("Count."), **own),
        said("m-2", call("t-1"), **own),
        told(result("t-1", "2"), parent_tool_use_id="task-1"),
        ended(9),
    ]
    steps = read(*rows, live=True)

    assert events(steps, AgentSeen) == [AgentSeen("a1f")]
    made = {one.tool_use_id: one for one in events(steps, ToolCall)}
    assert (made["t-1"].agent_id, made["t-1"].parent_tool_use_id) == ("a1f", "task-1")
    assert [one.agent_id for one in events(steps, ToolResult)] == ["a1f"]
    last = {one.message_id: one for one in events(steps, Usage)}
    assert (last["m-1"].agent_id, last["m-1"].output_tokens) == (None, 9)
    assert (last["m-2"].agent_id, last["m-2"].partial) == ("a1f", True)
    assert len(events(steps, Prompt)) == 1


def test_a_compaction_has_its_figures() -> None:
    data = {"trigger": "auto", "pre_tokens": 900, "post_tokens": 70}
    steps = read(init("i-1"), stream("system", subtype="compact_boundary", compact_metadata=data))

    assert events(steps, Compaction, Fill) == [
        Compaction("after", "auto", 900, 70),
        Fill(70, None, "stream-json/compact_boundary"),
    ]


def test_an_error_of_the_service_fails_the_turn() -> None:
    failed = said("x", text("API Error: 529"))
    failed["message"]["model"] = "<synthetic>"
    steps = read(init("i-1"), failed, ended(0, is_error=True), live=True)

    assert events(steps, Usage) == []
    assert [one.outcome for one in events(steps, TurnEnd)] == ["failed"]


def test_a_stream_is_a_recording(tmp_path: Path) -> None:
    rows = [init("i-1", claude_code_version="2.1.332"), said("m-1", text("a")), ended(4)]
    head = Recording(written(tmp_path / "out.jsonl", *rows)).head

    assert (head.session_id, head.cwd) == (SESSION, CWD)
    assert (head.model, head.version) == ("claude-x", "2.1.332")


def sdk(name: str, wrapped: bool = True, **told: Any) -> Row:
    value = {"class": name, **told}
    return {"kind": "message", "value": value} if wrapped else value


def sdk_rows(wrapped: bool) -> list[Row]:
    block = {"class": "ToolUseBlock", "id": "t-1", "name": "Bash", "input": {"command": "ls"}}
    answer = {"class": "ToolResultBlock", "tool_use_id": "t-1", "content": "x", "is_error": None}
    model: Row = {"model": "claude-x", "usage": usage(output=1), "message_id": "m-1"}
    window = {"claude-x": {"contextWindow": 200_000}}
    return [
        sdk("SystemMessage", wrapped, subtype="init", data={**init("i-1"), "tools": []}),
        sdk("AssistantMessage", wrapped, content=[block], **model),
        sdk("UserMessage", wrapped, content=[answer], parent_tool_use_id=None),
        sdk("UserMessage", wrapped, content="A reminder."),
        sdk("AssistantMessage", wrapped, content=[{"class": "TextBlock", "text": "a"}], **model),
        sdk(
            "ResultMessage",
            wrapped,
            subtype="success",
            is_error=False,
            usage={"output_tokens": 8},
            model_usage=window,
        ),
    ]


def test_messages_of_the_agent_sdk_tell_what_their_lines_would() -> None:
    for wrapped in (True, False):
        steps = read(*sdk_rows(wrapped), live=True)

        assert [one.name for one in events(steps, ToolCall)] == ["Bash"]
        assert [one.content for one in events(steps, ToolResult)] == ["x"]
        assert [one.output_tokens for one in events(steps, Usage)] == [1, 8]
        assert [one.text for one in events(steps, Spoken)] == ["A reminder.", "a"]
        assert events(steps, Fill) == [Fill(None, 200_000, "stream-json/result")]
        assert [one.turn_id for one in events(steps, TurnEnd)] == ["i-1"]


def test_hooks_in_the_process_of_the_sdk_are_read_in_their_wrapper() -> None:
    payload = hook("UserPromptSubmit", prompt="go", prompt_id="p-1")
    row = {"kind": "hook", "value": {"tool_use_id": "x", "input": payload}}
    steps = read(row, *sdk_rows(True), live=True)

    assert [one.turn_id for one in events(steps, Prompt)] == ["p-1"]
    assert [one.turn_id for one in events(steps, TurnEnd)] == ["p-1"]


def test_the_sdk_can_tell_how_full_the_window_is() -> None:
    row = {"kind": "context_usage", "value": {"totalTokens": 900, "maxTokens": 200_000}}

    assert events(read(row), Fill) == [Fill(900, 200_000, "sdk/get_context_usage")]
