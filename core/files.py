"""The workspace as criteria see it: regular files below one root, never through a link."""

import hashlib
import math
import os
import stat
import time
from typing import NamedTuple

READ_BYTES_MAX = 8 * 1024 * 1024
ENTRIES_MAX = 20_000  # Folder entries that one search looks at.
FOLDERS_DEEP_MAX = 32  # Folder levels below the fixed part of a pattern.

_FOLDER = (
    os.O_RDONLY
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
# O_NONBLOCK: a FIFO that takes a file's place after we looked must not hold us up.
_FILE = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class FileState(NamedTuple):
    """What stands at a path.

    kind: file, missing, directory, link (it stays in the workspace), outside (a link or a path
    that leaves it), special (FIFO, socket, device), unreadable, too_large (to be read).
    """

    kind: str
    size: int = 0  # In bytes, of a file.


class Found(NamedTuple):
    """What a search came upon; `base` is the state of the folder where it began."""

    paths: tuple[str, ...]
    smaller: int  # Matching files below the asked size.
    complete: bool  # False when a limit or an unreadable folder ended the search early.
    base: FileState


class _Entry(NamedTuple):
    name: str
    is_folder: bool
    is_file: bool


MISSING = FileState("missing")
DIRECTORY = FileState("directory")
OUTSIDE = FileState("outside")
UNREADABLE = FileState("unreadable")


class Files:
    """Files below `root`, which is resolved once; paths are relative and use "/"."""

    __slots__ = ("root",)

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)

    def inspect(self, path: str) -> FileState:
        """Say what stands at the path; a file of any size is a file."""
        opened = self._open(path)
        if isinstance(opened, FileState):
            return opened
        try:
            return FileState("file", os.fstat(opened).st_size)
        finally:
            os.close(opened)

    def read(self, path: str) -> bytes | FileState:
        """Give the bytes of a file, at most READ_BYTES_MAX, or the reason why not."""
        opened = self._open(path)
        if isinstance(opened, FileState):
            return opened
        try:
            return _read_all(opened)
        except OSError:
            return UNREADABLE
        finally:
            os.close(opened)

    def digest(self, path: str) -> str | FileState:
        """Give the sha256 of a file's bytes in hex, or the reason why not."""
        content = self.read(path)
        if isinstance(content, FileState):
            return content
        return hashlib.sha256(content).hexdigest()

    def find(self, pattern: str, limit: int, min_bytes: int = 1, until: float = math.inf) -> Found:
        """Find up to `limit` regular files of at least `min_bytes` bytes.

        `*` and `?` stand within one name, `**` for any number of folders; names that begin with
        a dot match only where the pattern says the dot. The search ends early when `until`, as of
        time.monotonic(), has come.
        """
        parts = path_parts(pattern)
        if parts is None:
            return Found((), 0, True, OUTSIDE)
        return _Search(self, parts, limit, min_bytes, until).run()

    def _open(self, path: str) -> int | FileState:
        parts = path_parts(path)
        if parts is None:
            return OUTSIDE
        if not parts:
            return DIRECTORY
        try:
            return open_file(self.root, parts)
        except FileNotFoundError:
            return MISSING if os.path.isdir(self.root) else UNREADABLE
        except (OSError, ValueError):  # ValueError: NUL, or a name this file system cannot spell.
            return UNREADABLE


def path_parts(path: str) -> tuple[str, ...] | None:
    """Split a relative path; None when it is absolute or climbs with `..`."""
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if path.startswith("/") or ".." in parts or os.path.isabs(path):
        return None
    return parts


def is_pattern(path: str) -> bool:
    """Say whether a path has `*` or `?` in it."""
    return "*" in path or "?" in path


def name_matches(pattern: str, name: str) -> bool:
    """Match one name against `*` and `?`; what stands between the stars is found from the left."""
    if name.startswith(".") and not pattern.startswith("."):
        return False
    first, *rest = pattern.split("*")
    if not rest:
        return len(name) == len(first) and _stands_at(first, name, 0)
    *middle, last = rest
    start, end = len(first), len(name) - len(last)
    if end < start or not _stands_at(first, name, 0) or not _stands_at(last, name, end):
        return False
    for chunk in middle:
        found = _find(chunk, name, start, end)
        if found < 0:
            return False
        start = found + len(chunk)
    return True


