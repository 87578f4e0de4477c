"""Replays of small recorded sessions through a real server process."""

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from core.events import ToolCall
from core.recordings.contract import FileChange, SkillBody
from server.child import turnkeeper_argv
from server.interrupts import Interrupts
from server.replay.client import ChildFailed, Refused, Sidecar
from server.replay.messages import message_of
from server.replay.scratch import DEPTH_MAX, FILE_BYTES_MAX, PLAYED_CHARS_MAX, Scratch

CWD = "/repo"
BASE = {"sessionId": "s-1", "cwd": CWD, "version": "2.1.332", "isSidechain": False}
PLAN = """\
version: 1
task_id: T1
phases:
  - id: write
    task_prompt: Write out.md.
    exit_criteria:
      - artifact_contains: "out.md::done"
"""

Row = dict[str, Any]


def user(content: Any, **more: Any) -> Row:
    return {**BASE, "type": "user", "message": {"role": "user", "content": content}, **more}


def assistant(*content: Row, message_id: str) -> Row:
    usage = {"input_tokens": 3, "output_tokens": 5}
    message = {"id": message_id, "model": "claude-x", "content": list(content), "usage": usage}
    return {**BASE, "type": "assistant", "message": message}


def tool_row(call_id: str, name: str, **given: Any) -> Row:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def result_row(call_id: str) -> Row:
    return user([{"type": "tool_result", "tool_use_id": call_id, "content": "ok"}])


SESSION = (
    user("write it", uuid="u-1"),
    assistant(tool_row("t-1", "Bash", command="make"), message_id="m-1"),
    result_row("t-1"),
    assistant({"type": "text", "text": "done"}, message_id="m-2"),
    user("Stop hook feedback:\nnot yet", isMeta=True),
    assistant(
        tool_row("t-2", "Write", file_path=f"{CWD}/out.md", content="done"), message_id="m-3"
    ),
    result_row("t-2"),
    assistant({"type": "text", "text": "now it is"}, message_id="m-4"),
)


def recorded(folder: Path, *rows: Row) -> str:
    path = folder / "s-1.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def plan_file(folder: Path, text: str = PLAN) -> str:
    path = folder / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def environment(folder: Path) -> dict[str, str]:
    scratches = folder / "scratches"
    scratches.mkdir(exist_ok=True)
    ours = {"TURNKEEPER_LEDGER": str(folder / "own-receipts.jsonl")}
    return {**os.environ, **ours, "TMPDIR": str(scratches), "HOME": str(folder)}


def turnkeeper(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        turnkeeper_argv("replay", *args),
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=60,
    )


def written_to(output: int, folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        turnkeeper_argv("replay", *args),
        env=environment(folder),
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )


def replayed(folder: Path, *args: str) -> Any:
    done = turnkeeper(folder, "--json", *args)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_a_stop_is_judged_by_the_files_as_they_stood_at_it(tmp_path: Path) -> None:
    found = replayed(tmp_path, recorded(tmp_path, *SESSION), "--plan", plan_file(tmp_path))

    (turn,) = found["turns"]
    assert [(v["decision"], v["recorded"]) for v in turn["verdicts"]] == [
        ("block", "blocked"),
        ("allow", None),
    ]
    assert [gap["criterionId"] for gap in turn["verdicts"][0]["gaps"]] == ["write.1"]
    assert (found["blocks"], found["advances"], found["completed"]) == (1, 0, True)
    assert found["notReproduced"] == {"shellCalls": 1, "files": []}
    assert found["receipts"][-1]["event"] == "phase_plan_complete"


def test_without_a_plan_every_turn_is_accounted_and_allowed(tmp_path: Path) -> None:
    found = replayed(tmp_path, recorded(tmp_path, *SESSION))

    (turn,) = found["turns"]
    assert (found["sessionId"], found["runtime"]) == ("s-1", "claude_code")
    assert [verdict["decision"] for verdict in turn["verdicts"]] == ["allow", "allow"]
    assert turn["accounting"]["usage"]["output"] == 20
    assert turn["accounting"]["snapshot"]["entries"]["tools"]["detail"] == "Bash × 1, Write × 1"


def test_unreadable_lines_are_counted_and_named(tmp_path: Path) -> None:
    path = recorded(tmp_path, *SESSION)
    with open(path, "ab") as file:
        file.write(b'[1]\n{"type": "user", "mess')

    found = replayed(tmp_path, path)

    assert [fault["line"] for fault in found["unreadable"]] == [9, 10]


