"""Rows that look like those of each host, shape by shape, with invented text; sequences of them."""

from typing import Any

Row = dict[str, Any]

_CLAUDE_FILE = "/users/dev/.claude/projects/-repo/s-1.jsonl"
_CODEX_FILE = "/users/dev/.codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-th-1.jsonl"
_USAGE = {"input_tokens": 3, "cache_read_input_tokens": 40, "output_tokens": 5}
_CODEX_USAGE = {"input_tokens": 90, "cached_input_tokens": 40, "output_tokens": 5}


def _transcript(kind: str, **told: Any) -> Row:
    base = {"sessionId": "s-1", "cwd": "/repo", "version": "2.1.332", "isSidechain": False}
    return {**base, "uuid": "u-1", "parentUuid": None, "type": kind, **told}


def _assistant(*content: Row, **more: Any) -> Row:
    return {"id": "m-1", "role": "assistant", "model": "claude-x", "content": [*content], **more}


_TOOL_USE = {"type": "tool_use", "id": "t-1", "name": "Bash", "input": {"command": "ls"}}
_TOOL_RESULT = {"type": "tool_result", "tool_use_id": "t-1", "content": "a.txt", "is_error": False}

CLAUDE_TRANSCRIPT: list[Row] = [
    _transcript("user", message={"role": "user", "content": "List the files."}),
    _transcript("attachment", attachment={"type": "skill_listing", "names": ["notes"]}),
    _transcript(
        "attachment",
        attachment={"type": "instructions", "files": [{"path": "/repo/CLAUDE.md", "content": "x"}]},
    ),
    _transcript("assistant", message=_assistant(_TOOL_USE, usage=_USAGE), requestId="r-1"),
    _transcript("user", message={"role": "user", "content": [_TOOL_RESULT]}, toolUseResult={}),
    _transcript("system", subtype="compact_boundary", compactMetadata={"preTokens": 9}),
    _transcript("assistant", message=_assistant({"type": "text", "text": "One."}, usage=_USAGE)),
    _transcript("system", subtype="stop_hook_summary", hookErrors=[], toolUseID="h-1"),
    {"type": "summary", "summary": "A talk.", "leafUuid": "u-1"},
]


def _stream(kind: str, **told: Any) -> Row:
    return {"type": kind, "session_id": "s-1", "uuid": "u-1", **told}


CLAUDE_STREAM: list[Row] = [
    _stream("system", subtype="init", cwd="/repo", tools=["Bash"], mcp_servers=[], model="m"),
    _stream(
        "assistant",
        message=_assistant(_TOOL_USE, usage=_USAGE, type="message"),
        parent_tool_use_id=None,
    ),
    _stream("user", message={"role": "user", "content": [_TOOL_RESULT]}, parent_tool_use_id=None),
    _stream("result", subtype="success", usage=_USAGE, modelUsage={}, num_turns=1, is_error=False),
]


def _hook(event: str, file: str, **told: Any) -> Row:
    base = {"session_id": "s-1", "transcript_path": file, "cwd": "/repo"}
    return {**base, "hook_event_name": event, **told}


_TOOL = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t-1"}

CLAUDE_HOOKS: list[Row] = [
    _hook("SessionStart", _CLAUDE_FILE, source="startup"),
    _hook("UserPromptSubmit", _CLAUDE_FILE, prompt="List the files.", prompt_id="p-1"),
    _hook("PreToolUse", _CLAUDE_FILE, **_TOOL, prompt_id="p-1"),
    _hook("PostToolUse", _CLAUDE_FILE, **_TOOL, tool_response={"stdout": "a.txt"}, prompt_id="p-1"),
    _hook(
        "PostToolBatch", _CLAUDE_FILE, prompt_id="p-1",
        tool_calls=[{**_TOOL, "tool_response": "a.txt"}],
    ),
    _hook(
        "Stop", _CLAUDE_FILE, prompt_id="p-1", stop_hook_active=False, last_assistant_message="One."
    ),
    _hook("SessionEnd", _CLAUDE_FILE, reason="other"),
]  # fmt: skip

CODEX_HOOKS: list[Row] = [
    _hook("SessionStart", _CODEX_FILE, source="startup", model="gpt-x"),
    _hook("UserPromptSubmit", _CODEX_FILE, prompt="List.", turn_id="th-t1", model="gpt-x"),
    _hook("PreToolUse", _CODEX_FILE, **_TOOL, turn_id="th-t1", model="gpt-x"),
    _hook("PostToolUse", _CODEX_FILE, **_TOOL, tool_response="a", turn_id="th-t1", model="gpt-x"),
    _hook(
        "PostModelRequest", _CODEX_FILE, kind="sampling", request_id="q-1", thread_id="th-1",
        status="completed", token_usage=_CODEX_USAGE, turn_id="th-t1", model="gpt-x",
    ),
    _hook("Stop", _CODEX_FILE, stop_hook_active=False, turn_id="th-t1", model="gpt-x"),
]  # fmt: skip


