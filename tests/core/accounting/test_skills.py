"""How skills are spelled, and where their files are found."""

import os
from pathlib import Path
from typing import Any

import pytest

from core.accounting import skills, stamps
from core.accounting.front_matter import BRACKETS_MAX, FRONT_MATTER_BYTES_MAX
from core.accounting.skills import SkillIndex, canonical, skill_name_of_input

NESTED = " " + "- " * 2000 + "\n"  # Deeper than Python's stack.


def write_skill(root: Path, folder: str, text: str = "body", *, encoding: str = "utf-8") -> Path:
    path = root / ".claude" / "skills" / folder / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))
    return path


def named(name: str) -> str:
    return f"---\nname: {name}\ndescription: sample\n---\nbody"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "work" / ".git").mkdir(parents=True)  # Nothing above it counts.
    return tmp_path / "work"


@pytest.fixture
def index(tmp_path: Path, workspace: Path) -> SkillIndex:
    return SkillIndex(str(workspace), str(tmp_path / "home"))


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file counts as long unchanged, so that only its stamp tells of a change."""
    monkeypatch.setattr(stamps, "_SETTLED_NS", -(2**63))


def name_found(index: SkillIndex, name: str) -> str | None:
    found = index.find(name)
    return None if found is None else found.name


@pytest.mark.parametrize("name", ["alpha", " alpha ", "/alpha", "//alpha", " / alpha"])
def test_accounting_trims_a_name_and_takes_its_slashes_off(name: str) -> None:
    assert canonical(name) == "alpha"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"skill": "/a", "args": "b"}, "a"),
        ({"command": "a"}, "a"),
        ({"skill_name": "a"}, "a"),
        ({"name": "a"}, "a"),
        ({"skill": " ", "name": "a"}, "a"),
        ("a", None),
        ({"skill": "a\nb"}, None),
        ({"skill": "a" * 201}, None),
        ({"skill": 7}, None),
        ({}, None),
        (None, None),
        ([], None),
    ],
)
def test_every_spelling_of_a_skill_call_names_its_skill(value: Any, name: str | None) -> None:
    assert skill_name_of_input(value) == name


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (named("alpha"), "utf-8"),
        (named("'alpha'"), "utf-8"),
        (named('"alpha"  # why'), "utf-8"),
        (named("alpha").replace("\n", "\r\n"), "utf-8"),
        (named("'alpha'").replace("\n", "\r\n"), "utf-8"),
        (named("alpha"), "utf-8-sig"),
        ("---\ndescription: >\n  name: other\nname: alpha\n---\n", "utf-8"),
        ("---\nname: 'alpha'\ndescription: use it: always\n---\n", "utf-8"),
        ("---\n{name: alpha}\n---\n", "utf-8"),
        ("---\n{name: alpha, x: [" + "[], " * (BRACKETS_MAX - 2) + "]}\n---\n", "utf-8"),
        ("---\nname: 'alpha'\nx: " + "[" * (BRACKETS_MAX + 1) + "\n---\n", "utf-8"),
        ("---\nname: 'alpha'\nx:\n" + NESTED + "---\n", "utf-8"),
    ],
)
def test_the_name_in_the_front_matter_is_read(
    workspace: Path, index: SkillIndex, text: str, encoding: str
) -> None:
    write_skill(workspace, "folder", text, encoding=encoding)

    assert name_found(index, "ALPHA") == "alpha"


@pytest.mark.parametrize("name", ["1.10", "yes", "2024-13-45"])
def test_a_name_that_yaml_would_turn_into_a_value_stays_as_written(
    workspace: Path, index: SkillIndex, name: str
) -> None:
    write_skill(workspace, "folder", named(name))

    assert name_found(index, name) == name


@pytest.mark.parametrize(
    "text",
    [
        "no front matter",
        "---\nname:\n---\n",
        "---\nname: null\n---\n",
        "---\nname: [a]\n---\n",
        "---\nname: alpha\n",
        "---\n- name\n---\n",
        '---\nname: "a\\nb"\n---\n',
        "---\nname: '" + "a" * 201 + "'\n---\n",
        "---\n{name: alpha, x: [" + "[], " * (BRACKETS_MAX - 1) + "]}\n---\n",
        "---\nnested:\n  name: other\n---\n",
        "---\nx: '" + "y" * FRONT_MATTER_BYTES_MAX + "'\nname: alpha\n---\n",
    ],
)
def test_without_a_name_of_its_own_a_skill_is_called_by_its_folder(
    workspace: Path, index: SkillIndex, text: str
) -> None:
    write_skill(workspace, "Folder", text)

    assert name_found(index, "folder") == "Folder"


def test_a_skill_is_found_by_its_folder_when_no_name_fits(
    workspace: Path, index: SkillIndex
) -> None:
    write_skill(workspace, "alpha", named("beta"))

    assert name_found(index, "alpha") == "beta"
    write_skill(workspace, "other", named("alpha"))
    assert name_found(index, "alpha") == "alpha"


def test_the_workspace_comes_before_home(
    tmp_path: Path, workspace: Path, index: SkillIndex
) -> None:
    at_home = write_skill(tmp_path / "home", "alpha", named("alpha"))
    found = index.find("alpha")
    assert found is not None
    assert found.source == found.path == str(at_home)

    write_skill(workspace, "alpha", named("alpha") + "!")
    found = index.find("alpha")
    assert found is not None
    assert found.source == "workspace/.claude/skills/alpha/SKILL.md"
    assert found.bytes == len(named("alpha")) + 1


@pytest.mark.parametrize(
    "place",
    [
        "{home}/.claude/skills/alpha/SKILL.md",
        "{home}/.claude/skills/alpha",
        "~/.claude/skills/alpha/SKILL.md",
    ],
)
def test_the_selected_place_wins(
    tmp_path: Path, workspace: Path, index: SkillIndex, place: str
) -> None:
    at_home = write_skill(tmp_path / "home", "alpha", named("alpha"))
    write_skill(workspace, "alpha", named("alpha"))

    found = index.find("alpha", place.format(home=tmp_path / "home"))

    assert found is not None
    assert found.path == str(at_home)


@pytest.mark.parametrize("place", ["gone/SKILL.md", "bad\0path", "bad\ud800path", "../../.."])
def test_a_selected_place_without_a_skill_leaves_the_name_to_be_looked_for(
    workspace: Path, index: SkillIndex, place: str
) -> None:
    write_skill(workspace, "alpha", named("alpha"))

    found = index.find("alpha", place)

    assert found is not None
    assert found.source == "workspace/.claude/skills/alpha/SKILL.md"


def test_a_plugins_prefix_is_left_off_when_no_skill_has_it(
    workspace: Path, index: SkillIndex
) -> None:
    write_skill(workspace, "alpha", named("alpha"))
    assert name_found(index, "plugin:alpha") == "alpha"

    write_skill(workspace, "whole", named("'plugin:alpha'"))
    assert name_found(index, "plugin:alpha") == "plugin:alpha"


def test_a_linked_folder_is_followed(tmp_path: Path, workspace: Path, index: SkillIndex) -> None:
    real = write_skill(tmp_path / "elsewhere", "alpha", named("alpha"))
    root = workspace / ".claude" / "skills"
    root.mkdir(parents=True)
    (root / "linked").symlink_to(real.parent, target_is_directory=True)

    found = index.find("alpha")

    assert found is not None
    assert found.source == "workspace/.claude/skills/linked/SKILL.md"


def test_a_folder_in_place_of_the_file_is_no_skill(workspace: Path, index: SkillIndex) -> None:
    (workspace / ".claude" / "skills" / "alpha" / "SKILL.md").mkdir(parents=True)

    assert index.find("alpha") is None


def test_a_change_within_one_tick_of_the_disks_clock_is_seen(
    workspace: Path, index: SkillIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "stamp", lambda _: (0, 0, 0, 0, 0))  # A clock that stands.
    monkeypatch.setattr(skills, "stamp", lambda _: (0, 0, 0, 0, 0))
    for name in ("alpha", "gamma"):
        write_skill(workspace, "folder", named(name))
        assert name_found(index, name) == name
    write_skill(workspace, "new", named("delta"))

    assert name_found(index, "delta") == "delta"


@pytest.mark.usefixtures("settled")
def test_a_change_under_an_old_date_is_seen(workspace: Path, index: SkillIndex) -> None:
    path = write_skill(workspace, "folder", named("alpha"))
    before = path.stat()
    assert name_found(index, "alpha") == "alpha"

    while path.stat().st_ctime_ns == before.st_ctime_ns:
        write_skill(workspace, "folder", named("gamma"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert name_found(index, "gamma") == "gamma"


@pytest.mark.usefixtures("settled")
def test_every_change_on_the_disk_shows_in_a_stamp(workspace: Path, index: SkillIndex) -> None:
    assert index.files() == []
    path = write_skill(workspace, "one", named("one"))
    assert name_found(index, "one") == "one"

    fresh = path.with_name("fresh")
    fresh.write_text(named("uno"))
    fresh.replace(path)
    assert name_found(index, "uno") == "uno"

    path.unlink()
    assert index.find("uno") is None
