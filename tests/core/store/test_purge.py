"""After a purge nothing is left of a session, and nothing of another is touched."""

from pathlib import Path

import pytest

from core.store.failures import Gone
from core.store.purge import purge_all, purge_session
from core.store.receipts import Ledger
from tests.core.store.support import (
    NEVER_WAS,
    SESSION,
    expected_ids,
    fact,
    folder,
    journal_lines,
    opened,
    receipt_ids,
)


def ledger(root: Path) -> Ledger:
    return Ledger(str(root / "receipts.jsonl"))


def grep(root: Path, text: bytes) -> list[str]:
    files = [path for path in root.rglob("*") if path.is_file()]
    return [path.name for path in files if text in path.read_bytes()]


def test_a_purged_session_is_nowhere_and_others_are_untouched(tmp_path: Path) -> None:
    mine, _ = opened(tmp_path, "mine")
    mine.append([fact("secret", receipts=1)], sync=False)
    other, _ = opened(tmp_path)
    other.append([fact("a", receipts=2)], sync=False)
    mine.append([fact("secret", receipts=1)], sync=False)
    mine.write_checkpoint({"names": ["secret"]})

    assert purge_session(str(tmp_path), "mine", ledger(tmp_path))

    assert grep(tmp_path, b"secret") == []
    assert len(list((tmp_path / "sessions").iterdir())) == 1
    other.append([fact("b", receipts=1)], sync=False)
    assert receipt_ids(tmp_path) == expected_ids(journal_lines(tmp_path))
    assert not purge_session(str(tmp_path), "mine", ledger(tmp_path))


def test_a_rewritten_ledger_makes_no_other_session_write_a_receipt_twice(tmp_path: Path) -> None:
    opened(tmp_path, "mine")[0].append([fact("x", receipts=9)], sync=False)
    store, _ = opened(tmp_path)
    store.append([fact("a", receipts=1)], sync=False)
    store.write_checkpoint({"names": ["a"]})
    purge_session(str(tmp_path), "mine", ledger(tmp_path))
    store.append([fact("b", receipts=1)], sync=False)
    opened(tmp_path, "third")[0].append([fact("y", receipts=9)], sync=False)

    opened(tmp_path)

    assert receipt_ids(tmp_path) == expected_ids(journal_lines(tmp_path))


def test_a_process_that_has_a_purged_session_open_is_told_and_brings_nothing_back(
    tmp_path: Path,
) -> None:
    store, _ = opened(tmp_path)
    store.append([fact("a")], sync=False)
    purge_session(str(tmp_path), SESSION, ledger(tmp_path))

    with pytest.raises(Gone):
        store.append([fact("b")], sync=False)
    with pytest.raises(Gone):
        store.write_checkpoint({"names": ["a"]})
    assert not folder(tmp_path).exists()

    again, found = opened(tmp_path)
    assert found == NEVER_WAS
    again.append([fact("c")], sync=False)
    assert [line["seq"] for line in journal_lines(tmp_path)] == [1]


def test_a_session_begun_anew_after_a_purge_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    store, _ = opened(tmp_path)
    store.append([fact("a")], sync=False)
    store.close()
    kept = (folder(tmp_path) / "journal.jsonl").open("rb")  # So that its inode is not used again.
    purge_session(str(tmp_path), SESSION, ledger(tmp_path))
    opened(tmp_path)[0].append([fact("b")], sync=False)

    with kept, pytest.raises(Gone):
        store.append([fact("c")], sync=False)


def test_purging_all_leaves_an_empty_root(tmp_path: Path) -> None:
    for session in ("one", "two"):
        opened(tmp_path, session)[0].append([fact("a", receipts=1)], sync=False)
    (tmp_path / "captures").mkdir()
    (tmp_path / "captures" / "abc").touch()

    assert purge_all(str(tmp_path), ledger(tmp_path)) == 2
    assert list(tmp_path.iterdir()) == []
    assert purge_all(str(tmp_path), ledger(tmp_path)) == 0
