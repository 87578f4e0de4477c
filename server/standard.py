"""Gives standard LSP messages their types, and says which wire field does not fit."""

from typing import Any

from cattrs import Converter, transform_error
from lsprotocol import types
from pygls.protocol import JsonRPCNotification, JsonRPCRequestMessage

from core.errors import InvalidParams, InvalidRequest, Refusal
from core.events import Json
from server.errors import outcome
from server.log import clean
from server.message import Message

REQUIRED_OF_INITIALIZE = ("processId", "capabilities")


def structure(converter: Converter, wanted: type[Any] | None, message: Message) -> Any:
    """The typed form of a request or notification; raises InvalidParams naming the field.

    Only the message itself is looked at: its params may hold JSON-RPC messages as data.
    Without a type the params stay plain JSON.
    """
    name, params = message["method"], message.get("params")
    if params is not None and type(params) is not dict and wanted is not None:
        raise InvalidParams("params is no object", field="params", hint="Name the parameters.")
    if wanted is None:
        if "id" in message:
            return JsonRPCRequestMessage(message["id"], name, "2.0", params)
        return JsonRPCNotification(name, "2.0", params)
    if name == types.INITIALIZE:
        _require(name, params, REQUIRED_OF_INITIALIZE)
    whole = {**message, "params": {} if params is None else params}
    if "id" in message:
        whole["id"] = 0  # These types refuse null; the answer takes the id from the message.
    typed, fault = outcome(converter.structure, whole, wanted)
    if fault is not None:
        raise _misfit(name, fault) from None
    return typed


def _require(name: str, params: Json, fields: tuple[str, ...]) -> None:
    for field in fields:
        if type(params) is not dict or field not in params:
            raise InvalidParams(
                f"{field} is missing", field=field, hint=f"{name} needs it; null is a value too."
            )


def _misfit(name: str, fault: Exception) -> Refusal:
    """Say which field of a standard message does not fit, as it is called on the wire."""
    what, _, path = transform_error(fault)[0].partition(" @ ")
    if path == "$.id":
        return InvalidRequest("an id is missing", hint="Send it as a request.")
    steps = path.removeprefix("$.params").lstrip(".").split(".")
    field = ".".join(_camel(step) for step in steps) or "params"
    state = "is missing" if what == "required field missing" else "does not fit"
    return InvalidParams(
        f"{field} {state}",
        field=field,
        hint=f"The LSP specification describes the parameters of {clean(name)}.",
    )


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
