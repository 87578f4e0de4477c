"""What an editor shows on a plan: its faults, the open gaps of a session, and one hint a phase.

Pure: it reads the text and the cursor of the session that carries the plan.
"""

from typing import Any, NamedTuple

from lsprotocol import types

from core.phases import cursor as c
from core.phases.display import shown
from core.phases.places import Span
from core.phases.plan import Phase, Plan, skill_id
from handlers.editor_text import START, PlanText

SOURCE = "turnkeeper"
CARRIED = c.UNDER_WAY | {c.COMPLETE}  # In these states a plan's phases stand somewhere.


class Hint(NamedTuple):
    """How one phase stands."""

    phase_id: str
    label: str
    tooltip: str


def diagnostics(plan: PlanText, cursor: c.Cursor | None) -> list[types.Diagnostic]:
    """List every fault of the text, then every gap that a turn end left open."""
    faults = [
        types.Diagnostic(
            range=plan.range(Span(*problem[:4])),
            message=f"{problem.message}. {problem.mend}",
            severity=types.DiagnosticSeverity.Error,
            code=problem.code,
            source=SOURCE,
        )
        for problem in plan.loaded.problems
    ]
    return faults if cursor is None else faults + _gaps(plan, cursor)


def _gaps(plan: PlanText, cursor: c.Cursor) -> list[types.Diagnostic]:
    phase = cursor.phase
    if phase is None:
        return []
    return [
        types.Diagnostic(
            range=plan.range(_place(plan, phase.id, gap)),
            message=f"{gap['why']}. {gap['next_action']}",
            severity=types.DiagnosticSeverity.Warning,
            code=gap["criterion_id"],
            source=SOURCE,
        )
        for gap in cursor.gaps
    ]


def _place(plan: PlanText, phase_id: str, gap: dict[str, Any]) -> Span:
    """Find the criterion or skill of a gap; after an edit its phase, or the start of the text."""
    places = plan.loaded.places
    id_: str = gap["criterion_id"]
    if id_ in places.criterion:
        return places.criterion[id_]
    index = plan.phases.get(phase_id)
    if index is None:
        return START
    skill = (index, id_.removeprefix(f"{phase_id}.skill."))
    return places.skill.get(skill, places.phase[index])


def hints(cursor: c.Cursor) -> tuple[Hint, ...]:
    """Say how each phase of the session's plan stands, in order."""
    if cursor.plan is None or cursor.status not in CARRIED:
        return ()
    return tuple(_hint(cursor, cursor.plan, index) for index in range(len(cursor.plan.phases)))


def _hint(cursor: c.Cursor, plan: Plan, index: int) -> Hint:
    phase = plan.phases[index]
    if index < cursor.index or cursor.status == c.COMPLETE:
        return Hint(phase.id, "done", "Closed on its own evidence.")
    if index > cursor.index:
        label = "next" if index == cursor.index + 1 else "later"
        return Hint(phase.id, label, "Begins when the phase before it is closed.")
    opened = cursor.evidence(index)
    parts = [
        *_skills_label(phase, opened),
        *_criteria_label(cursor, phase),
        f"blocked {cursor.blocks} of {cursor.blocks + cursor.attempts_left}",
    ]
    label = f"{cursor.status.replace('_', ' ')}: {', '.join(parts)}"
    return Hint(phase.id, label, _tooltip(cursor, plan, phase, opened))


def _skills_label(phase: Phase, opened: frozenset[str]) -> list[str]:
    required = {skill_id(name) for name in phase.required_skills}
    return [f"{len(required & opened)} of {len(required)} skills opened"] if required else []


def _criteria_label(cursor: c.Cursor, phase: Phase) -> list[str]:
    total = len(phase.criteria)
    if total == 0:
        return []
    if not cursor.criteria:
        return [f"{total} unchecked"]
    met = sum(cursor.criteria.get(x.id, ("", ""))[0] == "met" for x in phase.criteria)
    return [f"{met} of {total} met"]


def _tooltip(cursor: c.Cursor, plan: Plan, phase: Phase, opened: frozenset[str]) -> str:
    lines = [f"Task {shown(cursor.task_id or '')}, phase {cursor.number} of {len(plan.phases)}"]
    for name in phase.required_skills:
        state = "opened" if skill_id(name) in opened else "not opened"
        lines.append(f"skill {shown(name)}: {state}")
    for criterion in phase.criteria:
        state, why = cursor.criteria.get(criterion.id, ("unchecked", ""))
        lines.append(f"{criterion.id}, {criterion.kind}: {state}{f', {why}' if why else ''}")
    return "\n".join(lines)


def inlay_hints(
    plan: PlanText, found: tuple[Hint, ...], asked: types.Range
) -> list[types.InlayHint]:
    """Put each hint at the end of the line that holds its phase's id, within the asked range."""
    placed: list[types.InlayHint] = []
    for hint in found:
        index = plan.phases.get(hint.phase_id)
        if index is None:
            continue  # The text was edited since it was armed.
        line = plan.loaded.places.phase[index].line
        if asked.start.line <= line <= asked.end.line:
            placed.append(
                types.InlayHint(
                    position=plan.line_end(line),
                    label=hint.label,
                    tooltip=hint.tooltip,
                    padding_left=True,
                )
            )
    return placed
