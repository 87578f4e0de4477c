"""docs/protocol.md and docs/protocol.schema.json, made from the catalogue and the wire types."""

import json
from collections.abc import Callable, Iterator

import attrs

from core import errors
from core.accounting.kinds import KINDS, ROWS
from core.phases import cursor
from handlers import wire, wire_accounting, wire_results
from handlers.catalogue import METHODS, PUSHES, Contract, Push
from handlers.markdown import codes, table
from handlers.settings import DEFAULTS, RouteSetting, Settings
from handlers.wire_kinds import COUNT_MAX, ID_MAX_CHARS, NAME_MAX_CHARS, RUNTIMES
from handlers.wire_records import Member, Schema, records, shape

SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"
GENERATED = "<!-- Made by `make docs` from handlers/; edit the types there, not this page. -->"

_INTRO = f"""\
# Protocol

Turnkeeper speaks JSON-RPC 2.0 in the frames of the Language Server Protocol (a `Content-Length`
header, then the body) on stdin and stdout, with the life cycle of LSP: `initialize`,
`initialized`, `shutdown`, `exit`. What follows is our own part. A JSON Schema of every type is in
[protocol.schema.json](protocol.schema.json).

## Opting in

A client opts in with `capabilities.experimental.turnkeeper = {{"version": 1}}` or with any
`initializationOptions.turnkeeper` object. Only such a client is sent our pushes; any client may
call our methods. With `"correctionRequest": true` beside the version a correction comes as a
request; no answer within 10 seconds is the same as `dismiss`, and no verdict waits for it.

## How values are read

- Nothing is coerced: `"10"` is not 10, 5 is not `"5"`, `true` is not 1, and 10.0 is not an integer.
- A field that is not listed here is ignored, so that a newer client works with an older server.
- `null` in an optional field is the same as leaving it out, and params that are absent, `null` or
  `{{}}` are the same where nothing is required.
- In answers a field marked *optional* is left out when there is nothing to say; one marked
  *may be null* is always there.
- An *id* is a string of 1 to {ID_MAX_CHARS:,} characters that is not blank; a *session id* is also
  not the word `null`. A *string, not blank* and other short strings have at most {NAME_MAX_CHARS:,}
  characters. An *integer* lies between 0 and {COUNT_MAX} (2^53). Lengths are UTF-16 code units.
- A file URI must name this machine; its percent-encoding is undone.

## Which turn an event belongs to

A call that names no turn belongs to the open one, or opens one. An event with a new turn id opens
that turn and closes the open one; if the open turn had no name yet, it takes this one. An earlier
turn id belongs to that earlier turn. The same tool use id again in one turn: the last call counts.
A result is matched with its call whichever comes first, until the next prompt or the session's end
closes the account; later it is kept with its turn and raises the revision.
"""

_PLANS = """\
## What a session does about a plan

The `state` of a session. `plan/arm` is taken in every state and begins the plan's first phase;
`sessionStart` with the source `clear` brings every state back to `idle`. An act that does not fit
the state is refused with -32602, and the hint names the states that it fits.
"""

_STATES = (
    (
        cursor.IDLE,
        "There is no plan.",
        "A prompt that looks worth one: `offered`. `plan/decline`: `declined`.",
    ),
    (
        cursor.OFFERED,
        "The agent was asked to write a plan or to decline; each such prompt asks again.",
        "`plan/decline`: `declined`.",
    ),
    (
        cursor.ARMED,
        "The plan is carried out: prompts get its phase, completed turns are checked.",
        (
            "The last phase closes: `complete`. Unmet, and no block left: `given_up`."
            " `awaitingUser`: `waiting_user`. `plan/park`: `parked`."
            " `plan/decline`, `plan/cancel`: `declined`."
        ),
    ),
    (
        cursor.WAITING_USER,
        "The agent asked its user something; no turn end is checked.",
        "The next human prompt: `armed`. `plan/park`, `plan/decline`, `plan/cancel` as above.",
    ),
    (
        cursor.PARKED,
        "The plan rests: nothing is injected, checked or blocked; counters and gaps stay.",
        "`plan/resume`: `armed`. `plan/decline`, `plan/cancel`: `declined`.",
    ),
    (
        cursor.GIVEN_UP,
        (
            "All blocks were used up: nothing is injected or blocked any more, but for one note"
            " with the next human prompt."
        ),
        "`plan/resume`: `armed`, with fresh counters. `plan/decline`, `plan/cancel`: `declined`.",
    ),
    (cursor.COMPLETE, "Every phase is closed. No plan is offered again.", "`plan/arm` alone."),
    (
        cursor.DECLINED,
        "The offer or the plan was turned down. No plan is offered again.",
        "`plan/arm` alone.",
    ),
    (
        cursor.SUPERSEDED,
        (
            "Another session took the run over. Nothing leads here yet: `from` in `plan/arm` is not"
            " available."
        ),
        "`plan/arm` alone.",
    ),
    (
        cursor.STATE_LOST,
        (
            "What was known of a plan cannot be read from the disk. Every turn may end, and each"
            " turn end carries the flag `state_lost`."
        ),
        "`plan/decline`: `declined`.",
    ),
)

