"""An MCP server on standard input and output with one tool, which says its text back."""

import json
import sys
from typing import Any

TOOL = {
    "name": "echo",
    "description": "Says the text back.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Give the result for one request; None for a method that is not offered."""
    match method:
        case "initialize":
            return {
                "protocolVersion": params.get("protocolVersion", "2025-06-18"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "echo", "version": "1"},
                "instructions": "Call echo to hear a text again.",
            }
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            text = params.get("arguments", {}).get("text", "")
            return {"content": [{"type": "text", "text": f"echo: {text}"}]}
        case "ping":
            return {}
        case _:
            return None


def main() -> None:
    """Answer requests until the input ends; notifications need no answer."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        result = answer(request["method"], request.get("params") or {})
        if result is None:
            reply["error"] = {"code": -32601, "message": "method not found"}
        else:
            reply["result"] = result
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
