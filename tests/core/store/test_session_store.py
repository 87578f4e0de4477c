"""One session on disk, as one process or two see it."""

import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from core.store import checkpoint, locks
from core.store.failures import Gone, Moved, StoreError
from core.store.receipts import RECEIPT_BYTES_MAX, Ledger, read_receipts
from core.store.session_store import CHECKPOINT_FACTS, CHECKPOINT_S, SessionStore
from tests.core.store.support import (
    SESSION,
    everything,
    expected_ids,
    fact,
    folder,
    journal_lines,
    names,
    opened,
    receipt_ids,
)

REPOSITORY = Path(__file__).resolve().parents[3]
BANNED = {
    *(
        "pathlib",
        "tempfile",
        "uuid",
        "logging",
        "dataclasses",
        "contextlib",
        "inspect",
        "subprocess",
    ),
    *("orjson", "attrs", "attr", "cattrs", "yaml", "platformdirs", "click"),
}


def test_what_append_gives_is_what_any_reader_sees(tmp_path: Path) -> None:
    given = opened(tmp_path)[0].append([fact("a\ud800"), fact("b")], sync=True)

    assert opened(tmp_path)[1].lines == given
    assert names(given) == ["a\ufffd", "b"]


def test_another_process_has_to_be_folded_before_anything_is_appended(tmp_path: Path) -> None:
    one, two = opened(tmp_path)[0], opened(tmp_path)[0]
    one.append([fact("a")], sync=False)

    with pytest.raises(Moved):
        two.append([fact("b")], sync=False)
    assert names(two.catch_up().lines) == ["a"]
    assert two.catch_up().lines == []
    two.append([fact("b")], sync=False)
    assert everything(tmp_path) == ["a", "b"]


def test_receipts_left_out_by_a_killed_process_are_written_by_whoever_folds_its_lines(
    tmp_path: Path,
) -> None:
    one, two = opened(tmp_path)[0], opened(tmp_path)[0]
    one.append([fact("a", receipts=2)], sync=False)
    ledger = tmp_path / "receipts.jsonl"
    first = ledger.read_bytes().splitlines(keepends=True)[0]
    ledger.write_bytes(first + b'{"v":1,"se')

    two.catch_up()

    assert receipt_ids(tmp_path) == expected_ids(journal_lines(tmp_path))


def test_a_checkpoint_is_due_after_so_many_facts_or_so_much_time(tmp_path: Path) -> None:
    store, _ = opened(tmp_path)
    assert not store.due(float("inf"))

    store.append([fact("a")], sync=False)
    assert not store.due(0.0)
    assert store.due(float("inf"))
    store.append([fact("b")] * (CHECKPOINT_FACTS - 2), sync=False)
    assert not store.due(0.0)
    store.append([fact("c")], sync=False)
    assert store.due(0.0)
    assert CHECKPOINT_S == 2.0

    store.write_checkpoint({})
    assert not store.due(float("inf"))


def test_an_older_state_never_replaces_a_checkpoint_that_covers_more(tmp_path: Path) -> None:
    old, new = opened(tmp_path)[0], opened(tmp_path)[0]
    old.append([fact("a")], sync=False)
    new.catch_up()
    new.append([fact("b")], sync=False)
    assert new.write_checkpoint({"names": ["a", "b"]})

    assert old.write_checkpoint({"names": ["a"]})
    assert opened(tmp_path)[1].state == {"names": ["a", "b"]}


def test_a_later_state_replaces_a_checkpoint_whatever_generations_passed_meanwhile(
    tmp_path: Path,
) -> None:
    one, two = opened(tmp_path)[0], opened(tmp_path)[0]
    for name in "abc":
        one.append([fact(name)], sync=False)
        assert one.write_checkpoint({"names": [name]})
    two.catch_up()
    two.append([fact("d")], sync=False)
    assert two.write_checkpoint({"names": list("abcd")})

    assert everything(tmp_path) == list("abcd")


def test_what_a_killed_process_left_of_a_checkpoint_is_removed_but_not_a_live_ones(
    tmp_path: Path,
) -> None:
    opened(tmp_path)[0].append([fact("a")], sync=False)
    left, live = folder(tmp_path) / "checkpoint.1.tmp", folder(tmp_path) / "checkpoint.2.tmp"
    left.touch()
    with live.open("wb") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        checkpoint.clean(str(folder(tmp_path)))

    assert not left.exists()
    assert live.exists()


def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    for number, umask in enumerate([0o000, 0o777]):
        root = tmp_path / str(number) / "root"
        before = os.umask(umask)
        try:
            store, _ = opened(root)
            store.append([fact("a", receipts=1)], sync=False)
            store.write_checkpoint({})
        finally:
            os.umask(before)

        made = [root, *root.rglob("*")]
        assert len(made) == 8
        for path in made:
            want = 0o700 if path.is_dir() else 0o600
            assert stat.S_IMODE(path.stat().st_mode) == want, path


def test_a_long_receipt_is_cut_and_says_how_much_is_lacking(tmp_path: Path) -> None:
    paths = [f"some/long/path/number/{number}" for number in range(5000)]
    receipt = {"event": "phase_advance_drive", "artifact_paths": paths, "name": "x"}
    ledger = Ledger(str(tmp_path / "receipts.jsonl"))
    store = SessionStore(str(tmp_path), SESSION, ledger, lambda _: [receipt])
    store.append([fact("a")], sync=False)

    (found,) = read_receipts(ledger.path).receipts
    size = os.path.getsize(ledger.path)
    kept = len(found["artifact_paths"])
    assert RECEIPT_BYTES_MAX - 100 < size <= RECEIPT_BYTES_MAX
    assert found["artifact_paths"] == paths[:kept]
    assert found["artifact_paths_cut"] == 5000 - kept
    assert found["name"] == "x"


def test_a_lock_that_is_never_given_back_does_not_hang_a_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "WAIT_S_MAX", 0.01)
    store, _ = opened(tmp_path)
    store.append([fact("a")], sync=False)

    with (folder(tmp_path) / "lock").open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match="cannot lock"):
            store.append([fact("b")], sync=False)

    store.append([fact("b")], sync=False)
    assert everything(tmp_path) == ["a", "b"]


def test_descriptors_given_back_are_opened_again_when_needed(tmp_path: Path) -> None:
    store, _ = opened(tmp_path)
    store.append([fact("a")], sync=False)
    store.close()
    opened(tmp_path)[0].append([fact("b")], sync=False)

    assert names(store.catch_up().lines) == ["b"]
    store.append([fact("c")], sync=False)
    assert everything(tmp_path) == ["a", "b", "c"]


def test_a_session_removed_while_it_is_open_is_gone_not_half_there(tmp_path: Path) -> None:
    store, _ = opened(tmp_path)
    store.append([fact("a")], sync=False)
    (folder(tmp_path) / "journal.jsonl").unlink()

    for use in (store.catch_up, lambda: store.append([fact("b")], sync=False)):
        with pytest.raises(Gone):
            use()
    with pytest.raises(Gone):
        store.write_checkpoint({})


def test_a_hook_command_can_import_the_store_for_little() -> None:
    program = (
        "import sys, json, hashlib, typing; before = set(sys.modules); "
        "import core.store.session_store, core.store.root, core.store.purge; "
        "print(*(set(sys.modules) - before))"
    )
    loaded = subprocess.run(
        [sys.executable, "-ISc", f"import sys; sys.path.insert(0, {str(REPOSITORY)!r}); {program}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()

    assert "core.store.session_store" in loaded
    assert not BANNED & set(loaded)
