"""How long a text or a JSON value is: in UTF-16 units, as JavaScript counts them.

Units of wide scripts, whose characters are about a token each, are counted beside: the estimator's
error is measured for them apart from the rest (core/accounting/error.py).
"""

import re
from json.encoder import encode_basestring
from typing import Self

from core.events import Json

SAFE_INTEGER = 2**53  # Above it JavaScript holds a rounded number.

# High bytes of UTF-16 units: Hangul, CJK with its punctuation, kana and ideographs, full-width
# forms, and surrogates: what lies beyond the BMP, rare ideographs and emoji.
_WIDE = bytes((0x11, *range(0x2E, 0xA5), *range(0xAC, 0xE0), 0xF9, 0xFA, 0xFF))
_SURROGATE = "[\ud800-\udfff]"
_ESCAPED_SURROGATE_UNITS = 6  # JavaScript prints a lone surrogate as \udXXX.
_NOT_TEXT = frozenset({"image", "audio", "blob", "input_image", "inputImage"})


class LongText(str):
    """A text that was measured and not kept: it reads as "", yet it is true and equals only itself.

    `units` are the UTF-16 units of the text, `escaped_units` those between the quotes of its JSON.
    """

    __slots__ = ("escaped_units", "units")

    units: int
    escaped_units: int

    def __new__(cls, units: int, escaped_units: int) -> Self:
        """Stand for a text of this length."""
        self = super().__new__(cls)
        self.units = units
        self.escaped_units = escaped_units
        return self

    def __bool__(self) -> bool:
        return self.units > 0

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = object.__hash__  # As a key it must not meet another one.

    def __repr__(self) -> str:
        return f"LongText({self.units}, {self.escaped_units})"

    def __reduce__(self) -> tuple[type[Self], tuple[int, int]]:
        return type(self), (self.units, self.escaped_units)


def utf16_units(text: str) -> int:
    """Count the UTF-16 units of a text; a lone surrogate is one unit."""
    if text.isascii():
        return len(text) or _units_not_kept(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_order(text: str) -> bytes:
    """Give the key that sorts texts by UTF-16 code unit."""
    return text.encode("utf-16-be", "surrogatepass")


def wide_units(text: str) -> int:
    """Count the UTF-16 units of wide characters in a text."""
    return 0 if text.isascii() else text_measure(text)[1]


def text_measure(text: str) -> tuple[int, int]:
    """Count the UTF-16 units of a text, and those of wide characters among them."""
    if text.isascii():
        return utf16_units(text), 0
    high = text.encode("utf-16-le", "surrogatepass")[1::2]
    return len(high), len(high) - len(high.translate(None, _WIDE))


def json_units(value: Json) -> int:
    """Count the UTF-16 units of a JSON value as JavaScript's JSON.stringify prints it.

    None is "null", 1.0 is "1". Nesting may have any depth. Raises TypeError for what JSON has not.
    """
    return json_measure(value)[0]


def json_measure(value: Json) -> tuple[int, int]:
    """Measure a JSON value as `json_units` does; give also the wide units of its strings."""
    units = wide = 0
    waiting = [value]
    while waiting:
        item = waiting.pop()
        kind = type(item)
        if kind is dict:
            units += 1 + 2 * len(item) if item else 2  # Braces, colons and commas.
            for key in item:
                escaped = encode_basestring(key)
                if escaped.isascii() and type(key) is str:
                    units += len(escaped)
                else:
                    units += _string_units(key)
            waiting += item.values()
        elif kind is str or kind is LongText:
            escaped = encode_basestring(item)
            if escaped.isascii() and kind is str:
                units += len(escaped)
            else:
                units += _string_units(item)
                wide += wide_units(item)
        elif kind is list:
            units += 1 + len(item) if item else 2  # Brackets and commas.
            waiting += item
        else:
            units += len(_atom(item))
    return units, wide


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
    return content_measure(content)[0]


def image_count(content: Json) -> int:
    """Count the blocks of a tool result that hold no text (images, audio), nested ones too."""
    return content_measure(content)[2]


def content_measure(content: Json) -> tuple[int, int, int]:
    """Measure a tool result: its text's UTF-16 units, the wide ones, how many parts are no text."""
    if type(content) is str:
        if content.isascii():
            return len(content), 0, 0
        return *text_measure(content), 0
    units = wide = images = 0
    for block in _blocks(content):
        text = block.get("text")
        if isinstance(text, str):
            length = text_measure(text)
            units += length[0]
            wide += length[1]
        images += _is_binary(block)
    return units, wide, images


def _units_not_kept(text: str) -> int:
    return text.units if isinstance(text, LongText) else 0


def _string_units(text: str) -> int:
    escaped = encode_basestring(text)
    if escaped.isascii():
        if isinstance(text, LongText):
            return len(escaped) + text.escaped_units
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


def _is_binary(block: dict[str, Json]) -> bool:
    kind = block.get("type")
    return (isinstance(kind, str) and kind in _NOT_TEXT) or isinstance(block.get("blob"), str)
