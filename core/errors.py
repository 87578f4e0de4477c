"""What we refuse, each with its code, its kind, and the next step for the reader."""


class Refusal(Exception):
    """A request that cannot be carried out; nothing has changed.

    The message names the place; `hint` says the next step; `field` is the wire name of the
    parameter at fault; `problems` are all faults of a plan (core/phases/places.py, Problem).
    """

    code = -32602
    kind = "invalid"

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        field: str | None = None,
        problems: tuple[dict[str, object], ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.field = field
        self.problems = problems


class InvalidParams(Refusal):
    """A parameter has the wrong type or a value that means nothing."""


class NotParsed(Refusal):
    """A frame holds no JSON text; the answer has the id null."""

    code = -32700
    kind = "parse"


class InvalidRequest(Refusal):
    """It is no JSON-RPC 2.0 message, or comes at a wrong time: initialize twice, after shutdown."""

    code = -32600
    kind = "invalid_request"


class MethodNotFound(Refusal):
    """Nobody here knows this method."""

    code = -32601
    kind = "method_not_found"


class Internal(Refusal):
    """A bug of ours; the answer holds nothing of your message, the log names the place."""

    code = -32603
    kind = "internal"


class NotInitialized(Refusal):
    """A request came before initialize."""

    code = -32002
    kind = "not_initialized"


class Cancelled(Refusal):
    """The client took the request back."""

    code = -32800
    kind = "cancelled"


class UnknownSession(Refusal):
    """The session was never started here, or it has ended."""

    code = -31001
    kind = "unknown_session"


class PlanRefused(Refusal):
    """The plan file has faults, or the plan may not be armed; `problems` lists them."""

    code = -31002
    kind = "plan_refused"


class Conflict(Refusal):
    """Another process kept writing this session; nothing has changed."""

    code = -31003
    kind = "conflict"


class TooLarge(Refusal):
    """A frame or a text is above its stated limit."""

    code = -31004
    kind = "too_large"


class NotHuman(Refusal):
    """This act needs a human, or a trust that was never given."""

    code = -31005
    kind = "not_human"


class Unreadable(Refusal):
    """State on disk cannot be read, or was written by a newer version."""

    code = -31006
    kind = "unreadable"


class NotWritten(Refusal):
    """The disk refused; nothing has changed, and nothing new is promised."""

    code = -31006
    kind = "not_written"
