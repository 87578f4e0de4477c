"""Skills: how their names are spelled, and which file each name means.

Where they are looked for, and in which order, is said in skill_roots.
"""

import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from core.accounting.front_matter import front_matter_name, is_name
from core.accounting.plugins import Plugins
from core.accounting.skill_roots import SKILL_FILE, Folders, Root, Standing, plain_roots
from core.accounting.stamps import Remembered, Stamp, is_settled, stamp, status
from core.events import Json

INPUT_KEYS = ("skill", "command", "skill_name", "name")  # Spellings of a Skill call's input.

_Seen = tuple[str, Stamp, str, str | None]

# How well a name fits a file, best first; among equals the order of the roots decides.
_OWN, _PLACE, _STEM, _IN_PLUGIN = range(4)


class SkillFile(NamedTuple):
    """A file that is a skill; `name` is as its front matter spells it, else its place."""

    name: str
    path: str
    source: str  # workspace/<relative>, or the absolute path.
    bytes: int


def canonical(name: str) -> str:
    """Spell a skill's name as accounting does: trimmed, without leading slashes."""
    return name.strip().lstrip("/").strip()


def skill_key(name: str) -> str:
    """Give what two spellings of one skill have in common."""
    return canonical(name).casefold()


def skill_name_of_input(value: Json) -> str | None:
    """Give the canonical name that a Skill call's input asks for; None when it names none.

    It is kept, so what cannot be a name (too long, several lines) is not taken for one.
    """
    if not isinstance(value, dict):
        return None
    for key in INPUT_KEYS:
        name = value.get(key)
        if isinstance(name, str) and (found := canonical(name)):
            return found if is_name(found) else None
    return None


class Skills:
    """The skills that stood in some roots when they were looked at."""

    __slots__ = ("_names", "files")

    def __init__(self) -> None:
        self.files: list[SkillFile] = []  # Each real file once, by root and place.
        self._names: dict[str, tuple[int, SkillFile]] = {}

    def named(self, name: str, fit: int = _IN_PLUGIN) -> SkillFile | None:
        """Give the file that a name means; `fit` is the worst that will do."""
        found = self._names.get(skill_key(name))
        return found[1] if found is not None and found[0] <= fit else None

    def add(self, file: SkillFile, own: str, standing: Standing) -> None:
        """Let a file answer to its names: `own`, that of its place, and its plugin's spellings."""
        place, plugin = standing.place, standing.plugin
        stem = place.rpartition(":")[2]
        if plugin is None:
            names = ((_OWN, own), (_PLACE, place), (_STEM, stem))
        else:
            self._answer(file, _OWN, f"{plugin}:{own}")
            self._answer(file, _PLACE, f"{plugin}:{place}")
            self._answer(file, _STEM, f"{plugin}:{stem}")
            names = ((_IN_PLUGIN, own), (_IN_PLUGIN, place), (_IN_PLUGIN, stem))
        for fit, name in names:
            self._answer(file, fit, name)

    def _answer(self, file: SkillFile, fit: int, name: str) -> None:
        key = skill_key(name)
        known = self._names.get(key)
        if known is None or fit < known[0]:
            self._names[key] = (fit, file)


