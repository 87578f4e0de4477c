"""The instruction files of a workspace, measured where nobody names the files that were loaded."""

import os
import stat
from typing import NamedTuple

from core.accounting.project import ancestors, git_root

RULES_FILE = "CLAUDE.md"
NO_EVIDENCE = "the recording does not name its instruction files"

# Codex 0.171, seen: of each folder the first name that is there; together at most 32 KiB.
AGENTS_FILES = ("AGENTS.override.md", "AGENTS.md")
PROJECT_BYTES_MAX = 32_768
BLANK_BYTES_MAX = 4096  # A larger file is not read to see whether it is blank.


class RuleFile(NamedTuple):
    """An instruction file; `bytes` is None when it is there but cannot be measured."""

    source: str
    detail: str
    bytes: int | None


def measure(workspace: str) -> tuple[RuleFile, ...]:
    """Measure the workspace's own instruction file; none when it is missing, empty or no file."""
    found = _measure(os.path.join(workspace, RULES_FILE), f"workspace/{RULES_FILE}")
    return () if found is None or found.bytes == 0 else (found,)


def agents_chain(workspace: str, home: str, codex_home: str | None = None) -> tuple[RuleFile, ...]:
    """Measure the AGENTS.md files that Codex loads in a workspace, in the order in which it does.

    First that of $CODEX_HOME (~/.codex unless given), then one of each folder from the git root,
    or the workspace without one, down to the workspace. `bytes` is what Codex takes of a file by
    default: the project's files share 32 KiB. Blank files give no entry.
    """
    chain: list[RuleFile] = []
    for path in _candidates(codex_home or os.path.join(home, ".codex")):
        found = _measure(path, path)
        if found is not None and not _is_blank(path, found):
            chain.append(found)
            break
    left = PROJECT_BYTES_MAX
    workspace = os.path.normpath(workspace)
    for folder in _project_folders(workspace) if os.path.isabs(workspace) else ():
        found = _first_of(folder, is_workspace=folder == workspace)
        if found is None or left == 0:
            continue
        if found.bytes is not None:
            found = found._replace(bytes=min(found.bytes, left))
            left -= found.bytes or 0
        chain.append(found)
    return tuple(chain)


def _project_folders(workspace: str) -> tuple[str, ...]:
    root = git_root(workspace)
    above = () if root is None else ancestors(workspace, "", root)
    return (*reversed(above), workspace)


def _first_of(folder: str, is_workspace: bool) -> RuleFile | None:
    """Measure the file that stands for a folder; a blank one gives nothing, and hides the other."""
    for path in _candidates(folder):
        source = f"workspace/{os.path.basename(path)}" if is_workspace else path
        found = _measure(path, source)
        if found is not None:
            return None if _is_blank(path, found) else found
    return None


def _candidates(folder: str) -> tuple[str, ...]:
    return tuple(os.path.join(folder, name) for name in AGENTS_FILES)


def _measure(path: str, source: str) -> RuleFile | None:
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError:
        return RuleFile(source, os.path.basename(path), None)
    if not stat.S_ISREG(found.st_mode):
        return None
    return RuleFile(source, os.path.basename(path), found.st_size)


def _is_blank(path: str, file: RuleFile) -> bool:
    if file.bytes is None or file.bytes > BLANK_BYTES_MAX:
        return False
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(path, flags), "rb") as text:
            return not (text.read(BLANK_BYTES_MAX) or b"").strip()
    except OSError:
        return file.bytes == 0
