"""The agreed accounts, one turn each, from events to the snapshot."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.accounting import rules
from core.accounting.collector import Account, collect, wanted_skills
from core.accounting.invocations import ToolInvocationAccumulator
from core.accounting.kinds import SKILL_TOOL
from core.accounting.skills import SkillIndex, skill_key, skill_name_of_input
from core.events import SelectedSkill
from core.units import content_units, json_units

CONFORMANCE = Path(__file__).parents[2] / "conformance" / "accounting.json"
CASES = json.loads(CONFORMANCE.read_text(encoding="utf-8"))["cases"]


def write_files(workspace: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def accumulated(events: list[dict[str, Any]]) -> ToolInvocationAccumulator:
    calls = ToolInvocationAccumulator()
    for event in events:
        if "call" in event:
            call = event["call"]
            skill = None
            if call["name"] == SKILL_TOOL:
                skill = skill_name_of_input(call["input"])
            calls.call(call["id"], call["name"], json_units(call["input"]), skill)
        else:
            result = event["result"]
            calls.result(result["id"], content_units(result["content"]))
    return calls


def account_of(case: dict[str, Any], workspace: Path) -> Account:
    account = Account(
        runtime=case["runtime"],
        provider_backend=case.get("providerBackend"),
        calls=accumulated(case["events"]),
        selected=tuple(map(SelectedSkill, case.get("selectedSkills", ()))),
        rule_files=rules.measure(str(workspace)),
    )
    index = SkillIndex(str(workspace), str(workspace / "no-home"))
    found = {skill_key(s.name): index.find(s.name, s.source_path) for s in wanted_skills(account)}
    return account._replace(skill_files=found)


def test_all_agreed_accounts_are_here() -> None:
    assert len(CASES) == 42


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_turn_gives_the_agreed_snapshot(case: dict[str, Any], tmp_path: Path) -> None:
    write_files(tmp_path, case["files"])
    snapshot = collect(account_of(case, tmp_path))
    expected = case["expect"]

    entries = {
        kind: {"tokens": entry.tokens, "source": entry.source, "detail": entry.detail}
        for kind, entry in snapshot.entries.items()
    }
    assert entries == expected["entries"]
    assert list(snapshot.unsupported) == expected["unsupported"]
    assert snapshot.produced_by == expected["producedBy"]
    assert snapshot.provider_backend == expected.get("providerBackend")
