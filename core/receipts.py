"""The receipts of a session: which facts leave one in the audit ledger, and with which fields.

A receipt never holds a prompt's or a result's text. The store adds v, seq, event_id, ts and
session_id (docs/state-format.md).
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from core import facts as f

JsonObject = dict[str, Any]


class ReceiptKind(NamedTuple):
    """One event of the ledger: its name, the fact it comes from, and the fields it carries."""

    event: str
    fact: type
    fields: tuple[str, ...]
    fixed: tuple[tuple[str, Any], ...] = ()


_PHASE = ("turn_id", "task_id", "phase", "phase_id")
_SKILL = ("task_id", "phase", "phase_id", "agent_id", "name", "skill", "tool_use_id")

KINDS: tuple[ReceiptKind, ...] = (
    ReceiptKind("arm_directive", f.ArmDirected, ("turn_id",)),
    ReceiptKind("phase_cursor_armed", f.PlanArmed, ("task_id", "path", "digest", "by")),
    ReceiptKind("plan_drift", f.PlanDrifted, ("task_id", "path", "digest")),
    ReceiptKind("phase_declined", f.PlanDeclined, ("task_id", "reason", "by")),
    ReceiptKind("phase_parked", f.PlanParked, ("task_id", "reason", "by")),
    ReceiptKind("phase_resumed", f.PlanResumed, ("task_id", "reason", "by")),
    ReceiptKind("phase_cancelled", f.PlanCancelled, ("task_id", "reason", "by")),
    ReceiptKind("phase_injection", f.PhaseInjected, _PHASE),
    ReceiptKind("phase_correction", f.CorrectionDelivered, ("turn_id", "task_id")),
    ReceiptKind("skill_call", f.SkillOpened, _SKILL, (("tool", "Skill"), ("success", True))),
    ReceiptKind("skill_read", f.SkillOpened, _SKILL, (("tool", "Read"), ("success", True))),
    ReceiptKind("phase_block", f.PhaseBlocked, (*_PHASE, "attempt", "attempts_left")),
    ReceiptKind(
        "phase_advance_drive", f.PhaseAdvanced, (*_PHASE, "next_phase_id", "artifact_paths")
    ),
    ReceiptKind("phase_plan_complete", f.PlanCompleted, ("turn_id", "task_id")),
    ReceiptKind("phase_drive_giveup", f.DriveGivenUp, (*_PHASE, "blocks", "blocks_total")),
    ReceiptKind("host_cap_near", f.HostCapNeared, _PHASE),
    ReceiptKind("waiting_user", f.UserAwaited, ("turn_id", "task_id")),
    ReceiptKind("state_lost", f.StateLost, ("path", "why")),
    ReceiptKind("host_override", f.HostOverrode, ("turn_id", "task_id", "phase_id")),
)

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
    if kind.fact is f.PhaseBlocked:
        receipt["gaps"] = [gap["criterion_id"] for gap in line["gaps"]]
    return receipt
