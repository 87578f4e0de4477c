"""Params are read strictly, a fault names its place, and what is written reads back the same."""

import json
from typing import Any, NamedTuple

import pytest

from core.errors import InvalidParams
from handlers import wire as w
from handlers.convert import from_core, structure, unknown_fields, unstructure
from handlers.wire_accounting import Entry, Item, NamedAvailable, Snapshot
from handlers.wire_records import changed, shape
from handlers.wire_results import PhaseState, Verdict

START = {"sessionId": "s1", "runtime": "claude_code", "workspace": "/w"}
PROMPT = {"sessionId": "s1", "turnId": "t1", "text": ""}
CALL = {"sessionId": "s1", "toolUseId": "u1", "name": "Bash", "input": None}
RESULT = {"sessionId": "s1", "toolUseId": "u1", "content": ""}
USAGE = {"sessionId": "s1", "input": 1, "output": 2}
CONTEXT = {"sessionId": "s1", "kind": "memory", "source": "notes", "chars": 0}
COMPOSER = {"sessionId": "s1"}
END = {"sessionId": "s1", "turnId": "t1", "outcome": "completed"}


class Bad(NamedTuple):
    """One change to good params, and where and how it is refused."""

    cls: type
    good: dict[str, Any]
    change: dict[str, Any]
    message: str