class SkillIndex:
    """The skills of one workspace and one home folder, looked at anew at every use.

    Only names and the entries of folders are remembered, and only while a file or folder is the
    same by its times, inode and size. The homes of Claude Code and Codex are below `home` unless
    given.
    """

    __slots__ = (
        "_folders",
        "_home",
        "_homes",
        "_last",
        "_names",
        "_plugins",
        "_roots",
        "_workspace",
    )

    def __init__(
        self,
        workspace: str,
        home: str,
        *,
        claude_home: str | None = None,
        codex_home: str | None = None,
        extra_roots: tuple[str, ...] = (),
    ) -> None:
        self._workspace = os.path.normpath(workspace) if workspace else ""
        self._home = os.path.normpath(home) if home else ""
        claude = claude_home or os.path.join(self._home, ".claude")
        codex = codex_home or os.path.join(self._home, ".codex")
        extra = tuple(self._resolve(root) for root in extra_roots if root)
        self._homes = (claude, codex, extra)
        self._folders = Folders()
        self._plugins = Plugins(claude, self._folders)
        self._names: Remembered[str | None] = Remembered()
        self._last: tuple[list[_Seen], Skills] | None = None

    def find(self, name: str, source_path: str | None = None) -> SkillFile | None:
        """Find a skill by name, or at the place the user selected if a skill is there.

        A name is looked for as front matter spells it, then as a folder or a command's path, over
        all roots in their order. `plugin:skill` is the skill of that plugin, and only without one
        the skill of the bare name that is no plugin's.
        """
        return self.find_all([(name, source_path)])[0]

    def find_all(self, wanted: Iterable[tuple[str, str | None]]) -> list[SkillFile | None]:
        """Find several skills, each as `find` does, at the price of one look at the roots."""
        skills: Skills | None = None
        found = []
        for name, source_path in wanted:
            file = self._selected(source_path) if source_path else None
            if file is None:
                skills = skills or self._look()
                file = self._named(skills, name)
            found.append(file)
        return found

    def files(self) -> list[SkillFile]:
        """List every skill of all roots as it is now, each real file once, by root and place."""
        return list(self._look().files)

    def _named(self, skills: Skills, name: str) -> SkillFile | None:
        found = skills.named(name)
        plugin, colon, rest = canonical(name).partition(":")
        if found is not None or not colon:
            return found
        bare = rest.rpartition(":")[2]
        searched = self._made(self._stand(self._plugins.search(plugin)))
        return searched.named(name) or skills.named(bare, _PLACE)

    def _look(self) -> Skills:
        """Give the skills as they stand now; made anew only when one of them changed."""
        claude, codex, extra = self._homes
        roots = plain_roots(self._workspace, self._home, claude, codex, extra)
        standing = self._stand([*roots, *self._plugins.roots(self._workspace)])
        seen = [(s.path, stamp(s.found), s.place, s.plugin) for s in standing]
        if self._last is not None and self._last[0] == seen:
            return self._last[1]
        skills = self._made(standing)
        self._last = (seen, skills) if all(is_settled(s.found) for s in standing) else None
        return skills

    def _stand(self, roots: Iterable[Root]) -> list[Standing]:
        return [standing for root in roots for standing in self._folders.skills(root)]

    def _made(self, standings: Iterable[Standing]) -> Skills:
        skills = Skills()
        files: dict[tuple[int, int], SkillFile] = {}
        for standing in standings:
            path, found = standing.path, standing.found
            own = self._names.get(path, found, front_matter_name) if standing.reads_name else None
            own = own or standing.place
            file = files.get((found.st_dev, found.st_ino))
            if file is None:
                file = SkillFile(own, path, self._source(path), found.st_size)
                files[found.st_dev, found.st_ino] = file
                skills.files.append(file)
            skills.add(file, own, standing)
        return skills

    def _selected(self, source_path: str) -> SkillFile | None:
        """Measure the file that a selected path means: a SKILL.md, its folder, or a command."""
        path = self._resolve(source_path)
        found = status(path)
        if found is None:
            return None
        if stat.S_ISDIR(found.st_mode):
            path = os.path.join(path, SKILL_FILE)
            found = status(path)
        if found is None or not stat.S_ISREG(found.st_mode):
            return None
        folder, file_name = os.path.split(path)
        if file_name.casefold() == SKILL_FILE.casefold():
            own = self._names.get(path, found, front_matter_name) or os.path.basename(folder)
        elif file_name.endswith(".md"):
            own = file_name.removesuffix(".md")
        else:
            return None
        return SkillFile(own, path, self._source(path), found.st_size)

    def _resolve(self, path: str) -> str:
        """Make a path whole: it may begin with ~/ or workspace/, or be below the workspace."""
        if path.startswith("~/"):
            return os.path.normpath(os.path.join(self._home, path[2:]))
        return os.path.normpath(os.path.join(self._workspace, path.removeprefix("workspace/")))

    def _source(self, path: str) -> str:
        inside = os.path.join(self._workspace, "")
        if self._workspace and path.startswith(inside):
            return "workspace/" + path[len(inside) :].replace(os.sep, "/")
        return path
