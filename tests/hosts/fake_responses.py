"""The Responses API of the fake model, as Codex speaks it."""

import json
import time
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from tests.hosts.fake_model import Block, Model, Reply, Tokens

Json: TypeAlias = Any


class Tool(NamedTuple):
    """A tool that a request offers; those of an MCP server stand in a namespace."""

    name: str
    namespace: str | None = None
    runs_scripts: bool = False  # Newer models get one tool that runs JavaScript.


def user_items(body: Json) -> list[Json]:
    """List the input items; a bare text is one user message."""
    given = body.get("input")
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(given or [])


def offered(body: Json) -> dict[str, Tool]:
    """List the tools of a request by their whole name."""
    tools = list(body.get("tools") or [])
    for item in user_items(body):
        if item.get("type") == "additional_tools":
            tools += item.get("tools") or []
    found: dict[str, Tool] = {}
    for tool in tools:
        if tool.get("type") != "namespace":
            name = tool.get("name") or tool.get("type") or ""
            found[name] = Tool(name)
            continue
        for inner in tool.get("tools", []):
            runs = inner.get("type") == "custom" and inner["name"] == "exec"
            found[tool["name"] + inner["name"]] = Tool(inner["name"], tool["name"], runs)
    return found


def response_of(
    model: Model, reply: Reply, tokens: Tokens, body: Json, tools: dict[str, Tool]
) -> Json:
    """Give the whole response to a request."""
    read = tokens.input + tokens.cache_write + tokens.cache_read
    return {
        "id": model.new_id("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "model": body.get("model", "fake"),
        "status": "completed",
        "output": [_item(model, block, tools) for block in reply.blocks],
        "usage": {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": tokens.cache_read},
            "output_tokens": tokens.output,
            "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
            "total_tokens": read + tokens.output,
        },
    }


def _item(model: Model, block: Block, tools: dict[str, Tool]) -> Json:
    if block.kind == "text":
        said = {"type": "output_text", "text": block.value, "annotations": []}
        return {
            "type": "message",
            "id": model.new_id("msg"),
            "role": "assistant",
            "status": "completed",
            "content": [said],
        }
    if block.kind == "thinking":
        return {
            "type": "reasoning",
            "id": model.new_id("rs"),
            "summary": [{"type": "summary_text", "text": block.value}],
            "encrypted_content": "c2VhbGVk",
        }
    return _call(model, block, tools)


def _call(model: Model, block: Block, tools: dict[str, Tool]) -> Json:
    name, given, is_custom = _resolved(block, tools)
    script = next((tool.name for tool in tools.values() if tool.runs_scripts), None)
    if script is not None and name not in tools:
        name, given, is_custom = script, f"text(await tools.{name}({json.dumps(given)}));", True
    common = {"status": "completed", "call_id": model.new_id("call")}
    if is_custom:
        item = {"type": "custom_tool_call", "id": model.new_id("ctc"), "input": given}
        return {**item, **common, "name": name}
    tool = tools.get(name) or _deferred(name)
    item = {"type": "function_call", "id": model.new_id("fc"), "arguments": json.dumps(given)}
    space = {} if tool.namespace is None else {"namespace": tool.namespace}
    return {**item, **common, **space, "name": tool.name}


def _deferred(name: str) -> Tool:
    """Give a tool that is not offered; one of an MCP server can be called all the same."""
    server, _, own = name.rpartition("__")
    return Tool(own, server) if server.startswith("mcp__") else Tool(name)


def _resolved(block: Block, tools: dict[str, Tool]) -> tuple[str, Json, bool]:
    if block.kind == "shell":
        if "shell" in tools:
            return "shell", {"command": ["bash", "-lc", block.value]}, False
        return "exec_command", {"cmd": block.value}, False
    return block.name, block.value, block.kind == "custom"


def response_events(response: Json) -> Iterator[Json]:
    """Give the events that stream a response."""
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    for index, item in enumerate(response["output"]):
        opened = {**item, "status": "in_progress"}
        if item["type"] == "message":
            opened["content"] = []
        yield {"type": "response.output_item.added", "output_index": index, "item": opened}
        place = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            said = {"content_index": 0, "delta": item["content"][0]["text"]}
            yield {"type": "response.output_text.delta", **place, **said}
        elif item["type"] == "function_call":
            kind = "response.function_call_arguments.delta"
            yield {"type": kind, **place, "delta": item["arguments"]}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": response}
