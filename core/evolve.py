"""The fold: how each fact changes the state of a session.

`evolve` is total and refuses nothing: the facts of a journal were decided once, and are true. It
changes the state in place, since nobody else holds it; replaying a journal gives the same state.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from core import facts as f
from core.accounting.estimator import UNITS_PER_TOKEN
from core.accounting.skill_states import DROPPED
from core.accounting.usage import Figures, UsageLedger
from core.state import CLOSED_TURNS_KEPT, STANDING, UNNAMED, Closed, Session, Turn

# Arguments of ToolInvocationAccumulator.call and .result.
CallArgs: TypeAlias = tuple[str, str, int, str | None, str | None, int]
ResultArgs: TypeAlias = tuple[str, int, bool, int, int]


def evolve(state: Session, fact: f.Fact, seq: int) -> None:
    """Fold one fact in; `seq` is its journal sequence."""
    state.seq = seq
    _FOLDS[type(fact)](state, fact)


def _opened_turn(state: Session, fact: f.TurnOpened) -> None:
    _close(state)
    state.turn = Turn(fact.turn_id)


def _spoken(state: Session, fact: f.TextSpoken) -> None:
    if fact.agent_id is None:
        state.error.append(fact.units, fact.wide or 0)


def _filled(state: Session, fact: f.FillReported) -> None:
    state.usage.filled(fact.used, fact.window, fact.source)
    state.window = fact.window or state.window


def _composing(state: Session, fact: f.ComposerChanged) -> None:
    state.composer = [fact.tokens, fact.files or []]


def _ended(state: Session, _fact: f.SessionEnded) -> None:
    _close(state)
    state.ended = True


def _agent_ended(_state: Session, _fact: f.AgentTurnEnded) -> None:
    """A sub-agent's end is a receipt and changes nothing."""


def _moved(state: Session, fact: f.Fact) -> None:
    if isinstance(fact, f.PhaseBlocked | f.TurnContinued):
        state.kept_going += 1
    state.cursor.evolve(fact)


def _named(state: Session, fact: f.TurnNamed) -> None:
    if state.turn is not None:
        state.turn.turn_id = fact.turn_id
        state.usage.rename_turn(UNNAMED, fact.turn_id)


def _called(state: Session, fact: f.ToolCalled) -> None:
    if fact.late_turn is not None:
        _late(state, fact.late_turn, "call", fact.tool_use_id, fact.units)
    elif state.turn is not None:
        whole = None if fact.partial else fact.path
        call = (fact.tool_use_id, fact.name, fact.units, fact.skill, whole, fact.wide or 0)
        count_call(state, state.turn, fact.agent_id, call)


def count_call(state: Session, turn: Turn, agent_id: str | None, call: CallArgs) -> None:
    """Count a call in the open turn."""
    turn.final = False
    turn.agent(agent_id).call(*call)
    if agent_id is None:
        state.kept_going = 0
        state.error.append(call[2], call[5])


def _returned(state: Session, fact: f.ToolReturned) -> None:
    if fact.late_turn is not None:
        state.pending.pop(fact.tool_use_id, None)
        _late(state, fact.late_turn, "result", fact.tool_use_id, fact.units)
    elif state.turn is not None:
        result = (fact.tool_use_id, fact.units, fact.is_error, fact.images or 0, fact.wide or 0)
        count_result(state, state.turn, fact.agent_id, result)


def count_result(state: Session, turn: Turn, agent_id: str | None, result: ResultArgs) -> None:
    """Count a result in the open turn."""
    turn.final = False
    turn.agent(agent_id).result(*result)
    if agent_id is None:
        state.error.append(result[1], result[4])


def _late(state: Session, turn_id: str, what: str, tool_use_id: str, units: int) -> None:
    closed = state.closed.get(turn_id)
    if closed is not None:
        closed.revision += 1
        closed.late.append([what, tool_use_id, units])


