"""What the command line does to sessions on disk, beside whatever sidecar has them open."""

import os
from typing import Any

from core import events as e
from core.arming import arm_event, read_plan_file
from core.phases.driver import HUMAN_ONLY
from core.phases.routing import Routing
from core.receipts import under_way
from core.sessions import Sessions
from core.state import Session
from core.store import purge
from core.store.receipts import Ledger
from core.store.receipts import read_receipts as read_ledger
from core.store.root import check_root, ledger_path, open_root, state_root
from core.world import World
from handlers.answers import phase_state
from handlers.convert import unstructure
from server.log import clean
from server.terminal import require_human

# Whoever types a command may be the agent: it has a shell.
BY = "agent"

Json = dict[str, Any]


def arm_plan(session_id: str, path: str) -> tuple[Json, bool]:
    """Arm a plan; another one that is under way is replaced only by a human's word.

    Gives the PhaseState, and whether the session was never seen before.
    """
    sessions = _sessions(write=True)
    state = sessions.attach(session_id)
    unseen = not state.started
    workspace = state.workspace or os.getcwd()
    event = arm_event(read_plan_file(path), workspace, sessions.world.home, BY)
    if state.cursor.status in HUMAN_ONLY:
        require_human(f"replace the plan of session {clean(session_id)}", "replace this plan")
        event = event._replace(by="human")
    return _done(sessions, state, event), unseen


def decline_plan(session_id: str, reason: str) -> tuple[Json, bool]:
    """Decline a plan; one that is under way only by a human's word.

    Gives the PhaseState, and whether the session was never seen before.
    """
    sessions = _sessions(write=True)
    state = sessions.attach(session_id)
    unseen = state.seq == 0
    by = BY
    if state.cursor.status in HUMAN_ONLY:
        require_human(f"decline the plan of session {clean(session_id)}", "decline this plan")
        by = "human"
    return _done(sessions, state, e.Decline(reason, by)), unseen


def plan_status(session_id: str) -> tuple[Json, bool]:
    """Give the PhaseState of a session, an idle one when it was never seen; and whether so."""
    state = _sessions(write=False).attach(session_id)
    return unstructure(phase_state(state)), state.seq == 0


def read_receipts(
    session_id: str | None, task_id: str | None, since: int | None, limit: int | None
) -> Json:
    """Give {receipts, next, unreadable[{line, why}]} out of the ledger."""
    ledger = ledger_path(check_root(state_root()))
    found = read_ledger(ledger, session_id, task_id, since, limit)
    unreadable = [{"line": fault.line, "why": fault.why} for fault in found.faults]
    return {"receipts": found.receipts, "next": found.next, "unreadable": unreadable}


def purge_state(session_id: str | None) -> bool:
    """Remove one session, or everything; say whether there was anything."""
    root = check_root(state_root())
    ledger = Ledger(ledger_path(root))
    armed = under_way(read_ledger(ledger.path, session_id).receipts)
    if armed:  # An agent could rid itself of its plan this way.
        require_human(f"remove {len(armed)} plan(s) under way", "remove the plan")
    if session_id is None:
        return purge.purge_all(root, ledger) > 0
    return purge.purge_session(root, session_id, ledger)


def _sessions(*, write: bool) -> Sessions:
    root = open_root(state_root()) if write else check_root(state_root())
    return Sessions(root, World(os.path.expanduser("~"), os.environ), Routing())


def _done(sessions: Sessions, state: Session, event: e.Arm | e.Decline) -> Json:
    sessions.act(state.session_id, event)
    answer = unstructure(phase_state(state))
    sessions.close()
    return answer
