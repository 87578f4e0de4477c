"""The ways in which a skill gets into the context of Codex."""

from typing import Any

import pytest

from core.events import Prompt, SelectedSkill, Skill, SkillListing, ToolCall
from tests.core.runtimes.codex_given import (
    CWD,
    TURN,
    answered,
    called,
    event,
    hook,
    meta,
    of,
    row,
    said,
    shell_output,
    shown,
    started,
    told,
    used_tool,
)

BODY = "---\nname: till\ndescription: Count the till.\n---\n# Till\nCount it.\n"
PATH = f"{CWD}/.codex/skills/till/SKILL.md"
INJECTED = f"<skill>\n<name>till</name>\n<path>{PATH}</path>\n{BODY}\n</skill>"
READ = Skill("till", "loaded", PATH, is_result=True)


def read_by(arguments: Any, output: Any = None, name: str = "exec_command") -> list[Skill]:
    shown_output = shell_output(BODY) if output is None else output
    steps = told(meta(), started(), called("c1", name, arguments), answered("c1", shown_output))
    assert len(of(ToolCall, steps)) == 1
    return of(Skill, steps)


def test_u24_a_skill_that_codex_put_in_is_loaded_with_its_size() -> None:
    steps = told(meta(), started(), said("user", "$till now"), said("user", INJECTED))

    assert of(Skill, steps) == [Skill("till", "loaded", PATH, len(BODY))]


@pytest.mark.parametrize(
    "arguments",
    [
        {"cmd": f"cat {PATH}"},
        {"cmd": "cat .codex/skills/till/SKILL.md"},
        {"cmd": "cat SKILL.md", "workdir": f"{CWD}/.codex/skills/till"},
        {"cmd": f"sed -n '1,200p' {PATH}"},
        {"cmd": f"sed -n '1,$p' {PATH}"},
        {"cmd": f"head -n 50 {PATH}"},
        {"cmd": f"head -50 {PATH}"},
        {"cmd": f"pwd && cat '{PATH}'"},
        {"command": ["bash", "-lc", f"cat {PATH}"]},
        {"command": ["cat", PATH]},
    ],
)
def test_u24_a_shell_read_of_the_whole_file_is_a_load(arguments: Any) -> None:
    assert read_by(arguments) == [READ]


@pytest.mark.parametrize(
    "output",
    [
        BODY,
        f'{{"output":"{BODY}","metadata":{{"exit_code":0}}}}'.replace("\n", "\\n"),
        [{"type": "input_text", "text": BODY}],
        "".join(f"     {number}\t{line}\n" for number, line in enumerate(BODY.splitlines(), 1)),
    ],
)
def test_u24_a_shell_read_is_seen_in_each_form_of_output(output: Any) -> None:
    assert read_by({"cmd": f"cat {PATH}"}, output) == [READ]


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        ({"cmd": f"cat {PATH}"}, shell_output("cat: no such file\n", code=1)),
        ({"cmd": f"cat {PATH}"}, "cat: no such file\n"),
        ({"cmd": f"sed -n '20,40p' {PATH}"}, None),
        ({"cmd": f"sed -n '1,3p' {PATH}"}, shell_output("---\nname: till\ndescription: C\n")),
        ({"cmd": f"head -3 {PATH}"}, shell_output("---\nname: till\ndescription: C\n")),
        ({"cmd": f"cat {PATH} | grep name"}, None),
        ({"cmd": f"cat > {PATH}"}, None),
        ({"cmd": f"rm {PATH}"}, None),
        ({"cmd": f"cat '{PATH}"}, None),
        ({"cmd": ["cat", 5]}, None),
        ("SKILL.md", None),
    ],
)
def test_what_is_no_whole_read_is_no_load(arguments: Any, output: Any) -> None:
    assert read_by(arguments, output) == []


def test_a_read_that_was_cut_says_so() -> None:
    cut = shell_output(BODY + "…12 tokens truncated…\n")

    assert read_by({"cmd": f"cat {PATH}"}, cut) == [READ._replace(note="truncated")]


def test_u24_a_read_is_a_load_behind_every_door() -> None:
    command = {
        "type": "commandExecution",
        "id": "c1",
        "command": f"/bin/bash -lc 'cat {PATH}'",
        "aggregatedOutput": BODY,
        "exitCode": 0,
        "status": "completed",
    }
    server = told(shown("started", command), shown("completed", command))
    given = {"command": f"cat {PATH}"}
    hooks = told(
        hook("UserPromptSubmit", prompt="Go."),
        used_tool("Pre", "c1", "Bash", given),
        used_tool("Post", "c1", "Bash", given, tool_response=BODY),
    )
    inner = command | {"type": "CommandExecution", "id": "exec-1", "command": ["cat", PATH]}
    code_mode = told(
        meta(),
        started(),
        called("c1", "exec", "text(1)"),
        event("item_completed", turn_id=TURN, item=inner),
    )

    assert [of(Skill, steps) for steps in (server, hooks, code_mode)] == [[READ]] * 3


def test_a_compaction_says_which_skills_it_kept() -> None:
    other = INJECTED.replace("till", "safe")
    history = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": other}]}
    ]
    steps = told(
        meta(),
        started(),
        said("user", INJECTED),
        said("user", other),
        row("compacted", {"message": "So far.", "replacement_history": history}),
    )

    kept = len(BODY.replace("till", "safe"))
    assert of(Skill, steps)[2:] == [
        Skill("till", "dropped", PATH),
        Skill("safe", "reinjected", PATH.replace("till", "safe"), kept),
    ]


def test_a_list_of_skills_loads_none() -> None:
    listing = "## Skills\n### Available skills\n- till: Count. (file: /x/till/SKILL.md)\n"
    steps = told(meta(), said("developer", listing))

    assert of(SkillListing, steps) == [SkillListing(("till",), is_initial=True)]
    assert not of(Skill, steps)


def test_a_skill_picked_in_the_client_is_selected() -> None:
    content = [
        {"type": "text", "text": "Count."},
        {"type": "skill", "name": "till", "path": PATH},
        {"type": "skill", "name": None},
    ]
    steps = told(shown("started", {"type": "userMessage", "id": "u1", "content": content}))

    (prompt,) = of(Prompt, steps)
    assert prompt.selected_skills == (SelectedSkill("till", PATH),)