def test_another_format_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    path = recorded(tmp_path, {"type": "session", "id": "x", "provider": "p"})

    done = turnkeeper(tmp_path, path)

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "another program" in done.stderr


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    for path, told in ((str(tmp_path / "pipe"), "no regular file"), ("-", "save stdin to a file")):
        done = turnkeeper(tmp_path, path)

        assert (done.returncode, done.stdout) == (2, "")
        assert told in done.stderr


def test_a_faulty_plan_is_refused_with_its_place(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, PLAN.replace("artifact_contains", "artifact_sings"))

    done = turnkeeper(tmp_path, recorded(tmp_path, *SESSION), "--plan", plan)

    assert done.returncode == 2
    assert "plan.yaml:7:" in done.stderr


def test_the_given_workspace_stays_as_it_was(tmp_path: Path) -> None:
    workspace = tmp_path / "project"
    workspace.mkdir()
    (workspace / "out.md").write_text("mine", encoding="utf-8")

    replayed(tmp_path, recorded(tmp_path, *SESSION), "--workspace", str(workspace))

    assert [path.name for path in workspace.iterdir()] == ["out.md"]
    assert (workspace / "out.md").read_text(encoding="utf-8") == "mine"


def test_a_skill_of_the_user_does_not_reach_into_a_replay(tmp_path: Path) -> None:
    skill = tmp_path / ".claude" / "skills" / "mine"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: mine\n---\nbody\n", encoding="utf-8")
    call = assistant(tool_row("t-1", "Skill", skill="mine"), message_id="m-1")

    found = replayed(tmp_path, recorded(tmp_path, user("go"), call, result_row("t-1")))

    snapshot = found["turns"][0]["accounting"]["snapshot"]
    assert "skills" not in snapshot["entries"]
    assert [unknown["name"] for unknown in snapshot["unknown"]] == ["mine"]


def test_the_state_is_kept_only_where_it_was_asked_for(tmp_path: Path) -> None:
    path, state = recorded(tmp_path, *SESSION), tmp_path / "kept"

    replayed(tmp_path, path, "--plan", plan_file(tmp_path), "--state", str(state))

    assert any(state.iterdir())
    assert not (tmp_path / "own-receipts.jsonl").exists()
    assert list((tmp_path / "scratches").iterdir()) == []


def test_a_second_replay_is_not_mixed_into_the_state_of_the_first(tmp_path: Path) -> None:
    path, state = recorded(tmp_path, *SESSION), tmp_path / "kept"
    replayed(tmp_path, path, "--state", str(state))
    before = {found: found.stat().st_mtime_ns for found in state.rglob("*")}

    done = turnkeeper(tmp_path, path, "--state", str(state))

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("holds session s-1 already; name a new or an empty folder.\n")
    assert {found: found.stat().st_mtime_ns for found in state.rglob("*")} == before

    other = recorded(tmp_path, *({**row, "sessionId": "s-2"} for row in SESSION))
    assert replayed(tmp_path, other, "--state", str(state))["sessionId"] == "s-2"


def test_a_folder_of_something_else_stays_as_it_was(tmp_path: Path) -> None:
    state = tmp_path / "project"
    (state / "sessions").mkdir(parents=True)
    (state / "sessions" / "login.py").write_text("", encoding="utf-8")
    state.chmod(0o755)

    done = turnkeeper(tmp_path, recorded(tmp_path, *SESSION), "--state", str(state))

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "holds something else" in done.stderr
    assert (os.listdir(state), state.stat().st_mode & 0o777) == (["sessions"], 0o755)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_nothing_behind(tmp_path: Path, number: int, code: int) -> None:
    turns = [(user(f"go {n}", uuid=f"u-{n}"), *SESSION[1:]) for n in range(2_000)]
    path = recorded(tmp_path, *(row for turn in turns for row in turn))
    process = subprocess.Popen(
        turnkeeper_argv("replay", path), env=environment(tmp_path), stdout=subprocess.DEVNULL
    )
    scratches = tmp_path / "scratches"
    while not any(scratches.glob("*/state/*")):
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.02)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("ascii").split()

    process.send_signal(number)

    assert process.wait(30) == code
    assert list(scratches.iterdir()) == []
    assert children
    assert [child for child in children if Path("/proc", child).exists()] == []


