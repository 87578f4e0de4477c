"""Which instruction files Codex loads in a workspace, and how much of each."""

from pathlib import Path

import pytest

from core.accounting.rules import PROJECT_BYTES_MAX, RuleFile, agents_chain

NAME, OVERRIDE = "AGENTS.md", "AGENTS.override.md"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    return tmp_path / "repo" / "pkg" / "app"


def write(folder: Path, size: int, name: str = NAME) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("x" * size)
    return str(folder / name)


def chain(workspace: Path) -> list[tuple[str, int | None]]:
    home = workspace.parents[2] / "home"
    return [(file.source, file.bytes) for file in agents_chain(str(workspace), str(home))]


def test_the_chain_goes_from_codex_home_over_the_git_root_down_to_the_workspace(
    tmp_path: Path, workspace: Path
) -> None:
    write(tmp_path, 1)  # Above the git root.
    write(workspace / "below", 1)
    everywhere = write(tmp_path / "home" / ".codex", 2)
    root = write(tmp_path / "repo", 3)
    write(workspace, 5)

    assert chain(workspace) == [(everywhere, 2), (root, 3), ("workspace/AGENTS.md", 5)]


def test_without_a_git_root_only_the_workspace_itself_is_looked_at(tmp_path: Path) -> None:
    write(tmp_path, 1)
    write(tmp_path / "work", 2)

    found = agents_chain(str(tmp_path / "work") + "/", str(tmp_path / "home"))

    assert found == (RuleFile("workspace/AGENTS.md", NAME, 2),)


def test_an_override_stands_in_place_of_its_folders_file(workspace: Path) -> None:
    write(workspace, 5)
    write(workspace, 7, OVERRIDE)

    assert chain(workspace) == [("workspace/AGENTS.override.md", 7)]


def test_a_blank_override_hides_a_projects_file_but_not_that_of_codex_home(
    tmp_path: Path, workspace: Path
) -> None:
    """As Codex 0.171 does."""
    for folder in (workspace, tmp_path / "codex"):
        write(folder, 5)
        (folder / OVERRIDE).write_text(" \n")

    found = agents_chain(str(workspace), "/nowhere", str(tmp_path / "codex"))

    assert found == (RuleFile(str(tmp_path / "codex" / NAME), NAME, 5),)


def test_the_files_of_a_project_share_what_codex_takes_and_that_of_its_home_does_not(
    tmp_path: Path, workspace: Path
) -> None:
    everywhere = write(tmp_path / "home" / ".codex", 50_000)
    root = write(tmp_path / "repo", PROJECT_BYTES_MAX - 10)
    package = write(tmp_path / "repo" / "pkg", 5000)
    write(workspace, 5)

    assert chain(workspace) == [
        (everywhere, 50_000),
        (root, PROJECT_BYTES_MAX - 10),
        (package, 10),
    ]


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_nothing_but_blanks_is_no_entry(workspace: Path, text: str) -> None:
    write(workspace, 1)
    (workspace / NAME).write_text(text)

    assert chain(workspace) == []


def test_a_file_that_cannot_be_measured_is_told_without_a_size(workspace: Path) -> None:
    workspace.mkdir(parents=True)
    (workspace / NAME).symlink_to(NAME)  # A link to itself.

    assert chain(workspace) == [("workspace/AGENTS.md", None)]


@pytest.mark.parametrize("workspace_name", ["", "relative", "bad\0path", "/nowhere/at/all"])
def test_a_workspace_that_is_none_has_no_chain(workspace_name: str) -> None:
    assert agents_chain(workspace_name, "/nowhere") == ()
