"""The shell on a real state folder: what comes back, and who else may write or look."""

import os
import time
from pathlib import Path

import pytest

from core import events as e
from core.account import view
from core.decided import Decided
from core.errors import Conflict, InvalidParams, UnknownSession
from core.later import Later
from core.phases.routing import Routing
from core.sessions import DECISIONS_MAX, INLINE_S, OPEN_MAX, Sessions
from core.store.root import ledger_path
from core.world import Look, Looked, World
from tests.core.given import SESSION, call, prompt, result, text, turn_end
from tests.core.shell import (
    armed,
    begin,
    begun,
    decision,
    folder,
    opened,
    receipts,
)


def test_a_session_that_was_never_started_is_unknown(root: str) -> None:
    sessions = opened(root)

    with pytest.raises(UnknownSession):
        sessions.record(SESSION, prompt())
    with pytest.raises(UnknownSession):
        sessions.state(SESSION)
    assert not folder(root).exists()


def test_an_ended_session_is_unknown_until_a_start_brings_everything_back(
    root: str, workspace: Path
) -> None:
    sessions = armed(root, workspace)
    assert decision(sessions.record(SESSION, turn_end())) == "block"
    sessions.record(SESSION, e.SessionEnd())
    for ask in (sessions.state, lambda s: sessions.record(s, prompt())):
        with pytest.raises(UnknownSession):
            ask(SESSION)

    begin(sessions, workspace)

    assert sessions.state(SESSION).cursor.blocks == 1
    injections = sessions.record(SESSION, prompt("t2")).injections
    assert [injection.kind for injection in injections] == ["correction", "phase"]


def test_what_another_process_opens_is_what_this_one_left(root: str, workspace: Path) -> None:
    sessions = armed(root, workspace)
    sessions.record(SESSION, call("c"))
    sessions.record(SESSION, turn_end())
    before = text(sessions.state(SESSION))

    assert text(opened(root).attach(SESSION)) == before
    sessions.close()
    assert text(opened(root).attach(SESSION)) == before


def test_two_processes_see_each_others_facts_and_lose_none(root: str, workspace: Path) -> None:
    one, two = armed(root, workspace), begun(root, workspace)
    for number in range(4):
        one.record(SESSION, call(f"a{number}"))
        two.record(SESSION, call(f"b{number}"))

    assert decision(two.record(SESSION, turn_end())) == "block"
    assert decision(one.record(SESSION, turn_end())) == "block"

    assert one.state(SESSION).cursor.blocks == 2
    data = one.accounted(SESSION, "t1").data
    assert view(data).snapshot.entries["tools"].detail == "Bash × 8"
    assert (
        text(one.state(SESSION)) == text(two.state(SESSION)) == text(opened(root).attach(SESSION))
    )
    assert receipts(root).count("phase_block") == 2


class Crowded(World):
    """A world where another process writes the session while its checks run, so many times."""

    def __init__(self, other: Sessions, times: int) -> None:
        super().__init__("/nobody", {})
        self.other, self.times = other, times

    def carry_out(self, look: Look, until: float) -> Looked:
        if self.times:
            self.times -= 1
            self.other.record(SESSION, call(f"c{self.times}"))
        return super().carry_out(look, until)


def test_what_another_process_wrote_meanwhile_is_decided_on_too(root: str, workspace: Path) -> None:
    other = armed(root, workspace)
    sessions = Sessions(root, Crowded(other, DECISIONS_MAX - 1), Routing())
    begin(sessions, workspace)

    ended = sessions.record(SESSION, turn_end())

    assert ended.accounting is not None
    assert view(ended.accounting).snapshot.entries["tools"].detail == "Bash × 2"
    assert other.state(SESSION).cursor.blocks == 1


def test_a_session_that_others_keep_writing_is_a_conflict_that_changes_nothing(
    root: str, workspace: Path
) -> None:
    other = armed(root, workspace)
    sessions = Sessions(root, Crowded(other, DECISIONS_MAX), Routing())
    begin(sessions, workspace)

    with pytest.raises(Conflict):
        sessions.record(SESSION, turn_end())

    assert other.state(SESSION).cursor.blocks == 0
    assert decision(sessions.record(SESSION, turn_end())) == "block"


