"""Records the demo: the real Claude Code against a scripted model, packed without machine paths.

    python -m tests.hosts.record_demo --claude PROGRAM --to FOLDER

FOLDER gets session.jsonl (the transcript) and workspace/ (how the project looked before it).
Nothing else is written but a temporary folder, which is also HOME; the program reaches the loopback
only.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from functools import reduce
from pathlib import Path
from typing import Any

from tests.hosts import claude
from tests.hosts.fake_model import Scenario, call, say, serving, text

TOOLS = "Bash,Read,Edit,Write,Skill,mcp__echo__echo"
PROJECT = "/project"  # What the recording calls the project folder.

PROMPTS = (
    "Write the release notes for 1.3 from notes.txt into RELEASE.md.",
    "Good. Now add the entry for 1.3 to CHANGELOG.md.",
)

WORKSPACE = {
    "CLAUDE.md": "# Project rules\n\nKeep it small. One sentence a change.\n",
    "notes.txt": "parser: accepts empty sections\ncli: --quiet says nothing but errors\n",
    ".claude/skills/release-notes/SKILL.md": (
        "---\nname: release-notes\ndescription: Write release notes from a list of changes.\n---\n"
        "# Release notes\n\n## Collect\nRead every change; ask about none that is clear.\n\n"
        "## Write\nPut the notes for $ARGUMENTS under a heading `## Changes`, one line a change.\n"
    ),
}
REASON = "RELEASE.md is not there yet, and the release-notes skill was not opened. Do both first."
POLICY = {"Stop": [{"json": {"decision": "block", "reason": REASON}}]}

RELEASE = (
    "# 1.3\n\n## Changes\n\n- The parser accepts empty sections.\n- `--quiet` prints errors only.\n"
)
CHANGELOG = "# Changelog\n\n## 1.3\n\nEmpty sections; `--quiet`.\n"

# Bulky or volatile rows that tell nothing about turns, calls and stops.
LEFT_OUT = ("api-request", "api-request-shape", "api-request-blob", "cost-state", "atis-latch")
LEFT_OUT_ATTACHMENTS = (
    "prompt_snapshot",
    "skill_listing",
    "deferred_tools_delta",
    "agent_listing_delta",
    "environment",
    "remote_session_change",
)


def scenario(project: Path) -> Scenario:
    """What the model says: done too early, then the work, then the second prompt."""
    return {
        "main": (
            say(
                text("I will look around first."),
                call("Read", file_path=f"{project}/notes.txt"),
                call("Bash", command="ls -a", description="List the project"),
                call("mcp__echo__echo", text="release 1.3"),
            ),
            say(text("The release notes for 1.3 are done.")),
            say(
                text("They are not; I open the skill."),
                call("Skill", skill="release-notes", args="1.3"),
            ),
            say(call("Write", file_path=f"{project}/RELEASE.md", content=RELEASE)),
            say(text("RELEASE.md now holds the notes for 1.3.")),
            say(call("Write", file_path=f"{project}/CHANGELOG.md", content=CHANGELOG)),
            say(text("CHANGELOG.md has its entry.")),
        )
    }


def main() -> int:
    """Record into the folder that --to names; 1 when the program did not do all of it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--claude", required=True, help="the program's path")
    parser.add_argument("--to", required=True, help="folder for the recording")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder).resolve()
        project, home = base / "project", base / "home"
        home.mkdir()
        claude.write_files(project, WORKSPACE)
        hook = claude.recorder(
            base / "hooks.jsonl", claude.write_json(base / "policy.json", POLICY)
        )
        with serving(scenario(project)) as model:
            claude.speak(
                Path(args.claude).absolute(),
                PROMPTS,
                project,
                claude.environment(home, model.url),
                (
                    *("--settings", settings(base, hook)),
                    *("--mcp-config", mcp_servers(base), "--strict-mcp-config"),
                    *("--allowedTools", TOOLS),
                ),
            )
            if unsaid := model.unsaid("main"):
                sys.stderr.write(f"{unsaid} replies were not asked for\n")
                return 1
        pack(claude.transcripts(home)[0], base, Path(args.to))
    return 0


def settings(base: Path, hook: str) -> str:
    """Write the settings with their one Stop hook; give their path."""
    return str(claude.write_json(base / "settings.json", claude.settings(hook, ("Stop",))))


def mcp_servers(base: Path) -> str:
    """Write the configuration of the MCP server; give its path."""
    return str(claude.write_json(base / "mcp.json", claude.mcp_servers()))


def pack(source: Path, base: Path, target: Path) -> None:
    """Copy the rows that tell something, machine paths replaced, and the project's first state."""
    target.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target / "workspace", ignore_errors=True)
    claude.write_files(target / "workspace", WORKSPACE)
    swaps = (
        (f"{base}/project", PROJECT),
        (str(base), "/recording"),
        (os.path.dirname(os.path.abspath(__file__)), "/recording"),
        (sys.executable, "python3"),
    )
    with (
        source.open(encoding="utf-8") as given,
        (target / "session.jsonl").open("w", encoding="utf-8") as packed,
    ):
        for line in given:
            if tells_something(json.loads(line)):
                packed.write(reduce(lambda text, swap: text.replace(*swap), swaps, line))


def tells_something(row: Any) -> bool:
    """Say whether a row belongs into the packed recording."""
    attachment = row.get("attachment") or {}
    return row["type"] not in LEFT_OUT and attachment.get("type") not in LEFT_OUT_ATTACHMENTS


if __name__ == "__main__":
    sys.exit(main())
