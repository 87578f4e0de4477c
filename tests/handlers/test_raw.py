"""Raw events of a host mean what the same events told by the methods mean."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from core import sessions
from core.errors import InvalidParams, NotWritten, UnknownSession
from core.later import Later, here
from core.store.failures import StoreError
from core.store.session_store import SessionStore
from handlers.method import Call
from tests.handlers.inproc import PLAN, Host

FORBIDDEN = PLAN.replace("task_prompt: Look around.", "forbidden_read: [secret]")


@pytest.fixture
def fresh(state_root: Path, tmp_path: Path) -> Iterator[Host]:
    """A client that has started no session."""
    client = Host(state_root, tmp_path / "work")
    yield client
    client.app.close()


def hook(host: Host, name: str, session: str = "S", **fields: Any) -> Any:
    event = {"hook_event_name": name, "session_id": "c1", "cwd": str(host.workspace), **fields}
    return host.ask("hostEvent", session, runtime="claude_code", event=event)


def prompt(host: Host, prompt_id: str = "p1", text: str = "hi") -> Any:
    return hook(host, "UserPromptSubmit", prompt_id=prompt_id, prompt=text)


def call(host: Host, ident: str, name: str, given: Any, prompt_id: str = "p1") -> Any:
    return hook(
        host, "PreToolUse", tool_use_id=ident, tool_name=name, tool_input=given, prompt_id=prompt_id
    )


def stop(host: Host, prompt_id: str = "p1") -> Any:
    return hook(host, "Stop", prompt_id=prompt_id, stop_hook_active=False, background_tasks=[])


def part(host: Host, event: Any, session: str = "S") -> Any:
    return host.ask("hostEvent", session, runtime="codepilot_runtime", event=event)


STEP_END = {
    "type": "finish-step",
    "finishReason": "stop",
    "usage": {"inputTokens": 90, "outputTokens": 7},
    "response": {"id": "m1", "modelId": "small"},
}


def journal(root: Path) -> list[dict[str, Any]]:
    (path,) = root.glob("sessions/*/journal.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_raw_start_starts_the_session_where_it_says(fresh: Host) -> None:
    state = hook(fresh, "SessionStart", source="startup")

    assert (state["sessionId"], state["runtime"]) == ("S", "claude_code")
    assert (state["workspace"], state["state"]) == (str(fresh.workspace), "idle")
    assert prompt(fresh) == {"injections": []}


def test_before_a_start_what_would_be_recorded_is_refused_and_what_tells_nothing_is_not(
    fresh: Host,
) -> None:
    with pytest.raises(UnknownSession):
        prompt(fresh)
    with pytest.raises(UnknownSession):
        part(fresh, STEP_END)

    assert hook(fresh, "Notification", message="hello") is None
    # The reader that saw the refused prompt is gone: it is not taken for one that was told.
    hook(fresh, "SessionStart", source="startup")
    assert prompt(fresh) == {"injections": []}
    assert stop(fresh)["accounting"]["turnId"] == "p1"


def test_a_start_without_a_folder_starts_nothing(fresh: Host) -> None:
    for folder in ("", "some/where", 7, "/a\0b", "/" + "x" * 5_000):
        assert hook(fresh, "SessionStart", cwd=folder) is None
    with pytest.raises(UnknownSession):
        fresh.ask("plan/status")


def test_a_raw_start_of_a_running_session_keeps_its_folder_and_its_plan(host: Host) -> None:
    host.arm()

    state = hook(host, "SessionStart", source="compact", cwd=str(host.workspace / "below"))

    assert (state["state"], state["workspace"]) == ("armed", str(host.workspace))


def test_a_raw_turn_has_the_account_of_one_that_was_told(host: Host) -> None:
    prompt(host)
    call(host, "c1", "Bash", {"command": "ls"})
    hook(
        host, "PostToolBatch", prompt_id="p1",
        tool_calls=[{"tool_name": "Bash", "tool_use_id": "c1", "tool_input": {"command": "ls"},
                     "tool_response": "a\nb"}],
    )  # fmt: skip
    raw = stop(host)

    host.start("T")
    host.ask("prompt", "T", turnId="p1", text="hi")
    host.ask("toolCall", "T", toolUseId="c1", name="Bash", input={"command": "ls"})
    host.ask("toolResult", "T", toolUseId="c1", content="a\nb")
    told = host.end("p1", "T")

    assert raw["accounting"]["snapshot"] == told["accounting"]["snapshot"]
    assert raw["accounting"]["snapshot"]["entries"]["tools"]["tokens"] == 5
    assert (raw["decision"], raw["accounting"]["final"]) == ("allow", True)


def test_a_plan_drives_a_session_of_raw_events(host: Host) -> None:
    host.arm(text=FORBIDDEN)

    (injection,) = prompt(host)["injections"]
    denied = call(host, "c1", "Read", {"file_path": "secret/key"})
    blocked = stop(host)
    host.write("out.md", "x")
    call(host, "c2", "Skill", {"skill": "shape"})
    hook(host, "PostToolUse", prompt_id="p1", tool_use_id="c2", tool_name="Skill",
         tool_input={"skill": "shape"}, tool_response={"success": True})  # fmt: skip
    advanced = stop(host)

    assert injection["kind"] == "phase"
    assert (denied["deny"], "secret" in denied["reason"]) == (True, True)
    assert (blocked["decision"], blocked["attempt"]) == ("block", 1)
    assert (advanced["decision"], advanced["phase"]["phaseId"]) == ("continue", "build")


def test_raw_notifications_push_what_they_would_have_answered(host: Host) -> None:
    host.arm()
    for name, fields in (("UserPromptSubmit", {"prompt": "hi"}), ("Stop", {})):
        event = {"hook_event_name": name, "session_id": "c1", "prompt_id": "p1", **fields}
        host.tell("hostEvent", runtime="claude_code", event=event)

    assert [push["turnId"] for push in host.pushes("injection")] == ["p1"]
    assert [push["attempt"] for push in host.pushes("correction")] == [1]
    assert host.pushes("accounting")[-1]["turnId"] == "p1"


def test_a_denied_call_among_several_is_what_is_answered(host: Host) -> None:
    host.arm(text=FORBIDDEN)
    prompt(host)
    calls = [
        {"tool_name": "Read", "tool_use_id": name, "tool_input": {"file_path": f"{name}/key"},
         "tool_response": "x"}
        for name in ("secret", "open")
    ]  # fmt: skip

    assert hook(host, "PostToolBatch", prompt_id="p1", tool_calls=calls)["deny"] is True


def test_a_loop_without_a_start_event_is_started_by_its_owner(fresh: Host) -> None:
    fresh.start(runtime="codepilot_runtime")
    fresh.ask("prompt", turnId="t1", text="hi")

    assert part(fresh, {"type": "start"}) is None
    part(fresh, {"type": "tool-call", "toolCallId": "c", "toolName": "Bash", "input": {"a": 1}})
    part(fresh, {"type": "tool-result", "toolCallId": "c", "toolName": "Bash", "output": "done"})
    assert part(fresh, STEP_END) is None

    fresh.run_soon()
    (live,) = fresh.pushes("accounting")
    assert (live["usage"]["input"], live["usage"]["output"]) == (90, 7)
    assert live["snapshot"]["entries"]["tools"]["detail"] == "Bash × 1"
    assert live["final"] is False


def test_a_raw_event_of_another_runtime_than_the_session_s_is_refused(host: Host) -> None:
    with pytest.raises(InvalidParams) as refused:
        part(host, STEP_END)

    assert refused.value.field == "runtime"
    assert "claude_code" in refused.value.hint


def test_a_host_of_its_own_has_no_raw_events(host: Host) -> None:
    with pytest.raises(InvalidParams) as refused:
        host.ask("hostEvent", runtime="x-mine", event={})

    assert refused.value.field == "runtime"
    assert "codex_runtime" in refused.value.hint


def test_what_was_told_before_the_end_of_a_session_is_told_again_after_it(host: Host) -> None:
    for _ in range(2):
        prompt(host)
        call(host, "c1", "Bash", None)
        call(host, "c1", "Bash", None)  # Once more by another hook: told once.
        verdict = stop(host)
        assert verdict["accounting"]["snapshot"]["entries"]["tools"]["detail"] == "Bash × 1"
        assert hook(host, "SessionEnd", reason="other") is None
        with pytest.raises(UnknownSession):
            prompt(host)
        host.start()


@contextmanager
def full_disk(host: Host, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(*_: object) -> None:
        raise StoreError("write", "journal", OSError(28, "No space left on device"))

    with monkeypatch.context() as broken:
        broken.setattr(SessionStore, "append", refuse)
        with pytest.raises(NotWritten):
            yield


def test_what_the_disk_refused_is_told_with_the_next_event(
    host: Host, monkeypatch: pytest.MonkeyPatch, state_root: Path
) -> None:
    prompt(host)
    with full_disk(host, monkeypatch):
        call(host, "c1", "Bash", None)

    call(host, "c1", "Bash", None)
    call(host, "c2", "Bash", None)

    calls = [line["tool_use_id"] for line in journal(state_root) if line["kind"] == "tool_called"]
    assert calls == ["c1", "c2"]


def test_what_follows_a_turn_end_waits_for_its_slow_checks(
    host: Host, monkeypatch: pytest.MonkeyPatch, state_root: Path
) -> None:
    host.arm(text=FORBIDDEN)
    prompt(host)
    with full_disk(host, monkeypatch):
        stop(host)
    monkeypatch.setattr(sessions, "INLINE_S", -1.0)  # All checks are carried out elsewhere.
    (method,) = (m for m in host.app.methods if m.name == "turnkeeper/hostEvent")
    given = {"hook_event_name": "PreToolUse", "tool_use_id": "c1", "tool_name": "Read",
             "tool_input": {"file_path": "secret/key"}}  # fmt: skip
    params = {"sessionId": "S", "runtime": "claude_code", "event": given}

    found = method.handle(method.structure(params), Call.REQUEST)
    assert isinstance(found, Later)
    before = journal(state_root)
    answer = method.unstructure(here(found))

    told = [line["kind"] for line in journal(state_root)[len(before) :]]
    assert told.index("turn_accounted") < told.index("tool_called")
    assert answer["deny"] is True


WRONG: tuple[Any, ...] = (
    None, True, 0, -1, 2**70, 1.5, float("inf"), "", "x", "\ud800", [], [None], [[]], {},
    {"a": None},
)  # fmt: skip
SHAPES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("claude_code", {"hook_event_name": "PreToolUse", "session_id": "c", "tool_use_id": "c",
                     "tool_name": "Skill", "tool_input": {"skill": "a"}, "agent_id": "b"}),
    ("claude_code", {"hook_event_name": "Stop", "session_id": "c", "prompt_id": "p",
                     "background_tasks": [], "last_assistant_message": "x"}),
    ("claude_code", {"type": "assistant", "sessionId": "c", "uuid": "u",
                     "message": {"id": "m", "content": [], "usage": {"input_tokens": 1}}}),
    ("claude_code", {"type": "system", "subtype": "init", "session_id": "c", "cwd": "/",
                     "tools": [], "model": "m"}),
    ("codex_runtime", {"type": "event_msg", "timestamp": "t", "payload": {
        "type": "token_count", "info": {"last_token_usage": {"input_tokens": 1}}}}),
    ("codex_runtime", {"method": "item/completed", "params": {"threadId": "c", "item": {
        "type": "commandExecution", "id": "i", "command": "ls"}}}),
    ("codepilot_runtime", STEP_END),
    ("acp_agent", {"sessionId": "c", "update": {"sessionUpdate": "tool_call", "toolCallId": "c",
                                                "title": "t", "rawInput": {}}}),
)  # fmt: skip


def spoiled(value: Any) -> Iterator[Any]:
    """Give copies of a JSON value, each with one thing in it replaced by something wrong."""
    yield from WRONG
    if isinstance(value, dict):
        for key, inner in value.items():
            for other in spoiled(inner):
                yield {**value, key: other}


@pytest.mark.parametrize(("runtime", "event"), SHAPES)
def test_no_shape_of_a_raw_event_is_an_error(
    fresh: Host, runtime: str, event: dict[str, Any]
) -> None:
    for number, wrong in enumerate(x for x in spoiled(event) if isinstance(x, dict)):
        session = f"S{number % 5}"
        if number < 5:
            fresh.start(session, runtime=runtime)
        fresh.ask("hostEvent", session, runtime=runtime, event=wrong)

    for number in range(5):
        account = fresh.ask("accounting/snapshot", f"S{number}")
        json.dumps(account, ensure_ascii=False, allow_nan=False)


def test_an_event_that_is_nested_deep_counts_as_any_other(host: Host) -> None:
    prompt(host)
    deep = json.loads("[" * 900 + "]" * 900)

    assert call(host, "c1", "Bash", deep) is None

    assert stop(host)["accounting"]["snapshot"]["entries"]["tools"]["tokens"] == 450


def test_the_usage_of_a_sub_agent_is_its_own(host: Host) -> None:
    host.ask("prompt", turnId="t1", text="hi")
    host.ask("usage", input=100, output=5, messageId="m1")
    host.ask("toolCall", toolUseId="c", name="Bash", input=None, agentId="helper")
    host.ask("usage", input=40, output=2, messageId="m2", agentId="helper")

    account = host.ask("accounting/snapshot")

    assert (account["usage"]["input"], account["usage"]["output"]) == (100, 5)
    (agent,) = account["snapshot"]["subagents"]
    assert (agent["agentId"], agent["usage"]["input"], agent["usage"]["output"]) == (
        "helper",
        40,
        2,
    )
