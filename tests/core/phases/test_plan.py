"""The spelling in which a plan's skills and the evidence are compared."""

import pytest

from core.phases.plan import skill_id


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("brainstorming", "brainstorming"),
        ("  /Brainstorming ", "brainstorming"),
        ("superpowers:brainstorming", "brainstorming"),
        ("v1.2", "v1.2"),
        ("notes.md", "notes"),
        ("rules/skills/drafts/workflow_x.md", "workflow_x"),
        ("~/.claude/skills/Deploy.v2/SKILL.md", "deploy.v2"),
        ("C:\\skills\\deploy\\skill.md", "deploy"),
        ("skills/plugin:deploy/SKILL.md", "deploy"),
        ("SKILL.md", "skill"),
        ("skills/deploy/", "deploy"),
        ("部署", "部署"),
        ("STRASSE", "strasse"),
        ("straße", "strasse"),
        (" / ", ""),
        ("plugin:", ""),
    ],
)
def test_a_skill_has_one_id_however_it_is_written(written: str, canonical: str) -> None:
    assert skill_id(written) == canonical
