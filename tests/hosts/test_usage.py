"""The tokens that the real programs leave behind are those that the model server answered with."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from core.events import Usage
from core.recordings.recording import Recording
from tests.hosts import ai_sdk, claude, codex
from tests.hosts.conftest import ClaudeRuns, CodexRuns
from tests.hosts.fake_model import Asked

Json: TypeAlias = Any
Figures: TypeAlias = tuple[int, int, int, int]  # Fresh, written to the cache, read from it, output.


@pytest.mark.parametrize("name", claude.CASES)
def test_claude_code_in_its_transcript(name: str, claude_run: ClaudeRuns) -> None:
    run = claude_run(name)
    # A request for a summary is in no transcript, and the one that was refused was not answered.
    answered = [asked for asked in run.asked if asked.script not in ("side", "refused")]

    assert Counter(figures(use) for use in usages(run.transcript)) == told_of(answered)


@pytest.mark.parametrize("name", ["tools", "context", "stop-block", "auto-compact"])
def test_codex_exec_in_its_rollout(name: str, codex_exec_run: CodexRuns) -> None:
    check_rollout(codex_exec_run(name))


@pytest.mark.parametrize("name", ["two-turns", "compact"])
def test_the_app_server_of_codex_in_its_rollout(name: str, codex_server_run: CodexRuns) -> None:
    check_rollout(codex_server_run(name))


def check_rollout(run: codex.Run) -> None:
    found = usages(run.rollout)

    assert all(use.input_includes_cache for use in found)
    assert Counter(input_and_output(use) for use in found) == Counter(
        (sum(asked.tokens[:3]), asked.tokens.cache_read, asked.tokens.output) for asked in run.asked
    )


def test_the_loop_of_the_ai_sdk_in_its_stream(ai_sdk_run: ai_sdk.Run, tmp_path: Path) -> None:
    recorded = tmp_path / "stream.jsonl"
    recorded.write_text("".join(json.dumps(row) + "\n" for row in ai_sdk_run.said))

    assert Counter(input_and_output(use) for use in usages(recorded)) == Counter(
        (sum(asked.tokens[:3]), asked.tokens.cache_read, asked.tokens.output)
        for asked in ai_sdk_run.asked
    )


def usages(path: Path) -> list[Usage]:
    """List the usage of each request once: the last that is said of a message counts."""
    found: dict[object, Usage] = {}
    for number, step in enumerate(Recording(str(path)).steps()):
        if isinstance(step.event, Usage):
            found[step.event.message_id or number] = step.event
    return list(found.values())


def figures(use: Usage) -> Figures:
    return use.input_tokens, use.cache_creation_tokens, use.cache_read_tokens, use.output_tokens


def input_and_output(use: Usage) -> tuple[int, int, int]:
    return use.input_tokens, use.cache_read_tokens, use.output_tokens


def told_of(answered: list[Asked]) -> Counter[Figures]:
    return Counter(asked.tokens[:4] for asked in answered)