BAD = (
    Bad(w.ToolCallParams, CALL, {"sessionId": 5}, "sessionId: expected a string, got a number"),
    Bad(w.ToolCallParams, CALL, {"sessionId": None}, "sessionId: expected a string, got null"),
    Bad(
        w.ToolCallParams, CALL, {"sessionId": ""}, "sessionId: expected a string that is not blank"
    ),
    Bad(w.ToolCallParams, CALL, {"sessionId": " \t"}, "sessionId: expected a string that is not"),
    Bad(
        w.ToolCallParams, CALL, {"sessionId": " null "}, "sessionId: expected the id of a session,"
    ),
    Bad(w.ToolCallParams, CALL, {"sessionId": "x" * 1025}, "sessionId: expected at most 1,024"),
    Bad(w.ToolCallParams, CALL, {"sessionId": "a\ud800"}, "sessionId: expected valid Unicode"),
    Bad(w.ToolCallParams, CALL, {"toolUseId": [1]}, "toolUseId: expected a string, got an array"),
    Bad(w.ToolCallParams, CALL, {"name": ""}, "name: expected a string that is not blank"),
    Bad(w.ToolCallParams, CALL, {"name": "x" * 4097}, "name: expected at most 4,096 characters"),
    Bad(w.ToolCallParams, CALL, {"turnId": 10}, "turnId: expected a string, got a number"),
    Bad(w.ToolResultParams, RESULT, {"content": {}}, "content: expected a string or an array"),
    Bad(w.ToolResultParams, RESULT, {"content": ["a", 1]}, "content[1]: expected an object or a"),
    Bad(
        w.ToolResultParams, RESULT, {"isError": 1}, "isError: expected true or false, got a number"
    ),
    Bad(w.UsageParams, USAGE, {"input": "10"}, "input: expected an integer, got a string"),
    Bad(w.UsageParams, USAGE, {"input": True}, "input: expected an integer, got a boolean"),
    Bad(w.UsageParams, USAGE, {"input": 10.0}, "input: expected an integer, got a number written"),
    Bad(w.UsageParams, USAGE, {"output": -1}, "output: expected an integer from 0 to"),
    Bad(w.UsageParams, USAGE, {"cacheRead": 2**53 + 1}, "cacheRead: expected an integer from 0 to"),
    Bad(w.UsageParams, USAGE, {"cumulative": "yes"}, "cumulative: expected true or false, got a"),
    Bad(w.SessionStartParams, START, {"runtime": "native"}, "runtime: expected one of acp_agent,"),
    Bad(w.SessionStartParams, START, {"runtime": "x-"}, "runtime: expected one of acp_agent,"),
    Bad(w.SessionStartParams, START, {"runtime": "x-Caps"}, "runtime: expected one of acp_agent"),
    Bad(
        w.SessionStartParams, START, {"source": "reboot"}, "source: expected one of startup, resume"
    ),
    Bad(w.SessionStartParams, START, {"workspace": "w"}, "workspace: expected an absolute path or"),
    Bad(
        w.SessionStartParams, START, {"workspace": "https://h/w"}, "workspace: expected a path or a"
    ),
    Bad(
        w.SessionStartParams, START, {"workspace": "file://h/w"}, "workspace: expected a path or a"
    ),
    Bad(
        w.SessionStartParams, START, {"workspace": "file:///%ff"}, "workspace: expected a file URI"
    ),
    Bad(
        w.SessionStartParams,
        START,
        {"workspace": "file:///a%00"},
        "workspace: expected a path, got",
    ),
    Bad(w.SessionStartParams, START, {"available": []}, "available: expected an object, got an"),
    Bad(
        w.SessionStartParams,
        START,
        {"available": {"mcpServers": [{"name": 1}]}},
        "available.mcpServers[0].name: expected a string, got a number",
    ),
    Bad(
        w.PromptParams, PROMPT, {"selectedSkills": "tdd"}, "selectedSkills: expected an array, got"
    ),
    Bad(w.PromptParams, PROMPT, {"selectedSkills": [1]}, "selectedSkills[0]: expected a string or"),
    Bad(
        w.PromptParams,
        PROMPT,
        {"selectedSkills": ["a", {"name": 5}]},
        "selectedSkills[1].name: expected a string, got a number",
    ),
    Bad(
        w.PromptParams,
        PROMPT,
        {"attachments": [{"name": "a", "source": "b"}]},
        "attachments[0].text: expected exactly one of text, chars or bytes, got none",
    ),
    Bad(
        w.PromptParams,
        PROMPT,
        {"attachments": [{"name": "a", "source": "b", "text": "", "bytes": 1}]},
        "attachments[0].bytes: expected exactly one of text, chars or bytes, got text and bytes",
    ),
    Bad(w.ContextParams, CONTEXT, {"kind": "music"}, "kind: expected one of system_prompt, tools,"),
    Bad(w.ContextParams, CONTEXT, {"text": ""}, "chars: expected exactly one of text, chars or"),
    Bad(w.ContextParams, CONTEXT, {"chars": None}, "text: expected exactly one of text, chars or"),
    Bad(w.ComposerParams, COMPOSER, {"text": "", "tokens": 1}, "tokens: expected at most one of"),
    Bad(w.ComposerParams, COMPOSER, {"files": [{"name": "a"}]}, "files[0].chars: expected exactly"),
    Bad(w.CompactionParams, COMPOSER, {"stage": "during"}, "stage: expected one of before, after"),
    Bad(
        w.TurnEndParams, END, {"outcome": "done"}, "outcome: expected one of completed, interrupted"
    ),
    Bad(w.TurnEndParams, END, {"outcome": 1}, "outcome: expected one of completed, interrupted,"),
    Bad(
        w.TurnEndParams, END, {"backgroundTasks": True}, "backgroundTasks: expected an integer, got"
    ),
    Bad(w.TurnEndParams, END, {"stopHookActive": 0}, "stopHookActive: expected true or false, got"),
    Bad(w.PlanCheckParams, {}, {}, "path: expected exactly one of path or text, got none"),
    Bad(w.PlanReasonParams, COMPOSER, {}, "reason: required, but missing"),
    Bad(w.PlanArmParams, COMPOSER, {"path": "p", "from": "null"}, "from: expected the id of a"),
    Bad(w.ReceiptsParams, {}, {"since": 4}, "sessionId: required with since, but missing"),
    Bad(w.ReceiptsParams, {}, {"limit": 0}, "limit: expected an integer of at least 1, got 0"),
    Bad(w.HostEventParams, START, {"event": "x"}, "event: expected an object, got a string"),
)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: f"{bad.cls.__name__}: {bad.message[:40]}")
def test_what_does_not_fit_is_refused_by_its_wire_name(bad: Bad) -> None:
    with pytest.raises(InvalidParams) as refused:
        structure(bad.cls, bad.good | bad.change)

    field = bad.message.split(":")[0]
    assert refused.value.message.startswith(f"params.{bad.message}")
    assert refused.value.field == field
    assert refused.value.hint


