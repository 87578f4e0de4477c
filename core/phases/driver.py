"""The driver: which facts a prompt, an act or a turn end gives for a plan, and the answer to it.

Pure: it reads the cursor, never changes it, and knows neither files nor the clock.
"""

import os.path
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from core import decided as d
from core import events as e
from core import facts as f
from core.errors import NotHuman, Refusal
from core.phases import cursor as c
from core.phases import wording
from core.phases.criteria import MET, UNMET, CriterionState
from core.phases.plan import Phase, Plan, skill_id

Gap = dict[str, Any]


def prompt(
    cursor: c.Cursor, event: e.Prompt, session_id: str, *, non_trivial: bool
) -> tuple[list[f.Fact], list[tuple[str, str]]]:
    """Say what stands in front of a prompt, as (kind, text), and the facts that go with it."""
    facts: list[f.Fact] = []
    texts: list[tuple[str, str]] = []
    if cursor.status in (c.IDLE, c.OFFERED):
        if event.from_human and non_trivial:
            facts.append(f.ArmDirected(event.turn_id))
            texts.append(("arm_directive", wording.arm_directive(session_id)))
        return facts, texts
    plan, phase, task_id = cursor.plan, cursor.phase, cursor.task_id
    if plan is None or phase is None or task_id is None:
        return facts, texts
    if event.from_human and cursor.unanswered:
        facts.append(f.HostOverrode(event.turn_id, task_id, phase.id))
    if event.from_human and cursor.give_up_note:
        facts.append(f.GiveUpNoted(event.turn_id, task_id))
        texts.append(("correction", wording.give_up_note(plan, cursor.index, session_id)))
    if cursor.status not in (c.ARMED, c.WAITING_USER):
        return facts, texts
    if event.from_human and cursor.correction is not None:
        facts.append(f.CorrectionDelivered(event.turn_id, task_id))
        texts.append(("correction", cursor.correction))
    facts.append(f.PhaseInjected(event.turn_id, task_id, cursor.number, phase.id))
    texts.append(("phase", wording.phase_injection(plan, cursor.index, cursor.gaps, session_id)))
    return facts, texts


class Stop(NamedTuple):
    """A turn end of an armed session, with all that its decision depends on."""

    cursor: c.Cursor
    event: e.TurnEnd
    plan: Plan
    task_id: str
    session_id: str
    host_full: bool  # One more answer would reach the host's own cap.


Answer: TypeAlias = tuple[list[f.Fact], d.Verdict, list[d.Flag]]


def turn_end(
    cursor: c.Cursor,
    event: e.TurnEnd,
    outcomes: Sequence[Sequence[CriterionState]],
    session_id: str,
    *,
    host_full: bool,
) -> Answer:
    """Decide a turn end: its facts in order, the verdict, and what a person should be told."""
    if not is_driven(cursor, event) or cursor.plan is None or cursor.task_id is None:
        return *_not_driven(cursor, event), []
    stop = Stop(cursor, event, cursor.plan, cursor.task_id, session_id, host_full)
    closed, gaps, facts = _walk(stop, outcomes)
    for offset, phase in enumerate(closed):
        facts.append(_advance(stop, cursor.index + offset, phase))
    return _after_advance(stop, closed, facts) if closed else _unmet(stop, gaps, facts)


def is_driven(cursor: c.Cursor, event: e.TurnEnd) -> bool:
    """Whether this turn end is checked at all; every other one may end."""
    return (
        cursor.status == c.ARMED
        and event.outcome == "completed"
        and event.agent_id is None
        and event.background_tasks == 0
    )


def _not_driven(cursor: c.Cursor, event: e.TurnEnd) -> tuple[list[f.Fact], d.Verdict]:
    verdict = d.Verdict(attempt=cursor.blocks, attempts_left=cursor.attempts_left)
    if event.outcome == "awaitingUser" and event.agent_id is None and cursor.status == c.ARMED:
        return [f.UserAwaited(event.turn_id, cursor.task_id or "")], verdict
    return [], verdict


def _walk(
    stop: Stop, outcomes: Sequence[Sequence[CriterionState]]
) -> tuple[list[Phase], list[Gap], list[f.Fact]]:
    """Close every phase whose own evidence is complete; give the gaps of the first other one.

    A phase that asks for no evidence closes only once its task was put before the agent.
    """
    closed: list[Phase] = []
    for offset, states in enumerate(outcomes):
        index = stop.cursor.index + offset
        phase = stop.plan.phases[index]
        if closed and not phase.criteria and not phase.required_skills:
            break
        gaps = gaps_of(phase, states, stop.cursor.evidence(index))
        if gaps:
            record = f.ChecksRecorded(phase.id, [[s.id, s.state, s.why] for s in states])
            return closed, gaps, [] if closed else [record]
        closed.append(phase)
    return closed, [], []


def gaps_of(phase: Phase, states: Sequence[CriterionState], evidence: frozenset[str]) -> list[Gap]:
    """List what this phase still owes: skills first, then criteria, in the plan's order."""
    skills = [_skill_gap(phase, n) for n in phase.required_skills if skill_id(n) not in evidence]
    return skills + [_criterion_gap(state) for state in states if state.state != MET]


def _skill_gap(phase: Phase, name: str) -> Gap:
    return {
        "criterion_id": f"{phase.id}.skill.{skill_id(name)}",
        "locator": name,
        "state": UNMET,
        "why": wording.skill_not_opened(name),
        "next_action": wording.open_skill(name),
    }


def _criterion_gap(state: CriterionState) -> Gap:
    return {
        "criterion_id": state.id,
        "locator": state.locator,
        "state": state.state,
        "why": state.why,
        "next_action": state.next_action,
    }


