"""Every message gets its one right answer, and the process lives on."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.framing import FRAME_BYTES_MAX
from tests.server.conftest import echo_argv
from tests.server.echo_app import SECRET
from tests.server.raw_client import RawClient, frame, notification, request

POSITION = {"textDocument": {"uri": "file:///a"}, "position": {"line": 0, "character": 0}}
NOT_OPEN = {
    "textDocument": {"uri": "file:///never%20opened", "version": 1},
    "contentChanges": [{"text": ""}],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawClient]:
    """One server for all tests here: none of them may harm the next; nothing is left unread."""
    folder = tmp_path_factory.mktemp("messages")
    with RawClient(echo_argv(folder / "closed", "--log-file", str(folder / "log"))) as client:
        client.initialize()
        yield client
        assert client.ask("shutdown")["result"] is None
        client.send(notification("exit"))
        assert client.wait() == 0
        assert client.rest() == b""
        assert SECRET.encode() not in (folder / "log").read_bytes()


def error_of(answer: Any) -> tuple[Any, int, str]:
    return answer["id"], answer["error"]["code"], answer["error"]["data"]["kind"]


@pytest.mark.parametrize(
    ("body", "code", "kind"),
    [
        (b"{", -32700, "parse"),
        (b"", -32700, "parse"),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700, "parse"),
        (b"[" * 100_000, -32700, "parse"),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"turnkeeper/echo","params":{"a":NaN}}',
            -32700,
            "parse",
        ),
        (b'[{"jsonrpc":"2.0","id":1,"method":"shutdown"}]', -32600, "invalid_request"),
        (b"5", -32600, "invalid_request"),
        (b'{"jsonrpc":"2.0","id":{},"method":"shutdown"}', -32600, "invalid_request"),
        (b'{"jsonrpc":"2.0","id":true,"method":"shutdown"}', -32600, "invalid_request"),
        (b'{"jsonrpc":"2.0"}', -32600, "invalid_request"),
        (b'{"jsonrpc":"2.0","method":["shutdown"]}', -32600, "invalid_request"),
    ],
)
def test_a_message_without_a_readable_id_is_refused_with_id_null(
    server: RawClient, body: bytes, code: int, kind: str
) -> None:
    server.send(body)

    assert error_of(server.receive()) == (None, code, kind)


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "1.0", "id": 7, "method": "turnkeeper/echo"},
        {"id": 7, "method": "turnkeeper/echo"},
        {"jsonrpc": "2.0", "id": 7, "method": 5},
        {"jsonrpc": "2.0", "id": 7},
        request(7, "initialize", {"processId": None, "capabilities": {}}),
    ],
)
def test_an_invalid_request_is_refused_under_its_id(server: RawClient, message: Any) -> None:
    server.send(message)

    assert error_of(server.receive()) == (7, -32600, "invalid_request")


@pytest.mark.parametrize("method", ["turnkeeper/unknown", "$/unknown", "textDocument/rename", "\n"])
def test_an_unknown_request_is_refused(server: RawClient, method: str) -> None:
    assert error_of(server.ask(method, {})) == ("q", -32601, "method_not_found")


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"textDocument": {"uri": "file:///a"}}, "position"),
        ({**POSITION, "position": {"line": "a", "character": 0}}, "position.line"),
        ({**POSITION, "textDocument": {}}, "textDocument.uri"),
        (None, "textDocument"),
        (5, "params"),
        ([1, 2], "params"),
    ],
)
def test_standard_parameters_that_do_not_fit_name_the_wire_field(
    server: RawClient, params: Any, field: str
) -> None:
    answer = server.ask("textDocument/hover", params)

    assert error_of(answer) == ("q", -32602, "invalid")
    assert answer["error"]["data"]["field"] == field
    assert answer["error"]["data"]["hint"]


def test_a_refusal_keeps_its_code_field_hint_and_problems(server: RawClient) -> None:
    assert server.ask("turnkeeper/refuse")["error"] == {
        "code": -32602,
        "message": "turnId is no string",
        "data": {
            "kind": "invalid",
            "field": "turnId",
            "hint": 'Send "10", not 10.',
            "problems": [
                {
                    "line": 1,
                    "column": 2,
                    "endLine": 1,
                    "endColumn": 5,
                    "code": "bad_id",
                    "message": "no id",
                }
            ],
        },
    }


def test_an_asynchronous_feature_is_refused_in_the_same_way(server: RawClient) -> None:
    answer = server.ask("textDocument/definition", POSITION)

    assert error_of(answer) == ("q", -31001, "unknown_session")


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("turnkeeper/bug", {}),
        ("turnkeeper/unprintable", {}),
        ("textDocument/hover", POSITION),
    ],
)
def test_a_bug_is_answered_without_a_word_of_it(
    server: RawClient, method: str, params: Any
) -> None:
    answer = server.ask(method, params)

    assert error_of(answer) == ("q", -32603, "internal")
    assert SECRET not in json.dumps(answer)
    assert "Traceback" not in json.dumps(answer)


@pytest.mark.parametrize("params", [5, [1], "text", True])
def test_parameters_of_ours_must_be_an_object(server: RawClient, params: Any) -> None:
    answer = server.ask("turnkeeper/echo", params)

    assert error_of(answer) == ("q", -32602, "invalid")
    assert answer["error"]["data"]["field"] == "params"


def test_absent_null_and_empty_parameters_are_the_same(server: RawClient) -> None:
    server.send({"jsonrpc": "2.0", "id": 1, "method": "turnkeeper/echo"})
    server.send(request(2, "turnkeeper/echo", None), request(3, "turnkeeper/echo", {}))

    assert [server.receive()["result"]["params"] for _ in range(3)] == [{}, {}, {}]


@pytest.mark.parametrize("ident", [0, -1, "a", "", "\u00e9", None])
def test_an_id_comes_back_as_it_was(server: RawClient, ident: Any) -> None:
    assert server.ask("turnkeeper/echo", ident=ident)["id"] == ident
    assert server.ask("test/raw", ident=ident)["id"] == ident


@pytest.mark.parametrize("method", ["turnkeeper/echo", "test/raw"])
def test_json_rpc_messages_inside_parameters_are_data(server: RawClient, method: str) -> None:
    inner = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"jsonrpc": 5}}
    params = {"input": [inner, {"jsonrpc": None}], "jsonrpc": "1", "type_name": "1 bad"}

    result = server.ask(method, params)["result"]

    assert result.get("params", result) == params


def test_half_a_surrogate_pair_is_taken_and_replaced_in_the_answer(server: RawClient) -> None:
    server.send(b'{"jsonrpc":"2.0","id":1,"method":"turnkeeper/echo","params":{"t":"a\\ud800"}}')

    assert server.receive()["result"]["params"] == {"t": "a\ufffd"}


def test_a_number_of_five_thousand_digits_is_infinite_as_in_javascript(server: RawClient) -> None:
    server.send(
        b'{"jsonrpc":"2.0","id":1,"method":"turnkeeper/note","params":{"n":%b}}' % (b"9" * 5000)
    )

    assert server.receive() == {"jsonrpc": "2.0", "id": 1, "result": None}


def test_bad_notifications_are_flagged_and_never_answered(server: RawClient) -> None:
    server.send(
        notification("turnkeeper/bug", {"sessionId": "s"}),
        notification("turnkeeper/refuse", {"sessionId": 5}),
        notification("turnkeeper/asked"),
        notification("turnkeeper/echo", [1]),
        notification("textDocument/didOpen", {}),
        notification("textDocument/hover", POSITION),
        notification("workspace/didChangeConfiguration", {"settings": {}}),
        notification("turnkeeper/unknown"),
        notification("$/unknown", {}),
        notification("$/cancelRequest", {"id": "none"}),
        notification("$/cancelRequest", {"id": [1]}),
        notification("$/cancelRequest"),
        notification("textDocument/didChange", NOT_OPEN),
        notification("textDocument/didClose", NOT_OPEN),
        {"jsonrpc": "2.0", "id": "nobody's", "result": None},
        {"jsonrpc": "2.0", "id": "nobody's", "error": 5},
    )

    flags = server.ask("turnkeeper/seen")["result"]["flags"]

    assert flags == [
        ["s", "internal", "turnkeeper/bug: internal error"],
        [None, "invalid", "turnkeeper/refuse: turnId is no string"],
        [None, "invalid_request", "turnkeeper/asked: an id is missing"],
        [None, "invalid", "turnkeeper/echo: params is no object"],
        [None, "invalid", "textDocument/didOpen: textDocument is missing"],
        [None, "invalid_request", "textDocument/hover: an id is missing"],
        [None, "internal", "a standard notification: internal error"],
    ]


def test_a_notification_method_sent_as_a_request_is_answered(server: RawClient) -> None:
    document = {"uri": "file:///b", "languageId": "yaml", "version": 1, "text": ""}

    answer = server.ask("textDocument/didOpen", {"textDocument": document})

    assert answer["result"] is None


def test_a_cancelled_request_is_answered_as_cancelled(server: RawClient) -> None:
    params = {**POSITION, "context": {"includeDeclaration": True}}
    server.send(request(5, "textDocument/references", params), request(6, "turnkeeper/echo"))
    server.send(notification("$/cancelRequest", {"id": 5}))

    assert server.receive()["id"] == 6
    assert error_of(server.receive()) == (5, -32800, "cancelled")


def test_messages_are_handled_in_the_order_they_came(server: RawClient) -> None:
    before = len(server.ask("turnkeeper/seen")["result"]["seen"])
    server.send(*(notification("turnkeeper/note", {"n": n}) for n in range(3000)))

    assert server.ask("turnkeeper/seen")["result"]["seen"][before:] == list(range(3000))


def test_a_stream_split_at_every_byte_is_read(server: RawClient) -> None:
    for byte in frame(request(1, "turnkeeper/echo", {"a": "é"})):
        server.send_bytes(bytes([byte]))

    assert server.receive()["result"]["params"] == {"a": "é"}


def test_other_spellings_of_the_header_are_read(server: RawClient) -> None:
    body = json.dumps(request(1, "turnkeeper/echo")).encode()
    for header in (b"content-length:%d\r\n\r\n", b"Content-Length: %d\n\n"):
        server.send_bytes(header % len(body) + body)

        assert server.receive()["id"] == 1


def test_ten_megabytes_go_both_ways(server: RawClient) -> None:
    text = "é" * 5_000_000

    assert server.ask("turnkeeper/echo", {"text": text})["result"]["params"] == {"text": text}


def test_a_frame_at_the_limit_works_and_one_past_it_is_refused(server: RawClient) -> None:
    head, tail = b'{"jsonrpc":"2.0","id":1,"method":"turnkeeper/note","params":{"pad":"', b'"}}'
    pad = FRAME_BYTES_MAX - len(head) - len(tail)
    server.send(head + b"x" * pad + tail)

    assert server.receive()["result"] is None

    server.send(head + b"x" * (pad + 1) + tail, request(2, "turnkeeper/echo"))

    assert error_of(server.receive()) == (None, -31004, "too_large")
    assert server.receive()["id"] == 2


def test_nothing_printed_reaches_the_client_and_no_child_eats_its_messages(
    server: RawClient,
) -> None:
    server.send(request(1, "turnkeeper/print"), request(2, "turnkeeper/echo"))

    assert server.receive() == {"jsonrpc": "2.0", "id": 1, "result": {"catEnded": 0}}
    assert server.receive()["id"] == 2


def test_log_lines_name_place_and_field_but_no_text(start: Any, tmp_path: Path) -> None:
    client = start("--log-file", str(tmp_path / "log"))
    client.initialize()
    client.ask("turnkeeper/bug")
    client.send(notification("turnkeeper/refuse", {"sessionId": SECRET}))
    client.ask("turnkeeper/seen")
    client.end()

    log = (tmp_path / "log").read_text()

    assert "turnkeeper/bug failed: ValueError at tests/server/echo_app.py:" in log
    assert "refused turnkeeper/refuse: invalid turnId" in log
    assert SECRET not in log
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600
