"""Every method and push of ours, once: server and docs are both made from this table."""

from typing import NamedTuple

from handlers import wire as w
from handlers import wire_results as r
from handlers.wire_accounting import Accounting

PREFIX = "turnkeeper/"


class Contract(NamedTuple):
    """What one method takes and answers."""

    name: str
    params: type
    result: type | None  # None: the answer is always null.
    doc: str
    from_host: bool  # Also taken as a notification.
    may_be_null: bool = False  # The answer is the result or null.
    or_one_of: tuple[type, ...] = ()  # What else the answer may be.


class Push(NamedTuple):
    """A message that the server sends to a client that opted in."""

    name: str
    params: type
    doc: str
    answer: type | None = None  # When the client has it sent as a request.


def _host(
    name: str,
    params: type,
    result: type | None,
    doc: str,
    *,
    may_be_null: bool = False,
    or_one_of: tuple[type, ...] = (),
) -> Contract:
    return Contract(PREFIX + name, params, result, doc, True, may_be_null, or_one_of)


def _ask(name: str, params: type, result: type, doc: str) -> Contract:
    return Contract(PREFIX + name, params, result, doc, False)


METHODS = (
    _host(
        "sessionStart",
        w.SessionStartParams,
        r.SessionState,
        "Begins a session, or resumes a known one.",
    ),
    _host(
        "prompt",
        w.PromptParams,
        r.PromptAnswer,
        "Opens a turn; the answer is what to put before the model with it.",
    ),
    _host(
        "toolCall",
        w.ToolCallParams,
        r.ToolCallAnswer,
        "Counts a tool call, and says when it should not be made.",
        may_be_null=True,
    ),
    _host("toolResult", w.ToolResultParams, None, "Counts what a tool answered."),
    _host("usage", w.UsageParams, None, "Takes reported usage and pushes a live account."),
    _host("context", w.ContextParams, None, "Counts content that the host itself put in."),
    _host("composer", w.ComposerParams, None, "Shows what waits for the next turn."),
    _host("compaction", w.CompactionParams, None, "Marks that the context was compacted."),
    _host("turnEnd", w.TurnEndParams, r.Verdict, "Asks whether the turn may end."),
    _host("sessionEnd", w.SessionEndParams, None, "Ends the session until it is started again."),
    _host(
        "hostEvent",
        w.HostEventParams,
        r.Verdict,
        "Takes a raw event of a host. Answers what the events answer that it is mapped to: a denied"
        " call first, else the last of them that is not null. A host's hooks carry no usage, or not"
        " all of it: send the rows of its transcript too; what both tell counts once.",
        may_be_null=True,
        or_one_of=(r.SessionState, r.PromptAnswer, r.ToolCallAnswer),
    ),
    _ask("plan/check", w.PlanCheckParams, r.PlanCheck, "Lists the faults of a plan."),
    _ask("plan/arm", w.PlanArmParams, r.PhaseState, "Freezes a plan and begins its first phase."),
    _ask("plan/status", w.SessionParams, r.PhaseState, "Tells where the plan stands."),
    _ask("plan/decline", w.PlanReasonParams, r.PhaseState, "Turns down an offer or a plan."),
    _ask("plan/park", w.PlanPauseParams, r.PhaseState, "Lets the plan rest; nothing is blocked."),
    _ask(
        "plan/resume",
        w.PlanPauseParams,
        r.PhaseState,
        "Takes a parked or given-up plan up again, with fresh counters.",
    ),
    _ask("plan/cancel", w.PlanReasonParams, r.PhaseState, "Drops the plan."),
    _ask(
        "follow",
        w.FollowParams,
        r.SessionList,
        "Follows recordings of sessions that no host reports, until the connection ends; pushes"
        " their accounts and keeps nothing. `workspace` is the folder that the agent works in. What"
        " is only followed is never final: its revision stays 0.",
    ),
    _ask("accounting/snapshot", w.SnapshotParams, Accounting, "Gives the account of a turn."),
    _ask("stats", w.NoParams, r.Stats, "Gives the counters of this process."),
    _ask("receipts", w.ReceiptsParams, r.Receipts, "Gives receipts out of the ledger."),
    _ask(
        "sessions",
        w.NoParams,
        r.SessionList,
        "Lists the sessions of this connection, the armed ones of its folders and those that are"
        " followed, never others.",
    ),
)

PUSHES = (
    Push(PREFIX + "injection", r.InjectionPush, "Answers a prompt that came as a notification."),
    Push(
        PREFIX + "correction",
        r.Correction,
        "Blocks a turn end that came as a notification; a request if `correctionRequest` is set.",
        r.CorrectionAnswer,
    ),
    Push(PREFIX + "accounting", Accounting, "Gives the account as it moves; previews not final."),
    Push(
        PREFIX + "phaseChanged", r.PhaseChanged, "Tells that a plan changed its state or its phase."
    ),
    Push(PREFIX + "flag", r.Flag, "Tells what needs eyes."),
)
