"""What can be asked for at any time: accounts, receipts, sessions, counters."""

from core.errors import InvalidParams, UnknownSession
from handlers import answers
from handlers import wire as w
from handlers import wire_results as r
from handlers.hub import Hub
from handlers.method import Call
from handlers.wire_accounting import Accounting

RECEIPTS_MAX = 1_000  # In one answer, unless fewer are asked for.


def snapshot(hub: Hub, params: w.SnapshotParams, call: Call) -> Accounting:
    """Give the account of a turn, the latest one when none is named."""
    try:
        state = hub.sessions.state(params.session_id)
    except UnknownSession:
        followed = None if hub.follower is None else hub.follower.find(params.session_id)
        if followed is None:
            raise
        return hub.accounting(followed.session, followed.accounted(params.turn_id))
    return hub.accounting(state, hub.sessions.accounted(params.session_id, params.turn_id))


def stats(hub: Hub, params: w.NoParams, call: Call) -> r.Stats:
    """Give the counters of this process."""
    live = len(hub.sessions.states())
    return r.Stats(counters={**hub.counters, "sessions": live})


def receipts(hub: Hub, params: w.ReceiptsParams, call: Call) -> r.Receipts:
    """Give receipts out of the ledger, oldest first."""
    if params.since is not None and params.session_id is None:
        raise InvalidParams(
            "since counts within one session", hint="Send sessionId too.", field="since"
        )
    limit = min(params.limit or RECEIPTS_MAX, RECEIPTS_MAX)
    found = hub.sessions.receipts(params.session_id, params.task_id, params.since, limit)
    return r.Receipts(receipts=tuple(found.receipts), next=found.next)


def sessions(hub: Hub, params: w.NoParams, call: Call) -> r.SessionList:
    """List the sessions of this connection, armed ones of its folders, and followed ones."""
    known = [*hub.sessions.states(), *hub.sessions.armed_elsewhere()]
    found = [answers.session_state(state) for state in known]
    if hub.follower is not None:
        told = {state.session_id for state in known}
        found += [state for state in hub.follower.states() if state.session_id not in told]
    return r.SessionList(sessions=tuple(found))
