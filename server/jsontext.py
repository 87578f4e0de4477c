"""Reads and writes JSON as the wire has it: orjson, and the standard library where that balks."""

import json
from collections.abc import Callable

import orjson

from core.events import Json


class NotJson(ValueError):
    """The bytes are no JSON text, or one nested too deeply to read."""


def parse(body: bytes) -> Json:
    r"""The value of a JSON text in UTF-8; raises NotJson.

    JavaScript hosts send lone surrogates ("\ud800") and numbers such as 1E400, both of which
    orjson refuses; the latter becomes infinity, as it does in JavaScript.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        # The cause quotes the text, which may be a prompt.
        raise NotJson from None


def _refuse_constant(name: str) -> Json:
    raise NotJson(name)


def dump(value: Json, default: Callable[[Json], Json] | None = None) -> bytes:
    """The compact JSON text of a value in UTF-8; half a surrogate pair becomes U+FFFD.

    Raises TypeError or ValueError for what JSON cannot hold; that is a bug of the caller.
    """
    try:
        return orjson.dumps(value, default)
    except TypeError:
        text = json.dumps(
            value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=default
        )
    units = text.encode("utf-16-le", "surrogatepass")
    return units.decode("utf-16-le", "replace").encode()
