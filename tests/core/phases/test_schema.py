"""The schema and the page say what the loader reads."""

import json

from core.phases import fields
from core.phases.criteria import KINDS
from core.phases.loader import load
from core.phases.schema import plan_format_markdown, plan_schema


def test_the_page_has_every_key_and_every_kind() -> None:
    page = plan_format_markdown()
    tables = (fields.PLAN, fields.LIMITS, fields.PHASE, fields.SKILL_INJECTION)

    for field in (field for table in tables for field in table):
        assert f"| {field.name} |" in page
    for kind in KINDS:
        assert f"### {kind.name}\n" in page


def test_the_example_of_the_page_is_a_plan() -> None:
    example = plan_format_markdown().partition("```yaml\n")[2].partition("```")[0]

    assert load(example).plan is not None


def test_the_schema_names_the_same_keys_and_bounds_as_the_loader() -> None:
    schema = json.loads(json.dumps(plan_schema()))
    phase = schema["properties"]["phases"]["items"]

    assert list(schema["properties"]) == [field.name for field in fields.PLAN]
    assert schema["required"] == ["version", "phases"]
    assert list(phase["properties"]) == [field.name for field in fields.PHASE]
    assert schema["properties"]["limits"]["properties"]["blocks_total"]["maximum"] == 50
    kinds = phase["properties"]["exit_criteria"]["items"]["oneOf"]
    assert [item["required"] for item in kinds] == [[kind.name] for kind in KINDS]
