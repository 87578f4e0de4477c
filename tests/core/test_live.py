"""A plan that was armed is never silently gone, whatever became of its files."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from core import events as e
from core.live import Live
from core.phases.cursor import UNDER_WAY
from core.receipts import receipts_of
from core.store.receipts import Ledger
from core.store.root import ledger_path
from core.store.session_store import SessionStore
from tests.core.given import SESSION, prompt, turn_end
from tests.core.shell import arm_event, armed, begin, begun, folder, opened, receipts

MUTATIONS = 40  # Of each kind.
SEED = 20261130

Mutation = Callable[[bytearray, random.Random], None]


def cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data)) :]


def flipped(data: bytearray, chance: random.Random) -> None:
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def zeroed(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    end = min(len(data), start + chance.randrange(1, 2000))
    data[start:end] = bytes(end - start)


def swapped(data: bytearray, chance: random.Random) -> None:
    lines = data.splitlines(keepends=True)
    chance.shuffle(lines)
    data[:] = b"".join(lines)


@pytest.mark.parametrize("checkpoint", ["none", "before the plan", "damaged"])
@pytest.mark.parametrize("mutate", [cut, flipped, zeroed, swapped])
def test_after_any_damage_the_plan_is_there_or_its_loss_is_told(
    root: str, workspace: Path, tmp_path: Path, mutate: Mutation, checkpoint: str
) -> None:
    sessions = begun(root, workspace)
    if checkpoint == "before the plan":
        sessions.close()
        sessions = begun(root, workspace)
    sessions.act(SESSION, arm_event())
    for turn in ("t1", "t2"):
        sessions.record(SESSION, prompt(turn))
        sessions.record(SESSION, turn_end(turn))
    if checkpoint == "damaged":
        sessions.close()
        path = folder(root) / "checkpoint.json"
        path.write_bytes(path.read_bytes().replace(b"plan", b"pawn", 1))
    chance = random.Random(SEED)
    for number in range(MUTATIONS):
        copy = str(tmp_path / f"copy-{number}")
        shutil.copytree(root, copy)
        journal = folder(copy) / "journal.jsonl"
        data = bytearray(journal.read_bytes())
        mutate(data, chance)
        journal.write_bytes(data)

        ledger = Ledger(ledger_path(copy))
        looked = Live(copy, SESSION, ledger, look_only=True)
        store = SessionStore(copy, SESSION, ledger, receipts_of)
        is_lost = store.open(look_only=True).lost
        live = Live(copy, SESSION, ledger)

        status = live.state.cursor.status
        assert status in UNDER_WAY or (is_lost and status == "state_lost"), number
        # A whole line that lacks its newline is used only by who may write that.
        assert looked.state.cursor.status in (status, "state_lost"), number
        assert opened(copy).attach(SESSION).cursor.status == status, number
        for each in (looked, live):
            each.store.close()
        store.close()


def test_a_second_plan_whose_arming_is_lost_is_told_though_the_first_is_known(
    root: str, workspace: Path
) -> None:
    sessions = armed(root, workspace)
    journal = folder(root) / "journal.jsonl"
    with_one = journal.read_bytes()
    sessions.act(SESSION, arm_event())
    journal.write_bytes(with_one)

    assert opened(root).attach(SESSION).cursor.status == "state_lost"
    assert opened(root).attach(SESSION).cursor.status == "state_lost"
    assert receipts(root).count("state_lost") == 1


def test_a_plan_armed_after_a_loss_was_told_is_not_lost_again(root: str, workspace: Path) -> None:
    armed(root, workspace).close()
    for name in ("checkpoint.json", "journal.jsonl"):
        (folder(root) / name).unlink()
    sessions = begun(root, workspace)
    assert sessions.state(SESSION).cursor.status == "state_lost"
    sessions.act(SESSION, arm_event())

    again = opened(root).attach(SESSION)

    assert again.cursor.status == "armed"
    assert receipts(root).count("state_lost") == 1


def test_a_plan_armed_after_a_loss_and_lost_itself_is_told_too(root: str, workspace: Path) -> None:
    armed(root, workspace).close()
    journal = folder(root) / "journal.jsonl"
    (folder(root) / "checkpoint.json").unlink()
    journal.unlink()
    sessions = begun(root, workspace)
    sessions.act(SESSION, e.Decline("no", "human"))
    without = journal.read_bytes()
    sessions.act(SESSION, arm_event())
    journal.write_bytes(without)

    assert opened(root).attach(SESSION).cursor.status == "state_lost"
    assert receipts(root).count("state_lost") == 2


def test_looking_at_a_lost_session_tells_it_and_writes_nothing(root: str, workspace: Path) -> None:
    armed(root, workspace).close()
    (folder(root) / "checkpoint.json").unlink()
    (folder(root) / "journal.jsonl").unlink()
    before = _content(root)

    live = Live(root, SESSION, Ledger(ledger_path(root)), look_only=True)
    live.catch_up()
    live.save()

    assert live.state.cursor.status == "state_lost"
    assert live.state.cursor.warnings == [
        "journal.jsonl: receipts tell of facts that it lacks, the first is 2"
    ]
    assert _content(root) == before


def test_looking_at_a_session_that_never_was_makes_no_folder(root: str) -> None:
    live = Live(root, "never", Ledger(ledger_path(root)), look_only=True)

    assert live.state.cursor.status == "idle"
    assert _content(root) == {}


def test_the_state_and_checkpoint_of_another_session_are_not_taken(
    root: str, workspace: Path
) -> None:
    sessions = begun(root, workspace, "A")
    sessions.close()
    armed(root, workspace, "B").close()
    shutil.copy(folder(root, "B") / "checkpoint.json", folder(root, "A"))
    shutil.copy(folder(root, "A") / "journal.jsonl", folder(root, "B"))

    again = opened(root)
    begin(again, workspace, "A")
    begin(again, workspace, "B")

    assert again.state("A").cursor.status == "idle"
    assert again.state("B").cursor.status == "armed"


def _content(root: str) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in Path(root).rglob("*") if path.is_file()}
