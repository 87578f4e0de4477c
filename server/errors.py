"""Turns exceptions into answers; a bug gets no words on the wire and only its place in the log."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from pygls.exceptions import JsonRpcException, JsonRpcInternalError

from core.errors import Internal, Refusal
from core.events import Json
from handlers.convert import from_core, unstructure
from handlers.wire_results import PlanProblem
from server.log import log, place_of

P = ParamSpec("P")
T = TypeVar("T")


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
    return error_of(
        Internal("internal error", hint="A bug in the server; its log names the place.")
    )


def log_bug(where: str, fault: BaseException) -> None:
    """One line with the type and the place; the text of the exception may hold a prompt."""
    log.error("%s failed: %s", where, place_of(fault))


def _data_of(refusal: Refusal) -> dict[str, Json]:
    data: dict[str, Json] = {"kind": refusal.kind, "hint": refusal.hint}
    if refusal.field is not None:
        data["field"] = refusal.field
    if refusal.problems:
        data["problems"] = [
            unstructure(from_core(PlanProblem, problem)) for problem in refusal.problems
        ]
    return data
