"""A slow check of one session holds up no other, and its own messages keep their order."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import Start
from tests.server.raw_client import RawClient, notification, request
from tests.server.test_lifecycle import END_SECONDS
from tests.server.test_messages import POSITION, error_of


class Gate:
    """A FIFO at which a check waits for its word."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = str(path)
        self._descriptor = os.open(path, os.O_RDWR)  # So that no end waits for the other to open.

    def let_pass(self, word: str = "ok") -> None:
        os.write(self._descriptor, f"{word}\n".encode())

    def close(self) -> None:
        os.close(self._descriptor)


Gates = Callable[[], Gate]


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gates]:
    """Makes gates."""
    with ExitStack() as gates:

        def made() -> Gate:
            gate = Gate(tmp_path / f"gate-{len(os.listdir(tmp_path))}")
            gates.callback(gate.close)
            return gate

        yield made


@pytest.fixture
def client(start: Start) -> RawClient:
    client = start()
    client.initialize()
    return client


def check(session: str, *gates: Gate, **params: Any) -> tuple[str, dict[str, Any]]:
    return "turnkeeper/check", {
        "sessionId": session,
        "gates": [gate.path for gate in gates],
        **params,
    }


def note(session: str | None, n: Any) -> tuple[str, dict[str, Any]]:
    return "turnkeeper/note", {"n": n} if session is None else {"sessionId": session, "n": n}


def seen(client: RawClient) -> Any:
    return client.ask("turnkeeper/seen")["result"]["seen"]


def test_a_check_holds_up_neither_other_sessions_nor_what_concerns_none(
    client: RawClient, gate: Gates
) -> None:
    slow = gate()
    client.send(request(1, *check("A", slow)))

    assert client.ask(*note("B", 1), ident=2)["id"] == 2
    assert client.ask("turnkeeper/seen", ident=3)["id"] == 3
    assert client.ask("textDocument/hover", POSITION, ident=4)["id"] == 4
    slow.let_pass()
    assert client.receive() == {"jsonrpc": "2.0", "id": 1, "result": {"word": "ok"}}


def test_later_messages_of_the_session_wait_and_come_in_their_order(
    client: RawClient, gate: Gates
) -> None:
    first, second = gate(), gate()
    client.send(
        request(1, *check("A", first, n="first")),
        notification(*note("A", 1)),
        request(2, *note("A", 2)),
        notification(*check("A", second, n="second")),
        notification(*note("A", 3)),
        request(3, "turnkeeper/refuse", {"sessionId": "A"}),
    )

    assert seen(client) == []
    first.let_pass()
    assert [client.receive()["id"] for _ in range(2)] == [1, 2]
    assert seen(client) == ["first", 1, 2]
    second.let_pass()
    assert error_of(client.receive()) == (3, -32602, "invalid")
    assert seen(client) == ["first", 1, 2, "second", 3]


def test_thousands_that_waited_are_caught_up_in_their_order(client: RawClient, gate: Gates) -> None:
    slow = gate()
    client.send(request(1, *check("A", slow, n=0)))
    client.send(*(notification(*note("A", n)) for n in range(1, 20_000)))
    slow.let_pass()
    client.send(request(2, *note("A", 20_000)))

    assert [client.receive()["id"] for _ in range(2)] == [1, 2]
    assert seen(client) == list(range(20_001))


def test_a_check_may_be_followed_by_another_before_the_answer(
    client: RawClient, gate: Gates
) -> None:
    first, second = gate(), gate()
    client.send(request(1, *check("A", first, second, n="both")), request(2, *note("A", 1)))
    first.let_pass("early")
    second.let_pass("late")

    assert client.receive()["result"] == {"word": "late"}
    assert client.receive()["id"] == 2
    assert seen(client) == ["both", 1]


def test_a_check_of_no_session_holds_up_nothing(client: RawClient, gate: Gates) -> None:
    slow = gate()
    client.send(request(1, "turnkeeper/check", {"gates": [slow.path]}))

    assert client.ask(*note(None, 1), ident=2)["id"] == 2
    slow.let_pass()
    assert client.receive()["id"] == 1


@pytest.mark.parametrize(
    ("word", "code", "kind"), [("refuse", -32602, "invalid"), ("fail", -32603, "internal")]
)
def test_what_a_check_raises_is_its_answer_and_the_session_goes_on(
    client: RawClient, gate: Gates, word: str, code: int, kind: str
) -> None:
    slow = gate()
    client.send(request(1, *check("A", slow)), request(2, *note("A", 1)))
    slow.let_pass(word)

    assert error_of(client.receive()) == (1, code, kind)
    assert client.receive()["id"] == 2


def test_what_a_notified_check_raises_is_flagged(client: RawClient, gate: Gates) -> None:
    slow = gate()
    client.send(notification(*check("A", slow)), request(1, *note("A", 1)))
    slow.let_pass("fail")
    assert client.receive()["id"] == 1

    flags = client.ask("turnkeeper/seen")["result"]["flags"]

    assert flags == [["A", "internal", "turnkeeper/check: internal error"]]


def test_what_is_cancelled_while_it_waits_is_decided_and_answered_all_the_same(
    client: RawClient, gate: Gates
) -> None:
    slow = gate()
    client.send(request(1, *check("A", slow, n="check")), request(2, *note("A", 1)))
    client.send(*(notification("$/cancelRequest", {"id": ident}) for ident in (1, 2)))
    slow.let_pass()

    assert [client.receive()["id"] for _ in range(2)] == [1, 2]
    assert seen(client) == ["check", 1]


def test_a_request_from_before_shutdown_is_answered_after_it(
    client: RawClient, gate: Gates
) -> None:
    slow = gate()
    client.send(request(1, *check("A", slow)), request(2, *note("A", 1)), request(3, "shutdown"))
    assert client.receive()["id"] == 3
    slow.let_pass()

    assert [client.receive()["id"] for _ in range(2)] == [1, 2]


@pytest.mark.parametrize("how", ["end of input", "SIGTERM", "exit"])
def test_the_end_does_not_wait_for_a_check_and_drops_what_waits(
    client: RawClient, gate: Gates, closed: Path, how: str
) -> None:
    client.send(*(request(n, *check(f"s{n}", gate())) for n in range(20)))
    client.send(request(20, *note("s0", 1)))
    assert seen(client) == []
    if how == "SIGTERM":
        client.process.send_signal(signal.SIGTERM)
    elif how == "exit":
        assert client.ask("shutdown")["result"] is None
        client.send(notification("exit"))
    else:
        client.stdin.close()

    assert client.wait(END_SECONDS) == 0
    assert client.rest() == b""
    assert client.stderr.read() == b""
    assert closed.exists()


def test_a_hundred_sessions_check_at_once_and_each_keeps_its_order(
    client: RawClient, gate: Gates
) -> None:
    gates = [gate() for _ in range(100)]
    for n, slow in enumerate(gates):
        client.send(
            request(f"check {n}", *check(f"s{n}", slow)),
            *(request(f"note {n}.{i}", *note(f"s{n}", [n, i])) for i in range(20)),
        )
    assert seen(client) == []
    for slow in gates:
        slow.let_pass()

    answered = [client.receive()["id"] for _ in range(100 * 21)]
    for n in range(100):
        own = [ident for ident in answered if ident.split()[1].split(".")[0] == str(n)]
        assert own == [f"check {n}", *(f"note {n}.{i}" for i in range(20))]
