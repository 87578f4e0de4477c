"""What survives a kill -9 at any byte: all that was answered, and at most one request more."""

import json
import os
import random
import select
import signal
import subprocess
from pathlib import Path
from typing import IO

import pytest

from core.phases.routing import Routing
from core.receipts import receipts_of
from core.sessions import Sessions
from core.store.journal import Journal
from core.store.root import session_dir, session_name
from core.world import World
from server.child import turnkeeper_argv
from tests.faults.script import PLAN, frames, printed, script, states_after_each
from tests.server.raw_client import INITIALIZE, frame, request

KILLS = int(os.environ.get("TURNKEEPER_KILLS", "20"))  # `make faults` asks for 200.
SEED = 20260609


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "workspace" / "plan.yaml"
    path.parent.mkdir()
    path.write_text(PLAN, encoding="utf-8")
    return path


def test_a_killed_process_loses_nothing_that_it_answered(tmp_path: Path, plan: Path) -> None:
    root = tmp_path / "state"
    chance = random.Random(SEED)
    answered_in_all = 0
    for number in range(KILLS):
        session_id = f"killed-{number}"
        requests = script(session_id, plan)
        expected = states_after_each(requests, tmp_path / f"expected-{number}")

        answered = _run_and_kill(root, frames(requests), chance)

        sessions = Sessions(str(root), World(str(tmp_path), {}), Routing())
        after = printed(sessions.attach(session_id))
        sessions.close()
        assert after in expected[answered : answered + 2], f"kill {number}, {answered} answered"
        _assert_receipts_match(root, session_id)
        answered_in_all += answered
    assert 0 < answered_in_all < KILLS * len(script("x", plan))


def _run_and_kill(root: Path, data: bytes, chance: random.Random) -> int:
    """Send the session without a pause, kill at a random byte; give how many were answered.

    Half the kills cut the input, half wait for a random byte of the output.
    """
    process = subprocess.Popen(
        turnkeeper_argv("serve"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TURNKEEPER_STATE_DIR": str(root)},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(frame(request("start", "initialize", INITIALIZE)))
    process.stdin.flush()
    _read_message(process.stdout)
    cut = chance.randrange(len(data)) if chance.random() < 0.5 else len(data)
    wanted = chance.randrange(1, 30_000)
    process.stdin.write(data[:cut])
    process.stdin.flush()
    seen = _read_some(process.stdout, wanted, 20.0 if cut == len(data) else chance.random() / 50)
    process.send_signal(signal.SIGKILL)
    seen += process.stdout.read()
    process.wait()
    process.stdin.close()
    process.stdout.close()
    return _answers_in(seen)


def _read_some(stream: IO[bytes], wanted: int, patience_seconds: float) -> bytes:
    """Read so many bytes, or what has come when nothing more does."""
    seen = b""
    poll = select.poll()  # Not select: descriptors may be many by then.
    poll.register(stream, select.POLLIN)
    while len(seen) < wanted and poll.poll(patience_seconds * 1000):
        piece = os.read(stream.fileno(), wanted - len(seen))
        if not piece:
            break
        seen += piece
    return seen


def _read_message(stream: IO[bytes]) -> bytes:
    length = int(stream.readline().split(b":")[1])
    stream.readline()
    return stream.read(length)


def _answers_in(data: bytes) -> int:
    """Count the whole answers in what came before the end; pushes have no id."""
    count, start = 0, 0
    while (end := data.find(b"\r\n\r\n", start)) >= 0:
        length = int(data[start:end].split(b": ")[1])
        body = data[end + 4 : end + 4 + length]
        if len(body) < length:
            break
        count += "id" in json.loads(body)
        start = end + 4 + length
    return count


def _assert_receipts_match(root: Path, session_id: str) -> None:
    """The ledger holds each receipt of the journal once, and no other of this session."""
    journal = Journal(session_dir(str(root), session_id))
    name = session_name(session_id)
    owed = [
        f"{name}-{line['seq']}-{number}"
        for line in journal.read_on().lines
        for number, _ in enumerate(receipts_of(line))
    ]
    journal.close()
    ledger = root / "receipts.jsonl"
    lines = ledger.read_bytes().splitlines() if ledger.exists() else []
    written = [receipt["event_id"] for line in lines if (receipt := json.loads(line))]
    assert [event_id for event_id in written if event_id.startswith(name)] == owed
