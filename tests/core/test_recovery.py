"""Disks that refuse, files that were damaged or purged, and what may never be lost."""

import json
import os
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from core import events as e
from core.account import view
from core.errors import NotWritten, UnknownSession, Unreadable
from core.sessions import Sessions
from core.store.files import sync_data
from core.store.purge import purge_session
from core.store.receipts import Ledger
from core.store.root import ledger_path
from tests.core.given import SESSION, call, prompt, text, turn_end
from tests.core.shell import (
    arm_event,
    armed,
    begin,
    begun,
    codes,
    decision,
    folder,
    opened,
    receipts,
)


@contextmanager
def no_file_above(size_bytes: int) -> Iterator[None]:
    """Have the system refuse to let any file grow above that size, as a full disk would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_session_purged_while_it_is_open_is_unknown_and_begins_anew(
    root: str, workspace: Path
) -> None:
    uses: tuple[Callable[[Sessions], object], ...] = (
        lambda s: s.record(SESSION, prompt("t2")),
        lambda s: s.state(SESSION),
        lambda s: s.accounted(SESSION, None),
    )
    for use in uses:
        sessions = armed(root, workspace)
        purge_session(root, SESSION, Ledger(ledger_path(root)))

        with pytest.raises(UnknownSession):
            use(sessions)

        begin(sessions, workspace)
        assert sessions.state(SESSION).cursor.status == "idle"
        sessions.close()


def test_closing_passes_over_a_purged_session_and_keeps_the_others(
    root: str, workspace: Path
) -> None:
    sessions = armed(root, workspace)
    begin(sessions, workspace, "S2")
    purge_session(root, SESSION, Ledger(ledger_path(root)))

    sessions.close()

    assert not folder(root).exists()
    assert (folder(root, "S2") / "checkpoint.json").exists()


def test_a_fact_that_the_disk_refuses_is_refused_and_changes_nothing(
    root: str, workspace: Path
) -> None:
    sessions = armed(root, workspace)
    before = text(sessions.state(SESSION))
    size = (folder(root) / "journal.jsonl").stat().st_size

    with no_file_above(size + 10), pytest.raises(NotWritten):
        sessions.record(SESSION, turn_end())

    assert text(sessions.state(SESSION)) == before
    assert decision(sessions.record(SESSION, turn_end())) == "block"
    assert sessions.state(SESSION).cursor.blocks == 1


def test_a_checkpoint_that_the_disk_refuses_is_told_once_and_undoes_nothing(
    root: str, workspace: Path
) -> None:
    sessions = armed(root, workspace)
    (folder(root) / "checkpoint.json").mkdir()
    sessions.record(SESSION, e.SessionEnd())

    told = begin(sessions, workspace)
    sessions.record(SESSION, e.SessionEnd())

    assert codes(told) == ["checkpoint_not_written"]
    assert codes(begin(sessions, workspace)) == []
    os.rmdir(folder(root) / "checkpoint.json")
    assert text(opened(root).attach(SESSION)) == text(sessions.state(SESSION))


def test_receipts_that_the_disk_refuses_are_told_once_and_written_later(
    root: str, workspace: Path
) -> None:
    ledger = Path(ledger_path(root))
    sessions = begun(root, workspace)
    ledger.mkdir()
    assert codes(sessions.act(SESSION, arm_event())) == ["receipts_not_written"]
    assert codes(sessions.record(SESSION, prompt("t1"))) == []
    ledger.rmdir()
    sessions.record(SESSION, prompt("t2"))
    assert receipts(root) == ["phase_cursor_armed", *["phase_injection"] * 2]


def test_a_session_whose_files_cannot_be_read_is_refused_with_its_path(
    root: str, workspace: Path
) -> None:
    armed(root, workspace).close()
    shutil.rmtree(folder(root))
    folder(root).write_text("no folder")
    sessions = opened(root)

    with pytest.raises(Unreadable) as refused:
        begin(sessions, workspace)

    assert folder(root).name in refused.value.message


def test_an_empty_checkpoint_is_made_good_from_the_journal(root: str, workspace: Path) -> None:
    armed(root, workspace).close()
    (folder(root) / "checkpoint.json").write_bytes(b"")

    sessions = opened(root)

    assert codes(begin(sessions, workspace)) == ["journal_damaged"]
    assert decision(sessions.record(SESSION, turn_end())) == "block"


@pytest.mark.parametrize("checkpoint", [None, b""])
@pytest.mark.parametrize("facts", [None, b"", b"\0" * 300])
def test_a_plan_that_cannot_be_read_back_is_flagged_and_never_silently_gone(
    root: str, workspace: Path, checkpoint: bytes | None, facts: bytes | None
) -> None:
    armed(root, workspace).close()
    for name, content in (("checkpoint.json", checkpoint), ("journal.jsonl", facts)):
        (folder(root) / name).unlink()
        if content is not None:
            (folder(root) / name).write_bytes(content)

    sessions = opened(root)
    begin(sessions, workspace)
    ended = sessions.record(SESSION, turn_end())

    assert decision(ended) == "allow"
    assert "state_lost" in codes(ended)
    lost = next(flag for flag in ended.flags if flag.code == "state_lost")
    assert "journal.jsonl" in lost.message
    begin(opened(root), workspace)
    assert receipts(root).count("state_lost") == 1
    sessions.act(SESSION, arm_event())
    assert decision(sessions.record(SESSION, turn_end())) == "block"


def test_a_damaged_line_that_armed_the_plan_is_a_lost_plan(root: str, workspace: Path) -> None:
    armed(root, workspace).close()
    (folder(root) / "checkpoint.json").unlink()
    file = folder(root) / "journal.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"plan_armed"', b'"plan_harmd"'))

    sessions = opened(root)

    assert codes(begin(sessions, workspace)) == ["journal_damaged"]
    assert sessions.state(SESSION).cursor.status == "state_lost"
    assert receipts(root).count("state_lost") == 1
    assert "state_lost" in codes(sessions.record(SESSION, turn_end()))


def test_a_malformed_line_is_named_and_all_else_is_used(root: str, workspace: Path) -> None:
    sessions = armed(root, workspace)
    sessions.record(SESSION, call("c1"))
    sessions.record(SESSION, call("c2"))
    sessions.close()
    (folder(root) / "checkpoint.json").unlink()
    file = folder(root) / "journal.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[4] = b"{ glued" + lines[4]
    file.write_bytes(b"".join(lines))

    again = opened(root)
    told = begin(again, workspace)

    assert [flag.message.split(":")[0] for flag in told.flags] == ["journal.jsonl line 5"]
    assert again.state(SESSION).cursor.status == "armed"
    assert view(again.accounted(SESSION, "t1").data).snapshot.entries["tools"].detail == "Bash × 1"


def test_a_newer_state_is_left_alone(root: str, workspace: Path) -> None:
    armed(root, workspace).close()
    checkpoint = folder(root) / "checkpoint.json"
    head, rest = checkpoint.read_bytes().split(b"\n", 1)
    newer = {**json.loads(head), "v": 99}
    checkpoint.write_bytes(_printed_again(newer, rest))
    before = {path.name: path.read_bytes() for path in folder(root).iterdir()}

    with pytest.raises(Unreadable):
        begin(opened(root), workspace)

    assert {path.name: path.read_bytes() for path in folder(root).iterdir()} == before


def test_what_no_power_cut_may_undo_is_synced_before_the_answer(
    root: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def sync(descriptor: int, path: str) -> None:
        synced.append(path)
        sync_data(descriptor, path)

    monkeypatch.setattr("core.store.journal.sync_data", sync)
    sessions = begun(root, workspace)
    steps: dict[str, Callable[[], object]] = {
        "prompt": lambda: sessions.record(SESSION, prompt("t1")),
        "end": lambda: sessions.record(SESSION, turn_end()),
        "arm": lambda: sessions.act(SESSION, arm_event()),
        "call": lambda: sessions.record(SESSION, call("c")),
        "block": lambda: sessions.record(SESSION, turn_end()),
        "deliver": lambda: sessions.record(SESSION, prompt("t2")),
        "inject": lambda: sessions.record(SESSION, prompt("t3")),
        "interrupt": lambda: sessions.record(SESSION, turn_end("t3", outcome="interrupted")),
        "park": lambda: sessions.act(SESSION, e.Park("host")),
        "resume": lambda: sessions.act(SESSION, e.Resume("host")),
        "cancel": lambda: sessions.act(SESSION, e.Cancel("no", "host")),
    }
    durable = []
    for name, step in steps.items():
        synced.clear()
        step()
        durable += [name] if synced else []

    assert durable == ["arm", "block", "deliver", "interrupt", "park", "resume", "cancel"]


def test_files_are_the_users_alone(root: str, workspace: Path) -> None:
    armed(root, workspace).close()

    for path in Path(root).rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)


def _printed_again(head: dict[str, object], rest: bytes) -> bytes:
    head.pop("hash")
    body = json.dumps(head, separators=(",", ":")).encode() + b"\n" + rest
    start = body.index(b"\n")
    digest = sha256(body).hexdigest().encode()
    return body[: start - 1] + b',"hash":"' + digest + b'"}' + body[start:]