def test_a_signal_between_two_sections_is_held_until_the_next() -> None:
    seen: list[str] = []

    def work() -> None:
        with Interrupts() as interrupts:
            with interrupts.heard():
                seen.append("first")
            signal.raise_signal(signal.SIGINT)
            seen.append("between")
            with interrupts.heard():
                seen.append("second")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert seen == ["first", "between"]


def test_a_signal_during_the_last_clean_up_is_raised_after_it() -> None:
    seen: list[str] = []

    def work() -> None:
        with Interrupts():
            signal.raise_signal(signal.SIGTERM)
            seen.append("cleaned up")

    with pytest.raises(SystemExit) as ending:
        work()
    assert seen == ["cleaned up"]
    assert ending.value.code == 128 + signal.SIGTERM


def test_a_long_replay_shows_its_progress_on_a_terminal_and_takes_it_away(tmp_path: Path) -> None:
    turns = [(user(f"go {n}", uuid=f"u-{n}"), *SESSION[1:]) for n in range(2_000)]
    path = recorded(tmp_path, *(row for turn in turns for row in turn))
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        turnkeeper_argv("replay", path),
        env={**environment(tmp_path), "COLUMNS": "80"},
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    told = b""
    while b"] " not in told:
        told += os.read(ours, 1024)
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(OSError):  # So a terminal says that nobody writes to it any more.
        while part := os.read(ours, 1024):
            told += part
    os.close(ours)

    assert process.wait(30) == 130
    assert told.startswith(b"\rreplaying ")
    assert re.search(rb"\r +\r\s*\Z", told)
    assert b"\x1b" not in told


