"""The scratch folder of a replay: a copy of the workspace, in which recorded edits are played."""

import os
import posixpath
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from typing import NamedTuple, Self

from core.runtimes.claude_code import FileChange, SkillBody

FILES_MAX = 20_000
FILE_BYTES_MAX = 8 * 1024 * 1024
TOTAL_BYTES_MAX = 256 * 1024 * 1024
LEFT_OUT_FOLDERS = frozenset({".git", ".hg", ".venv", "__pycache__", "node_modules"})


class Copied(NamedTuple):
    """What came over from the given workspace, and how many entries did not."""

    files: int = 0
    left_out: int = 0


class Scratch:
    """A temporary folder with workspace/, home/ and state/; it is removed on leaving."""

    def __init__(self, recorded_cwd: str) -> None:
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="turnkeeper-replay-"))
        self.workspace = self._make("workspace")
        self.home = self._make("home")
        self.state = self._make("state")
        self._cwd = _posix(recorded_cwd).rstrip("/")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def copy_from(self, folder: str) -> Copied:
        """Copy a workspace's regular files, within the limits; links are not followed."""
        files = total = left_out = 0
        for source, place, size in _walk(folder):
            if size < 0 or size > FILE_BYTES_MAX or files >= FILES_MAX:
                left_out += 1
                continue
            total += size
            if total > TOTAL_BYTES_MAX:
                left_out += 1
                continue
            target = os.path.join(self.workspace, place)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(source, target, follow_symlinks=False)
            files += 1
        return Copied(files, left_out)

    def place_of(self, recorded: str) -> str | None:
        """Where a recorded path lies in the scratch workspace; None when it lay outside it."""
        path = posixpath.normpath(_posix(recorded))
        if _is_absolute(path):
            if not self._cwd or not path.startswith(self._cwd + "/"):
                return None
            path = path[len(self._cwd) + 1 :]
        if path == ".." or path.startswith("../"):
            return None
        return os.path.join(self.workspace, *path.split("/"))

    def play(self, change: FileChange) -> bool:
        """Do what a file tool did; False when it cannot be done here."""
        place = self.place_of(change.path)
        text = None if place is None else _text_after(change, place)
        if place is None or text is None:
            return False
        _write(place, text)
        return True

    def keep_skill(self, body: SkillBody) -> None:
        """Put a skill that the recording carries where it is looked for, unless one is there."""
        name = posixpath.basename(_posix(body.folder).rstrip("/"))
        if name in ("", ".", ".."):
            return
        place = self.place_of(body.folder) or os.path.join(self.home, ".claude", "skills", name)
        path = os.path.join(place, "SKILL.md")
        if not os.path.exists(path):
            _write(path, body.text)

    def _make(self, name: str) -> str:
        path = os.path.join(self.root, name)
        os.mkdir(path, 0o700)
        return path


def _walk(folder: str) -> Iterator[tuple[str, str, int]]:
    """Give (path, relative path, bytes); bytes is -1 for what is no regular file."""
    for parent, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        folders[:] = sorted(set(folders) - LEFT_OUT_FOLDERS - set(links))
        for name in [*links, *sorted(names)]:
            path = os.path.join(parent, name)
            found = os.lstat(path)
            size = found.st_size if stat.S_ISREG(found.st_mode) else -1
            yield path, os.path.relpath(path, folder), size


def _text_after(change: FileChange, place: str) -> str | None:
    if change.content is not None:
        return change.content
    text = _read(place) if change.original is None else change.original
    if text is None or not change.edits:
        return None
    for old, new, everywhere in change.edits:
        if old and old not in text:
            return None
        text = text.replace(old, new, -1 if everywhere else 1) if old else new
    return text


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return None


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def _posix(path: str) -> str:
    # A recording from Windows has its own separators; a backslash elsewhere is part of a name.
    return path.replace("\\", "/") if re.match(r"[A-Za-z]:\\", path) else path


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or bool(re.match(r"[A-Za-z]:/", path))
