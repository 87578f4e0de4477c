"""Looks at one JSON-RPC message before anybody knows what it is about."""

from core.errors import InvalidParams, InvalidRequest, NotParsed, TooLarge
from core.events import Json
from server.framing import FRAME_BYTES_MAX, Oversized
from server.jsontext import NotJson, parse

Message = dict[str, Json]


def opened(frame: bytes | Oversized) -> Message:
    """The message in a frame; raises a Refusal that is answered without an id."""
    if isinstance(frame, Oversized):
        raise TooLarge(
            f"a frame of {frame.length_bytes} bytes",
            hint=f"Send at most {FRAME_BYTES_MAX} bytes in one frame.",
        )
    try:
        message = parse(frame)
    except NotJson:
        raise NotParsed(
            "the frame holds no JSON text", hint="Send UTF-8, nested at most 1,000 deep."
        ) from None
    if type(message) is not dict:
        raise InvalidRequest(
            "the message is no object",
            hint="Send one message per frame; batches are not part of LSP.",
        )
    return message


def envelope_fault(message: Message) -> str:
    """What is wrong with the message as JSON-RPC 2.0; "" when nothing is."""
    if message.get("jsonrpc") != "2.0":
        return 'jsonrpc is not "2.0"'
    if "id" in message and not is_id(message["id"]):
        return "id is neither a string nor an integer"
    if "method" in message:
        return "" if type(message["method"]) is str else "method is no string"
    if "id" in message and ("result" in message or "error" in message):
        return ""
    return "the message has no method"


def is_id(value: Json) -> bool:
    return value is None or type(value) is str or type(value) is int


def readable_id(message: Message) -> Json:
    ident = message.get("id")
    return ident if is_id(ident) else None


def params_of(message: Message) -> dict[str, Json]:
    params = message.get("params")
    if type(params) is dict:
        return params
    if params is None:
        return {}
    raise InvalidParams("params is no object", field="params", hint="Name the parameters.")


def session_of(message: Message) -> str | None:
    params = message.get("params")
    found = params.get("sessionId") if type(params) is dict else None
    return found if type(found) is str else None