class Slowly(World):
    """A world where nothing can be looked at in line."""

    def carry_out(self, look: Look, until: float) -> Looked:
        is_in_line = until < time.monotonic() + INLINE_S + 1
        return super().carry_out(look, 0.0 if is_in_line else until)


def handed_out(root: str, workspace: Path) -> Later[Decided]:
    """End a turn of the armed session in a process that can look at nothing in line."""
    sessions = Sessions(root, Slowly("/nobody", {}), Routing())
    begin(sessions, workspace)
    slow = sessions.end_turn(SESSION, turn_end())
    assert isinstance(slow, Later)
    return slow


def test_slow_checks_are_handed_out_and_decided_with_what_they_found(
    root: str, workspace: Path
) -> None:
    armed(root, workspace).close()
    slow = handed_out(root, workspace)
    (workspace / "out.md").write_text("x")

    ended = slow.finish(slow.work())

    assert isinstance(ended, Decided)
    assert decision(ended) == "continue"


def test_what_slow_checks_found_still_counts_when_another_process_wrote_something_else(
    root: str, workspace: Path
) -> None:
    other = armed(root, workspace)
    slow = handed_out(root, workspace)
    other.record(SESSION, call("c"))

    ended = slow.finish(slow.work())

    assert isinstance(ended, Decided)
    assert decision(ended) == "block"


def test_slow_checks_are_made_again_when_another_process_wrote_meanwhile(
    root: str, workspace: Path
) -> None:
    other = armed(root, workspace)
    slow = handed_out(root, workspace)
    looked = slow.work()
    other.act(SESSION, e.Park("host"))

    again = slow.finish(looked)

    assert isinstance(again, Decided)  # A parked plan has nothing to check.
    assert decision(again) == "allow"


def test_nothing_of_another_session_ever_changes(root: str, workspace: Path) -> None:
    armed(root, workspace).close()
    before = {path.name: path.read_bytes() for path in folder(root).iterdir()}
    ledger = Path(ledger_path(root)).read_bytes()

    other = begun(root, workspace, "S2")
    assert other.record("S2", prompt("t1")).injections == ()
    assert decision(other.record("S2", turn_end())) == "allow"
    other.close()

    assert {path.name: path.read_bytes() for path in folder(root).iterdir()} == before
    assert Path(ledger_path(root)).read_bytes() == ledger


def test_a_run_of_the_same_folder_is_listed_as_resumable_and_not_bound(
    root: str, workspace: Path, tmp_path: Path
) -> None:
    sessions = armed(root, workspace)

    begin(sessions, workspace, "S2")
    begin(sessions, tmp_path, "elsewhere")

    listed = sessions.resumable(sessions.state("S2"))
    assert [state.session_id for state in listed] == [SESSION]
    assert sessions.state("S2").cursor.status == "idle"
    assert sessions.resumable(sessions.state("elsewhere")) == []


def test_the_parents_run_is_resumable_in_a_process_that_never_saw_it(
    root: str, workspace: Path
) -> None:
    armed(root, workspace).close()
    sessions = opened(root)
    start = e.SessionStart("claude_code", str(workspace), source="clear", parent_session_id=SESSION)
    sessions.start("S2", start)

    listed = sessions.resumable(sessions.state("S2"))

    assert [state.session_id for state in listed] == [SESSION]
    assert [state.session_id for state in sessions.states()] == ["S2"]
    with pytest.raises(UnknownSession):
        sessions.record(SESSION, turn_end())


def test_armed_sessions_of_our_folders_are_known_and_no_others(
    root: str, workspace: Path, tmp_path: Path
) -> None:
    armed(root, workspace).close()
    armed(root, tmp_path, "elsewhere").close()
    done = armed(root, workspace, "done")
    done.act("done", e.Cancel("enough", "host"))
    done.close()

    sessions = begun(root, workspace, "S2")

    for _ in range(2):
        assert [state.session_id for state in sessions.armed_elsewhere()] == [SESSION]