@pytest.mark.parametrize(
    ("cls", "good"),
    [
        (w.SessionStartParams, START),
        (w.PromptParams, PROMPT),
        (w.ToolCallParams, CALL),
        (w.ToolResultParams, RESULT),
        (w.UsageParams, USAGE),
        (w.ContextParams, CONTEXT),
        (w.ComposerParams, COMPOSER),
        (w.CompactionParams, {"sessionId": "s1", "stage": "after"}),
        (w.TurnEndParams, END),
        (w.SessionEndParams, COMPOSER),
        (w.PlanArmParams, {"sessionId": "s1", "path": "plan.yaml"}),
    ],
)
def test_each_required_field_is_missed_by_name_and_the_others_may_be_null(
    cls: type, good: dict[str, Any]
) -> None:
    members = shape(cls).members
    optional = {m.wire: None for m in members if not m.required and m.wire not in good}

    assert structure(cls, good | optional) == structure(cls, good)
    for name in (m.wire for m in members if m.required):
        with pytest.raises(InvalidParams) as refused:
            structure(cls, {key: value for key, value in good.items() if key != name})
        assert refused.value.message == f"params.{name}: required, but missing"


@pytest.mark.parametrize("params", [[], "x", 1, True])
def test_params_that_are_no_object_are_refused(params: Any) -> None:
    with pytest.raises(InvalidParams, match=r"^params: expected an object, got "):
        structure(w.NoParams, params)


@pytest.mark.parametrize("params", [None, {}, {"later": 1}])
def test_params_may_be_absent_or_empty_where_nothing_is_required(params: Any) -> None:
    assert structure(w.ReceiptsParams, params) == w.ReceiptsParams()


def test_a_value_that_was_sent_is_in_no_message_and_no_cause() -> None:
    marker = "marker-7c1"
    for change in ({"outcome": marker}, {"turnId": [marker]}, {"sessionId": marker * 200}):
        with pytest.raises(InvalidParams) as refused:
            structure(w.TurnEndParams, END | change)
        told = f"{refused.value.message} {refused.value.hint} {refused.value.field}"
        assert marker not in told
        assert refused.value.__suppress_context__


def test_the_limits_themselves_are_accepted() -> None:
    longest = "é" * 1024

    call = structure(w.ToolCallParams, CALL | {"sessionId": longest, "name": "n" * 4096})
    usage = structure(w.UsageParams, USAGE | {"input": 2**53, "output": 0})

    assert (call.session_id, len(call.name)) == (longest, 4096)
    assert (usage.input_tokens, usage.output_tokens) == (2**53, 0)


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "x", [], {"jsonrpc": "2.0", "id": None}])
def test_the_input_of_a_call_is_any_json_value(value: Any) -> None:
    assert structure(w.ToolCallParams, CALL | {"input": value}).input is value


@pytest.mark.parametrize("content", ["", [], ["a"], [{"type": "text", "text": "\ud800"}]])
def test_a_result_is_a_string_or_content_blocks(content: Any) -> None:
    assert structure(w.ToolResultParams, RESULT | {"content": content}).content == content


@pytest.mark.parametrize(
    ("given", "folder"),
    [
        ("/w/a b", "/w/a b"),
        ("/w/%20/", "/w/%20"),
        ("/", "/"),
        ("file:///w/%E5%B7%A5%20x", "/w/工 x"),
        ("file://localhost/w", "/w"),
        ("FILE:/w/", "/w"),
    ],
)
def test_a_workspace_is_an_absolute_path_or_a_file_uri(given: str, folder: str) -> None:
    assert structure(w.SessionStartParams, START | {"workspace": given}).workspace == folder


@pytest.mark.parametrize("runtime", ["claude_code", "acp_agent", "x-my-host2"])
def test_a_host_may_bring_its_own_runtime_name(runtime: str) -> None:
    assert structure(w.SessionStartParams, START | {"runtime": runtime}).runtime == runtime


def test_selected_skills_are_names_or_objects_and_blank_ones_are_ignored() -> None:
    skills = ["tdd", "  ", {"name": "review", "sourcePath": "a/SKILL.md"}, {"name": ""}]

    prompt = structure(w.PromptParams, PROMPT | {"selectedSkills": skills})

    assert prompt.selected_skills == (
        w.SelectedSkill(name="tdd"),
        w.SelectedSkill(name="review", source_path="a/SKILL.md"),
    )
    assert prompt.from_human is True


def test_available_things_are_named_by_strings_or_objects() -> None:
    available = {"tools": ["Bash"], "mcpServers": [{"name": "a__b", "status": "connected"}]}

    start = structure(w.SessionStartParams, START | {"available": available})

    assert start.available == w.Available(tools=("Bash",), mcp_servers=("a__b",))


def test_fields_nobody_knows_are_ignored_and_can_be_named() -> None:
    sent = CALL | {"zeal": 1, "tool_use_id": "x"}

    assert structure(w.ToolCallParams, sent) == structure(w.ToolCallParams, CALL)
    assert unknown_fields(w.ToolCallParams, sent) == ["zeal", "tool_use_id"]
    assert unknown_fields(w.NoParams, None) == []


