"""What a host tells: each message becomes one canonical event, each decision one answer."""

from functools import partial
from typing import TypeAlias

from core import decided as d
from core import events as e
from core.accounted import Accounted
from core.later import Later, then
from core.phases.cursor import STATE_LOST
from core.state import Session
from core.units import utf16_units
from handlers import answers
from handlers import wire as w
from handlers import wire_results as r
from handlers.convert import unstructure
from handlers.hub import Hub
from handlers.method import Call
from handlers.wire_accounting import Accounting

Answer: TypeAlias = r.SessionState | r.PromptAnswer | r.ToolCallAnswer | r.Verdict | None

Told: TypeAlias = Answer | Later[Answer]

_MOVES_THE_ACCOUNT = (e.Usage, e.Composer, e.Fill)  # A live account is shown soon after.


def tell(hub: Hub, session_id: str, event: e.Event, call: Call) -> Told:
    """Record an event, however it came, and give what its sender hears: null for most.

    A call that came as a notification has its injections, account and correction pushed.
    """
    if isinstance(event, e.TurnEnd):
        # The decision is on disk before it is told.
        ended = hub.end_turn(session_id, event)
        return then(ended, partial(_verdict, hub, session_id, call, event))
    decided = hub.record(session_id, event)
    if isinstance(event, e.SessionStart):
        state = hub.sessions.state(session_id)
        return answers.session_state(state, _resumable(hub, state))
    if isinstance(event, e.Prompt):
        return _injections(hub, session_id, event, call, decided)
    if isinstance(event, e.ToolCall) and decided.deny is not None:
        return r.ToolCallAnswer(deny=True, reason=decided.deny)
    if isinstance(event, _MOVES_THE_ACCOUNT):
        hub.preview(session_id)
    return None


def session_start(hub: Hub, params: w.SessionStartParams, call: Call) -> Told:
    """Begin a session or take it up again."""
    event = e.SessionStart(
        params.runtime,
        params.workspace,
        params.provider_backend,
        params.task_id,
        params.model,
        params.context_window,
        _available(params.available),
        params.source,
        params.parent_session_id,
    )
    return tell(hub, params.session_id, event, call)


def _available(given: w.Available | None) -> dict[str, object] | None:
    """Keep names and a length; what is merely available counts for nothing."""
    if given is None:
        return None
    kept: dict[str, object] = {
        name: list(names)
        for name in ("tools", "mcp_servers", "skills")
        if (names := getattr(given, name)) is not None
    }
    if given.system_prompt is not None:
        kept["system_prompt_units"] = utf16_units(given.system_prompt)
    return kept


def _resumable(hub: Hub, state: Session) -> tuple[r.Resumable, ...]:
    """List earlier runs in the same workspace that a cleared or forked session could take over."""
    return tuple(
        r.Resumable(
            session_id=other.session_id,
            task_id=other.cursor.task_id,
            phase_id=None if other.cursor.phase is None else other.cursor.phase.id,
        )
        for other in hub.sessions.resumable(state)
    )


def prompt(hub: Hub, params: w.PromptParams, call: Call) -> Told:
    """Open a turn; the answer is what to put before the model with its prompt."""
    event = e.Prompt(
        params.turn_id,
        params.text,
        params.from_human,
        tuple(e.SelectedSkill(s.name, s.source_path) for s in params.selected_skills),
        tuple(_attachment(a) for a in params.attachments),
    )
    return tell(hub, params.session_id, event, call)


def _injections(
    hub: Hub, session_id: str, event: e.Prompt, call: Call, decided: d.Decided
) -> r.PromptAnswer:
    given = tuple(r.Injection(id=i.id, kind=i.kind, text=i.text) for i in decided.injections)
    if given and call is Call.NOTIFICATION:
        seq = hub.sessions.state(session_id).seq
        pushed = r.InjectionPush(
            session_id=session_id, turn_id=event.turn_id, injections=given, seq=seq
        )
        hub.push("turnkeeper/injection", unstructure(pushed))
    return r.PromptAnswer(injections=given)


def _attachment(given: w.Attachment) -> e.Attachment:
    return e.Attachment(given.name, given.source, _units(given.text, given.chars), given.bytes)


def _units(text: str | None, chars: int | None) -> int | None:
    return chars if text is None else utf16_units(text)


def tool_call(hub: Hub, params: w.ToolCallParams, call: Call) -> Told:
    """Count a call; the answer is null, or why it should not be made."""
    event = e.ToolCall(
        params.tool_use_id,
        params.name,
        params.input,
        params.turn_id,
        params.agent_id,
        params.parent_tool_use_id,
    )
    return tell(hub, params.session_id, event, call)


