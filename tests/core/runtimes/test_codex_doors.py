"""Hooks, the app-server and the rollout tell of the same session: nothing doubles, in any order."""

from itertools import permutations
from random import Random
from typing import Any

import pytest

from core.events import Compaction, Fill, Prompt, Request, ToolCall, ToolResult, TurnEnd, Usage
from core.recordings.contract import Head, Step
from core.runtimes.registry import runtime
from tests.core.runtimes.codex_given import (
    CWD,
    THREAD,
    TURN,
    answered,
    called,
    completed,
    count,
    counted,
    figures,
    hook,
    item,
    meta,
    notice,
    of,
    record,
    response,
    row,
    said,
    shown,
    started,
    sums,
    told,
    turn_completed,
    used_tool,
)

Row = dict[str, Any]

FIRST = figures(9_000, 40)
BOTH = figures(21_000, 90, cached=8_000)
SECOND = figures(12_000, 50, cached=8_000)
LEFT = figures(0, 0, total=6_976)
COMMAND = {"type": "commandExecution", "id": "c1", "command": "/bin/bash -lc ls", "exitCode": 0}
USER = {"type": "userMessage", "id": "u1", "content": [{"type": "text", "text": "Go."}]}
COMPACTED = {"type": "contextCompaction", "id": "k1"}

ROLLOUT = [
    meta(),
    started(),
    said("user", "Go."),
    called("c1", "exec_command", {"cmd": "ls"}),
    record("r-1", FIRST),
    answered("c1", "out"),
    count(FIRST, FIRST),
    row("compacted", {"message": "So far."}),
    count(FIRST, LEFT),
    said("assistant", "Done.", id="m1"),
    record("r-2", SECOND),
    count(BOTH, SECOND),
    completed(),
]
HOOKS = [
    hook("UserPromptSubmit", prompt="Go."),
    hook("PreModelRequest", request_id="q-1", thread_id=THREAD),
    used_tool("Pre", "c1", "Bash", {"command": "ls"}),
    response("r-1", FIRST, "q-1"),
    used_tool("Post", "c1", "Bash", {"command": "ls"}, tool_response="out"),
    hook("PreCompact", trigger="auto"),
    hook("PostCompact", trigger="auto"),
    hook("PreModelRequest", request_id="q-2", thread_id=THREAD),
    response("r-2", SECOND, "q-2"),
    hook("Stop", last_assistant_message="Done."),
]
SERVER = [
    notice("turn/started", turn={"id": TURN}),
    shown("started", USER),
    shown("started", COMMAND),
    shown("completed", COMMAND | {"aggregatedOutput": "out"}),
    counted(FIRST, FIRST),
    shown("started", COMPACTED),
    counted(FIRST, LEFT),
    shown("completed", COMPACTED),
    shown("completed", {"type": "agentMessage", "id": "m1", "text": "Done."}),
    counted(BOTH, SECOND),
    turn_completed("completed"),
]
DOORS: dict[str, list[Row]] = {"rollout": ROLLOUT, "hooks": HOOKS, "server": SERVER}


def summary(steps: list[Step]) -> dict[str, object]:
    after = [one for one in of(Compaction, steps) if one.stage == "after"]
    return {
        "calls": [(call.tool_use_id, call.name, call.input) for call in of(ToolCall, steps)],
        "results": [result.tool_use_id for result in of(ToolResult, steps)],
        "sums": sums(steps),
        "usage": len(of(Usage, steps)),
        "prompts": [prompt.text for prompt in of(Prompt, steps)],
        "compactions": len(after),
        "requests": len(of(Request, steps)),
    }


WHOLE = {
    "calls": [("c1", "exec_command", {"cmd": "ls"})],
    "results": ["c1"],
    "sums": (21_000, 8_000, 90),
    "usage": 2,
    "prompts": ["Go."],
    "compactions": 1,
    "requests": 2,
}


@pytest.mark.parametrize("door", DOORS)
def test_each_door_alone_tells_the_same(door: str) -> None:
    steps = told(*DOORS[door])

    assert summary(steps) == WHOLE
    assert of(TurnEnd, steps) == [TurnEnd(TURN, "completed", "Done.")]


@pytest.mark.parametrize(
    "order",
    [names for number in (2, 3) for names in permutations(DOORS, number)],
    ids="-".join,
)
def test_doors_one_after_the_other_tell_it_once(order: tuple[str, ...]) -> None:
    steps = told(*(given for door in order for given in DOORS[door]))

    assert summary(steps) == WHOLE
    assert len(of(TurnEnd, steps)) == 1


@pytest.mark.parametrize("seed", range(30))
def test_doors_that_come_mixed_tell_it_once(seed: int) -> None:
    chance = Random(seed)
    waiting = {door: list(rows) for door, rows in DOORS.items()}
    mixed: list[Row] = []
    while any(waiting.values()):
        door = chance.choice([door for door, rows in waiting.items() if rows])
        mixed.append(waiting[door].pop(0))

    found = summary(told(*mixed))

    # Where a request begins is inferred from rows, so rows that lag may begin one more.
    assert found | {"requests": 2} == WHOLE


def test_what_a_compaction_left_is_not_told_again_once_usage_came_after_it() -> None:
    steps = told(*ROLLOUT, *SERVER)

    assert [fill.used for fill in of(Fill, steps)] == [6_976]


@pytest.mark.parametrize("first", ["outer", "inner"])
def test_in_code_mode_the_calls_that_came_first_are_the_ones_that_are_told(first: str) -> None:
    outer = [
        item({"type": "custom_tool_call", "call_id": "c1", "name": "exec", "input": "text(1)"}),
        answered("c1", "out", "custom_tool_call_output"),
    ]
    inner = [
        used_tool("Pre", "exec-1", "Bash", {"command": "ls"}),
        used_tool("Post", "exec-1", "Bash", {"command": "ls"}, tool_response="out"),
    ]
    rows: list[Row] = [*outer, *inner] if first == "outer" else [*inner, *outer]
    steps = told(meta(), started(), said("user", "Go."), *rows)

    name = {"outer": "exec", "inner": "exec_command"}[first]
    assert [call.name for call in of(ToolCall, steps)] == [name]
    assert len(of(ToolResult, steps)) == 1


def test_lines_of_exec_add_nothing_to_a_rollout() -> None:
    lines: list[Row] = [
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "item_1", "type": "command_execution"}},
        {"type": "turn.completed", "usage": BOTH},
    ]

    assert summary(told(*ROLLOUT, *lines)) == WHOLE


def test_the_rows_of_a_sub_agents_own_rollout_are_told_as_its_own() -> None:
    host = runtime("codex_runtime")
    assert host is not None
    reader = host.reader(Head("codex_runtime", "their-own-id", CWD))
    for number, given in enumerate(ROLLOUT[:3]):
        list(reader.read(number, given))
    child = "019f0000-0000-7000-8000-00000000000c"
    rows = [
        meta(child, parent_thread_id=THREAD),
        started("019f0000-3000-7000-8000-00000000000c"),
        said("user", "Look."),
        called("c9", "exec_command", {"cmd": "ls"}),
        record("r-9", FIRST, thread=child, turn=""),
    ]
    steps = [
        step for number, given in enumerate(rows) for step in reader.read_side(child, number, given)
    ]

    assert of(ToolCall, steps) == [ToolCall("c9", "exec_command", {"cmd": "ls"}, TURN, child)]
    assert [used.agent_id for used in of(Usage, steps)] == [child]
    assert not of(Prompt, steps)
