"""Look-alikes of what Codex writes and sends, with invented text, and a reader to give them to."""

import json
from collections.abc import Iterable
from typing import Any, TypeVar

from core.events import Usage
from core.recordings.contract import Head, Step
from core.runtimes.registry import runtime

Row = dict[str, Any]
Found = TypeVar("Found")

CWD = "/repo/shop"
THREAD = "019f0000-0000-7000-8000-000000000001"
TURN = "019f0000-1000-7000-8000-000000000001"
SECOND_TURN = "019f0000-2000-7000-8000-000000000001"
PARENT = "019e0000-0000-7000-8000-000000000001"
PARENT_TURN = "019e0000-1000-7000-8000-000000000001"


def told(*rows: Row, session_id: str = THREAD, side_only: bool = False) -> list[Step]:
    """Read raw events as a host sends them, one by one, and end the recording."""
    host = runtime("codex_runtime")
    assert host is not None
    reader = host.reader(Head("codex_runtime", session_id, CWD, side_only=side_only))
    steps = [step for line, row in enumerate(rows, 1) for step in reader.read(line, row)]
    return [*steps, *reader.finish(len(rows))]


def of(kind: type[Found], steps: Iterable[Step]) -> list[Found]:
    """Pick the events of one kind."""
    return [step.event for step in steps if isinstance(step.event, kind)]


def sums(steps: Iterable[Step]) -> tuple[int, int, int]:
    """Sum what was used: input, part of it from the cache, output."""
    used = of(Usage, steps)
    return (
        sum(one.input_tokens for one in used),
        sum(one.cache_read_tokens for one in used),
        sum(one.output_tokens for one in used),
    )


# Rollouts.


def row(kind: str, payload: Row, timestamp: str = "2026-07-01T10:00:00.000Z") -> Row:
    return {"timestamp": timestamp, "type": kind, "payload": payload}


def meta(thread: str = THREAD, **more: Any) -> Row:
    base = {"text": "You are a careful helper."}
    payload = {"id": thread, "cwd": CWD, "cli_version": "0.171.0", "base_instructions": base}
    return row("session_meta", {**payload, **more})


def event(kind: str, **more: Any) -> Row:
    return row("event_msg", {"type": kind, **more})


def started(turn: str = TURN, window: int = 200_000) -> Row:
    return event("task_started", turn_id=turn, model_context_window=window)


def completed(turn: str = TURN, text: str = "Done.", **more: Any) -> Row:
    return event("task_complete", turn_id=turn, last_agent_message=text, **more)


def message(role: str, *texts: str, **more: Any) -> Row:
    part = "output_text" if role == "assistant" else "input_text"
    content = [{"type": part, "text": text} for text in texts]
    return {"type": "message", "role": role, "content": content, **more}


def item(payload: Row) -> Row:
    return row("response_item", payload)


def said(role: str, *texts: str, **more: Any) -> Row:
    return item(message(role, *texts, **more))


def called(call_id: str, name: str, arguments: Any, **more: Any) -> Row:
    given = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call = {"type": "function_call", "call_id": call_id, "name": name, "arguments": given}
    return item({**call, **more})


def answered(call_id: str, output: Any = "ok", kind: str = "function_call_output") -> Row:
    return item({"type": kind, "call_id": call_id, "output": output})


def shell_output(text: str, code: int = 0) -> str:
    return (
        f"Chunk ID: ab12\nWall time: 0.1 seconds\nProcess exited with code {code}\nOutput:\n{text}"
    )


def figures(sent: int, made: int, cached: int = 0, total: int | None = None) -> Row:
    return {
        "input_tokens": sent,
        "cached_input_tokens": cached,
        "output_tokens": made,
        "total_tokens": sent + made if total is None else total,
    }


def count(total: Row, last: Row, window: int | None = 200_000) -> Row:
    info = {"total_token_usage": total, "last_token_usage": last}
    return event("token_count", info={**info, "model_context_window": window})


def record(response: str, usage: Row, thread: str = THREAD, turn: str = TURN) -> Row:
    named = {"thread_id": thread, "turn_id": turn, "response_id": response}
    return row("token_usage_record", {**named, "usage": usage, "thread_token_usage": usage})


# The app-server.


def notice(method: str, thread: str = THREAD, **params: Any) -> Row:
    return {"method": method, "params": {"threadId": thread, **params}}


def thread_started(thread: str = THREAD, **more: Any) -> Row:
    return {"method": "thread/started", "params": {"thread": {"id": thread, "cwd": CWD, **more}}}


def shown(stage: str, given: Row, turn: str = TURN, thread: str = THREAD) -> Row:
    return notice(f"item/{stage}", thread, turnId=turn, item=given)


def counted(total: Row, last: Row, thread: str = THREAD, turn: str = TURN) -> Row:
    usage = {"total": _camel(total), "last": _camel(last), "modelContextWindow": 200_000}
    return notice("thread/tokenUsage/updated", thread, turnId=turn, tokenUsage=usage)


def _camel(data: Row) -> Row:
    names = {
        "input_tokens": "inputTokens",
        "cached_input_tokens": "cachedInputTokens",
        "output_tokens": "outputTokens",
        "total_tokens": "totalTokens",
    }
    return {names[key]: value for key, value in data.items()}


def turn_completed(status: str, turn: str = TURN, thread: str = THREAD) -> Row:
    return notice("turn/completed", thread, turn={"id": turn, "status": status, "items": []})


# Hooks.


def hook(name: str, **more: Any) -> Row:
    path = f"/house/dev/.codex/sessions/2026/07/01/rollout-2026-07-01T10-00-00-{THREAD}.jsonl"
    base = {"session_id": THREAD, "turn_id": TURN, "transcript_path": path, "cwd": CWD}
    return {**base, "hook_event_name": name, **more}


def used_tool(stage: str, call_id: str, name: str, given: Any, **more: Any) -> Row:
    return hook(f"{stage}ToolUse", tool_use_id=call_id, tool_name=name, tool_input=given, **more)


def response(response_id: str, usage: Row | None, request: str = "q-1", **more: Any) -> Row:
    named = {"request_id": request, "response_id": response_id, "thread_id": THREAD}
    given = {"status": "completed", "token_usage": usage, **named, **more}
    return hook("PostModelRequest", **given)
