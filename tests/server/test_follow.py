"""Following over stdio: a transcript grows on disk, and a client that asked hears of it."""

import os
import select
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.handlers.test_follow import Transcript, tools
from tests.server.sidecar import Sidecar

SOON_SECONDS = 1.0


@pytest.fixture
def sidecar(state_root: Path, tmp_path: Path) -> Iterator[Sidecar]:
    client = Sidecar(state_root, tmp_path / "home")
    with client:
        yield client


def next_account(sidecar: Sidecar, calls: int) -> Any:
    """Give the next account with that many calls of Bash in it."""
    while True:
        if sidecar.pushed:
            method, account = sidecar.pushed.pop(0)
        else:
            message = sidecar.receive()
            method, account = message["method"], message["params"]
        if method == "turnkeeper/accounting" and f"Bash × {calls}" in tools(account):
            return account


def test_growth_is_pushed_within_a_second_and_nothing_is_kept(
    sidecar: Sidecar, tmp_path: Path, state_root: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    script = Transcript(tmp_path / "home", work, "a1")
    script.prompt("Look around.")
    script.call("c1", tokens=100)

    (state,) = sidecar.call("follow", None, workspace=str(work))["sessions"]
    assert (state["sessionId"], state["followed"]) == ("a1", True)
    next_account(sidecar, 1)
    for calls in (2, 3):
        begun = time.monotonic()
        script.call(f"c{calls}", tokens=100)
        account = next_account(sidecar, calls)
        assert time.monotonic() - begun < SOON_SECONDS
        assert (account["sessionId"], account["usage"]["input"]) == ("a1", 100 * calls)

    code, log = sidecar.end()
    assert (code, log) == (0, "")
    assert [path for path in state_root.rglob("*") if path.is_file()] == []


def test_a_big_transcript_holds_up_no_other_session(sidecar: Sidecar, tmp_path: Path) -> None:
    work = tmp_path / "work"
    script = Transcript(tmp_path / "home", work, "a1")
    script.prompt("Look around.")
    for number in range(6000):
        script.call(f"c{number}", tokens=1)
    sidecar.begin(tmp_path / "other")

    sidecar.call("follow", None, path=str(script.path))
    slowest = 0.0
    for number in range(40):
        begun = time.monotonic()
        sidecar.call("prompt", turnId=f"t{number}", text="hi")
        slowest = max(slowest, time.monotonic() - begun)

    assert slowest < 0.5  # Reading all of it takes several times as long.
    next_account(sidecar, 6000)


def test_following_costs_next_to_nothing_while_nothing_happens(
    sidecar: Sidecar, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    for number in range(50):
        script = Transcript(tmp_path / "home", work, f"s{number}")
        script.prompt("Look around.")
        script.call("c1", tokens=100)
    assert len(sidecar.call("follow", None, workspace=str(work))["sessions"]) == 50
    heard: set[str] = set()
    while len(heard) < 50:
        heard.add(next_account(sidecar, 1)["sessionId"])

    before = cpu_seconds(sidecar.process.pid)
    pushed, _, _ = select.select([sidecar.stdout], [], [], 3.0)

    assert not pushed
    assert cpu_seconds(sidecar.process.pid) - before < 0.6


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
