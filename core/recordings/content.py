"""What runtimes share: what a tool answered as text or blocks, and careful looks into a row."""

import json
from collections.abc import Iterable

from core.events import Json
from core.recordings.contract import Row
from core.units import LongText, json_units, utf16_units

COUNT_MAX = 2**53  # Above it JSON readers do not hold every number.

_TEXTS = frozenset({"text", "input_text", "output_text"})
_PICTURES = frozenset({
    "image", "image-data", "image-url", "image-file-id", "input_image", "inputImage", "audio",
    "media", "file-data", "file-url", "file-id",
})  # fmt: skip
_PAYLOADS = ("data", "url", "fileId", "blob", "source", "image_url", "imageUrl", "uri")
_MCP_RESULT = frozenset({"content", "isError", "structuredContent", "_meta"})
_MEDIA_TYPES = ("mediaType", "mimeType", "media_type", "mime_type")


def result_content(value: Json) -> Json:
    """Give a text as it is, blocks as text and image blocks, and any other value as JSON text.

    Also takes the result of an MCP call, {"content": [...]}. Bytes of images, audio and files are
    left out, so that they are never counted as text. None is "".
    """
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, dict) and value.keys() <= _MCP_RESULT and _is_list(value.get("content")):
        found = _blocks(value["content"])
        if found:
            return found
    found = _blocks(value if isinstance(value, list) else [value])
    return found or json_text(value)


def json_text(value: Json) -> str:
    """Write a value as JavaScript does: no spaces, characters beyond ASCII as they are.

    What cannot be written (nested too deep, or with a text that was not kept) comes as its length.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        text = ""
    units = json_units(value)
    # A number that Python writes otherwise is no reason to give up the text.
    is_whole = text and (utf16_units(text) == units or not _has_long_text(value))
    return text if is_whole else LongText(units, units)


def joined(texts: Iterable[str], separator: str = "") -> str:
    """Join the texts that are not empty, also those that were not kept."""
    found = [text for text in texts if text]
    if not any(isinstance(text, LongText) for text in found):
        return separator.join(found)
    units = sum(map(utf16_units, found)) + utf16_units(separator) * (len(found) - 1)
    return LongText(units, units)


def text_of(row: Json, key: str) -> str:
    """Give the text under a key; "" for anything else."""
    value = row.get(key) if isinstance(row, dict) else None
    return value if isinstance(value, str) else ""


def count_of(row: Json, key: str) -> int | None:
    """Give the count under a key; None for what is no count, or above what JSON readers hold."""
    value = row.get(key) if isinstance(row, dict) else None
    return value if type(value) is int and 0 <= value <= COUNT_MAX else None


def _is_list(value: Json) -> bool:
    return isinstance(value, list)


def _has_long_text(value: Json) -> bool:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, LongText):
            return True
        if isinstance(item, dict):
            waiting.extend(item.keys())
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return False


def _blocks(items: list[Json]) -> list[Row] | None:
    """Give the blocks in the shape that is counted; None when some item is no content block."""
    whole: list[Row] = []
    for item in items:
        block = _block(item) if type(item) is dict else None
        if block is None:
            return None
        whole.append(block)
    return whole


def _block(item: Json) -> Row | None:
    kind = text_of(item, "type")
    if kind in _TEXTS and isinstance(item.get("text"), str):
        return {"type": "text", "text": item["text"]}
    if kind == "content":  # Of the Agent Client Protocol: a block in a block.
        inner = item.get("content")
        return None if text_of(inner, "type") == "content" else _block(inner)
    if kind == "resource" and isinstance(item.get("resource"), dict):
        inner = item["resource"]
        if isinstance(inner.get("text"), str):
            return {"type": "text", "text": inner["text"]}
        return {"type": "image"} if isinstance(inner.get("blob"), str) else None
    # A listing may well have rows of the type "file": only one with its bytes is a picture.
    has_payload = any(item.get(key) for key in _PAYLOADS) if kind else False
    is_file = kind == "file" and any(text_of(item, key) for key in _MEDIA_TYPES)
    return {"type": "image"} if has_payload and (kind in _PICTURES or is_file) else None
