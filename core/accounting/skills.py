"""Skills: how their names are spelled, and where their SKILL.md files stand.

Two roots are looked through: `.claude/skills` of the workspace, then that of the home folder.
"""

import os
import re
import stat
import time
from typing import NamedTuple

from core.events import Json

SKILL_FILE = "SKILL.md"
NAME_CHARS_MAX = 200
FRONT_MATTER_BYTES_MAX = 65_536  # A name further down in the file is not looked for.
BRACKETS_MAX = 200  # YAML nested deeper than any real front matter takes seconds to parse.
INPUT_KEYS = ("skill", "command", "skill_name", "name")  # Spellings of a Skill call's input.

# A file changed twice within one tick of the disk's clock keeps its times: what changed this
# recently is read anew. Two seconds is the coarsest clock of a file system in use.
_SETTLED_NS = 2_000_000_000

# Patterns are compiled when first used: a hook that needs no skill does not pay for them.
# A plain word as a name needs no YAML parser, which is slow to load.
_PLAIN_NAME = r"(?m)^name:[ \t]+([A-Za-z_][A-Za-z0-9_-]*)[ \t]*\r?$"
_ANY_NAME = r"(?m)^name:[ \t]*(.*?)[ \t]*\r?$"
_FRONT_MATTER = r"(?ms)---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?$"

_Stamp = tuple[int, int, int, int, int]


class SkillFile(NamedTuple):
    """A SKILL.md that was found; `name` is as its front matter spells it."""

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
            return found if len(found) <= NAME_CHARS_MAX and found.isprintable() else None
    return None


class SkillIndex:
    """The skills of one workspace and one home folder, looked at anew at every use.

    Only names are remembered, and only while the file is the same by its times, inode and size.
    """

    __slots__ = ("_folders", "_home", "_names", "_workspace")

    def __init__(self, workspace: str, home: str) -> None:
        self._workspace = workspace
        self._home = home
        self._folders: dict[str, tuple[_Stamp, list[str]]] = {}
        self._names: dict[str, tuple[_Stamp, str]] = {}

    def find(self, name: str, source_path: str | None = None) -> SkillFile | None:
        """Find a skill by name, or at the place the user selected if a SKILL.md is there.

        A name is looked for as front matter spells it, then as a folder; `plugin:skill` also
        without its plugin. The workspace comes before the home folder.
        """
        if source_path:
            selected = self._measure(self._resolve(source_path))
            if selected is not None:
                return selected
        files = self.files()
        wanted = skill_key(name)
        for key in dict.fromkeys((wanted, _without_plugin(wanted))):
            for found in files:
                if skill_key(found.name) == key:
                    return found
            for found in files:
                if _folder_name(found.path).casefold() == key:
                    return found
        return None

    def files(self) -> list[SkillFile]:
        """List every skill file of both roots as it is now, by root and folder."""
        paths = (
            os.path.join(root, folder, SKILL_FILE)
            for root in dict.fromkeys((_root(self._workspace), _root(self._home)))
            for folder in self._list(root)
        )
        return [found for path in paths if (found := self._measure(path)) is not None]

    def _resolve(self, source_path: str) -> str:
        """Say which file a selected path means; it may be relative, or name the folder."""
        if source_path.startswith("~/"):
            path = os.path.join(self._home, source_path[2:])
        else:
            path = os.path.join(self._workspace, source_path.removeprefix("workspace/"))
        path = os.path.normpath(path)
        if os.path.basename(path).casefold() != SKILL_FILE.casefold():
            path = os.path.join(path, SKILL_FILE)
        return path

    def _list(self, root: str) -> list[str]:
        """List what stands in a root; a folder's times change with its entries."""
        found = _status(root)
        if found is None:
            return []
        known = self._folders.get(root)
        if known is not None and known[0] == _stamp(found) and _settled(found):
            return known[1]
        try:
            folders = sorted(os.listdir(root))
        except OSError:
            return []
        self._folders[root] = (_stamp(found), folders)
        return folders

    def _measure(self, path: str) -> SkillFile | None:
        found = _status(path)
        if found is None or not stat.S_ISREG(found.st_mode):
            return None
        known = self._names.get(path)
        if known is not None and known[0] == _stamp(found) and _settled(found):
            name = known[1]
        else:
            name = _front_matter_name(path) or _folder_name(path)
            self._names[path] = (_stamp(found), name)
        return SkillFile(name, path, self._source(path), found.st_size)

    def _source(self, path: str) -> str:
        inside = os.path.join(self._workspace, "")
        if path.startswith(inside):
            return "workspace/" + path[len(inside) :].replace(os.sep, "/")
        return path


def _root(folder: str) -> str:
    return os.path.join(folder, ".claude", "skills")


def _folder_name(path: str) -> str:
    return os.path.basename(os.path.dirname(path))


def _without_plugin(name: str) -> str:
    return name.rpartition(":")[2]


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):  # ValueError: the host named a path that no disk can have.
        return None


def _stamp(found: os.stat_result) -> _Stamp:
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_dev, found.st_ino, found.st_size)


def _settled(found: os.stat_result) -> bool:
    return time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > _SETTLED_NS


def _front_matter_name(path: str) -> str | None:
    """Read the name that a SKILL.md gives itself; None when it gives none or cannot be read."""
    try:
        with open(path, "rb") as file:
            head = file.read(FRONT_MATTER_BYTES_MAX).decode("utf-8-sig", "replace")
    except OSError:
        return None
    match = re.match(_FRONT_MATTER, head)
    if match is None:
        return None
    plain = re.findall(_PLAIN_NAME, match[1])
    if len(plain) == 1 and plain[0].casefold() != "null":
        return str(plain[0])
    if match[1].count("[") + match[1].count("{") > BRACKETS_MAX:
        return _line_name(match[1])
    return _yaml_name(match[1])


def _yaml_name(front_matter: str) -> str | None:
    import yaml

    try:
        fields = yaml.safe_load(front_matter)
    except (yaml.YAMLError, ValueError, RecursionError):
        # A colon in an unquoted description is common and no YAML; the line of the name still is.
        return _line_name(front_matter)
    name = fields.get("name") if isinstance(fields, dict) else None
    if name is None or isinstance(name, (list, dict)):
        return None
    if isinstance(name, str):
        return name.strip() or None
    return _line_name(front_matter)  # 1.10 and yes: as written, not as a value.


def _line_name(front_matter: str) -> str | None:
    line = re.search(_ANY_NAME, front_matter)
    return line[1].strip("\"' ") or None if line else None
