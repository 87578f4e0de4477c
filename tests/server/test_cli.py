"""The command line as a person and a script use it: the real program, a real state folder."""

import fcntl
import json
import os
import subprocess
import termios
from pathlib import Path
from typing import Any

import pytest

from server.child import turnkeeper_argv

PLAN = """\
version: 1
task_id: T1
phases:
  - id: survey
    exit_criteria:
      - artifact_exists: out.md
"""
FAULTY = PLAN.replace("version: 1", "version: 9").replace("artifact_exists", "artefact")


@pytest.fixture
def work(tmp_path: Path, state_root: Path) -> Path:
    (tmp_path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "faulty.yaml").write_text(FAULTY, encoding="utf-8")
    return tmp_path


def run(work: Path, *args: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        turnkeeper_argv(*args),
        capture_output=True,
        text=True,
        cwd=work,
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # No controlling terminal.
        timeout=30,
    )


def said_json(work: Path, *args: str) -> Any:
    return json.loads(run(work, *args, "--json").stdout)


def test_without_arguments_it_names_the_next_steps(work: Path) -> None:
    ran = run(work)

    assert ran.returncode == 0
    assert ran.stdout.count("turnkeeper ") >= 3


def test_wrong_usage_is_told_apart_by_its_exit_code(work: Path) -> None:
    assert run(work, "no-such-command").returncode == 2
    assert run(work, "status").returncode == 2
    assert run(work, "status", "--session", "null").returncode == 2
    assert run(work, "purge").returncode == 2


def test_a_plan_with_faults_is_refused_with_every_place_and_mend(work: Path) -> None:
    ran = run(work, "arm", "--plan", "faulty.yaml", "--session", "S")

    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "line 1, column 10" in ran.stderr
    assert "line 6, column 9" in ran.stderr
    assert 'Write "artifact_exists".' in ran.stderr


def test_a_refusal_is_json_for_a_program(work: Path) -> None:
    error = said_json(work, "arm", "--plan", "faulty.yaml", "--session", "S")["error"]

    assert error["code"] == -31002
    assert [problem["endLine"] for problem in error["data"]["problems"]] == [0, 5]


def test_arming_an_unseen_session_warns_and_names_it(work: Path) -> None:
    ran = run(work, "arm", "--plan", "plan.yaml", "--session", "S9")

    assert ran.returncode == 0
    assert "S9 was never seen" in ran.stderr
    assert said_json(work, "status", "--session", "S9")["phaseId"] == "survey"


def test_status_of_a_session_without_a_plan_writes_nothing(work: Path, state_root: Path) -> None:
    ran = run(work, "status", "--session", "S")

    assert ran.stdout.startswith("idle: no plan")
    assert not state_root.exists()


def test_an_offer_may_be_declined_from_any_shell(work: Path) -> None:
    assert said_json(work, "decline", "--reason", "small", "--session", "S")["state"] == "declined"
    found = said_json(work, "receipts", "--session", "S")["receipts"]
    assert [(receipt["event"], receipt["by"]) for receipt in found] == [("phase_declined", "agent")]


def test_an_armed_plan_is_not_declined_without_a_terminal(work: Path) -> None:
    run(work, "arm", "--plan", "plan.yaml", "--session", "S")

    ran = run(work, "decline", "--reason", "tired", "--session", "S")

    assert ran.returncode == 1
    assert "needs a human" in ran.stderr
    assert said_json(work, "status", "--session", "S")["state"] == "armed"


@pytest.mark.parametrize(("typed", "state"), [("decline this plan", "declined"), ("y", "armed")])
def test_an_armed_plan_is_declined_by_the_phrase_on_the_terminal(
    work: Path, typed: str, state: str
) -> None:
    run(work, "arm", "--plan", "plan.yaml", "--session", "S")
    ours, theirs = os.openpty()

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        turnkeeper_argv("decline", "--reason", "changed my mind", "--session", "S"),
        cwd=work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=take_terminal,  # noqa: PLW1509  # A controlling terminal is had no other way.
    )
    shown = b""
    while b"type" not in shown or not shown.endswith(b": "):
        shown += os.read(ours, 1024)
    os.write(ours, typed.encode() + b"\n")
    process.communicate(timeout=30)
    os.close(ours)
    os.close(theirs)

    assert said_json(work, "status", "--session", "S")["state"] == state


def test_purging_asks_first_and_then_removes_what_it_names(work: Path, state_root: Path) -> None:
    run(work, "decline", "--reason", "small", "--session", "S")

    assert run(work, "purge", "--session", "S").returncode == 2
    assert run(work, "purge", "--session", "S", "--yes").returncode == 0
    assert said_json(work, "status", "--session", "S")["state"] == "idle"
    assert said_json(work, "receipts")["receipts"] == []


@pytest.mark.parametrize("which", [("--session", "S"), ("--all",)])
def test_a_plan_under_way_is_not_purged_without_a_terminal(
    work: Path, which: tuple[str, ...]
) -> None:
    run(work, "arm", "--plan", "plan.yaml", "--session", "S")

    assert run(work, "purge", *which, "--yes").returncode == 1
    assert said_json(work, "status", "--session", "S")["state"] == "armed"


def test_a_state_folder_that_cannot_be_made_is_a_refusal_not_a_bug(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNKEEPER_STATE_DIR", "/proc/nowhere")

    ran = run(work, "arm", "--plan", "plan.yaml", "--session", "S")

    assert ran.returncode == 1
    assert "cannot make" in ran.stderr
    assert "bug" not in ran.stderr
