"""What can be asked for at any time."""

from pathlib import Path

import pytest

from core.errors import InvalidParams
from tests.handlers.inproc import Host


def test_a_snapshot_tells_the_open_turn_as_it_stands(host: Host) -> None:
    nothing = host.ask("accounting/snapshot")
    assert (nothing["turnId"], nothing["rows"], nothing["final"]) == (None, [], False)

    host.ask("prompt", turnId="t1", text="hi")
    host.ask("toolCall", toolUseId="c", name="Bash", input="x" * 38)

    live = host.ask("accounting/snapshot")
    assert (live["turnId"], live["revision"], live["final"]) == ("t1", 0, False)
    assert live["rows"][0]["tokens"] == 10
    assert host.ask("accounting/snapshot", turnId="t1") == live


def test_a_snapshot_is_final_until_something_more_enters_the_turn(host: Host) -> None:
    host.ask("prompt", turnId="t1", text="hi")
    ended = host.end()["accounting"]
    assert host.ask("accounting/snapshot") == ended

    host.ask("toolCall", toolUseId="c", name="Bash", input=None)

    assert not host.ask("accounting/snapshot")["final"]


def test_a_snapshot_of_an_earlier_turn_names_what_came_late(host: Host) -> None:
    host.ask("prompt", turnId="t1", text="hi")
    host.ask("toolCall", toolUseId="c", name="Bash", input=None)
    ended = host.end()["accounting"]
    host.ask("prompt", turnId="t2", text="hi")
    host.ask("toolResult", toolUseId="c", content="late")

    kept = host.ask("accounting/snapshot", turnId="t1")

    assert (kept["revision"], kept["final"]) == (ended["revision"] + 1, True)
    assert kept["rows"] == ended["rows"]
    (late,) = kept["snapshot"]["unknown"]
    assert (late["name"], late["reason"]) == ("c", "late result of 4 UTF-16 units")
    with pytest.raises(InvalidParams):
        host.ask("accounting/snapshot", turnId="t9")


def test_receipts_are_paged_by_sequence_within_a_session(host: Host) -> None:
    host.arm()
    for number in range(3):
        host.ask("prompt", turnId=f"t{number}", text="go")

    first = host.ask("receipts", limit=2)
    rest = host.ask("receipts", since=first["next"], limit=2)

    events = [receipt["event"] for receipt in first["receipts"] + rest["receipts"]]
    assert events == ["phase_cursor_armed", *["phase_injection"] * 3]
    assert "next" not in rest
    assert host.ask("receipts", None, taskId="T1")["receipts"]
    assert host.ask("receipts", None, taskId="T2")["receipts"] == []
    with pytest.raises(InvalidParams):
        host.ask("receipts", None, since=1)


def test_sessions_are_those_of_this_connection_and_armed_ones_of_its_folders(
    host: Host, state_root: Path, tmp_path: Path
) -> None:
    for session, folder in (("armed", "work"), ("idle", "work"), ("elsewhere", "other")):
        other = Host(state_root, tmp_path / folder)
        other.start(session)
        if session != "idle":
            other.arm(session)

    listed = host.ask("sessions", None)["sessions"]

    assert [(state["sessionId"], state["state"]) for state in listed] == [
        ("S", "idle"),
        ("armed", "armed"),
    ]


def test_stats_count_events_and_live_sessions(host: Host) -> None:
    host.ask("prompt", turnId="t1", text="hi")
    before = host.ask("stats", None)["counters"]
    host.ask("sessionEnd")

    after = host.ask("stats", None)["counters"]

    assert (before["sessions"], after["sessions"]) == (1, 0)
    assert after["events"] == before["events"] + 1


def test_labels_speak_the_clients_language(state_root: Path, tmp_path: Path) -> None:
    labels = []
    for locale in ("en", "zh"):
        host = Host(state_root, tmp_path / "work", {"locale": locale})
        host.start()
        host.ask("prompt", turnId=locale, text="hi")
        host.ask("toolCall", toolUseId="c", name="Bash", input=None)
        labels.append(host.end(locale)["accounting"]["rows"][0]["label"])

    assert labels[0] == "Tools"
    assert not labels[1].isascii()
