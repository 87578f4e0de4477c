"""What the reader makes of the lines of `codex exec --json`."""

from typing import Any

from core.events import Fill, Prompt, Request, Spoken, ToolCall, ToolResult, TurnEnd, Usage
from tests.core.runtimes.codex_given import THREAD, figures, of, told

Line = dict[str, Any]

START: list[Line] = [{"type": "thread.started", "thread_id": THREAD}, {"type": "turn.started"}]
COMMAND: Line = {
    "id": "item_1",
    "type": "command_execution",
    "command": "/bin/bash -lc 'ls -a'",
    "aggregated_output": "",
    "exit_code": None,
    "status": "in_progress",
}
ENDED = COMMAND | {"aggregated_output": "out", "exit_code": 0, "status": "completed"}


def line(stage: str, item: Line) -> Line:
    return {"type": f"item.{stage}", "item": item}


def finished(**usage: int) -> Line:
    return {"type": "turn.completed", "usage": usage}


def test_a_run_is_one_turn_with_its_items_and_its_sum() -> None:
    steps = told(
        *START,
        line("completed", {"id": "item_0", "type": "reasoning", "text": "Look."}),
        line("started", COMMAND),
        line("completed", ENDED),
        line("completed", {"id": "item_2", "type": "agent_message", "text": "Done."}),
        finished(**figures(30_000, 90, cached=8_000)),
    )

    assert of(ToolCall, steps) == [
        ToolCall("turn-1/item_1", "exec_command", {"cmd": "ls -a"}, "turn-1")
    ]
    assert of(ToolResult, steps) == [ToolResult("turn-1/item_1", "out")]
    assert of(Spoken, steps) == [Spoken("thinking", "Look."), Spoken("model", "Done.")]
    assert of(Usage, steps) == [
        Usage(30_000, 90, 8_000, cumulative=True, input_includes_cache=True, is_sum=True)
    ]
    assert steps[-1][1:] == (TurnEnd("turn-1", "completed", "Done."), "ended")


def test_a_sum_says_nothing_of_requests_or_the_window() -> None:
    steps = told(*START, line("completed", ENDED), finished(**figures(30_000, 90)))

    assert not of(Request, steps)
    assert not of(Fill, steps)
    assert of(Usage, steps)[0].context_window is None


def test_u19_no_usage_and_a_usage_of_nothing_are_absent() -> None:
    for end in ({"type": "turn.completed"}, finished(**figures(0, 0)), finished(input_tokens=1)):
        steps = told(*START, end)

        assert not of(Usage, steps)
        assert [one.outcome for one in of(TurnEnd, steps)] == ["completed"]


def test_a_failed_turn_ends_as_failed() -> None:
    error = {"type": "error", "message": "no"}
    steps = told(*START, error, {"type": "turn.failed", "error": {"message": "no"}})

    assert [one.outcome for one in of(TurnEnd, steps)] == ["failed"]


def test_a_run_that_breaks_off_is_interrupted() -> None:
    steps = told(*START, line("started", COMMAND))

    assert [one.outcome for one in of(TurnEnd, steps)] == ["interrupted"]


def test_the_items_of_a_second_run_are_others_though_their_ids_begin_anew() -> None:
    run = [*START, line("completed", ENDED)]
    steps = told(*run, finished(**figures(1_000, 10)), *run, finished(**figures(3_000, 30)))

    assert [call.tool_use_id for call in of(ToolCall, steps)] == ["turn-1/item_1", "turn-2/item_1"]
    assert [prompt.turn_id for prompt in of(Prompt, steps)] == ["turn-1", "turn-2"]
    assert [used.input_tokens for used in of(Usage, steps)] == [1_000, 3_000]
    assert all(used.cumulative for used in of(Usage, steps))


def test_a_call_of_an_mcp_server_and_a_search_have_their_whole_input() -> None:
    mcp = {
        "id": "item_1",
        "type": "mcp_tool_call",
        "server": "post",
        "tool": "echo",
        "arguments": {"a": 1},
        "status": "failed",
        "error": {"message": "no"},
    }
    search = {"id": "item_2", "type": "web_search", "query": ""}
    steps = told(
        *START,
        line("completed", mcp),
        line("started", search),
        line("completed", search | {"query": "tills"}),
    )

    assert [(call.name, call.input) for call in of(ToolCall, steps)] == [
        ("mcp__post__echo", {"a": 1}),
        ("web_search", {"query": "tills"}),
    ]
    assert of(ToolResult, steps) == [ToolResult("turn-1/item_1", "no", is_error=True)]
