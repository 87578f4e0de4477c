"""A model service on the loopback that says what a scenario tells it, for runs of real hosts.

It speaks the Messages API of Anthropic and the Responses API of OpenAI (fake_responses.py). A
scenario is a set of named scripts, a script a list of replies. "main" serves a conversation until a
user message holds "[[script:NAME]]"; the last such mark wins. Replies come one after the other, the
last one again and again. A request that offers no tools (a title), or that asks for a summary of
the conversation, gets the script "side".
"""

import gzip
import json
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, NamedTuple, TypeAlias

Json: TypeAlias = Any

UNITS_PER_TOKEN = 4
FRESH_TOKENS = 4  # What of a request is neither read from the cache nor written to it.
REQUESTS_MAX = 200  # A host that runs in circles is refused from then on.

_MARK = re.compile(r"\[\[script:([\w-]+)\]\]")
_SUMMARY = re.compile(r"<summary>|CONTEXT CHECKPOINT COMPACTION")


class Block(NamedTuple):
    """One part of a reply.

    Kinds: text, thinking, tool, custom (a call whose input is a text), and shell, which becomes a
    call of the tool that the host has for it.
    """

    kind: str
    name: str
    value: Json


class Tokens(NamedTuple):
    """What a reply says was used."""

    input: int
    cache_write: int
    cache_read: int
    output: int
    reasoning: int = 0


class Reply(NamedTuple):
    """One answer of the model; without `tokens` they are reckoned from the sizes.

    `first_tokens` stands for the size of a conversation's first request, which differs from
    machine to machine; what the next ones add is reckoned.
    """

    blocks: tuple[Block, ...]
    tokens: Tokens | None = None
    error: str | None = None  # Refuse the request with this message.
    first_tokens: int | None = None


Scenario: TypeAlias = Mapping[str, tuple[Reply, ...]]


class Asked(NamedTuple):
    """A request as it came in."""

    body: Json
    script: str
    tokens: Tokens  # As they were answered.
    agent_id: str | None  # The sub-agent that Claude Code names in a header.


def say(*blocks: Block, tokens: Tokens | None = None, first_tokens: int | None = None) -> Reply:
    return Reply(blocks, tokens, first_tokens=first_tokens)


def text(value: str) -> Block:
    return Block("text", "", value)


def thinking(value: str) -> Block:
    return Block("thinking", "", value)


def call(name: str, /, **given: Json) -> Block:
    return Block("tool", name, given)


def custom(name: str, value: str) -> Block:
    return Block("custom", name, value)


def shell(command: str) -> Block:
    return Block("shell", "", command)


_ALWAYS: Scenario = {
    "main": (say(text("Done.")),),
    "side": (say(text("<summary>A look around was asked for; nothing is left.</summary>")),),
}


