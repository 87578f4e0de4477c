"""What the driver says: within its limits, exact, and clean."""

import shlex
from typing import Any

import pytest

from core.phases import wording as w
from core.phases.plan import Criterion, Limits, Phase, Plan
from core.units import utf16_units

GAP = {
    "criterion_id": "build.1",
    "locator": "out.md",
    "state": "unmet",
    "why": "the file is missing",
    "next_action": "Create out.md.",
}


def plan(task_prompt: str = "Build it.\nWell.", skills: int = 1, criteria: int = 1) -> Plan:
    phase = Phase(
        "build",
        task_prompt,
        required_skills=tuple(f"skill-{number}" for number in range(skills)),
        criteria=tuple(
            Criterion(f"build.{n}", "artifact_exists", {"path": f"out-{n}.md"})
            for n in range(criteria)
        ),
    )
    return Plan("T1", "Make it fast.\nAnd small.", Limits(), (phase._replace(id="survey"), phase))


def test_the_arm_directive_names_both_commands_with_the_session_quoted() -> None:
    said = w.arm_directive("a'b; rm -rf x")

    commands = [line.strip() for line in said.splitlines() if line.startswith("  turnkeeper ")]
    assert [shlex.split(command)[1] for command in commands] == ["arm", "decline"]
    assert all("a'b; rm -rf x" in shlex.split(command) for command in commands)
    assert w.EXAMPLE_PLAN in said


def test_an_injection_says_phase_task_skills_prompt_gaps_and_command() -> None:
    assert w.phase_injection(plan(), 1, [GAP], "s1").splitlines() == [
        "Phase 2 of 2: build",
        "Task: Make it fast.",
        "Skills this phase needs:",
        '- Open the skill "skill-0" with the Skill tool, or read its SKILL.md whole.',
        "Build it.",
        "Well.",
        "Still open:",
        "1. out.md: the file is missing. Create out.md.",
        "Status: turnkeeper status --session s1",
    ]


def test_without_gaps_an_injection_says_when_the_phase_ends() -> None:
    said = w.phase_injection(plan(), 0, [], "s1")

    assert "The phase ends when:\n- out-0.md is a file that is not empty\n" in said


@pytest.mark.parametrize("letter", ["x", "字", "😀"])
def test_an_injection_keeps_to_its_tokens_but_never_cuts_the_prompt_below_1200(
    letter: str,
) -> None:
    said = w.phase_injection(plan(letter * 5000, 100, 100), 0, [GAP] * 100, "s" * 36)

    assert said.count(letter) >= 1200
    assert utf16_units(said) <= 2400 + 1200 * (utf16_units(letter) - 1)
    assert letter * 1200 in w.phase_injection(plan(letter * 1200, 99, 99), 0, [GAP] * 99, "s")


def test_a_block_begins_as_a_check_and_numbers_the_gaps() -> None:
    error = {
        **GAP,
        "state": "error",
        "why": "it cannot be read",
        "next_action": "Make it readable.",
    }

    assert w.block_reason(plan(), 1, [GAP, error], 1, 2, "s 1").splitlines() == [
        "Automated phase check (not the user): phase 2 of 2: build is not finished.",
        "1. out.md: the file is missing. Create out.md.",
        "2. out.md: could not be checked: it cannot be read. Make it readable.",
        "Status: turnkeeper status --session 's 1'",
        "Attempt 1; 2 left before this check gives up.",
    ]


@pytest.mark.parametrize("count", [1, 5, 1000])
@pytest.mark.parametrize("letter", ["x", "😀"])
def test_block_and_continue_keep_to_their_limits_and_keep_the_command(
    count: int, letter: str
) -> None:
    gap: dict[str, Any] = dict.fromkeys(GAP, letter * 900)
    reasons = {
        w.BLOCK_UNITS_MAX: w.block_reason(plan(), 0, [gap] * count, 3, 0, "s1"),
        w.CONTINUE_UNITS_MAX: w.continue_reason(
            ["build"] * count, plan(letter * 9000, count, count), 1, "s1"
        ),
    }

    for limit, reason in reasons.items():
        assert reason.startswith("Automated phase check (not the user): ")
        assert utf16_units(reason) <= limit
        assert "turnkeeper status --session s1" in reason


def test_what_is_left_out_is_counted() -> None:
    said = w.block_reason(plan(), 0, [{**GAP, "why": "y" * 200}] * 9, 1, 2, "s1")

    assert "\nand 4 more\n" in said
    assert "\n5. out.md" in said


def test_continue_says_what_closed_and_what_begins() -> None:
    said = w.continue_reason(["survey"], plan(), 1, "s1")

    assert said.startswith(
        "Automated phase check (not the user): survey is closed."
        " Go on now with phase 2 of 2: build.\n"
    )
    assert "Build it.\nWell." in said
    assert "skill-0" in said


def test_control_and_bidi_characters_are_never_said() -> None:
    hostile = "a\x1b[2J\u202eb\u2066\u200b\ud800\nc"
    phase = Phase(hostile, hostile, required_skills=(hostile,))
    said = [
        w.phase_injection(
            Plan(None, hostile, Limits(), (phase,)), 0, [{**GAP, "why": hostile}], "s"
        ),
        w.block_reason(
            Plan(None, hostile, Limits(), (phase,)), 0, [{**GAP, "why": hostile}], 1, 1, "s"
        ),
        w.give_up_note(Plan(None, hostile, Limits(), (phase,)), 0, "s"),
        *w.give_up_flag(hostile, 3),
        *w.host_cap_flag(hostile),
        w.forbidden_read(hostile, hostile),
        w.open_skill(hostile),
    ]

    assert not set("\x1b\u202e\u2066\u200b\ud800") & set("".join(said))
