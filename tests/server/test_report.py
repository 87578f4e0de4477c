"""`turnkeeper report` as people and scripts use it: the real program on look-alike recordings."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from server.child import turnkeeper_argv
from tests.core.runtimes.claude.given import assistant, call, result, user
from tests.server.recorded import answer, called, session_id, turn, write
from tests.server.sidecar import Sidecar

Json = Any
Ran = subprocess.CompletedProcess[str]

RSS_MAX_KB = 100 * 1024
LINE_UNITS = 60 * 1024 * 1024
# The peak of a child counts what its parent held when it was started; so the parent is a small one.
PEAK = """\
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
sys.stderr.write(f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}")
sys.exit(code)
"""


@pytest.fixture
def home(tmp_path: Path, state_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(variable, raising=False)
    return home


@pytest.fixture
def recording(home: Path) -> str:
    rows = [
        *turn("1", *called("m1", "c1", "Bash", {"command": "ls"}, "a.txt")),
        *turn("2", answer("m2", 20), *called("m3", "c2", "mcp__db__get", {"id": 1}, "none")),
    ]
    return write(home / ".claude/projects/-repo", 1, rows)


def run(*args: str, **env: str) -> Ran:
    return subprocess.run(
        turnkeeper_argv("report", *args),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **env},
        timeout=30,
    )


def test_json_is_all_that_is_printed(recording: str) -> None:
    ran = run(recording, "--json")

    assert (ran.returncode, ran.stderr, ran.stdout.count("\n")) == (0, "", 1)
    told = json.loads(ran.stdout)
    assert (told["files"], told["unreadableLines"], told["notes"]) == (1, 0, [])
    (session,) = told["sessions"]
    assert (session["sessionId"], session["runtime"]) == (session_id(1), "claude_code")
    assert session["subagents"] == []
    first, second = session["turns"]
    assert {"turnId", "snapshot", "usage", "reconciliation"} <= set(first) & set(second)
    assert first["usage"] == {
        "input": 3, "output": 5, "cacheRead": 40, "cacheCreation": 0, "messages": 1
    }  # fmt: skip
    assert first["reconciliation"] == first["snapshot"]["reconciliation"]
    assert told["totals"] == {
        "input": 9,
        "output": 30,
        "cacheRead": 120,
        "cacheCreation": 0,
        "messages": 3,
        "byTool": {"Bash": {"tokens": 6, "calls": 1}},
        "bySkill": {},
        "byMcpServer": {"db": {"tokens": 3, "calls": 1}},
        "byRule": {},
        "bySubagent": {},
    }


def test_a_session_is_named_by_its_id_and_nothing_means_all(recording: str) -> None:
    by_file = run(recording, "--json").stdout

    assert run(session_id(1), "--json").stdout == by_file
    assert run("--json").stdout == by_file
    assert run(str(Path(recording).parents[1]), "--json").stdout == by_file


def test_a_picture_is_plain_text_for_a_pipe(recording: str) -> None:
    ran = run(recording)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("Turnkeeper report: 1 session, 2 turns, 1 file\n")
    assert "\x1b" not in ran.stdout
    assert "Turnkeeper 报告" in run(recording, "--locale", "zh", PYTHONIOENCODING="utf-8").stdout


@pytest.mark.parametrize(("no_color", "has_colour"), [(None, True), ("1", False), ("", True)])
def test_a_terminal_gets_colours_unless_it_wants_none(
    recording: str, no_color: str | None, has_colour: bool
) -> None:
    ours, theirs = os.openpty()
    env = {**os.environ, **({} if no_color is None else {"NO_COLOR": no_color})}
    with subprocess.Popen(
        turnkeeper_argv("report", recording), stdin=subprocess.DEVNULL, stdout=theirs, env=env
    ) as process:
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)

    assert process.returncode == 0
    assert (b"\x1b[" in shown) == has_colour


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Nobody writes to it any more.
        return b""


def test_a_page_is_a_file_and_stdout_stays_free(recording: str, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    ran = run(recording, "--html", str(page))

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", f"wrote {page}\n")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    both = run(recording, "--html", str(page), "--json")
    assert json.loads(both.stdout)["totals"]["messages"] == 3
    nowhere = run(recording, "--html", str(tmp_path / "no" / "out.html"), "--json")
    assert (nowhere.returncode, nowhere.stdout) == (1, "")
    assert "cannot write" in nowhere.stderr


def test_a_session_that_only_a_host_told_of_is_read_from_its_journal(
    home: Path, state_root: Path, tmp_path: Path
) -> None:
    sidecar = Sidecar(state_root, home)
    with sidecar:
        sidecar.begin(tmp_path / "work", "my session")
        sidecar.call("prompt", "my session", turnId="t1", text="go")
        sidecar.call("toolCall", "my session", toolUseId="c", name="Bash", input={"command": "ls"})
        sidecar.call("toolResult", "my session", toolUseId="c", content="a.txt")
        sidecar.call("usage", "my session", input=100, output=7, messageId="m1")
        sidecar.turn_end("t1", "my session")
        sidecar.end()
    ran = run("my session", "--json")

    assert (ran.returncode, ran.stderr) == (0, "")
    told = json.loads(ran.stdout)
    (session,) = told["sessions"]
    assert (session["sessionId"], session["runtime"]) == ("my session", "claude_code")
    (only,) = session["turns"]
    assert (only["turnId"], only["outcome"]) == ("t1", "completed")
    assert (only["usage"]["input"], only["usage"]["output"]) == (100, 7)
    assert told["totals"]["byTool"] == {"Bash": {"tokens": 6, "calls": 1}}


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("gone.jsonl", "gone.jsonl: no such file or folder"),
        ("empty", "empty holds no recording"),
        ("other.jsonl", "other.jsonl seems to be JSON lines of another program"),
        ("deadbeef-0000", "no session is known whose id is deadbeef-0000"),
        ("pipe", "pipe is no regular file"),
    ],
)
def test_a_target_that_cannot_be_used_is_refused_in_one_line(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, why: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "other.jsonl").write_text('{"level": "info"}\n')
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    ran = run(target, "--json")

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"turnkeeper: {why}")
    assert ran.stderr.count("\n") == 1


def test_wrong_usage_prints_nothing_on_stdout(recording: str) -> None:
    ran = run(recording, "--locale", "fr")

    assert (ran.returncode, ran.stdout) == (2, "")


def test_a_line_of_60_mb_is_measured_in_little_memory(home: Path, tmp_path: Path) -> None:
    rows = [
        *turn("1", assistant(call("c1", "Bash", command="cat"), message_id="m1")),
        user([result("c1", "@")]),
        *turn("2", *called("m2", "c2", "Read", {"file_path": "a"}, "x" * 100)),
    ]
    path = Path(write(tmp_path / "p", 1, rows))
    before, after = path.read_bytes().split(b"@")
    path.write_bytes(before + b"y" * LINE_UNITS + after)
    ran = subprocess.run(
        [sys.executable, "-c", PEAK, *turnkeeper_argv("report", str(path), "--json")],
        capture_output=True,
        timeout=60,
    )

    assert int(ran.stderr) < RSS_MAX_KB
    told = json.loads(ran.stdout)
    units = LINE_UNITS + len('{"command":"cat"}')
    assert told["totals"]["byTool"]["Bash"]["tokens"] == -(-units // 4)
    assert (told["totals"]["messages"], told["unreadableLines"]) == (2, 0)
    assert told["totals"]["byTool"]["Read"]["calls"] == 1
