"""A plan as it is carried out: compiled, immutable, and writable as JSON.

The loader (core/phases/loader.py) makes it from YAML; a checkpoint and the journal carry its JSON
form, so that a hook command parses no YAML.
"""

from typing import Any, NamedTuple

PLAN_BYTES_MAX = 256 * 1024  # Of a plan file; the largest is read in a second.


class Limits(NamedTuple):
    """How often a turn end may be blocked before the driver gives up."""

    blocks_per_phase: int = 3
    blocks_total: int = 12


class Criterion(NamedTuple):
    """One exit criterion; `args` fit the kind of that name in core/phases/criteria.py."""

    id: str
    kind: str
    args: dict[str, Any]


class Phase(NamedTuple):
    """One phase: what to do, which skills it takes, and when it is over."""

    id: str
    task_prompt: str = ""
    dao_skills: tuple[str, ...] = ()  # Names or paths, as written in the plan.
    shu_skills: tuple[str, ...] = ()
    required_skills: tuple[str, ...] = ()  # As written; the injected ones when the plan names none.
    forbidden_read: tuple[str, ...] = ()
    carry: bool = False
    count_subagents: bool = False
    criteria: tuple[Criterion, ...] = ()


class Plan(NamedTuple):
    """A whole plan; `task_id` is None when the file names none."""

    task_id: str | None
    original_prompt: str
    limits: Limits
    phases: tuple[Phase, ...]


def to_json(plan: Plan) -> dict[str, Any]:
    """Give the plan as JSON values; `from_json` gives the same plan back."""
    return {
        "task_id": plan.task_id,
        "original_prompt": plan.original_prompt,
        "limits": plan.limits._asdict(),
        "phases": [
            {
                **phase._asdict(),
                "criteria": [criterion._asdict() for criterion in phase.criteria],
            }
            for phase in plan.phases
        ],
    }


def from_json(data: dict[str, Any]) -> Plan:
    """Read the form that `to_json` wrote."""
    return Plan(
        data["task_id"],
        data["original_prompt"],
        Limits(**data["limits"]),
        tuple(_phase(phase) for phase in data["phases"]),
    )


def _phase(data: dict[str, Any]) -> Phase:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in data.items()
        if name != "criteria"
    }
    criteria = tuple(Criterion(c["id"], c["kind"], c["args"]) for c in data["criteria"])
    return Phase(**values, criteria=criteria)


def skill_id(name_or_path: str) -> str:
    """Give the canonical id of a skill, the spelling in which plan and evidence are compared.

    A plugin prefix goes ("superpowers:brainstorming"), a path to SKILL.md becomes its folder's
    name, any other path its stem; case does not count. Empty when nothing is left.
    """
    path = name_or_path.strip().replace("\\", "/").strip("/")
    folder, slash, last = path.rpartition("/")
    if folder and last.casefold() == "skill.md":
        last = folder.rpartition("/")[2]
    elif slash or last.casefold().endswith(".md"):
        last = last.rpartition(".")[0] or last
    return last.rpartition(":")[2].strip().casefold()
