"""The kinds of values on the wire: each reads strictly and gives its own JSON Schema."""

import os
import re
from urllib.parse import unquote_to_bytes

from core.runtimes.registry import known
from handlers.wire_records import Json, Kind, Wrong, read_at, told

ID_MAX_CHARS = 1_024
NAME_MAX_CHARS = 4_096
COUNT_MAX = 2**53

RUNTIMES = known()
OWN_RUNTIME = re.compile(r"x-[a-z0-9-]+")
RUNTIME_LIST = f"one of {', '.join(RUNTIMES)} or x-<name> ([a-z0-9-])"

_PLAIN = re.compile(r"[\w:./-]{5,256}", re.ASCII).fullmatch  # Nearly every id and name: one call.
_FILE_URI = re.compile(r"file:(//(localhost)?)?/(?P<path>[^/].*|)", re.IGNORECASE | re.DOTALL)
_OTHER_URI = re.compile(r"file:|[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def _read_text(value: Json) -> str:
    if type(value) is not str:
        raise Wrong(f"expected a string, got {told(value)}")
    return value


def _read_label(value: Json) -> str:
    text = _read_text(value)
    if len(text) > NAME_MAX_CHARS:
        raise Wrong(f"expected at most {NAME_MAX_CHARS:,} characters, got {len(text):,}")
    return text if text.isascii() else _encodable(text)


def _read_name(value: Json) -> str:
    if type(value) is str and _PLAIN(value):
        return value
    text = _read_label(value)
    if not text or text.isspace():
        raise Wrong("expected a string that is not blank, got a blank one")
    return text


def _read_id(value: Json) -> str:
    if type(value) is str and _PLAIN(value):
        return value
    text = _read_name(value)
    if len(text) > ID_MAX_CHARS:
        raise Wrong(f"expected at most {ID_MAX_CHARS:,} characters, got {len(text):,}")
    return text


def _read_session_id(value: Json) -> str:
    if type(value) is str and _PLAIN(value):
        return value
    text = _read_id(value)
    if text.strip() == "null":
        raise Wrong('expected the id of a session, got the word "null"')
    return text


def _read_runtime(value: Json) -> str:
    text = _read_label(value)
    if text in RUNTIMES or OWN_RUNTIME.fullmatch(text):
        return text
    raise Wrong(f"expected {RUNTIME_LIST}, got another string")


def _read_integer(value: Json) -> int:
    if type(value) is float:
        raise Wrong("expected an integer, got a number written as a fraction")
    if type(value) is not int:
        raise Wrong(f"expected an integer, got {told(value)}")
    return value


def _read_count(value: Json) -> int:
    if type(value) is not int:
        return _read_integer(value)
    if not 0 <= value <= COUNT_MAX:
        got = "a negative number" if value < 0 else "a larger number"
        raise Wrong(f"expected an integer from 0 to {COUNT_MAX}, got {got}")
    return value


def _read_positive(value: Json) -> int:
    if _read_count(value) == 0:
        raise Wrong("expected an integer of at least 1, got 0")
    return int(value)


def _read_number(value: Json) -> float:
    if type(value) is not int and type(value) is not float:
        raise Wrong(f"expected a number, got {told(value)}")
    return value


def _read_flag(value: Json) -> bool:
    if type(value) is not bool:
        raise Wrong(f"expected true or false, got {told(value)}")
    return value


def _read_object(value: Json) -> dict[str, Json]:
    if type(value) is not dict:
        raise Wrong(f"expected an object, got {told(value)}")
    return value


def _read_content(value: Json) -> Json:
    if type(value) is str:
        return value
    if type(value) is not list:
        raise Wrong(f"expected a string or an array of content blocks, got {told(value)}")
    for position, block in enumerate(value):
        if type(block) is not dict and type(block) is not str:
            raise Wrong(f"expected an object or a string, got {told(block)}", (position,))
    return value


def _read_name_or_object(value: Json) -> str:
    if type(value) is not dict:
        return _read_name(value)
    return str(read_at("name", NAME, value.get("name")))


def _read_file(value: Json) -> str:
    """A path as given, or the path that a file URI names."""
    text = _read_name(value)
    if "\0" in text:
        raise Wrong("expected a path, got one with a NUL character")
    parts = _FILE_URI.fullmatch(text)
    if parts:
        return _uri_path(parts["path"])
    if _OTHER_URI.match(text):
        raise Wrong("expected a path or a file URI of this machine, got another URI")
    return text


def _read_absolute(value: Json) -> str:
    path = _read_file(value)
    if not os.path.isabs(path):
        raise Wrong("expected an absolute path or a file URI, got a relative path")
    return path.rstrip("/") or "/"


def _uri_path(quoted: str) -> str:
    try:
        path = unquote_to_bytes(quoted).decode()
    except UnicodeDecodeError:
        raise Wrong("expected a file URI in UTF-8, got other bytes") from None
    if "\0" in path:
        raise Wrong("expected a path, got one with a NUL character")
    drive = os.name == "nt" and path[1:2] == ":"
    return path if drive else f"/{path}"


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Wrong("expected valid Unicode, got half a surrogate pair") from None
    return text


_NOT_BLANK = r"\S"

ANY = Kind("any JSON value", lambda value: value, {})
TEXT = Kind("string", _read_text, {"type": "string"})
LABEL = Kind("string", _read_label, {"type": "string", "maxLength": NAME_MAX_CHARS})
NAME = Kind("string, not blank", _read_name, LABEL.schema | {"pattern": _NOT_BLANK})
ID = Kind("id", _read_id, NAME.schema | {"maxLength": ID_MAX_CHARS})
SESSION_ID = Kind("session id", _read_session_id, ID.schema | {"not": {"pattern": r"^\s*null\s*$"}})
INTEGER = Kind("integer, may be negative", _read_integer, {"type": "integer"})
COUNT = Kind("integer", _read_count, {"type": "integer", "minimum": 0, "maximum": COUNT_MAX})
POSITIVE = Kind("integer from 1", _read_positive, COUNT.schema | {"minimum": 1})
NUMBER = Kind("number", _read_number, {"type": "number"})
FLAG = Kind("boolean", _read_flag, {"type": "boolean"})
OBJECT = Kind("object", _read_object, {"type": "object"})
FILE = Kind("path or file URI", _read_file, NAME.schema)
ABSOLUTE_PATH = Kind("absolute path or file URI", _read_absolute, NAME.schema)
RUNTIME = Kind(
    "runtime",
    _read_runtime,
    {
        "anyOf": [{"enum": list(RUNTIMES)}, {"pattern": f"^{OWN_RUNTIME.pattern}$"}],
        "type": "string",
    },
)
CONTENT = Kind(
    "string or content blocks",
    _read_content,
    {"anyOf": [TEXT.schema, {"type": "array", "items": {"type": ["object", "string"]}}]},
)
NAME_OR_OBJECT = Kind(
    "string or {name}",
    _read_name_or_object,
    {
        "anyOf": [
            NAME.schema,
            {"type": "object", "required": ["name"], "properties": {"name": NAME.schema}},
        ]
    },
)