def test_wire_names_are_camel_case_of_the_attributes_unless_they_say_otherwise() -> None:
    renamed = {
        (member.attribute, member.wire)
        for cls in (w.UsageParams, w.PlanArmParams, w.TurnEndParams)
        for member in shape(cls).members
        if member.attribute != member.wire
    }

    assert {("input_tokens", "input"), ("cache_read_tokens", "cacheRead")} < renamed
    assert {("from_session", "from"), ("last_assistant_message", "lastAssistantMessage")} < renamed


IDLE: dict[str, Any] = {
    "sessionId": "s1",
    "state": "idle",
    "taskId": None,
    "planPath": None,
    "planDigest": None,
    "phaseId": None,
    "phaseIndex": None,
    "phaseCount": None,
    "attempt": 0,
    "attemptsLeft": None,
    "blocksTotal": 0,
    "gaps": [],
    "skills": [],
    "criteria": [],
    "warnings": [],
}
ENTRY = {"tokens": 9, "source": "tool_use/tool/Bash", "detail": "Bash × 1"}
PLAIN = {"entries": {"tools": ENTRY}, "unsupported": ["memory"], "producedBy": "claude_code"}
PART = {"kind": "user_text", "source": "transcript/api-request-blob", "units": 8, "tokens": 9}
ACCOUNTING = {
    "sessionId": "s1",
    "turnId": "t1",
    "revision": 1,
    "outcome": None,
    "final": False,
    "snapshot": PLAIN
    | {
        "unknown": [{"kind": "skills", "name": "x", "reason": "not found"}],
        "subagents": [{"agentId": "a", "entries": {}, "unknown": [], "skillStates": []}],
        "skillStates": [{"name": "x", "state": "called"}],
        "reconciliation": {"input": 1, "kinds": 9, "remainder": -8, "overcount": True},
    },
    "rows": [{"kind": "tools", "label": "Tools", "tokens": 9, "share": 0.5}],
    "bars": {"cells100": [{"kind": "tools", "cells": 50}], "cells10": []},
    "usage": {"input": 1, "context_accounting": PLAIN},
    "window": {"tokens": 18, "source": "host", "used": 9, "ratio": 0.5, "remaining": 9},
    "composition": {"requestId": "r", "parts": [PART], "reported": 9},
}
VERDICT = {
    "decision": "block",
    "reason": "One gap.",
    "gaps": [
        {"criterionId": "a.1", "locator": "x", "state": "unmet", "why": "y", "nextAction": "z"}
    ],
    "attempt": 1,
    "attemptsLeft": 2,
    "phase": IDLE,
    "accounting": ACCOUNTING,
    "flags": [{"code": "late", "message": "m"}],
}


@pytest.mark.parametrize(
    "answer", [VERDICT, VERDICT | {"phase": None, "gaps": [], "attemptsLeft": None}]
)
def test_an_answer_is_written_as_the_contract_says_and_reads_back_the_same(
    answer: dict[str, Any],
) -> None:
    verdict = structure(Verdict, answer)

    written = unstructure(verdict)

    assert json.loads(json.dumps(written)) == answer
    assert structure(Verdict, written) == verdict


def test_a_record_is_made_from_what_core_holds_under_the_same_names() -> None:
    class Part(NamedTuple):
        name: str
        tokens: int
        calls: int | None = None

    class Kept(NamedTuple):
        tokens: int
        source: str
        items: tuple[Part, ...]

    held = {
        "entries": {"tools": Kept(3, "s", (Part("Bash", 3),))},
        "unsupported": ["mcp"],
        "produced_by": "x-a",
        "available": {"mcp_servers": ["a"], "system_prompt_units": 7},
        "window": None,
    }

    entry = Entry(tokens=3, source="s", items=(Item(name="Bash", tokens=3),))
    expected = Snapshot(entries={"tools": entry}, unsupported=("mcp",), produced_by="x-a")
    available = NamedAvailable(mcp_servers=("a",), system_prompt_units=7)
    assert from_core(Snapshot, held) == changed(expected, available=available)


def test_what_may_be_null_is_written_as_null_and_the_rest_is_left_out() -> None:
    state = structure(PhaseState, IDLE)
    start = structure(w.SessionStartParams, START)

    assert unstructure(state) == IDLE
    assert unstructure(start) == START
