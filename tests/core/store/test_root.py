"""Where state lies, and which folders are refused."""

import hashlib
import os
import stat
from pathlib import Path

import platformdirs
import pytest

from core.errors import Unreadable
from core.store.root import (
    check_root,
    default_root,
    ledger_path,
    open_root,
    session_dir,
    state_root,
)


@pytest.mark.parametrize("named", [None, "", "  ", "relative/state", "/var/state", "/var/state/"])
def test_the_default_is_what_platformdirs_says(
    named: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    if named is not None:
        monkeypatch.setenv("XDG_STATE_HOME", named)

    assert default_root() == platformdirs.user_state_dir("turnkeeper", appauthor=False)


@pytest.mark.parametrize("home", [None, "/var/home", "relative"])
def test_the_home_is_found_as_platformdirs_finds_it(
    home: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    if home is not None:
        monkeypatch.setenv("HOME", home)

    assert default_root() == platformdirs.user_state_dir("turnkeeper", appauthor=False)


def test_the_environment_moves_root_and_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "TURNKEEPER_STATE_DIR",
        "PHASE_STATE_DIR",
        "TURNKEEPER_LEDGER",
        "TOOL_RECEIPTS_LEDGER",
    ):
        monkeypatch.delenv(name, raising=False)
    assert state_root() == default_root()
    assert ledger_path("/r") == "/r/receipts.jsonl"

    monkeypatch.setenv("PHASE_STATE_DIR", "/old")
    monkeypatch.setenv("TOOL_RECEIPTS_LEDGER", "/old/ledger")
    assert (state_root(), ledger_path("/r")) == ("/old", "/old/ledger")

    monkeypatch.setenv("TURNKEEPER_STATE_DIR", "/new")
    monkeypatch.setenv("TURNKEEPER_LEDGER", "/new/ledger")
    assert (state_root(), ledger_path("/r")) == ("/new", "/new/ledger")


def test_a_session_has_the_folder_of_its_digest() -> None:
    digits = hashlib.sha256(b"session-1").hexdigest()[:16]

    assert session_dir("/r", "session-1") == f"/r/sessions/{digits}"
    assert session_dir("/r", "\ud800").startswith("/r/sessions/")


def test_a_root_is_made_private_and_its_real_path_given(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    root = open_root(str(tmp_path / "link" / "a" / "b"))

    assert root == os.path.realpath(tmp_path / "real" / "a" / "b")
    assert stat.S_IMODE(os.stat(root).st_mode) == 0o700


def test_a_root_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    open_root(str(tmp_path))

    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_a_link_or_a_file_is_no_root(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").touch()

    with pytest.raises(Unreadable, match="is a symbolic link"):
        open_root(str(tmp_path / "link"))
    with pytest.raises(Unreadable, match="is no folder"):
        open_root(str(tmp_path / "file"))


def test_another_users_folder_is_no_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)

    with pytest.raises(Unreadable, match="belongs to another user"):
        open_root(str(tmp_path))


def test_a_test_never_touches_the_users_own_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    with pytest.raises(Unreadable, match="a test is running"):
        open_root(default_root())
    assert list(tmp_path.iterdir()) == []


def test_looking_at_a_root_that_is_not_there_makes_nothing(tmp_path: Path) -> None:
    assert check_root(str(tmp_path / "no")) == os.path.realpath(tmp_path / "no")
    assert list(tmp_path.iterdir()) == []
