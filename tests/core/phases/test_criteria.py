"""How criteria stand: on real files, and never with their content."""

import os
from pathlib import Path
from typing import Any

import pytest

from core.files import READ_BYTES_MAX, Files
from core.phases.criteria import KINDS, CriterionState, check, wanted
from core.phases.plan import Criterion


def state(
    root: Path, kind: str, opened: frozenset[str] = frozenset(), **args: Any
) -> tuple[str, str]:
    found = check(Criterion("c", kind, args), Files(str(root)), opened)
    assert (found.id, found.kind) == ("c", kind)
    assert bool(found.next_action) == bool(found.why) == (found.state != "met")
    return found.state, found.why


def test_an_artifact_that_is_no_file_in_the_workspace_is_unmet_with_the_reason(
    tmp_path: Path,
) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    (tmp_path / "elsewhere.md").write_text("x")
    report = root / "report.md"

    def why() -> str:
        told, reason = state(root, "artifact_exists", path="report.md")
        assert told == "unmet"
        return reason

    assert why() == "the file is missing"
    report.touch()
    assert why() == "the file is empty"
    report.unlink()
    report.mkdir()
    assert why() == "not a regular file, but a folder"
    report.rmdir()
    os.symlink("../elsewhere.md", report)
    assert why() == "link leaves the workspace"
    report.unlink()
    os.symlink("other.md", report)
    assert why() == "a link, not a regular file"
    report.unlink()
    os.mkfifo(report)
    assert why() == "not a regular file"
    report.unlink()
    report.write_text("x")
    assert state(root, "artifact_exists", path="report.md") == ("met", "")


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"path": "a.md", "min_bytes": 3}, ("met", "")),
        ({"path": "a.md", "min_bytes": 4}, ("unmet", "3 of 4 bytes")),
        ({"path": "empty.md", "min_bytes": 0}, ("met", "")),
        ({"path": "*.md"}, ("met", "")),
        ({"path": "*.md", "min_count": 2}, ("unmet", "1 of 2 files; 1 below 1 bytes")),
        ({"path": "*.md", "min_count": 2, "min_bytes": 0}, ("met", "")),
        ({"path": "none/*.md"}, ("unmet", "0 of 1 files")),
    ],
)
def test_sizes_and_numbers_count(tmp_path: Path, args: Any, told: tuple[str, str]) -> None:
    (tmp_path / "a.md").write_text("abc")
    (tmp_path / "empty.md").touch()

    assert state(tmp_path, "artifact_exists", **args) == told


def test_a_text_is_looked_for_letter_for_letter_and_across_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes("SECRET\r\n## Fünde\r\nx".encode())

    assert state(tmp_path, "artifact_contains", path="a.md", text="## Fünde\nx") == ("met", "")
    told, why = state(tmp_path, "artifact_contains", path="a.md", text="## fünde")
    assert (told, why) == ("unmet", 'the text "## fünde" is not in it')


def test_what_cannot_be_read_is_an_error_not_unmet(tmp_path: Path) -> None:
    with open(tmp_path / "big", "wb") as big:
        big.truncate(READ_BYTES_MAX + 1)

    told, why = state(tmp_path, "artifact_contains", path="big", text="x")
    assert (told, why) == ("error", "larger than 8 MiB, so it was not read")
    gone = tmp_path / "gone"
    assert state(gone, "artifact_exists", path="a") == ("error", "it cannot be read")


@pytest.mark.parametrize(
    "name", ["brainstorming", "superpowers:Brainstorming", "x/Brainstorming/SKILL.md"]
)
def test_a_skill_is_used_when_its_canonical_id_was_opened(tmp_path: Path, name: str) -> None:
    assert state(tmp_path, "skill_used", frozenset({"brainstorming"}), name=name)[0] == "met"
    assert state(tmp_path, "skill_used", frozenset({"brain"}), name=name)[0] == "unmet"


@pytest.mark.parametrize(
    ("kind", "args"),
    [
        ("tests_passed", {}),
        ("artifact_exists", {}),
        ("artifact_exists", {"path": 5}),
        ("artifact_exists", {"path": "a", "min_bytes": True}),
        ("artifact_exists", {"path": "a", "size": 1}),
        ("artifact_exists", {"path": "\0"}),
        ("artifact_contains", {"path": "\ud800", "text": "\ud800"}),
    ],
)
def test_a_criterion_of_another_version_is_an_error_not_a_crash(
    tmp_path: Path, kind: str, args: Any
) -> None:
    assert state(tmp_path, kind, **args)[0] == "error"
    assert wanted(Criterion("c", kind, args))


def test_no_text_of_a_file_reaches_what_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("MARKER")
    files = Files(str(tmp_path))
    args: list[dict[str, Any]] = [
        {"path": "a.md", "text": "absent"},
        {"path": "a.md", "text": "MARK"},
    ]
    for arg in args:
        found: CriterionState = check(Criterion("c", "artifact_contains", arg), files, frozenset())
        assert "MARKER" not in repr(found)


def test_every_kind_documents_each_of_its_arguments() -> None:
    for kind in KINDS:
        assert list(kind.docs) == list(kind.args.__annotations__)
        assert set(kind.short.split("::")) <= set(kind.docs)
