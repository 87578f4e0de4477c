"""What a snapshot says beyond the agreed accounts: what is unknown, and why."""

import json
from pathlib import Path

from core.accounting import rules
from core.accounting.collector import (
    IMAGES,
    NOT_MEASURED,
    ORPHAN_RESULT,
    Account,
    Attached,
    Supplied,
    collect,
    wanted_skills,
)
from core.accounting.invocations import ToolInvocationAccumulator
from core.accounting.rules import RuleFile
from core.accounting.skill_use import CALL_FAILED, EMPTY_FILE, NO_NAME, NOT_FOUND
from core.accounting.skills import SkillFile
from core.accounting.snapshot import (
    Entry,
    Item,
    Reconciliation,
    Unknown,
    Window,
    from_json,
    to_json,
)
from core.events import SelectedSkill

ALPHA = SkillFile("alpha", "/w/.claude/skills/alpha/SKILL.md", "workspace/alpha", 9)
NOTES = "notes/AGENTS.md"


def account(*calls: tuple[str, str, int, str | None]) -> Account:
    accumulator = ToolInvocationAccumulator()
    for call in calls:
        accumulator.call(*call)
    return Account("claude_code", accumulator)


def test_a_skill_without_a_file_is_unknown_and_never_zero() -> None:
    ghost = account(("1", "Skill", 9, "ghost"))._replace(skill_files={"ghost": None})
    snapshot = collect(ghost)

    assert snapshot.entries == {}
    assert snapshot.unknown == (Unknown("skills", "ghost", NOT_FOUND),)


def test_a_failed_skill_call_is_called_and_not_loaded() -> None:
    failed = account(("1", "Skill", 9, "Alpha"))._replace(skill_files={"alpha": ALPHA})
    failed.calls.result("1", 4, is_error=True)

    assert collect(failed).unknown == (Unknown("skills", "Alpha", CALL_FAILED),)
    failed.calls.call("2", "Skill", 9, "alpha")
    assert collect(failed).entries["skills"].tokens == 3
    assert collect(failed).unknown == ()


def test_a_skill_call_without_a_name_and_an_empty_skill_file_are_unknown() -> None:
    empty = account(("1", "Skill", 9, None), ("2", "Skill", 9, "alpha"))
    empty = empty._replace(skill_files={"alpha": ALPHA._replace(bytes=0)})

    assert collect(empty).unknown == (
        Unknown("skills", "1", NO_NAME),
        Unknown("skills", "alpha", EMPTY_FILE),
    )


def test_two_names_of_one_file_count_once() -> None:
    twice = account(("1", "Skill", 9, "alpha"), ("2", "Skill", 9, "plugin:alpha"))
    twice = twice._replace(skill_files={"alpha": ALPHA, "plugin:alpha": ALPHA})

    assert collect(twice).entries["skills"] == Entry(
        3, "workspace/alpha", "alpha", (Item("alpha", 3, None, "workspace/alpha"),)
    )


def test_the_place_of_a_selected_skill_stands_for_its_calls() -> None:
    called = account(("1", "Skill", 9, "/Alpha"), ("2", "Skill", 9, "beta"))
    chosen = called._replace(
        selected=(SelectedSkill("alpha", "there"), SelectedSkill("gamma")),
        sub_agents={"a1": account(("3", "Skill", 9, "delta")).calls},
    )

    assert wanted_skills(chosen) == (
        SelectedSkill("Alpha", "there"),
        SelectedSkill("beta"),
        SelectedSkill("delta"),
        SelectedSkill("gamma"),
    )


def test_an_orphan_result_and_images_are_named() -> None:
    odd = account(("1", "Read", 4, None))
    odd.calls.result("1", 0, images=2)
    odd.calls.result("lost", 100)

    assert collect(odd).unknown == (
        Unknown("tools", "lost", ORPHAN_RESULT),
        Unknown("tools", "Read", IMAGES),
    )


def test_an_ambiguous_server_is_marked_and_a_named_one_is_not() -> None:
    calls = account(("1", "mcp__a__b__c", 4, None), ("2", "mcp__a__d", 4, None))

    mcp = collect(calls).entries["mcp"]
    assert mcp.items == (Item("a", 2, 2, None, "ambiguous server name: mcp__a__b__c"),)
    mcp = collect(calls._replace(available={"mcp_servers": ["a__b", "a"]})).entries["mcp"]
    assert mcp.items == (Item("a", 1, 1), Item("a__b", 1, 1))


def test_names_are_sorted_by_utf16_code_unit() -> None:
    calls = account(("1", "\uffee", 1, None), ("2", "😀", 1, None), ("3", "Bash", 1, None))

    assert collect(calls).entries["tools"].detail == "Bash × 1, 😀 × 1, \uffee × 1"


