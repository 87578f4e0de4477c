"""Text from plans and skills, made safe and short enough to show."""

import re

from core.units import utf16_units

NAME_UNITS_MAX = 120  # UTF-16 units of one name or path in a sentence.

_BREAKS = re.compile("[\t\n\x0b\x0c\r\x85\u2028\u2029]+")
# Control characters, bidi marks and overrides, invisible joiners of words, tags, lone surrogates.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]+"
)
_LINE_BREAKS = re.compile("\r\n|[\x0b\x0c\r\x85\u2028\u2029]")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")


def shown(text: str, limit_units: int = NAME_UNITS_MAX) -> str:
    """Give a name as one line without control and bidi characters, cut to the limit."""
    return cut(_UNSEEN.sub("", _BREAKS.sub(" ", text)), limit_units)


def shown_lines(text: str) -> str:
    """Give a longer text with its lines, without control and bidi characters."""
    return _UNSEEN.sub("", _LINE_BREAKS.sub("\n", text)).strip()


def cut(text: str, limit_units: int) -> str:
    """Give the text, or its beginning and an ellipsis, in at most `limit_units` UTF-16 units."""
    if utf16_units(text) <= limit_units:
        return text
    raw = text.encode("utf-16-le", "surrogatepass")[: max(limit_units - 1, 0) * 2]
    return raw.decode("utf-16-le", "ignore").rstrip() + "…"


def shell_word(text: str) -> str:
    """Quote a text so that a POSIX shell takes it as one word."""
    if _PLAIN_WORD.fullmatch(text):
        return text
    return "'" + text.replace("'", "'\"'\"'") + "'"
