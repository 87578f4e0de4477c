"""Arming reads the plan file once, refuses every fault with its place, and warns of odd plans."""

import os
from hashlib import sha256
from pathlib import Path

import pytest

from core.arming import arm_event, read_plan_file
from core.errors import PlanRefused
from core.phases.plan import PLAN_BYTES_MAX, from_json

PLAN = """\
version: 1
task_id: T652
phases:
  - id: survey
    skill_injection: {dao_skills: [ghost, shape]}
    exit_criteria:
      - artifact_exists: out.md
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    skill = tmp_path / "work" / ".claude" / "skills" / "shape" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: shape\n---\nShape it.\n")
    return tmp_path / "work"


def written(workspace: Path, text: str = PLAN) -> str:
    path = workspace / "plan.yaml"
    path.write_text(text)
    return str(path)


def test_a_plan_is_frozen_with_the_digest_of_its_bytes(workspace: Path) -> None:
    path = written(workspace)

    event = arm_event(read_plan_file(path), str(workspace), "/nobody", "host")

    assert event.digest == sha256(PLAN.encode()).hexdigest()
    assert (event.path, event.by, event.plan["task_id"]) == (path, "host", "T652")
    assert from_json(event.plan).phases[0].required_skills == ("ghost", "shape")


def test_it_warns_of_skills_that_nobody_finds_and_of_criteria_met_already(workspace: Path) -> None:
    (workspace / "out.md").write_text("old")

    event = arm_event(read_plan_file(written(workspace)), str(workspace), "/nobody", "host")

    assert event.warnings == (
        "no skill named ghost was found",
        "criterion survey.1 is already met",
    )


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("version: [", 0, "YAML"),
        (PLAN.replace("artifact_exists", "artifact_smells"), 6, "artifact_smells"),
        (PLAN.replace("out.md", "../out.md"), 6, "../out.md"),
        (PLAN.replace("task_id: T652", "task_id: T652\ntask_id: T653"), 2, "task_id"),
        (PLAN + "  - id: survey\n    task_prompt: x\n", 7, "survey"),
    ],
)
def test_a_faulty_plan_is_refused_with_the_place_of_every_fault(
    workspace: Path, text: str, line: int, word: str
) -> None:
    path = written(workspace, text)

    with pytest.raises(PlanRefused) as refused:
        arm_event(read_plan_file(path), str(workspace), "/nobody", "host")

    first = refused.value.problems[0]
    assert first["line"] == line
    assert word in str(first["message"]) + str(first["mend"])
    assert refused.value.message.startswith(f"{path}:{line + 1}:")


def test_what_is_no_plan_file_is_refused_and_never_waited_for(workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    (workspace / "large").write_bytes(b"#" * (PLAN_BYTES_MAX + 1))
    (workspace / "full").write_bytes(b"#" * PLAN_BYTES_MAX)

    for name in ("missing", "pipe", ".", "large", "a\0b"):
        with pytest.raises(PlanRefused):
            read_plan_file(str(workspace / name))
    assert len(read_plan_file(str(workspace / "full")).data) == PLAN_BYTES_MAX
