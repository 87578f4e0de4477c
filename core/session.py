"""What an event means for a session: `decide` gives the facts and the answer that they promise.

It depends on nothing but its arguments and changes none of them; core/evolve.py folds the facts.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple

from core import account
from core import decided as d
from core import events as e
from core import facts as f
from core.accounting.estimator import call_tokens, file_tokens
from core.accounting.skills import canonical, skill_name_of_input
from core.errors import InvalidParams
from core.phases import cursor as c
from core.phases import driver, wording
from core.phases.evidence import read_of, skill_read
from core.phases.plan import skill_id
from core.phases.routing import Routing
from core.state import MAIN, Session, Turn
from core.units import content_measure, json_measure, text_measure, utf16_units


def decide(state: Session, event: e.Event | d.ChecksFinished, routing: Routing) -> d.Decided:
    """Say what this event means for the session; raise a Refusal when it cannot be done."""
    return _DECISIONS[type(event)](state, event, routing)


def _begin_end(state: Session, event: e.TurnEnd, _routing: Routing) -> d.Decided:
    return d.Decided(checks=d.Checks(event, _phases_from(state, event)))


def _add(state: Session, event: e.Event, _routing: Routing) -> d.Decided:
    """Decide an event that adds to the open turn, or to a new one."""
    return d.Decided((*_open(state), _FACTS[type(event)](event)))


def _note(_state: Session, event: e.Event, _routing: Routing) -> d.Decided:
    """Decide an event that opens no turn."""
    return d.Decided((_FACTS[type(event)](event),))


def _act(
    state: Session, event: e.Decline | e.Park | e.Resume | e.Cancel, _routing: Routing
) -> d.Decided:
    return d.Decided((driver.act(state.cursor, event),))


def _phases_from(state: Session, event: e.TurnEnd) -> int | None:
    """Say from which phase on a turn end is checked; the end of an earlier turn never is."""
    if _is_late(state, event) or not driver.is_driven(state.cursor, event):
        return None
    return state.cursor.index


def _is_late(state: Session, event: e.TurnEnd) -> bool:
    """Say whether a turn ends that a newer one has closed: the newer one's end will be checked."""
    return event.agent_id is None and _bind(state, event.turn_id)[1] is not None


def _open(state: Session) -> tuple[f.Fact, ...]:
    return (f.TurnOpened(),) if state.turn is None else ()


def _bind(state: Session, turn_id: str | None) -> tuple[tuple[f.Fact, ...], str | None]:
    """Find the turn of an event: facts that open or name it, and its id when it is closed."""
    turn = state.turn
    if turn is not None and turn_id in (None, turn.turn_id):
        return (), None
    if turn_id is None:
        return (f.TurnOpened(),), None
    if turn_id in state.closed:
        return (), turn_id
    if turn is not None and turn.turn_id is None:
        return (f.TurnNamed(turn_id),), None
    return (f.TurnOpened(turn_id),), None


def _bound_turn(state: Session, facts: tuple[f.Fact, ...], late: str | None) -> Turn | None:
    """Give the open turn if it is the one that `_bind` found, None for a new or closed one."""
    if not facts:
        return None if late else state.turn
    opens = any(isinstance(fact, f.TurnOpened) for fact in facts)
    return None if late or opens else state.turn


def _tool_call(state: Session, event: e.ToolCall, _routing: Routing) -> d.Decided:
    facts, late = _bind(state, event.turn_id)
    skill = skill_name_of_input(event.input) if event.name == "Skill" else None
    path, partial = read_of(event.name, event.input)
    # Hosts that give a sub-agent no id of its own name the call that started it.
    agent_id = event.agent_id or event.parent_tool_use_id
    units, wide = json_measure(event.input)
    called = f.ToolCalled(
        event.tool_use_id,
        event.name,
        units,
        skill,
        path,
        partial or None,
        agent_id,
        late,
        wide or None,
    )
    turn = _bound_turn(state, facts, late)
    calls = None if turn is None else turn.agents.get(agent_id or MAIN)
    flags: tuple[d.Flag, ...] = ()
    if calls is not None and calls.find(event.tool_use_id):
        message = f"tool use {event.tool_use_id} was called twice in this turn"
        flags = (d.Flag("duplicate_call", message),)
    early = calls is not None and calls.has_early_result(event.tool_use_id)
    opened = _opening(state, called) if early else ()
    deny = None
    if path is not None and state.cursor.status == c.ARMED and state.cursor.phase is not None:
        deny = driver.forbidden(state.cursor.phase, state.workspace, path)
    return d.Decided((*facts, called, *opened), flags=flags, deny=deny)


