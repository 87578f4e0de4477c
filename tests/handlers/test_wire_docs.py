"""The pages and schemas under docs/ say what the code does, and are made from it."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core import errors
from core.errors import InvalidParams
from core.receipts import FIELDS, KINDS
from handlers import docs, wire
from handlers.catalogue import METHODS, PUSHES
from handlers.convert import structure
from handlers.editor import is_plan
from handlers.protocol_page import protocol_markdown, protocol_schema, wire_types
from handlers.receipts_page import receipts_markdown
from handlers.settings import Settings
from handlers.wire_records import shape
from handlers.wire_results import STATES

SCHEMA = json.loads(protocol_schema())
SESSION = {"sessionId": "s1"}


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from [part] if name == "$ref" else references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def reached(names: set[str]) -> set[str]:
    """The definitions that these ones need, themselves included."""
    found = set(names)
    while (
        more := {
            reference.removeprefix("#/$defs/")
            for name in found
            for reference in references(SCHEMA["$defs"][name])
        }
        - found
    ):
        found |= more
    return found


def test_every_record_is_defined_once_and_serves_a_method_or_a_push() -> None:
    used = {reference.removeprefix("#/$defs/") for reference in references(SCHEMA["x-methods"])}
    used |= {reference.removeprefix("#/$defs/") for reference in references(SCHEMA["x-pushes"])}

    assert reached(used) == set(SCHEMA["$defs"])
    assert len({cls.__name__ for cls in wire_types()}) == len(wire_types())


def test_names_of_methods_and_pushes_are_ours_and_unique() -> None:
    names = [method.name for method in METHODS] + [push.name for push in PUSHES]

    assert len(set(names)) == len(names)
    assert all(name.startswith("turnkeeper/") for name in names)


def test_the_page_names_every_method_field_and_error() -> None:
    page = protocol_markdown()
    fields = {name for record in SCHEMA["$defs"].values() for name in record["properties"]}

    assert {name for name in fields if f"`{name}`" not in page} == set()
    assert {method.name for method in METHODS if f"`{method.name}`" not in page} == set()
    refusals = [c for c in errors.Refusal.__subclasses__() if c.__module__ == errors.__name__]
    assert [c for c in refusals if f"| {c.code} | `{c.kind}` | " not in page] == []
    assert {c.code for c in refusals} >= {-32700, -32603, -32602, -32601, -32600, -32800, -32002}


def test_the_page_explains_every_state_and_every_setting() -> None:
    page = protocol_markdown()
    states = page.partition("| state | meaning |")[2].partition("\n\n")[0]
    settings = page.partition("## Settings\n")[2].partition("\n#")[0]

    assert re.findall(r"^\| `(\w+)` \| ", states, re.MULTILINE) == list(STATES)
    names = [member.wire for member in shape(Settings).members]
    assert re.findall(r"^\| `(\w+)` \| ", settings, re.MULTILINE) == names


def test_the_page_of_receipts_has_every_event_and_field() -> None:
    page = receipts_markdown()
    rows = re.findall(r"^\| `(\w+)` \| ", page, re.MULTILINE)

    assert rows[: len(KINDS)] == [kind.event for kind in KINDS]
    assert rows[len(KINDS) :][: len(FIELDS)] == list(FIELDS)


def test_every_link_of_the_page_leads_to_a_heading() -> None:
    page = protocol_markdown()
    headings = {heading.lower() for heading in re.findall(r"^### (\w+)$", page, re.MULTILINE)}

    assert set(re.findall(r"\]\(#(\w+)\)", page)) - headings == set()


def test_the_error_in_the_example_is_the_one_that_is_given() -> None:
    with pytest.raises(InvalidParams) as refused:
        structure(wire.PromptParams, SESSION)

    assert f'"message": "{refused.value.message}"' in protocol_markdown()


SAMPLES: tuple[tuple[type, Any], ...] = (
    (wire.NoParams, {}),
    (wire.NoParams, []),
    (wire.SessionParams, SESSION),
    (wire.SessionParams, {"sessionId": " null"}),
    (wire.SessionParams, {"sessionId": "\n"}),
    (wire.SessionParams, {"sessionId": "x" * 1025}),
    (wire.SessionParams, {}),
    (wire.SessionStartParams, SESSION | {"runtime": "x-a", "workspace": "/w"}),
    (wire.SessionStartParams, SESSION | {"runtime": "x-A", "workspace": "/w"}),
    (wire.SessionStartParams, SESSION | {"runtime": "acp_agent", "workspace": "/w", "source": 1}),
    (wire.UsageParams, SESSION | {"input": 0, "output": 2**53, "cacheRead": None}),
    (wire.UsageParams, SESSION | {"input": -1, "output": 0}),
    (wire.UsageParams, SESSION | {"input": True, "output": 0}),
    (wire.ToolResultParams, SESSION | {"toolUseId": "u", "content": ["a", {}]}),
    (wire.ToolResultParams, SESSION | {"toolUseId": "u", "content": [1]}),
    (wire.ContextParams, SESSION | {"kind": "mcp", "source": "s", "text": "a", "chars": None}),
    (wire.ContextParams, SESSION | {"kind": "mcp", "source": "s", "text": "a", "chars": 1}),
    (wire.ContextParams, SESSION | {"kind": "mcp", "source": "s"}),
    (wire.ComposerParams, SESSION),
    (wire.ComposerParams, SESSION | {"tokens": 4}),
    (wire.ComposerParams, SESSION | {"tokens": 4, "text": ""}),
    (wire.PromptParams, SESSION | {"turnId": "t", "text": "", "selectedSkills": ["a", {}]}),
    (wire.PromptParams, SESSION | {"turnId": "t", "text": "", "selectedSkills": ["a", ""]}),
    (wire.ReceiptsParams, {"since": 3}),
    (wire.ReceiptsParams, {"since": 3} | SESSION),
)


@pytest.mark.parametrize(("cls", "params"), SAMPLES)
def test_the_schema_and_the_reader_agree(cls: type, params: Any) -> None:
    try:
        structure(cls, params)
        read = True
    except InvalidParams:
        read = False

    assert fits(SCHEMA["$defs"][cls.__name__], params) is read


JSON_TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: type(value) is int,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
# Keyword: does the value keep it? Those not listed only describe.
KEYWORDS: dict[str, Callable[[Any, Any], bool]] = {
    "$ref": lambda want, value: fits(SCHEMA["$defs"][want.removeprefix("#/$defs/")], value),
    "type": lambda want, value: any(
        JSON_TYPES[name](value) for name in ([want] if isinstance(want, str) else want)
    ),
    "enum": lambda want, value: value in want,
    "not": lambda want, value: not fits(want, value),
    "anyOf": lambda want, value: any(fits(part, value) for part in want),
    "oneOf": lambda want, value: sum(fits(part, value) for part in want) == 1,
    "allOf": lambda want, value: all(fits(part, value) for part in want),
    "required": lambda want, value: not isinstance(value, dict) or set(want) <= set(value),
    "properties": lambda want, value: (
        not isinstance(value, dict)
        or all(fits(part, value[name]) for name, part in want.items() if name in value)
    ),
    "items": lambda want, value: (
        not isinstance(value, list) or all(fits(want, part) for part in value)
    ),
    "pattern": lambda want, value: not isinstance(value, str) or re.search(want, value) is not None,
    "maxLength": lambda want, value: not isinstance(value, str) or len(value) <= want,
    "minimum": lambda want, value: not isinstance(value, int) or value >= want,
    "maximum": lambda want, value: not isinstance(value, int) or value <= want,
}


def fits(schema: dict[str, Any], value: Any) -> bool:
    """As much of JSON Schema as our schemas use."""
    return all(KEYWORDS[name](want, value) for name, want in schema.items() if name in KEYWORDS)


def test_an_editor_takes_the_file_names_that_the_page_of_plans_gives() -> None:
    section = dict(docs.PAGES)["plan-format.md"]().partition("## In an editor")[2]
    names = re.findall(r"`(\.?plan\.\w+)`", section.partition("\n#")[0])

    assert len(names) == 4
    assert all(is_plan(f"my{name}" if name[0] == "." else name, None) for name in names)


def test_the_generated_pages_are_up_to_date() -> None:
    assert docs.stale(docs.DOCS) == []


def test_a_stale_page_is_named_and_mended(tmp_path: Path) -> None:
    assert docs.write(tmp_path) == [name for name, _ in docs.PAGES]
    page = tmp_path / "protocol.md"
    page.write_text(page.read_text(encoding="utf-8") + "by hand\n", encoding="utf-8")

    assert docs.stale(tmp_path) == ["protocol.md"]
    assert docs.write(tmp_path) == ["protocol.md"]
    assert docs.stale(tmp_path) == []


def test_the_check_fails_with_the_command_that_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(docs, "DOCS", tmp_path)

    assert docs.main(["--check"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert "docs/protocol.md is stale: run `make docs` and commit it" in told

    assert docs.main([]) == 0
    assert docs.main(["--check"]) == 0