def _used(state: Session, fact: f.UsageReported) -> None:
    turn_id = UNNAMED
    if state.turn is not None:
        turn_id, state.turn.final = state.turn.turn_id or UNNAMED, False
    ledger = state.usage
    if fact.agent_id is not None:
        ledger = state.side_usage.setdefault(fact.agent_id, UsageLedger())
    figures = Figures(fact.input, fact.output, fact.cache_read, fact.cache_creation)
    ledger.report(
        turn_id,
        figures,
        message_id=fact.message_id,
        window=fact.window,
        cumulative=fact.cumulative,
        includes_cache=fact.includes_cache,
        inherited=fact.inherited or False,
        partial=fact.partial or False,
        is_sum=fact.is_sum or False,
    )
    if fact.agent_id is None:
        state.window = fact.window or state.window
        if not fact.cumulative and not fact.is_sum:
            sent = fact.input if fact.includes_cache else figures.used
            measure_request(state, fact.message_id, fact.request_id, sent)


def measure_request(
    state: Session, message_id: str | None, request_id: str | None, sent: int
) -> None:
    """Pair the reported input, in tokens and cache included, with the request that it is of."""
    state.error.usage(message_id, sent)
    composition = None if state.turn is None else state.turn.composition
    if composition is not None and sent and request_id in (None, composition[0]):
        composition[2] = sent


def _asked(state: Session, fact: f.RequestMade) -> None:
    if fact.agent_id is not None:
        return
    state.error.request()
    if state.turn is not None:  # An earlier request's parts are not those of this one.
        parts = fact.parts
        state.turn.composition = [fact.request_id, parts, None] if parts else None


def _skill(state: Session, fact: f.SkillNoted) -> None:
    if fact.agent_id is None and fact.state != DROPPED:
        state.error.append(fact.units or 0, 0)
    if state.turn is not None:
        state.turn.final = False
        told = [fact.name, fact.state, fact.path, fact.units, fact.note, fact.agent_id]
        noted = [*told, fact.is_result or False]
        state.turn.skills.append(noted)


def _listed(state: Session, fact: f.SkillsListed) -> None:
    for name in fact.names:
        state.listed[name] = state.listed.get(name, 0) + 1
    for name in fact.removed or ():
        state.listed.pop(name, None)


def _compacted(state: Session, fact: f.Compacted) -> None:
    if fact.stage != "after":  # One that was only announced may never happen.
        return
    state.usage.compacted(fact.post_tokens)
    state.error.restart()
    state.listed = {}  # Only what is listed again is in the context.


def _taken(state: Session, fact: f.PromptTaken) -> None:
    state.composer = [0, []]
    state.cursor.evolve(fact)
    if not fact.joins:
        _close(state)
        state.turn = _opened(state, fact.turn_id)
        state.error.restart()
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
    if fact.context_kind in STANDING:
        sources = state.standing.setdefault(fact.context_kind, {})
        sources[fact.source] = [fact.tokens, fact.detail]
    elif state.turn is not None:
        state.turn.supplied.append([fact.context_kind, fact.source, fact.tokens, fact.detail])
    state.error.append((fact.tokens or 0) * UNITS_PER_TOKEN, 0)


def _accounted(state: Session, fact: f.TurnAccounted) -> None:
    state.cursor.evolve(fact)
    closed = state.closed.get(fact.turn_id)
    if closed is not None:
        closed.revision, closed.outcome, closed.seq = fact.revision, fact.outcome, state.seq
    elif state.turn is not None:
        state.turn.revision = fact.revision
        state.turn.outcome = fact.outcome
        state.turn.final = state.turn.settled = fact.final
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


# Every kind of fact has its fold; what is not listed moves the plan.
_FOLDS: dict[type[f.Fact], Callable[[Session, Any], None]] = {
    **dict.fromkeys(f.KINDS.values(), _moved),
    f.ToolCalled: _called,
    f.ToolReturned: _returned,
    f.UsageReported: _used,
    f.TurnOpened: _opened_turn,
    f.TurnNamed: _named,
    f.PromptTaken: _taken,
    f.ContextSupplied: _supplied,
    f.RequestMade: _asked,
    f.TextSpoken: _spoken,
    f.SkillNoted: _skill,
    f.SkillsListed: _listed,
    f.FillReported: _filled,
    f.ComposerChanged: _composing,
    f.Compacted: _compacted,
    f.TurnAccounted: _accounted,
    f.SessionStarted: _started,
    f.SessionEnded: _ended,
    f.AgentTurnEnded: _agent_ended,
}
