"""What a tool call answered, as the model was sent it, and whether it failed."""

import json
import re

from core.events import Json
from core.recordings.content import result_content, text_of
from core.recordings.contract import Row

_HEADER_CHARS = 400
_EXIT = re.compile(r"(?:^|\n)(?:Process exited with code|Exit code:) (-?\d{1,10})\b")
_REFUSED = (
    "unsupported call:",
    "unsupported custom tool call:",
    "Command blocked by PreToolUse hook",
    "failed to parse function arguments",
    "aborted by user",
)
_BODY = "\nOutput:\n"


def content_of(output: Json) -> Json:
    """Give an output as a text or as content blocks; pictures in it are blocks without text."""
    if isinstance(output, dict) and isinstance(output.get("content"), str):
        output = output["content"]  # Of the first rollouts: {content, success}.
    if isinstance(output, str):
        return _text(output)
    if output == [] or (isinstance(output, dict) and output.get("content") == []):
        return []
    try:
        return result_content(output)
    except RecursionError:
        return ""


def _text(output: str) -> Json:
    if output.startswith("data:") and ";base64," in output[:100]:
        return [{"type": "image"}]
    # Early versions wrote the blocks of an MCP answer as JSON text, pictures included.
    if output.startswith("[{") and ('"image"' in output or '"audio"' in output):
        found = parsed(output)
        if isinstance(found, list):
            blocks = result_content(found)
            return blocks if isinstance(blocks, list) else output
    return output


def parsed(text: str) -> Json:
    """Give the JSON value of a text, else the text itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def is_failed(output: Json) -> bool:
    """Say whether an output itself says that the call failed."""
    if isinstance(output, dict):
        return output.get("success") is False or output.get("isError") is True
    text = plain(output)
    if text.startswith(_REFUSED):
        return True
    if text.startswith('{"output":'):
        metadata = _inner(text).get("metadata")
        code = metadata.get("exit_code") if isinstance(metadata, dict) else None
        return type(code) is int and code != 0
    head, _, _ = text[:_HEADER_CHARS].partition(_BODY)
    found = _EXIT.search(head)
    return found is not None and int(found.group(1)) != 0


def body(output: Json) -> str:
    """Give what a shell command wrote, without what Codex put around it."""
    text = plain(output)
    if text.startswith('{"output":'):
        return text_of(_inner(text), "output") or text
    head = text[:_HEADER_CHARS]
    return text[head.index(_BODY) + len(_BODY) :] if _BODY in head else text


def plain(output: Json) -> str:
    """Give the texts of an output as one."""
    if isinstance(output, str):
        return output
    blocks = output if isinstance(output, list) else []
    return "\n".join(filter(None, (text_of(block, "text") for block in blocks)))


def _inner(text: str) -> Row:
    found = parsed(text)
    return found if isinstance(found, dict) else {}
