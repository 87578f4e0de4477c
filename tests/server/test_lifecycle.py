"""The connection begins once, and ends in order whichever way the client goes."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import Start, echo_argv
from tests.server.raw_client import INITIALIZE, ROOT, RawClient, frame, notification, request

# The promise is one second; the rest is what a busy machine adds.
END_SECONDS = 2.0


def code_of(answer: Any) -> int:
    code = answer["error"]["code"]
    assert isinstance(code, int)
    return code


def test_only_initialize_is_answered_at_first_and_only_once(start: Start) -> None:
    client = start()
    client.send(notification("textDocument/didOpen", {}), notification("turnkeeper/note", {}))

    assert code_of(client.ask("turnkeeper/echo")) == -32002
    assert code_of(client.ask("turnkeeper/unknown")) == -32002
    assert code_of(client.ask("shutdown")) == -32002
    client.initialize()
    assert code_of(client.ask("initialize", INITIALIZE)) == -32600
    assert client.ask("turnkeeper/seen")["result"] == {"seen": [], "flags": []}
    _, log = client.end()
    assert "dropped textDocument/didOpen: the server is new" in log


@pytest.mark.parametrize("missing", ["processId", "capabilities"])
def test_initialize_without_a_required_field_may_be_sent_again(start: Start, missing: str) -> None:
    client = start()
    params = {name: value for name, value in INITIALIZE.items() if name != missing}

    answer = client.ask("initialize", params)

    assert code_of(answer) == -32602
    assert answer["error"]["data"]["field"] == missing
    client.initialize()


def test_a_client_process_that_cannot_exist_is_not_watched(start: Start) -> None:
    client = start(f"--clientProcessId={2**31}")
    client.initialize({**INITIALIZE, "processId": 2**31})

    assert client.ask("turnkeeper/echo")["id"] == "q"


def test_after_shutdown_only_exit_and_answers_to_us_are_taken(start: Start, closed: Path) -> None:
    client = start()
    client.initialize()
    client.send(request(1, "turnkeeper/ask", {"jsonrpc": "2.0"}))
    asked, answer = client.receive(), client.receive()
    assert (asked["method"], asked["params"]) == ("turnkeeper/correction", {"jsonrpc": "2.0"})
    assert answer["id"] == 1

    assert client.ask("shutdown", {})["result"] is None
    client.send(notification("turnkeeper/note", {}))
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "park"}})
    assert code_of(client.ask("turnkeeper/echo")) == -32600
    assert code_of(client.ask("shutdown")) == -32600
    client.send(notification("exit"), request(9, "turnkeeper/echo"))

    assert client.wait(END_SECONDS) == 0
    assert client.rest() == b""
    assert closed.exists()


def test_the_clients_answer_reaches_whoever_asked(start: Start) -> None:
    client = start()
    client.initialize()
    client.send(request(1, "turnkeeper/ask", {}))
    asked, _ = client.receive(), client.receive()
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"jsonrpc": {"action": "park"}}})

    assert client.ask("turnkeeper/answers")["result"] == [{"jsonrpc": {"action": "park"}}]


def test_exit_without_shutdown_is_an_error(start: Start, closed: Path) -> None:
    client = start()
    client.initialize()
    client.send(notification("exit"))

    assert client.wait(END_SECONDS) == 1
    assert closed.exists()


def test_the_end_of_input_ends_the_process_after_the_last_answer(
    start: Start, closed: Path
) -> None:
    client = start()
    client.initialize()
    client.send_bytes(frame(request(1, "turnkeeper/flood", {"bytes": 200_000})) + b"Content-")
    client.stdin.close()

    assert len(client.receive()["result"]) == 200_000
    assert client.wait(END_SECONDS) == 0
    assert closed.exists()


def test_a_client_that_closes_our_output_ends_the_process(start: Start, closed: Path) -> None:
    client = start()
    client.initialize()
    client.ask("turnkeeper/echo")
    client.stdout.close()

    assert client.wait(END_SECONDS) == 0
    assert closed.exists()


@pytest.mark.parametrize("told_by", ["initialize", "argument"])
def test_the_death_of_the_clients_process_ends_ours(
    start: Start, closed: Path, told_by: str
) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        client = start(*([f"--clientProcessId={other.pid}"] if told_by == "argument" else []))
        client.initialize({**INITIALIZE, "processId": other.pid})
        client.ask("turnkeeper/echo")
        other.kill()  # It stays a zombie until this block ends.

        assert client.wait(END_SECONDS) == 0
    assert closed.exists()


def test_a_client_process_that_is_gone_already_ends_ours(start: Start) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()

    assert start(f"--clientProcessId={gone.pid}").wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_in_order(
    start: Start, closed: Path, number: signal.Signals
) -> None:
    client = start()
    client.initialize()
    client.ask("turnkeeper/echo")
    client.process.send_signal(number)

    assert client.wait(END_SECONDS) == 0
    assert closed.exists()


def test_sigterm_ends_the_process_in_time_though_a_handler_is_stuck(start: Start) -> None:
    client = start()
    client.initialize()
    client.send(request(1, "turnkeeper/push", {"n": 1}), request(2, "turnkeeper/stall"))
    assert client.receive()["params"] == {"n": 1}
    client.process.send_signal(signal.SIGTERM)

    assert client.wait(END_SECONDS) == 0


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_a_broken_stream_ends_the_process_after_the_answers_with_one_line(
    start: Start, closed: Path, header: bytes
) -> None:
    client = start()
    client.initialize()
    client.send_bytes(frame(request(1, "turnkeeper/echo")) + header)

    assert client.receive()["id"] == 1
    assert client.wait(END_SECONDS) == 1
    assert len(client.stderr.read().splitlines()) == 1
    assert closed.exists()


@pytest.mark.parametrize("off_by", [-1, 1])
def test_a_wrong_length_is_never_a_silent_server(start: Start, off_by: int) -> None:
    client = start()
    client.initialize()
    body = frame(request(1, "turnkeeper/echo")).partition(b"\r\n\r\n")[2]
    wrong = b"Content-Length: %d\r\n\r\n%b" % (len(body) + off_by, body)
    client.send_bytes(wrong + frame(request(2, "turnkeeper/echo")))

    assert code_of(client.receive()) == -32700
    assert client.wait(END_SECONDS) == 1


def test_a_hundred_megabytes_that_nobody_reads_stop_neither_reading_nor_the_process(
    start: Start,
) -> None:
    client = start()
    client.initialize()
    client.send(*(request(n, "turnkeeper/flood", {"bytes": 1_000_000}) for n in range(100)))
    client.send(*(notification("turnkeeper/note", {"n": n}) for n in range(20_000)))
    client.send(request("last", "turnkeeper/seen"))

    assert [client.receive()["id"] for _ in range(100)] == list(range(100))
    assert len(client.receive()["result"]["seen"]) == 20_000


def test_output_that_nobody_reads_does_not_hold_up_the_end(start: Start, closed: Path) -> None:
    client = start()
    client.initialize()
    client.send(request(1, "turnkeeper/flood", {"bytes": 10_000_000}), request(2, "shutdown"))
    client.send(notification("exit"))

    assert client.wait(END_SECONDS) == 0
    assert closed.exists()


def test_a_log_that_nobody_reads_stops_nothing(start: Start) -> None:
    client = start()
    client.initialize()
    client.send(*(notification("turnkeeper/bug", {}) for _ in range(3000)))

    assert len(client.ask("turnkeeper/seen")["result"]["flags"]) == 3000


def test_files_serve_as_input_and_output(tmp_path: Path, closed: Path) -> None:
    said, heard = tmp_path / "said", tmp_path / "heard"
    last = (request(1, "turnkeeper/echo"), request(2, "shutdown"), notification("exit"))
    said.write_bytes(b"".join(map(frame, (request(0, "initialize", INITIALIZE), *last))))

    with said.open("rb") as source, heard.open("wb") as sink:
        ended = subprocess.run(echo_argv(closed), stdin=source, stdout=sink, timeout=20)

    assert ended.returncode == 0
    assert heard.read_bytes().count(b"Content-Length: ") == 3


def test_an_empty_device_as_input_is_the_end_of_input(closed: Path) -> None:
    ended = subprocess.run(
        echo_argv(closed), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=20
    )

    assert (ended.returncode, ended.stdout) == (0, b"")


def test_a_closed_standard_error_keeps_the_stream_clean(closed: Path) -> None:
    close_two = ["sh", "-c", 'exec "$@" 2>&-', "sh", *echo_argv(closed)]
    with RawClient(close_two) as client:
        client.initialize()

        assert client.ask("turnkeeper/print")["result"] == {"catEnded": 0}
        assert client.ask("turnkeeper/bug")["error"]["code"] == -32603


@pytest.mark.parametrize("closing", ["<&-", ">&-", "<&- >&-"])
def test_without_a_standard_stream_it_says_so_in_one_line(closed: Path, closing: str) -> None:
    argv = ["sh", "-c", f'exec "$@" {closing}', "sh", *echo_argv(closed)]

    ended = subprocess.run(argv, cwd=ROOT, stderr=subprocess.PIPE, timeout=20)

    assert ended.returncode == 1
    assert ended.stderr == b"turnkeeper: it needs an open standard input and output\n"


@pytest.mark.parametrize("read", [False, True])
def test_a_log_to_a_fifo_is_refused_in_one_line(closed: Path, tmp_path: Path, read: bool) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK) if read else None

    ended = subprocess.run(
        echo_argv(closed, "--log-file", str(fifo)), cwd=ROOT, capture_output=True, timeout=20
    )

    if reader is not None:
        os.close(reader)
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert ended.stderr.startswith(b"turnkeeper: cannot open the log file: ")
    assert ended.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("experimental", "options", "expected"),
    [
        ({}, {"turnkeeper": {}}, (True, False, {})),
        ({"turnkeeper": {"version": 1, "correctionRequest": True}}, None, (True, True, {})),
        (None, {"turnkeeper": {"locale": "zh"}}, (True, False, {"locale": "zh"})),
        ({"turnkeeper": {"version": 2}, "jsonrpc": {}}, {"turnkeeper": True}, (False, False, {})),
    ],
)
def test_pushes_go_only_to_a_client_that_opted_in(
    start: Start, experimental: Any, options: Any, expected: tuple[bool, bool, Any]
) -> None:
    client = start()
    capabilities = {"experimental": experimental}
    result = client.initialize(
        {"processId": None, "capabilities": capabilities, "initializationOptions": options}
    )
    opted_in, correction_request, settings = expected

    assert result["capabilities"]["experimental"]["turnkeeper"]["protocolVersion"] == 1
    assert client.ask("turnkeeper/client")["result"] == {
        "optedIn": opted_in,
        "correctionRequest": correction_request,
        "settings": settings,
    }
    client.send(request(1, "turnkeeper/push", {"n": 1}))
    if opted_in:
        assert client.receive() == notification("turnkeeper/flag", {"n": 1})
    assert client.receive()["id"] == 1
