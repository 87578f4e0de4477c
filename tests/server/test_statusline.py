"""`turnkeeper statusline` as Claude Code calls it: JSON in, one line out, and nothing else."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from server.child import turnkeeper_argv
from tests.handlers.inproc import Host
from tests.handlers.test_follow import Transcript

RED, GREEN = "\x1b[31m", "\x1b[32m"


class Bar:
    """A session with a transcript, and what Claude Code says of it."""

    def __init__(self, base: Path) -> None:
        self.home, self.work = base / "home", base / "work"
        self.work.mkdir()
        self.script = Transcript(self.home, self.work, "S")

    def given(self, used: int | None = None, window: int | None = None) -> dict[str, Any]:
        usage = None if used is None else {"input_tokens": 4, "cache_read_input_tokens": used - 4}
        return {
            "session_id": "S",
            "transcript_path": str(self.script.path),
            "model": {"id": "small-1", "display_name": "Small"},
            "workspace": {"current_dir": str(self.work), "project_dir": str(self.work)},
            "version": "2.1.332",
            "cost": {"total_cost_usd": 0.1},
            **({} if window is None else {"context_window": {
                "context_window_size": window, "current_usage": usage}}),
        }  # fmt: skip

    def line(self, given: object, *args: str, **variables: str) -> str:
        """Run the command; it is never an error."""
        data = given if isinstance(given, bytes) else json.dumps(given).encode()
        env = {**os.environ, "HOME": str(self.home), "COLUMNS": "", "NO_COLOR": "", **variables}
        done = subprocess.run(
            turnkeeper_argv("statusline", *args), input=data, capture_output=True, env=env,
            check=False, timeout=20,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")
        line, end = done.stdout.decode()[:-1], done.stdout[-1:]
        assert (end, "\n" in line) == (b"\n", False)
        return line

    def figures(self, given: object, *args: str) -> Any:
        return json.loads(self.line(given, "--json", *args))


@pytest.fixture
def bar(state_root: Path, tmp_path: Path) -> Bar:
    return Bar(tmp_path)


def block_once(state_root: Path, bar: Bar) -> None:
    host = Host(state_root, bar.work)
    host.start()
    host.arm()
    host.ask("prompt", turnId="t1", text="hi")
    host.end()
    host.app.close()


def test_phase_context_and_kinds_in_one_line(bar: Bar, state_root: Path) -> None:
    block_once(state_root, bar)
    (bar.work / "CLAUDE.md").write_text("x" * 12_000)
    bar.script.prompt("Earlier.")
    bar.script.call("c0", tokens=100)
    bar.script.prompt("Look around.")
    bar.script.call("c1", tokens=100)

    line = bar.line(bar.given(31_000, 200_000))

    assert line == (
        "survey 1/2 armed, blocked 1, 2 left · context 31K/200K 16% · rules 3K · tools 2"
    )
    assert bar.line(bar.given(31_000, 200_000), "--locale", "zh") == (
        "survey 1/2 执行中，已拦 1 次，剩 2 次 · 上下文 31K/200K 16% · 规则 3K · 工具 2"
    )


def test_the_same_as_figures(bar: Bar, state_root: Path) -> None:
    block_once(state_root, bar)
    bar.script.prompt("Look around.")
    bar.script.call("c1", tokens=100)

    assert bar.figures(bar.given(50_000, 200_000)) == {
        "sessionId": "S",
        "model": "Small",
        "phase": {
            "id": "survey", "index": 1, "count": 2, "state": "armed", "attempt": 1,
            "attemptsLeft": 2,
        },
        "context": {"used": 50_000, "window": 200_000, "ratio": 0.25, "stale": False},
        "kinds": [{"kind": "tools", "tokens": 2}],
        "atLeast": False,
    }  # fmt: skip


def test_nothing_is_written(bar: Bar, state_root: Path) -> None:
    block_once(state_root, bar)
    bar.script.prompt("Look around.")

    def all_of_it() -> list[tuple[str, int, int]]:
        paths = sorted([*state_root.rglob("*"), *bar.home.rglob("*")])
        return [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in paths]

    before = all_of_it()
    bar.line(bar.given(31_000, 200_000))
    bar.line({**bar.given(), "session_id": "never seen"})

    assert all_of_it() == before


def test_without_a_reported_window_there_is_no_percentage(bar: Bar) -> None:
    bar.script.prompt("Look around.")
    bar.script.call("c1", tokens=4200)

    assert bar.line(bar.given()) == "context 4.2K · tools 2"


def test_after_a_compaction_the_fill_is_stale_until_the_next_request(bar: Bar) -> None:
    bar.script.prompt("Look around.")
    bar.script.call("c1", tokens=150_000)
    data = {"trigger": "auto", "preTokens": 150_000, "postTokens": 6000}
    bar.script.write({
        "type": "system", "subtype": "compact_boundary", "sessionId": "S", "uuid": "b",
        "compactMetadata": data,
    })  # fmt: skip

    assert bar.line(bar.given(150_000, 200_000)) == "context 6K/200K stale · tools 2"
    bar.script.call("c2", tokens=7000)
    assert bar.line(bar.given(7000, 200_000)) == "context 7K/200K 4% · tools 4"


def test_a_turn_that_began_before_what_is_read_counts_at_least_that_much(bar: Bar) -> None:
    bar.script.prompt("Look around.")
    bar.script.call("c1", tokens=1)
    bar.script.prompt("x" * 5_000_000)
    for number in range(3):
        bar.script.call(f"d{number}", tokens=900)
    assert bar.line(bar.given()) == "context 900 · tools ≥6"

    bar.script.prompt("Once more.")
    bar.script.call("e1", tokens=901)
    assert bar.line(bar.given()) == "context 901 · tools 2"


@pytest.mark.parametrize(
    "given",
    [b"", b"{", b"null", b"[]", b"7", b'"x"', b"\xff\xfe", b"{}", b'{"session_id": 7}',
     b'{"session_id": "S", "transcript_path": "/no/such/file.jsonl"}',
     b'{"session_id": "S", "transcript_path": "/"}',
     b'{"session_id": "S\\u0000", "transcript_path": "\\u0000"}',
     b'{"session_id": "\\ud800", "transcript_path": "x"}',
     b'{"session_id": "S", "context_window": {"context_window_size": -1, "current_usage": 7}}',
     b'{"session_id": "S", "context_window": {"context_window_size": 1e999}}',
     b'{"session_id": "S", "workspace": {"project_dir": 7}, "model": []}'],
)  # fmt: skip
def test_whatever_comes_is_no_error(bar: Bar, given: bytes) -> None:
    assert bar.line(given) == "turnkeeper"
    assert json.loads(bar.line(given, "--json")).get("kinds", []) == []


@pytest.mark.parametrize("folder", ["/no/such", "/\0", "/\ud800", "some/where", "", 7, None])
def test_the_folder_need_not_be_one(bar: Bar, folder: object) -> None:
    bar.script.prompt("Look around.")
    bar.script.call("c1", tokens=100)
    given = {**bar.given(), "cwd": folder, "workspace": {"project_dir": folder}}

    assert bar.line(given) == "context 100 · tools 2"


def test_what_cannot_be_read_leaves_the_rest(bar: Bar, tmp_path: Path) -> None:
    bar.script.prompt("Look around.")
    bar.script.call("c1", tokens=100)
    with bar.script.path.open("ab") as file:
        file.write(b"\x00\xff{not json\n" + b'{"type": "assistant", "message": 7}\n[1]\n{"type": ')
    link = tmp_path / "link"
    link.symlink_to(tmp_path)

    line = bar.line(bar.given(50_000, 100_000), TURNKEEPER_STATE_DIR=str(link))

    assert line == "context 50K/100K 50% · tools 2"


def test_colours_only_when_asked_for_and_allowed(bar: Bar) -> None:
    calm, full = bar.given(10_000, 200_000), bar.given(190_000, 200_000)

    assert "\x1b" not in bar.line(calm)
    assert bar.line(calm, "--color").startswith(GREEN)
    assert bar.line(full, "--color").startswith(RED)
    assert "\x1b" not in bar.line(full, "--color", NO_COLOR="1")


def test_the_line_is_as_wide_as_it_may_be(bar: Bar, state_root: Path) -> None:
    block_once(state_root, bar)
    given = bar.given(31_000, 200_000)
    whole = "survey 1/2 armed, blocked 1, 2 left · context 31K/200K 16%"

    assert bar.line(given, "--width", str(len(whole))) == whole
    assert bar.line(given, "--width", str(len(whole) - 1)) == "survey 1/2 armed, blocked 1, 2 left"
    assert bar.line(given, COLUMNS="20") == "survey 1/2 armed, b…"
    assert bar.line(given, "--locale", "zh", "--width", "20") == "survey 1/2 执行中，…"
    assert bar.line(given, COLUMNS="none") == whole


def test_a_completed_plan_says_so(bar: Bar, state_root: Path) -> None:
    host = Host(state_root, bar.work)
    host.start()
    host.arm(text=ONE_PHASE)
    host.ask("prompt", turnId="t1", text="hi")
    host.end()
    host.app.close()

    assert bar.line(bar.given(1000, 2000)) == "only 1/1 complete · context 1K/2K 50%"


ONE_PHASE = """\
version: 1
task_id: T1
original_prompt: Build a house.
phases:
  - id: only
    task_prompt: Look around.
    exit_criteria:
      - artifact_exists: plan.yaml
"""
