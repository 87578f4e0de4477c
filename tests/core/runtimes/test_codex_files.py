"""Which raw events and files are Codex's, whose they are, and where they lie."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.events import SessionStart
from core.recordings.contract import Head
from core.recordings.recording import Recording
from core.runtimes.codex_runtime import RUNTIME
from core.runtimes.registry import known, runtime
from tests.core.runtimes.codex_given import (
    CWD,
    PARENT,
    THREAD,
    TURN,
    called,
    completed,
    count,
    counted,
    event,
    figures,
    hook,
    item,
    message,
    meta,
    record,
    response,
    row,
    said,
    shown,
    started,
    thread_started,
    told,
    turn_completed,
    used_tool,
)

Row = dict[str, Any]

OWN: list[Row] = [
    meta(),
    started(),
    said("user", "Go."),
    row("turn_context", {"cwd": CWD}),
    row("compacted", {"message": ""}),
    row("world_state", {}),
    record("r-1", figures(1, 1)),
    {"id": "old", "timestamp": "2025-09-10T18:58:38.331Z", "instructions": None, "git": {}},
    {"record_type": "state"},
    message("user", "Go."),
    message("assistant", "Done."),
    {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": ""},
    {"type": "reasoning", "summary": []},
    thread_started(),
    shown("started", {"type": "agentMessage"}),
    turn_completed("completed"),
    {"direction": "from", "message": turn_completed("completed")},
    {"type": "thread.started", "thread_id": THREAD},
    {"type": "turn.completed", "usage": {}},
    {"type": "item.completed", "item": {}},
    hook("Stop"),
    {"hook_event_name": "Stop", "turn_id": TURN, "session_id": THREAD},
    {"event": "Stop", "time": 1, "payload": hook("Stop")},
    {"type": "agent-turn-complete", "turn-id": TURN},
]
OTHERS: list[Row] = [
    {},
    {"type": "user", "message": {"role": "user", "content": "Go."}, "sessionId": "s"},
    {"type": "message", "message": {"role": "user", "content": [{"type": "text"}]}},
    {"hook_event_name": "Stop", "session_id": "s", "transcript_path": "/p/s.jsonl"},
    {"jsonrpc": "2.0", "method": "session/update", "params": {"update": {}}},
    {"method": "session/update", "params": {"update": {}}},
    {"type": "finish-step", "usage": {}},
    {"type": "tool-call", "toolCallId": "c1", "toolName": "t", "input": {}},
    {"type": "error", "message": "no"},
    {"type": "assistant", "payload": {}},
]


TELLING: list[Row] = [
    event("item_completed", thread_id=THREAD, turn_id=TURN, item={"type": "CommandExecution"}),
    event("token_count", info=None),
    said("user", '"type":"world_state"'),
]


@pytest.mark.parametrize("given_row", OWN, ids=str)
def test_each_shape_is_known_as_codexs_and_no_other_hosts(given_row: Row) -> None:
    claims = [name for name in known() if (found := runtime(name)) and found.recognise(given_row)]

    assert claims == ["codex_runtime"]


@pytest.mark.parametrize("given_row", OTHERS, ids=str)
def test_other_programs_rows_are_not_codexs(given_row: Row) -> None:
    assert not RUNTIME.recognise(given_row)


def test_a_rollout_says_whose_it_is() -> None:
    rows = [meta(), started(), row("turn_context", {"model": "some-model"})]

    assert RUNTIME.head("/x.jsonl", iter(rows)) == Head(
        "codex_runtime", THREAD, CWD, "some-model", "0.171.0", path="/x.jsonl"
    )


def test_a_sub_agents_and_a_forks_rollout_name_the_thread_they_came_from() -> None:
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "depth": 1}}}
    child = RUNTIME.head("/x.jsonl", iter([meta(source=spawned)]))
    newer = RUNTIME.head(
        "/x.jsonl", iter([meta(thread_source="subagent", parent_thread_id=PARENT), meta(PARENT)])
    )
    fork = RUNTIME.head("/x.jsonl", iter([meta(forked_from_id=PARENT, source="cli")]))

    assert [
        (head.session_id, head.side_only, head.parent_session_id) for head in (child, newer)
    ] == [(THREAD, True, PARENT)] * 2
    assert (fork.side_only, fork.parent_session_id) == (False, PARENT)


@pytest.mark.parametrize(
    ("rows", "session_id", "cwd"),
    [
        (
            [
                {"id": "old", "timestamp": "2025-09-10T18:58:38Z", "instructions": ""},
                message(
                    "user", "<environment_context>\n  <cwd>/repo/old</cwd>\n</environment_context>"
                ),
            ],
            "old",
            "/repo/old",
        ),
        ([thread_started()], THREAD, CWD),
        ([{"type": "thread.started", "thread_id": THREAD}], THREAD, ""),
        ([hook("Stop")], THREAD, CWD),
        ([{"record_type": "state"}], "019f0000-0000-7000-8000-0000000000aa", ""),
    ],
)
def test_every_shape_says_whose_it_is(rows: list[Row], session_id: str, cwd: str) -> None:
    path = "/s/rollout-2026-07-01T10-00-00-019f0000-0000-7000-8000-0000000000aa.jsonl"
    head = RUNTIME.head(path, iter(rows))

    assert (head.session_id, head.cwd) == (session_id, cwd)


REPEATING: list[Row] = [
    row("world_state", {"full": True}),
    {"timestamp": "t", "ordinal": 5, "type": "world_state", "payload": {}},
    event("thread_settings_applied", thread_id=THREAD),
    event("item_completed", thread_id=THREAD, turn_id=TURN, item={"type": "AgentMessage"}),
]


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_rows_that_repeat_others_are_known_before_they_are_parsed(
    separators: tuple[str, str],
) -> None:
    assert RUNTIME.is_idle is not None
    lines = {
        kind: [json.dumps(one, separators=separators).encode() + b"\n" for one in rows]
        for kind, rows in {"repeating": REPEATING, "telling": [*TELLING, *OWN]}.items()
    }

    assert all(RUNTIME.is_idle(line) for line in lines["repeating"])
    assert not any(RUNTIME.is_idle(line[:-2]) for line in lines["repeating"])
    idle = [line for line in lines["telling"] if RUNTIME.is_idle(line)]
    assert [json.loads(line)["type"] for line in idle] == ["world_state"]
    assert not any(told(one) for one in REPEATING)


def test_a_recording_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    rows = [meta(), started(), said("user", "Go."), completed()]
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    recording = Recording(str(path))
    steps = list(recording.steps())

    start = steps[0].event
    assert isinstance(start, SessionStart)
    assert (start.runtime, start.workspace) == ("codex_runtime", CWD)
    assert [type(step.event).__name__ for step in steps[1:]] == [
        "Context",
        "Prompt",
        "TurnEnd",
        "SessionEnd",
    ]
    assert not recording.faults


def written(home: Path, day: str, name: str, cwd: str, age: int) -> str:
    folder = home / "sessions" / day
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rollout-{name}.jsonl"
    path.write_text(json.dumps(meta(f"t-{name}", cwd=cwd)) + "\n", encoding="utf-8")
    os.utime(path, (1_000_000 - age, 1_000_000 - age))
    return str(path)


def test_the_recordings_of_a_workspace_come_newest_first(tmp_path: Path) -> None:
    here, there = str(tmp_path / "here"), str(tmp_path / "there")
    codex = tmp_path / ".codex"
    old = written(codex, "2026/06/30", "a", here, age=5)
    written(codex, "2026/07/01", "b", there, age=4)
    resumed = written(codex, "2026/05/01", "c", here, age=1)
    (codex / "sessions" / "2026" / "07" / "01" / "rollout-d.jsonl").write_text("", encoding="utf-8")
    (codex / "sessions" / "notes.txt").write_text("", encoding="utf-8")
    assert RUNTIME.recordings is not None

    assert RUNTIME.recordings(str(tmp_path), {}, here) == [resumed, old]
    assert len(RUNTIME.recordings(str(tmp_path), {}, "")) == 4
    assert RUNTIME.recordings("/nowhere", {"CODEX_HOME": str(codex)}, here) == [resumed, old]
    assert RUNTIME.recordings("/nowhere", {}, here) == []


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(2**70),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(["[{", '{"output":', "data:image/png;base64,AA", "<skill>", "\ud800"]),
    st.lists(st.none(), max_size=2),
    st.dictionaries(st.sampled_from(["type", "text", "content", "id"]), st.none(), max_size=2),
)
SOUND: list[Row] = [
    *OWN,
    called("c1", "exec_command", {"cmd": "cat /a/SKILL.md"}),
    item({"type": "function_call_output", "call_id": "c1", "output": "out"}),
    count(figures(9, 4), figures(9, 4)),
    counted(figures(9, 4), figures(9, 4)),
    response("r-1", figures(9, 4)),
    used_tool("Post", "c1", "Bash", {"command": "ls"}, tool_response="x"),
    row("compacted", {"replacement_history": [message("user", "x")]}),
]


@given(st.lists(st.tuples(st.sampled_from(SOUND), st.data()), min_size=1, max_size=6))
def test_wrong_types_in_any_field_tell_less_and_never_throw(
    rows: list[tuple[Row, st.DataObject]],
) -> None:
    broken = [_broken(json.loads(json.dumps(sound)), data) for sound, data in rows]
    head = RUNTIME.head("/x.jsonl", iter(broken))
    reader = RUNTIME.reader(head)

    for line, one in enumerate(broken):
        assert RUNTIME.recognise(one) in (True, False)
        list(reader.read(line, one))
        list(reader.read_side("a", line, one))
    list(reader.finish(0))


def _broken(value: Row, data: st.DataObject) -> Row:
    place: Any = value
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        inner = place[key]
        if not isinstance(inner, (dict, list)) or not inner or data.draw(st.booleans()):
            place[key] = data.draw(JUNK)
            return value
        place = inner
