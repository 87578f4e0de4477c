"""Where skills are looked for, in which order, and within which limits."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from core.accounting import skill_roots, stamps
from core.accounting.skills import SkillFile, SkillIndex

PLACES = (  # In their order.
    "repo/app/.claude/skills/same/SKILL.md",
    "repo/app/.claude/commands/same.md",
    "repo/app/.agents/skills/same/SKILL.md",
    "repo/.claude/skills/same/SKILL.md",
    "repo/.claude/commands/same.md",
    "repo/.agents/skills/same/SKILL.md",
    "home/.claude/skills/same/SKILL.md",
    "home/.claude/commands/same.md",
    "home/.agents/skills/same/SKILL.md",
    "repo/app/.codex/skills/same/SKILL.md",
    "repo/.codex/skills/same/SKILL.md",
    "home/.codex/skills/same/SKILL.md",
    "home/.codex/skills/.system/same/SKILL.md",
    "repo/app/extra/same/SKILL.md",
    "home/.claude/plugins/cache/market/pack/1.0/skills/same/SKILL.md",
)


def write(path: Path, text: str = "body") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def install(home: Path, plugins: dict[str, Any]) -> None:
    listed = {"version": 2, "plugins": plugins}
    write(home / ".claude" / "plugins" / "installed_plugins.json", json.dumps(listed))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    return tmp_path / "repo" / "app"


@pytest.fixture
def skills(workspace: Path) -> Path:
    return workspace / ".claude" / "skills"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def cache(home: Path) -> Path:
    return home / ".claude" / "plugins" / "cache" / "market"


@pytest.fixture
def index(workspace: Path, home: Path) -> SkillIndex:
    return SkillIndex(str(workspace), str(home), extra_roots=("extra",))


def path_of(index: SkillIndex, name: str) -> str | None:
    found = index.find(name)
    return None if found is None else found.path


def test_of_one_name_the_first_in_the_order_of_the_roots_is_found(
    tmp_path: Path, home: Path, cache: Path, index: SkillIndex
) -> None:
    install(home, {"pack@market": [{"installPath": str(cache / "pack" / "1.0")}]})
    write(tmp_path / ".claude/skills/same/SKILL.md")  # Above the git root.
    assert SkillIndex(str(tmp_path / "repo"), str(home)).find("same") is None
    paths = [write(tmp_path / place) for place in PLACES]

    assert [file.path for file in index.files()] == [str(path) for path in paths]
    for path in paths:
        assert path_of(index, "Same") == str(path)
        path.unlink()
    assert index.find("same") is None


def test_without_a_git_root_claudes_folders_count_up_to_home(tmp_path: Path) -> None:
    """As Claude Code 2.1.332 does; home itself comes in its own place."""
    index = SkillIndex(str(tmp_path / "home/deep/app"), str(tmp_path / "home"))
    write(tmp_path / ".claude/skills/outside/SKILL.md")
    assert SkillIndex(str(tmp_path / "home"), str(tmp_path / "home")).files() == []
    write(tmp_path / "home/deep/.agents/skills/codex-only/SKILL.md")
    above = write(tmp_path / "home/deep/.claude/skills/above/SKILL.md")
    at_home = write(tmp_path / "home/.claude/skills/at-home/SKILL.md")

    assert [file.path for file in index.files()] == [str(above), str(at_home)]


def test_the_homes_of_both_hosts_may_be_elsewhere(tmp_path: Path, workspace: Path) -> None:
    claude, codex = str(tmp_path / "c"), str(tmp_path / "x")
    index = SkillIndex(str(workspace), "/nowhere", claude_home=claude, codex_home=codex)
    paths = [write(tmp_path / "c/skills/one/SKILL.md"), write(tmp_path / "x/skills/two/SKILL.md")]

    assert [file.path for file in index.files()] == [str(path) for path in paths]


def test_a_command_is_called_by_its_path_and_its_bare_stem(
    workspace: Path, index: SkillIndex
) -> None:
    commands = workspace / ".claude" / "commands"
    deep = write(commands / "db" / "new" / "Table.md", "---\nname: other\n---\n")
    inside = write(commands / "kit" / "SKILL.md", "---\nname: tools\n---\n")
    write(commands / "sets" / "box" / "SKILL.md")
    write(commands / "notes.txt")

    assert index.find("db:new:table") == SkillFile(
        "db:new:Table", str(deep), "workspace/.claude/commands/db/new/Table.md", 20
    )
    assert path_of(index, "/table") == str(deep)
    assert path_of(index, "tools") == path_of(index, "kit") == str(inside)
    assert path_of(index, "sets:box") == path_of(index, "box") is not None
    assert index.find("other") is index.find("other:table") is index.find("notes") is None


def test_a_selected_command_is_the_file_itself(workspace: Path, index: SkillIndex) -> None:
    path = write(workspace / ".claude" / "commands" / "a" / "go.md")
    write(path.with_suffix(".txt"))

    found = index.find("go", "workspace/.claude/commands/a/go.md")

    assert found == SkillFile("go", str(path), "workspace/.claude/commands/a/go.md", 4)
    assert index.find("x", "workspace/.claude/commands/a/go.txt") is None


def test_a_skill_may_stand_deeper_and_within_another_but_not_too_deep(
    skills: Path, index: SkillIndex
) -> None:
    nested = write(skills / "group" / "nested" / "SKILL.md")
    write(skills / "outer" / "SKILL.md")
    inner = write(skills / "outer" / "skills" / "inner" / "SKILL.md")
    write(skills / "outer" / "samples" / "no-skill" / "SKILL.md")
    write(skills / "a/b/c/d/e/f/too-deep/SKILL.md")
    write(skills / ".git" / "hidden" / "SKILL.md")

    assert path_of(index, "nested") == str(nested)
    assert path_of(index, "inner") == str(inner)
    assert len(index.files()) == 3


def test_a_file_that_is_linked_twice_is_one_skill_with_two_names(
    tmp_path: Path, skills: Path, home: Path, index: SkillIndex
) -> None:
    write(tmp_path / "real" / "SKILL.md")
    for link in (skills / "one", skills / "two", home / ".claude" / "skills" / "three"):
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(tmp_path / "real", target_is_directory=True)

    assert index.find("one") == index.find("two") == index.find("three") == index.files()[0]
    assert len(index.files()) == 1


def test_links_that_lead_back_end_the_search(skills: Path, index: SkillIndex) -> None:
    write(skills / "group" / "alpha" / "SKILL.md")
    for number in range(20):
        (skills / "group" / f"up-{number}").symlink_to(skills / "group", target_is_directory=True)
    write(skills / "last" / "omega" / "SKILL.md")  # Beyond the limit if links were gone through.

    assert [file.name for file in index.files()] == ["alpha", "omega"]


def test_no_more_than_a_limit_is_looked_at_below_a_root(
    skills: Path, home: Path, index: SkillIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skill_roots, "ENTRIES_MAX", 30)
    for number in range(10):
        for inner in range(10):
            (skills / f"{number}" / f"{inner}").mkdir(parents=True)
    write(skills / "0" / "first" / "SKILL.md")
    write(skills / "9" / "last" / "SKILL.md")
    write(home / ".claude" / "skills" / "other" / "SKILL.md")

    assert [file.name for file in index.files()] == ["first", "other"]


def test_what_is_no_file_or_no_folder_is_passed_over(skills: Path, index: SkillIndex) -> None:
    write(skills / "alpha" / "SKILL.md")
    (skills / "pipe").mkdir()
    os.mkfifo(skills / "pipe" / "SKILL.md")
    os.mkfifo(skills / "fifo")
    (skills / "gone").symlink_to("nowhere")
    write(Path(os.fsdecode(os.fsencode(skills) + b"/\xff")) / "SKILL.md")
    write(skills / "text.md")
    with write(skills / "huge" / "SKILL.md").open("r+b") as file:
        file.truncate(2**40)

    assert [(file.name, file.bytes) for file in index.files()] == [("alpha", 4), ("huge", 2**40)]


def test_a_root_that_is_missing_costs_one_look(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.mkdir()
    index = SkillIndex(str(workspace), str(tmp_path / "home"))
    looks: list[str] = []
    stat = os.stat

    def counted(path: str) -> os.stat_result:
        looks.append(path)
        return stat(path)

    monkeypatch.setattr(os, "stat", counted)
    found = index.find_all([("alpha", None), ("beta", None)])
    monkeypatch.undo()

    assert found == [None, None]
    roots = len(PLACES) - 2  # No extra root, no plugin.
    assert len(looks) == len(set(looks)) == roots + len(["plugins", ".git", "../.git"])


def test_a_plugins_skill_answers_to_its_plugin_before_any_of_the_bare_name(
    workspace: Path, skills: Path, home: Path, cache: Path, index: SkillIndex
) -> None:
    install(
        home,
        {
            "db@market": [{"scope": "user", "installPath": str(cache / "db" / "1.0")}],
            "old@market": {"installPath": str(home / "old")},  # As in version 1 of the list.
            "bad@market": [None, {"installPath": 7}, {}],
        },
    )
    own = write(skills / "query" / "SKILL.md")
    query = write(cache / "db/1.0/skills/query/SKILL.md", "---\nname: Ask\n---\n")
    other = write(home / "old/skills/other/SKILL.md")
    command = write(cache / "db/1.0/commands/sub/run.md")

    assert path_of(index, "db:query") == path_of(index, "DB:ask") == str(query)
    assert path_of(index, "query") == str(own)
    assert path_of(index, "ask") == str(query)
    assert path_of(index, "db:sub:run") == path_of(index, "db:run") == str(command)
    assert path_of(index, "old:other") == str(other)
    assert index.find("db:other") is None  # Another plugin's is not meant.
    assert path_of(index, "old:query") == str(own)


def test_the_copy_of_a_plugin_for_this_project_comes_first(
    workspace: Path, home: Path, cache: Path, index: SkillIndex
) -> None:
    copies = [
        {"installPath": str(cache / "db" / "1"), "projectPath": "/elsewhere"},
        {"installPath": str(cache / "db" / "2")},
        {"installPath": str(cache / "db" / "3"), "projectPath": str(workspace.parent)},
    ]
    paths = [write(cache / "db" / version / "skills/ask/SKILL.md") for version in "123"]
    install(home, {"db@market": copies})

    assert path_of(index, "db:ask") == str(paths[2])
    install(home, {"db@market": copies[:2]})
    assert path_of(index, "db:ask") == str(paths[1])


def test_a_plugin_of_the_users_own_marketplace_is_read_in_its_place(
    tmp_path: Path, home: Path, cache: Path, index: SkillIndex
) -> None:
    """As Claude Code 2.1.332 does: the copy in its cache may be old."""
    market = tmp_path / "market"
    offered = {"plugins": [{"name": "db", "source": "./plugins/db"}, None, {"name": 1}]}
    write(market / ".claude-plugin" / "marketplace.json", json.dumps(offered))
    known = {"source": {"source": "directory"}, "installLocation": str(market)}
    markets = {"market": known, "bad": None, "worse": {"source": "directory"}}
    write(home / ".claude" / "plugins" / "known_marketplaces.json", json.dumps(markets))
    install(home, {"db@market": [{"installPath": str(cache / "db" / "1.0")}]})
    copy = write(cache / "db/1.0/skills/ask/SKILL.md")
    assert path_of(index, "db:ask") == str(copy)

    in_place = write(market / "plugins/db/skills/ask/SKILL.md", "changed")

    assert path_of(index, "db:ask") == str(in_place)


def test_a_plugins_manifest_may_name_further_places(
    home: Path, cache: Path, index: SkillIndex
) -> None:
    plugin = cache / "db" / "1.0"
    manifest = {"skills": ["./more", "./one/skill", 7], "commands": "./single.md"}
    write(plugin / ".claude-plugin" / "plugin.json", json.dumps(manifest))
    install(home, {"db@market": [{"installPath": str(plugin)}]})
    paths = [
        write(plugin / "more" / "ask" / "SKILL.md"),
        write(plugin / "one" / "skill" / "SKILL.md"),
        write(plugin / "single.md"),
    ]

    found = [path_of(index, f"db:{name}") for name in ("ask", "skill", "single")]

    assert found == [str(path) for path in paths]


@pytest.mark.parametrize("listed", ["{", "[]", '{"plugins": 7}', "[" * 100_000, ""])
def test_a_plugin_that_no_list_names_is_searched_for_but_only_by_its_own_name(
    home: Path, cache: Path, index: SkillIndex, listed: str
) -> None:
    plugins = home / ".claude" / "plugins"
    write(plugins / "installed_plugins.json", listed)
    ask = write(cache / "db/1.0/skills/ask/SKILL.md")
    command = write(cache / "db/1.0/commands/sub/run.md")
    look = write(plugins / "marketplaces/market/plugins/eye/skills/look/SKILL.md")

    assert path_of(index, "DB:ask") == str(ask)
    assert path_of(index, "db:sub:run") == str(command)
    assert path_of(index, "eye:look") == str(look)
    assert index.find("ask") is index.find("eye:ask") is None


def test_of_a_plugins_versions_that_no_list_names_the_newest_is_found(
    cache: Path, index: SkillIndex
) -> None:
    paths = [write(cache / "db" / version / "skills/ask/SKILL.md") for version in "123"]
    for age, version in ((20, "1"), (10, "2"), (30, "3")):
        os.utime(cache / "db" / version, (10**9 - age, 10**9 - age))

    assert path_of(index, "db:ask") == str(paths[1])


def test_a_plugin_that_was_replaced_shows_at_once(
    home: Path, cache: Path, index: SkillIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "_SETTLED_NS", -(2**63))
    for version in ("1.0", "1.10"):
        path = write(cache / "db" / version / "skills/ask/SKILL.md")
        install(home, {"db@market": [{"installPath": str(cache / "db" / version)}]})

        assert path_of(index, "db:ask") == str(path)
