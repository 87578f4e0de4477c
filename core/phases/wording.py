"""Every sentence that the driver says to an agent or a person; pure functions of plan and gaps.

A gap is a dict with criterion_id, locator, state, why and next_action. No sentence carries the
content of a file. Lengths are UTF-16 units, in which hosts count.
"""

from collections.abc import Sequence
from typing import Any

from core.accounting.estimator import UNITS_PER_TOKEN
from core.phases.criteria import open_skill as open_skill
from core.phases.criteria import skill_not_opened as skill_not_opened
from core.phases.criteria import wanted
from core.phases.display import cut, shell_word, shown, shown_lines
from core.phases.plan import Phase, Plan
from core.units import utf16_units

BLOCK_UNITS_MAX = 1500
CONTINUE_UNITS_MAX = 4000
INJECTION_TOKENS_MAX = 600
TASK_PROMPT_CHARS_MIN = 1200  # An injection never cuts a task_prompt below this.

_CHECK = "Automated phase check (not the user)"
_FIRST_LINE_UNITS = 160
_SKILLS_UNITS = 300
_GAPS_UNITS = 400
_GAP_UNITS = 320

EXAMPLE_PLAN = """\
version: 1
original_prompt: |
  <the user's request, word for word>
phases:
  - id: survey
    task_prompt: |
      Read the code and write down what you find.
    exit_criteria:
      - artifact_exists: reports/survey.md
      - artifact_contains: "reports/survey.md::## Findings"
  - id: build
    task_prompt: |
      Carry out what the survey found.
    exit_criteria:
      - artifact_exists: {path: "src/*.py", min_count: 2}
"""


def arm_directive(session_id: str) -> str:
    """Ask the agent to plan a task that is more than trivial, or to decline."""
    session = shell_word(session_id)
    return (
        "This request looks like more than one step. Before you begin, split it into phases, each"
        " with what ends it, and write them as plan.yaml:\n\n"
        f"{EXAMPLE_PLAN}\n"
        "A phase that needs skills names them: skill_injection: {dao_skills: [name]}. Paths are"
        " relative to the workspace; a phase ends when all its exit_criteria are met and"
        " its skills were opened. Then run\n"
        f"  turnkeeper arm --plan plan.yaml --session {session}\n"
        "From then on each phase is checked when you stop. If the request is trivial after all,"
        " run\n"
        f'  turnkeeper decline --session {session} --reason "<why>"'
    )


def phase_injection(
    plan: Plan,
    index: int,
    gaps: Sequence[dict[str, Any]],
    session_id: str,
    limit_tokens: int = INJECTION_TOKENS_MAX,
) -> str:
    """Say what the current phase asks for; goes with every prompt while a plan is armed."""
    before = [_header(plan, index), *_first_line(plan), *_skills(plan.phases[index])]
    after = [*_open_or_wanted(plan.phases[index], gaps), _status(session_id)]
    taken = utf16_units("\n".join([*before, *after, ""]))
    prompt = _task_prompt(plan.phases[index], limit_tokens * UNITS_PER_TOKEN - taken)
    return "\n".join([*before, *prompt, *after])


def block_reason(
    plan: Plan,
    index: int,
    gaps: Sequence[dict[str, Any]],
    attempt: int,
    attempts_left: int,
    session_id: str,
) -> str:
    """Say why a turn may not end yet and exactly what to do, in BLOCK_UNITS_MAX at most."""
    head = f"{_CHECK}: phase {_place(plan, index)} is not finished."
    tail = [
        _status(session_id),
        f"Attempt {attempt}; {attempts_left} left before this check gives up.",
    ]
    left = BLOCK_UNITS_MAX - utf16_units("\n".join([head, *tail, ""]))
    return "\n".join([head, *_numbered(gaps, left), *tail])


def continue_reason(closed_ids: Sequence[str], plan: Plan, index: int, session_id: str) -> str:
    """Say that phases are closed and what the one at `index` asks for, now."""
    phase = plan.phases[index]
    closed = cut(", ".join(shown(closed_id) for closed_id in closed_ids), _SKILLS_UNITS)
    verb = "is" if len(closed_ids) == 1 else "are"
    before = [f"{_CHECK}: {closed} {verb} closed. Go on now with phase {_place(plan, index)}."]
    before += [*_first_line(plan), *_skills(phase)]
    after = [*_open_or_wanted(phase, ()), _status(session_id)]
    left = CONTINUE_UNITS_MAX - utf16_units("\n".join([*before, *after, ""]))
    prompt = [cut(shown_lines(phase.task_prompt), left)] if phase.task_prompt.strip() else []
    return "\n".join([*before, *prompt, *after])


