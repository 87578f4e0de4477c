"""Turns exceptions into answers; a bug gets no words on the wire and only its place in the log."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from pygls.exceptions import JsonRpcException, JsonRpcInternalError

from core.errors import Refusal
from core.events import Json
from server.log import log, place_of

P = ParamSpec("P")
T = TypeVar("T")

INTERNAL = -32603


class NotParsed(Refusal):
    """A frame holds no JSON text."""

    code = -32700
    kind = "parse"


class InvalidRequest(Refusal):
    """The message is no JSON-RPC 2.0 message, or it comes at a time when it may not."""

    code = -32600
    kind = "invalid_request"


class NotInitialized(Refusal):
    """A request came before initialize."""

    code = -32002
    kind = "not_initialized"


class MethodNotFound(Refusal):
    """Nobody here knows this method."""

    code = -32601
    kind = "method_not_found"


class Cancelled(Refusal):
    """The client took the request back."""

    code = -32800
    kind = "cancelled"


def outcome(
    work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> tuple[T, None] | tuple[None, Exception]:
    """What work returns, or the exception that ended it."""
    try:
        return work(*args, **kwargs), None
    except Exception as fault:
        return None, fault


def error_of(fault: BaseException) -> dict[str, Json]:
    """The JSON-RPC error {code, message, data {kind, hint, field?, problems?}} of an exception."""
    if isinstance(fault, Refusal):
        return {"code": fault.code, "message": fault.message, "data": _data_of(fault)}
    if isinstance(fault, JsonRpcException) and not isinstance(fault, JsonRpcInternalError):
        data = {"kind": "refused", "hint": "The LSP specification describes this method."}
        return {"code": fault.code, "message": fault.message, "data": data}
    return {
        "code": INTERNAL,
        "message": "internal error",
        "data": {"kind": "internal", "hint": "A bug in the server; its log names the place."},
    }


def log_bug(where: str, fault: BaseException) -> None:
    """One line with the type and the place; the text of the exception may hold a prompt."""
    log.error("%s failed: %s", where, place_of(fault))


def _data_of(refusal: Refusal) -> dict[str, Json]:
    data: dict[str, Json] = {"kind": refusal.kind, "hint": refusal.hint}
    if refusal.field is not None:
        data["field"] = refusal.field
    if refusal.problems:
        data["problems"] = list(refusal.problems)
    return data
