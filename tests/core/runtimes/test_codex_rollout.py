"""What the reader makes of rollouts of several versions of Codex."""

from typing import Any

import pytest

from core.events import (
    Compaction,
    Context,
    Fill,
    Prompt,
    Request,
    SkillListing,
    Spoken,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
)
from tests.core.runtimes.codex_given import (
    CWD,
    PARENT,
    PARENT_TURN,
    SECOND_TURN,
    THREAD,
    TURN,
    answered,
    called,
    completed,
    count,
    event,
    figures,
    item,
    message,
    meta,
    of,
    record,
    row,
    said,
    shell_output,
    started,
    sums,
    told,
)

FIRST = figures(9_000, 40)
BOTH = figures(21_000, 90, cached=8_000)
SECOND = figures(12_000, 50, cached=8_000)


def test_a_turn_is_told_in_the_order_in_which_the_model_saw_it() -> None:
    steps = told(
        meta(),
        started(),
        said("user", "Fix the till."),
        item({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look first."}]}),
        said("assistant", "I will look.", id="msg_1"),
        called("call_1", "exec_command", {"cmd": "ls"}),
        answered("call_1", shell_output("till.py\n")),
        count(FIRST, FIRST),
        said("assistant", "It is fixed.", id="msg_2"),
        count(BOTH, SECOND),
        completed(text="It is fixed."),
    )

    assert [type(step.event).__name__ for step in steps] == [
        "Context",
        "Prompt",
        "Request",
        "Spoken",
        "Spoken",
        "ToolCall",
        "ToolResult",
        "Usage",
        "Request",
        "Spoken",
        "Usage",
        "TurnEnd",
    ]
    assert of(Prompt, steps) == [Prompt(TURN, "Fix the till.")]
    assert of(ToolCall, steps) == [ToolCall("call_1", "exec_command", {"cmd": "ls"}, TURN)]
    assert steps[-1] == (11, TurnEnd(TURN, "completed", "It is fixed."), "ended")
    assert of(Context, steps) == [Context("system_prompt", "rollout/base_instructions", 25)]


def test_u07_a_count_that_is_written_again_adds_nothing() -> None:
    steps = told(meta(), started(), count(FIRST, FIRST), count(FIRST, FIRST), count(BOTH, SECOND))

    assert sums(steps) == (21_000, 8_000, 90)


def test_u10_a_response_with_both_records_counts_once_and_with_either_one_too() -> None:
    records = [record("r-1", FIRST), record("r-2", SECOND)]
    counts = [count(FIRST, FIRST), count(BOTH, SECOND)]
    both = [records[0], counts[0], records[1], counts[1]]

    assert {sums(told(meta(), started(), *rows)) for rows in (records, counts, both)} == {
        (21_000, 8_000, 90)
    }
    assert [one.message_id for one in of(Usage, told(meta(), *both))] == ["r-1", "r-2"]


def test_u11_the_last_response_tells_the_fill_and_never_the_running_total() -> None:
    total = figures(900_000, 5_000, cached=850_000)
    steps = told(meta(), started(), count(total, figures(50_000, 7), window=258_400))

    (used,) = of(Usage, steps)
    assert (used.input_tokens, used.context_window) == (50_000, 258_400)
    assert not used.cumulative
    assert not of(Fill, steps)


def test_u13_the_cached_part_stays_inside_the_input() -> None:
    usage = figures(17_903, 12, cached=17_817)
    (used,) = of(Usage, told(meta(), started(), count(usage, usage)))

    assert used.input_includes_cache
    assert (used.input_tokens, used.cache_read_tokens) == (17_903, 17_817)


@pytest.mark.parametrize(
    "info",
    [
        None,
        {},
        {"total_token_usage": FIRST, "last_token_usage": None},
        {"total_token_usage": FIRST, "last_token_usage": {"input_tokens": "9000"}},
        {"total_token_usage": FIRST, "last_token_usage": figures(2**70, 1)},
        {"total_token_usage": FIRST, "last_token_usage": figures(-1, 1)},
    ],
)
def test_u19_usage_that_cannot_be_read_stays_absent(info: Any) -> None:
    steps = told(meta(), started(), event("token_count", info=info), completed())

    assert not of(Usage, steps)


def test_the_window_of_the_turn_stands_where_a_count_has_none() -> None:
    steps = told(meta(), started(window=190_000), record("r-1", FIRST))

    assert [one.context_window for one in of(Usage, steps)] == [190_000]


def test_a_compaction_is_told_once_and_its_estimate_is_a_fill() -> None:
    left = figures(0, 0, total=6_976)
    steps = told(
        meta(),
        started(),
        count(FIRST, FIRST),
        row("compacted", {"message": "So far."}),
        count(FIRST, left),
        count(FIRST, left),
        event("item_completed", thread_id=THREAD, item={"type": "ContextCompaction", "id": "c"}),
    )

    assert of(Compaction, steps) == [Compaction("after")]
    assert of(Fill, steps) == [Fill(6_976, 200_000, "rollout/token_count")]
    assert len(of(Usage, steps)) == 1


def test_an_estimate_that_is_read_late_is_not_told_again() -> None:
    first, second = figures(0, 0, total=6_976), figures(0, 0, total=5_000)
    steps = told(
        meta(),
        count(FIRST, FIRST),
        count(FIRST, first),
        count(BOTH, SECOND),
        count(BOTH, second),
        count(FIRST, first),
    )

    assert [fill.used for fill in of(Fill, steps)] == [6_976, 5_000]


def test_what_a_compaction_uses_belongs_to_its_own_turn() -> None:
    steps = told(
        meta(),
        started(),
        said("user", "Go."),
        completed(),
        started(SECOND_TURN),
        record("r-2", SECOND, turn=SECOND_TURN),
        row("compacted", {"message": "So far."}),
        completed(SECOND_TURN),
    )

    kinds = [type(step.event) for step in steps]
    assert of(Prompt, steps)[1] == Prompt(SECOND_TURN, "", from_human=False)
    assert kinds.index(Usage) > [*kinds].index(TurnEnd)
    assert [end.turn_id for end in of(TurnEnd, steps)] == [TURN, SECOND_TURN]


def test_an_items_arguments_count_once() -> None:
    shown = {
        "type": "CommandExecution",
        "id": "call_1",
        "command": ["/bin/bash", "-lc", "ls"],
        "status": "failed",
        "exit_code": 3,
        "aggregated_output": "x",
    }
    steps = told(
        meta(),
        started(),
        said("user", "Go."),
        called("call_1", "exec_command", {"cmd": "ls"}),
        event("exec_command_begin", call_id="call_1", command=["bash", "-lc", "ls"]),
        event("item_completed", thread_id=THREAD, turn_id=TURN, item=shown),
        answered("call_1", "x"),
    )

    assert of(ToolCall, steps) == [ToolCall("call_1", "exec_command", {"cmd": "ls"}, TURN)]
    assert of(ToolResult, steps) == [ToolResult("call_1", "x", is_error=True)]


@pytest.mark.parametrize(
    ("given", "name", "arguments"),
    [
        (
            {"type": "function_call", "name": "echo", "namespace": "mcp__post", "arguments": "{}"},
            "mcp__post__echo",
            {},
        ),
        (
            {"type": "function_call", "name": "mcp__post__echo", "arguments": "[1]"},
            "mcp__post__echo",
            [1],
        ),
        (
            {"type": "function_call", "name": "post__echo", "arguments": "not JSON"},
            "mcp__post__echo",
            "not JSON",
        ),
        (
            {"type": "function_call", "name": "spawn_agent", "namespace": "multi_agent_v1"},
            "spawn_agent",
            None,
        ),
        (
            {"type": "custom_tool_call", "name": "apply_patch", "input": "*** x"},
            "apply_patch",
            "*** x",
        ),
        (
            {"type": "local_shell_call", "action": {"type": "exec", "command": ["ls"]}},
            "local_shell",
            {"type": "exec", "command": ["ls"]},
        ),
        (
            {"type": "web_search_call", "action": {"type": "search", "query": "tills"}},
            "web_search",
            {"type": "search", "query": "tills"},
        ),
    ],
)
def test_every_kind_of_call_goes_by_the_models_own_name(
    given: dict[str, Any], name: str, arguments: Any
) -> None:
    (call,) = of(ToolCall, told(meta(), started(), item({**given, "call_id": "call_1"})))

    assert (call.tool_use_id, call.name, call.input) == ("call_1", name, arguments)


def test_calls_without_an_id_are_told_apart() -> None:
    search = item({"type": "web_search_call", "action": {"query": "a"}})
    calls = of(ToolCall, told(meta(), started(), search, search))

    assert len({call.tool_use_id for call in calls}) == 2


@pytest.mark.parametrize(
    ("output", "content"),
    [
        ("plain", "plain"),
        (None, ""),
        ("data:image/png;base64,iVBOR", [{"type": "image"}]),
        (
            [
                {"type": "input_text", "text": "seen"},
                {"type": "input_image", "image_url": "data:image/png;base64,iVBOR"},
            ],
            [{"type": "text", "text": "seen"}, {"type": "image"}],
        ),
        (
            '[{"type":"text","text":"seen"},{"type":"image","data":"iVBOR","mimeType":"image/png"}]',
            [{"type": "text", "text": "seen"}, {"type": "image"}],
        ),
        ({"content": "old", "success": True}, "old"),
        ({"a": 1}, '{"a":1}'),
    ],
)
def test_pictures_in_an_output_are_no_text(output: Any, content: Any) -> None:
    steps = told(meta(), started(), called("call_1", "view", {}), answered("call_1", output))

    assert of(ToolResult, steps) == [ToolResult("call_1", content)]


@pytest.mark.parametrize(
    "output",
    [
        shell_output("no", code=2),
        "Exit code: 1\nWall time: 0 seconds\nOutput:\nno",
        '{"output":"no","metadata":{"exit_code":1,"duration_seconds":0.1}}',
        "unsupported call: echo",
        "Command blocked by PreToolUse hook: not now. Command: ls",
        {"content": "no", "success": False},
    ],
)
def test_an_output_that_says_that_the_call_failed_is_an_error(output: Any) -> None:
    steps = told(
        meta(), started(), called("call_1", "exec_command", {}), answered("call_1", output)
    )

    assert [result.is_error for result in of(ToolResult, steps)] == [True]


def test_in_code_mode_the_models_own_call_counts_and_the_scripts_calls_do_not() -> None:
    inner = {"type": "CommandExecution", "id": "exec-1", "command": ["bash", "-lc", "ls"]}
    script = 'text(await tools.exec_command({"cmd": "ls"}));'
    steps = told(
        meta(),
        started(),
        item({"type": "custom_tool_call", "call_id": "call_1", "name": "exec", "input": script}),
        event("item_completed", thread_id=THREAD, turn_id=TURN, item=inner),
        answered("call_1", [{"type": "input_text", "text": "out"}], "custom_tool_call_output"),
    )

    assert [call.name for call in of(ToolCall, steps)] == ["exec"]
    assert [result.tool_use_id for result in of(ToolResult, steps)] == ["call_1"]


def test_what_codex_puts_in_is_told_from_a_prompt() -> None:
    rules = f"# AGENTS.md instructions for {CWD}\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>"
    place = f"<environment_context>\n  <cwd>{CWD}</cwd>\n</environment_context>"
    steps = told(
        meta(),
        started(),
        said("developer", "Answer in one line."),
        said("user", rules, place),
        said("user", "<turn_aborted>\nStopped.\n</turn_aborted>"),
        said("user", "What does <skill> mean?"),
    )

    assert of(Context, steps)[1:] == [Context("rules", "workspace/AGENTS.md", 9, None, "AGENTS.md")]
    assert [one.by for one in of(Spoken, steps)] == ["program"] * 3
    assert [prompt.text for prompt in of(Prompt, steps)] == ["What does <skill> mean?"]


def test_newer_versions_say_themselves_what_is_from_the_user() -> None:
    kinds = {"turn_id": TURN, "content_item_kinds": ["hooks.some_new_kind", "user.text"]}
    passed = {"internal_chat_message_metadata_passthrough": kinds}
    steps = told(meta(), started(), said("user", "From Codex.", "From me.", **passed))

    assert [prompt.text for prompt in of(Prompt, steps)] == ["From me."]
    assert [one.text for one in of(Spoken, steps)] == ["From Codex."]


@pytest.mark.parametrize(
    ("folder", "source"),
    [
        (CWD, "workspace/AGENTS.md"),
        (f"{CWD}/till/", "workspace/till/AGENTS.md"),
        ("/house/dev", "/house/dev/AGENTS.md"),
    ],
)
def test_instructions_are_named_by_their_file(folder: str, source: str) -> None:
    rules = f"# AGENTS.md instructions for {folder}\n\n<INSTRUCTIONS>\nA\n</INSTRUCTIONS>"

    assert of(Context, told(meta(), said("user", rules)))[1].source == source


def test_memory_and_the_list_of_skills_are_told_as_what_they_are() -> None:
    memory = (
        "## Memory\nIt is in /house/dev/.codex/memories/memory_summary.md\n"
        "========= MEMORY_SUMMARY BEGINS =========\nv1\n========= MEMORY_SUMMARY ENDS ========="
    )
    listing = (
        "<skills_instructions>\n## Skills\n### Available skills\n"
        "- till: Count the till. (file: r0/till/SKILL.md)\n"
        "- shop:open: Open up. (file: r0/open/SKILL.md)\n"
        "### How to use skills\n- Discovery: read on.\n</skills_instructions>"
    )
    steps = told(meta(), started(), said("developer", memory, listing))

    assert of(Context, steps)[1].kind == "memory"
    assert of(Context, steps)[1].source == "/house/dev/.codex/memories/memory_summary.md"
    assert of(SkillListing, steps) == [SkillListing(("till", "shop:open"), is_initial=True)]


def test_the_system_prompt_sent_as_a_message_counts_once() -> None:
    steps = told(meta(), started(), said("developer", "You are a careful helper."))

    assert [one.kind for one in of(Context, steps)] == ["system_prompt"]
    assert not of(Spoken, steps)


def test_a_stop_that_a_hook_blocked_is_told_once_with_what_was_recorded() -> None:
    reason = '<hook_prompt hook_run_id="stop:1:/h.json">Run the tests.</hook_prompt>'
    fragment = {"type": "HookPrompt", "id": "msg_9", "fragments": [{"text": "Run the tests."}]}
    steps = told(
        meta(),
        started(),
        said("user", "Go."),
        said("assistant", "All is well."),
        record("r-1", FIRST),
        said("user", reason, id="msg_9"),
        event("item_completed", thread_id=THREAD, turn_id=TURN, item=fragment),
        said("assistant", "Tests ran."),
        completed(text="Tests ran."),
    )

    ends = [(step.event, step.recorded) for step in steps if isinstance(step.event, TurnEnd)]
    assert ends == [
        (TurnEnd(TURN, "completed", "All is well."), "blocked"),
        (TurnEnd(TURN, "completed", "Tests ran.", stop_hook_active=True), "ended"),
    ]
    assert len(of(Prompt, steps)) == 1


@pytest.mark.parametrize(
    ("rows", "outcome"),
    [
        ([completed(error={"message": "no"})], "failed"),
        ([event("error", message="no"), completed()], "failed"),
        ([event("turn_aborted", turn_id=TURN, reason="interrupted")], "interrupted"),
        ([event("turn_aborted", reason="interrupted")], "interrupted"),
        ([], "interrupted"),
    ],
)
def test_however_a_turn_ends_its_end_comes_after_its_last_usage(
    rows: list[dict[str, Any]], outcome: str
) -> None:
    steps = told(meta(), started(), said("user", "Go."), count(FIRST, FIRST), *rows)

    assert [type(step.event) for step in steps[-2:]] == [Usage, TurnEnd]
    assert of(TurnEnd, steps)[0].outcome == outcome
    assert len(of(TurnEnd, steps)) == 1


def test_hooks_words_within_a_response_begin_no_further_request() -> None:
    steps = told(
        meta(),
        started(),
        said("user", "Go."),
        record("r-0", figures(100, 1)),
        called("call_1", "exec_command", {"cmd": "ls"}),
        said("developer", "From a hook."),
        called("call_2", "exec_command", {"cmd": "pwd"}),
        record("r-1", FIRST),
        answered("call_1"),
        answered("call_2"),
        said("assistant", "Done."),
    )

    assert len(of(Request, steps)) == 2


def test_bare_items_of_2025_have_prompts_calls_and_no_usage() -> None:
    steps = told(
        {"id": "old-1", "timestamp": "2025-09-10T18:58:38.331Z", "instructions": "Be brief."},
        {"record_type": "state"},
        message("user", "<user_instructions>\n\nBe brief.\n\n</user_instructions>"),
        message("user", "First."),
        {"type": "reasoning", "summary": [], "encrypted_content": "x"},
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "shell",
            "arguments": '{"command":["bash","-lc","ls"]}',
        },
        {"type": "function_call_output", "call_id": "c1", "output": '{"output":"a","metadata":{}}'},
        message("assistant", "Done."),
        message("user", "Second."),
        session_id="old-1",
    )

    assert of(Context, steps) == [Context("rules", "workspace/AGENTS.md", 9, None, "AGENTS.md")]
    assert [(one.turn_id, one.text) for one in of(Prompt, steps)] == [
        ("turn-1", "First."),
        ("turn-2", "Second."),
    ]
    assert of(ToolCall, steps)[0].input == {"command": ["bash", "-lc", "ls"]}
    assert [(end.turn_id, end.outcome) for end in of(TurnEnd, steps)] == [
        ("turn-1", "completed"),
        ("turn-2", "interrupted"),
    ]
    assert not of(Usage, steps)


def test_events_alone_tell_calls_where_there_are_no_items() -> None:
    steps = told(
        meta(),
        started(),
        event("user_message", message="Go."),
        event("agent_reasoning", text="Hm."),
        event(
            "mcp_tool_call_begin",
            call_id="c1",
            invocation={"server": "post", "tool": "echo", "arguments": {"a": 1}},
        ),
        event(
            "mcp_tool_call_end",
            call_id="c1",
            invocation={"server": "post", "tool": "echo", "arguments": {"a": 1}},
            result={"Ok": {"content": [{"type": "text", "text": "hi"}], "isError": False}},
        ),
        event("agent_message", message="Done."),
    )

    assert of(ToolCall, steps) == [ToolCall("c1", "mcp__post__echo", {"a": 1}, TURN)]
    assert of(ToolResult, steps) == [ToolResult("c1", [{"type": "text", "text": "hi"}])]
    assert [one.text for one in of(Spoken, steps)] == ["Hm.", "Done."]


def test_what_a_fork_copied_counts_in_the_thread_that_it_was_copied_from() -> None:
    steps = told(
        meta(forked_from_id=PARENT),
        meta(PARENT),
        started(PARENT_TURN),
        said("user", "Of the parent."),
        called("call_p", "exec_command", {"cmd": "ls"}),
        count(BOTH, FIRST),
        completed(PARENT_TURN),
        started(),
        said("user", "Of the fork."),
        count(figures(500, 11), figures(500, 11)),
        completed(),
    )

    assert [(one.input_tokens, one.inherited) for one in of(Usage, steps)] == [
        (9_000, True),
        (500, False),
    ]
    assert [one.text for one in of(Prompt, steps)] == ["Of the fork."]
    assert not of(ToolCall, steps)
    assert [one.turn_id for one in of(TurnEnd, steps)] == [TURN]


def test_a_forks_running_total_may_also_go_on_from_its_parents() -> None:
    steps = told(
        meta(forked_from_id=PARENT),
        meta(PARENT),
        count(FIRST, FIRST),
        row("turn_context", {"model": "m", "cwd": CWD}, "2026-07-01T10:00:09.000Z"),
        count(FIRST, FIRST),
        count(BOTH, SECOND),
    )

    assert [(one.input_tokens, one.inherited) for one in of(Usage, steps)] == [
        (9_000, True),
        (12_000, False),
    ]


def test_a_sub_agents_own_prompt_is_not_from_a_human() -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "depth": 1}}}
    steps = told(meta(source=source), started(), said("user", "Look."), side_only=True)

    assert of(Prompt, steps) == [Prompt(TURN, "Look.", from_human=False)]


def test_rows_of_another_thread_tell_nothing() -> None:
    other = {"type": "McpToolCall", "id": "c1", "server": "s", "tool": "t"}
    steps = told(
        meta(),
        started(),
        record("r-9", FIRST, thread=PARENT),
        event("item_completed", thread_id=PARENT, turn_id=PARENT_TURN, item=other),
    )

    assert not of(Usage, steps)
    assert not of(ToolCall, steps)
