"""A client in this process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.handlers.inproc import Host


@pytest.fixture
def host(state_root: Path, tmp_path: Path) -> Iterator[Host]:
    client = Host(state_root, tmp_path / "work")
    client.start()
    yield client
    client.app.close()
