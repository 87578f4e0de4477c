"""The workspace in every state that an agent, or somebody hostile, can bring it into."""

import fnmatch
import os
import socket
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import files as f
from core.files import Files, FileState

Opener = Callable[[str, tuple[str, ...]], int | FileState]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside.md").write_text("secret")
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def hostile(root: Path) -> dict[str, str]:
    """Fill the workspace; path -> the kind that must be told."""
    (root / "sub").mkdir()
    (root / "sub" / "plain.md").write_text("hello")
    os.mkfifo(root / "fifo")
    os.symlink("sub/plain.md", root / "inner-link")
    os.symlink("../outside.md", root / "outer-link")
    os.symlink("/etc/passwd", root / "far-link")
    os.symlink("..", root / "up")
    os.symlink("sub", root / "folder-link")
    os.symlink("loop", root / "loop")
    os.symlink("nowhere", root / "dangling")
    return {
        "sub/plain.md": "file",
        "./sub//plain.md": "file",
        "sub": "directory",
        "sub/": "directory",
        "": "directory",
        "none.md": "missing",
        "none/none.md": "missing",
        "sub/plain.md/x": "missing",
        "fifo": "special",
        "inner-link": "link",
        "folder-link/plain.md": "link",
        "loop": "link",
        "dangling": "link",
        "outer-link": "outside",
        "far-link": "outside",
        "up/outside.md": "outside",
        "../outside.md": "outside",
        "sub/../../outside.md": "outside",
        "/etc/passwd": "outside",
        "a\0b": "unreadable",
        "\ud800": "unreadable",
        "x" * 300: "unreadable",
    }


def test_each_path_is_what_it_is_and_no_link_is_followed(root: Path) -> None:
    files, kinds = Files(str(root)), hostile(root)

    assert {path: files.inspect(path).kind for path in kinds} == kinds
    for path, kind in kinds.items():
        content = files.read(path)
        assert content == b"hello" if kind == "file" else content == files.inspect(path)


@pytest.mark.parametrize("opener", [f.open_file_by_folders, f.open_file_by_path])
def test_both_ways_to_open_a_file_agree(root: Path, opener: Opener) -> None:
    for path, kind in hostile(root).items():
        parts = f.path_parts(path)
        if not parts or kind == "unreadable":
            continue
        try:
            opened = opener(os.path.realpath(root), parts)
        except FileNotFoundError:
            opened = f.MISSING
        if isinstance(opened, int):
            os.close(opened)
            opened = FileState("file")

        assert (path, opened.kind) == (path, kind)


def test_a_socket_is_no_file(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)  # A socket's path must be short.
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")

        assert Files(".").inspect("sock").kind == "special"


def test_the_root_may_be_a_link_itself(root: Path) -> None:
    (root / "a.md").write_text("x")
    os.symlink(root, root.parent / "alias")

    assert Files(str(root.parent / "alias")).inspect("a.md") == ("file", 1)


def test_a_root_that_is_gone_is_unreadable_not_empty(root: Path) -> None:
    files = Files(str(root))
    root.rmdir()

    assert files.inspect("a.md").kind == "unreadable"


def test_reading_has_a_limit_and_inspecting_has_none(root: Path) -> None:
    files = Files(str(root))
    with open(root / "big", "wb") as big:
        big.truncate(f.READ_BYTES_MAX)

    assert len(bytes(files.read("big"))) == f.READ_BYTES_MAX  # type: ignore[arg-type]
    os.truncate(root / "big", f.READ_BYTES_MAX + 1)
    assert files.read("big") == ("too_large", f.READ_BYTES_MAX + 1)
    assert files.inspect("big") == ("file", f.READ_BYTES_MAX + 1)


def test_a_digest_is_that_of_the_bytes(root: Path) -> None:
    (root / "a").write_bytes(b"\r\n\xff")

    assert Files(str(root)).digest("a") == sha256(b"\r\n\xff").hexdigest()
    assert Files(str(root)).digest("b") == f.MISSING


