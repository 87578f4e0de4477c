"""From core to the wire: the answers that several methods share."""

from typing import Any

from core import decided as d
from core.account import View, view
from core.accounted import Accounted
from core.accounting.breakdown import Breakdown, bars
from core.accounting.error import PER_MILLE, Measured
from core.accounting.kinds import label
from core.accounting.snapshot import Snapshot, SubAgent, Unknown
from core.accounting.usage import REPORTED, Requests
from core.phases import cursor as c
from core.phases.plan import Phase, skill_id
from core.state import Session
from handlers import wire_accounting as wa
from handlers import wire_results as r
from handlers.convert import from_core


def session_state(
    state: Session,
    resumable: tuple[r.Resumable, ...] | None = None,
    *,
    followed: bool | None = None,
) -> r.SessionState:
    """Tell what is known of a session."""
    window = None
    if state.window is not None:
        window = wa.ReportedWindow(tokens=state.window, source=state.usage.window_source)
    return r.SessionState(
        session_id=state.session_id,
        runtime=state.runtime,
        provider_backend=state.provider_backend,
        workspace=state.workspace,
        state=state.cursor.status,
        task_id=state.cursor.task_id or state.task_id,
        model=state.model,
        window=window,
        turn_id=None if state.turn is None else state.turn.turn_id,
        seq=state.seq,
        followed=followed,
        resumable=resumable or None,
    )


def phase_state(state: Session) -> r.PhaseState:
    """Tell where the plan of a session stands; without a plan its fields are null or []."""
    cursor = state.cursor
    phase = cursor.phase
    none = cursor.plan is None
    return r.PhaseState(
        session_id=state.session_id,
        state=cursor.status,
        task_id=cursor.task_id,
        plan_path=cursor.path,
        plan_digest=cursor.digest,
        phase_id=None if phase is None else phase.id,
        phase_index=None if none else cursor.number,
        phase_count=None if cursor.plan is None else len(cursor.plan.phases),
        attempt=cursor.blocks,
        attempts_left=None if none else cursor.attempts_left,
        blocks_total=cursor.blocks_total,
        gaps=gaps(cursor.gaps),
        skills=() if phase is None else _skills(cursor, phase),
        criteria=() if phase is None else _criteria(cursor, phase),
        warnings=tuple(r.Flag(code="plan_warning", message=text) for text in cursor.warnings),
    )


def gaps(found: list[dict[str, Any]] | tuple[dict[str, Any], ...]) -> tuple[r.Gap, ...]:
    """Tell what is missing."""
    return tuple(from_core(r.Gap, gap) for gap in found)


def _skills(cursor: c.Cursor, phase: Phase) -> tuple[r.PhaseSkill, ...]:
    names = dict.fromkeys((*phase.dao_skills, *phase.shu_skills, *phase.required_skills))
    index = min(cursor.index, len(cursor.plan.phases) - 1) if cursor.plan else 0
    evidence = cursor.evidence(index)
    return tuple(
        r.PhaseSkill(
            name=name,
            required=name in phase.required_skills,
            evidence="receipt" if skill_id(name) in evidence else None,
        )
        for name in names
    )


def _criteria(cursor: c.Cursor, phase: Phase) -> tuple[r.PhaseCriterion, ...]:
    closed = cursor.status == c.COMPLETE
    unchecked = ("met", "") if closed else ("unchecked", "")
    found = [(x, cursor.criteria.get(x.id, unchecked)) for x in phase.criteria]
    return tuple(
        r.PhaseCriterion(id=x.id, kind=x.kind, state=state, why=why) for x, (state, why) in found
    )


def flags(state: Session, found: tuple[d.Flag, ...]) -> tuple[r.Flag, ...]:
    """Tell what needs eyes."""
    return tuple(
        r.Flag(session_id=state.session_id, code=x.code, message=x.message, hint=x.hint)
        for x in found
    )


