"""What `turnkeeper report SESSION|FILE|DIR` means: the recordings to read."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from core.errors import Unreadable
from core.phases.display import shown
from core.recordings.lines import open_recording
from core.runtimes.registry import known, runtime
from core.store.root import session_dir, state_root

PREFIX_UNITS_MIN = 8  # A shorter start of an id names a session only by chance.
ENTRIES_MAX = 1_000_000  # Files and folders that are looked at below one folder.
NAMED_MAX = 5  # Ids or places that an error lists.
_LOOKED_AT_BYTES = 64 * 1024
_SHOWN_UNITS = 500

_SUFFIX = ".jsonl"
_ID_AT_END = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)
_SESSION_ID = re.compile(rb'"sessionId"\s*:\s*"([^"\\]+)"')
_SIDES = "subagents"


class NothingFound(Unreadable):
    """Nothing to report on is there, or it is not clear which; the message names the place."""

    kind = "not_found"


class Found(NamedTuple):
    """The recordings, and what is known of them before they are read."""

    files: list[str]
    session_id: str | None = None  # As asked for, in full; it may have no file and be known here.
    unread: tuple[str, ...] = ()  # Folders that could not be read.


def find(target: str | None, home: str, environ: Mapping[str, str]) -> Found:
    """Find what is meant: a file, all below a folder, a session by its id; None for all there are.

    A session that is known to Turnkeeper alone has no files. Raises NothingFound, and OSError for
    a folder that cannot be read.
    """
    if target is None:
        return _all(home, environ)
    if os.path.isdir(target):
        return _below(target)
    if os.path.isfile(target):
        return Found([target])
    if os.path.exists(target):
        raise NothingFound(f"{_place(target)} is no regular file", hint="Give a .jsonl file.")
    return _session(target, home, environ)


def _all(home: str, environ: Mapping[str, str]) -> Found:
    files = _known_recordings(home, environ)
    if not files:
        raise NothingFound(
            f"no agent host has a recording below {_place(home)}",
            hint="Give the file or folder that holds them.",
        )
    return Found(files)


def _session(target: str, home: str, environ: Mapping[str, str]) -> Found:
    wanted = target.lower()
    is_long = len(wanted) >= PREFIX_UNITS_MIN
    by_id: dict[str, list[str]] = {}
    for path in _known_recordings(home, environ):
        session_id = _id_of(path)
        if session_id.lower() == wanted or (is_long and session_id.lower().startswith(wanted)):
            by_id.setdefault(session_id, []).append(path)
    exact = [session_id for session_id in by_id if session_id.lower() == wanted]
    if exact or len(by_id) == 1:
        session_id = exact[0] if exact else next(iter(by_id))
        return Found(by_id[session_id], session_id)
    if by_id:
        raise NothingFound(
            f"{len(by_id)} sessions begin with {_place(target)}: {_listed(sorted(by_id))}",
            hint="Give more of the id.",
        )
    if os.path.isdir(session_dir(state_root(), target)):
        return Found([], target)
    raise _unknown(target, is_long)


def _unknown(target: str, is_long: bool) -> NothingFound:
    if os.sep in target or target.endswith(_SUFFIX):
        return NothingFound(f"{_place(target)}: no such file or folder", hint="Is the path right?")
    if not is_long:
        return NothingFound(
            f"no session has the id {_place(target)}, and no file or folder that name",
            hint=f"Give the whole id, or at least its first {PREFIX_UNITS_MIN} characters.",
        )
    return NothingFound(
        f"no session is known whose id is {_place(target)} or begins so",
        hint="Give the path of its recording, such as a .jsonl file below ~/.claude/projects or"
        " ~/.codex/sessions.",
    )


def _known_recordings(home: str, environ: Mapping[str, str]) -> list[str]:
    """List the recordings of all hosts, each host's newest first."""
    found: list[str] = []
    for name in known():
        host = runtime(name)
        if host is not None and host.recordings is not None:
            found += host.recordings(home, environ, "")
    return found


def _id_of(path: str) -> str:
    """Give the session id in a recording's name: the id it ends with, else all of it."""
    stem = os.path.splitext(os.path.basename(path))[0]
    found = _ID_AT_END.search(stem)
    return found.group() if found else stem


def _below(folder: str) -> Found:
    unread: list[str] = []
    files: list[str] = []
    seen: set[tuple[int, int]] = set()
    for names in _folders(folder, unread):
        for entry in names.values():
            if entry.name.endswith(_SUFFIX) and not _is_side(entry, names):
                files += _new_file(entry, seen)
    if not files:
        raise NothingFound(
            f"{_place(folder)} holds no recording: there is no {_SUFFIX} file in it",
            hint="Give the folder of an agent host, such as ~/.claude/projects.",
        )
    return Found(sorted(files), unread=tuple(unread))


def _folders(top: str, unread: list[str]) -> Iterator[dict[str, "os.DirEntry[str]"]]:
    """Give the entries of each folder once, those behind links last."""
    waiting, linked = [top], list[str]()
    seen: set[tuple[int, int]] = set()
    entries = 0
    while waiting or linked:
        folder = waiting.pop() if waiting else linked.pop()
        try:
            found = os.stat(folder)
            if (found.st_dev, found.st_ino) in seen:
                continue
            seen.add((found.st_dev, found.st_ino))
            with os.scandir(folder) as listed:
                names = {entry.name: entry for entry in listed}
        except OSError:
            if folder == top:
                raise
            unread.append(folder)
            continue
        entries += len(names)
        if entries > ENTRIES_MAX:
            raise NothingFound(
                f"{_place(top)} holds more than {ENTRIES_MAX} files and folders",
                hint="Give a folder further down.",
            )
        yield names
        for name in sorted(names, reverse=True):
            entry = names[name]
            if _is_folder(entry) and not _is_of_sides(entry):
                (linked if entry.is_symlink() else waiting).append(entry.path)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_of_sides(entry: "os.DirEntry[str]") -> bool:
    """Say whether this folder holds the sub-agents of a session whose own file is there."""
    return entry.name == _SIDES and os.path.isfile(os.path.dirname(entry.path) + _SUFFIX)


def _is_side(entry: "os.DirEntry[str]", beside: Mapping[str, object]) -> bool:
    """Say whether this is a sub-agent's file whose session's own file stands beside it."""
    if not entry.name.startswith("agent-"):
        return False
    try:
        with open_recording(entry.path) as file:
            found = _SESSION_ID.search(file.read(_LOOKED_AT_BYTES))
    except OSError:
        return False
    return found is not None and found.group(1).decode(errors="replace") + _SUFFIX in beside


def _new_file(entry: "os.DirEntry[str]", seen: set[tuple[int, int]]) -> list[str]:
    """Give the path of a regular file that was not yet seen by another name."""
    try:
        found = entry.stat()
        if not entry.is_file() or (found.st_dev, found.st_ino) in seen:
            return []
    except OSError:
        return []  # A link to nothing.
    seen.add((found.st_dev, found.st_ino))
    return [entry.path]


def _place(text: str) -> str:
    return shown(text, _SHOWN_UNITS)


def _listed(names: list[str]) -> str:
    more = len(names) - NAMED_MAX
    listed = ", ".join(_place(name) for name in names[:NAMED_MAX])
    return f"{listed} and {more} more" if more > 0 else listed
