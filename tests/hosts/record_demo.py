"""Records the demo: the real Claude Code against a scripted model, packed without machine paths.

    python -m tests.hosts.record_demo --claude PROGRAM --to FOLDER

FOLDER gets session.jsonl (the transcript) and workspace/ (how the project looked before it).
Nothing else is written but a temporary folder, which is also HOME; the program reaches the loopback
only.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from functools import reduce
from typing import Any

from tests.hosts.fake_model import Model, Reply

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = "Bash,Read,Edit,Write,Skill,mcp__echo__echo"
PROJECT = "/project"  # What the recording calls the project folder.
TURN_SECONDS_MAX = 60

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


def text(value: str) -> dict[str, Any]:
    """Give a text block of a reply."""
    return {"type": "text", "text": value}


def call(name: str, **given: str) -> dict[str, Any]:
    """Give a tool call of a reply."""
    return {"type": "tool_use", "name": name, "input": given}


def replies(project: str) -> list[Reply]:
    """What the model says: done too early, then the work, then the second prompt."""
    return [
        [
            text("I will look around first."),
            call("Read", file_path=f"{project}/notes.txt"),
            call("Bash", command="ls -a", description="List the project"),
            call("mcp__echo__echo", text="release 1.3"),
        ],
        [text("The release notes for 1.3 are done.")],
        [text("They are not; I open the skill."), call("Skill", skill="release-notes", args="1.3")],
        [call("Write", file_path=f"{project}/RELEASE.md", content=RELEASE)],
        [text("RELEASE.md now holds the notes for 1.3.")],
        [call("Write", file_path=f"{project}/CHANGELOG.md", content=CHANGELOG)],
        [text("CHANGELOG.md has its entry.")],
    ]


def main() -> int:
    """Record into the folder that --to names; 1 when the program did not do all of it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--claude", required=True, help="the program's path")
    parser.add_argument("--to", required=True, help="folder for the recording")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = os.path.realpath(folder)
        project, home = os.path.join(base, "project"), os.path.join(base, "home")
        os.mkdir(home)
        write_workspace(project)
        model = Model(replies(project))
        threading.Thread(target=model.serve_forever, daemon=True).start()
        run(args.claude, base, project, model.url)
        model.shutdown()
        if model.replies:
            sys.stderr.write(f"{len(model.replies)} replies were not asked for\n")
            return 1
        pack(transcript(home), base, args.to)
    return 0


def write_workspace(folder: str) -> None:
    """Write the project as it is before the session."""
    for name, content in WORKSPACE.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)


def run(program: str, base: str, project: str, url: str) -> None:
    """Give the program one prompt after the other, each when the one before is answered."""
    process = subprocess.Popen(
        [
            *(os.path.abspath(program), "-p", "--verbose", "--model", "claude-sonnet-4-5"),
            *("--input-format", "stream-json", "--output-format", "stream-json"),
            *("--settings", write_json(f"{base}/settings.json", settings(base))),
            *("--mcp-config", write_json(f"{base}/mcp.json", mcp_servers()), "--strict-mcp-config"),
            *("--allowedTools", TOOLS),
        ],
        cwd=project,
        env=environment(base, url),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    limit = threading.Timer(TURN_SECONDS_MAX * len(PROMPTS), process.kill)
    limit.start()
    assert process.stdin is not None
    assert process.stdout is not None
    for prompt in PROMPTS:
        message = {"role": "user", "content": prompt}
        process.stdin.write(json.dumps({"type": "user", "message": message}) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            if json.loads(line).get("type") == "result":
                break
    process.stdin.close()
    process.stdout.read()
    process.wait()
    limit.cancel()


def settings(base: str) -> Any:
    """One Stop hook: the policy that blocks once."""
    command = shlex.join([sys.executable, f"{HERE}/stop_policy.py", f"{base}/blocked"])
    return {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": command, "timeout": 20}]}]}
    }


def mcp_servers() -> Any:
    """One MCP server, echo."""
    return {"mcpServers": {"echo": {"command": sys.executable, "args": [f"{HERE}/echo_mcp.py"]}}}


def environment(base: str, url: str) -> dict[str, str]:
    """Nothing of ours, and no way to anywhere but the model on the loopback."""
    return {
        "HOME": f"{base}/home",
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "not-a-key",
        "HTTPS_PROXY": url,
        "NO_PROXY": "127.0.0.1,localhost",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
    }


def write_json(path: str, value: Any) -> str:
    """Write a JSON file and give its path."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)
    return path


def transcript(home: str) -> str:
    """Find the one transcript that the program wrote."""
    found = [
        os.path.join(folder, name)
        for folder, _, names in os.walk(os.path.join(home, ".claude", "projects"))
        for name in names
        if name.endswith(".jsonl")
    ]
    if len(found) != 1:
        raise SystemExit(f"{len(found)} transcripts instead of one")
    return found[0]


def pack(source: str, base: str, target: str) -> None:
    """Copy the rows that tell something, machine paths replaced, and the project's first state."""
    os.makedirs(target, exist_ok=True)
    shutil.rmtree(os.path.join(target, "workspace"), ignore_errors=True)
    write_workspace(os.path.join(target, "workspace"))
    swaps = (
        (f"{base}/project", PROJECT),
        (base, "/recording"),
        (HERE, "/recording"),
        (sys.executable, "python3"),
    )
    with (
        open(source, encoding="utf-8") as given,
        open(os.path.join(target, "session.jsonl"), "w", encoding="utf-8") as packed,
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