def accounting(state: Session, accounted: Accounted, locale: str) -> wa.Accounting:
    """Tell the account of a turn, with the rows and bars that every client shows."""
    seen = view(accounted.data)
    snapshot = wire_snapshot(_with_late(seen.snapshot, accounted))
    plain = wa.ContextAccounting(
        entries=snapshot.entries,
        unsupported=snapshot.unsupported,
        produced_by=snapshot.produced_by,
        provider_backend=snapshot.provider_backend,
    )
    usage = {} if seen.usage is None else {**seen.usage._asdict(), **_requests(seen.requests)}
    window = seen.breakdown.window
    return wa.Accounting(
        session_id=state.session_id,
        turn_id=accounted.turn_id,
        revision=accounted.revision,
        outcome=accounted.outcome,
        final=accounted.final,
        snapshot=snapshot,
        rows=_rows(seen.breakdown, locale),
        bars=from_core(wa.Bars, bars(seen.breakdown)),
        usage=wa.UsageWithContext(**usage, context_window=window, context_accounting=plain),
        window=None if window is None else _fill(seen, window),
        composition=None
        if seen.composition is None
        else from_core(wa.Composition, seen.composition),
        seq=state.seq,
    )


def _requests(requests: Requests) -> dict[str, int]:
    """Give the counts that are worth a word."""
    counts = {"messages": requests.messages}
    for name in ("partial", "inherited"):
        if count := getattr(requests, name):
            counts[name] = count
    return counts


def wire_snapshot(snapshot: Snapshot) -> wa.Snapshot:
    """Tell a snapshot; what is counted in per mille within is a ratio on the wire."""
    data = snapshot._asdict()
    if snapshot.available is not None:
        schemas = snapshot.available.get("schemas", ())
        sizes = [{"name": name, "units": units} for name, units in schemas]
        data["available"] = {**snapshot.available, "schemas": sizes or None}
    data["subagents"] = [_agent(agent) for agent in snapshot.subagents]
    found = snapshot.reconciliation
    if found is not None and found.error is not None:
        data["reconciliation"] = {**found._asdict(), "error": _error(found.error)}
    return from_core(wa.Snapshot, data)


def _agent(agent: SubAgent) -> dict[str, Any]:
    data = agent._asdict()
    if agent.usage is not None:
        data["usage"] = {**agent.usage._asdict(), "messages": agent.messages}
    return data


def _error(error: Measured) -> wa.EstimateError:
    wide = error.wide_ratio
    return wa.EstimateError(
        samples=error.samples,
        median=error.median / PER_MILLE,
        p90=error.p90 / PER_MILLE,
        ratio=error.ratio / PER_MILLE,
        wide_ratio=None if wide is None else wide / PER_MILLE,
    )


def _with_late(snapshot: Snapshot, accounted: Accounted) -> Snapshot:
    """Name what came after the account was closed; its figures stay as they were answered."""
    late = tuple(
        Unknown("tools", call, f"late {what} of {units} UTF-16 units")
        for what, call, units in accounted.late
    )
    return snapshot._replace(unknown=(*snapshot.unknown, *late))


def _rows(breakdown: Breakdown, locale: str) -> tuple[wa.Row, ...]:
    whole = breakdown.denominator
    return tuple(
        wa.Row(
            kind=row.kind,
            label=label(row.kind, locale),
            tokens=row.tokens,
            share=round(row.tokens / whole, 4) if whole else None,
            source=row.source,
            detail=row.detail,
        )
        for row in breakdown.shown
    )


def _fill(seen: View, window: int) -> wa.WindowFill:
    said, used = seen.snapshot.window, seen.fill
    return wa.WindowFill(
        tokens=window,
        source=REPORTED if said is None else said.source,
        used=used,
        used_source=None if used is None else seen.fill_source,
        stale=seen.stale or None,
        ratio=None if used is None else round(min(1.0, used / window), 4),
        remaining=None if used is None else max(0, window - used),
    )
