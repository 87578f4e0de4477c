"""Short names of sessions, by which those of one report are told apart."""

import re
from collections import Counter
from typing import Any

from core.phases.display import shown

Json = Any

_ID_MAX = 80
_FILE_MAX = 28
_WHOLE, _HEAD, _TAIL = 16, 8, 12
# UUID version 7 begins with the time: sessions of one minute differ in their ends only.
_BEGINS_WITH_TIME = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-", re.IGNORECASE)


def short_ids(sessions: list[Json]) -> list[str]:
    """Give a part of each session's id, all of it where others share the part; "" without one.

    Files that hold the same session are told apart by their names.
    """
    ids = [_text(session.get("sessionId"), _ID_MAX) for session in sessions]
    parts = [_part(one) for one in ids]
    alike, same = Counter(parts), Counter(ids)
    found = []
    for session, whole, part in zip(sessions, ids, parts, strict=True):
        file = _text(_last(session.get("path")), _FILE_MAX)
        if same[whole] > 1 and file:
            found.append(f"{part} ({file})")
        else:
            found.append(part if alike[part] == 1 else whole)
    return found


def folder(session: Json) -> str:
    """Give the last part of a session's folder, or ""."""
    return _text(_last(session.get("cwd")), _ID_MAX)


def _part(whole: str) -> str:
    if len(whole) <= _WHOLE:
        return whole
    return whole[-_TAIL:] if _BEGINS_WITH_TIME.match(whole) else whole[:_HEAD]


def _last(path: Json) -> Json:
    if not isinstance(path, str):
        return ""
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2]


def _text(value: Json, limit: int) -> str:
    return shown(value, limit) if isinstance(value, str) and value else ""
