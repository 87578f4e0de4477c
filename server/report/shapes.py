"""Reads values of a report, whatever shape they have."""

from typing import Any

Json = Any


def is_number(value: Json) -> bool:
    """Tell whether a value is a whole number, and no truth value."""
    return type(value) is int


def is_text(value: Json) -> bool:
    """Tell whether a value is a text that says something."""
    return isinstance(value, str) and value != ""


def object_of(value: Json) -> Json:
    """Give an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def objects_of(value: Json) -> list[Json]:
    """Give the objects of a list; none for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
