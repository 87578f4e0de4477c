"""Rows that look like Claude Code's, with invented text, and what a reader makes of them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from core.recordings.contract import Head, Step
from core.recordings.recording import Recording
from core.runtimes.claude_code import RUNTIME

Row = dict[str, Any]

SESSION = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
CWD = "/repo"
BASE: Row = {"sessionId": SESSION, "cwd": CWD, "version": "2.1.332", "isSidechain": False}
HEAD = Head("claude_code", SESSION, CWD)


def user(content: Any, **more: Any) -> Row:
    return {**BASE, "type": "user", "message": {"role": "user", "content": content}, **more}


def usage(output: int = 5, given: int = 3, read: int = 40, created: int = 0) -> Row:
    return {
        "input_tokens": given,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": created,
    }


def message(*content: Row, message_id: str = "m-1", output: int = 5, **more: Any) -> Row:
    own = {"id": message_id, "model": "claude-x", "content": list(content)}
    return {**own, "usage": usage(output), **more}


def assistant(
    *content: Row,
    message_id: str = "m-1",
    output: int = 5,
    stop: str | None = "end_turn",
    **more: Any,
) -> Row:
    told = message(*content, message_id=message_id, output=output, stop_reason=stop)
    return {**BASE, "type": "assistant", "message": told, **more}


def text(value: str) -> Row:
    return {"type": "text", "text": value}


def call(call_id: str, name: str = "Bash", **given: Any) -> Row:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def result(call_id: str, content: Any = "ok", is_error: bool = False) -> Row:
    told = {"tool_use_id": call_id, "content": content, "is_error": is_error}
    return {"type": "tool_result", **told}


def attachment(kind: str, *rendered: str, **told: Any) -> Row:
    row = {**BASE, "type": "attachment", "attachment": {"type": kind, **told}}
    return {**row, "rendered": [{"content": item} for item in rendered]} if rendered else row


def boundary(**told: Any) -> Row:
    return {**BASE, "type": "system", "subtype": "compact_boundary", "compactMetadata": told}


def hook(name: str, **told: Any) -> Row:
    """A payload as a hook is given it."""
    return {
        "session_id": SESSION,
        "transcript_path": f"/house/dev/.claude/projects/-repo/{SESSION}.jsonl",
        "cwd": CWD,
        "hook_event_name": name,
        **told,
    }


def stream(kind: str, **told: Any) -> Row:
    """A line of stream-json."""
    return {"type": kind, "session_id": SESSION, "parent_tool_use_id": None, **told}


def init(uuid: str, **told: Any) -> Row:
    return stream("system", subtype="init", uuid=uuid, cwd=CWD, model="claude-x", **told)


def ended(output: int, **told: Any) -> Row:
    models = {"claude-x": {"contextWindow": 200_000}}
    common = {"subtype": "success", "is_error": False, "usage": {"output_tokens": output}}
    return stream("result", **{**common, "modelUsage": models, **told})


def said(message_id: str, *content: Row, output: int = 1, **more: Any) -> Row:
    """A stream-json line of a model's message: its usage is that of the message's beginning."""
    told = message(*content, message_id=message_id, output=output, stop_reason=None)
    return stream("assistant", message=told, **more)


def read(*rows: Row, live: bool = False, head: Head = HEAD) -> list[Step]:
    """Feed rows to one reader, as a file's or as the host sends them."""
    reader = RUNTIME.reader(head)
    steps: list[Step] = []
    for line, row in enumerate(rows, start=1):
        steps += reader.read(0 if live else line, row)
    if not live:
        steps += reader.finish(len(rows))
    return steps


def events(steps: Iterable[Step], *kinds: type) -> list[Any]:
    return [step.event for step in steps if isinstance(step.event, kinds)]


def written(path: Path, *rows: Row) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def recorded(path: str, *kinds: type) -> list[Any]:
    """Read a file with those of its sub-agents."""
    return events(Recording(path).steps(), *kinds)
