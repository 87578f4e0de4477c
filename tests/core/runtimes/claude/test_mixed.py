"""A host that feeds hooks, the stream and the transcript of one session tells everything once."""

from core.events import (
    Compaction,
    Prompt,
    Request,
    Skill,
    Spoken,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
)
from tests.core.runtimes.claude.given import (
    Row,
    assistant,
    attachment,
    boundary,
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
    user,
)

BASH: Row = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t-1"}
PROMPT = hook("UserPromptSubmit", prompt="go", prompt_id="p-1")
STOP = hook("Stop", prompt_id="p-1", last_assistant_message="a")


def summary() -> Row:
    return {**user(""), "type": "system", "subtype": "stop_hook_summary", "toolUseID": "s-1"}


def test_hooks_and_the_transcript_share_prompts_calls_and_stops() -> None:
    transcript = [
        user("go", promptId="p-1", uuid="u-1"),
        assistant(call("t-1", command="ls"), message_id="m-1"),
        user([result("t-1", "x")]),
        assistant(text("a"), message_id="m-2"),
    ]
    hooks = [
        hook("PreToolUse", **BASH, prompt_id="p-1"),
        hook("PostToolUse", **BASH, prompt_id="p-1", tool_response={"stdout": "x"}),
        hook("PostToolBatch", prompt_id="p-1", tool_calls=[{**BASH, "tool_response": "x"}]),
    ]
    steps = read(PROMPT, *hooks, *transcript, STOP, summary(), user("on", promptId="p-2"))

    assert [one.turn_id for one in events(steps, Prompt)] == ["p-1", "p-2"]
    assert len(events(steps, ToolCall)) == 1
    assert [one.content for one in events(steps, ToolResult)] == ["x", "x"]
    assert [one.turn_id for one in events(steps, TurnEnd)] == ["p-1", "p-2"]
    assert [one.message_id for one in events(steps, Usage)] == ["m-1", "m-2"]


def test_a_transcript_that_is_read_before_the_hook_tells_the_prompt_too() -> None:
    steps = read(user("go", promptId="p-1"), PROMPT, STOP, summary())

    assert [one.turn_id for one in events(steps, Prompt)] == ["p-1"]
    assert [one.turn_id for one in events(steps, TurnEnd)] == ["p-1"]


def test_a_prompt_sent_meanwhile_is_told_once() -> None:
    queued = hook("UserPromptSubmit", prompt="and this", prompt_id="p-1")
    rows = [PROMPT, user("go", promptId="p-1"), assistant(text("a")), queued]
    steps = read(*rows, attachment("queued_command", prompt="and this"), STOP)

    assert [one.text for one in events(steps, Prompt)] == ["go", "and this"]


def test_the_stream_and_the_transcript_share_messages_and_the_better_usage_stays() -> None:
    rows = [
        init("i-1"),
        said("m-1", text("a"), output=1),
        assistant(text("a"), message_id="m-1", output=30),
        said("m-1", call("t-1"), output=1),
        assistant(call("t-1"), message_id="m-1", output=30),
        ended(30),
    ]
    steps = read(*rows, live=True)

    assert [one.output_tokens for one in events(steps, Usage)] == [1, 30]
    assert len(events(steps, Request)) == 1
    assert len(events(steps, Spoken)) == 1
    assert len(events(steps, ToolCall)) == 1


def test_a_stop_that_a_hook_told_is_not_told_by_the_result_of_the_stream() -> None:
    rows = [PROMPT, init("i-1"), said("m-1", text("a")), STOP, ended(4, result="a")]
    steps = read(*rows, init("i-2"), said("m-2", text("b")), live=True)

    assert [one.turn_id for one in events(steps, TurnEnd)] == ["p-1"]
    assert [one.turn_id for one in events(steps, Prompt)] == ["p-1", "i-2"]


def test_a_typed_skill_is_told_by_the_hook_and_then_with_its_length() -> None:
    body = "Base directory for this skill: /repo/skills/notes\n\n# Notes"
    rows = [
        PROMPT,
        hook("UserPromptExpansion", command_name="notes", prompt_id="p-1"),
        user("<command-name>/notes</command-name>", promptId="p-1"),
        user([text(body)], isMeta=True, promptId="p-1"),
        hook("UserPromptExpansion", command_name="notes", prompt_id="p-1"),
    ]
    steps = read(*rows)

    assert [(one.name, one.units) for one in events(steps, Skill)] == [
        ("notes", None),
        ("notes", len(body)),
    ]
    assert len(events(steps, Prompt)) == 1


def test_a_skills_body_in_the_stream_and_in_the_transcript_is_one_load() -> None:
    body = [text("Base directory for this skill: /repo/skills/notes\n\n# Notes")]
    line = stream("user", message={"content": body}, uuid="b-1", isSynthetic=True)
    steps = read(init("i-1"), line, user(body, uuid="b-1", isMeta=True), live=True)

    assert [one.name for one in events(steps, Skill)] == ["notes"]


def test_a_compaction_that_several_prove_is_one() -> None:
    proofs = [hook("SessionStart", source="compact"), hook("PostCompact", trigger="auto")]
    steps = read(PROMPT, *proofs, boundary(trigger="auto"), *proofs, boundary(trigger="auto"))

    assert len(events(steps, Compaction)) == 2
