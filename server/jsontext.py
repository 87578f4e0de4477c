"""Reads and writes JSON as the wire has it: orjson, and the standard library where that balks."""

import json
import math
import sys
from collections.abc import Callable

import orjson

from core.events import Json

NESTED_MAX = 1024  # Levels of arrays and objects; orjson reads as many.
DIGITS_MAX = 309  # A longer number is beyond the range of a float.


class NotJson(ValueError):
    """The bytes are no JSON text, or one nested too deeply to read."""


def parse(body: bytes) -> Json:
    r"""The value of a JSON text in UTF-8; raises NotJson.

    JavaScript hosts send lone surrogates ("\ud800") and numbers such as 1E400, both of which
    orjson refuses; the latter becomes infinity, as it does in JavaScript, however it is written.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + NESTED_MAX)  # To json each level is a call.
    try:
        return json.loads(
            body.decode("utf-8"), parse_int=_whole_number, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError):
        # The cause quotes the text, which may be a prompt.
        raise NotJson from None
    finally:
        sys.setrecursionlimit(limit)


def _whole_number(digits: str) -> int | float:
    if len(digits.lstrip("-")) <= DIGITS_MAX:
        return int(digits)
    return -math.inf if digits.startswith("-") else math.inf


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
