"""What the reader makes of a loop's stream of the AI SDK."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.events import (
    Event,
    Prompt,
    Request,
    SessionStart,
    Spoken,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
)
from core.recordings.contract import ENDED, NOT_RECORDED, Head, Step
from core.recordings.recording import Recording
from core.runtimes.codepilot_runtime import RUNTIME
from core.units import content_units, image_count
from tests.core.runtimes.look_alikes import Row, part

USAGE = {
    "inputTokens": 1812,
    "inputTokenDetails": {"noCacheTokens": 12, "cacheReadTokens": 300, "cacheWriteTokens": 1500},
    "outputTokens": 90,
    "outputTokenDetails": {},
    "totalTokens": 1902,
    "cachedInputTokens": 300,
}


def live(*rows: Row) -> list[Any]:
    """The events of raw parts that a host sends one by one."""
    reader = RUNTIME.reader(Head("codepilot_runtime", "s-1", "/repo"))
    return [step.event for row in rows for step in reader.read(0, row)]


def steps(folder: Path, *rows: Row) -> list[Step]:
    """The steps of a recording, but for its begin and end."""
    path = folder / "loop.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return list(Recording(str(path)).steps())[1:-1]


def recorded(folder: Path, *rows: Row) -> list[Any]:
    return [step.event for step in steps(folder, *rows)]


def kinds(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def call(call_id: str = "t-1", **more: Any) -> Row:
    return {"type": "tool-call", "toolCallId": call_id, "toolName": "ls", "input": {}, **more}


def result(output: Any, **more: Any) -> Row:
    shape = {"type": "tool-result", "toolCallId": "t-1", "toolName": "ls", "input": {}}
    return {**shape, "output": output, **more}


def finish_step(usage: Any = USAGE, **more: Any) -> Row:
    response = {"id": "r-1", "modelId": "model-x"}
    return {"type": "finish-step", "usage": usage, "response": response, **more}


def finish(reason: Any = "stop") -> Row:
    return {"type": "finish", "finishReason": reason, "totalUsage": USAGE}


START = {"type": "start"}
STEP = {"type": "start-step"}


def test_a_step_tells_of_its_request_its_calls_their_results_and_its_usage() -> None:
    events = live(
        START,
        STEP,
        call(toolName="Bash", input={"command": "ls"}),
        result("a.txt\n"),
        finish_step(),
        finish(),
    )

    assert events == [
        Request(),
        ToolCall("t-1", "Bash", {"command": "ls"}),
        ToolResult("t-1", "a.txt\n"),
        Usage(1812, 90, 300, 1500, message_id="r-1", input_includes_cache=True),
    ]


def test_parts_are_read_bare_or_in_the_row_of_a_driver() -> None:
    rows = [STEP, call(), result("x"), finish_step()]

    assert live(*rows) == live(*map(part, rows))


def test_callbacks_that_stand_beside_the_parts_count_nothing_again() -> None:
    step = {"usage": USAGE, "toolCalls": [call()], "toolResults": [result("x")]}

    assert live({"kind": "onStepFinish", "value": step}, {"kind": "onFinish", "value": step}) == []


def test_a_host_that_sends_parts_tells_of_its_turns_itself() -> None:
    events = live(START, STEP, finish_step(), finish(), {"type": "abort"}, {"type": "error"})

    assert kinds(events) == ["Request", "Usage"]


def test_in_a_file_a_start_opens_a_turn_and_a_finish_ends_it(tmp_path: Path) -> None:
    found = steps(tmp_path, START, STEP, finish_step(), finish(), START, STEP, finish())

    assert [(step.line, step.event) for step in found if isinstance(step.event, Prompt)] == [
        (1, Prompt("turn-1", "", from_human=False)),
        (5, Prompt("turn-2", "", from_human=False)),
    ]
    assert [step for step in found if isinstance(step.event, TurnEnd)] == [
        Step(4, TurnEnd("turn-1", "completed"), ENDED),
        Step(7, TurnEnd("turn-2", "completed"), ENDED),
    ]


def test_a_start_ends_the_turn_whose_end_never_came(tmp_path: Path) -> None:
    found = steps(tmp_path, START, STEP, START, finish())

    assert [(step.line, step.event) for step in found if isinstance(step.event, TurnEnd)] == [
        (3, TurnEnd("turn-1", "interrupted")),
        (4, TurnEnd("turn-2", "completed")),
    ]


def test_the_calls_of_a_file_name_their_turn(tmp_path: Path) -> None:
    events = recorded(tmp_path, call("t-1"), finish(), START, call("t-2"), finish())

    calls = [event for event in events if isinstance(event, ToolCall)]
    assert [(event.tool_use_id, event.turn_id) for event in calls] == [
        ("t-1", "turn-1"),
        ("t-2", "turn-2"),
    ]


@pytest.mark.parametrize(
    ("rows", "outcome", "how"),
    [
        ([finish("stop")], "completed", ENDED),
        ([finish("length")], "completed", ENDED),
        ([finish("error")], "failed", ENDED),
        ([finish({"unified": "error", "raw": "overloaded"})], "failed", ENDED),
        ([{"type": "error", "error": "lost"}, finish("stop")], "failed", ENDED),
        ([{"type": "error", "error": {}}], "failed", NOT_RECORDED),
        ([{"type": "abort"}], "interrupted", ENDED),
        ([{"type": "error"}, {"type": "abort"}], "interrupted", ENDED),
        ([], "interrupted", NOT_RECORDED),
    ],
)
def test_a_turn_of_a_file_ends_as_its_stream_does(
    tmp_path: Path, rows: list[Row], outcome: str, how: str
) -> None:
    last = steps(tmp_path, START, STEP, *rows)[-1]

    assert isinstance(last.event, TurnEnd)
    assert (last.event.outcome, last.recorded) == (outcome, how)


def test_a_loop_that_waits_for_an_approval_awaits_the_user(tmp_path: Path) -> None:
    ask = {"type": "tool-approval-request", "approvalId": "a-1", "toolCall": call()}
    yes = {"type": "tool-approval-response", "approvalId": "a-1", "toolCall": call()}

    def outcome(*rows: Row) -> str:
        end = recorded(tmp_path, START, STEP, call(), *rows, finish("tool-calls"))[-1]
        assert isinstance(end, TurnEnd)
        return end.outcome

    assert outcome(ask) == "awaitingUser"
    assert outcome(ask, yes) == "completed"
    assert outcome(ask, result("x")) == "completed"
    assert outcome({**ask, "isAutomatic": True}) == "completed"


def test_a_failed_call_and_a_refused_one_are_errors() -> None:
    names = {"toolCallId": "t-1", "toolName": "ls"}
    events = live(
        {"type": "tool-error", **names, "error": "no such folder"},
        {"type": "tool-error", **names, "error": {"message": "gone", "code": "ENOENT"}},
        {"type": "tool-error", **names, "error": {"code": "ENOENT"}},
        {"type": "tool-output-denied", **names},
        {"type": "tool-output-denied", **names, "reason": "not now"},
    )

    assert [(event.content, event.is_error) for event in events] == [
        ("no such folder", True),
        ("gone", True),
        ('{"code":"ENOENT"}', True),
        ("", True),
        ("not now", True),
    ]


def test_a_call_of_an_unknown_tool_counts_like_any_other() -> None:
    events = live(call(dynamic=True, invalid=True, error={"name": "AI_NoSuchToolError"}))

    assert events == [ToolCall("t-1", "ls", {})]


def test_a_result_that_is_still_preliminary_is_not_the_answer() -> None:
    assert live(result("half", preliminary=True), result("whole")) == [ToolResult("t-1", "whole")]


def test_an_object_is_answered_to_the_model_as_json() -> None:
    (event,) = live(result({"files": ["ä.txt"], "count": 1}))

    assert event.content == '{"files":["ä.txt"],"count":1}'


@pytest.mark.parametrize(
    "output",
    [
        {
            "type": "content",
            "value": [
                {"type": "text", "text": "see"},
                {"type": "image-data", "data": "A" * 9000, "mediaType": "image/png"},
            ],
        },
        {
            "type": "content",
            "value": [
                {"type": "text", "text": "see"},
                {"type": "media", "data": "A" * 9000, "mediaType": "image/png"},
            ],
        },
        {
            "content": [
                {"type": "text", "text": "see"},
                {"type": "image", "data": "A" * 9000, "mimeType": "image/png"},
            ],
            "isError": False,
        },
        [
            {"type": "text", "text": "see"},
            {"type": "file", "data": "A" * 9000, "mediaType": "application/pdf"},
        ],
    ],
    ids=["image-data", "media", "mcp", "file"],
)
def test_the_bytes_of_an_image_are_not_counted_as_text(output: Any) -> None:
    (event,) = live(result(output))

    assert content_units(event.content) == len("see")
    assert image_count(event.content) == 1


def test_a_text_that_is_embedded_in_a_result_counts_as_text() -> None:
    resource = {"uri": "file:///a.txt", "text": "see"}
    blocks = [{"type": "resource", "resource": resource}, {"type": "resource", "resource": None}]

    (whole,) = live(result({"content": blocks[:1]}))
    (odd,) = live(result({"content": blocks}))

    assert content_units(whole.content) == len("see")
    assert json.loads(odd.content) == {"content": blocks}


def test_an_output_of_any_depth_has_its_length() -> None:
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]

    (event,) = live(result(deep))

    assert content_units(event.content) == 2 * 5_001


def test_a_listing_with_rows_of_type_file_is_json_and_no_picture() -> None:
    listing = [{"type": "file", "name": "a.txt", "url": "file:///a.txt"}]

    (event,) = live(result(listing))

    assert json.loads(event.content) == listing


@pytest.mark.parametrize(
    ("output", "content", "is_error"),
    [
        ({"type": "text", "value": "plain"}, "plain", False),
        ({"type": "json", "value": {"a": 1}}, '{"a":1}', False),
        ({"type": "error-text", "value": "bad"}, "bad", True),
        ({"type": "error-json", "value": [1]}, "[1]", True),
        ({"type": "execution-denied", "reason": "no"}, "no", True),
        ({"content": [{"type": "text", "text": "no"}], "isError": True}, None, True),
        (None, "", False),
        (7, "7", False),
    ],
)
def test_an_output_made_for_the_model_is_taken_out_of_its_cover(
    output: Any, content: str | None, is_error: bool
) -> None:
    (event,) = live(result(output))

    assert event.is_error is is_error
    assert event.content == ([{"type": "text", "text": "no"}] if content is None else content)


def test_text_and_reasoning_are_collected_from_their_pieces() -> None:
    def piece(kind: str, stream: str, text: str) -> Row:
        return {"type": f"{kind}-delta", "id": stream, "text": text}

    events = live(
        piece("reasoning", "0", "Look "),
        piece("text", "0", "I "),
        piece("reasoning", "0", "first."),
        {"type": "reasoning-end", "id": "0"},
        piece("text", "0", "look."),
        {"type": "text-end", "id": "0"},
        {"type": "text-end", "id": "0"},
    )

    assert events == [Spoken("thinking", "Look first."), Spoken("model", "I look.")]


def test_text_whose_end_is_missing_is_told_when_the_step_ends(tmp_path: Path) -> None:
    said = {"type": "text-delta", "id": "0", "text": "Half"}

    assert kinds(live(said, finish_step())) == ["Spoken", "Usage"]
    assert live(said, {"type": "abort"}, START, said, finish()) == [Spoken("model", "Half")] * 2
    assert recorded(tmp_path, START, said)[1:] == [
        Spoken("model", "Half"),
        TurnEnd("turn-1", "interrupted", "Half"),
    ]


def test_a_turn_remembers_what_was_said_last(tmp_path: Path) -> None:
    said = [
        {"type": "text-delta", "id": str(number), "text": text}
        for number, text in enumerate(("I look.", "Done."))
    ]

    end = recorded(tmp_path, START, said[0], finish_step(), said[1], finish_step(), finish())[-1]

    assert end == TurnEnd("turn-1", "completed", "Done.")


def test_a_message_that_steers_the_loop_is_the_users() -> None:
    parts = [{"type": "text", "text": "Stop"}, {"type": "file"}, {"type": "text", "text": "now."}]
    events = live(
        {"type": "steering-message", "message": {"role": "user", "content": "Wait."}},
        {"type": "steering-message", "message": {"role": "user", "content": parts}},
        {"type": "steering-message", "message": None},
    )

    assert events == [Spoken("user", "Wait."), Spoken("user", "Stop\nnow.")]


def test_the_sum_of_the_whole_loop_is_never_counted(tmp_path: Path) -> None:
    events = recorded(tmp_path, START, finish_step(), finish())

    assert [event.input_tokens for event in events if isinstance(event, Usage)] == [1812]


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"inputTokens": None, "outputTokens": None},
        {"outputTokens": 5},
        {"inputTokens": 5},
        {"inputTokens": "5", "outputTokens": 5},
        {"inputTokens": 2**70, "outputTokens": 5},
        {"inputTokens": -1, "outputTokens": 5},
        {"inputTokens": True, "outputTokens": 5},
        [5, 5],
    ],
)
def test_a_usage_that_is_not_reported_stays_unknown(usage: Any) -> None:
    assert live(finish_step(usage)) == []


def test_cached_input_is_inside_the_input_by_its_newer_and_its_older_name() -> None:
    old = {"inputTokens": 100, "outputTokens": 5, "cachedInputTokens": 60}
    (event,) = live(finish_step(old))

    assert (event.input_tokens, event.cache_read_tokens) == (100, 60)
    assert event.input_includes_cache


def test_an_input_smaller_than_its_cache_cannot_hold_it() -> None:
    (event,) = live(finish_step({"inputTokens": 3, "outputTokens": 5, "cachedInputTokens": 900}))

    assert not event.input_includes_cache


def test_a_step_without_a_response_id_is_a_message_of_its_own() -> None:
    (event,) = live(finish_step(response=None))

    assert event.message_id is None


def test_the_session_is_named_after_the_file_and_knows_its_model(tmp_path: Path) -> None:
    path = tmp_path / "loop-7.jsonl"
    path.write_text("".join(f"{json.dumps(part(row))}\n" for row in (START, STEP, finish_step())))

    recording = Recording(str(path))

    assert recording.head == Head("codepilot_runtime", "loop-7", "", "model-x", path=str(path))
    start = next(recording.steps()).event
    assert isinstance(start, SessionStart)
    assert (start.runtime, start.model) == ("codepilot_runtime", "model-x")


@pytest.mark.parametrize(
    "row",
    [
        START,
        {"type": "error", "message": "x"},
        {"type": "text-delta", "text": "no stream"},
        {"kind": "onFinish", "value": STEP},
        {"kind": "part", "value": {"type": "finish"}},
        {"kind": "part", "value": None},
    ],
)
def test_a_row_that_may_be_anyones_is_not_claimed(row: Row) -> None:
    assert not RUNTIME.recognise(row)


@pytest.mark.parametrize(
    "row",
    [
        {"type": "tool-call", "toolName": "ls"},
        {"type": "tool-call", "toolCallId": 5, "toolName": "ls"},
        {"type": "tool-call", "toolCallId": "t-1", "toolName": ""},
        {"type": "tool-result", "output": "x"},
        {"type": "text-delta", "text": 5},
        {"type": ["tool-call"]},
        {"type": "raw", "rawValue": {}},
        {"type": "ping"},
        {"kind": "part"},
        {},
    ],
)
def test_a_part_of_an_odd_shape_tells_nothing(row: Row) -> None:
    assert live(row) == []
