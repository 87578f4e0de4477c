"""What the reader tells of requests, of their usage and of the texts in them."""

from pathlib import Path

from core.events import Request, Spoken, ToolCall, Usage
from tests.core.runtimes.claude.given import (
    OTHER,
    SESSION,
    assistant,
    call,
    events,
    read,
    recorded,
    text,
    usage,
    user,
    written,
)


def test_a_request_comes_first_then_its_usage_then_what_the_message_holds() -> None:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
    row = assistant(thinking, text("I look."), call("t-1"), requestRef="q-1")

    told = events(read(user("go"), row), Request, Usage, Spoken, ToolCall)

    assert [type(event).__name__ for event in told] == [
        "Spoken",
        "Request",
        "Usage",
        "Spoken",
        "Spoken",
        "ToolCall",
    ]
    assert told[1] == Request("q-1")
    assert told[2].request_id == "q-1"
    assert [(said.by, said.text) for said in told if isinstance(said, Spoken)] == [
        ("user", "go"),
        ("thinking", "Hm."),
        ("model", "I look."),
    ]


def test_of_the_rows_of_a_message_the_last_one_counts() -> None:
    steps = read(
        user("go"),
        assistant(text("a"), output=1),
        assistant(text("b"), output=9),
        assistant(call("t-1"), output=9),
        assistant(text("c"), message_id="m-2", output=4),
    )

    told = [(one.message_id, one.output_tokens) for one in events(steps, Usage)]
    assert told == [("m-1", 1), ("m-1", 9), ("m-2", 4)]
    assert len(events(steps, Request)) == 2


def test_a_message_without_its_end_is_partial_where_rows_tell_of_ends() -> None:
    steps = read(
        assistant(text("a"), message_id="m-1", stop="end_turn"),
        assistant(text("b"), message_id="m-2", stop=None, output=2),
        assistant(text("c"), message_id="m-2", stop="end_turn", output=8),
        assistant(text("d"), message_id="m-3", stop=None, output=2),
    )

    last = {one.message_id: one for one in events(steps, Usage)}
    assert {name: one.partial for name, one in last.items()} == {
        "m-1": False,
        "m-2": False,
        "m-3": True,
    }
    assert last["m-2"].output_tokens == 8


def test_a_version_that_tells_of_no_end_has_nothing_partial() -> None:
    rows = [assistant(text(str(n)), message_id=f"m-{n}", stop=None) for n in range(3)]

    assert [one.partial for one in events(read(*rows), Usage)] == [False] * 3


def test_a_message_without_an_id_is_known_by_its_request() -> None:
    rows = [assistant(text(str(n)), output=n, requestId="r-1") for n in (2, 7)]
    for row in rows:
        del row["message"]["id"]

    told = events(read(*rows), Usage, Request)

    assert [one.message_id for one in told if isinstance(one, Usage)] == ["r-1", "r-1"]
    assert len([one for one in told if isinstance(one, Request)]) == 1


def test_without_both_ids_each_row_is_a_request() -> None:
    rows = [assistant(text(str(n))) for n in (2, 7)]
    for row in rows:
        del row["message"]["id"]

    told = events(read(*rows), Usage, Request)

    assert [type(one).__name__ for one in told] == ["Request", "Usage"] * 2
    assert {one.message_id for one in told if isinstance(one, Usage)} == {None}


def test_what_has_no_figures_is_no_usage() -> None:
    row = assistant(text("a"))
    row["message"]["usage"] = {"service_tier": "standard"}
    synthetic = assistant(text("API Error"), message_id="m-2")
    synthetic["message"]["model"] = "<synthetic>"

    assert events(read(row, synthetic), Usage) == []


def test_figures_of_other_types_count_as_missing() -> None:
    row = assistant(text("a"))
    odd = {"input_tokens": "3", "cache_read_input_tokens": -1}
    row["message"]["usage"] = {**usage(output=9), **odd}

    (told,) = events(read(row), Usage)
    assert told[:4] == (0, 9, 0, 0)


def test_a_text_that_stands_on_two_rows_is_said_once() -> None:
    steps = read(assistant(text("a")), assistant(text("a"), call("t-1")), assistant(text("b")))

    assert [said.text for said in events(steps, Spoken)] == ["a", "b"]


def test_rows_that_a_fork_copied_are_inherited(tmp_path: Path) -> None:
    copied = [
        user("one", sessionId=OTHER, uuid="u-1"),
        assistant(text("a"), message_id="m-1", sessionId=OTHER),
    ]
    written(tmp_path / f"{OTHER}.jsonl", *copied)
    own = [user("two", uuid="u-2"), assistant(text("b"), message_id="m-2")]
    fork = written(tmp_path / f"{SESSION}.jsonl", *copied, *own)

    told = {one.message_id: one.inherited for one in recorded(fork, Usage)}

    assert told == {"m-1": True, "m-2": False}


def test_a_fork_that_gave_its_rows_its_own_name_copied_no_requests(tmp_path: Path) -> None:
    shared = [
        user("one", uuid="u-1"),
        assistant(text("a"), message_id="m-1", requestRef="q-1"),
    ]
    asked = {"type": "api-request", "shapeHash": "s", "keep": 0, "tail": [], "sessionId": SESSION}
    own = [
        user("two", uuid="u-2"),
        {**asked, "id": "q-2"},
        assistant(text("b"), message_id="m-2", requestRef="q-2"),
    ]
    fork = written(tmp_path / f"{SESSION}.jsonl", *shared, *own)

    def told(path: str) -> list[tuple[str | None, bool]]:
        return [(one.message_id, one.inherited) for one in recorded(path, Usage)]

    assert told(fork) == [("m-1", False), ("m-2", False)]
    first = [{**row, "sessionId": OTHER} for row in shared]
    parent = written(tmp_path / f"{OTHER}.jsonl", first[0], {**asked, "id": "q-1"}, first[1])
    assert told(fork) == [("m-1", True), ("m-2", False)]
    assert told(parent) == [("m-1", False)]


def test_rows_of_a_session_without_a_file_beside_count(tmp_path: Path) -> None:
    rows = [user("one"), assistant(text("a"), sessionId=OTHER)]
    resumed = written(tmp_path / f"{SESSION}.jsonl", *rows)

    assert [one.inherited for one in recorded(resumed, Usage)] == [False]


def test_a_file_that_is_not_called_as_a_session_inherits_nothing(tmp_path: Path) -> None:
    rows = [user("one"), assistant(text("a"))]
    written(tmp_path / f"{SESSION}.jsonl", *rows)
    copy = written(tmp_path / "copy.jsonl", *rows)

    assert [one.inherited for one in recorded(copy, Usage)] == [False]


def test_texts_of_the_program_are_told_apart_from_those_of_people() -> None:
    steps = read(
        user("go"),
        user("The date changed.", isMeta=True),
        user("This session is being continued", isCompactSummary=True),
        user("<local-command-stdout>done</local-command-stdout>"),
    )

    assert [(said.by, said.text[:8]) for said in events(steps, Spoken)] == [
        ("user", "go"),
        ("program", "The date"),
        ("program", "This ses"),
        ("program", "<local-c"),
    ]
