"""The folders around a workspace in which agents look for instructions and skills."""

import os

from core.accounting.stamps import status

ANCESTORS_MAX = 64


def git_root(workspace: str) -> str | None:
    """Find the nearest folder, the workspace or one above it, that has a `.git`."""
    for folder in (workspace, *_above(workspace)):
        if status(os.path.join(folder, ".git")) is not None:
            return folder
    return None


def ancestors(workspace: str, home: str, root: str | None) -> tuple[str, ...]:
    """List the folders above a workspace, nearest first: up to `root`, and always below home."""
    if workspace in (root, home):
        return ()
    found = []
    for folder in _above(workspace):
        if folder == home:
            break
        found.append(folder)
        if folder == root:
            break
    return tuple(found)


def _above(folder: str) -> list[str]:
    found: list[str] = []
    while os.path.isabs(folder) and len(found) < ANCESTORS_MAX:
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        found.append(parent)
        folder = parent
    return found
