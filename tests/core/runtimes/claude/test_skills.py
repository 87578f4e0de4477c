"""Skills: loaded, loaded again after a compaction, dropped by one."""

from core.events import Prompt, SelectedSkill, Skill, Spoken
from core.recordings.contract import SkillBody
from tests.core.runtimes.claude.given import (
    Row,
    assistant,
    attachment,
    boundary,
    call,
    events,
    read,
    result,
    text,
    user,
)

PLACE = "/repo/.claude/skills/notes"
BODY = f"Base directory for this skill: {PLACE}\n\n# Notes"
OTHER_BODY = "Base directory for this skill: /house/dev/.claude/skills/draw\n\n# Draw"


def body_row(body: str = BODY, **more: object) -> Row:
    return user([text(body)], isMeta=True, **more)


def invoked(*skills: Row) -> Row:
    return attachment("invoked_skills", skills=list(skills))


def states(*rows: Row) -> list[tuple[str, str]]:
    return [(one.name, one.state) for one in events(read(*rows), Skill)]


def test_a_called_skill_is_loaded_by_the_row_of_its_body_under_the_name_of_the_call() -> None:
    steps = read(
        assistant(call("t-1", "Skill", command="tools:notes")),
        user([result("t-1", "Launching skill: tools:notes")]),
        body_row(sourceToolUseID="t-1"),
    )

    file = f"{PLACE}/SKILL.md"
    assert events(steps, Skill) == [Skill("tools:notes", "loaded", file, len(BODY))]
    assert events(steps, SkillBody) == [SkillBody(PLACE, "# Notes")]
    assert events(steps, Spoken) == []


def test_a_skill_whose_call_failed_is_not_loaded() -> None:
    rows = [
        assistant(call("t-1", "Skill", skill="notes")),
        user([result("t-1", "Shell command failed", is_error=True)]),
        assistant(text("It did not work."), message_id="m-2", attributionSkill="notes"),
    ]

    assert states(*rows) == []


def test_a_typed_skill_is_loaded_by_the_row_after_it() -> None:
    steps = read(user("<command-name>/notes</command-name>", uuid="u-1"), body_row())

    (prompt,) = events(steps, Prompt)
    assert prompt.selected_skills == (SelectedSkill("notes", f"{PLACE}/SKILL.md"),)
    assert [(one.name, one.state) for one in events(steps, Skill)] == [("notes", "loaded")]


def test_a_typed_command_is_loaded_by_the_text_that_follows_it() -> None:
    command = user("<command-name>/dev:beads</command-name>", uuid="u-1")
    steps = read(command, user([text("Make beads.")], isMeta=True, parentUuid="u-1"))

    assert events(steps, Skill) == [Skill("dev:beads", "loaded", None, 11)]
    assert [said.by for said in events(steps, Spoken)] == ["user"]


def test_the_text_of_a_prompt_alone_loads_nothing() -> None:
    rows = [
        user("/notes please, and read <command-message>notes</command-message>"),
        user("<command-name>/notes</command-name>", uuid="u-1"),
        user([text("Something else.")], isMeta=True, parentUuid="u-0"),
        assistant(text("<command-name>/draw</command-name>")),
    ]

    assert states(*rows) == []


def test_after_a_compaction_a_skill_comes_again_or_is_dropped() -> None:
    rows = [
        body_row(uuid="b-1"),
        body_row(OTHER_BODY, uuid="b-2"),
        assistant(text("a")),
        boundary(trigger="auto"),
        invoked({"name": "draw", "path": "userSettings:draw", "content": OTHER_BODY}),
        assistant(text("b"), message_id="m-2"),
        assistant(text("c"), message_id="m-3"),
    ]

    assert states(*rows) == [
        ("notes", "loaded"),
        ("draw", "loaded"),
        ("draw", "reinjected"),
        ("notes", "dropped"),
    ]


def test_a_body_in_a_row_that_the_compaction_kept_is_not_dropped() -> None:
    kept = {"uuids": ["b-1"]}
    rows = [
        body_row(uuid="b-1"),
        boundary(trigger="auto", preservedMessages=kept),
        assistant(text("a")),
    ]

    assert states(*rows) == [("notes", "loaded")]


def test_what_came_again_has_its_source_its_length_and_whether_it_was_cut() -> None:
    cut = "# Draw\n[... skill content truncated for compaction; read the file]"
    skills = ({"name": "notes", "content": BODY}, {"name": "draw", "content": cut}, {"name": 3})

    assert events(read(invoked(*skills)), Skill) == [
        Skill("notes", "reinjected", f"{PLACE}/SKILL.md", len(BODY)),
        Skill("draw", "reinjected", None, len(cut), "truncated"),
    ]


def test_a_skill_is_not_called_dropped_before_a_request_lacks_it() -> None:
    assert states(body_row(), boundary(trigger="manual")) == [("notes", "loaded")]
