"""What the transport asks of the application, and what it gives to it."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from core.events import Json

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer


class Call(Enum):
    """How a message came; only a request carries the answer back by itself."""

    REQUEST = "request"
    NOTIFICATION = "notification"


class Method(NamedTuple):
    """One method of ours; it is called in message order, on the loop's thread.

    `structure` raises InvalidParams naming the wire field; it is given {} where params are absent.
    `handle` raises a Refusal for what cannot be done; any other exception is a bug. It gives the
    answer, or a Later (core/later.py) when something slow comes first; until that is answered,
    later messages of the same sessionId wait, and all others go on.
    """

    name: str
    structure: Callable[[dict[str, Json]], Json]
    handle: Callable[[Json, Call], Json]
    unstructure: Callable[[Json], Json]
    only_request: bool = False  # As a notification it would mean nothing.


class Client(NamedTuple):
    """The one client of this process, as its initialize request describes it."""

    settings: dict[str, Json]  # initializationOptions.turnkeeper; {} when there is none.
    opted_in: bool
    correction_request: bool
    push: Callable[[str, Json], None]  # Sends a notification of ours; nothing when not opted in.


class App(Protocol):
    """The application behind the transport; every call comes on the loop's thread."""

    @property
    def version(self) -> str: ...

    @property
    def methods(self) -> Sequence[Method]: ...

    @property
    def announced(self) -> Mapping[str, Json]:
        """The lists {kinds, runtimes, criteria} of the initialize answer."""

    def register(self, server: "LanguageServer") -> None:
        """Register the standard LSP features; called once, before anything is read."""

    def connected(self, client: Client) -> None:
        """Take the client's settings while initialize is answered; it may not push yet."""

    def flag(self, session_id: str | None, code: str, message: str, hint: str) -> None:
        """A notification could not be carried out; nobody else will tell the client."""

    def close(self) -> None:
        """Flush and checkpoint; the process ends within a second of this call."""
