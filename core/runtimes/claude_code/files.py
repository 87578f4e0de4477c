"""Where Claude Code keeps its transcripts, and those of the sub-agents of a session."""

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from core.recordings.contract import SideFile

_LOOKED_AT_BYTES = 64 * 1024
_FOLDER_UNITS_MAX = 200  # Longer names are cut and get a hash behind.
_AGENT_FILE = re.compile(r"agent-([A-Za-z0-9_-]+)\.jsonl")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ROW_ID = re.compile(rb'"uuid"\s*:\s*"([^"\\]+)"')
_SESSION_ID = re.compile(rb'"sessionId"\s*:\s*"([^"\\]+)"')


def agent_of_file(path: str) -> str:
    """Name the sub-agent of a file by the file's name; "" for any other file."""
    found = _AGENT_FILE.fullmatch(os.path.basename(path))
    return found.group(1) if found else ""


def is_uuid(text: str) -> bool:
    """Say whether this is what a session of Claude Code is called."""
    return _UUID.fullmatch(text) is not None


def has_sibling(path: str, session_id: str) -> bool:
    """Say whether this other session's file stands beside a session's file."""
    stem = os.path.splitext(os.path.basename(path))[0]
    if not is_uuid(stem) or not is_uuid(session_id) or stem == session_id:
        return False
    return os.path.isfile(os.path.join(os.path.dirname(path), session_id + ".jsonl"))


def shares_rows(path: str, row_id: str) -> bool:
    """Say whether the file of another session beside a session's file begins with this row too."""
    if not row_id or not is_uuid(os.path.splitext(os.path.basename(path))[0]):
        return False
    folder = os.path.dirname(path) or "."
    return row_id.encode(errors="replace") in _shared_rows(folder, _stamp(folder))


@lru_cache(maxsize=8)
def _shared_rows(folder: str, _stamp: int) -> frozenset[bytes]:
    """Name the rows (uuids) with which more than one session's file of a folder begins."""
    once: set[bytes] = set()
    again: set[bytes] = set()
    for entry in _entries(folder):
        stem, extension = os.path.splitext(entry.name)
        if extension == ".jsonl" and is_uuid(stem):
            found = {match.group(1) for match in _ROW_ID.finditer(_start(entry.path))}
            again |= once & found
            once |= found
    return frozenset(again)


def sides(path: str) -> tuple[SideFile, ...]:
    """List the files of a session's sub-agents, in all three layouts.

    They lie below a folder of the session's name (2.1), nested ones too, or beside the session's
    file (2.0), where only what is written inside tells whose they are.
    """
    if agent_of_file(path):
        return ()
    folder, stem = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
    found: dict[str, SideFile] = {}
    for place in (*_below(os.path.join(folder, stem, "subagents")), *_beside(path, folder, stem)):
        agent_id = agent_of_file(place)
        found.setdefault(agent_id, SideFile(agent_id, place))
    return tuple(found.values())


def recordings(home: str, environ: Mapping[str, str], workspace: str) -> list[str]:
    """List the transcripts of a workspace, newest first; "" lists those of all."""
    base = environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    projects = os.path.join(base, "projects")
    found: list[tuple[float, str]] = []
    for folder in _folders(projects, workspace):
        for entry in _entries(folder):
            if entry.name.endswith(".jsonl") and not agent_of_file(entry.name):
                found += _recording(entry)
    return [path for _, path in sorted(found, key=lambda item: (-item[0], item[1]))]


def _recording(entry: "os.DirEntry[str]") -> list[tuple[float, str]]:
    """Give a file with the time of its last change; nothing for a link that leads nowhere."""
    try:
        return [(entry.stat().st_mtime, entry.path)] if entry.is_file() else []
    except OSError:
        return []


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _folders(projects: str, workspace: str) -> list[str]:
    if not workspace:
        return sorted(entry.path for entry in _entries(projects) if _is_folder(entry))
    names = {_folder_name(workspace), _folder_name(os.path.realpath(workspace))}
    found: list[str] = []
    for name in sorted(names):
        if len(name) <= _FOLDER_UNITS_MAX:
            found.append(os.path.join(projects, name))
            continue
        start = name[:_FOLDER_UNITS_MAX] + "-"
        found += [entry.path for entry in _entries(projects) if entry.name.startswith(start)]
    return found


def _folder_name(workspace: str) -> str:
    path = workspace.rstrip("/") or "/"
    # JavaScript replaces each UTF-16 unit: two for a character beyond the first plane.
    return re.sub(r"[^A-Za-z0-9]", lambda found: "-" * (1 + (found[0] > "\uffff")), path)


def _below(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        yield from (os.path.join(place, name) for name in sorted(names) if agent_of_file(name))


def _beside(path: str, folder: str, stem: str) -> Iterator[str]:
    agents = _agents_in(folder or ".", _stamp(folder or "."))
    session_ids = {stem, _session_id(path)} if agents else set()
    for place, session_id in agents:
        if session_id in session_ids:
            yield place


@lru_cache(maxsize=64)
def _agents_in(folder: str, _stamp: int) -> tuple[tuple[str, str | None], ...]:
    """List the sub-agents' files in a folder, each with the session that began it."""
    names = sorted(entry.name for entry in _entries(folder) if agent_of_file(entry.name))
    places = [os.path.join(folder, name) for name in names]
    return tuple((place, _session_id(place)) for place in places)


def _stamp(folder: str) -> int:
    """Give what changes when a file comes to a folder; 0 for none."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _session_id(path: str) -> str | None:
    """Give the first session id in a file; None where its first rows have none."""
    found = _SESSION_ID.search(_start(path))
    return found.group(1).decode(errors="replace") if found else None


def _start(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_LOOKED_AT_BYTES)
    except OSError:
        return b""


def _entries(folder: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
