"""What the pages show is run as it stands, and what they name is there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]


def test_the_host_in_the_readme_runs_and_gets_its_verdict(state_root: Path) -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])

    ran = subprocess.run(
        [sys.executable, "-c", blocks[0]],
        capture_output=True,
        text=True,
        timeout=30,
        cwd=REPOSITORY,
        env={**os.environ, "PATH": path},
    )

    assert ran.stderr == "" or "Traceback" not in ran.stderr
    assert ran.stdout == "allow [('Tools', 7)]\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_that_are_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tests_that_a_page_names_are_there(page: Path) -> None:
    named = re.findall(r"`(tests/[\w/.]+)(?:::(\w+))?`", page.read_text(encoding="utf-8"))

    missing = [
        f"{file}::{test}"
        for file, test in named
        if not (REPOSITORY / file).exists()
        or f"def {test}" not in ((REPOSITORY / file).read_text("utf-8") if test else "def ")
    ]
    assert missing == []
