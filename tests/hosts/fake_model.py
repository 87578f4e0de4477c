"""A model service on the loopback that says a fixed list of replies, for recordings of a real host.

It speaks the streaming Messages API. A request that offers tools gets the next reply of the list;
any other request (a title, a token count) gets a short answer and uses none up.
"""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = dict[str, Any]
Reply = list[Block]

UNITS_PER_TOKEN = 4


class Model(ThreadingHTTPServer):
    """Listens on a free port of 127.0.0.1 and holds the replies still to be given."""

    daemon_threads = True

    def __init__(self, replies: list[Reply]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies = list(replies)
        self.asked = 0
        self.size_before = 0  # Tokens of the last request: what counts as read from the cache.

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def next_reply(self, offers_tools: bool) -> Reply:
        if not offers_tools:
            return [{"type": "text", "text": "Release notes"}]
        self.asked += 1
        return self.replies.pop(0) if self.replies else [{"type": "text", "text": "Nothing left."}]

    def usage(self, request_units: int, reply_units: int) -> dict[str, int]:
        """Reckon usage from sizes: what the last request held was read from the cache."""
        size = request_units // UNITS_PER_TOKEN
        read = min(self.size_before, size)
        self.size_before = size
        return {
            "input_tokens": min(4, size - read),
            "cache_creation_input_tokens": size - read - min(4, size - read),
            "cache_read_input_tokens": read,
            "output_tokens": max(1, reply_units // UNITS_PER_TOKEN),
        }


class _Handler(BaseHTTPRequestHandler):
    server: Model
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: the recording is the only output."""

    def do_GET(self) -> None:
        self._send_json({"data": [], "has_more": False})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_CONNECT(self) -> None:
        self.send_error(403)  # The host may reach nothing but this service.

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if "count_tokens" in self.path:
            self._send_json({"input_tokens": len(raw) // UNITS_PER_TOKEN})
            return
        body = json.loads(raw)
        reply = self.server.next_reply(bool(body.get("tools")))
        usage = self.server.usage(len(raw), len(json.dumps(reply)))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in _events(reply, body.get("model", "fake"), usage, self.server.asked):
            line = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
            self.wfile.write(line.encode())

    def _send_json(self, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _events(reply: Reply, model: str, usage: dict[str, int], number: int) -> Iterator[Any]:
    message: dict[str, Any] = {
        "id": f"msg_demo_{number:02}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 1},
    }
    yield {"type": "message_start", "message": message}
    for index, block in enumerate(reply):
        yield from _block_events(index, block, number)
    calls = any(block["type"] == "tool_use" for block in reply)
    delta = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": usage}
    yield {"type": "message_stop"}


def _block_events(index: int, block: Block, number: int) -> Iterator[Any]:
    if block["type"] == "text":
        start: Block = {"type": "text", "text": ""}
        delta: Block = {"type": "text_delta", "text": block["text"]}
    else:
        call_id = f"toolu_demo_{number:02}_{index:02}"
        start = {"type": "tool_use", "id": call_id, "name": block["name"], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield {"type": "content_block_start", "index": index, "content_block": start}
    yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}