def test_no_descriptor_stays_open(root: Path) -> None:
    files, kinds = Files(str(root)), hostile(root)
    before = len(os.listdir("/dev/fd"))
    for path in kinds:
        files.inspect(path)
        files.read(path)
        files.find(f"{path}/**/*.md", 5)

    assert len(os.listdir("/dev/fd")) == before


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("*.md", ["a.md"]),
        ("?.md", ["a.md"]),
        (".*.md", [".hidden.md"]),
        ("**/*.md", ["a.md", "one/b.md", "one/two/c.md"]),
        ("one/**", ["one/b.md", "one/two/c.md", "one/x[1].txt"]),
        ("one/**/two/*.md", ["one/two/c.md"]),
        ("**/**/c.md", ["one/two/c.md"]),
        ("o*/*/c.md", ["one/two/c.md"]),
        ("one/x[1].*", ["one/x[1].txt"]),
        ("*/none", []),
        ("none/*", []),
        ("**", ["a.md", "one/b.md", "one/two/c.md", "one/x[1].txt"]),
    ],
)
@pytest.mark.parametrize("listing", [f.list_by_folders, f.list_by_path])
def test_patterns_find_regular_files_and_never_follow_a_link(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    listing: Callable[..., object],
    pattern: str,
    paths: list[str],
) -> None:
    monkeypatch.setattr(f, "list_folder", listing)
    for name in ("a.md", ".hidden.md", ".git/x.md", "one/b.md", "one/x[1].txt", "one/two/c.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    (root / "one" / "empty.md").touch()
    os.symlink("one", root / "other")
    os.symlink("../outside.md", root / "z.md")
    os.mkfifo(root / "f.md")

    found = Files(str(root)).find(pattern, 100)

    assert sorted(found.paths) == paths
    assert found.complete


def test_a_search_ends_when_it_has_enough(root: Path) -> None:
    for name in "abc":
        (root / name).write_text("x")

    assert Files(str(root)).find("*", 2).paths == ("a", "b")
    assert Files(str(root)).find("*", 9, min_bytes=2) == ((), 3, True, f.DIRECTORY)


def test_a_search_looks_at_a_limited_number_of_entries(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f, "ENTRIES_MAX", 10)
    for number in range(10):
        (root / str(number)).touch()

    assert Files(str(root)).find("*.md", 1).complete
    (root / "one-more").touch()
    assert not Files(str(root)).find("*.md", 1).complete


def test_a_search_goes_down_a_limited_number_of_folders(root: Path) -> None:
    (root / "/".join("d" * f.FOLDERS_DEEP_MAX)).mkdir(parents=True)

    assert Files(str(root)).find("**/x", 1).complete
    (root / "/".join("d" * (f.FOLDERS_DEEP_MAX + 1))).mkdir()
    assert not Files(str(root)).find("**/x", 1).complete


def test_a_search_below_a_link_says_so(root: Path) -> None:
    os.symlink("..", root / "up")

    assert Files(str(root)).find("up/*.md", 1).base == f.OUTSIDE
    assert Files(str(root)).find("../*.md", 1).base == f.OUTSIDE


def test_matching_a_name_takes_no_exponential_time() -> None:
    assert not f.name_matches("*a" * 200 + "*b", "a" * 250)
    assert f.name_matches("a**b*", "axxbxx")
    assert not f.name_matches("a?", "a")


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_a_pattern_matches_what_the_shell_says(pattern: str, name: str) -> None:
    assert f.name_matches(pattern, name) == fnmatch.fnmatchcase(name, pattern)


def test_a_search_ends_when_its_time_is_over(root: Path) -> None:
    (root / "a.md").write_text("x")
    found = Files(str(root)).find("**/*", 1_000_000, until=0.0)

    assert not found.complete
    assert found.paths == ()
