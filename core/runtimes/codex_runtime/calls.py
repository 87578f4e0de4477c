"""Calls of tools, from response items and from the items that clients are shown."""

from typing import NamedTuple

from core.events import Json
from core.recordings.content import json_text, text_of
from core.recordings.contract import Row
from core.runtimes.codex_runtime import outputs
from core.runtimes.codex_runtime.skill_reads import split, unwrapped

SHELL_TOOL = "exec_command"
PATCH_TOOL = "apply_patch"
SCRIPT_TOOL = "exec"  # Newer models call all tools from a script in this one.
INNER_CALL = "exec-"  # Ids of the calls that such a script makes.

_FAILED = frozenset({"failed", "declined"})
_COLLABORATION = {
    "spawnAgent": "spawn_agent",
    "sendInput": "send_input",
    "resumeAgent": "resume_agent",
    "wait": "wait",
    "closeAgent": "close_agent",
    "sendMessage": "send_message",
    "followupTask": "followup_task",
    "interruptAgent": "interrupt_agent",
    "listAgents": "list_agents",
}


class Call(NamedTuple):
    """A call of a tool."""

    id: str
    name: str
    input: Json


class Answer(NamedTuple):
    """What a call answered; `output` is as Codex wrote it."""

    id: str
    output: Json
    is_failed: bool = False


def tool_name(name: str, namespace: str = "") -> str:
    """Give the one name of a tool: `mcp__<server>__<tool>` for those of MCP servers.

    The first rollouts call these `<server>__<tool>`; no tool of Codex itself has "__" in its name.
    """
    if namespace.startswith("mcp__") and not name.startswith("mcp__"):
        joint = "" if namespace.endswith("__") or name.startswith("_") else "__"
        return f"{namespace}{joint}{name}"
    server, joint, tool = name.partition("__")
    is_old = bool(joint and server and tool) and server != "mcp"
    return f"mcp__{name}" if is_old else name


# Response items: what the model wrote and what it was sent.


def call_of(item: Row) -> Call | None:
    """Read the call that a response item is; None for any other item."""
    kind = text_of(item, "type")
    call_id = text_of(item, "call_id") or text_of(item, "id")
    if kind == "function_call" and text_of(item, "name"):
        name = tool_name(item["name"], text_of(item, "namespace"))
        given = item.get("arguments")
        return Call(call_id, name, outputs.parsed(given) if isinstance(given, str) else given)
    if kind == "custom_tool_call" and text_of(item, "name"):
        name = tool_name(item["name"], text_of(item, "namespace"))
        return Call(call_id, name, item.get("input"))
    if kind == "local_shell_call":
        return Call(call_id, "local_shell", item.get("action"))
    if kind == "web_search_call":
        return Call(call_id, "web_search", item.get("action"))
    if kind == "tool_search_call":
        return Call(call_id, "tool_search", item.get("arguments"))
    if kind == "image_generation_call":
        return Call(call_id, "image_generation", {"prompt": text_of(item, "revised_prompt")})
    return None


def answer_of(item: Row) -> Answer | None:
    """Read the answer that a response item is; None for any other item."""
    kind = text_of(item, "type")
    call_id = text_of(item, "call_id") or text_of(item, "id")
    if kind in ("function_call_output", "custom_tool_call_output"):
        output = item.get("output")
        return Answer(text_of(item, "call_id"), output, outputs.is_failed(output))
    if kind == "tool_search_output":
        return Answer(call_id, _json(item.get("tools")))
    if kind == "image_generation_call" and item.get("result"):
        return Answer(call_id, [{"type": "image", "data": True}])
    return None


# Items as clients are shown them: the spelling differs between the app-server (camelCase), `exec
# --json` (snake_case) and rollouts (PascalCase).


def item_kind(item: Row) -> str:
    """Give the type of an item in lower case letters only."""
    return text_of(item, "type").replace("_", "").lower()


