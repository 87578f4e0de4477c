"""What a decision may look up outside: files of the workspace, skills, rules, the host's cap."""

import json
import os
import time
from collections.abc import Mapping
from typing import NamedTuple

from core import decided as d
from core.account import Measured, account_of
from core.accounting.collector import wanted_skills
from core.accounting.kinds import SKILL_TOOL
from core.accounting.rules import NO_EVIDENCE, RuleFile, agents_chain, measure
from core.accounting.skills import SkillIndex, skill_key
from core.arming import read_plan_file
from core.errors import PlanRefused
from core.files import Files
from core.phases.criteria import ERROR, MET, CriterionState, check, not_finished
from core.phases.fields import TASK_ID_CHARS_MAX
from core.phases.plan import Criterion
from core.runtimes.registry import runtime
from core.state import Session, Turn

CODEX = "codex_runtime"  # The host whose instruction files are a chain of AGENTS.md.
DISABLED = "TURNKEEPER_DISABLED"  # With 1 nothing is driven: accounts are kept, plans rest.
CHECK_BUDGET_S = 45.0  # All checks of one stop share it.

_ACTIVE_TASK = ("TURNKEEPER_ACTIVE_TASK_PATH", "CONTEXT_INFRA_ACTIVE_TASK_PATH")
_ACTIVE_TASK_CHARS_MAX = 4096


class Look(NamedTuple):
    """Checks to carry out: of each phase its criteria, and the skills that count as opened."""

    workspace: str
    phases: tuple[tuple[tuple[Criterion, ...], frozenset[str]], ...]


class Looked(NamedTuple):
    """What the checks said, up to the first phase with an unmet one."""

    outcomes: tuple[tuple[CriterionState, ...], ...]
    complete: bool  # False when the time was over before all were carried out.


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
        wanted = wanted_skills(account_of(state, turn)) if _names_skills(turn) else ()
        rules = measure(state.workspace)
        if not rules and state.runtime == CODEX:
            rules = self._agents_chain(state.workspace)
        if not wanted:
            return Measured({}, rules)
        found = self._index(state.workspace).find_all(
            [(skill.name, skill.source_path) for skill in wanted]
        )
        skills = {skill_key(skill.name): file for skill, file in zip(wanted, found, strict=True)}
        return Measured(skills, rules)

    def measure_recorded(self, state: Session, turn: Turn) -> Measured:
        """Look up the files behind a turn of a recording.

        What is in the workspace today proves nothing about its rules then: only Codex reads the
        same chain of files at every start, and says nothing where it does not name them.
        """
        found = self.measure(state, turn)
        if state.runtime == CODEX:
            return found._replace(rules=self._agents_chain(state.workspace))
        return found._replace(rules=(), rules_unknown=NO_EVIDENCE)

    def _agents_chain(self, workspace: str) -> tuple[RuleFile, ...]:
        return agents_chain(workspace, self.home, self._environ.get("CODEX_HOME"))

    def _index(self, workspace: str) -> SkillIndex:
        index = self._skills.get(workspace)
        if index is None:
            index = self._skills[workspace] = SkillIndex(
                workspace,
                self.home,
                claude_home=self._environ.get("CLAUDE_CONFIG_DIR"),
                codex_home=self._environ.get("CODEX_HOME"),
            )
        return index

    def look_for(self, state: Session, checks: d.Checks) -> Look:
        """Gather what the checks of a turn end look at, apart from the state."""
        plan, cursor = state.cursor.plan, state.cursor
        if plan is None or checks.phases_from is None:
            return Look(state.workspace, ())
        indices = range(checks.phases_from, len(plan.phases))
        phases = tuple((plan.phases[i].criteria, cursor.evidence(i)) for i in indices)
        return Look(state.workspace, phases)

    def carry_out(self, look: Look, until: float) -> Looked:
        """Carry checks out, phase by phase, up to the first unmet one; on any thread.

        What is not done by then, as of time.monotonic(), is an error: not finished.
        """
        files = self.files(look.workspace)
        outcomes: list[tuple[CriterionState, ...]] = []
        complete = True
        for criteria, opened in look.phases:
            states = []
            for criterion in criteria:
                complete = complete and time.monotonic() < until
                done = not_finished(criterion)
                if complete:
                    done = check(criterion, files, opened, until)
                    complete = done.state != ERROR or time.monotonic() < until
                states.append(done)
            outcomes.append(tuple(states))
            if any(state.state != MET for state in states):
                break
        return Looked(tuple(outcomes), complete)

    def finish(self, state: Session, checks: d.Checks, looked: Looked) -> d.ChecksFinished:
        """Add to the outcomes what a turn end needs besides: sizes, the host's cap, the plan."""
        return d.ChecksFinished(
            checks.event,
            looked.outcomes,
            self.measure(state, state.turn or Turn(checks.event.turn_id)),
            self._cap(state.runtime),
            None if checks.phases_from is None else _digest(state.cursor.path),
        )

    def _cap(self, runtime_id: str) -> int | None:
        host = runtime(runtime_id)
        if host is None:
            return None
        if host.block_cap_variable is None:
            return host.block_cap
        given = self._environ.get(host.block_cap_variable, "")
        cap = int(given) if given.isdigit() else host.block_cap
        return cap or None


def _names_skills(turn: Turn) -> bool:
    """Say whether anything in a turn may tell of a skill; most turns are spared the search."""
    called = any(SKILL_TOOL in calls.tool_names() for calls in turn.agents.values())
    return called or bool(turn.selected or turn.skills)


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
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # Perhaps a FIFO.
        with open(descriptor, encoding="utf-8") as file:
            text = file.read(_ACTIVE_TASK_CHARS_MAX).strip()
        found = json.loads(text).get("task_id") if text.startswith("{") else text
    except (OSError, ValueError, RecursionError):
        return None
    is_name = isinstance(found, str) and found.isprintable() and len(found) <= TASK_ID_CHARS_MAX
    return found or None if is_name else None
