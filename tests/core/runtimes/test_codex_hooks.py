"""What the reader makes of the payloads of Codex's hooks and of what its `notify` program gets."""

from typing import Any

import pytest

from core.events import (
    Compaction,
    Prompt,
    Request,
    SessionEnd,
    SessionStart,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
)
from tests.core.runtimes.codex_given import (
    CWD,
    SECOND_TURN,
    THREAD,
    TURN,
    figures,
    hook,
    of,
    response,
    told,
    used_tool,
)

CHILD = "019f0000-0000-7000-8000-00000000000c"
PROMPT = hook("UserPromptSubmit", prompt="Go.")
FIRST = figures(9_000, 40, cached=100)


def asked(request: str = "q-1", **more: Any) -> dict[str, Any]:
    return hook("PreModelRequest", request_id=request, thread_id=THREAD, **more)


def test_a_turn_is_told_as_the_hooks_come() -> None:
    given = {"command": "ls -a"}
    steps = told(
        hook("SessionStart", source="startup", model="some-model"),
        PROMPT,
        asked(),
        response("r-1", FIRST),
        used_tool("Pre", "c1", "Bash", given),
        used_tool("Post", "c1", "Bash", given, tool_response="out"),
        hook("Stop", stop_hook_active=False, last_assistant_message="Done."),
        hook("SessionEnd", reason="other"),
    )

    assert [step.event for step in steps] == [
        SessionStart("codex_runtime", CWD, model="some-model", source="startup"),
        Prompt(TURN, "Go."),
        Request("q-1"),
        Usage(9_000, 40, 100, message_id="r-1", input_includes_cache=True, request_id="q-1"),
        ToolCall("c1", "exec_command", {"cmd": "ls -a"}, TURN),
        ToolResult("c1", "out"),
        TurnEnd(TURN, "completed", "Done."),
        SessionEnd("other"),
    ]


@pytest.mark.parametrize(
    ("name", "given", "told_name", "told_input"),
    [
        ("apply_patch", {"command": "*** Begin"}, "apply_patch", "*** Begin"),
        ("mcp__post__echo", {"a": 1}, "mcp__post__echo", {"a": 1}),
        ("Bash", None, "exec_command", None),
        ("view_image", {"path": "a"}, "view_image", {"path": "a"}),
    ],
)
def test_tools_go_by_the_models_own_names(
    name: str, given: Any, told_name: str, told_input: Any
) -> None:
    (call,) = of(ToolCall, told(PROMPT, used_tool("Pre", "c1", name, given)))

    assert (call.name, call.input) == (told_name, told_input)


def test_each_stop_of_a_turn_is_told() -> None:
    steps = told(
        PROMPT,
        hook("Stop", stop_hook_active=False, last_assistant_message="All is well."),
        asked("q-2"),
        response("r-2", FIRST, "q-2"),
        hook("Stop", stop_hook_active=True, last_assistant_message="Tests ran."),
    )

    assert of(TurnEnd, steps) == [
        TurnEnd(TURN, "completed", "All is well."),
        TurnEnd(TURN, "completed", "Tests ran.", stop_hook_active=True),
    ]


@pytest.mark.parametrize(
    "end",
    [hook("SessionEnd", reason="other"), hook("UserPromptSubmit", turn_id=SECOND_TURN, prompt="")],
)
def test_a_turn_whose_request_failed_ends_as_failed_though_no_stop_tells_so(
    end: dict[str, Any],
) -> None:
    failed = response("", None, status="failed", error="no")
    steps = told(PROMPT, asked(), response("r-1", FIRST), asked("q-2"), failed, end)

    assert of(TurnEnd, steps)[0] == TurnEnd(TURN, "failed")
    kinds = [type(step.event) for step in steps]
    assert kinds.index(Usage) < kinds.index(TurnEnd)


def test_a_request_that_was_tried_again_has_not_failed() -> None:
    failed = response("", None, status="failed", error="no")
    steps = told(PROMPT, asked(), failed, response("r-1", FIRST), hook("Stop"))

    assert [end.outcome for end in of(TurnEnd, steps)] == ["completed"]


def test_an_interrupt_ends_the_turn() -> None:
    steps = told(PROMPT, response("r-1", FIRST), hook("Interrupt"))

    assert of(TurnEnd, steps) == [TurnEnd(TURN, "interrupted")]


def test_a_response_is_counted_once_and_one_without_figures_not_at_all() -> None:
    steps = told(
        PROMPT,
        response("r-1", FIRST),
        response("r-1", FIRST),
        response("r-2", None),
        response("r-3", figures(0, 0)),
    )

    assert [used.message_id for used in of(Usage, steps)] == ["r-1"]


def test_a_compaction_has_its_trigger() -> None:
    steps = told(PROMPT, hook("PreCompact", trigger="auto"), hook("PostCompact", trigger="auto"))

    assert of(Compaction, steps) == [Compaction("before", "auto"), Compaction("after", "auto")]


def test_a_sub_agents_hooks_are_told_as_its_own() -> None:
    own = {"agent_id": CHILD, "turn_id": SECOND_TURN}
    steps = told(
        PROMPT,
        hook("SubagentStart", agent_type="default", **own),
        hook("UserPromptSubmit", prompt="Look.", **own),
        asked("q-2", **own),
        response("r-2", FIRST, "q-2", **own),
        used_tool("Pre", "c2", "Bash", {"command": "ls"}, **own),
        hook("SubagentStop", last_assistant_message="Seen.", **own),
        hook("Stop"),
    )

    assert of(Prompt, steps) == [Prompt(TURN, "Go.")]
    assert of(Request, steps) == [Request("q-2", agent_id=CHILD)]
    assert [used.agent_id for used in of(Usage, steps)] == [CHILD]
    assert of(ToolCall, steps) == [ToolCall("c2", "exec_command", {"cmd": "ls"}, TURN, CHILD)]
    assert of(TurnEnd, steps) == [
        TurnEnd(TURN, "completed", "Seen.", agent_id=CHILD),
        TurnEnd(TURN, "completed"),
    ]


def test_a_request_of_another_thread_is_a_sub_agents() -> None:
    steps = told(PROMPT, response("r-2", FIRST, thread_id=CHILD))

    assert [used.agent_id for used in of(Usage, steps)] == [CHILD]


def test_in_code_mode_hooks_alone_tell_the_calls_that_a_script_made() -> None:
    steps = told(PROMPT, used_tool("Pre", "exec-1", "Bash", {"command": "ls"}))

    assert [call.name for call in of(ToolCall, steps)] == ["exec_command"]


def test_a_recorded_payload_is_taken_out_of_its_row() -> None:
    steps = told({"event": "UserPromptSubmit", "time": 1.5, "payload": PROMPT, "answer": {}})

    assert of(Prompt, steps) == [Prompt(TURN, "Go.")]


def test_the_notify_program_is_told_of_a_turn_that_is_over() -> None:
    done = {
        "type": "agent-turn-complete",
        "thread-id": THREAD,
        "turn-id": TURN,
        "last-assistant-message": "Done.",
    }

    assert of(TurnEnd, told(PROMPT, done)) == [TurnEnd(TURN, "completed", "Done.")]
    assert len(of(TurnEnd, told(PROMPT, hook("Stop"), done))) == 1