def _recorded(row: Row) -> Row:
    return {"event": row["hook_event_name"], "time": 1.5, "payload": row}


def _line(kind: str, **payload: Any) -> Row:
    return {"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload}


CODEX_ROLLOUT: list[Row] = [
    _line("session_meta", id="th-1", cwd="/repo", cli_version="0.171.0", originator="codex_exec"),
    _line("event_msg", type="task_started", turn_id="t-1", model_context_window=1000),
    _line("turn_context", turn_id="t-1", cwd="/repo", model="gpt-x"),
    _line(
        "response_item", type="message", role="user",
        content=[{"type": "input_text", "text": "List."}],
    ),
    _line("event_msg", type="user_message", message="List."),
    _line(
        "response_item", type="function_call", call_id="c-1", name="shell",
        arguments='{"command":["ls"]}',
    ),
    _line("response_item", type="function_call_output", call_id="c-1", output="a.txt"),
    _line(
        "event_msg", type="token_count",
        info={
            "total_token_usage": _CODEX_USAGE, "last_token_usage": _CODEX_USAGE,
            "model_context_window": 1000,
        },
    ),
    _line("token_usage_record", turn_id="t-1", response_id="r-1", usage=_CODEX_USAGE),
    _line("compacted", message="", replacement_history=[]),
    _line("event_msg", type="task_complete", turn_id="t-1", last_agent_message="One."),
]  # fmt: skip

_COMMAND = {"id": "item_1", "type": "command_execution", "command": "ls"}

CODEX_EXEC: list[Row] = [
    {"type": "thread.started", "thread_id": "th-1"},
    {"type": "turn.started"},
    {"type": "item.started", "item": {**_COMMAND, "status": "in_progress"}},
    {
        "type": "item.completed",
        "item": {**_COMMAND, "aggregated_output": "a.txt", "exit_code": 0, "status": "completed"},
    },
    {"type": "item.completed", "item": {"id": "item_2", "type": "agent_message", "text": "One."}},
    {"type": "turn.completed", "usage": _CODEX_USAGE},
]


def _server(method: str, **params: Any) -> Row:
    return {"direction": "from", "message": {"method": method, "params": params}}


_IDS = {"threadId": "th-1", "turnId": "t-1"}
_ITEM = {"type": "commandExecution", "id": "c-1", "command": "ls", "status": "inProgress"}
_SUM = {"totalTokens": 95, "inputTokens": 90, "cachedInputTokens": 40, "outputTokens": 5}

CODEX_SERVER: list[Row] = [
    {"direction": "to", "message": {"id": 1, "method": "initialize", "params": {"clientInfo": {}}}},
    {
        "direction": "to",
        "message": {"id": 2, "method": "thread/start", "params": {"cwd": "/repo"}},
    },
    _server("thread/started", thread={"id": "th-1"}),
    _server("turn/started", threadId="th-1", turn={"id": "t-1", "status": "inProgress"}),
    _server("item/started", **_IDS, item=_ITEM),
    _server("item/completed", **_IDS, item={**_ITEM, "aggregatedOutput": "a.txt", "exitCode": 0}),
    _server(
        "thread/tokenUsage/updated", **_IDS,
        tokenUsage={"total": _SUM, "last": _SUM, "modelContextWindow": 1000},
    ),
    _server("turn/completed", threadId="th-1", turn={"id": "t-1", "status": "completed"}),
]  # fmt: skip

_STEP_USAGE = {
    "inputTokens": 90,
    "inputTokenDetails": {"noCacheTokens": 30, "cacheReadTokens": 40, "cacheWriteTokens": 20},
    "outputTokens": 5,
    "totalTokens": 95,
}
_PART_CALL = {"toolCallId": "t-1", "toolName": "ls", "input": {"path": "."}}

STREAM_PARTS: list[Row] = [
    {"type": "start"},
    {"type": "start-step", "request": {"body": {"messages": [], "tools": []}}, "warnings": []},
    {"type": "reasoning-start", "id": "0"},
    {"type": "reasoning-delta", "id": "0", "text": "Look first."},
    {"type": "reasoning-end", "id": "0"},
    {"type": "text-start", "id": "1"},
    {"type": "text-delta", "id": "1", "text": "I look."},
    {"type": "text-end", "id": "1"},
    {"type": "tool-input-start", "id": "t-1", "toolName": "ls"},
    {"type": "tool-call", **_PART_CALL},
    {"type": "tool-approval-request", "approvalId": "a-1", "toolCall": _PART_CALL},
    {"type": "tool-result", **_PART_CALL, "output": {"files": ["a.txt"]}},
    {"type": "tool-error", **_PART_CALL, "error": {"message": "no such folder"}},
    {"type": "tool-output-denied", "toolCallId": "t-1", "toolName": "ls"},
    {"type": "steering-message", "id": "2", "message": {"role": "user", "content": "Stop."}},
    {"type": "error", "error": {"message": "lost"}},
    {
        "type": "finish-step",
        "usage": _STEP_USAGE,
        "finishReason": "stop",
        "response": {"id": "r-1", "modelId": "model-x"},
    },
    {"type": "finish", "finishReason": "stop", "totalUsage": _STEP_USAGE},
    {"type": "abort"},
]


def part(value: Row) -> Row:
    """Record a part as a driver does."""
    return {"kind": "part", "value": value}


def update(kind: str, /, **told: Any) -> Row:
    """Notify of an update in the session s-1."""
    params = {"sessionId": "s-1", "update": {"sessionUpdate": kind, **told}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def sent(message: Row, direction: str = "from") -> Row:
    """Record a message as a driver does."""
    return {"direction": direction, "message": {"jsonrpc": "2.0", **message}}


def asked(number: int, method: str, **params: Any) -> Row:
    """Record a request of the client."""
    return sent({"id": number, "method": method, "params": params}, "to")


def answered(number: int, **result: Any) -> Row:
    """Record an answer of the agent."""
    return sent({"id": number, "result": result})


_META = {"claudeCode": {"toolName": "Bash", "parentToolUseId": "t-0"}}
_TURN_USAGE = {"inputTokens": 9, "outputTokens": 5, "cachedReadTokens": 40, "totalTokens": 54}

ACP_MESSAGES: list[Row] = [
    asked(1, "initialize", protocolVersion=1, clientCapabilities={}),
    answered(1, protocolVersion=1, agentInfo={"name": "@x/agent", "version": "1.2.3"}),
    asked(2, "session/new", cwd="/repo", mcpServers=[]),
    answered(2, sessionId="s-1", models={"currentModelId": "model-x"}),
    asked(3, "session/prompt", sessionId="s-1", prompt=[{"type": "text", "text": "List."}]),
    sent(update("user_message_chunk", content={"type": "text", "text": "List."})),
    sent(update("agent_thought_chunk", content={"type": "text", "text": "Look first."})),
    sent(update("agent_message_chunk", content={"type": "text", "text": "I look."})),
    sent(update("tool_call", toolCallId="t-1", kind="execute", rawInput={}, _meta=_META)),
    sent(update("tool_call_update", toolCallId="t-1", rawInput={"command": "ls"})),
    sent(
        update(
            "tool_call_update", toolCallId="t-1", status="completed", rawOutput="a.txt",
            content=[{"type": "content", "content": {"type": "text", "text": "a.txt"}}],
        )
    ),
    sent(update("plan", entries=[{"content": "Look", "status": "pending"}])),
    sent(update("usage_update", used=90, size=1000)),
    answered(3, stopReason="end_turn", usage=_TURN_USAGE),
]  # fmt: skip
_NOTICES = [row["message"]["params"] for row in ACP_MESSAGES if "sessionUpdate" in str(row)]

LOOK_ALIKES: dict[str, list[list[Row]]] = {
    "claude_code": [
        CLAUDE_TRANSCRIPT,
        CLAUDE_STREAM,
        CLAUDE_HOOKS,
        [_recorded(row) for row in CLAUDE_HOOKS],
    ],
    "codex_runtime": [
        CODEX_ROLLOUT,
        CODEX_EXEC,
        CODEX_SERVER,
        CODEX_HOOKS,
        [row["message"] for row in CODEX_SERVER],
        [_recorded(row) for row in CODEX_HOOKS],
    ],
    "codepilot_runtime": [STREAM_PARTS, [part(value) for value in STREAM_PARTS]],
    "acp_agent": [
        ACP_MESSAGES,
        [row["message"] for row in ACP_MESSAGES],
        _NOTICES,
        [notice["update"] for notice in _NOTICES],
    ],
}