def tool_result(hub: Hub, params: w.ToolResultParams, call: Call) -> Told:
    """Count what a tool answered."""
    event = e.ToolResult(params.tool_use_id, params.content, params.is_error, params.agent_id)
    return tell(hub, params.session_id, event, call)


def usage(hub: Hub, params: w.UsageParams, call: Call) -> Told:
    """Take the usage of a model request, and show the account as it stands soon after."""
    event = e.Usage(
        params.input_tokens,
        params.output_tokens,
        params.cache_read_tokens,
        params.cache_creation_tokens,
        params.context_window,
        params.message_id,
        params.cumulative,
        params.input_includes_cache,
        params.agent_id,
    )
    return tell(hub, params.session_id, event, call)


def context(hub: Hub, params: w.ContextParams, call: Call) -> Told:
    """Count content that the host itself put in."""
    units = _units(params.text, params.chars)
    event = e.Context(params.kind, params.source, units, params.bytes, params.detail)
    return tell(hub, params.session_id, event, call)


def composer(hub: Hub, params: w.ComposerParams, call: Call) -> Told:
    """Take note of what waits in the composer."""
    files = tuple(e.Attachment(x.name, x.name, x.chars, x.bytes) for x in params.files)
    event = e.Composer(_units(params.text, params.chars), params.tokens, files)
    return tell(hub, params.session_id, event, call)


def compaction(hub: Hub, params: w.CompactionParams, call: Call) -> Told:
    """Mark that the context is compacted."""
    event = e.Compaction(params.stage, params.trigger, params.pre_tokens, params.post_tokens)
    return tell(hub, params.session_id, event, call)


def turn_end(hub: Hub, params: w.TurnEndParams, call: Call) -> Told:
    """Say whether this turn may end."""
    event = e.TurnEnd(
        params.turn_id,
        params.outcome,
        params.last_assistant_message,
        params.background_tasks,
        params.stop_hook_active,
        params.agent_id,
    )
    return tell(hub, params.session_id, event, call)


def _verdict(hub: Hub, session_id: str, call: Call, event: e.TurnEnd, decided: d.Decided) -> Answer:
    state = hub.sessions.state(session_id)
    assert decided.verdict is not None
    found = decided.verdict
    verdict = r.Verdict(
        decision=found.decision,
        reason=found.reason,
        gaps=answers.gaps(found.gaps),
        attempt=found.attempt,
        attempts_left=None if state.cursor.plan is None else found.attempts_left,
        phase=answers.phase_state(state) if _had_plan(state) else None,
        accounting=_account(hub, state, event, decided.accounting),
        flags=answers.flags(state, decided.flags),
    )
    if call is Call.NOTIFICATION:
        _push_verdict(hub, state, event.turn_id, verdict)
    return verdict


def _had_plan(state: Session) -> bool:
    return state.cursor.plan is not None or state.cursor.status == STATE_LOST


def _account(
    hub: Hub, state: Session, event: e.TurnEnd, data: dict[str, object] | None
) -> Accounting:
    """Give the account that this turn end left; of a sub-agent's, its parent's as it stands."""
    turn = state.turn
    is_open = turn is not None and (event.agent_id or turn.turn_id == event.turn_id)
    if turn is None or data is None or not is_open:
        return hub.accounting(state, hub.sessions.accounted(state.session_id, event.turn_id))
    final = event.agent_id is None and turn.final
    outcome = turn.outcome
    return hub.accounting(state, Accounted(turn.turn_id, turn.revision, outcome, final, data))


def _push_verdict(hub: Hub, state: Session, turn_id: str, verdict: r.Verdict) -> None:
    """Tell a client that did not ask: the account, and the correction of a block."""
    hub.push("turnkeeper/accounting", unstructure(verdict.accounting))
    if verdict.decision == "allow" or state.cursor.phase is None:
        return
    correction = r.Correction(
        session_id=state.session_id,
        turn_id=turn_id,
        phase_id=state.cursor.phase.id,
        reason=verdict.reason,
        gaps=verdict.gaps,
        attempt=verdict.attempt,
        attempts_left=verdict.attempts_left or 0,
        seq=state.seq,
    )
    hub.correct(state.session_id, unstructure(correction))


def session_end(hub: Hub, params: w.SessionEndParams, call: Call) -> Told:
    """End a session until it is started again."""
    return tell(hub, params.session_id, e.SessionEnd(params.reason), call)
