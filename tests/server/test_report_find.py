"""What a report is about: a file, all below a folder, or a session by its id."""

import os
from pathlib import Path

import pytest

from core.store.root import session_dir
from server.report import find as find_module
from server.report.find import Found, NothingFound, find

CLAUDE_ID = "0b9d3c1e-1111-4222-8333-444455556666"
OTHER_ID = "0b9d3c1e-9999-4222-8333-444455556666"
CODEX_ID = "019b2a7c-5555-7666-8777-888899990000"


def write(path: Path, text: str = "{}\n") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TURNKEEPER_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def claude(home: Path) -> str:
    write(home / f".claude/projects/-work/{OTHER_ID}.jsonl")
    return write(home / f".claude/projects/-work/{CLAUDE_ID}.jsonl")


@pytest.fixture
def codex(home: Path) -> str:
    name = f"rollout-2026-02-03T04-05-06-{CODEX_ID}.jsonl"
    return write(home / ".codex/sessions/2026/02/03" / name)


def test_a_file_is_meant_by_its_path_whatever_its_name(tmp_path: Path, home: Path) -> None:
    path = write(tmp_path / "capture.txt")

    assert find(path, str(home), {}) == Found([path])


def test_a_session_is_found_by_its_id_in_each_host(home: Path, claude: str, codex: str) -> None:
    assert find(CLAUDE_ID, str(home), {}) == Found([claude], CLAUDE_ID)
    assert find(CLAUDE_ID.upper(), str(home), {}) == Found([claude], CLAUDE_ID)
    assert find(CODEX_ID, str(home), {}) == Found([codex], CODEX_ID)


def test_the_start_of_an_id_names_its_session_when_no_other_begins_so(
    home: Path, claude: str, codex: str
) -> None:
    assert find(CODEX_ID[:8], str(home), {}) == Found([codex], CODEX_ID)
    assert find(CLAUDE_ID[:9] + "1", str(home), {}) == Found([claude], CLAUDE_ID)
    with pytest.raises(NothingFound, match=r"2 sessions begin with 0b9d3c1e: 0b9d3c1e-1.*, 0b"):
        find(CLAUDE_ID[:8], str(home), {})
    with pytest.raises(NothingFound, match="no session has the id 019b2a7") as refused:
        find(CODEX_ID[:7], str(home), {})
    assert refused.value.hint == "Give the whole id, or at least its first 8 characters."


def test_a_session_with_two_files_gives_both(home: Path, claude: str) -> None:
    second = write(home / f".claude/projects/-other/{CLAUDE_ID}.jsonl")

    assert sorted(find(CLAUDE_ID, str(home), {}).files) == [second, claude]


def test_the_hosts_own_variables_move_their_folders(tmp_path: Path, home: Path) -> None:
    claude = write(tmp_path / f"c/projects/-work/{CLAUDE_ID}.jsonl")
    codex = write(tmp_path / f"x/sessions/2026/02/03/rollout-2026-02-03T04-05-06-{CODEX_ID}.jsonl")
    moved = {"CLAUDE_CONFIG_DIR": str(tmp_path / "c"), "CODEX_HOME": str(tmp_path / "x")}

    assert find(CLAUDE_ID, str(home), moved).files == [claude]
    assert find(CODEX_ID, str(home), moved).files == [codex]
    assert sorted(find(None, str(home), moved).files) == sorted([claude, codex])


def test_a_session_that_only_turnkeeper_knows_has_no_file(home: Path, state: Path) -> None:
    os.makedirs(session_dir(str(state), "my session"))

    assert find("my session", str(home), {}) == Found([], "my session")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("nowhere/s.jsonl", "nowhere/s.jsonl: no such file or folder"),
        ("s.jsonl", "s.jsonl: no such file or folder"),
        ("deadbeef-0000", "no session is known whose id is deadbeef-0000 or begins so"),
        ("x\x1b[1m", "no session has the id x[1m, and no file or folder that name"),
        (None, "no agent host has a recording below "),
    ],
)
def test_what_is_not_there_is_named_with_the_next_step(
    home: Path, target: str | None, message: str
) -> None:
    with pytest.raises(NothingFound) as refused:
        find(target, str(home), {})

    assert refused.value.message.startswith(message)
    assert refused.value.hint


def test_a_pipe_is_refused(tmp_path: Path, home: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(NothingFound, match="pipe is no regular file"):
        find(str(tmp_path / "pipe"), str(home), {})


def test_a_folder_means_all_main_recordings_below_it(tmp_path: Path, home: Path) -> None:
    top = tmp_path / "top"
    main = write(top / "p/s-1.jsonl")
    wanted = [
        main,
        write(top / ".hidden/deep/er/s-2.jsonl"),
        write(top / "p/agent-lone.jsonl", '{"sessionId":"s-9"}\n'),
        write(top / "p/agent-odd.jsonl", "no json"),
        write(top / "p/s-3/subagents/agent-c.jsonl"),  # Its session's own file is gone.
    ]
    write(top / "p/agent-a.jsonl", '{"isSidechain":true, "sessionId": "s-1"}\n')
    write(top / "p/s-1/subagents/agent-b.jsonl")
    write(top / "p/s-1/subagents/workflows/w/agent-d.jsonl")
    write(top / "p/s-1/tool-results/out.txt")
    (top / "folder.jsonl").mkdir()

    assert find(str(top), str(home), {}) == Found(sorted(wanted))


def test_what_is_linked_is_found_once(tmp_path: Path, home: Path) -> None:
    top = tmp_path / "top"
    inside = write(top / "real/s-1.jsonl")
    outside = write(tmp_path / "elsewhere/s-2.jsonl")
    (top / "a-link").symlink_to(top / "real")
    (top / "real/up").symlink_to(top)
    (top / "b-link").symlink_to(tmp_path / "elsewhere")
    (top / "c-link.jsonl").symlink_to(inside)
    (top / "dead.jsonl").symlink_to(tmp_path / "gone")

    found = find(str(top), str(home), {}).files

    assert [os.path.realpath(path) for path in found] == [outside, inside]


def test_a_folder_without_recordings_is_refused(tmp_path: Path, home: Path) -> None:
    with pytest.raises(NothingFound, match=r"holds no recording: there is no \.jsonl file in it"):
        find(str(tmp_path), str(home), {})


def test_a_folder_with_too_much_in_it_is_refused(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        write(tmp_path / f"top/{number}.jsonl")
    monkeypatch.setattr(find_module, "ENTRIES_MAX", 4)
    assert len(find(str(tmp_path / "top"), str(home), {}).files) == 4

    monkeypatch.setattr(find_module, "ENTRIES_MAX", 3)
    with pytest.raises(NothingFound, match="holds more than 3 files and folders"):
        find(str(tmp_path / "top"), str(home), {})


def test_a_folder_that_cannot_be_read_is_told_and_the_rest_is_found(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "top/s-1.jsonl")
    locked = write(tmp_path / "top/locked/s-2.jsonl")
    refused = os.path.dirname(locked)
    real = os.scandir

    def scandir(folder: str) -> object:
        if folder == refused:  # The superuser may read any folder, so a mode would not do.
            raise PermissionError(13, "Permission denied", folder)
        return real(folder)

    monkeypatch.setattr(os, "scandir", scandir)

    assert find(str(tmp_path / "top"), str(home), {}) == Found([path], unread=(refused,))