def _tool_result(state: Session, event: e.ToolResult, _routing: Routing) -> d.Decided:
    found = _call_of(state, event)
    units, wide, images = content_measure(event.content)
    returned = f.ToolReturned(
        event.tool_use_id,
        units,
        event.is_error,
        found.agent_id,
        images or None,
        found.late_turn,
        wide or None,
    )
    facts: tuple[f.Fact, ...] = () if found.late_turn is not None else _open(state)
    opened: tuple[f.Fact, ...] = ()
    if found.call is not None and not event.is_error and not found.answered and _is_planned(state):
        name, skill, path = found.call
        called = f.ToolCalled(event.tool_use_id, name, 0, skill, path, agent_id=found.agent_id)
        opened = _opening(state, called)
    return d.Decided((*facts, returned, *opened))


class _Found(NamedTuple):
    """The call that a result answers; (name, skill, path) is None for a result without one."""

    call: tuple[str, str | None, str | None] | None
    agent_id: str | None
    late_turn: str | None = None  # The closed turn that made it.
    answered: bool = False  # A good result came before.


def _call_of(state: Session, event: e.ToolResult) -> _Found:
    """Look in the open turn, the named agent's calls first, then among what closed turns await."""
    agents = {} if state.turn is None else state.turn.agents
    named = event.agent_id or MAIN
    for name in (named, *agents):
        calls = agents.get(name)
        call = None if calls is None else calls.find(event.tool_use_id)
        if calls is not None and call is not None:
            return _Found(call, name or None, None, calls.has_good_result(event.tool_use_id))
    if event.tool_use_id in state.pending:
        turn_id, agent_id, *late = state.pending[event.tool_use_id]
        return _Found((late[0], late[1], late[2]), agent_id, turn_id)
    return _Found(None, event.agent_id)


def _is_planned(state: Session) -> bool:
    """Say whether a plan is on offer or under way."""
    return state.cursor.status == c.OFFERED or state.cursor.status in c.UNDER_WAY


def _opening(state: Session, called: f.ToolCalled) -> tuple[f.Fact, ...]:
    """Write down that a skill was really opened, once a plan is on offer or under way."""
    cursor = state.cursor
    if not _is_planned(state):
        return ()
    if called.skill:
        source, name, skill = "call", called.skill, skill_id(called.skill)
    elif (
        called.path
        and not called.partial
        and (read := skill_read(cursor.plan, state.workspace, called.path))
    ):
        source, name, skill = "read", called.path, read
    else:
        return ()
    phase = cursor.phase if cursor.status in c.UNDER_WAY else None
    return (
        f.SkillOpened(
            called.tool_use_id,
            skill,
            source,
            name,
            cursor.task_id if phase else None,
            cursor.number if phase else None,
            phase.id if phase else None,
            called.agent_id,
        ),
    )


def _usage(event: e.Usage) -> f.Fact:
    return f.UsageReported(
        event.input_tokens,
        event.output_tokens,
        event.cache_read_tokens,
        event.cache_creation_tokens,
        event.context_window,
        event.message_id,
        event.cumulative,
        event.input_includes_cache,
        event.agent_id,
        event.inherited or None,
        event.partial or None,
        event.request_id,
        event.is_sum or None,
    )


def _request(event: e.Request) -> f.Fact:
    return f.RequestMade(
        event.request_id, [list(part) for part in event.parts] or None, event.agent_id
    )


def _spoken(event: e.Spoken) -> f.Fact:
    units, wide = text_measure(event.text)
    return f.TextSpoken(event.by, units, wide or None, event.agent_id)


def _skill_listing(event: e.SkillListing) -> f.Fact:
    return f.SkillsListed(list(event.names), event.is_initial or None, list(event.removed) or None)


def _fill(event: e.Fill) -> f.Fact:
    return f.FillReported(event.source, event.used, event.window)


def _skill(event: e.Skill) -> f.Fact:
    return f.SkillNoted(
        canonical(event.name),
        event.state,
        event.source_path,
        event.units,
        event.note,
        event.agent_id,
        event.is_result or None,
    )


def _size_tokens(units: int | None, size_bytes: int | None) -> int:
    return call_tokens(units) if units is not None else file_tokens(size_bytes or 0)


def _context(event: e.Context) -> f.Fact:
    is_known = event.units is not None or event.bytes is not None
    tokens = _size_tokens(event.units, event.bytes) if is_known else None
    return f.ContextSupplied(event.kind, event.source, tokens, event.detail)


def _composer(event: e.Composer) -> f.Fact:
    tokens = event.tokens if event.tokens is not None else call_tokens(event.units or 0)
    files = [[file.name, _size_tokens(file.units, file.bytes)] for file in event.files]
    return f.ComposerChanged(tokens, files or None)


def _session_start(event: e.SessionStart) -> f.Fact:
    return f.SessionStarted(
        event.runtime,
        event.workspace,
        event.provider_backend,
        event.task_id,
        event.model,
        event.context_window,
        event.available,
        event.source,
        event.parent_session_id,
    )


