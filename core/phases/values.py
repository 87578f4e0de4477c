"""Reading single values of a plan: each reader gives the value, or None and a fault."""

import difflib
import re
from collections.abc import Iterable

from core.files import is_pattern
from core.phases.display import shown
from core.phases.fields import ID_PATTERN, PATH_CHARS_MAX, TASK_ID_CHARS_MAX, VERSION, Field
from core.phases.places import Problem, Span
from core.phases.plan import skill_id
from core.phases.yaml_safe import Items, Node, Pairs, Text

_ID = re.compile(ID_PATTERN)
_NUMBER = re.compile("0|[1-9][0-9]{0,9}")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_DRIVE = re.compile("[A-Za-z]:([/\\\\]|$)")
_NAMES = {Text: "a text", Items: "a list", Pairs: "a mapping"}


class Faults:
    """The faults found so far."""

    __slots__ = ("problems",)

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)

    def add(self, span: Span, code: str, message: str, mend: str) -> None:
        """Note a fault; the same one may come twice through an alias and is kept once."""
        self.problems.append(Problem(*span, code, message, mend))


def mapping(
    faults: Faults, what: str, node: Node, fields: tuple[Field, ...]
) -> dict[str, tuple[Text, Node]]:
    """Read a mapping with these keys: key name -> (key, value); unknown and missing are faults."""
    names = [field.name for field in fields]
    if not isinstance(node, Pairs):
        mend = f"Write its keys one a line, each as `key: value`: {', '.join(names)}."
        _wrong_type(faults, what, node, "a mapping of keys", mend)
        return {}
    for key, _ in node.pairs:
        if key.text not in names:
            unknown(faults, key, "unknown_key", f'unknown key "{shown(key.text)}" in {what}', names)
    found = {key.text: (key, value) for key, value in node.pairs if key.text in names}
    for field in fields:
        if field.required and field.name not in found:
            mend = f"Add `{field.name}: {VERSION if field.takes == 'version' else '...'}`."
            message = f'{what} has no "{field.name}"'
            faults.add(first_key(node), f"missing_{field.name}", message, mend)
    return found


def unknown(faults: Faults, key: Text, code: str, message: str, names: Iterable[str]) -> None:
    """Note a name that nobody knows, with the one that was probably meant."""
    known = list(names)
    close = difflib.get_close_matches(key.text[:100], known, 1)
    mend = f'Write "{close[0]}".' if close else f"Known are {', '.join(known)}."
    faults.add(key.span, code, message, mend)


def first_key(node: Node) -> Span:
    """Give the place to point at for what a mapping as a whole lacks."""
    return node.pairs[0][0].span if isinstance(node, Pairs) and node.pairs else node.span


def text(faults: Faults, key: Text, node: Node) -> str | None:
    """Read a text as it is written: 652, on and 12:30 stay texts."""
    if isinstance(node, Text) and node.plain and node.text in _NULLS:
        written = f'; quote it, if "{node.text}" is meant as text' if node.text else ""
        message = f'"{shown(key.text)}" has no value'
        faults.add(key.span, "no_value", message, f"Write a value, or remove the key{written}.")
    elif isinstance(node, Text):
        return node.text
    else:
        _wrong_type(faults, f'"{shown(key.text)}"', node, "a text", "Write one text.")
    return None


def items(faults: Faults, key: Text, node: Node) -> tuple[Node, ...]:
    """Read a list."""
    if isinstance(node, Items):
        return node.nodes
    mend = "Write a list: one `- ` per line, or [a, b]."
    if isinstance(node, Text) and node.plain and node.text in _NULLS:
        faults.add(key.span, "no_value", f'"{shown(key.text)}" has no value', mend)
    else:
        _wrong_type(faults, f'"{shown(key.text)}"', node, "a list", mend)
    return ()


def texts(faults: Faults, key: Text, node: Node) -> list[Text]:
    """Read a list of texts."""
    found = []
    for item in items(faults, key, node):
        if text(faults, key._replace(span=item.span), item) is not None:
            assert isinstance(item, Text)
            found.append(item)
    return found


def flag(faults: Faults, key: Text, node: Node) -> bool | None:
    """Read true or false."""
    if isinstance(node, Text) and node.plain and node.text in ("true", "false"):
        return node.text == "true"
    faults.add(
        _value_span(key, node),
        "bad_flag",
        f'"{shown(key.text)}" is neither true nor false',
        "Write true or false, without quotes.",
    )
    return None


