"""What the reader makes of the app-server's notifications."""

from typing import Any

import pytest

from core.events import (
    Compaction,
    Fill,
    Prompt,
    Request,
    Spoken,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
)
from core.recordings.contract import AgentSeen
from tests.core.runtimes.codex_given import (
    PARENT,
    SECOND_TURN,
    THREAD,
    TURN,
    counted,
    figures,
    message,
    notice,
    of,
    shown,
    sums,
    thread_started,
    told,
    turn_completed,
)

CHILD = "019f0000-0000-7000-8000-00000000000c"
CHILD_TURN = "019f0000-3000-7000-8000-00000000000c"
FIRST = figures(9_000, 40)
BOTH = figures(21_000, 90, cached=8_000)
SECOND = figures(12_000, 50, cached=8_000)
USER = {"type": "userMessage", "id": "u1", "content": [{"type": "text", "text": "Go."}]}
SHELL: dict[str, Any] = {
    "type": "commandExecution",
    "id": "c1",
    "command": "/bin/bash -lc 'ls -a'",
    "status": "inProgress",
}
SHELL_DONE = SHELL | {"status": "failed", "aggregatedOutput": "out", "exitCode": 2}


def begun(turn: str = TURN) -> dict[str, Any]:
    return notice("turn/started", turn={"id": turn, "status": "inProgress", "items": []})


def test_a_turn_is_told_with_each_item_once() -> None:
    steps = told(
        thread_started(),
        begun(),
        shown("started", USER),
        shown("completed", USER),
        shown("completed", {"type": "reasoning", "id": "r1", "summary": ["Look."], "content": []}),
        shown("started", SHELL),
        shown("completed", SHELL_DONE),
        counted(FIRST, FIRST),
        shown("completed", {"type": "agentMessage", "id": "m1", "text": "Done."}),
        counted(BOTH, SECOND),
        counted(BOTH, SECOND),
        turn_completed("completed"),
    )

    assert of(Prompt, steps) == [Prompt(TURN, "Go.")]
    assert of(ToolCall, steps) == [ToolCall("c1", "exec_command", {"cmd": "ls -a"}, TURN)]
    assert of(ToolResult, steps) == [ToolResult("c1", "out", is_error=True)]
    assert sums(steps) == (21_000, 8_000, 90)
    assert [used.context_window for used in of(Usage, steps)] == [200_000, 200_000]
    assert of(Spoken, steps) == [Spoken("thinking", "Look."), Spoken("model", "Done.")]
    assert len(of(Request, steps)) == 2
    assert steps[-1][1:] == (TurnEnd(TURN, "completed", "Done."), "ended")


@pytest.mark.parametrize(
    ("item", "name", "arguments", "content"),
    [
        (
            {
                "type": "mcpToolCall",
                "server": "post",
                "tool": "echo",
                "arguments": {"a": 1},
                "result": {"content": [{"type": "text", "text": "hi"}]},
            },
            "mcp__post__echo",
            {"a": 1},
            [{"type": "text", "text": "hi"}],
        ),
        (
            {"type": "fileChange", "changes": [{"path": "a", "diff": "+b"}]},
            "apply_patch",
            {"changes": [{"path": "a", "diff": "+b"}]},
            "",
        ),
        (
            {"type": "webSearch", "query": "tills", "action": None, "results": [{"title": "T"}]},
            "web_search",
            {"query": "tills"},
            '[{"title":"T"}]',
        ),
        (
            {"type": "imageView", "path": "/a.png"},
            "view_image",
            {"path": "/a.png"},
            [{"type": "image"}],
        ),
        (
            {"type": "dynamicToolCall", "tool": "till", "arguments": {}, "contentItems": []},
            "till",
            {},
            [],
        ),
    ],
)
def test_each_kind_of_call_goes_by_one_name(
    item: dict[str, Any], name: str, arguments: Any, content: Any
) -> None:
    item = {**item, "id": "c1", "status": "completed"}
    steps = told(shown("started", item), shown("completed", item))

    assert of(ToolCall, steps) == [ToolCall("c1", name, arguments, TURN)]
    assert of(ToolResult, steps) == [ToolResult("c1", content)]


def test_what_the_user_ran_is_no_call() -> None:
    steps = told(shown("completed", SHELL_DONE | {"source": "userShell"}))

    assert not of(ToolCall, steps)


def test_other_threads_tell_nothing() -> None:
    steps = told(
        thread_started(),
        thread_started(PARENT),
        begun(),
        shown("started", USER),
        shown("completed", SHELL_DONE, thread=PARENT),
        counted(BOTH, SECOND, thread=PARENT),
        turn_completed("completed", thread=PARENT),
    )

    assert not of(ToolCall, steps)
    assert not of(Usage, steps)
    assert [end.outcome for end in of(TurnEnd, steps)] == ["interrupted"]


