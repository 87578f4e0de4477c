"""One body for every damage: open again, say what is lost, append again, read all back."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import Unreadable
from core.store.failures import Moved
from core.store.lines import LineFault
from core.store.receipts import Ledger
from core.store.root import session_dir
from core.store.session_store import SessionStore
from tests.core.store.support import (
    NEVER_WAS,
    SESSION,
    everything,
    expected_ids,
    fact,
    folder,
    journal_lines,
    names,
    opened,
    project,
    receipt_ids,
)

Damage = Callable[[Path], None]
ALL = [f"f{number}" for number in range(1, 9)]


def journal(root: Path) -> Path:
    return folder(root) / "journal.jsonl"


def nothing(root: Path) -> None:
    """Leave all as it is."""


def cut_short(root: Path) -> None:
    data = journal(root).read_bytes()
    journal(root).write_bytes(b"".join(data.splitlines(keepends=True)[:6]))


def torn_last_line(root: Path) -> None:
    journal(root).write_bytes(journal(root).read_bytes()[:-7])


def half_a_line_more(root: Path) -> None:
    with journal(root).open("ab") as file:
        file.write(b'{"v":1,"seq":9,"id":"aa')


def nul_run(root: Path) -> None:
    lines = journal(root).read_bytes().splitlines(keepends=True)
    lines[2] = b"\0" * (len(lines[2]) - 1) + b"\n"
    journal(root).write_bytes(b"".join(lines))


def glued(root: Path) -> None:
    lines = journal(root).read_bytes().splitlines(keepends=True)
    journal(root).write_bytes(b"".join([lines[0], lines[1][:-1], *lines[2:]]))


def flipped_bit(root: Path) -> None:
    data = bytearray(journal(root).read_bytes())
    data[data.index(b'"f5"') + 1] ^= 1
    journal(root).write_bytes(data)


def no_checkpoint(root: Path) -> None:
    (folder(root) / "checkpoint.json").unlink()


def empty_checkpoint(root: Path) -> None:
    (folder(root) / "checkpoint.json").write_bytes(b"")


def half_a_checkpoint(root: Path) -> None:
    path = folder(root) / "checkpoint.json"
    path.write_bytes(path.read_bytes()[:-9])


def no_journal(root: Path) -> None:
    journal(root).unlink()


def first_line_torn(root: Path) -> None:
    journal(root).write_bytes(journal(root).read_bytes()[:20])


def no_folder(root: Path) -> None:
    shutil.rmtree(folder(root))


def empty_journal(root: Path) -> None:
    journal(root).write_bytes(b"")


def other(root: Path) -> Path:
    """Give the folder of another session, with two facts in it and a checkpoint."""
    store, _ = opened(root, "other")
    store.append([fact("x"), fact("y")], sync=False)
    store.write_checkpoint({"names": ["x", "y"]})
    return Path(session_dir(str(root), "other"))


def checkpoint_of_another_session(root: Path) -> None:
    shutil.copy(other(root) / "checkpoint.json", folder(root))


def lines_of_another_session(root: Path) -> None:
    with journal(root).open("ab") as file:
        file.write((other(root) / "journal.jsonl").read_bytes())


def journal_of_another_session(root: Path) -> None:
    shutil.copy(other(root) / "journal.jsonl", folder(root))


def both(*damages: Damage) -> Damage:
    def all_of_them(root: Path) -> None:
        for damage in damages:
            damage(root)

    all_of_them.__name__ = "+".join(damage.__name__ for damage in damages)
    return all_of_them


def filled(root: Path) -> None:
    """Write eight facts, the first four of them covered by a checkpoint."""
    store, _ = opened(root)
    for name in ALL[:4]:
        store.append([fact(name, receipts=1)], sync=False)
    assert store.write_checkpoint({"names": ALL[:4]})
    for name in ALL[4:]:
        store.append([fact(name, receipts=1)], sync=False)


def without(*lost: str) -> list[str]:
    return [name for name in ALL if name not in lost]


# What the damage leaves, how many faults are named, and whether facts with receipts are gone.
CASES = [
    (nothing, ALL, 0, False),
    (cut_short, without("f7", "f8"), 1, True),
    (torn_last_line, without("f8"), 1, True),
    (half_a_line_more, ALL, 0, False),
    (nul_run, ALL, 0, False),
    (glued, ALL, 2, False),
    (flipped_bit, without("f5"), 1, True),
    (no_checkpoint, ALL, 0, False),
    (empty_checkpoint, ALL, 1, False),
    (half_a_checkpoint, ALL, 1, False),
    (checkpoint_of_another_session, ALL, 1, False),
    (lines_of_another_session, ALL, 2, False),
    (both(no_checkpoint, lines_of_another_session), ALL, 2, False),
    (no_journal, ALL[:4], 2, True),
    (empty_journal, ALL[:4], 2, True),
    (journal_of_another_session, ALL[:4], 4, True),
    (both(empty_checkpoint, nul_run), without("f3"), 2, True),
    (both(empty_checkpoint, glued), without("f2", "f3"), 2, True),
    (both(no_checkpoint, flipped_bit), without("f5"), 1, True),
    (both(half_a_checkpoint, torn_last_line), without("f8"), 2, True),
    (both(no_checkpoint, cut_short), without("f7", "f8"), 1, True),
]


@pytest.mark.parametrize(
    ("damage", "kept", "faults", "lost"), CASES, ids=lambda case: getattr(case, "__name__", "")
)
def test_what_is_not_damaged_comes_back_and_the_session_goes_on(
    tmp_path: Path, damage: Damage, kept: list[str], faults: int, lost: bool
) -> None:
    filled(tmp_path)
    damage(tmp_path)

    store, found = opened(tmp_path)
    before = found.state["names"] if found.state else []
    assert before + names(found.lines) == kept
    assert len(found.faults) == faults
    assert found.lost == lost

    store.append([fact("again", receipts=1), fact("and again")], sync=True)
    assert everything(tmp_path) == [*kept, "again", "and again"]
    assert store.write_checkpoint({"names": [*kept, "again", "and again"]})
    store.append([fact("last", receipts=2)], sync=True)
    found = opened(tmp_path)[1]
    assert (names(found.lines), found.faults) == (["last"], [])
    ids = receipt_ids(tmp_path)
    assert len(ids) == len(set(ids))
    assert set(expected_ids(journal_lines(tmp_path))) <= set(ids)


@pytest.mark.parametrize(
    "damage",
    [
        both(empty_checkpoint, no_journal),
        both(empty_checkpoint, empty_journal),
        both(no_checkpoint, no_journal),
        both(no_checkpoint, empty_journal),
        both(half_a_checkpoint, no_journal),
        both(checkpoint_of_another_session, no_journal),
        both(no_checkpoint, journal_of_another_session),
        both(no_checkpoint, first_line_torn),
        no_folder,
    ],
    ids=lambda damage: damage.__name__,
)
def test_a_session_of_which_nothing_is_left_is_lost_not_empty(
    tmp_path: Path, damage: Damage
) -> None:
    filled(tmp_path)
    damage(tmp_path)

    assert opened(tmp_path)[1].lost


def test_a_journal_that_began_after_a_loss_is_lost_once_the_checkpoint_goes_too(
    tmp_path: Path,
) -> None:
    filled(tmp_path)
    no_journal(tmp_path)
    opened(tmp_path)[0].append([fact("later")], sync=False)
    assert everything(tmp_path) == [*ALL[:4], "later"]

    empty_checkpoint(tmp_path)
    assert opened(tmp_path)[1].lost


def test_a_session_that_never_was_is_not_lost_and_opening_it_writes_nothing(tmp_path: Path) -> None:
    _, found = opened(tmp_path)

    assert found == NEVER_WAS
    assert list(tmp_path.iterdir()) == []


def test_a_first_write_that_never_ended_is_no_loss(tmp_path: Path) -> None:
    filled(tmp_path)
    torn = journal(tmp_path).read_bytes()[:20]
    shutil.rmtree(tmp_path)
    folder(tmp_path).mkdir(parents=True)
    journal(tmp_path).write_bytes(torn)

    assert opened(tmp_path)[1] == NEVER_WAS


def test_the_fault_names_the_first_fact_that_only_a_receipt_tells_of(tmp_path: Path) -> None:
    filled(tmp_path)
    both(no_checkpoint, cut_short)(tmp_path)

    found = opened(tmp_path)[1]

    why = "receipts tell of facts that it lacks, the first is 7"
    assert found.faults == [LineFault("journal.jsonl", 0, why)]
    assert [receipt["seq"] for receipt in found.orphans] == [7, 8]


def test_a_receipt_whose_number_was_damaged_tells_of_no_loss(tmp_path: Path) -> None:
    filled(tmp_path)
    ledger = tmp_path / "receipts.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"seq":8', b'"seq":9'))

    assert not opened(tmp_path)[1].lost


def test_what_is_lost_is_told_once_more_facts_stand_behind_it_and_a_checkpoint(
    tmp_path: Path,
) -> None:
    filled(tmp_path)
    cut_short(tmp_path)
    store, _ = opened(tmp_path)
    store.append([fact("again")], sync=False)
    store.write_checkpoint({"names": [*ALL[:6], "again"]})

    found = opened(tmp_path)[1]

    assert (found.lost, found.faults) == (False, [])


@pytest.mark.parametrize(
    "head",
    [
        b'{"v":1,"generation":9223372036854775807,"seq":9223372036854775807,"hash":"00"}\n{}\n',
        b'{"v":7,"generation":5}\n{}\n',
        b"[]\n",
    ],
)
def test_a_checkpoint_that_does_not_prove_itself_is_replaced_whatever_it_says(
    tmp_path: Path, head: bytes
) -> None:
    filled(tmp_path)
    (folder(tmp_path) / "checkpoint.json").write_bytes(head)
    store, found = opened(tmp_path)
    assert len(found.faults) == 1

    assert store.write_checkpoint({"names": ALL})
    assert opened(tmp_path)[1].state == {"names": ALL}


@pytest.mark.parametrize(
    "change",
    [
        {"generation": 2**63 - 1},
        {"generation": -1},
        {"offset": None},
        {"seq": "4"},
        {"mark": 5},
        {"session": 5},
    ],
    ids=str,
)
def test_a_proved_checkpoint_that_makes_no_sense_is_replaced(
    tmp_path: Path, change: dict[str, object]
) -> None:
    filled(tmp_path)
    path = folder(tmp_path) / "checkpoint.json"
    head, rest = path.read_bytes().split(b"\n", 1)
    changed = {**json.loads(head), **change}
    del changed["hash"]
    body = json.dumps(changed, separators=(",", ":")).encode() + b"\n" + rest
    digest = hashlib.sha256(body).hexdigest().encode()
    path.write_bytes(body.replace(b"}\n", b',"hash":"' + digest + b'"}\n', 1))

    store, found = opened(tmp_path)
    assert (found.state, names(found.lines)) == (None, ALL)
    assert store.write_checkpoint({"names": ALL})
    assert everything(tmp_path) == ALL


def test_a_session_is_looked_at_without_writing_anything(tmp_path: Path) -> None:
    filled(tmp_path)
    (folder(tmp_path) / "checkpoint.1.tmp").touch()
    (tmp_path / "receipts.jsonl").unlink()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    store = SessionStore(str(tmp_path), SESSION, Ledger(str(tmp_path / "receipts.jsonl")), project)

    assert names(store.open(look_only=True).lines) == ALL[4:]
    assert store.catch_up() == ([], [])
    assert store.write_checkpoint({"names": ALL})
    store.close()

    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_whole_line_that_lacks_its_newline_is_folded_before_the_next_decision(
    tmp_path: Path,
) -> None:
    filled(tmp_path)
    journal(tmp_path).write_bytes(journal(tmp_path).read_bytes()[:-1])
    store, found = opened(tmp_path)
    assert names(found.lines) == ALL[4:7]

    with pytest.raises(Moved):
        store.append([fact("next")], sync=False)
    assert names(store.catch_up().lines) == ["f8"]
    store.append([fact("next")], sync=False)
    assert everything(tmp_path) == [*ALL, "next"]


def test_a_journal_cut_while_it_is_open_does_not_stop_the_session(tmp_path: Path) -> None:
    filled(tmp_path)
    store, _ = opened(tmp_path)
    cut_short(tmp_path)

    news = store.catch_up()
    assert news.lines == []
    assert news.faults == [LineFault("journal.jsonl", 0, "it is shorter than what was read before")]
    store.append([fact("next")], sync=False)
    assert store.due(0.0)
    assert store.write_checkpoint({"names": [*ALL, "next"]})
    assert everything(tmp_path) == [*ALL, "next"]


def test_a_checkpoint_of_a_newer_schema_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    filled(tmp_path)
    path = folder(tmp_path) / "checkpoint.json"
    body = b'{"v":2,"generation":9,"seq":4}\n{}\n'
    digest = hashlib.sha256(body).hexdigest().encode()
    path.write_bytes(body.replace(b"}\n{}", b',"hash":"' + digest + b'"}\n{}'))
    newer = path.read_bytes()

    with pytest.raises(Unreadable, match="schema 2"):
        opened(tmp_path)
    assert path.read_bytes() == newer