def _stands_at(chunk: str, name: str, at: int) -> bool:
    if "?" not in chunk:
        return name.startswith(chunk, at)
    there = name[at : at + len(chunk)]
    fits = (wanted in ("?", found) for wanted, found in zip(chunk, there, strict=False))
    return len(there) == len(chunk) and all(fits)


def _find(chunk: str, name: str, start: int, end: int) -> int:
    if "?" not in chunk:
        return name.find(chunk, start, end)
    places = range(start, end - len(chunk) + 1)
    return next((place for place in places if _stands_at(chunk, name, place)), -1)


def open_file_by_folders(root: str, parts: tuple[str, ...]) -> int | FileState:
    """Open a regular file from folder to folder, following no link; raises OSError."""
    folder = _open_folder(root, parts[:-1])
    if isinstance(folder, FileState):
        return folder
    try:
        state = _entry_state(root, parts, os.stat(parts[-1], dir_fd=folder, follow_symlinks=False))
        if state.kind != "file":
            return state
        return _regular(os.open(parts[-1], _FILE, dir_fd=folder))
    finally:
        os.close(folder)


def open_file_by_path(root: str, parts: tuple[str, ...]) -> int | FileState:
    """Open a regular file where the system has no folder descriptors; raises OSError."""
    for end in range(1, len(parts) + 1):
        path = os.path.join(root, *parts[:end])
        state = _entry_state(root, parts[:end], os.lstat(path))
        if os.path.normcase(os.path.realpath(path)) != os.path.normcase(path):
            state = _link(root, parts[:end])  # A junction is no link to lstat.
        if state.kind in ("link", "outside"):
            return state
        if end < len(parts) and state.kind != "directory":
            return MISSING
    return _regular(os.open(path, _FILE)) if state.kind == "file" else state


def list_by_folders(root: str, parts: tuple[str, ...], limit: int) -> list[_Entry] | FileState:
    """List at most `limit` entries of a folder, following no link; raises OSError."""
    folder = _open_folder(root, parts)
    if isinstance(folder, FileState):
        return folder
    try:
        return _entries(folder, limit)
    finally:
        os.close(folder)


def list_by_path(root: str, parts: tuple[str, ...], limit: int) -> list[_Entry] | FileState:
    """List a folder where the system has no folder descriptors; raises OSError."""
    path = os.path.join(root, *parts)
    if os.path.normcase(os.path.realpath(path)) != os.path.normcase(path):
        return _link(root, parts)
    return _entries(path, limit)


_HAS_FOLDERS = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
open_file = open_file_by_folders if _HAS_FOLDERS else open_file_by_path
list_folder = list_by_folders if _HAS_FOLDERS else list_by_path


