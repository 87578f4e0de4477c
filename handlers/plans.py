"""Plans: looking one over, arming it, and the acts of people on it."""

import os

from core import events as e
from core.arming import arm_event, read_plan_file
from core.errors import InvalidParams
from handlers import answers
from handlers import wire as w
from handlers import wire_results as r
from handlers.convert import from_core
from handlers.hub import Hub
from handlers.method import Call

# A request over the protocol comes from an editor or a host, which acts for its user.
BY = "host"


def check(hub: Hub, params: w.PlanCheckParams, call: Call) -> r.PlanCheck:
    """List the faults of a plan; nothing is armed."""
    from core.phases.loader import load

    source = read_plan_file(params.path).data if params.path is not None else params.text or ""
    problems = load(source).problems
    return r.PlanCheck(problems=tuple(from_core(r.PlanProblem, problem) for problem in problems))


def arm(hub: Hub, params: w.PlanArmParams, call: Call) -> r.PhaseState:
    """Freeze a plan and begin its first phase."""
    state = hub.sessions.state(params.session_id)
    if params.from_session is not None:
        raise InvalidParams(
            "taking over an earlier run is not available yet",
            hint="Arm the plan without from; it begins with its first phase.",
            field="from",
        )
    path = os.path.join(state.workspace, params.path)
    event = arm_event(read_plan_file(path), state.workspace, hub.sessions.world.home, BY)
    hub.act(params.session_id, event)
    return answers.phase_state(state)


def status(hub: Hub, params: w.SessionParams, call: Call) -> r.PhaseState:
    """Tell where the plan stands."""
    return answers.phase_state(hub.sessions.state(params.session_id))


def decline(hub: Hub, params: w.PlanReasonParams, call: Call) -> r.PhaseState:
    """Turn down an offer or a plan."""
    hub.act(params.session_id, e.Decline(params.reason, BY))
    return answers.phase_state(hub.sessions.state(params.session_id))


def park(hub: Hub, params: w.PlanPauseParams, call: Call) -> r.PhaseState:
    """Let the plan rest."""
    hub.act(params.session_id, e.Park(BY, params.reason))
    return answers.phase_state(hub.sessions.state(params.session_id))


def resume(hub: Hub, params: w.PlanPauseParams, call: Call) -> r.PhaseState:
    """Take a parked or given-up plan up again."""
    hub.act(params.session_id, e.Resume(BY, params.reason))
    return answers.phase_state(hub.sessions.state(params.session_id))


def cancel(hub: Hub, params: w.PlanReasonParams, call: Call) -> r.PhaseState:
    """Drop the plan."""
    hub.act(params.session_id, e.Cancel(params.reason, BY))
    return answers.phase_state(hub.sessions.state(params.session_id))
