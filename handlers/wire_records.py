"""Records of the wire: attrs classes whose fields each name a kind of value and a sentence.

Reading, writing, docs/protocol.md and the JSON Schema are all made from these declarations.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast, dataclass_transform

import attrs

Json: TypeAlias = Any  # A JSON value.
Schema: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str | int, ...]

_T = TypeVar("_T")


class Wrong(Exception):
    """A value does not fit; `path` grows outwards while the fault travels. It never holds text."""

    def __init__(self, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.message = message
        self.path = path


class Kind(NamedTuple):
    """One kind of value: its name in the docs, how it is read, its JSON Schema, how it is written.

    `read` gives the Python value or raises Wrong; `write` gives JSON, `adopt` takes what core has;
    these two are None when there is nothing to change.
    """

    label: str
    read: Callable[[Json], Any]
    schema: Schema
    write: Callable[[Any], Json] | None = None
    adopt: Callable[[Any], Any] | None = None


class OneOf(NamedTuple):
    """Of these fields (wire names) at most one may be there, and at least `least`, 0 or 1."""

    names: tuple[str, ...]
    least: int

    def sentence(self) -> str:
        """Say the rule in words."""
        amount = "exactly one" if self.least else "at most one"
        return f"{amount} of {', '.join(self.names[:-1])} or {self.names[-1]}"

    def hold(self, given: Set[str]) -> None:
        """Raise Wrong unless the wire names that are there keep the rule."""
        held = [name for name in self.names if name in given]
        if not self.least <= len(held) <= 1:
            place = held[-1] if held else self.names[0]
            got = " and ".join(held) or "none"
            raise Wrong(f"expected {self.sentence()}, got {got}", (place,))

    def schema(self) -> Schema:
        """Say the rule as JSON Schema, where null is as good as absent."""
        one = [_present(name) for name in self.names]
        none = {"not": {"anyOf": one}}
        return {"oneOf": one if self.least else [*one, none]}


class Needs(NamedTuple):
    """A field (wire name) that means nothing without another one."""

    name: str
    other: str

    def sentence(self) -> str:
        """Say the rule in words."""
        return f"{self.name} only together with {self.other}"

    def hold(self, given: Set[str]) -> None:
        """Raise Wrong unless the wire names that are there keep the rule."""
        if self.name in given and self.other not in given:
            raise Wrong(f"required with {self.name}, but missing", (self.other,))

    def schema(self) -> Schema:
        """Say the rule as JSON Schema, where null is as good as absent."""
        return {"anyOf": [{"not": _present(self.name)}, _present(self.other)]}


Rule: TypeAlias = OneOf | Needs


class Member(NamedTuple):
    """One field of a record as the wire sees it."""

    attribute: str
    wire: str
    kind: Kind
    doc: str
    required: bool
    nullable: bool  # Always present when written, null included.
    default: Any


class Shape(NamedTuple):
    """What is known of one record class."""

    members: tuple[Member, ...]
    rules: tuple[Rule, ...]
    readers: dict[str, tuple[str, Callable[[Json], Any], bool]]  # wire: attribute, read, optional
    writers: tuple[tuple[str, str, bool, Callable[[Any], Json] | None], ...]


def field(
    kind: Kind, doc: str, *, default: Any = attrs.NOTHING, wire: str = "", nullable: bool = False
) -> Any:
    """Declare one wire field; without a default it is required, `wire` if it is not camelCase."""
    metadata = {"kind": kind, "doc": doc, "wire": wire, "nullable": nullable}
    return attrs.field(default=default, metadata=metadata)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def record(*rules: Rule) -> Callable[[type[_T]], type[_T]]:
    """Make a frozen attrs class of fields, held to these rules when it is read."""

    def make(cls: type[_T]) -> type[_T]:
        # attrs would compile a comparison for each class, which costs start-up time, and a repr,
        # which would show prompts.
        cls.__eq__ = _equal  # type: ignore[method-assign]
        made = attrs.frozen(slots=True, kw_only=True, eq=False, repr=False)(cls)
        _SHAPES[made] = _shape(made, rules)
        return made

    return make


def _equal(one: object, other: object) -> bool:
    """Records are values: those of one class with equal fields are equal."""
    if type(one) is not type(other):
        return False
    fields = (member.attribute for member in shape(type(one)).members)
    return all(getattr(one, name) == getattr(other, name) for name in fields)


def exactly_one(*names: str) -> OneOf:
    """One of these fields must be there, and only one."""
    return OneOf(names, 1)


def at_most_one(*names: str) -> OneOf:
    """Of these fields only one may be there."""
    return OneOf(names, 0)


def shape(cls: type) -> Shape:
    """Give what is known of a record class."""
    return _SHAPES[cls]


def records() -> tuple[type, ...]:
    """Give every record class there is, in order of declaration."""
    return tuple(_SHAPES)


def read_record(cls: type[_T], data: Json) -> _T:
    """Read a JSON object as a record; unknown names are ignored. Raises Wrong."""
    if type(data) is not dict:
        raise Wrong(f"expected an object, got {told(data)}")
    known = _SHAPES[cls]
    readers = known.readers
    values = {}
    for wire, value in data.items():
        reader = readers.get(wire)
        if reader is None or (value is None and reader[2]):
            continue
        try:
            values[reader[0]] = reader[1](value)
        except Wrong as wrong:
            wrong.path = (wire, *wrong.path)
            raise
    if known.rules:
        given = {name for name in data if name in readers and readers[name][0] in values}
        for rule in known.rules:
            rule.hold(given)
    try:
        return cls(**values)
    except TypeError:
        raise _missing(known, values) from None


def write_record(value: Any) -> dict[str, Json]:
    """Give a record as a JSON object: None is left out, except in fields that may be null."""
    answer: dict[str, Json] = {}
    for attribute, wire, nullable, write in _SHAPES[type(value)].writers:
        held = getattr(value, attribute)
        if held is not None:
            answer[wire] = held if write is None else write(held)
        elif nullable:
            answer[wire] = None
    return answer


def adopt_record(cls: type[_T], value: Any) -> _T:
    """Make a record from a mapping or an object of core that has the same names, all the way down.

    What is absent or None there is left to the default; a required field without a value is a bug.
    """
    held = value if isinstance(value, Mapping) else _Attributes(value)
    values: dict[str, Any] = {}
    for member in _SHAPES[cls].members:
        part = held.get(member.attribute)
        if part is not None:
            adopt = member.kind.adopt
            values[member.attribute] = part if adopt is None else adopt(part)
        elif member.nullable:
            values[member.attribute] = None
    return cls(**values)


def changed(value: _T, **changes: Any) -> _T:
    """Give a copy of a record with these attributes changed."""
    copy: _T = attrs.evolve(cast(Any, value), **changes)
    return copy


def told(value: Json) -> str:
    """Name the JSON type of a value; the value itself is never shown."""
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string"}
    names |= {list: "an array", dict: "an object", type(None): "null"}
    return names[type(value)]


def choice(*names: str) -> Kind:
    """A string out of a closed list."""
    allowed = frozenset(names)

    def read(value: Json) -> str:
        if type(value) is str and value in allowed:
            return value
        got = "another string" if type(value) is str else told(value)
        raise Wrong(f"expected one of {', '.join(names)}, got {got}")

    return Kind(", ".join(f"`{name}`" for name in names), read, {"enum": list(names)})


def list_of(kind: Kind) -> Kind:
    """An array of one kind, read as a tuple."""

    def read(value: Json) -> tuple[Any, ...]:
        if type(value) is not list:
            raise Wrong(f"expected an array, got {told(value)}")
        return tuple([read_at(position, kind, item) for position, item in enumerate(value)])

    def write(value: tuple[Any, ...]) -> list[Json]:
        return list(value) if kind.write is None else [kind.write(item) for item in value]

    def adopt(value: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(value if kind.adopt is None else map(kind.adopt, value))

    schema = {"type": "array", "items": kind.schema}
    return Kind(f"array of {kind.label}", read, schema, write, adopt)


def map_of(kind: Kind) -> Kind:
    """An object with any names whose values are of one kind."""

    def read(value: Json) -> dict[str, Any]:
        if type(value) is not dict:
            raise Wrong(f"expected an object, got {told(value)}")
        return {name: read_at(name, kind, item) for name, item in value.items()}

    def write(value: Mapping[str, Any]) -> dict[str, Json]:
        if kind.write is None:
            return dict(value)
        return {name: kind.write(item) for name, item in value.items()}

    def adopt(value: Mapping[str, Any]) -> dict[str, Any]:
        if kind.adopt is None:
            return dict(value)
        return {name: kind.adopt(item) for name, item in value.items()}

    schema = {"type": "object", "additionalProperties": kind.schema}
    return Kind(f"object of {kind.label}", read, schema, write, adopt)


def object_of(cls: type) -> Kind:
    """A nested record."""
    name = cls.__name__

    def read(value: Json) -> Any:
        return read_record(cls, value)

    def adopt(value: Any) -> Any:
        return value if type(value) is cls else adopt_record(cls, value)

    schema = {"$ref": f"#/$defs/{name}"}
    return Kind(f"[{name}](#{name.lower()})", read, schema, write_record, adopt)


def read_at(place: str | int, kind: Kind, item: Json) -> Any:
    """Read one part of a larger value; a fault then carries the part's place."""
    try:
        return kind.read(item)
    except Wrong as wrong:
        wrong.path = (place, *wrong.path)
        raise


