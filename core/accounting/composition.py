"""What one model request is made of: exact parts, and the reported input shared out over them."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from core.accounting.kinds import classify

SCHEMA = "tool_schema"
MCP_SCHEMA = "mcp_schema"  # The schemas of one server, summed.
SYSTEM_PROMPT = "system_prompt"
SOURCE = "transcript/api-request-shape"  # Where system prompt and schemas are written down.


class Part(NamedTuple):
    """One part; units are UTF-16 units, tokens a share of the reported input."""

    kind: str
    name: str | None
    source: str
    units: int
    tokens: int | None = None  # None while no usage of the request was reported.


class Composition(NamedTuple):
    """A request, part by part; the parts' units are all of it, their tokens sum to `reported`."""

    request_id: str | None
    parts: tuple[Part, ...]
    reported: int | None = None  # Input of the request in tokens, cache included.


def composed(
    request_id: str | None,
    rows: Iterable[list[Any]],
    reported: int | None,
    servers: tuple[str, ...] = (),
) -> Composition:
    """Put parts of one kind and name together and share the reported input out by their units."""
    units: dict[tuple[str, str | None, str], int] = {}
    for role, name, source, length in rows:
        kind, shown = _kind(role, name, servers)
        key = (kind, shown, source)
        units[key] = units.get(key, 0) + length
    shares = _shares(list(units.values()), reported)
    parts = (
        Part(*key, length, share)
        for (key, length), share in zip(units.items(), shares, strict=True)
    )
    return Composition(request_id, tuple(parts), reported)


def _kind(role: str, name: str | None, servers: tuple[str, ...]) -> tuple[str, str | None]:
    if role != SCHEMA or name is None:
        return role, name
    tool = classify(name, servers)
    return (MCP_SCHEMA, tool.group) if tool.kind == "mcp" else (SCHEMA, name)


def _shares(units: list[int], reported: int | None) -> list[int | None]:
    """Share tokens out in proportion; what rounding leaves goes to the largest remainders."""
    whole = sum(units)
    if reported is None or not whole:
        return [None] * len(units)
    shares = [reported * length // whole for length in units]
    order = sorted(range(len(units)), key=lambda i: -(reported * units[i] % whole))
    for place in order[: reported - sum(shares)]:
        shares[place] += 1
    return list(shares)


def to_json(composition: Composition) -> dict[str, Any]:
    """Give it as JSON values."""
    return {
        "request_id": composition.request_id,
        "parts": [list(part) for part in composition.parts],
        "reported": composition.reported,
    }


def from_json(data: dict[str, Any]) -> Composition:
    """Read what `to_json` wrote."""
    parts = tuple(Part(*row) for row in data["parts"])
    return Composition(data["request_id"], parts, data["reported"])
