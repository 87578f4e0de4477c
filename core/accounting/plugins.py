"""The plugins of Claude Code that are installed, and where their skills stand.

Seen with 2.1.332: plugins/installed_plugins.json names the folder of each; a plugin from a
marketplace that is a folder of the user's is read from there, not from its copy.
"""

import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from core.accounting.skill_roots import COMMANDS, GIVEN, Folders, Root
from core.accounting.stamps import Remembered, status

JSON_BYTES_MAX = 4 * 1024 * 1024
PLUGINS_MAX = 500
SEARCH_DEEP_MAX = 3  # Levels below plugins/cache and plugins/marketplaces.
SEARCHED_FOLDERS_MAX = 1000

_MANIFEST = os.path.join(".claude-plugin", "plugin.json")
_MARKETPLACE = os.path.join(".claude-plugin", "marketplace.json")


class _Installed(NamedTuple):
    name: str
    marketplace: str
    path: str
    project: str | None  # The project that it was installed for alone.


class Plugins:
    """The plugins below one Claude Code folder, looked at anew at every use."""

    __slots__ = ("_base", "_folders", "_json")

    def __init__(self, claude_home: str, folders: Folders) -> None:
        self._base = os.path.join(claude_home, "plugins")
        self._folders = folders
        self._json: Remembered[Any] = Remembered()

    def roots(self, workspace: str) -> list[Root]:
        """List the skill roots of the installed plugins, those of this workspace's project first.

        Whether a plugin is switched on is not asked: a skill that was called, was.
        """
        if status(self._base) is None:
            return []
        local = self._local_marketplaces()
        found: dict[tuple[str, str], None] = {}
        for plugin in sorted(self._installed(), key=lambda plugin: _distance(plugin, workspace)):
            in_place = local.get(plugin.marketplace, {}).get(plugin.name)
            for path in (in_place, plugin.path):
                if path:
                    found[plugin.name, path] = None
        places = list(found)[:PLUGINS_MAX]
        return [root for name, path in places for root in self._roots_in(name, path)]

    def search(self, name: str) -> list[Root]:
        """Look for the folders of a plugin that no list names, newest first, within limits."""
        wanted, found, searched = name.casefold(), [], 0
        for top in ("cache", "marketplaces"):
            waiting = [(os.path.join(self._base, top), 0)]
            while waiting and searched < SEARCHED_FOLDERS_MAX:
                path, depth = waiting.pop(0)
                searched += 1
                for folder in self._folders.listing(path).folders:
                    child = os.path.join(path, folder)
                    if folder.casefold() == wanted:
                        found += [child, *self._children(child)]  # Of a cache: its versions.
                    elif depth < SEARCH_DEEP_MAX and not folder.startswith("."):
                        waiting.append((child, depth + 1))
        found = sorted(found[:PLUGINS_MAX], key=_changed, reverse=True)
        return [root for path in found for root in self._roots_in(name, path)]

    def _children(self, path: str) -> list[str]:
        return [os.path.join(path, folder) for folder in self._folders.listing(path).folders]

    def _installed(self) -> Iterator[_Installed]:
        listed = self._read(os.path.join(self._base, "installed_plugins.json"))
        for key, copies in _items(_field(listed, "plugins")):
            name, _, marketplace = key.partition("@")
            for copy in copies if isinstance(copies, list) else [copies]:
                path, project = _field(copy, "installPath"), _field(copy, "projectPath")
                if name and isinstance(path, str):
                    known = project if isinstance(project, str) else None
                    yield _Installed(name, marketplace, os.path.join(self._base, path), known)

    def _local_marketplaces(self) -> dict[str, dict[str, str]]:
        """Give, of each marketplace that is the user's own folder, the places of its plugins."""
        listed = self._read(os.path.join(self._base, "known_marketplaces.json"))
        found: dict[str, dict[str, str]] = {}
        for marketplace, known in _items(listed):
            folder = _field(known, "installLocation")
            is_local = _field(_field(known, "source"), "source") == "directory"
            if not is_local or not isinstance(folder, str) or not os.path.isabs(folder):
                continue
            offered = _field(self._read(os.path.join(folder, _MARKETPLACE)), "plugins")
            places = found.setdefault(marketplace, {})
            for plugin in offered if isinstance(offered, list) else []:
                name, source = _field(plugin, "name"), _field(plugin, "source")
                if isinstance(name, str) and isinstance(source, str):
                    places[name] = os.path.normpath(os.path.join(folder, source))
        return found

    def _roots_in(self, name: str, path: str) -> Iterator[Root]:
        """Give the roots of one plugin: its own folders, then those that its manifest adds."""
        manifest = self._read(os.path.join(path, _MANIFEST))
        for field, holds in (("skills", GIVEN), ("commands", COMMANDS)):
            yield Root(os.path.join(path, field), holds, name)
            added = _field(manifest, field)
            for place in added if isinstance(added, list) else [added]:
                if isinstance(place, str):
                    yield Root(os.path.normpath(os.path.join(path, place)), holds, name)

    def _read(self, path: str) -> Any:
        """Give the value in a JSON file; None when it is missing, too large or no JSON."""
        found = status(path)
        if found is None or found.st_size > JSON_BYTES_MAX:
            return None
        return self._json.get(path, found, _read_json)


def _read_json(path: str) -> Any:
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(path, flags), "rb") as file:
            return json.loads(file.read(JSON_BYTES_MAX) or b"")
    except (OSError, ValueError, RecursionError):
        return None


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _items(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _distance(plugin: _Installed, workspace: str) -> int:
    """Order copies: of this project, of the user, of another project."""
    if plugin.project is None:
        return 1
    inside = os.path.join(plugin.project, "")
    return 0 if os.path.join(workspace, "").startswith(inside) else 2


def _changed(path: str) -> int:
    found = status(path)
    return 0 if found is None else found.st_mtime_ns
