"""Where transcripts lie, whose they are, and which rows are Claude Code's."""

import os
from pathlib import Path

import pytest

from core.recordings.recording import Recording
from core.runtimes.claude_code import RUNTIME
from tests.core.runtimes.claude.given import (
    BASE,
    OTHER,
    SESSION,
    Row,
    assistant,
    hook,
    init,
    text,
    user,
    written,
)

CODEX_FILE = "/house/dev/.codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-x.jsonl"


def projects(home: Path) -> Path:
    return home / ".claude" / "projects"


def listed(home: Path, workspace: str, **environ: str) -> list[str]:
    assert RUNTIME.recordings is not None
    found = RUNTIME.recordings(str(home), environ, workspace)
    return [os.path.relpath(path, home) for path in found]


def made(path: Path, age: int) -> Path:
    written(path, user("go"))
    os.utime(path, (1_000_000 - age, 1_000_000 - age))
    return path


def test_recordings_of_a_workspace_come_newest_first(tmp_path: Path) -> None:
    own = projects(tmp_path) / "-repo-my-app-v1"
    made(own / "old.jsonl", 9)
    made(own / "new.jsonl", 1)
    made(own / "agent-a1f.jsonl", 0)
    made(projects(tmp_path) / "-else" / "other.jsonl", 5)
    (own / "loop.jsonl").symlink_to("loop.jsonl")

    place = ".claude/projects/-repo-my-app-v1"
    assert listed(tmp_path, "/repo/my.app_v1/") == [f"{place}/new.jsonl", f"{place}/old.jsonl"]
    assert [os.path.basename(path) for path in listed(tmp_path, "")] == [
        "new.jsonl",
        "other.jsonl",
        "old.jsonl",
    ]


def test_the_folder_of_the_program_can_be_elsewhere(tmp_path: Path) -> None:
    made(tmp_path / "conf" / "projects" / "-repo" / "s.jsonl", 1)

    elsewhere = str(tmp_path / "conf")
    assert listed(tmp_path, "/repo", CLAUDE_CONFIG_DIR=elsewhere) == ["conf/projects/-repo/s.jsonl"]
    assert listed(tmp_path, "/repo") == []


def test_characters_beyond_the_first_plane_are_two_dashes(tmp_path: Path) -> None:
    made(projects(tmp_path) / "-repo----x" / "s.jsonl", 1)

    assert len(listed(tmp_path, "/repo/\U0001f600/x")) == 1


def test_a_long_workspace_is_found_by_the_start_of_its_folder(tmp_path: Path) -> None:
    workspace = "/repo/" + "x" * 250
    folder = workspace.replace("/", "-")[:200] + "-1a2b3c"
    made(projects(tmp_path) / folder / "s.jsonl", 1)

    assert len(listed(tmp_path, workspace)) == 1


def test_a_session_is_called_as_its_file(tmp_path: Path) -> None:
    rows = [user("go", sessionId=OTHER), assistant(text("a"), sessionId=OTHER)]

    alone = Recording(written(tmp_path / f"{SESSION}.jsonl", *rows)).head
    assert (alone.session_id, alone.parent_session_id) == (SESSION, None)
    written(tmp_path / f"{OTHER}.jsonl", *rows)
    fork = Recording(str(tmp_path / f"{SESSION}.jsonl")).head
    assert (fork.session_id, fork.parent_session_id) == (SESSION, OTHER)
    copy = Recording(written(tmp_path / "copy.jsonl", *rows)).head
    assert (copy.session_id, copy.parent_session_id) == (OTHER, None)


@pytest.mark.parametrize(
    ("row", "is_ours"),
    [
        (user("go"), True),
        ({"type": "summary", "summary": "A talk.", "leafUuid": "u-1"}, True),
        ({**BASE, "type": "brand-new"}, True),
        (init("i-1"), True),
        ({"type": "result", "subtype": "success", "session_id": "s"}, True),
        ({"type": "stream_event", "event": {"type": "message_stop"}}, True),
        (hook("Stop"), True),
        (hook("MessageDisplay", turn_id="x", prompt_id="p-1"), True),
        ({"headers": {}, "payload": hook("Stop")}, True),
        ({"class": "AssistantMessage", "content": []}, True),
        (hook("Stop", turn_id="t-1"), False),
        (hook("SessionStart", model="gpt-x", permission_mode="default"), False),
        ({**hook("SessionEnd"), "transcript_path": CODEX_FILE}, False),
        (hook("PostModelRequest"), False),
        (hook("sessionStart"), False),
        ({"type": "session", "id": "x", "provider": "p"}, False),
        ({"type": "user", "payload": {}, "message": {}}, False),
        ({"type": "response_item", "payload": {"type": "message"}}, False),
        ({"type": ["user"], "message": {}}, False),
        ({"class": "AssistantMessages"}, False),
        ({}, False),
    ],
)
def test_only_rows_of_claude_code_are_recognised(row: Row, is_ours: bool) -> None:
    assert RUNTIME.recognise(row) is is_ours
