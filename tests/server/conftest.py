"""Starts the sidecar of tests/server/echo_app.py."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.server.raw_client import RawClient

Start = Callable[..., RawClient]


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A file that exists once the application was closed in order."""
    return tmp_path / "closed"


@pytest.fixture
def start(closed: Path) -> Iterator[Start]:
    """Starts a process with further arguments; all are gone after the test."""
    with ExitStack() as clients:
        yield lambda *args: clients.enter_context(RawClient(echo_argv(closed, *args)))


def echo_argv(closed: Path, *args: str) -> list[str]:
    return [sys.executable, "-m", "tests.server.echo_app", str(closed), *args]
