"""The fold: how each fact changes the state of a session.

`evolve` is total and refuses nothing: the facts of a journal were decided once, and are true. It
changes the state in place, since nobody else holds it; replaying a journal gives the same state.
"""

from typing import assert_never

from core import facts as f
from core.accounting.usage import Figures
from core.state import CLOSED_TURNS_KEPT, UNNAMED, Closed, Session, Turn


def evolve(state: Session, fact: f.Fact, seq: int) -> None:
    """Fold one fact in; `seq` is its journal sequence."""
    state.seq = seq
    match fact:
        case f.ToolCalled():
            _called(state, fact)
        case f.ToolReturned():
            _returned(state, fact)
        case f.UsageReported():
            _used(state, fact)
        case f.TurnOpened(turn_id):
            _close(state)
            state.turn = Turn(turn_id)
        case f.TurnNamed(turn_id):
            _named(state, turn_id)
        case f.PromptTaken():
            _taken(state, fact)
        case f.ContextSupplied():
            _supplied(state, fact)
        case f.ComposerChanged(tokens, files):
            state.composer = [tokens, files or []]
        case f.Compacted(stage):
            if stage == "after":  # One that was only announced may never happen.
                state.usage.compacted()
        case f.TurnAccounted():
            _accounted(state, fact)
        case f.SessionStarted():
            _started(state, fact)
        case f.SessionEnded():
            _close(state)
            state.ended = True
        case f.AgentTurnEnded():
            pass
        case (
            f.PhaseBlocked()
            | f.TurnContinued()
            | f.ArmDirected()
            | f.PlanArmed()
            | f.PlanDrifted()
            | f.PlanDeclined()
            | f.PlanParked()
            | f.PlanResumed()
            | f.PlanCancelled()
            | f.PhaseInjected()
            | f.CorrectionDelivered()
            | f.SkillOpened()
            | f.ChecksRecorded()
            | f.PhaseAdvanced()
            | f.PlanCompleted()
            | f.DriveGivenUp()
            | f.GiveUpNoted()
            | f.HostCapNeared()
            | f.UserAwaited()
            | f.HostOverrode()
            | f.StateLost()
        ):
            _moved(state, fact)
        case _:
            assert_never(fact)


def _moved(state: Session, fact: f.Fact) -> None:
    if isinstance(fact, f.PhaseBlocked | f.TurnContinued):
        state.kept_going += 1
    state.cursor.evolve(fact)


def _named(state: Session, turn_id: str) -> None:
    if state.turn is not None:
        state.turn.turn_id = turn_id
        state.usage.rename_turn(UNNAMED, turn_id)


def _called(state: Session, fact: f.ToolCalled) -> None:
    if fact.late_turn is not None:
        _late(state, fact.late_turn, "call", fact.tool_use_id, fact.units)
        return
    if state.turn is None:
        return
    state.turn.final = False
    calls = state.turn.agent(fact.agent_id)
    whole = None if fact.partial else fact.path
    calls.call(fact.tool_use_id, fact.name, fact.units, fact.skill, whole)
    if fact.agent_id is None:
        state.kept_going = 0


def _returned(state: Session, fact: f.ToolReturned) -> None:
    if fact.late_turn is not None:
        state.pending.pop(fact.tool_use_id, None)
        _late(state, fact.late_turn, "result", fact.tool_use_id, fact.units)
    elif state.turn is not None:
        state.turn.final = False
        calls = state.turn.agent(fact.agent_id)
        calls.result(fact.tool_use_id, fact.units, fact.is_error, fact.images or 0)


def _late(state: Session, turn_id: str, what: str, tool_use_id: str, units: int) -> None:
    closed = state.closed.get(turn_id)
    if closed is not None:
        closed.revision += 1
        closed.late.append([what, tool_use_id, units])


def _used(state: Session, fact: f.UsageReported) -> None:
    turn_id = UNNAMED
    if state.turn is not None:
        turn_id, state.turn.final = state.turn.turn_id or UNNAMED, False
    state.usage.report(
        turn_id,
        Figures(fact.input, fact.output, fact.cache_read, fact.cache_creation),
        message_id=fact.message_id,
        window=fact.window,
        cumulative=fact.cumulative,
        includes_cache=fact.includes_cache,
    )
    if fact.window:
        state.window = fact.window


def _taken(state: Session, fact: f.PromptTaken) -> None:
    state.composer = [0, []]
    state.cursor.evolve(fact)
    if not fact.joins:
        _close(state)
        state.turn = _opened(state, fact.turn_id)
        state.kept_going = 0
    if state.turn is not None:
        state.turn.final = False
        state.turn.selected += fact.selected or []
        state.turn.attachments += fact.attachments or []


def _opened(state: Session, turn_id: str) -> Turn:
    """Open a turn; one of an earlier turn's name goes on counting its revisions."""
    turn, earlier = Turn(turn_id), state.closed.pop(turn_id, None)
    if earlier is not None:
        turn.revision = earlier.revision
        _forget_pending(state, turn_id)
    return turn


def _supplied(state: Session, fact: f.ContextSupplied) -> None:
    if fact.context_kind not in state.supplied_kinds:
        state.supplied_kinds = sorted({*state.supplied_kinds, fact.context_kind})
    if state.turn is not None:
        state.turn.final = False
    if fact.context_kind == "rules":  # They stay in the context of every later turn.
        state.rules[fact.source] = [fact.tokens, fact.detail]
    elif state.turn is not None:
        state.turn.supplied.append([fact.context_kind, fact.source, fact.tokens, fact.detail])


def _accounted(state: Session, fact: f.TurnAccounted) -> None:
    state.cursor.evolve(fact)
    closed = state.closed.get(fact.turn_id)
    if closed is not None:
        closed.revision, closed.outcome, closed.seq = fact.revision, fact.outcome, state.seq
    elif state.turn is not None:
        state.turn.revision = fact.revision
        state.turn.outcome = fact.outcome
        state.turn.final = fact.final
        state.accounted_seq = state.seq


def _started(state: Session, fact: f.SessionStarted) -> None:
    if fact.source == "clear":
        seq = state.seq
        state.__init__(state.session_id)  # type: ignore[misc]  # A cleared session starts anew.
        state.seq = seq
    state.started, state.ended = True, False
    state.runtime, state.workspace = fact.runtime, fact.workspace
    state.provider_backend = fact.provider_backend or state.provider_backend
    state.task_id = fact.task_id or state.task_id
    state.model = fact.model or state.model
    state.window = fact.window or state.window
    state.available = fact.available or state.available
    state.parent_session_id = fact.parent_session_id or state.parent_session_id


def _close(state: Session) -> None:
    """Close the open account and keep of it what may still be asked or answered late."""
    turn, seq = state.turn, state.accounted_seq
    state.turn, state.accounted_seq = None, None
    if turn is None:
        return
    name = turn.turn_id or UNNAMED
    if turn.turn_id is None:
        state.usage.rename_turn(UNNAMED, f"unnamed turn before {state.seq}")
    state.closed.pop(name, None)  # So that it stands last.
    state.closed[name] = Closed(turn.revision, turn.outcome, seq)
    for agent_id, calls in turn.agents.items():
        for tool_use_id in calls.pending():
            call = calls.find(tool_use_id) or ()
            state.pending[tool_use_id] = [name, agent_id or None, *call]
    while len(state.closed) > CLOSED_TURNS_KEPT:
        oldest = next(iter(state.closed))
        del state.closed[oldest]
        _forget_pending(state, oldest)


def _forget_pending(state: Session, turn_id: str) -> None:
    state.pending = {key: call for key, call in state.pending.items() if call[0] != turn_id}
