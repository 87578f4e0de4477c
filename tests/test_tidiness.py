"""The rules of the repository: what stands where, how long it is, what to use instead."""

import ast
import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("server", "handlers", "core")
TOP_LEVEL = {
    *("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "Makefile"),
    *("server", "handlers", "core", "editors", "tests", "docs"),
    *(".ci", ".gitignore", ".gitattributes", ".editorconfig"),
}
DATA = ("tests/conformance/",)  # Recorded or handed down: it is as it is.
TEXT_SUFFIXES = {
    ".py",
    ".md",
    ".toml",
    ".json",
    ".jsonl",
    ".txt",
    ".yaml",
    ".yml",
    ".ts",
    ".lua",
    "",
}
FUNCTION_LINES_MAX = 60
MODULE_LINES_MAX = 400
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}
BROAD_EXCEPT_ALLOWED = {
    "server/errors.py",  # Turns exceptions into answers.
    "server/main.py",  # Turns them into exit codes.
}
PRINT_ALLOWED = ("server/cli", "handlers/docs.py", "tests/bench/")


class Ban(NamedTuple):
    """A pattern that may not stand in files below `where`, and what to do instead."""

    pattern: str
    where: tuple[str, ...]
    instead: str


EVERYWHERE = ("",)
BANS = (
    Ban(r"\b(TODO|FIXME|XXX|HACK)\b", EVERYWHERE, "do it now, or leave no mark"),
    Ban(
        r"(?<![\w.~}])/(home|Users|work|root|tmp)/",
        EVERYWHERE,
        "a machine's path: name it by what it is",
    ),
    Ban(r"\bshared/", EVERYWHERE, "a clone has no such folder: say it here"),
    Ban(
        r"pypi\.org|pythonhosted\.|registry\.npmjs|--(extra-)?index-url",
        EVERYWHERE,
        "name no index",
    ),
    Ban(r"\bpytest\.(mark\.)?(skip|xfail|importorskip)", ("tests/",), "a test runs or is deleted"),
    Ban(r"\btime\.sleep\b", ("tests/",), "wait for a condition, with a limit"),
    Ban(
        r"\bunittest\.mock\b|\bmocker\b",
        ("tests/",),
        "use the real thing or a small one in its place",
    ),
)


def repository_files() -> list[str]:
    """Files as git sees them, tracked or new but not ignored; all plain ones where git is not."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    names = listed.stdout.split("\0") if listed.returncode == 0 else _walk()
    return sorted(name for name in names if name and (ROOT / name).is_file())


def _walk() -> Iterator[str]:
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name == ".ci" or not name.startswith((".", "__"))]
        yield from (str(Path(folder, name).relative_to(ROOT)) for name in names)


FILES = repository_files()
MODULES = [name for name in FILES if name.endswith(".py")]
OURS = [name for name in MODULES if name.startswith(tuple(f"{package}/" for package in PACKAGES))]


def parsed(name: str) -> ast.Module:
    return ast.parse((ROOT / name).read_text(encoding="utf-8"), name)


def test_the_top_level_holds_only_what_belongs_there() -> None:
    found = {name.split("/", 1)[0] for name in FILES}

    assert found - TOP_LEVEL == set()


@pytest.mark.parametrize("ban", BANS, ids=lambda ban: ban.instead)
def test_nothing_banned_stands_in_any_file(ban: Ban) -> None:
    pattern = re.compile(ban.pattern)
    found = [
        f"{name}:{number}: {ban.instead}"
        for name in FILES
        if name.startswith(ban.where) and not name.startswith(DATA)
        if Path(name).suffix in TEXT_SUFFIXES and name != "tests/test_tidiness.py"
        for number, line in enumerate(_lines(name), start=1)
        if pattern.search(line)
    ]

    assert found == []


def _lines(name: str) -> list[str]:
    return (ROOT / name).read_text(encoding="utf-8").splitlines()


def test_modules_are_named_for_what_they_hold() -> None:
    assert [name for name in MODULES if Path(name).stem in VAGUE_NAMES] == []


def test_modules_are_short() -> None:
    sizes = {name: len(_lines(name)) for name in OURS}

    assert {name: size for name, size in sizes.items() if size > MODULE_LINES_MAX} == {}


def test_functions_fit_on_a_screen() -> None:
    assert [place for name in OURS for place in _long_functions(name)] == []


def _long_functions(name: str) -> Iterator[str]:
    for node in ast.walk(parsed(name)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield f"{name}:{node.lineno}: {node.name} has {lines} lines"


def test_each_module_says_what_it_is_for() -> None:
    silent = [
        name for name in MODULES if (tree := parsed(name)).body and not ast.get_docstring(tree)
    ]

    assert silent == []


def test_only_the_outermost_frames_catch_everything() -> None:
    found = [
        f"{name}:{node.lineno}: catch what can happen, or let server/errors.py answer"
        for name in OURS
        if name not in BROAD_EXCEPT_ALLOWED
        for node in ast.walk(parsed(name))
        if isinstance(node, ast.ExceptHandler) and _is_broad(node.type)
    ]

    assert found == []


def _is_broad(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(_is_broad(part) for part in caught.elts)
    return caught is None or (
        isinstance(caught, ast.Name) and caught.id in {"Exception", "BaseException"}
    )


def test_only_the_command_line_prints() -> None:
    found = [
        f"{name}:{node.lineno}: standard output belongs to the protocol"
        for name in MODULES
        if not name.startswith(PRINT_ALLOWED)
        for node in ast.walk(parsed(name))
        if isinstance(node, ast.Call)
        if isinstance(node.func, ast.Name) and node.func.id == "print"
    ]

    assert found == []


def test_every_dependency_is_pinned_and_names_no_place() -> None:
    lines = [line for line in _lines(".ci/constraints.txt") if not line.startswith("#")]
    pins = [re.fullmatch(r"([\w.-]+)==[\w.]+", line) for line in lines]
    pinned = {_plain(pin[1]) for pin in pins if pin}

    assert None not in pins
    assert _asked_for() - pinned == set()


def _asked_for() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["dev"],
        *project["build-system"]["requires"],
    ]
    return {_plain(re.split(r"[^\w.-]", requirement, maxsplit=1)[0]) for requirement in wanted}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
