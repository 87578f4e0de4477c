"""The plan format for editors and readers, made from the tables that the loader reads by."""

from typing import Any, TypeAlias

from core.phases import fields
from core.phases.criteria import KINDS, Kind
from core.phases.fields import Field, arguments_of
from core.phases.plan import PLAN_BYTES_MAX
from core.phases.wording import EXAMPLE_PLAN
from core.phases.yaml_safe import ALIASED_NODES_MAX, DEPTH_MAX, NODES_MAX

Json: TypeAlias = dict[str, Any]

# Texts are taken as written, so an editor must not complain about 652 or true.
_TEXT: Json = {"type": ["string", "number", "boolean"]}
_TEXTS: Json = {"type": "array", "items": _TEXT}

_SCHEMAS: dict[str, Json] = {
    "version": {"const": fields.VERSION},
    "text": _TEXT,
    "task_id": _TEXT,
    "id": {**_TEXT, "pattern": f"^{fields.ID_PATTERN}$"},
    "flag": {"type": "boolean"},
    "skills": _TEXTS,
    "paths": _TEXTS,
}
_WORDS = {
    "version": str(fields.VERSION),
    "text": "text",
    "task_id": "text",
    "id": "id",
    "flag": "true or false",
    "skills": "list of skills",
    "paths": "list of paths",
    "limits": "mapping, see limits",
    "skill_injection": "mapping, see skill_injection",
    "phases": "list, see phases",
    "criteria": "list, see exit_criteria",
}


_LIFE = """\
## Arming

A plan file does nothing until it is armed in a session, by `turnkeeper arm --plan plan.yaml
--session <id>` or by the method `turnkeeper/plan/arm`. A file with a fault is refused with all its
faults, and nothing changes. What is armed is a frozen copy: a later edit of the file counts when
it is armed again, which begins with the first phase. A criterion that is met already, and a skill
that no one finds, are warnings.

## At the end of a turn

While a plan is armed, each prompt is answered with what the current phase asks for, and each turn
that ends as completed is checked. A phase is closed when all its required skills were opened in it
and all its criteria are met.

- Closed, and another phase follows: `continue`; the agent goes on with the next phase at once.
  Several phases may close at one turn end. After the last one the plan is complete.
- Not closed: `block`; the agent is told each gap with the exact next action and how many attempts
  are left. The next human prompt brings the correction again, once, unless the phase is closed by
  then.
- Not closed, and no attempt left: the plan is given up. The turn may end and nothing is blocked
  from then on. A human's resume (`turnkeeper/plan/resume`) takes the plan up again at the same
  phase with fresh counters; arming it again begins anew.

A host that listens to only so many answers in a row (Claude Code: 8) is let go one before that;
the plan stays armed and the next prompt goes on.

Closing a phase resets the count of its attempts, not that of the whole plan. A turn that waits for
its user, was interrupted or failed, or has tasks in the background is never blocked, nor is a
sub-agent.

## In an editor

An editor that has started `turnkeeper serve` shows faults in a file named `plan.yaml` or
`plan.yml`, or one that ends with `.plan.yaml` or `.plan.yml`, and in whatever file is armed. In an
armed one it also shows each open gap after a block, and one hint for each phase."""


def plan_schema() -> Json:
    """Give the JSON Schema of a plan file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Turnkeeper plan",
        **_mapping(fields.PLAN),
    }


def plan_format_markdown() -> str:
    """Give the page that explains plan files."""
    parts = [
        "# Plan files",
        (
            "A plan is a YAML file of phases that are carried out in order. Texts, ids and paths"
            " are taken as written: `652`, `on` and `12:30` stay texts."
        ),
        f"```yaml\n{EXAMPLE_PLAN}```",
        _LIFE,
        "## The plan\n\n" + _table(fields.PLAN),
        "## limits\n\n" + _table(fields.LIMITS),
        "## phases\n\nEach phase has an `id`, and a `task_prompt` or `exit_criteria`.\n\n"
        + _table(fields.PHASE),
        "## skill_injection\n\nBoth lists are skills that are put before the agent, and by default"
        " both must be opened. They are kept apart for the reader alone: general method (dao) and"
        " technique for the task (shu).\n\n" + _table(fields.SKILL_INJECTION),
        "## exit_criteria\n\nEach list item is a mapping with one kind of criterion and,"
        " if it should have a name of its own, an `id`: "
        + fields.CRITERION_ID.doc[0].lower()
        + fields.CRITERION_ID.doc[1:],
        *(_kind_section(kind) for kind in KINDS),
        (
            "## Paths\n\nPaths are relative to the workspace and use `/`. They never leave it: no"
            " `..`, no absolute path, no link on the way. In a pattern `*` and `?` stand within one"
            " name and `**` for any number of folders; names with a leading dot match only where"
            " the pattern has the dot."
        ),
        (
            f"## Limits of the file\n\nUTF-8, at most {PLAN_BYTES_MAX // 1024} KiB, {NODES_MAX:,}"
            f" values and {DEPTH_MAX} levels; aliases may repeat {ALIASED_NODES_MAX:,} values. One"
            " document; no tags, no merge keys, no key twice."
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _mapping(table: tuple[Field, ...]) -> Json:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [field.name for field in table if field.required],
        "properties": {field.name: _property(field) for field in table},
    }


def _property(field: Field) -> Json:
    default = {} if field.default is None else {"default": field.default}
    return {"description": field.doc, **_value(field), **default}


def _value(field: Field) -> Json:
    match field.takes:
        case "count":
            return {"type": "integer", "minimum": field.low, "maximum": field.high}
        case "limits":
            return _mapping(fields.LIMITS)
        case "skill_injection":
            return _mapping(fields.SKILL_INJECTION)
        case "criteria":
            return {"type": "array", "items": {"oneOf": [_criterion(kind) for kind in KINDS]}}
        case "phases":
            item = _mapping(fields.PHASE)
            item["anyOf"] = [{"required": ["task_prompt"]}, {"required": ["exit_criteria"]}]
            return {
                "type": "array",
                "minItems": 1,
                "maxItems": fields.PHASES_MAX,
                "items": item,
            }
    return _SCHEMAS[field.takes]


def _criterion(kind: Kind) -> Json:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [kind.name],
        "properties": {
            "id": _property(fields.CRITERION_ID),
            kind.name: {
                "description": kind.args.__doc__,
                "anyOf": [_short(kind), _mapping(arguments_of(kind))],
            },
        },
    }


def _short(kind: Kind) -> Json:
    return {**_TEXT, "pattern": "::"} if "::" in kind.short else _TEXT


def _kind_section(kind: Kind) -> str:
    arguments = arguments_of(kind)
    names = ", ".join(f"{field.name}: ..." for field in arguments)
    return (
        f"### {kind.name}\n\n{kind.args.__doc__} Written as `{kind.name}: {kind.short}` or"
        f" `{kind.name}: {{{names}}}`.\n\n{_table(arguments)}"
    )


def _table(table: tuple[Field, ...]) -> str:
    rows = ["| key | value | default | meaning |", "| --- | --- | --- | --- |"]
    rows += [
        f"| {field.name} | {_words(field)} | {_default(field)} | {field.doc} |" for field in table
    ]
    return "\n".join(rows)


def _words(field: Field) -> str:
    if field.takes == "count":
        return f"number, {field.low} to {field.high}"
    return _WORDS[field.takes]


def _default(field: Field) -> str:
    if field.required:
        return "required"
    if field.default in (None, "", ()):
        return ""
    return str(field.default).lower()
