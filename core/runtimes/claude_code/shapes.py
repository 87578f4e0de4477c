"""How fields of raw rows are read: what has not its usual type is as good as missing."""

from core.events import Json
from core.recordings.content import count_of, text_of
from core.recordings.contract import Row

__all__ = (
    "RUNTIME",
    "SYNTHETIC_MODEL",
    "count_of",
    "dict_of",
    "dicts_of",
    "list_of",
    "text_of",
    "texts_of",
)

RUNTIME = "claude_code"
SYNTHETIC_MODEL = "<synthetic>"  # Rows that the program wrote itself: no model was asked.


def dict_of(row: Row, key: str) -> Row:
    """Give the object under a key; an empty one for anything else."""
    value = row.get(key)
    return value if isinstance(value, dict) else {}


def list_of(row: Row, key: str) -> list[Json]:
    """Give the list under a key; an empty one for anything else."""
    value = row.get(key)
    return value if isinstance(value, list) else []


def texts_of(row: Row, key: str) -> list[str]:
    """Give the texts in the list under a key."""
    return [item for item in list_of(row, key) if isinstance(item, str)]


def dicts_of(row: Row, key: str) -> list[Row]:
    """Give the objects in the list under a key."""
    return [item for item in list_of(row, key) if isinstance(item, dict)]
