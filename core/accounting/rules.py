"""The instruction file of a workspace, measured where nobody names the files that were loaded."""

import os
import stat
from typing import NamedTuple

RULES_FILE = "CLAUDE.md"


class RuleFile(NamedTuple):
    """An instruction file; `bytes` is None when it is there but cannot be measured."""

    source: str
    detail: str
    bytes: int | None


def measure(workspace: str) -> tuple[RuleFile, ...]:
    """Measure the workspace's own instruction file; none when it is missing, empty or no file."""
    source = f"workspace/{RULES_FILE}"
    try:
        found = os.stat(os.path.join(workspace, RULES_FILE))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError:
        return (RuleFile(source, RULES_FILE, None),)
    if not stat.S_ISREG(found.st_mode) or found.st_size == 0:
        return ()
    return (RuleFile(source, RULES_FILE, found.st_size),)
