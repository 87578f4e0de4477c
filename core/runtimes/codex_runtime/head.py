"""Whose recording a file is, and where the recordings of a workspace lie."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from core.events import Json
from core.recordings.content import text_of
from core.recordings.contract import Fault, Head, Row
from core.recordings.lines import rows as rows_of
from core.runtimes.codex_runtime import shapes
from core.runtimes.codex_runtime.shapes import RUNTIME

HEAD_ROWS = 400  # The model is named with the first turn; later it is not looked for.
FILES_MAX = 200  # Recordings that are looked at, the newest by their names.
_FIRST_ROWS = 8  # Of a recording, until its folder is known.

_NAMED = re.compile(r"rollout-.*?([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})")
_CWD = re.compile(r"<cwd>(.*?)</cwd>", re.DOTALL)


class _Sighting:
    """What the head gathers from the rows, first one wins."""

    __slots__ = ("cwd", "model", "parent", "session_id", "side", "version")

    def __init__(self) -> None:
        self.session_id = self.cwd = self.model = self.version = self.parent = ""
        self.side = False

    def see(self, row: Row) -> None:
        shape, row = shapes.shape_of(row), shapes.unwrapped(row)
        payload = row.get("payload")
        if shape == shapes.ROLLOUT and isinstance(payload, dict):
            self._see_rollout(text_of(row, "type"), payload)
        elif shape == shapes.BARE:
            if shapes.is_bare_head(row):
                self.session_id = self.session_id or text_of(row, "id")
            self._see_texts(row)
        elif shape == shapes.SERVER:
            params = row["params"]
            self._see_thread(params.get("thread"))
            self.session_id = self.session_id or text_of(params, "threadId")
        elif shape == shapes.EXEC:
            self.session_id = self.session_id or text_of(row, "thread_id")
        elif shape == shapes.HOOK:
            self.session_id = self.session_id or text_of(row, "session_id")
            self.cwd = self.cwd or text_of(row, "cwd")
            self.model = self.model or text_of(row, "model")
        elif shape == shapes.NOTIFY:
            self.session_id = self.session_id or text_of(row, "thread-id")
            self.cwd = self.cwd or text_of(row, "cwd")

    def _see_rollout(self, kind: str, payload: Row) -> None:
        if kind == "session_meta" and not self.session_id:
            self.session_id = text_of(payload, "id") or text_of(payload, "session_id")
            self.cwd, self.version = text_of(payload, "cwd"), text_of(payload, "cli_version")
            self.model = text_of(payload, "model")
            self._see_source(payload)
        elif kind == "turn_context":
            self.cwd = self.cwd or text_of(payload, "cwd")
            self.model = self.model or text_of(payload, "model")
        elif kind == "response_item":
            self._see_texts(payload)

    def _see_source(self, payload: Row) -> None:
        self.parent = parent_of(payload)
        self.side = is_sub_agent(payload)
        if self.parent == self.session_id:
            self.parent = ""

    def _see_thread(self, thread: Json) -> None:
        if not isinstance(thread, dict) or self.cwd:
            return
        self.session_id = self.session_id or text_of(thread, "id")
        self.cwd, self.version = text_of(thread, "cwd"), text_of(thread, "cliVersion")
        self.model = self.model or text_of(thread, "model")

    def _see_texts(self, item: Row) -> None:
        content = item.get("content")
        for part in content if isinstance(content, list) and not self.cwd else ():
            text = text_of(part, "text")
            if text.startswith("<environment_context>") and (found := _CWD.search(text)):
                self.cwd = found.group(1).strip()

    def is_complete(self) -> bool:
        return bool(self.session_id and self.cwd and self.model)


def read_head(path: str, rows: Iterable[Row]) -> Head:
    """Read as many rows as it takes to know the session."""
    seen = _Sighting()
    for row in islice(rows, HEAD_ROWS):
        seen.see(row)
        if seen.is_complete():
            break
    name = os.path.splitext(os.path.basename(path))[0]
    named = _NAMED.match(name)
    return Head(
        RUNTIME,
        seen.session_id or (named.group(1) if named else name),
        seen.cwd,
        seen.model or None,
        seen.version or None,
        seen.side,
        seen.parent or None,
        path,
    )


def parent_of(meta: Row) -> str:
    """Name the thread that this one was spawned or forked by; "" where there is none."""
    spawned = _spawn(meta)
    for row, key in (
        (meta, "parent_thread_id"),
        (meta, "parentThreadId"),
        (spawned, "parent_thread_id"),
        (meta, "forked_from_id"),
        (meta, "forkedFromId"),
    ):
        if parent := text_of(row, key):
            return parent
    return ""


def is_sub_agent(meta: Row) -> bool:
    """Say whether a thread was begun by another thread's agent and not by a person."""
    source = meta.get("source")
    named = isinstance(source, dict) and any(
        key in source for key in ("subagent", "sub_agent", "subAgent")
    )
    return named or text_of(meta, "thread_source") == "subagent"


def _spawn(meta: Row) -> Json:
    source = meta.get("source")
    if not isinstance(source, dict):
        return None
    agent = source.get("subagent") or source.get("sub_agent") or source.get("subAgent")
    return agent.get("thread_spawn") if isinstance(agent, dict) else None


def recordings(home: str, environ: Mapping[str, str], workspace: str) -> list[str]:
    """List the rollouts of a workspace ("" for all) that were written to last, newest first."""
    root = environ.get("CODEX_HOME") or os.path.join(home, ".codex")
    newest = list(islice(_rollouts(os.path.join(root, "sessions")), FILES_MAX))
    dated = sorted(((_changed(path), path) for path in newest), reverse=True)
    return [path for _, path in dated if not workspace or _is_in(path, workspace)]


def _rollouts(sessions: str) -> Iterator[str]:
    """Give the rollouts below sessions/<year>/<month>/<day>, the newest name first."""
    for year in _names(sessions):
        for month in _names(os.path.join(sessions, year)):
            for day in _names(os.path.join(sessions, year, month)):
                folder = os.path.join(sessions, year, month, day)
                for name in _names(folder):
                    if name.startswith("rollout-") and name.endswith(".jsonl"):
                        yield os.path.join(folder, name)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder), reverse=True)
    except OSError:
        return []


def _changed(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _is_in(path: str, workspace: str) -> bool:
    faults: list[Fault] = []
    try:
        first = islice((row for _, row in rows_of(path, faults)), _FIRST_ROWS)
        cwd = read_head(path, first).cwd
        return bool(cwd) and os.path.realpath(cwd) == os.path.realpath(workspace)
    except (OSError, ValueError):  # ValueError: no disk can have a path of this name.
        return False