def _prompt(state: Session, event: e.Prompt, routing: Routing) -> d.Decided:
    hits = routing.hits(event.text)
    named, joins = _prompt_turn(state, event.turn_id)
    taken = f.PromptTaken(
        event.turn_id,
        utf16_units(event.text),
        sha256(event.text.encode("utf-8", "surrogatepass")).hexdigest()[:16],
        event.from_human,
        hits,
        joins,
        [[skill.name, skill.source_path] for skill in event.selected_skills] or None,
        [[a.name, a.source, _size_tokens(a.units, a.bytes)] for a in event.attachments] or None,
    )
    non_trivial = routing.is_non_trivial(event.text, hits)
    facts, texts = driver.prompt(state.cursor, event, state.session_id, non_trivial=non_trivial)
    injections = tuple(d.Injection(f"{kind}-{state.seq + 1}", kind, text) for kind, text in texts)
    return d.Decided((*named, taken, *facts), injections)


def _prompt_turn(state: Session, turn_id: str) -> tuple[tuple[f.Fact, ...], bool]:
    """Say whether a prompt joins the open turn, and the fact that names that turn if need be.

    A prompt always has an open turn: one of an earlier name is opened again.
    """
    turn = state.turn
    if turn is None or (turn.turn_id is None and turn_id in state.closed):
        return (), False
    if turn.turn_id is None:
        return (f.TurnNamed(turn_id),), True
    return (), turn.turn_id == turn_id


def _turn_end(state: Session, finished: d.ChecksFinished, _routing: Routing) -> d.Decided:
    event = finished.event
    facts, late = _bind_end(state, event)
    turn = _bound_turn(state, facts, late) or _other_turn(state, event.turn_id)
    cap = finished.host_cap
    if late:
        message = f"turn {late} is closed; its account stays as it was"
        phase_facts: list[f.Fact] = []
        verdict = d.Verdict(attempt=state.cursor.blocks, attempts_left=state.cursor.attempts_left)
        flags = [d.Flag("late_turn_end", message)]
    else:
        phase_facts, verdict, flags = driver.turn_end(
            state.cursor,
            event,
            finished.outcomes,
            state.session_id,
            host_full=cap is not None and state.kept_going >= cap - 1,
        )
    accounting = finished.kept or account.account(state, turn, finished.measured)
    accounted: f.Fact = f.TurnAccounted(
        event.turn_id, turn.revision + 1, event.outcome, verdict.decision == d.ALLOW, accounting
    )
    if event.agent_id is not None:
        accounted = f.AgentTurnEnded(event.turn_id, event.agent_id, event.outcome)
    drift = driver.drift(state.cursor, finished.plan_digest)
    if drift is not None:
        flags.append(d.Flag("plan_drift", *wording.drift_flag(drift.path)))
        phase_facts.append(drift)
    every = (*facts, accounted, *phase_facts)
    return d.Decided(every, verdict=verdict, flags=tuple(flags), accounting=accounting)


def _bind_end(state: Session, event: e.TurnEnd) -> tuple[tuple[f.Fact, ...], str | None]:
    """Find the turn that ends; a sub-agent's end never closes the turn of its parent."""
    if event.agent_id is not None and state.turn is not None:
        return (), None
    return _bind(state, event.turn_id)


def _other_turn(state: Session, turn_id: str) -> Turn:
    """Stand in for a turn that is not the open one: a new one, or one that is closed."""
    turn, closed = Turn(turn_id), state.closed.get(turn_id)
    if closed is not None:
        turn.revision = closed.revision
    return turn


def _arm(state: Session, event: e.Arm, _routing: Routing) -> d.Decided:
    task_id = event.plan["task_id"] or state.task_id or event.task_id
    task_id = task_id or f"session-{state.session_id[:24]}"
    if not event.plan["phases"]:
        raise InvalidParams("the plan has no phases")
    driver.may_act(state.cursor, event.by)
    warnings = list(event.warnings) or None
    armed = f.PlanArmed(task_id, event.plan, event.path, event.digest, event.by, warnings)
    return d.Decided((armed,))


_FACTS: dict[type[e.Event], Callable[[Any], f.Fact]] = {
    e.Usage: _usage,
    e.Spoken: _spoken,
    e.Request: _request,
    e.Context: _context,
    e.Skill: _skill,
    e.SkillListing: _skill_listing,
    e.Fill: _fill,
    e.Composer: _composer,
    e.Compaction: lambda event: f.Compacted(*event),
    e.SessionStart: _session_start,
    e.SessionEnd: lambda event: f.SessionEnded(event.reason),
}
_DECISIONS: dict[type, Callable[[Session, Any, Routing], d.Decided]] = {
    **dict.fromkeys((e.Usage, e.Spoken, e.Request, e.Context, e.Skill), _add),
    **dict.fromkeys((e.SkillListing, e.Fill, e.Composer, e.Compaction), _note),
    **dict.fromkeys((e.SessionStart, e.SessionEnd), _note),
    **dict.fromkeys((e.Decline, e.Park, e.Resume, e.Cancel), _act),
    e.ToolCall: _tool_call,
    e.ToolResult: _tool_result,
    e.Prompt: _prompt,
    e.TurnEnd: _begin_end,
    d.ChecksFinished: _turn_end,
    e.Arm: _arm,
}
