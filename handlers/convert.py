"""JSON to wire types and back: strict in, camelCase out."""

from typing import Any, TypeVar

from core.errors import InvalidParams
from handlers.wire_records import (
    Json,
    Path,
    Wrong,
    adopt_record,
    read_record,
    shape,
    write_record,
)

_T = TypeVar("_T")


def structure(cls: type[_T], params: Json) -> _T:
    """Read params as this record; None counts as {}.

    Nothing is coerced, null in an optional field is as good as absent, unknown names are ignored.
    Raises InvalidParams, whose message and `field` give the wire path and never a value.
    """
    try:
        return read_record(cls, {} if params is None else params)
    except Wrong as wrong:
        raise _refusal(cls, wrong) from None


def unstructure(value: Any) -> dict[str, Json]:
    """Give a record as a JSON object: None is left out, but for fields that may be null."""
    return write_record(value)


def from_core(cls: type[_T], value: Any) -> _T:
    """Make a record from a mapping or object of core whose keys are the record's attribute names.

    Nested values follow; lists become tuples; None and absent values are left to the defaults.
    """
    return adopt_record(cls, value)


def unknown_fields(cls: type, params: Json) -> list[str]:
    """Name the params that this record does not know, as they were sent; they may be any text."""
    if type(params) is not dict:
        return []
    known = shape(cls).readers
    return [name for name in params if name not in known]


def _refusal(cls: type, wrong: Wrong) -> InvalidParams:
    field = path_text(wrong.path)
    place = f"params.{field}" if field else "params"
    return InvalidParams(
        f"{place}: {wrong.message}", hint=_hint(cls, wrong.path), field=field or "params"
    )


def path_text(path: Path) -> str:
    """Write a path as people do: attachments[0].name."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def _hint(cls: type, path: Path) -> str:
    """Say what the params field is for that the fault lies in, and where all of them are listed."""
    docs = f"docs/protocol.md lists the fields of {cls.__name__}."
    for member in shape(cls).members:
        if path and member.wire == path[0]:
            return f"{member.wire}: {member.doc} {docs}"
    return docs
