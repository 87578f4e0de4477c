"""A stock pygls server with typed params: what our transport is measured against."""

from typing import Any

import attrs
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, override
from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter

METHOD = "turnkeeper/toolCall"


@attrs.define
class ToolCallParams:
    """The same params as ours."""

    session_id: str
    tool_use_id: str
    name: str
    input: Any


@attrs.define
class ToolCallNotification:
    """The envelope that pygls wants for a typed notification."""

    params: ToolCallParams
    method: str = METHOD
    jsonrpc: str = "2.0"


class Protocol(LanguageServerProtocol):
    """Names the type of the one custom method."""

    def get_message_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        return ToolCallNotification if method == METHOD else super().get_message_type(method)


def converter() -> Converter:
    """Read camelCase names, which pygls does for its own classes alone."""
    made: Converter = default_converter()  # type: ignore[no-untyped-call]
    names = {"session_id": "sessionId", "tool_use_id": "toolUseId"}
    renamed = {name: override(rename=wire) for name, wire in names.items()}
    made.register_structure_hook(
        ToolCallParams,
        make_dict_structure_fn(ToolCallParams, made, **renamed),  # type: ignore[arg-type]
    )
    return made


server = LanguageServer("stock", "1", protocol_cls=Protocol, converter_factory=converter)
seen = 0


@server.feature(METHOD)
def tool_call(params: ToolCallParams) -> None:
    """Do nothing but count."""
    global seen
    seen += len(params.name)


@server.feature(types.WORKSPACE_SYMBOL)
def fence(params: types.WorkspaceSymbolParams) -> None:
    """Answer once everything before it was handled."""


if __name__ == "__main__":
    server.start_io()