def _open_folder(root: str, parts: tuple[str, ...]) -> int | FileState:
    folder = os.open(root, _FOLDER)
    for end, name in enumerate(parts, 1):
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISDIR(found.st_mode):
                return _link(root, parts[:end]) if stat.S_ISLNK(found.st_mode) else MISSING
            inner = os.open(name, _FOLDER, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder


def _entry_state(root: str, parts: tuple[str, ...], found: os.stat_result) -> FileState:
    if stat.S_ISLNK(found.st_mode):
        return _link(root, parts)
    if stat.S_ISDIR(found.st_mode):
        return DIRECTORY
    return FileState("file" if stat.S_ISREG(found.st_mode) else "special", found.st_size)


def _link(root: str, parts: tuple[str, ...]) -> FileState:
    target = os.path.normcase(os.path.realpath(os.path.join(root, *parts)))
    inside = os.path.normcase(os.path.join(root, ""))
    return FileState("link") if (target + os.sep).startswith(inside) else OUTSIDE


def _regular(descriptor: int) -> int | FileState:
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return FileState("special")


def _read_all(descriptor: int) -> bytes | FileState:
    size = os.fstat(descriptor).st_size
    if size > READ_BYTES_MAX:
        return FileState("too_large", size)
    pieces: list[bytes] = []
    left = READ_BYTES_MAX + 1  # One more than allowed, to notice a file that grows.
    while left > 0 and (piece := os.read(descriptor, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces) if left > 0 else FileState("too_large", size)


def _entries(folder: int | str, limit: int) -> list[_Entry]:
    entries: list[_Entry] = []
    with os.scandir(folder) as listing:
        for entry in listing:
            if len(entries) == limit:
                break
            is_folder = entry.is_dir(follow_symlinks=False)
            entries.append(_Entry(entry.name, is_folder, entry.is_file(follow_symlinks=False)))
    return sorted(entries)


class _Search:
    """One walk over the folders that a pattern can reach; `places` are indexes into its parts."""

    def __init__(
        self, files: Files, parts: tuple[str, ...], limit: int, min_bytes: int, until: float
    ) -> None:
        fixed = 0
        while fixed < len(parts) - 1 and not is_pattern(parts[fixed]):
            fixed += 1
        self.files = files
        self.base, self.pattern = parts[:fixed], parts[fixed:]
        self.limit, self.min_bytes, self.until = limit, min_bytes, until
        self.paths: list[str] = []
        self.smaller = 0
        self.entries_left = ENTRIES_MAX
        self.complete = True

    def run(self) -> Found:
        base = DIRECTORY
        folders = [(self.base, self._reach({0}))]
        while folders and len(self.paths) < self.limit:
            folder, places = folders.pop()
            entries = self._list(folder)
            if isinstance(entries, FileState):
                base = entries if folder == self.base else base
                continue
            folders.extend(self._look(folder, places, entries))
        return Found(tuple(self.paths), self.smaller, self.complete, base)

    def _list(self, folder: tuple[str, ...]) -> list[_Entry] | FileState:
        if len(folder) - len(self.base) > FOLDERS_DEEP_MAX or not self.entries_left:
            self.complete = False
            return MISSING
        try:
            entries = list_folder(self.files.root, folder, self.entries_left + 1)
        except FileNotFoundError:
            return MISSING
        except (OSError, ValueError):
            self.complete = False
            return UNREADABLE
        if isinstance(entries, list):
            self.complete = self.complete and len(entries) <= self.entries_left
            self.entries_left = max(self.entries_left - len(entries), 0)
        return entries

    def _look(
        self, folder: tuple[str, ...], places: frozenset[int], entries: list[_Entry]
    ) -> list[tuple[tuple[str, ...], frozenset[int]]]:
        """Take the matching files of one folder; give the folders to look into next."""
        below = []
        for entry in entries:
            if time.monotonic() > self.until:
                self.complete, self.entries_left = False, 0
                return []
            reached = self._step(places, entry.name)
            if entry.is_folder and reached - {len(self.pattern)}:
                below.append(((*folder, entry.name), reached))
            elif entry.is_file and len(self.pattern) in reached:
                self._take("/".join((*folder, entry.name)))
            if len(self.paths) == self.limit:
                break
        return below[::-1]

    def _take(self, path: str) -> None:
        state = self.files.inspect(path)
        if state.kind != "file":
            self.complete = self.complete and state.kind != "unreadable"
        elif state.size >= self.min_bytes:
            self.paths.append(path)
        else:
            self.smaller += 1

    def _step(self, places: frozenset[int], name: str) -> frozenset[int]:
        after = set()
        for place in places - {len(self.pattern)}:
            part = self.pattern[place]
            if part == "**":
                after |= set() if name.startswith(".") else {place}
            elif name_matches(part, name):
                after.add(place + 1)
        return self._reach(after)

    def _reach(self, places: set[int]) -> frozenset[int]:
        reached = set(places)
        for place in places:
            after = place
            while after < len(self.pattern) and self.pattern[after] == "**":
                after += 1
                reached.add(after)
        return frozenset(reached)
