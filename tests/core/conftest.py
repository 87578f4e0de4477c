"""A state folder and a workspace."""

from pathlib import Path

import pytest

from core.store.root import open_root


@pytest.fixture
def root(state_root: Path) -> str:
    return open_root(str(state_root))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "work"
    path.mkdir()
    return path
