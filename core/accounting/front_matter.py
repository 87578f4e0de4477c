"""The name that a SKILL.md gives itself in its front matter."""

import os
import re

FRONT_MATTER_BYTES_MAX = 65_536  # A name further down in the file is not looked for.
NAME_CHARS_MAX = 200
BRACKETS_MAX = 200  # YAML nested deeper than any real front matter takes seconds to parse.

# O_NONBLOCK: a FIFO that takes the file's place after we looked must not hold us up.
_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

# Patterns are compiled when first used: a hook that needs no skill does not pay for them.
# A plain word as a name needs no YAML parser, which is slow to load.
_PLAIN_NAME = r"(?m)^name:[ \t]+([A-Za-z_][A-Za-z0-9_-]*)[ \t]*\r?$"
_ANY_NAME = r"(?m)^name:[ \t]*(.*?)[ \t]*\r?$"
_FRONT_MATTER = r"(?ms)---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?$"


def is_name(text: str) -> bool:
    """Say whether a text can be kept as a name: not too long, one line, no control characters."""
    return 0 < len(text) <= NAME_CHARS_MAX and text.isprintable()


def front_matter_name(path: str) -> str | None:
    """Read the name that a SKILL.md gives itself; None when it gives none or cannot be read."""
    try:
        with open(os.open(path, _FILE), "rb") as file:
            head = (file.read(FRONT_MATTER_BYTES_MAX) or b"").decode("utf-8-sig", "replace")
    except OSError:
        return None
    match = re.match(_FRONT_MATTER, head)
    name = None if match is None else _name_in(match[1])
    return name if name is not None and is_name(name) else None


def _name_in(front_matter: str) -> str | None:
    plain = re.findall(_PLAIN_NAME, front_matter)
    if len(plain) == 1 and plain[0].casefold() != "null":
        return str(plain[0])
    if front_matter.count("[") + front_matter.count("{") > BRACKETS_MAX:
        return _line_name(front_matter)
    return _yaml_name(front_matter)


def _yaml_name(front_matter: str) -> str | None:
    import yaml

    try:
        fields = yaml.safe_load(front_matter)
    except (yaml.YAMLError, ValueError, RecursionError):
        # A colon in an unquoted description is common and no YAML; the line of the name still is.
        return _line_name(front_matter)
    name = fields.get("name") if isinstance(fields, dict) else None
    if name is None or isinstance(name, (list, dict)):
        return None
    if isinstance(name, str):
        return name.strip() or None
    return _line_name(front_matter)  # 1.10 and yes: as written, not as a value.


def _line_name(front_matter: str) -> str | None:
    line = re.search(_ANY_NAME, front_matter)
    return line[1].strip("\"' ") or None if line else None
