"""What a decision may look up outside: files of the workspace, skills, rules, the host's cap."""

import json
from collections.abc import Mapping

from core import decided as d
from core.account import Measured, account_of
from core.accounting.collector import wanted_skills
from core.accounting.rules import measure
from core.accounting.skills import SkillIndex, skill_key
from core.arming import read_plan_file
from core.errors import PlanRefused
from core.files import Files
from core.phases.criteria import CriterionState, check
from core.phases.fields import TASK_ID_CHARS_MAX
from core.runtimes.registry import runtime
from core.state import Session, Turn

DISABLED = "TURNKEEPER_DISABLED"  # With 1 nothing is driven: accounts are kept, plans rest.


_ACTIVE_TASK = ("TURNKEEPER_ACTIVE_TASK_PATH", "CONTEXT_INFRA_ACTIVE_TASK_PATH")
_ACTIVE_TASK_CHARS_MAX = 4096


class World:
    """The one door to files and environment; a decision gets what was seen through it."""

    def __init__(self, home: str, environ: Mapping[str, str]) -> None:
        self.home = home
        self.is_disabled = environ.get(DISABLED) == "1"
        self._environ = environ
        self._files: dict[str, Files] = {}
        self._skills: dict[str, SkillIndex] = {}

    def task_id(self) -> str | None:
        """Name the task that the environment sets: of a dispatch, else of the active-task file."""
        given = self._environ.get("TURNKEEPER_TASK_ID", "").strip()
        return given or _active_task(self._environ)

    def files(self, workspace: str) -> Files:
        """Give the files below a workspace."""
        files = self._files.get(workspace)
        if files is None:
            files = self._files[workspace] = Files(workspace)
        return files

    def measure(self, state: Session, turn: Turn) -> Measured:
        """Look up the files behind this turn's skills and rules; sizes in bytes, as of now."""
        index = self._skills.get(state.workspace)
        if index is None:
            index = self._skills[state.workspace] = SkillIndex(state.workspace, self.home)
        skills = {
            skill_key(skill.name): index.find(skill.name, skill.source_path)
            for skill in wanted_skills(account_of(state, turn))
        }
        return Measured(skills, measure(state.workspace))

    def run(self, state: Session, checks: d.Checks) -> d.ChecksFinished:
        """Carry out the checks of a turn end, phase by phase, up to the first unmet one."""
        turn = state.turn or Turn(checks.event.turn_id)
        outcomes: list[tuple[CriterionState, ...]] = []
        plan, cursor = state.cursor.plan, state.cursor
        if plan is not None and checks.phases_from is not None:
            files = self.files(state.workspace)
            for index in range(checks.phases_from, len(plan.phases)):
                opened = cursor.evidence(index)
                states = tuple(check(c, files, opened) for c in plan.phases[index].criteria)
                outcomes.append(states)
                if any(state.state != "met" for state in states):
                    break
        return d.ChecksFinished(
            checks.event,
            tuple(outcomes),
            self.measure(state, turn),
            self._cap(state.runtime),
            None if checks.phases_from is None else _digest(cursor.path),
        )

    def _cap(self, runtime_id: str) -> int | None:
        host = runtime(runtime_id)
        if host.block_cap_variable is None:
            return host.block_cap
        given = self._environ.get(host.block_cap_variable, "")
        cap = int(given) if given.isdigit() else host.block_cap
        return cap or None


def _digest(plan_path: str | None) -> str | None:
    try:
        return None if plan_path is None else read_plan_file(plan_path).digest
    except PlanRefused:
        return None


def _active_task(environ: Mapping[str, str]) -> str | None:
    """Read the active-task file: one line, or a JSON object with a task_id."""
    path = next((environ[name] for name in _ACTIVE_TASK if environ.get(name)), None)
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_ACTIVE_TASK_CHARS_MAX).strip()
        found = json.loads(text).get("task_id") if text.startswith("{") else text
    except (OSError, ValueError):
        return None
    is_name = isinstance(found, str) and found.isprintable() and len(found) <= TASK_ID_CHARS_MAX
    return found or None if is_name else None
