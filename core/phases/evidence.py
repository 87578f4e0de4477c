"""What counts as opening a skill: a whole read of its file, told from any other read."""

import os.path
from typing import Any

from core.phases.plan import Plan, skill_id

SKILL_FILE = "SKILL.md"
READ = "Read"
PATH_CHARS_MAX = 4096  # No file system has longer ones; a longer text is no path.


def read_of(name: str, arguments: Any) -> tuple[str | None, bool]:
    """Give the path that a Read call reads and whether it asks for a part only; None for others."""
    if name != READ or not isinstance(arguments, dict):
        return None, False
    path = arguments.get("file_path")
    if not isinstance(path, str) or not 0 < len(path) <= PATH_CHARS_MAX:
        return None, False
    return path, any(arguments.get(key) is not None for key in ("offset", "limit", "pages"))


def skill_read(plan: Plan | None, workspace: str, path: str) -> str | None:
    """Name the skill whose file this path is: any SKILL.md, or a file that the plan names."""
    if os.path.basename(path) == SKILL_FILE:
        return skill_id(path)
    wanted = _absolute(workspace, path)
    for phase in () if plan is None else plan.phases:
        for entry in (*phase.dao_skills, *phase.shu_skills, *phase.required_skills):
            if "/" in entry and _absolute(workspace, entry) == wanted:
                return skill_id(entry)
    return None


def _absolute(workspace: str, path: str) -> str:
    return os.path.normpath(os.path.join(workspace, os.path.expanduser(path)))