def _advance(stop: Stop, index: int, phase: Phase) -> f.Fact:
    phases = stop.plan.phases
    following = phases[index + 1].id if index + 1 < len(phases) else None
    paths = sorted({c.args["path"] for c in phase.criteria if "path" in c.args})
    place = (stop.task_id, index + 1, phase.id)
    return f.PhaseAdvanced(stop.event.turn_id, *place, following, paths or None)


def _after_advance(stop: Stop, closed: list[Phase], facts: list[f.Fact]) -> Answer:
    plan, index = stop.plan, stop.cursor.index + len(closed)
    if index == len(plan.phases):
        facts.append(f.PlanCompleted(stop.event.turn_id, stop.task_id))
        return facts, d.Verdict(), []
    limits = plan.limits
    left = min(limits.blocks_per_phase, limits.blocks_total - stop.cursor.blocks_total)
    if stop.host_full:
        return facts, d.Verdict(attempts_left=left), [_near_cap(stop, index, facts)]
    facts.append(f.TurnContinued(stop.event.turn_id, stop.task_id))
    ids = [phase.id for phase in closed]
    reason = wording.continue_reason(ids, plan, index, stop.session_id)
    return facts, d.Verdict(d.CONTINUE, reason, attempts_left=left), []


def _unmet(stop: Stop, gaps: list[Gap], facts: list[f.Fact]) -> Answer:
    cursor, turn_id = stop.cursor, stop.event.turn_id
    phase = stop.plan.phases[cursor.index]
    place = (stop.task_id, cursor.number, phase.id)
    if cursor.attempts_left == 0:
        facts.append(f.DriveGivenUp(turn_id, *place, cursor.blocks, cursor.blocks_total))
        flag = d.Flag("phase_drive_giveup", *wording.give_up_flag(phase.id, cursor.blocks))
        return facts, d.Verdict(gaps=tuple(gaps), attempt=cursor.blocks), [flag]
    if stop.host_full:
        flag = _near_cap(stop, cursor.index, facts)
        kept = d.Verdict(d.ALLOW, "", tuple(gaps), cursor.blocks, cursor.attempts_left)
        return facts, kept, [flag]
    attempt, left = cursor.blocks + 1, cursor.attempts_left - 1
    reason = wording.block_reason(stop.plan, cursor.index, gaps, attempt, left, stop.session_id)
    facts.append(f.PhaseBlocked(turn_id, *place, attempt, left, gaps, reason))
    return facts, d.Verdict(d.BLOCK, reason, tuple(gaps), attempt, left), []


def _near_cap(stop: Stop, index: int, facts: list[f.Fact]) -> d.Flag:
    phase = stop.plan.phases[index]
    facts.append(f.HostCapNeared(stop.event.turn_id, stop.task_id, index + 1, phase.id))
    return d.Flag("host_cap_near", *wording.host_cap_flag(phase.id))


# In these states an agent may neither arm anew, decline, park, resume nor cancel.
HUMAN_ONLY = c.UNDER_WAY | {c.STATE_LOST}


def may_act(cursor: c.Cursor, by: e.By) -> None:
    """Refuse an agent that wants to change a plan which is under way, or was lost."""
    if cursor.status in HUMAN_ONLY and by == "agent":
        raise NotHuman(
            f"an agent may not change the armed plan of task {cursor.task_id or ''}",
            hint="Ask your user to do it in the editor or on a terminal.",
        )


def act(cursor: c.Cursor, event: e.Decline | e.Park | e.Resume | e.Cancel) -> f.Fact:
    """Turn an act on the plan into its fact, or refuse it and say in which state it would fit."""
    task_id = cursor.task_id or ""
    under_way = cursor.status in c.UNDER_WAY
    may_act(cursor, event.by)
    match event:
        case e.Decline(reason, by):
            _only(cursor, "decline", c.UNDER_WAY | {c.IDLE, c.OFFERED, c.DECLINED, c.STATE_LOST})
            return f.PlanDeclined(reason, by, cursor.task_id if under_way else None)
        case e.Park(by, reason):
            _only(cursor, "park", {c.ARMED, c.WAITING_USER})
            return f.PlanParked(by, task_id, reason)
        case e.Resume(by, reason):
            _only(cursor, "resume", {c.PARKED, c.GIVEN_UP})
            return f.PlanResumed(by, task_id, reason)
        case e.Cancel(reason, by):
            _only(cursor, "cancel", c.UNDER_WAY)
            return f.PlanCancelled(by, reason, task_id)


def _only(cursor: c.Cursor, verb: str, states: frozenset[str] | set[str]) -> None:
    if cursor.status not in states:
        raise Refusal(
            f"cannot {verb}: the plan of this session is {cursor.status}",
            hint=f"{verb} fits the states {', '.join(sorted(states))}.",
        )


def drift(cursor: c.Cursor, digest: str | None) -> f.PlanDrifted | None:
    """Tell of an edited plan file, once for each content of it."""
    if digest in (None, cursor.digest, cursor.drift) or cursor.path is None:
        return None
    return f.PlanDrifted(cursor.task_id or "", cursor.path, digest or "")


def forbidden(phase: Phase, workspace: str, path: str) -> str | None:
    """Say why this path may not be read in this phase, or None when it may."""
    wanted = os.path.normpath(os.path.join(workspace, path))
    for entry in phase.forbidden_read:
        root = os.path.normpath(os.path.join(workspace, entry))
        if wanted == root or wanted.startswith(root + os.sep):
            return wording.forbidden_read(entry, phase.id)
    return None