def count(faults: Faults, key: Text, node: Node, low: int, high: int) -> int | None:
    """Read a whole number within its bounds."""
    if isinstance(node, Text) and node.plain and _NUMBER.fullmatch(node.text):
        number = int(node.text)
        if low <= number <= high:
            return number
        message = f'"{shown(key.text)}" is {number}, which is not within {low} and {high}'
        faults.add(node.span, "out_of_range", message, f"Write a number from {low} to {high}.")
        return None
    message = f'"{shown(key.text)}" is not a whole number'
    mend = f"Write a number from {low} to {high}, in digits and without quotes."
    faults.add(_value_span(key, node), "bad_number", message, mend)
    return None


def version(faults: Faults, key: Text, node: Node) -> None:
    """Read the version of the format."""
    if not isinstance(node, Text):
        message = f'"version" is {_NAMES[type(node)]}, not the number {VERSION}'
    elif node.text != str(VERSION):
        message = f'this program reads version {VERSION} of plans, not "{shown(node.text)}"'
    elif node.plain:
        return
    else:
        message = f'"version" is a text in quotes, not the number {VERSION}'
    mend = f"Write version: {VERSION}, without quotes."
    faults.add(_value_span(key, node), "bad_version", message, mend)


def id_(faults: Faults, key: Text, node: Node) -> Text | None:
    """Read an id."""
    value = text(faults, key, node)
    if value is None or not isinstance(node, Text):
        return None
    if _ID.fullmatch(value):
        return node
    near = re.sub("[^a-z0-9_-]+", "-", value.casefold()).strip("-")[:64]
    example = f', for example "{near}"' if near else ""
    mend = f"Write 1 to 64 of a-z, 0-9, _ and -{example}."
    faults.add(_value_span(key, node), "bad_id", f'"{shown(value)}" is no id', mend)
    return None


def task_id(faults: Faults, key: Text, node: Node) -> str | None:
    """Read the task's name: one line that a person can search for."""
    value = text(faults, key, node)
    if value is None:
        return None
    if value.strip() and len(value) <= TASK_ID_CHARS_MAX and not _CONTROL.search(value):
        return value
    message = f'the task_id "{shown(value)}" is blank, too long, or has control characters'
    mend = f"Write one line of at most {TASK_ID_CHARS_MAX} characters."
    faults.add(_value_span(key, node), "bad_task_id", message, mend)
    return None


def skill(faults: Faults, node: Text) -> str | None:
    """Read a skill's name or path."""
    if skill_id(node.text) and not _CONTROL.search(node.text):
        return node.text
    message = f'"{shown(node.text)}" names no skill'
    faults.add(node.span, "bad_skill", message, "Write its name, or the path to its SKILL.md.")
    return None


def path(faults: Faults, span: Span, written: str) -> str | None:
    """Read the path of one file or folder under the workspace."""
    if not is_pattern(written):
        return pattern(faults, span, written)
    message = f'the path "{shown(written)}" is a pattern'
    faults.add(span, "bad_path", message, "Name one file or folder, without * and ?.")
    return None


def pattern(faults: Faults, span: Span, written: str) -> str | None:
    """Read a path under the workspace, which may have `*`, `?` and `**` in it."""
    trimmed = written.strip()
    fault = _path_fault(trimmed)
    if fault is not None:
        code, why, mend = fault
        faults.add(span, code, f'the path "{shown(written)}" {why}', mend)
        return None
    return "/".join(part for part in trimmed.split("/") if part not in ("", "."))


_RELATIVE = "Write it relative to the workspace, as in reports/survey.md."


def _path_fault(written: str) -> tuple[str, str, str] | None:
    parts = written.split("/")
    if not written:
        return "bad_path", "is empty", _RELATIVE
    if _CONTROL.search(written):
        return "bad_path", "has a control character", "Write it without control characters."
    if _DRIVE.match(written) or "\\" in written:
        return "bad_path", "has a drive or backslashes", f"{_RELATIVE} Use / between folders."
    if written.startswith("/"):
        return "path_outside", "is absolute", _RELATIVE
    if parts[0].startswith("~"):
        return "path_outside", "begins with ~, which is not expanded here", _RELATIVE
    if ".." in parts:
        return "path_outside", 'goes up with ".."', _RELATIVE
    if not any(part not in ("", ".") for part in parts):
        return "bad_path", "is the workspace itself", _RELATIVE
    if len(written) > PATH_CHARS_MAX:
        return "bad_path", f"has more than {PATH_CHARS_MAX} characters", "Write a shorter path."
    return None


def _value_span(key: Text, node: Node) -> Span:
    empty = isinstance(node, Text) and node.span[:2] == node.span[2:]
    return key.span if empty else node.span


def _wrong_type(faults: Faults, what: str, node: Node, expected: str, mend: str) -> None:
    message = f"{what} is {_NAMES[type(node)]}, not {expected}"
    if isinstance(node, Text) and not node.text:
        message = f"{what} has no value"
    faults.add(node.span, "wrong_type", message, mend)
