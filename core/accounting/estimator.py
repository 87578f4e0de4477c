"""How much a text, a JSON value or a file counts, without a tokenizer and always the same.

Lengths of texts are UTF-16 units, as JavaScript counts them; four units, or four bytes of a file,
are one token, rounded up. Right values: tests/conformance/accounting.json.
"""

import re
from json.encoder import encode_basestring

from core.events import Json

ESTIMATOR = "utf16/4"  # The name of this estimate, as snapshots carry it.
UNITS_PER_TOKEN = 4
BYTES_PER_TOKEN = 4
TOKENS_MAX = 2**53  # A sum above it says no more than this; every JSON reader holds it exactly.
SAFE_INTEGER = 2**53  # Above it JavaScript holds a rounded number.

_SURROGATE = "[\ud800-\udfff]"
_ESCAPED_SURROGATE_UNITS = 6  # JavaScript prints a lone surrogate as \udXXX.
_NOT_TEXT = frozenset({"image", "audio", "blob", "input_image", "inputImage"})


def call_tokens(units: int) -> int:
    """Estimate the tokens of one tool call from the UTF-16 units of its input and result."""
    return -(-units // UNITS_PER_TOKEN)


def file_tokens(size_bytes: int) -> int:
    """Estimate the tokens of one whole file from its size in bytes."""
    return -(-size_bytes // BYTES_PER_TOKEN)


def utf16_units(text: str) -> int:
    """Count the UTF-16 units of a text; a lone surrogate is one unit."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_order(text: str) -> bytes:
    """Give the key that sorts texts by UTF-16 code unit."""
    return text.encode("utf-16-be", "surrogatepass")


def json_units(value: Json) -> int:
    """Count the UTF-16 units of a JSON value as JavaScript's JSON.stringify prints it.

    None is "null", 1.0 is "1". Nesting may have any depth. Raises TypeError for what JSON has not.
    """
    units = 0
    waiting = [value]
    while waiting:
        item = waiting.pop()
        kind = type(item)
        if kind is str:
            units += _string_units(item)
        elif kind is dict:
            units += 1 + 2 * len(item) if item else 2  # Braces, colons and commas.
            for key in item:
                units += _string_units(key)
            waiting.extend(item.values())
        elif kind is list:
            units += 1 + len(item) if item else 2  # Brackets and commas.
            waiting.extend(item)
        else:
            units += len(_atom(item))
    return units


def javascript_number(value: int | float) -> str:
    """Print a number as JavaScript does; what is not finite becomes "null", as in its JSON."""
    if type(value) is int:
        if -SAFE_INTEGER <= value <= SAFE_INTEGER:
            return str(value)
        try:
            value = float(value)
        except OverflowError:
            return "null"
    if value != value or value in (float("inf"), float("-inf")):
        return "null"
    if value == 0:
        return "0"  # Also the negative zero.
    sign = "-" if value < 0 else ""
    digits, point = _shortest_digits(abs(value))
    return sign + _place_point(digits, point)


def content_units(content: Json) -> int:
    """Count the UTF-16 units of a tool result's text: a string, or content blocks.

    The texts of all blocks count, also of nested ones; images and other base64 data are no text.
    """
    if type(content) is str:
        return utf16_units(content)
    return sum(utf16_units(text) for text in _texts(content))


def image_count(content: Json) -> int:
    """Count the blocks of a tool result that hold no text (images, audio), nested ones too."""
    if type(content) is str:
        return 0
    return sum(1 for block in _blocks(content) if _is_binary(block))


def _string_units(text: str) -> int:
    escaped = encode_basestring(text)
    if escaped.isascii():
        return len(escaped)
    try:
        return len(escaped.encode("utf-16-le")) // 2
    except UnicodeEncodeError:
        # Join what is a pair, so that only the lone surrogates are left to be escaped.
        raw = escaped.encode("utf-16-le", "surrogatepass")
        lone = len(re.findall(_SURROGATE, raw.decode("utf-16-le", "surrogatepass")))
        return len(raw) // 2 + lone * (_ESCAPED_SURROGATE_UNITS - 1)


def _atom(value: Json) -> str:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, (int, float)):
        return javascript_number(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")


def _shortest_digits(value: float) -> tuple[str, int]:
    """Give the fewest digits that mean this number, and where the decimal point stands in them."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = whole + fraction
    significant = digits.lstrip("0")
    return significant.rstrip("0"), point - (len(digits) - len(significant))


def _place_point(digits: str, point: int) -> str:
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{point - 1:+d}"


def _blocks(content: Json) -> list[dict[str, Json]]:
    """List every block, the outer ones before those nested in them."""
    found: list[dict[str, Json]] = []
    waiting = [content]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(reversed(item))
        elif isinstance(item, str):
            found.append({"text": item})
        elif isinstance(item, dict):
            found.append(item)
            waiting.extend(item[key] for key in ("content", "resource") if key in item)
    return found


def _texts(content: Json) -> list[str]:
    return [block["text"] for block in _blocks(content) if isinstance(block.get("text"), str)]


def _is_binary(block: dict[str, Json]) -> bool:
    return block.get("type") in _NOT_TEXT or isinstance(block.get("blob"), str)
