"""Where skills stand: the roots in their order, and the files below each.

The order, first found first taken:
1. the workspace's .claude/skills, .claude/commands, .agents/skills;
2. the same of the folders above it, nearest first: up to the git root; without one, for .claude
   alone, as far as the home folder or the top;
3. ~/.claude/skills, ~/.claude/commands, ~/.agents/skills;
4. Codex's own: .codex/skills of 1 and 2, then skills and skills/.system of $CODEX_HOME;
5. the extra roots of the settings;
6. the plugins of Claude Code.
"""

import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from core.accounting.project import ancestors, git_root
from core.accounting.stamps import Remembered, status

SKILL_FILE = "SKILL.md"
FOLDERS_DEEP_MAX = 6  # Levels below a root.
ENTRIES_MAX = 20_000  # Folders and files that are looked at below one root.

SKILLS = "skills"  # <name>/SKILL.md, nested to any level.
COMMANDS = "commands"  # <name>.md, its folders as <folder>:<name>; also <name>/SKILL.md.
GIVEN = "given"  # As skills, and the root may be a skill itself.

_TEXT = ".md"
_SKILL_FILE, _SKILLS = os.sep + SKILL_FILE, os.sep + "skills"  # Joined for each skill of a look.
_NOT_ENTERED = frozenset({"node_modules"})


class Root(NamedTuple):
    """A folder below which skills stand; `plugin` names the plugin that it belongs to."""

    path: str
    holds: str = SKILLS
    plugin: str | None = None


class Standing(NamedTuple):
    """A file that is a skill, and what its place says about its name."""

    path: str
    found: os.stat_result
    place: str  # Its folder, or of a command its path with ":".
    reads_name: bool = True  # Its front matter may name it; a command's does not.
    plugin: str | None = None


class Listing(NamedTuple):
    """The entries of a folder: what may be a folder, and Markdown texts, each sorted."""

    folders: tuple[str, ...]
    texts: tuple[str, ...]


NOTHING = Listing((), ())


def plain_roots(
    workspace: str, home: str, claude_home: str, codex_home: str, extra: tuple[str, ...]
) -> list[Root]:
    """List the roots but for the plugins', each once, in order. Nothing is looked for in them."""
    own, above = _project(workspace, home)
    roots = [root for folder in own for root in _in_project(folder)]
    for folder, in_git in above:
        roots += _in_project(folder) if in_git else _in_claude(os.path.join(folder, ".claude"))
    roots += _in_claude(claude_home)
    roots.append(Root(os.path.join(home, ".agents", "skills")))
    for folder in (*own, *(folder for folder, in_git in above if in_git)):
        roots.append(Root(os.path.join(folder, ".codex", "skills")))
    in_codex = os.path.join(codex_home, "skills")
    roots += [Root(in_codex), Root(os.path.join(in_codex, ".system"))]
    roots += [Root(path, GIVEN) for path in extra]
    unique: dict[str, Root] = {}
    for root in roots:
        unique.setdefault(root.path, root)
    return list(unique.values())


def _project(workspace: str, home: str) -> tuple[list[str], list[tuple[str, bool]]]:
    """Give the workspace, if it is one, and the folders above it with whether git holds them."""
    if not os.path.isabs(workspace):
        return [], []
    root = git_root(workspace)
    return [workspace], [(f, root is not None) for f in ancestors(workspace, home, root)]


def _in_project(folder: str) -> list[Root]:
    agents = Root(os.path.join(folder, ".agents", "skills"))
    return [*_in_claude(os.path.join(folder, ".claude")), agents]


def _in_claude(folder: str) -> list[Root]:
    return [Root(os.path.join(folder, "skills")), Root(os.path.join(folder, "commands"), COMMANDS)]


class Folders:
    """Looks through folders; what they list is remembered while they stay the same."""

    __slots__ = ("_listings",)

    def __init__(self) -> None:
        self._listings: Remembered[Listing] = Remembered()

    def skills(self, root: Root) -> Iterator[Standing]:
        """Find the skills below a root as it is now, sorted by their place, within the limits."""
        found = status(root.path)
        if found is None:
            return
        if not stat.S_ISDIR(found.st_mode):
            if root.holds == COMMANDS and root.path.endswith(_TEXT):  # A plugin may name one file.
                yield from _command(root, root.path, ())
            return
        if root.holds == GIVEN:
            own = _file(os.path.join(root.path, SKILL_FILE))
            if own is not None:
                yield Standing(*own, os.path.basename(root.path), plugin=root.plugin)
        yield from self._below(root, found)

    def listing(self, path: str) -> Listing:
        """List a folder as it is now; empty when it is none."""
        found = status(path)
        return NOTHING if found is None else self._listings.get(path, found, _list)

    def _below(self, root: Root, found: os.stat_result) -> Iterator[Standing]:
        """Go through all folders below a root; a folder with a SKILL.md is a skill.

        Of a skill's folder only its `skills` are entered. No folder is entered twice, so that a
        link to a folder above ends there.
        """
        waiting: list[tuple[str, os.stat_result, tuple[str, ...]]] = [(root.path, found, ())]
        entered = {_identity(found)}
        looked = 0
        while waiting:
            path, found, above = waiting.pop()
            listing = self._listings.get(path, found, _list)
            inside = os.path.join(path, "")
            inner = []
            for name in listing.folders:
                looked += 1
                if looked > ENTRIES_MAX:
                    return
                child, places = inside + name, (*above, name)
                skill = _file(child + _SKILL_FILE)
                if skill is not None:
                    place = ":".join(places) if root.holds == COMMANDS else name
                    yield Standing(*skill, place, plugin=root.plugin)
                    child += _SKILLS
                if len(places) < FOLDERS_DEEP_MAX and _may_enter(name):
                    below = status(child)
                    if below is None or not stat.S_ISDIR(below.st_mode):
                        continue
                    if _identity(below) not in entered:
                        entered.add(_identity(below))
                        inner.append((child, below, places))
            if root.holds == COMMANDS:
                for name in listing.texts:
                    looked += 1
                    yield from _command(root, inside + name, above)
            waiting += reversed(inner)


def _command(root: Root, path: str, above: tuple[str, ...]) -> Iterator[Standing]:
    file = _file(path)
    if file is not None:
        stem = os.path.basename(path).removesuffix(_TEXT)
        yield Standing(*file, ":".join((*above, stem)), False, root.plugin)


def _file(path: str) -> tuple[str, os.stat_result] | None:
    found = status(path)
    return (path, found) if found is not None and stat.S_ISREG(found.st_mode) else None


def _may_enter(name: str) -> bool:
    return not name.startswith(".") and name not in _NOT_ENTERED


def _identity(found: os.stat_result) -> tuple[int, int]:
    return (found.st_dev, found.st_ino)


def _list(path: str) -> Listing:
    folders, texts = [], []
    try:
        with os.scandir(path) as entries:
            for entry, _ in zip(entries, range(ENTRIES_MAX), strict=False):
                if not _can_be_told(entry.name):
                    continue
                is_link = entry.is_symlink()  # What it leads to may change unseen.
                if is_link or entry.is_dir():
                    folders.append(entry.name)
                if entry.name.endswith(_TEXT) and (is_link or entry.is_file()):
                    texts.append(entry.name)
    except OSError:
        return NOTHING
    return Listing(tuple(sorted(folders)), tuple(sorted(texts)))


def _can_be_told(name: str) -> bool:
    """Say whether a name is text: bytes that are no UTF-8 cannot be sent to anyone."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)
