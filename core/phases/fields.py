"""The fields of a plan file, declared once: the loader, the JSON Schema and the docs follow."""

from typing import Any, NamedTuple

from core.phases.criteria import Kind

VERSION = 1
PHASES_MAX = 50
ID_PATTERN = "[a-z0-9_-]{1,64}"
TASK_ID_CHARS_MAX = 200
PATH_CHARS_MAX = 1000


class Field(NamedTuple):
    """One key of a mapping; `takes` names how its value is read (core/phases/values.py)."""

    name: str
    takes: str
    doc: str
    default: Any = None
    low: int = 0  # Bounds of a number.
    high: int = 0
    required: bool = False


PLAN = (
    Field("version", "version", "Version of this format.", required=True),
    Field(
        "task_id",
        "task_id",
        f"Name of the task in every receipt, at most {TASK_ID_CHARS_MAX} characters. Default: the"
        " session's task.",
    ),
    Field("original_prompt", "text", "The request, word for word; its first line is shown.", ""),
    Field("limits", "limits", "How often a turn end may be blocked."),
    Field("phases", "phases", f"What is done, in order; 1 to {PHASES_MAX} phases.", required=True),
)
LIMITS = (
    Field("blocks_per_phase", "count", "Blocks of one phase before it is given up.", 3, 1, 10),
    Field("blocks_total", "count", "Blocks of the whole plan before it is given up.", 12, 1, 50),
)
PHASE = (
    Field("id", "id", f"Unique name, `{ID_PATTERN}`.", required=True),
    Field("task_prompt", "text", "What to do; shown with every prompt of this phase.", ""),
    Field(
        "skill_injection", "skill_injection", "Skills that are put before the agent with the phase."
    ),
    Field(
        "required_skills",
        "skills",
        "Skills that must be opened before the phase ends. Default: all injected ones.",
    ),
    Field(
        "forbidden_read",
        "paths",
        "Files and folders that a Read call is denied meanwhile; the host must heed the denial.",
        (),
    ),
    Field("carry", "flag", "A skill opened in an earlier phase counts.", False),
    Field("count_subagents", "flag", "What sub-agents opened counts.", False),
    Field("exit_criteria", "criteria", "What must be true before the phase ends.", ()),
)
SKILL_INJECTION = (
    Field("dao_skills", "skills", "General methods: names of skills, or paths to SKILL.md.", ()),
    Field("shu_skills", "skills", "Techniques for this task: names, or paths to SKILL.md.", ()),
)
CRITERION_ID = Field(
    "id", "id", f"Unique name, `{ID_PATTERN}`. Default: the phase's id, a dot and the position."
)


def arguments_of(kind: Kind) -> tuple[Field, ...]:
    """Give the arguments of a kind of criterion as fields; one without a default is required."""
    defaults: dict[str, Any] = getattr(kind.args, "_field_defaults", {})
    return tuple(
        Field(
            name,
            "count" if kind.args.__annotations__[name] is int else "text",
            arg.doc,
            defaults.get(name),
            arg.low,
            arg.high,
            required=name not in defaults,
        )
        for name, arg in kind.docs.items()
    )