def test_a_sub_agents_calls_stay_out_of_its_parents_entries() -> None:
    child = account(("1", "Bash", 40, None), ("2", "Skill", 9, "alpha")).calls
    parent = account(("3", "Task", 4, None))._replace(
        sub_agents={"a1": child, "silent": ToolInvocationAccumulator()},
        skill_files={"alpha": ALPHA},
    )
    snapshot = collect(parent)

    assert {kind: entry.tokens for kind, entry in snapshot.entries.items()} == {"tools": 1}
    assert [agent.agent_id for agent in snapshot.subagents] == ["a1"]
    tokens = {kind: entry.tokens for kind, entry in snapshot.subagents[0].entries.items()}
    assert tokens == {"tools": 10, "skills": 3}


def test_named_instruction_files_replace_the_measured_one() -> None:
    measured = account()._replace(rule_files=(RuleFile("workspace/CLAUDE.md", "CLAUDE.md", 8),))
    named = measured._replace(
        supplied=(
            Supplied("rules", NOTES, 1),
            Supplied("rules", "b.md", 2, "B"),
            Supplied("rules", NOTES, 5),
        )
    )

    assert collect(measured).entries["rules"].tokens == 2
    rules_entry = collect(named).entries["rules"]
    assert rules_entry[:3] == (7, f"{NOTES} + b.md", "AGENTS.md, B")


def test_an_instruction_file_that_cannot_be_read_is_unknown() -> None:
    unreadable = account()._replace(rule_files=(RuleFile("workspace/CLAUDE.md", "C", None),))

    assert collect(unreadable).unknown == (Unknown("rules", "workspace/CLAUDE.md", NOT_MEASURED),)


def test_a_kind_that_the_host_supplies_is_supported() -> None:
    fed = account(("1", "Bash", 4, None))._replace(
        supplied=(
            Supplied("memory", "bridge", 3, "two notes"),
            Supplied("memory", "bridge", 4),
            Supplied("tools", "schemas", 10),
        ),
        attachments=(Attached("a.txt", "/in/a.txt", 5), Attached("b.txt", "/in/b.txt", 6)),
        supplied_kinds=frozenset({"memory", "system_prompt"}),
    )
    snapshot = collect(fed)

    assert snapshot.unsupported == ()
    assert {kind: entry[:3] for kind, entry in snapshot.entries.items()} == {
        "tools": (11, "tool_use/tool/Bash + schemas", "Bash × 1"),
        "memory": (7, "bridge", "two notes"),
        "files_attachments": (11, "/in/a.txt + /in/b.txt", "a.txt, b.txt"),
    }


def test_an_entry_without_tokens_is_left_out() -> None:
    nothing = account()._replace(attachments=(Attached("a.txt", "a.txt", 0),))
    snapshot = collect(nothing)

    assert snapshot.entries == {}
    assert "files_attachments" not in snapshot.unsupported


def test_reconciliation_says_when_the_kinds_come_to_more_than_was_sent() -> None:
    known = account(("1", "Bash", 400, None))

    assert collect(known).reconciliation is None
    more = collect(known._replace(last_input_tokens=130)).reconciliation
    assert more == Reconciliation(130, 100, 30, overcount=False)
    less = collect(known._replace(last_input_tokens=70)).reconciliation
    assert less == Reconciliation(70, 100, -30, overcount=True)


def test_a_snapshot_read_back_is_the_same() -> None:
    full = account(("1", "mcp__a__b__c", 4, None))._replace(
        provider_backend="codex_account",
        sub_agents={"a1": account(("2", "Bash", 4, None), ("3", "Skill", 4, None)).calls},
        supplied=(Supplied("memory", "bridge", 3),),
        available={"mcp_servers": ["x"]},
        window=Window(200_000, "usage"),
        last_input_tokens=10,
    )
    for snapshot in (collect(full), collect(account())):
        assert from_json(json.loads(json.dumps(to_json(snapshot)))) == snapshot


def test_the_instruction_file_is_measured_whole(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_bytes("规则\r\n".encode())

    assert rules.measure(str(tmp_path)) == (RuleFile("workspace/CLAUDE.md", "CLAUDE.md", 8),)


def test_a_missing_or_empty_instruction_file_gives_none(tmp_path: Path) -> None:
    assert rules.measure(str(tmp_path)) == ()
    (tmp_path / "CLAUDE.md").touch()
    assert rules.measure(str(tmp_path)) == ()
    assert rules.measure(str(tmp_path / "CLAUDE.md")) == ()
    (tmp_path / "folder" / "CLAUDE.md").mkdir(parents=True)
    assert rules.measure(str(tmp_path / "folder")) == ()


def test_an_instruction_file_in_a_loop_of_links_cannot_be_measured(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").symlink_to("CLAUDE.md")

    assert rules.measure(str(tmp_path)) == (RuleFile("workspace/CLAUDE.md", "CLAUDE.md", None),)
