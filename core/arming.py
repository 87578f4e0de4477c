"""Arming a plan: the file is read once, checked, and frozen in the session."""

import os
import stat
import time
from hashlib import sha256
from typing import Any, NamedTuple

from core.accounting.skills import SkillIndex
from core.errors import PlanRefused
from core.events import Arm
from core.files import Files
from core.phases import wording
from core.phases.criteria import MET, check
from core.phases.display import shown
from core.phases.plan import PLAN_BYTES_MAX, Phase, Plan, to_json

WARN_S = 0.5  # Looking for warnings takes no longer.


class PlanFile(NamedTuple):
    """A plan file as it stood when it was read."""

    path: str
    data: bytes
    digest: str  # sha256, hex.


def read_plan_file(path: str) -> PlanFile:
    """Read a plan file of at most PLAN_BYTES_MAX; raise PlanRefused when that cannot be done."""
    name = shown(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no path can hold a NUL character"
        raise PlanRefused(f"cannot read the plan {name}: {why}", hint=_HINT) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PlanRefused(f"the plan {name} is not a regular file", hint=_HINT)
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(PLAN_BYTES_MAX + 1)
    if len(data) > PLAN_BYTES_MAX:
        raise PlanRefused(f"the plan {name} is larger than {PLAN_BYTES_MAX:,} bytes", hint=_HINT)
    return PlanFile(path, data, sha256(data).hexdigest())


_HINT = "Give the path of a plan file; docs/plan-format.md tells how one is written."


def arm_event(file: PlanFile, workspace: str, home: str, by: str) -> Arm:
    """Check a plan file and make the event that arms it; raise PlanRefused with all its faults."""
    from core.phases.loader import load  # A YAML parser, which only arming needs.

    loaded = load(file.data)
    if loaded.plan is None or loaded.problems:
        raise PlanRefused(
            _faults(file.path, loaded.problems),
            hint="Mend these and arm again.",
            field="path",
            problems=tuple(problem._asdict() for problem in loaded.problems),
        )
    warnings = _warnings(loaded.plan, workspace, home)
    return Arm(to_json(loaded.plan), file.path, file.digest, by, tuple(warnings))


def _faults(path: str, problems: tuple[Any, ...]) -> str:
    first = problems[0]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{shown(path)}:{first.line + 1}:{first.column + 1}: {first.message}{more}"


def _warnings(plan: Plan, workspace: str, home: str) -> list[str]:
    index, files = SkillIndex(workspace, home), Files(workspace)
    end = time.monotonic() + WARN_S
    names = dict.fromkeys(name for phase in plan.phases for name in _skills(phase))
    warnings = [
        wording.skill_not_found(name) for name in names if not _is_found(name, index, workspace)
    ]
    for criterion in (criterion for phase in plan.phases for criterion in phase.criteria):
        if time.monotonic() > end:
            return [*warnings, wording.not_all_looked_at()]
        if check(criterion, files, frozenset(), end).state == MET:
            warnings.append(wording.already_met(criterion.id))
    return warnings


def _skills(phase: Phase) -> list[str]:
    return list(dict.fromkeys((*phase.dao_skills, *phase.shu_skills, *phase.required_skills)))


def _is_found(name: str, index: SkillIndex, workspace: str) -> bool:
    if "/" in name and os.path.isfile(os.path.join(workspace, os.path.expanduser(name))):
        return True
    return index.find(name) is not None