def give_up_note(plan: Plan, index: int, session_id: str) -> str:
    """Tell the agent, once, that a phase is no longer driven."""
    return (
        f"{_CHECK}: phase {_place(plan, index)} was blocked as often as the plan allows and is"
        " no longer checked. Tell the user plainly what is missing; the user alone can resume the"
        f" plan. {_status(session_id)}"
    )


def give_up_flag(phase_id: str, blocks: int) -> tuple[str, str]:
    """Message and hint for the person: the driver gave up."""
    return (
        f"phase {shown(phase_id)} is unfinished after {blocks} blocks; it is no longer driven",
        "Look at the open gaps, then resume or cancel the plan.",
    )


def host_cap_flag(phase_id: str) -> tuple[str, str]:
    """Message and hint for the person: one more answer would reach the host's own cap."""
    return (
        f"the host stops listening after one more answer; phase {shown(phase_id)} stays armed",
        "Send a prompt to go on.",
    )


def drift_flag(path: str) -> tuple[str, str]:
    """Message and hint for the person: the plan file was edited after it was armed."""
    return (
        f"the plan {shown(path)} was edited; what was armed still counts",
        "Arm it again to adopt the edit; its first phase begins anew.",
    )


def already_met(criterion_id: str) -> str:
    """Warn at arming that a criterion proves nothing, since it is met before the phase began."""
    return f"criterion {shown(criterion_id)} is already met"


def not_all_looked_at() -> str:
    """Warn at arming that there was no time to see which criteria are already met."""
    return "not every criterion was looked at: the plan has many, or they take long"


def skill_not_found(name: str) -> str:
    """Warn at arming that nobody may be able to open a skill."""
    return f"no skill named {shown(name)} was found"


def forbidden_read(entry: str, phase_id: str) -> str:
    """Say why a path may not be read in this phase."""
    return f"Phase {shown(phase_id)} of the plan forbids reading {shown(entry)}."


def _place(plan: Plan, index: int) -> str:
    return f"{index + 1} of {len(plan.phases)}: {shown(plan.phases[index].id)}"


def _header(plan: Plan, index: int) -> str:
    return f"Phase {_place(plan, index)}"


def _first_line(plan: Plan) -> list[str]:
    line = shown_lines(plan.original_prompt).partition("\n")[0]
    return [f"Task: {cut(line, _FIRST_LINE_UNITS)}"] if line else []


def _skills(phase: Phase) -> list[str]:
    if not phase.required_skills:
        return []
    lines = [f"- {open_skill(name)}" for name in phase.required_skills]
    return ["Skills this phase needs:", *_fitting(lines, _SKILLS_UNITS)]


def _open_or_wanted(phase: Phase, gaps: Sequence[dict[str, Any]]) -> list[str]:
    if gaps:
        return ["Still open:", *_numbered(gaps, _GAPS_UNITS)]
    lines = [f"- {wanted(criterion)}" for criterion in phase.criteria]
    return ["The phase ends when:", *_fitting(lines, _GAPS_UNITS)] if lines else []


def _task_prompt(phase: Phase, left_units: int) -> list[str]:
    text = shown_lines(phase.task_prompt)
    least = utf16_units(text[:TASK_PROMPT_CHARS_MIN]) + 1  # One unit for the ellipsis.
    return [cut(text, max(left_units, least))] if text else []


def _numbered(gaps: Sequence[dict[str, Any]], limit_units: int) -> list[str]:
    lines = [f"{number}. {_gap(gap)}" for number, gap in enumerate(gaps, 1)]
    return _fitting(lines, limit_units)


def _gap(gap: dict[str, Any]) -> str:
    why = f"could not be checked: {gap['why']}" if gap["state"] == "error" else gap["why"]
    text = f"{shown(gap['locator'])}: {why}. {gap['next_action']}"
    return shown(text, _GAP_UNITS)


def _fitting(lines: list[str], limit_units: int) -> list[str]:
    """Give the lines that fit, the last of them cut, and how many more there are."""
    kept: list[str] = []
    left = limit_units - 20  # Room for the line that counts the rest.
    for number, line in enumerate(lines):
        if kept and utf16_units(line) + 1 > left:
            return [*kept, f"and {len(lines) - number} more"]
        kept.append(cut(line, left))
        left -= utf16_units(line) + 1
    return kept


def _status(session_id: str) -> str:
    return f"Status: turnkeeper status --session {shell_word(session_id)}"