def item_call(item: Row) -> Call | None:
    """Read the call that an item shows; None for any other item."""
    item_id, kind = text_of(item, "id"), item_kind(item)
    if kind == "commandexecution":
        return _command(item_id, item)
    if kind == "filechange":
        return Call(item_id, PATCH_TOOL, {"changes": item.get("changes")})
    if kind == "mcptoolcall" and text_of(item, "tool"):
        name = f"mcp__{text_of(item, 'server')}__{item['tool']}"
        return Call(item_id, name, item.get("arguments"))
    if kind == "dynamictoolcall" and text_of(item, "tool"):
        name = tool_name(item["tool"], text_of(item, "namespace"))
        return Call(item_id, name, item.get("arguments"))
    if kind == "websearch":
        query = {"query": text_of(item, "query")}
        return Call(item_id, "web_search", item.get("action") or query)
    if kind in ("collabagenttoolcall", "collabtoolcall") and text_of(item, "tool"):
        given = {key: item[key] for key in ("prompt", "model") if item.get(key) is not None}
        tool = text_of(item, "tool")
        return Call(item_id, _COLLABORATION.get(tool, tool), given)
    if kind == "imageview":
        return Call(item_id, "view_image", {"path": text_of(item, "path")})
    if kind == "imagegeneration":
        return Call(item_id, "image_generation", {"prompt": item.get("revisedPrompt")})
    return None


def _command(item_id: str, item: Row) -> Call | None:
    source = text_of(item, "source").replace("_", "").lower()
    if source == "usershell":
        return None  # The user ran it, not the model.
    if source == "unifiedexecinteraction":
        typed = item.get("interaction_input", item.get("interactionInput"))
        return Call(item_id, "write_stdin", {"chars": typed})
    command = item.get("command")
    words = split(command) if isinstance(command, str) else command
    if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
        whole = unwrapped(words)
        # Words that are no call of a shell are left as they were written.
        is_bare = isinstance(command, str) and whole not in words
        return Call(item_id, SHELL_TOOL, {"cmd": command if is_bare else whole})
    return Call(item_id, SHELL_TOOL, {"cmd": command})


def item_answer(item: Row) -> Answer | None:
    """Read what an ended item shows of its call's answer; None where it shows none."""
    item_id, kind = text_of(item, "id"), item_kind(item)
    failed = item_failed(item)
    if kind == "commandexecution":
        shown = item.get("aggregated_output", item.get("aggregatedOutput"))
        return Answer(item_id, shown, failed)
    if kind == "filechange":
        return Answer(item_id, item.get("stdout"), failed)
    if kind == "mcptoolcall":
        error = text_of(item.get("error"), "message")
        result = item.get("result")
        is_error = outputs.is_failed(result) if isinstance(result, dict) else False
        return Answer(item_id, error or result, failed or is_error)
    if kind == "dynamictoolcall":
        shown = item.get("content_items", item.get("contentItems"))
        return Answer(item_id, shown, failed or item.get("success") is False)
    if kind == "websearch":
        return Answer(item_id, _json(item["results"])) if item.get("results") else None
    if kind in ("collabagenttoolcall", "collabtoolcall"):
        states = item.get("agents_states", item.get("agentsStates"))
        return Answer(item_id, _json(states), failed)
    if kind in ("imageview", "imagegeneration"):
        return Answer(item_id, [{"type": "image", "data": True}], failed)
    return None


def item_failed(item: Row) -> bool:
    """Say whether an ended item shows that its call failed."""
    code = item.get("exit_code", item.get("exitCode"))
    return text_of(item, "status") in _FAILED or (type(code) is int and code != 0)


def agents_of(item: Row) -> list[str]:
    """Name the threads of the sub-agents that an item tells of."""
    threads = item.get("receiver_thread_ids", item.get("receiverThreadIds"))
    named = threads if isinstance(threads, list) else []
    one = item.get("agent_thread_id", item.get("agentThreadId"))
    return [thread for thread in (*named, one) if isinstance(thread, str) and thread]


def hook_call(payload: Row) -> Call | None:
    """Read the call that a hook is told of; the shell goes by the name that the model uses."""
    name, given = text_of(payload, "tool_name"), payload.get("tool_input")
    if not name:
        return None
    command = given.get("command") if isinstance(given, dict) and len(given) == 1 else None
    if name == "Bash":
        name, given = SHELL_TOOL, given if command is None else {"cmd": command}
    elif name == PATCH_TOOL and isinstance(command, str):
        given = command
    return Call(text_of(payload, "tool_use_id"), name, given)


def _json(value: Json) -> str:
    try:
        return "" if value is None else json_text(value)
    except RecursionError:
        return ""