_PROMPTS = f"""\
## What a prompt is answered with

`turnkeeper/prompt` answers injections: texts for the host to put before the model together with
the prompt. Turnkeeper reaches no model itself; a host that ignores them loses nothing but their
effect.

- `arm_directive`: asks the agent to write a plan and arm it, or to decline. Only in the states
  `idle` and `offered`, and only if the prompt is from a human (`fromHuman`) and has, after
  trimming, at least `armChars` code points (by default {DEFAULTS.arm_chars}) or hits at least
  `armRoutes` routes.
- `phase`: what the current phase asks for; with every prompt while `armed` or `waiting_user`.
- `correction`: what the last block said, with the next human prompt, once; or the note that the
  plan was given up.

To have no `arm_directive`, give no routes and set `armChars` to a number that no prompt reaches:
`initializationOptions.turnkeeper = {{"armChars": 1000000}}`. With `TURNKEEPER_DISABLED=1` in the
environment of the server plans rest altogether: nothing is injected, blocked or denied, and
accounts are kept as ever.
"""

_SETTINGS = """\
## Settings

In `initializationOptions.turnkeeper`. A value that does not fit refuses `initialize` with -32602;
a key that is not listed means nothing.
"""

_EXAMPLE = """\
## An exchange

    -> {"jsonrpc": "2.0", "id": 1, "method": "turnkeeper/prompt",
        "params": {"sessionId": "s1", "turnId": "t1", "text": "Fix the test."}}
    <- {"jsonrpc": "2.0", "id": 1, "result": {"injections": []}}
    -> {"jsonrpc": "2.0", "method": "turnkeeper/toolCall",
        "params": {"sessionId": "s1", "toolUseId": "u1", "name": "Bash", "input": {}}}
    -> {"jsonrpc": "2.0", "id": 2, "method": "turnkeeper/prompt", "params": {"sessionId": "s1"}}
    <- {"jsonrpc": "2.0", "id": 2, "error": {"code": -32602,
        "message": "params.turnId: required, but missing",
        "data": {"kind": "invalid", "field": "turnId", "hint": "..."}}}
"""

_ERRORS_INTRO = """\
## Errors

A refused request changes nothing. `data` is `{kind, field?, hint, problems?}`: `field` is the path
of the parameter at fault, `hint` the next step, `problems` all faults of a plan file, each a
[PlanProblem](#planproblem). A message never quotes a prompt, an input or a result; one about a
plan names its path and quotes keys, ids and paths of it. A notification cannot be answered: its
fault becomes a flag, with the kind as its code, and a log line. A standard LSP request that fails
in its own way has the code that LSP gives it and the kind `refused`.
"""

_MODULES = (wire.__name__, wire_accounting.__name__, wire_results.__name__)


def protocol_markdown() -> str:
    """Write docs/protocol.md."""
    blocks = (
        GENERATED,
        _INTRO.rstrip(),
        _EXAMPLE.rstrip(),
        *_methods_sections(),
        *_vocabulary_sections(),
        f"{_PLANS}\n{table(('state', 'meaning', 'what changes it'), _state_rows())}",
        _PROMPTS.rstrip(),
        f"{_SETTINGS}\n{_field_table(Settings)}",
        _type_section(RouteSetting),
        _errors_section(),
        *_type_sections("Params", lambda module: module == wire.__name__),
        *_type_sections("Answers and pushes", lambda module: module != wire.__name__),
    )
    return "\n\n".join(blocks) + "\n"


