"""What the reader makes of the messages between an Agent Client Protocol client and its agent."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.events import Attachment, Fill, Prompt, Spoken, ToolCall, ToolResult, TurnEnd, Usage
from core.recordings.contract import ENDED, NOT_RECORDED, Head, Step
from core.recordings.recording import Recording
from core.runtimes.acp_agent import RUNTIME
from core.units import content_units, image_count
from tests.core.runtimes.look_alikes import Row, answered, asked, sent, update

SOURCE = "acp/usage_update"


def live(*rows: Row) -> list[Any]:
    """The events of raw messages that a client sends one by one, as of a session of its own."""
    reader = RUNTIME.reader(Head("acp_agent", "host-1", "/repo"))
    return [step.event for row in rows for step in reader.read(0, row)]


def recording(folder: Path, *rows: Row) -> Recording:
    path = folder / "talk.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return Recording(str(path))


def recorded(folder: Path, *rows: Row) -> list[Any]:
    """The events of a recording, but for its begin and end."""
    return [step.event for step in recording(folder, *rows).steps()][1:-1]


def text(value: str) -> Row:
    return {"type": "text", "text": value}


def said(value: str, kind: str = "agent_message_chunk", **more: Any) -> Row:
    return update(kind, content=text(value), **more)


def prompt(number: int = 3, session: str = "s-1", *blocks: Row) -> Row:
    return asked(number, "session/prompt", sessionId=session, prompt=list(blocks or [text("Go.")]))


def tool(call_id: str = "t-1", **more: Any) -> Row:
    return update("tool_call", toolCallId=call_id, **more)


def told(call_id: str = "t-1", **more: Any) -> Row:
    return update("tool_call_update", toolCallId=call_id, **more)


def named(name: str) -> Row:
    return {"_meta": {"claudeCode": {"toolName": name}}}


def test_a_prompt_request_opens_a_turn_and_its_answer_ends_it(tmp_path: Path) -> None:
    rows = (prompt(), said("Done."), answered(3, stopReason="end_turn"))
    steps = list(recording(tmp_path, *rows).steps())[1:-1]

    assert steps == [
        Step(1, Prompt("prompt-3", "Go.")),
        Step(3, Spoken("model", "Done.")),
        Step(3, TurnEnd("prompt-3", "completed", "Done."), ENDED),
    ]


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("end_turn", "completed"),
        ("cancelled", "interrupted"),
        ("refusal", "failed"),
        ("max_tokens", "failed"),
        ("max_turn_requests", "failed"),
        ("_its_own", "completed"),
    ],
)
def test_a_turn_ends_as_the_agent_says(reason: str, outcome: str) -> None:
    assert live(prompt(), answered(3, stopReason=reason))[-1] == TurnEnd("prompt-3", outcome)


def test_a_prompt_that_is_answered_by_an_error_has_failed() -> None:
    error = sent({"id": 3, "error": {"code": -32603, "message": "lost"}})

    assert live(prompt(), error)[-1] == TurnEnd("prompt-3", "failed")


def test_a_prompt_without_an_answer_was_broken_off(tmp_path: Path) -> None:
    steps = list(recording(tmp_path, prompt(), said("Half")).steps())

    assert steps[-2] == Step(2, TurnEnd("prompt-3", "interrupted", "Half"), NOT_RECORDED)


def test_what_the_client_answers_under_the_same_number_ends_no_turn() -> None:
    permission = sent({"id": 3, "method": "session/request_permission", "params": {}})
    allowed = sent({"id": 3, "result": {"outcome": {"outcome": "selected"}}}, "to")
    bare = allowed["message"]

    assert live(prompt(), permission, allowed) == [Prompt("prompt-3", "Go.")]
    assert live(prompt()["message"], permission["message"], bare) == [Prompt("prompt-3", "Go.")]


def test_turns_of_a_client_that_counts_from_the_start_again_are_kept_apart() -> None:
    events = live(prompt(), answered(3, stopReason="end_turn"), prompt())

    assert [event.turn_id for event in events] == ["prompt-3", "prompt-3", "prompt-3-2"]


def test_files_beside_the_prompt_come_with_their_sizes() -> None:
    (event,) = live(
        prompt(
            3,
            "s-1",
            text("Look at this."),
            {"type": "resource", "resource": {"uri": "file:///repo/a.txt", "text": "héllo"}},
            {"type": "resource_link", "uri": "file:///repo/b.bin", "name": "b", "size": 12},
            {"type": "resource_link", "uri": "file:///repo/c.bin", "name": "c"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        )
    )

    assert event == Prompt(
        "prompt-3",
        "Look at this.",
        attachments=(
            Attachment("a.txt", "file:///repo/a.txt", units=5),
            Attachment("b", "file:///repo/b.bin", bytes=12),
        ),
    )


def test_pieces_of_a_message_are_one_text_and_another_message_is_another(tmp_path: Path) -> None:
    events = recorded(
        tmp_path,
        prompt(),
        said("Look ", "agent_thought_chunk"),
        said("first.", "agent_thought_chunk"),
        said("I ", messageId="m-1"),
        update("usage_update", used=9, size=100),
        said("look.", messageId="m-1"),
        said("", messageId="m-2"),
        said("Done.", messageId="m-2"),
        tool(rawInput={"a": 1}),
        answered(3, stopReason="end_turn"),
    )

    assert [event for event in events if isinstance(event, Spoken)] == [
        Spoken("thinking", "Look first."),
        Spoken("model", "I look."),
        Spoken("model", "Done."),
    ]


def test_a_file_of_updates_only_takes_its_turns_from_what_the_user_said(tmp_path: Path) -> None:
    events = recorded(
        tmp_path,
        said("List ", "user_message_chunk"),
        said("it.", "user_message_chunk"),
        said("a.txt"),
        said("Thanks.", "user_message_chunk"),
        said("Bye."),
    )

    assert events == [
        Prompt("message-1", "List it."),
        Spoken("model", "a.txt"),
        TurnEnd("message-1", "completed", "a.txt"),
        Prompt("message-2", "Thanks."),
        Spoken("model", "Bye."),
        TurnEnd("message-2", "completed", "Bye."),
    ]


def test_a_prompt_that_the_agent_repeats_counts_once(tmp_path: Path) -> None:
    echo = said("Go.", "user_message_chunk")
    rows = (prompt(), echo, said("Done."), tool(rawInput=[1]))
    once = [
        Prompt("prompt-3", "Go."),
        Spoken("model", "Done."),
        ToolCall("t-1", "other", [1], "prompt-3"),
    ]

    assert live(*rows) == once
    assert recorded(tmp_path, *rows)[:-1] == once


def test_a_host_that_sends_updates_only_tells_of_its_prompts_itself() -> None:
    assert live(said("Go.", "user_message_chunk"), said("Done.")) == []


def test_an_earlier_conversation_that_is_told_again_does_not_count() -> None:
    load = asked(2, "session/load", sessionId="s-1", cwd="/repo")
    events = live(
        load,
        said("Old.", "user_message_chunk"),
        said("Older."),
        tool("t-0", rawInput={"a": 1}, status="completed", rawOutput="x"),
        sent({"id": 2, "result": {}}),
        tool("t-1", rawInput={"a": 1}),
    )

    assert events == [ToolCall("t-1", "other", {"a": 1})]


def test_a_call_is_told_when_its_input_is_known_and_once() -> None:
    events = live(
        tool(rawInput={}, status="pending", kind="execute", **named("Bash")),
        told(rawInput={"command": "ls"}, content=[{"type": "content", "content": text("List")}]),
        told(rawInput={"command": "ls -a"}),
        told(status="in_progress"),
        told(status="completed", rawOutput="a.txt"),
        told(status="completed", rawOutput="a.txt"),
    )

    assert events == [
        ToolCall("t-1", "Bash", {"command": "ls"}),
        ToolResult("t-1", "a.txt"),
    ]


@pytest.mark.parametrize("status", ["completed", "failed"])
def test_a_call_without_an_input_is_told_when_it_ends(status: str) -> None:
    events = live(tool(rawInput={}, **named("Now")), told(status=status, rawOutput="x"))

    assert events == [ToolCall("t-1", "Now", {}), ToolResult("t-1", "x", status == "failed")]


def test_a_call_that_never_ended_is_told_at_the_end_of_its_turn() -> None:
    events = live(prompt(), tool(rawInput={}, kind="fetch"), answered(3, stopReason="cancelled"))

    assert events[1:] == [
        ToolCall("t-1", "fetch", {}, "prompt-3"),
        TurnEnd("prompt-3", "interrupted"),
    ]


def test_a_call_that_is_told_all_at_once_has_its_result_too() -> None:
    shown = [{"type": "content", "content": text("a.txt")}]
    events = live(tool(rawInput={"a": 1}, kind="read", status="completed", content=shown))

    assert events == [
        ToolCall("t-1", "read", {"a": 1}),
        ToolResult("t-1", [{"type": "text", "text": "a.txt"}]),
    ]


def test_a_tool_is_called_by_its_own_name_else_by_its_kind() -> None:
    events = live(
        tool("t-1", rawInput=[1], kind="read", title="Read a.txt", **named("mcp__echo__echo")),
        tool("t-2", rawInput=[1], kind="read", title="Read a.txt"),
        tool("t-3", rawInput=[1], title="Read a.txt"),
    )

    assert [event.name for event in events] == ["mcp__echo__echo", "read", "other"]


def test_what_a_sub_agent_does_names_the_call_that_started_it() -> None:
    inside: Row = {"_meta": {"claudeCode": {"toolName": "Read", "parentToolUseId": "t-0"}}}
    events = live(prompt(), tool(rawInput={"a": 1}, **inside), said("Inside.", **inside), prompt(4))

    assert events[1:3] == [
        ToolCall("t-1", "Read", {"a": 1}, "prompt-3", parent_tool_use_id="t-0"),
        Spoken("model", "Inside.", "t-0"),
    ]


def test_raw_output_goes_before_what_is_shown_to_people() -> None:
    shown = [{"type": "content", "content": text("```\na.txt\n```")}, {"type": "diff"}]
    events = live(
        tool(rawInput=[1]),
        told(status="completed", rawOutput="a.txt", content=shown),
        tool("t-2", rawInput=[1]),
        told("t-2", content=shown),
        told("t-2", status="failed"),
    )

    assert [event.content for event in events if isinstance(event, ToolResult)] == [
        "a.txt",
        [{"type": "text", "text": "```\na.txt\n```"}],
    ]


def test_what_is_shown_with_an_input_is_not_the_answer() -> None:
    shown = [{"type": "content", "content": text("List the files")}]
    events = live(tool(rawInput={"a": 1}, content=shown), told(status="completed"))

    assert events[-1] == ToolResult("t-1", "")


def test_the_bytes_of_an_image_are_not_counted_as_text() -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "A" * 9000}}
    events = live(tool(rawInput=[1]), told(status="completed", rawOutput=[text("see"), image]))

    assert content_units(events[-1].content) == len("see")
    assert image_count(events[-1].content) == 1


def test_an_event_of_codex_is_read_for_the_command_that_its_model_wrote() -> None:
    frame = {"call_id": "t-1", "process_id": "9", "turn_id": "x", "cwd": "/repo", "source": "s"}
    given = {**frame, "command": ["/bin/bash", "-lc", "ls -a"], "parsed_cmd": [{"cmd": "ls -a"}]}
    output = {**given, "stdout": "a\n", "aggregated_output": "a\nb\n", "formatted_output": "a\nb"}
    events = live(
        tool(kind="search", title="List /repo", rawInput=given),
        told(status="failed", rawOutput={**output, "exit_code": 3}),
    )

    assert events == [
        ToolCall("t-1", "Bash", {"command": "ls -a"}),
        ToolResult("t-1", "a\nb", True),
    ]


def test_a_patch_and_an_mcp_call_of_codex_have_their_names() -> None:
    patch = {"call_id": "t-1", "auto_approved": True, "changes": {"/repo/a": {"type": "add"}}}
    mcp = {"server": "echo", "tool": "say", "arguments": {"text": "hi"}}
    events = live(
        tool("t-1", kind="edit", rawInput=patch),
        told("t-1", status="completed", rawOutput={"call_id": "t-1", "stdout": "", "stderr": "no"}),
        tool("t-2", rawInput=mcp),
        told("t-2", status="completed", rawOutput={"Ok": {"content": [text("hi")]}}),
        tool("t-3", rawInput={"call_id": "t-3", "invocation": mcp}),
        told("t-3", status="completed", rawOutput={"Err": "lost"}),
    )

    assert events == [
        ToolCall("t-1", "apply_patch", {"changes": {"/repo/a": {"type": "add"}}}),
        ToolResult("t-1", "no"),
        ToolCall("t-2", "mcp__echo__say", {"text": "hi"}),
        ToolResult("t-2", [text("hi")]),
        ToolCall("t-3", "mcp__echo__say", {"text": "hi"}),
        ToolResult("t-3", "lost", True),
    ]


def test_the_fill_of_the_window_is_the_agents_word_once_a_request_was_made() -> None:
    placeholder = update("usage_update", used=0, size=200_000)
    events = live(
        placeholder,
        update("usage_update", used=18_013, size=1_000_000),
        update("usage_update", used=19_000, size=0),
        placeholder,
    )

    assert events == [
        Fill(18_013, 1_000_000, SOURCE),
        Fill(19_000, None, SOURCE),
        Fill(0, None, SOURCE),
    ]


def test_without_a_usage_report_the_usage_stays_unknown() -> None:
    events = live(prompt(), said("Done."), answered(3, stopReason="end_turn"))

    assert [type(event).__name__ for event in events] == ["Prompt", "Spoken", "TurnEnd"]


TURN_USAGE = {
    "inputTokens": 26,
    "outputTokens": 534,
    "cachedReadTokens": 58_848,
    "cachedWriteTokens": 22_200,
    "totalTokens": 81_608,
}


def test_the_usage_of_a_turn_is_a_sum_and_leaves_the_fill_as_it_was() -> None:
    fill = update("usage_update", used=21_364, size=1_000_000)
    events = live(prompt(), fill, answered(3, stopReason="end_turn", usage=TURN_USAGE))

    assert events[2:] == [
        Usage(26, 534, 58_848, 22_200, message_id="prompt-3", is_sum=True),
        Fill(21_364, 1_000_000, SOURCE),
        TurnEnd("prompt-3", "completed"),
    ]


@pytest.mark.parametrize(
    ("total", "cached", "includes"),
    [(105, 60, True), (165, 60, False), (None, 60, False), ("105", 60, False), (105, 101, False)],
)
def test_the_total_tells_whether_cached_tokens_are_inside_the_input(
    total: Any, cached: int, includes: bool
) -> None:
    figures = {"inputTokens": 100, "outputTokens": 5, "cachedReadTokens": cached}
    usage = {**figures, "totalTokens": total}
    events = live(prompt(), answered(3, stopReason="end_turn", usage=usage))

    assert events[1].input_includes_cache is includes


@pytest.mark.parametrize("usage", [None, {}, {"inputTokens": 5}, {"inputTokens": "5"}, [1]])
def test_a_usage_of_an_odd_shape_is_no_usage(usage: Any) -> None:
    events = live(prompt(), answered(3, stopReason="end_turn", usage=usage))

    assert [type(event).__name__ for event in events] == ["Prompt", "TurnEnd"]


def other(row: Row) -> Row:
    """The same message in another session."""
    return json.loads(json.dumps(row).replace('"s-1"', '"s-2"'))  # type: ignore[no-any-return]


def test_messages_of_other_sessions_of_the_connection_tell_nothing(tmp_path: Path) -> None:
    mine = [prompt(4), said("Mine."), answered(4, stopReason="end_turn")]
    others = [
        other(prompt(5)),
        other(said("Theirs.")),
        other(tool(rawInput=[1])),
        answered(5, stopReason="end_turn", usage=TURN_USAGE),
    ]
    mixed = [mine[0], others[0], mine[1], *others[1:], mine[2]]

    assert recorded(tmp_path, *mixed) == recorded(tmp_path, *mine)
    assert live(*mixed) == live(*mine)


def test_the_head_knows_the_session_its_folder_its_model_and_its_agent(tmp_path: Path) -> None:
    info = {"name": "@agents/parrot-acp", "version": "0.4.2"}
    option = {"id": "model", "category": "model", "currentValue": "model-x"}
    head = recording(
        tmp_path,
        asked(1, "initialize", protocolVersion=1, clientCapabilities={}),
        answered(1, protocolVersion=1, agentInfo=info),
        asked(2, "session/new", cwd="/elsewhere"),
        answered(2, sessionId="s-0"),
        asked(3, "session/new", cwd="/repo"),
        answered(3, sessionId="s-1", configOptions=[{"id": "mode"}, option]),
        prompt(4),
    ).head

    assert head._replace(path="") == Head(
        "acp_agent", "s-1", "/repo", "model-x", "parrot-acp 0.4.2"
    )


def test_a_model_called_default_is_not_known(tmp_path: Path) -> None:
    new = asked(2, "session/new", cwd="/repo")
    told_of = answered(2, sessionId="s-1", models={"currentModelId": "default"})

    assert recording(tmp_path, new, told_of, prompt()).head.model is None


def test_updates_without_a_session_take_the_name_of_their_file(tmp_path: Path) -> None:
    bare = said("Done.")["params"]["update"]
    notice = {"update": bare}

    assert recording(tmp_path, bare).head.session_id == "talk"
    assert recorded(tmp_path, bare, notice) == [Spoken("model", "Done.Done.")]


@pytest.mark.parametrize("shape", ["wrapped", "message", "params", "update"])
def test_an_update_is_read_in_every_form_that_it_is_recorded_in(shape: str) -> None:
    message = tool(rawInput={"a": 1})
    params = message["params"]
    forms = {
        "wrapped": sent(message),
        "message": message,
        "params": params,
        "update": params["update"],
    }

    assert live(forms[shape]) == [ToolCall("t-1", "other", {"a": 1})]
    assert RUNTIME.recognise(forms[shape])


@pytest.mark.parametrize(
    "row",
    [
        {"jsonrpc": "2.0", "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"jsonrpc": "2.0", "method": "initialize", "params": {"processId": 1}},
        {"id": 1, "method": "initialize", "params": {"clientInfo": {}}},
        {"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}},
        {"sessionUpdate": "unheard_of"},
        {"update": {"sessionUpdate": None}},
        {},
    ],
)
def test_a_row_of_another_protocol_is_not_claimed(row: Row) -> None:
    assert not RUNTIME.recognise(row)
