"""Runs one loop of the real AI SDK under node; the model is the fake one."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tests.hosts import programs, scenarios
from tests.hosts.claude import HERE, write_files
from tests.hosts.fake_model import Asked, Scenario, serving

Json: TypeAlias = Any

RUN_SECONDS_MAX = 60
WORKSPACE = {"notes.txt": "first line\nsecond line\n"}


class Run(NamedTuple):
    """What a run left behind."""

    project: Path
    said: list[
        Json
    ]  # {kind, value}: kind is part (of fullStream), onStepFinish, onFinish, onError.
    asked: list[Asked]  # What the model server received.

    @property
    def parts(self) -> list[Json]:
        return [row["value"] for row in self.said if row["kind"] == "part"]


def run(folder: Path, prompt: str = "Look around.", scenario: Scenario | None = None) -> Run:
    """Run one streamText loop in an empty folder."""
    project = folder / "project"
    write_files(project, WORKSPACE)
    # Node looks for packages beside the script.
    script = shutil.copy(HERE / "ai_sdk_turn.mjs", folder)
    (folder / "node_modules").symlink_to(programs.AI_SDK_MODULES)
    with serving(scenario or scenarios.ai_sdk()) as model:
        done = subprocess.run(
            ["node", script, model.url, prompt],
            cwd=project,
            env={"PATH": os.environ["PATH"], "HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            timeout=RUN_SECONDS_MAX,
            check=True,
        )
        said = [json.loads(line) for line in done.stdout.splitlines()]
        return Run(project, said, model.asked)
