"""The scratch folder of a replay: a copy of the workspace, in which recorded edits are played."""

import errno
import os
import posixpath
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from typing import NamedTuple, Self

from core.recordings.contract import FileChange, SkillBody

FILES_MAX = 20_000
DEPTH_MAX = 200  # Folders in one another: what makes and removes them is recursive.
FILE_BYTES_MAX = 8 * 1024 * 1024
TOTAL_BYTES_MAX = 256 * 1024 * 1024
PLAYED_CHARS_MAX = 16 * 1024 * 1024  # Characters of one file; an edit can double it each time.
LEFT_OUT_FOLDERS = frozenset({".git", ".hg", ".venv", "__pycache__", "node_modules"})

# What no other path would mend; such an error ends the replay.
_DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS})


class Copied(NamedTuple):
    """What came over from the given workspace, and how many entries did not."""

    files: int = 0
    left_out: int = 0


class Scratch:
    """A temporary folder with workspace/, home/ and state/; it is removed on leaving."""

    def __init__(self, recorded_cwd: str) -> None:
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="turnkeeper-replay-"))
        self.workspace = os.path.join(self.root, "workspace")
        self.home = os.path.join(self.root, "home")
        self.state = os.path.join(self.root, "state")
        self._cwd = _posix(recorded_cwd).rstrip("/")

    def __enter__(self) -> Self:
        try:
            # The .git ends the search for skills in folders above the workspace.
            for path in (self.workspace, self.home, self.state, os.path.join(self.root, ".git")):
                os.mkdir(path, 0o700)
        except OSError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def copy_from(self, folder: str) -> Copied:
        """Copy a workspace's regular files, within the limits; links are not followed."""
        files = total = left_out = 0
        for source, place, size in _walk(folder, self.root):
            fits = 0 <= size <= FILE_BYTES_MAX and files < FILES_MAX
            if fits and total + size <= TOTAL_BYTES_MAX and self._copy(source, place):
                total += size
                files += 1
            else:
                left_out += 1
        return Copied(files, left_out)

    def place_of(self, recorded: str) -> str | None:
        """Where a recorded path lies in the scratch workspace; None when it lay outside it."""
        given = _posix(recorded)
        path = posixpath.normpath(given)
        if _is_absolute(given):  # Enough ".." take the drive away from `path`.
            if not self._cwd or not path.startswith(self._cwd + "/"):
                return None
            path = path[len(self._cwd) + 1 :]
        if path == ".." or path.startswith("../") or path.count("/") > DEPTH_MAX:
            return None
        return os.path.join(self.workspace, *path.split("/"))

    def play(self, change: FileChange) -> bool:
        """Do what a file tool did; False when it cannot be done here."""
        place = self.place_of(change.path)
        text = None if place is None else _text_after(change, place)
        return place is not None and text is not None and _write(place, text)

    def keep_skill(self, body: SkillBody) -> None:
        """Put a skill that the recording carries where it is looked for, unless one is there."""
        name = posixpath.basename(_posix(body.folder).rstrip("/"))
        if name in ("", ".", ".."):
            return
        place = self.place_of(body.folder) or os.path.join(self.home, ".claude", "skills", name)
        path = os.path.join(place, "SKILL.md")
        if not os.path.exists(path):
            _write(path, body.text)

    def _copy(self, source: str, place: str) -> bool:
        target = os.path.join(self.workspace, place)
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(source, target, follow_symlinks=False)
        except OSError as error:
            return _not_here(error)
        return True


def _walk(folder: str, own: str) -> Iterator[tuple[str, str, int]]:
    """Give (path, relative path, bytes); bytes is -1 for what is no regular file. Skip `own`."""
    for parent, folders, names in os.walk(folder):
        is_deepest = os.path.relpath(parent, folder).count(os.sep) + 1 >= DEPTH_MAX
        not_entered = [
            name for name in folders if is_deepest or os.path.islink(os.path.join(parent, name))
        ]
        folders[:] = [
            name
            for name in sorted(set(folders) - LEFT_OUT_FOLDERS - set(not_entered))
            if os.path.realpath(os.path.join(parent, name)) != own
        ]
        for name in [*not_entered, *sorted(names)]:
            path = os.path.join(parent, name)
            yield path, os.path.relpath(path, folder), _size(path)


def _size(path: str) -> int:
    try:
        found = os.lstat(path)
    except OSError:
        return -1  # It went away meanwhile.
    return found.st_size if stat.S_ISREG(found.st_mode) else -1


def _text_after(change: FileChange, place: str) -> str | None:
    """Give the text that the file then holds; None when that cannot be known, or is too long."""
    if change.content is not None:
        return change.content
    text = _read(place) if change.original is None else change.original
    if text is None or not change.edits:
        return None
    for old, new, everywhere in change.edits:
        if not old:
            text = new
            continue
        found = text.count(old)
        times = found if everywhere else min(found, 1)
        if not times or len(text) + times * (len(new) - len(old)) > PLAYED_CHARS_MAX:
            return None
        text = text.replace(old, new, times)
    return text


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, ValueError):  # No such text file, or no path at all.
        return None


def _write(path: str, text: str) -> bool:
    """Write a text file and the folders above it; False where the path cannot be one here."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="", opener=_no_link) as file:
            file.write(text)
    except OSError as error:
        return _not_here(error)
    except ValueError:
        return False  # A NUL or half a character in the path.
    return True


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def _not_here(error: OSError) -> bool:
    """Say False for a path that does not go here; raise what any path would meet."""
    if error.errno in _DISK_ERRORS:
        raise error
    return False


def _posix(path: str) -> str:
    # A recording from Windows has its own separators; a backslash elsewhere is part of a name.
    return path.replace("\\", "/") if re.match(r"[A-Za-z]:\\", path) else path


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or bool(re.match(r"[A-Za-z]:/", path))
