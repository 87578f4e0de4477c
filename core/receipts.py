"""The receipts of a session: which facts leave one in the audit ledger, and with which fields.

A receipt never holds a prompt's or a result's text. The store adds v, seq, event_id, ts and
session_id; docs/receipts.md is made from these tables.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from core import facts as f

JsonObject = dict[str, Any]


class ReceiptKind(NamedTuple):
    """One event of the ledger: its name, the fact it comes from, its fields, when it is written."""

    event: str
    fact: type
    fields: tuple[str, ...]
    doc: str
    fixed: tuple[tuple[str, Any], ...] = ()


_PHASE = ("turn_id", "task_id", "phase", "phase_id")
_SKILL = ("task_id", "phase", "phase_id", "agent_id", "name", "skill", "tool_use_id")
_ACT = ("task_id", "reason", "by")

KINDS: tuple[ReceiptKind, ...] = (
    ReceiptKind(
        "arm_directive",
        f.ArmDirected,
        ("turn_id",),
        "A prompt looked worth a plan, and its answer asked the agent to write one or to decline.",
    ),
    ReceiptKind(
        "phase_cursor_armed",
        f.PlanArmed,
        ("task_id", "path", "digest", "by"),
        "A plan was armed; its first phase begins.",
    ),
    ReceiptKind(
        "plan_drift",
        f.PlanDrifted,
        ("task_id", "path", "digest"),
        "At a checked turn end the plan file was no longer what was armed; once for each content.",
    ),
    ReceiptKind("phase_declined", f.PlanDeclined, _ACT, "An offer or a plan was declined."),
    ReceiptKind("phase_parked", f.PlanParked, _ACT, "The plan was parked."),
    ReceiptKind(
        "phase_resumed", f.PlanResumed, _ACT, "A parked or given-up plan was taken up again."
    ),
    ReceiptKind("phase_cancelled", f.PlanCancelled, _ACT, "The plan was dropped."),
    ReceiptKind(
        "phase_injection",
        f.PhaseInjected,
        _PHASE,
        "A prompt was answered with what the current phase asks for.",
    ),
    ReceiptKind(
        "phase_correction",
        f.CorrectionDelivered,
        ("turn_id", "task_id"),
        "A human prompt was answered with the correction of the last block; once.",
    ),
    ReceiptKind(
        "skill_call",
        f.SkillOpened,
        _SKILL,
        "A call of the Skill tool succeeded while a plan was offered or under way.",
        (("tool", "Skill"), ("success", True)),
    ),
    ReceiptKind(
        "skill_read",
        f.SkillOpened,
        _SKILL,
        "A skill's file was read whole while a plan was offered or under way.",
        (("tool", "Read"), ("success", True)),
    ),
    ReceiptKind(
        "phase_block",
        f.PhaseBlocked,
        (*_PHASE, "attempt", "attempts_left", "gaps"),
        "A turn end was blocked.",
    ),
    ReceiptKind(
        "phase_advance_drive",
        f.PhaseAdvanced,
        (*_PHASE, "next_phase_id", "artifact_paths"),
        "A phase was closed: its skills were opened and its criteria met.",
    ),
    ReceiptKind(
        "phase_plan_complete",
        f.PlanCompleted,
        ("turn_id", "task_id"),
        "The last phase was closed.",
    ),
    ReceiptKind(
        "phase_drive_giveup",
        f.DriveGivenUp,
        (*_PHASE, "blocks", "blocks_total"),
        "A turn end was unmet and no block was left; from then on none is made.",
    ),
    ReceiptKind(
        "host_cap_near",
        f.HostCapNeared,
        _PHASE,
        "A turn end was let go uncounted, as the host would have ignored one more answer.",
    ),
    ReceiptKind(
        "waiting_user",
        f.UserAwaited,
        ("turn_id", "task_id"),
        "A turn of an armed plan ended with the outcome awaitingUser.",
    ),
    ReceiptKind(
        "state_lost",
        f.StateLost,
        ("path", "why"),
        "The session was opened and its state could not be read back.",
    ),
    ReceiptKind(
        "host_override",
        f.HostOverrode,
        ("turn_id", "task_id", "phase_id"),
        "A human prompt came after a block with no turn end in between.",
    ),
)

# What each field means, those that the store adds first.
FIELDS: dict[str, str] = {
    "v": "Version of this format, 1.",
    "seq": "Number of the journal line that it follows from; order within a session.",
    "event_id": "Unique name of the receipt.",
    "ts": "When, in milliseconds since 1970 (UTC).",
    "event": "One of the events above.",
    "session_id": "The session.",
    "turn_id": "The turn.",
    "task_id": "The task: of the plan, else of the session, else made from the session's id.",
    "phase": "Number of the phase, from 1.",
    "phase_id": "Id of the phase.",
    "path": "The plan file; in `state_lost` the file that is damaged.",
    "digest": "SHA-256 of the plan file, in hex.",
    "by": (
        "Who did it: `host` (over the protocol), `agent` (by a command), or `human` (confirmed on a"
        " terminal, or in answer to a correction)."
    ),
    "reason": "Why, as given.",
    "agent_id": "The sub-agent; left out for the main agent.",
    "name": "The skill as called, or the path as read.",
    "skill": "The skill's plain name: no plugin prefix, in lower case.",
    "tool_use_id": "The call that opened it.",
    "tool": "`Skill` or `Read`.",
    "success": "Always true: what failed leaves no receipt.",
    "attempt": "Blocks of this phase so far, this one included.",
    "attempts_left": "Blocks left before the plan is given up.",
    "gaps": "Ids of the criteria and skills that are unmet.",
    "next_phase_id": "The phase that begins; left out after the last one.",
    "artifact_paths": "Paths that the closed phase's criteria looked at.",
    "blocks": "Blocks of this phase.",
    "blocks_total": "Blocks of the whole plan.",
    "why": "What is wrong with the file.",
}

_ENDS_A_PLAN = frozenset({"phase_declined", "phase_cancelled", "phase_plan_complete"})
_BY_LINE_KIND: dict[str, tuple[ReceiptKind, ...]] = {
    kind: tuple(receipt for receipt in KINDS if receipt.fact is fact)
    for kind, fact in f.KINDS.items()
}


def receipts_of(line: JsonObject) -> list[JsonObject]:
    """Give the receipts that this journal line leaves in the ledger, most often none."""
    kinds = _BY_LINE_KIND.get(line["kind"], ())
    if len(kinds) > 1:  # An opened skill: called or read.
        kinds = tuple(kind for kind in kinds if kind.event == f"skill_{line['source']}")
    return [_receipt(kind, line) for kind in kinds]


def under_way(receipts: Iterable[JsonObject]) -> list[str]:
    """List the sessions that armed a plan and have not ended it, as far as receipts tell."""
    found: dict[str, None] = {}
    for receipt in receipts:
        if receipt["event"] == "phase_cursor_armed":
            found[receipt["session_id"]] = None
        elif receipt["event"] in _ENDS_A_PLAN:
            found.pop(receipt["session_id"], None)
    return list(found)


def _receipt(kind: ReceiptKind, line: JsonObject) -> JsonObject:
    receipt: JsonObject = {"event": kind.event}
    receipt.update((name, line[name]) for name in kind.fields if name in line)
    receipt.update(kind.fixed)
    if "gaps" in receipt:  # Their words may quote the plan.
        receipt["gaps"] = [gap["criterion_id"] for gap in line["gaps"]]
    return receipt
