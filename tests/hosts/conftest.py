"""Runs of the real programs, each case once in a test session."""

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import pytest

from tests.hosts import ai_sdk, claude, codex

ClaudeRuns: TypeAlias = Callable[[str], claude.Run]  # By the name of a case.
CodexRuns: TypeAlias = Callable[[str], codex.Run]


@pytest.fixture(scope="session")
def claude_run(tmp_path_factory: pytest.TempPathFactory) -> ClaudeRuns:
    """Run a case of Claude Code."""
    return cache(lambda name: claude.run(claude.CASES[name], tmp_path_factory.mktemp("claude")))


@pytest.fixture(scope="session")
def codex_exec_run(tmp_path_factory: pytest.TempPathFactory) -> CodexRuns:
    """Run a case of Codex with `codex exec`."""
    return cache(lambda name: codex.run_exec(codex.CASES[name], tmp_path_factory.mktemp("codex")))


@pytest.fixture(scope="session")
def codex_server_run(tmp_path_factory: pytest.TempPathFactory) -> CodexRuns:
    """Run a case of Codex with its app server."""
    return cache(lambda name: codex.run_server(codex.CASES[name], tmp_path_factory.mktemp("codex")))


@pytest.fixture(scope="session")
def ai_sdk_run(tmp_path_factory: pytest.TempPathFactory) -> ai_sdk.Run:
    """Run the loop of the AI SDK."""
    return ai_sdk.run(tmp_path_factory.mktemp("ai"))