def test_a_reader_that_has_seen_enough_is_no_failure(tmp_path: Path) -> None:
    path = recorded(tmp_path, *SESSION)
    reads, writes = os.pipe()
    os.close(reads)

    done = written_to(writes, tmp_path, path)
    os.close(writes)

    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_under_the_output_is_told(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = written_to(full.fileno(), tmp_path, recorded(tmp_path, *SESSION))

    told = "turnkeeper: cannot write the output: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, told)


def test_a_server_that_is_gone_is_named_with_its_exit_code(tmp_path: Path) -> None:
    state = {"TURNKEEPER_STATE_DIR": str(tmp_path / "state")}
    with Sidecar(str(tmp_path), {**os.environ, **state}) as sidecar:
        sidecar.initialize(str(tmp_path))
        sidecar.close()

        with pytest.raises(ChildFailed, match="exit code 0"):
            sidecar.request("turnkeeper/stats", {})


def test_what_the_server_refuses_comes_with_its_code(tmp_path: Path) -> None:
    state = {"TURNKEEPER_STATE_DIR": str(tmp_path / "state")}
    with Sidecar(str(tmp_path), {**os.environ, **state}) as sidecar:
        sidecar.initialize(str(tmp_path))

        with pytest.raises(Refused) as refused:
            sidecar.request(
                "turnkeeper/usage", {"sessionId": "never-seen", "input": 1, "output": 1}
            )

    assert refused.value.code == -31001


def test_an_input_of_null_is_sent_as_null() -> None:
    message = message_of(ToolCall("t-1", "Read", None))

    assert message == ("turnkeeper/toolCall", {"toolUseId": "t-1", "name": "Read", "input": None})


def test_edits_are_played_one_after_the_other() -> None:
    with Scratch(CWD) as scratch:
        scratch.play(FileChange("Write", f"{CWD}/a/b.txt", content="one two two"))
        scratch.play(FileChange("Edit", "a/b.txt", edits=(("one", "1", False),)))
        scratch.play(FileChange("MultiEdit", f"{CWD}/a/b.txt", edits=(("two", "2", True),)))

        place = scratch.place_of(f"{CWD}/a/b.txt")
        assert place is not None
        assert Path(place).read_text(encoding="utf-8") == "1 2 2"


def test_an_edit_begins_from_the_recorded_text_when_there_is_one() -> None:
    with Scratch(CWD) as scratch:
        change = FileChange(
            "Edit", f"{CWD}/a.txt", original="old text", edits=(("old", "new", False),)
        )

        assert scratch.play(change)
        assert (Path(scratch.workspace) / "a.txt").read_text(encoding="utf-8") == "new text"


@pytest.mark.parametrize(
    "path",
    [
        *("/elsewhere/a.txt", f"{CWD}/../a.txt", "../a.txt", "..", f"{CWD}x/a.txt"),
        *(CWD, "", ".", "a\0b", "a" * 300, "a/" * 3_000 + "b", "C:\\repo\\..\\..\\a.txt"),
    ],
)
def test_nothing_is_played_outside_the_scratch_workspace(path: str) -> None:
    with Scratch(CWD) as scratch:
        assert not scratch.play(FileChange("Write", path, content="x"))
        assert not scratch.play(FileChange("Edit", path, edits=(("", "x", False),)))
        assert os.listdir(scratch.workspace) == []


def test_nothing_is_played_through_a_link(tmp_path: Path) -> None:
    with Scratch(CWD) as scratch:
        os.symlink(tmp_path / "outside.txt", os.path.join(scratch.workspace, "link.txt"))

        assert not scratch.play(FileChange("Write", f"{CWD}/link.txt", content="x"))
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_folder_for_another() -> None:
    with Scratch(CWD) as scratch:
        assert scratch.play(FileChange("Write", f"{CWD}/a", content="x"))

        assert not scratch.play(FileChange("Write", f"{CWD}/a/b", content="x"))


def test_edits_that_double_a_file_again_and_again_end_at_the_limit() -> None:
    doubling = tuple(("a", "aa", True) for _ in range(60))
    with Scratch(CWD) as scratch:
        change = FileChange("MultiEdit", f"{CWD}/a.txt", original="a", edits=doubling)

        assert not scratch.play(change)
        at_limit = doubling[: PLAYED_CHARS_MAX.bit_length() - 1]
        assert scratch.play(change._replace(edits=at_limit))
        size = os.path.getsize(os.path.join(scratch.workspace, "a.txt"))
    assert size == PLAYED_CHARS_MAX


def test_folders_that_lie_too_deep_are_left_out(tmp_path: Path) -> None:
    deepest = tmp_path.joinpath(*["d"] * DEPTH_MAX)
    (deepest / "d").mkdir(parents=True)
    for folder in (deepest, deepest / "d"):
        (folder / "a.txt").write_text("x", encoding="utf-8")

    with Scratch(CWD) as scratch:
        assert scratch.copy_from(str(tmp_path)) == (1, 1)
        assert scratch.play(FileChange("Write", "d/" * DEPTH_MAX + "a.txt", content="x"))
        assert not scratch.play(FileChange("Write", "d/" * (DEPTH_MAX + 1) + "a", content="x"))


def test_the_scratch_folder_is_not_copied_into_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain.txt").write_text("x", encoding="utf-8")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Scratch(CWD) as scratch:
        assert scratch.copy_from(str(tmp_path)) == (1, 0)
        assert os.listdir(scratch.workspace) == ["plain.txt"]


def test_an_edit_that_does_not_fit_is_not_played() -> None:
    with Scratch(CWD) as scratch:
        assert not scratch.play(FileChange("Edit", f"{CWD}/a.txt", edits=(("old", "new", False),)))


def test_links_and_large_files_stay_out_of_the_copy(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("x", encoding="utf-8")
    (tmp_path / "link.txt").symlink_to(tmp_path / "plain.txt")
    (tmp_path / "folder").symlink_to(tmp_path)
    with open(tmp_path / "large.bin", "wb") as file:
        file.truncate(FILE_BYTES_MAX + 1)

    with Scratch(CWD) as scratch:
        copied = scratch.copy_from(str(tmp_path))

        assert os.listdir(scratch.workspace) == ["plain.txt"]
        assert copied == (1, 3)


def test_a_recorded_skill_lies_where_skills_are_looked_for() -> None:
    with Scratch(CWD) as scratch:
        scratch.keep_skill(SkillBody(f"{CWD}/.claude/skills/near", "# Near"))
        scratch.keep_skill(SkillBody("/elsewhere/skills/far", "# Far"))

        near = Path(scratch.workspace, ".claude", "skills", "near", "SKILL.md")
        far = Path(scratch.home, ".claude", "skills", "far", "SKILL.md")
        assert near.read_text(encoding="utf-8") == "# Near"
        assert far.read_text(encoding="utf-8") == "# Far"
