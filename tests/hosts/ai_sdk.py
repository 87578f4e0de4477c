"""Runs one loop of the real AI SDK under node; the model is the fake one."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tests.hosts import programs, scenarios
from tests.hosts.claude import HERE, SKILL, Hear, heard, starting, write_files
from tests.hosts.fake_model import Asked, Scenario, serving

Json: TypeAlias = Any

RUN_SECONDS_MAX = 60
WORKSPACE = {
    "notes.txt": "first line\nsecond line\n",
    ".claude/skills/release-notes/SKILL.md": SKILL,
}


class Run(NamedTuple):
    """What a run left behind."""

    project: Path
    said: list[
        Json
    ]  # {kind, value}: kind is part (of fullStream), onStepFinish, onFinish, onError.
    asked: list[Asked]  # What the model server received.
    errors: str  # What node wrote to standard error.

    @property
    def parts(self) -> list[Json]:
        return [row["value"] for row in self.said if row["kind"] == "part"]


def run(
    folder: Path,
    prompt: str = "Look around.",
    scenario: Scenario | None = None,
    hear: Hear | None = None,
) -> Run:
    """Run one streamText loop in an empty folder; `hear` is given each row as it is said."""
    project = folder / "project"
    write_files(project, WORKSPACE)
    # Node looks for packages beside the script.
    script = shutil.copy(HERE / "ai_sdk_turn.mjs", folder)
    (folder / "node_modules").symlink_to(programs.AI_SDK_MODULES)
    with serving(scenario or scenarios.ai_sdk()) as model:
        echo = json.dumps([sys.executable, str(HERE / "echo_mcp.py")])
        argv = ["node", str(script), model.url, prompt, echo]
        variables = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        errors = folder / "errors.txt"
        with starting(argv, project, variables, errors, RUN_SECONDS_MAX) as process:
            assert process.stdout is not None
            said = heard(process.stdout, hear)
        assert process.returncode == 0, errors.read_text(encoding="utf-8")
        return Run(project, said, model.asked, errors.read_text(encoding="utf-8"))
