"""What the fake model says in the runs of the tests; `project` is the folder the host works in."""

from tests.hosts.fake_model import (
    Reply,
    Scenario,
    Tokens,
    call,
    custom,
    say,
    shell,
    text,
    thinking,
)

CLAIMS = (
    say(text("All tests pass.")),
    say(text("I have not run the tests; I take that back.")),
    say(text("Nothing to add.")),
)
CLAIMS_THEN_WORK = (
    say(text("All tests pass.")),
    say(shell("echo 2 passed")),
    say(text("I ran them: 2 passed.")),
)
REFUSED = (Reply((), error="the test model says no"),)

PATCH = """*** Begin Patch
*** Update File: notes.txt
@@
 first line
-second line
+changed line
*** Add File: out.txt
+made by the test
*** End Patch
"""


def claude(project: str) -> Scenario:
    """For Claude Code: its own tools, a skill, an MCP tool, a sub-agent, a full window."""
    return {
        "tools": (
            say(
                thinking("List the folder first: ж, 😀."),
                text("I will look around."),
                call("Bash", command="ls -a", description="List files"),
                call("Read", file_path=f"{project}/notes.txt"),
                call("Skill", skill="release-notes", args="for 1.2"),
                call("mcp__echo__echo", text="hello ж 😀"),
            ),
            say(
                call(
                    "Edit",
                    file_path=f"{project}/notes.txt",
                    old_string="second line",
                    new_string="changed line",
                ),
                call("Write", file_path=f"{project}/out.txt", content='made "by" the\ttest\n'),
            ),
            say(text("The folder has notes.txt. Done.")),
        ),
        "claims": CLAIMS,
        "claims-then-work": CLAIMS_THEN_WORK,
        "parent": (
            say(
                call(
                    "Agent",
                    description="Count files",
                    subagent_type="general-purpose",
                    run_in_background=False,
                    prompt="[[script:child]] Count the files.",
                )
            ),
            say(text("The helper counted two files.")),
        ),
        "child": (say(shell("ls | wc -l")), say(text("Two files."))),
        "failures": (
            say(
                shell("echo bad >&2; exit 3"),
                call("Read", file_path=f"{project}/missing.txt"),
                call("NoSuchTool", a=1),
            ),
            say(text("Those failed.")),
        ),
        "reads": (
            say(
                call("Read", file_path=f"{project}/dot.png"),
                call("Read", file_path=f"{project}/parts/list.txt"),
            ),
            say(call("ToolSearch", query="select:mcp__echo__echo")),
            say(call("mcp__echo__echo", text="loaded")),
            say(text("One dot, two parts.")),
        ),
        "big": (say(text("That was a lot."), tokens=Tokens(5, 1200, 178_000, 60)),),
        "refused": REFUSED,
    }


def codex() -> Scenario:
    """For Codex: its shell, its patch tool, an MCP tool, a full window."""
    return {
        "tools": (
            say(
                thinking("List the folder first."),
                text("I will look around."),
                shell("ls -a"),
                call("mcp__echo__echo", text="hello"),
                tokens=Tokens(18_000, 0, 0, 310, 64),
            ),
            say(
                custom("apply_patch", PATCH),
                shell("cat .codex/skills/release-notes/SKILL.md; exit 3"),
                tokens=Tokens(2_400, 0, 17_920, 140),
            ),
            say(text("The folder has notes.txt. Done."), tokens=Tokens(900, 0, 20_352, 42)),
        ),
        "claims": CLAIMS,
        "claims-then-work": CLAIMS_THEN_WORK,
        "big": (
            say(shell("ls"), tokens=Tokens(90_000, 0, 0, 60)),
            say(shell("pwd"), tokens=Tokens(5_000, 0, 190_000, 60)),
            say(text("Carried on after the summary."), tokens=Tokens(5_000, 0, 0, 20)),
        ),
        "refused": REFUSED,
        "side": (say(text("A look around was asked for; nothing is left.")),),
    }


def ai_sdk() -> Scenario:
    """For the AI SDK loop: two tools, a failure, a tool that is not there."""
    return {
        "main": (
            say(
                text("Looking."),
                call("Bash", command="ls"),
                call("Read", file_path="notes.txt"),
                tokens=Tokens(12, 1_800, 0, 90),
            ),
            say(
                call("Read", file_path="missing.txt"),
                call("NoSuchTool", a=1),
                tokens=Tokens(6, 240, 1_812, 30),
            ),
            say(text("Done."), tokens=Tokens(4, 90, 2_052, 5)),
        )
    }