@pytest.mark.parametrize("session_id", ["their-own-id", THREAD])
def test_the_sessions_thread_is_the_one_of_its_id_else_the_first(session_id: str) -> None:
    rows = [
        thread_started(),
        thread_started(PARENT),
        shown("completed", SHELL_DONE | {"id": "other"}, thread=PARENT),
        shown("completed", SHELL_DONE),
    ]

    calls = of(ToolCall, told(*rows, session_id=session_id))
    late = of(ToolCall, told(*reversed(rows), session_id=THREAD))

    assert [call.tool_use_id for call in calls] == ["c1"]
    assert "c1" in [call.tool_use_id for call in late]


def test_a_sub_agents_thread_is_told_as_its_own() -> None:
    spawn = {
        "type": "collabAgentToolCall",
        "id": "c1",
        "tool": "spawnAgent",
        "prompt": "Look.",
        "receiverThreadIds": [CHILD],
        "agentsStates": {CHILD: {"status": "running"}},
        "status": "completed",
    }
    steps = told(
        thread_started(),
        begun(),
        shown("started", USER),
        shown("completed", spawn),
        shown("started", USER | {"id": "u2"}, CHILD_TURN, CHILD),
        shown("completed", SHELL_DONE | {"id": "c2"}, CHILD_TURN, CHILD),
        counted(FIRST, FIRST, CHILD, CHILD_TURN),
        turn_completed("completed", CHILD_TURN, CHILD),
        turn_completed("completed"),
    )

    assert AgentSeen(CHILD) in [step.event for step in steps]
    assert [(call.name, call.turn_id, call.agent_id) for call in of(ToolCall, steps)] == [
        ("spawn_agent", TURN, None),
        ("exec_command", TURN, CHILD),
    ]
    assert [used.agent_id for used in of(Usage, steps)] == [CHILD]
    assert [(end.turn_id, end.agent_id) for end in of(TurnEnd, steps)] == [
        (TURN, CHILD),
        (TURN, None),
    ]
    assert len(of(Prompt, steps)) == 1


@pytest.mark.parametrize("status", ["completed", "interrupted", "failed"])
def test_each_outcome_comes_with_the_last_usage_before_it(status: str) -> None:
    steps = told(begun(), shown("started", USER), counted(FIRST, FIRST), turn_completed(status))

    assert [type(step.event) for step in steps[-2:]] == [Usage, TurnEnd]
    assert of(TurnEnd, steps)[-1].outcome == status


def test_an_error_that_is_not_tried_again_fails_the_turn() -> None:
    def outcome(will_retry: bool) -> str:
        error = notice("error", turnId=TURN, error={"message": "no"}, willRetry=will_retry)
        steps = told(begun(), shown("started", USER), error, begun(SECOND_TURN))
        return of(TurnEnd, steps)[0].outcome

    assert (outcome(False), outcome(True)) == ("failed", "interrupted")


def test_a_blocked_stop_is_told_once() -> None:
    run = {"id": "stop:1", "eventName": "stop", "status": "blocked", "entries": []}
    prompt = {"type": "hookPrompt", "id": "m9", "fragments": [{"text": "Run the tests."}]}
    steps = told(
        begun(),
        shown("started", USER),
        shown("completed", {"type": "agentMessage", "id": "m1", "text": "All is well."}),
        notice("hook/completed", turnId=TURN, run=run),
        shown("started", prompt),
        shown("completed", prompt),
        shown("completed", {"type": "agentMessage", "id": "m2", "text": "Tests ran."}),
        turn_completed("completed"),
    )

    recorded = [step.recorded for step in steps if isinstance(step.event, TurnEnd)]
    assert recorded == ["blocked", "ended"]
    assert Spoken("program", "Run the tests.") in of(Spoken, steps)


def test_a_compaction_is_told_before_and_after_with_what_it_left() -> None:
    item = {"type": "contextCompaction", "id": "k1"}
    steps = told(
        begun(),
        counted(FIRST, FIRST),
        shown("started", item),
        counted(FIRST, FIRST),
        counted(BOTH, SECOND),
        counted(BOTH, figures(0, 0, total=6_976)),
        shown("completed", item),
        notice("thread/compacted", turnId=TURN),
    )

    assert of(Compaction, steps) == [Compaction("before"), Compaction("after")]
    assert of(Fill, steps) == [Fill(6_976, 200_000, "app-server/thread/tokenUsage/updated")]
    assert sums(steps) == (21_000, 8_000, 90)


def test_raw_items_and_shown_items_of_one_call_are_one_call() -> None:
    raw = {"type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": "{}"}
    steps = told(
        begun(),
        shown("started", USER),
        notice("rawResponseItem/completed", turnId=TURN, item=message("user", "Go.")),
        notice("rawResponseItem/completed", turnId=TURN, item=raw),
        shown("started", SHELL),
        shown("completed", SHELL_DONE),
    )

    assert of(ToolCall, steps) == [ToolCall("c1", "exec_command", {}, TURN)]
    assert len(of(Prompt, steps)) == 1


def test_a_recorders_wrapping_is_taken_off_and_the_clients_side_left_out() -> None:
    steps = told(
        {"direction": "to", "message": shown("completed", SHELL_DONE | {"id": "c9"})},
        {"direction": "from", "message": shown("completed", SHELL_DONE)},
    )

    assert [call.tool_use_id for call in of(ToolCall, steps)] == ["c1"]