def test_the_account_of_a_closed_turn_is_kept_as_it_was_answered(
    root: str, workspace: Path
) -> None:
    sessions = begun(root, workspace)
    sessions.record(SESSION, prompt("t1"))
    sessions.record(SESSION, call("c", "Bash", "x" * 38))
    ended = sessions.record(SESSION, turn_end())
    sessions.record(SESSION, prompt("t2"))
    sessions.record(SESSION, result("c", "late"))

    kept = sessions.accounted(SESSION, "t1")

    assert kept.data == ended.accounting
    assert (kept.revision, kept.final, kept.outcome) == (2, True, "completed")
    assert kept.late == (("result", "c", 4),)


def test_the_account_of_a_turn_that_never_ended_is_made_from_the_journal(
    root: str, workspace: Path
) -> None:
    sessions = begun(root, workspace)
    sessions.record(SESSION, prompt("t1"))
    sessions.record(SESSION, call("c", "Bash", "x" * 38))
    sessions.record(SESSION, prompt("t2"))

    kept = sessions.accounted(SESSION, "t1")
    ended = sessions.record(SESSION, turn_end("t1", outcome="interrupted"))

    assert (kept.revision, kept.final, kept.outcome) == (0, False, None)
    assert view(kept.data).snapshot.entries["tools"].tokens == 10
    assert ended.accounting == kept.data
    assert sessions.accounted(SESSION, "t1").revision == 1


def test_a_turn_that_nobody_knows_is_refused_and_none_named_is_the_latest(
    root: str, workspace: Path
) -> None:
    sessions = begun(root, workspace)
    with pytest.raises(InvalidParams) as refused:
        sessions.accounted(SESSION, "t9")
    assert refused.value.field == "turnId"
    assert sessions.accounted(SESSION, None).turn_id is None

    sessions.record(SESSION, prompt("t1"))
    sessions.record(SESSION, e.SessionEnd())
    begin(sessions, workspace)

    assert sessions.accounted(SESSION, None).turn_id == "t1"


def test_a_door_that_is_switched_off_allows_in_silence_and_keeps_the_plan(
    root: str, workspace: Path
) -> None:
    armed(root, workspace).close()
    before = receipts(root)
    off = opened(root, TURNKEEPER_DISABLED="1")
    begin(off, workspace)

    assert off.record(SESSION, prompt("t2")).injections == ()
    assert decision(off.record(SESSION, turn_end("t2"))) == "allow"
    assert off.record("S", call("k", "Skill", {"skill": "shape"})).deny is None
    off.record(SESSION, result("k"))

    assert receipts(root) == before
    off.close()
    on = begun(root, workspace)
    assert decision(on.record(SESSION, turn_end("t2"))) == "block"


def test_a_session_without_a_plan_leaves_no_receipt(root: str, workspace: Path) -> None:
    sessions = begun(root, workspace)
    sessions.record(SESSION, prompt("t1"))
    sessions.record(SESSION, call("k", "Skill", {"skill": "shape"}))
    sessions.record(SESSION, result("k"))
    sessions.record(SESSION, turn_end())
    sessions.close()

    assert not os.path.exists(ledger_path(root))


def test_many_sessions_hold_few_descriptors_and_each_goes_on(root: str, workspace: Path) -> None:
    sessions = opened(root)
    for number in range(OPEN_MAX + 20):
        begin(sessions, workspace, f"s{number}")
    held = len(os.listdir("/proc/self/fd"))
    for number in range(OPEN_MAX + 20, OPEN_MAX + 120):
        begin(sessions, workspace, f"s{number}")

    assert len(os.listdir("/proc/self/fd")) <= held
    for number in range(OPEN_MAX + 120):
        sessions.end_turn(f"s{number}", turn_end())
    assert len(os.listdir("/proc/self/fd")) <= held
    assert sessions.record("s0", prompt("t1")).facts
    assert sessions.state("s0").turn is not None
    sessions.close()