class _Attributes:
    """The attributes of an object, asked for as a mapping is."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def get(self, name: str) -> Any:
        return getattr(self._value, name, None)


def _member(attribute: "attrs.Attribute[Any]") -> Member:
    metadata = attribute.metadata
    first, *rest = attribute.name.split("_")
    wire = metadata["wire"] or first + "".join(word.capitalize() for word in rest)
    required = attribute.default is attrs.NOTHING
    kind, doc, nullable = metadata["kind"], metadata["doc"], metadata["nullable"]
    return Member(attribute.name, wire, kind, doc, required, nullable, attribute.default)


def _reader(member: Member) -> Callable[[Json], Any]:
    read = member.kind.read
    if not member.nullable:
        return read
    return lambda value: None if value is None else read(value)


def _missing(known: Shape, values: dict[str, Any]) -> Wrong:
    member = next(m for m in known.members if m.required and m.attribute not in values)
    return Wrong("required, but missing", (member.wire,))


def _shape(cls: type, rules: tuple[Rule, ...]) -> Shape:
    members = tuple(_member(attribute) for attribute in attrs.fields(cls))
    return Shape(
        members,
        rules,
        {m.wire: (m.attribute, _reader(m), not m.required) for m in members},
        tuple((m.attribute, m.wire, m.nullable, m.kind.write) for m in members),
    )


def _present(name: str) -> Schema:
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


_SHAPES: dict[type, Shape] = {}