def protocol_schema() -> str:
    """Write docs/protocol.schema.json: every wire type, and which method has which."""
    document = {
        "$schema": SCHEMA_DIALECT,
        "title": "Turnkeeper protocol, version 1",
        "$defs": {cls.__name__: record_schema(cls) for cls in wire_types()},
        "x-methods": {method.name: _method_schema(method) for method in METHODS},
        "x-pushes": {push.name: _push_schema(push) for push in PUSHES},
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def wire_types() -> tuple[type, ...]:
    """Give the records of the protocol, in order of declaration; settings are records too."""
    found = (cls for cls in records() if cls.__module__ in _MODULES)
    # Whoever was imported first must not change the page.
    return tuple(sorted(found, key=lambda cls: _MODULES.index(cls.__module__)))


def record_schema(cls: type) -> Schema:
    """Give the JSON Schema of one record."""
    known = shape(cls)
    schema: Schema = {"type": "object", "description": cls.__doc__}
    schema["properties"] = {member.wire: _member_schema(member) for member in known.members}
    required = [member.wire for member in known.members if member.required]
    if required:
        schema["required"] = required
    if known.rules:
        schema["allOf"] = [rule.schema() for rule in known.rules]
    return schema


def _member_schema(member: Member) -> Schema:
    schema = dict(member.kind.schema)
    if schema and (member.nullable or not member.required):
        schema = {"anyOf": [schema, {"type": "null"}]}
    schema["description"] = member.doc
    if not member.required and member.default is not None:
        schema["default"] = list(member.default) if member.default == () else member.default
    return schema


def _method_schema(method: Contract) -> Schema:
    null = {"type": "null"}
    result = null if method.result is None else _reference(method.result)
    others = [_reference(cls) for cls in method.or_one_of]
    if others or method.may_be_null:
        result = {"anyOf": [result, *others, *([null] if method.may_be_null else [])]}
    return {"description": method.doc, "params": _reference(method.params), "result": result}


def _push_schema(push: Push) -> Schema:
    schema = {"description": push.doc, "params": _reference(push.params)}
    return schema if push.answer is None else schema | {"result": _reference(push.answer)}


def _reference(cls: type) -> Schema:
    return {"$ref": f"#/$defs/{cls.__name__}"}


def _methods_sections() -> Iterator[str]:
    head = ("method", "what it does", "params", "answer")
    host = (_method_row(method) for method in METHODS if method.from_host)
    asked = (_method_row(method) for method in METHODS if not method.from_host)
    yield "## From the host\n\nEach as a request or as a notification, with the same effect."
    yield table(head, host)
    yield "## Asked for\n\nRequests only."
    yield table(head, asked)
    yield "## Pushed\n\nTo a client that opted in."
    yield table(("method", "when", "params", "answer"), (_push_row(push) for push in PUSHES))


def _method_row(method: Contract) -> tuple[str, ...]:
    answer = "null" if method.result is None else _link(method.result)
    answer = ", ".join((answer, *map(_link, method.or_one_of)))
    if method.may_be_null:
        answer = f"null, or {answer}"
    return f"`{method.name}`", method.doc, _link(method.params), answer


def _push_row(push: Push) -> tuple[str, ...]:
    answer = "none" if push.answer is None else f"none, or {_link(push.answer)}"
    return f"`{push.name}`", push.doc, _link(push.params), answer


def _vocabulary_sections() -> Iterator[str]:
    yield "## Runtimes and kinds"
    yield (
        f"Runtimes: {codes(RUNTIMES)}, and `x-<name>` (lower-case letters, digits and hyphens) for"
        " a host that sends these events by itself; snapshots then carry that name."
    )
    yield f"Kinds of context, in this order: {codes(KINDS)}."
    yield f"Rows for people add: {codes(ROWS[len(KINDS) :])}."


def _state_rows() -> Iterator[tuple[str, ...]]:
    return ((f"`{state}`", meaning, changes) for state, meaning, changes in _STATES)


def _errors_section() -> str:
    rows = [(str(cls.code), f"`{cls.kind}`", _sentence(cls)) for cls in _refusals()]
    rows.sort(key=lambda row: -int(row[0]))
    return f"{_ERRORS_INTRO}\n{table(('code', 'kind', 'meaning'), rows)}"


def _refusals() -> list[type[errors.Refusal]]:
    named = [value for value in vars(errors).values() if isinstance(value, type)]
    return [c for c in named if issubclass(c, errors.Refusal) and c is not errors.Refusal]


def _sentence(cls: type) -> str:
    return " ".join((cls.__doc__ or "").split())


def _type_sections(title: str, belongs: Callable[[str], bool]) -> Iterator[str]:
    yield f"## {title}"
    for cls in wire_types():
        if belongs(cls.__module__):
            yield _type_section(cls)


def _type_section(cls: type) -> str:
    known = shape(cls)
    text = f"### {cls.__name__}\n\n{cls.__doc__}"
    if known.rules:
        text += "\n\nIt holds " + "; ".join(rule.sentence() for rule in known.rules) + "."
    return f"{text}\n\n{_field_table(cls)}" if known.members else text


def _field_table(cls: type) -> str:
    rows = (
        (f"`{member.wire}`", member.kind.label, _presence(member), member.doc)
        for member in shape(cls).members
    )
    return table(("field", "type", "presence", "meaning"), rows)


def _presence(member: Member) -> str:
    if member.nullable:
        return "required, may be null"
    if member.default is attrs.NOTHING:
        return "required"
    if member.default is None or member.default == ():
        return "optional"
    return f"optional, default {json.dumps(member.default)}"


def _link(cls: type) -> str:
    return f"[{cls.__name__}](#{cls.__name__.lower()})"