class Model(ThreadingHTTPServer):
    """Listens on a free port of 127.0.0.1, answers by the scenario, and keeps what was asked."""

    daemon_threads = True

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[Asked] = []
        self.elsewhere: list[str] = []  # Hosts that a program wanted to reach through the proxy.
        self._scenario = {**_ALWAYS, **scenario}
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._scripts: dict[str, str] = {}  # Conversation to the script that serves it.
        self._said: dict[tuple[str, str], int] = {}
        self._sizes: dict[str, int] = {}  # Conversation to the tokens of its last request.
        self._offsets: dict[str, int] = {}  # To what is added to the sizes of its requests.

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a host that hung up."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def unsaid(self, script: str) -> int:
        """Count the replies of a script that no request came for."""
        given = sum(said for (_, name), said in self._said.items() if name == script)
        return max(0, len(self._scenario[script]) - given)

    def new_id(self, prefix: str) -> str:
        return f"{prefix}_fake_{next(self._numbers):04}"

    def reply(
        self,
        body: Json,
        conversation: str,
        texts: list[str],
        tools: list[str],
        agent_id: str | None,
    ) -> tuple[Reply, Tokens]:
        """Choose the reply to a request and keep the request."""
        with self._lock:
            script = self._script(conversation, texts, bool(tools))
            said = self._said.get((conversation, script), 0)
            self._said[conversation, script] = said + 1
            replies = self._scenario[script]
            chosen = replies[min(said, len(replies) - 1)]
            tokens = chosen.tokens or self._reckon(conversation, body, chosen)
            if len(self.asked) >= REQUESTS_MAX:
                chosen = Reply((), error="too many requests for a test")
            self.asked.append(Asked(body, script, tokens, agent_id))
        return chosen, tokens

    def _script(self, conversation: str, texts: list[str], offers_tools: bool) -> str:
        if not offers_tools or (texts and _SUMMARY.search(texts[-1])):
            return "side"
        marks = [mark for text in texts for mark in _MARK.findall(text) if mark in self._scenario]
        script = marks[-1] if marks else self._scripts.get(conversation, "main")
        # A summary may take the place of the message with the mark.
        self._scripts[conversation] = script
        return script

    def _reckon(self, conversation: str, body: Json, reply: Reply) -> Tokens:
        size = text_units(body) // UNITS_PER_TOKEN
        if reply.first_tokens is not None:
            size += self._offsets.setdefault(conversation, reply.first_tokens - size)
        read = min(self._sizes.get(conversation, 0), size)
        self._sizes[conversation] = size
        fresh = min(FRESH_TOKENS, size - read)
        said = sum(text_units(block.value) for block in reply.blocks)
        return Tokens(fresh, size - read - fresh, read, max(1, said // UNITS_PER_TOKEN))


@contextmanager
def serving(scenario: Scenario) -> Iterator[Model]:
    """Serve a scenario for as long as the block lasts."""
    model = Model(scenario)
    threading.Thread(target=model.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield model
    finally:
        model.shutdown()
        model.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Model
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: what was asked is kept by the model."""

    def do_GET(self) -> None:
        self.send_json({"data": [], "models": [], "has_more": False})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_CONNECT(self) -> None:
        self.server.elsewhere.append(self.path)
        self.send_error(403)  # A host may reach nothing but this service.

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self.send_json({"input_tokens": len(raw) // UNITS_PER_TOKEN})
        elif path.endswith("/messages"):
            self._answer_messages(json.loads(raw))
        elif path.endswith("/responses"):
            self._answer_responses(json.loads(raw))
        else:
            self.send_error(404)

    def _answer_messages(self, body: Json) -> None:
        tools = [tool.get("name", "") for tool in body.get("tools") or []]
        texts = user_texts(body["messages"])
        agent_id = self.headers.get("x-claude-code-agent-id")
        session = self.headers.get("x-claude-code-session-id") or ""
        place = f"{session}/{agent_id or ''}{'' if tools else '/side'}"
        reply, tokens = self.server.reply(body, place, texts, tools, agent_id)
        if reply.error:
            self.refuse(reply.error)
            return
        message = message_of(self.server, reply, tokens, body)
        if body.get("stream"):
            self.send_events(message_events(message))
        else:
            self.send_json(message)

    def _answer_responses(self, body: Json) -> None:
        from tests.hosts.fake_responses import offered, response_events, response_of, user_items

        tools = offered(body)
        texts = user_texts(user_items(body))
        place = str(body.get("prompt_cache_key") or self.headers.get("session_id") or "")
        reply, tokens = self.server.reply(body, place, texts, list(tools), None)
        if reply.error:
            self.refuse(reply.error)
            return
        response = response_of(self.server, reply, tokens, body, tools)
        if body.get("stream"):
            self.send_events(response_events(response))
        else:
            self.send_json(response)

    def refuse(self, message: str) -> None:
        error = {"type": "invalid_request_error", "message": message}
        self.send_json({"type": "error", "error": error}, 400)

    def send_json(self, value: Json, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("request-id", self.server.new_id("req"))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def send_events(self, events: Iterator[Json]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("request-id", self.server.new_id("req"))
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())


def text_units(value: Json) -> int:
    """Sum the lengths of all texts in a JSON value, names of fields apart, in UTF-16 units."""
    if isinstance(value, str):
        return len(value.encode("utf-16-le", "surrogatepass")) // 2
    items = value.values() if isinstance(value, dict) else value
    return sum(map(text_units, items)) if isinstance(value, dict | list) else 0


def user_texts(messages: Json) -> list[str]:
    """List the texts of the user's messages, in order."""
    texts: list[str] = []
    for message in messages:
        if message.get("role") == "user":
            content = message.get("content")
            parts = [{"text": content}] if isinstance(content, str) else content or []
            texts += [part["text"] for part in parts if isinstance(part.get("text"), str)]
    return texts


def message_of(model: Model, reply: Reply, tokens: Tokens, body: Json) -> Json:
    """Give the whole message that answers a Messages request."""
    content = [_content(model, block) for block in reply.blocks]
    calls = any(block["type"] == "tool_use" for block in content)
    return {
        "id": model.new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "fake"),
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": tokens.input,
            "cache_creation_input_tokens": tokens.cache_write,
            "cache_read_input_tokens": tokens.cache_read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": tokens.cache_write,
                "ephemeral_1h_input_tokens": 0,
            },
            "output_tokens": tokens.output,
            "service_tier": "standard",
        },
    }


def _content(model: Model, block: Block) -> Json:
    match block.kind:
        case "text":
            return {"type": "text", "text": block.value}
        case "thinking":
            return {"type": "thinking", "thinking": block.value, "signature": "c2VhbGVk"}
        case "shell":
            name, given = "Bash", {"command": block.value, "description": "Run a command"}
        case _:
            name, given = block.name, block.value
    return {"type": "tool_use", "id": model.new_id("toolu"), "name": name, "input": given}


def message_events(message: Json) -> Iterator[Json]:
    """Give the events that stream a message; only the last one has its true output tokens."""
    begun = {**message, "content": [], "stop_reason": None}
    yield {
        "type": "message_start",
        "message": {**begun, "usage": {**message["usage"], "output_tokens": 1}},
    }
    for index, block in enumerate(message["content"]):
        empty, deltas = _streamed(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _streamed(block: Json) -> tuple[Json, list[Json]]:
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        case "thinking":
            return {**block, "thinking": "", "signature": ""}, [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        case _:
            given = json.dumps(block["input"])
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": given}]
