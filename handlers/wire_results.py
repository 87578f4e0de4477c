"""What the sidecar answers and pushes, field by field; the account of a turn stands by itself."""

from core.phases import cursor
from handlers.wire_accounting import Accounting, ReportedWindow
from handlers.wire_kinds import COUNT, FLAG, OBJECT, RUNTIME, TEXT
from handlers.wire_records import Json, choice, field, list_of, map_of, object_of, record

STATES = (
    cursor.IDLE,
    cursor.OFFERED,
    cursor.ARMED,
    cursor.WAITING_USER,
    cursor.PARKED,
    cursor.GIVEN_UP,
    cursor.COMPLETE,
    cursor.DECLINED,
    cursor.SUPERSEDED,
    cursor.STATE_LOST,
)

_SESSION = "Id of the session."
_SEQ = "Last journal line that this is made from; always there in a push."


@record()
class Flag:
    """Something that needs eyes and stops nothing."""

    session_id: str | None = field(TEXT, "Session, when it is about one.", default=None)
    code: str = field(TEXT, "Short name of the matter.")
    message: str = field(TEXT, "One sentence for people.")
    hint: str | None = field(TEXT, "What to do about it.", default=None)
    seq: int | None = field(COUNT, _SEQ, default=None)


@record()
class Gap:
    """One exit criterion that is not met."""

    criterion_id: str = field(
        TEXT, "Its id: from the plan, <phaseId>.<position> or <phaseId>.skill.<name>."
    )
    locator: str = field(TEXT, "What it is about: a path, a skill.")
    state: str = field(choice("unmet", "error"), "error: it could not be checked.")
    why: str = field(TEXT, "What is missing.")
    next_action: str = field(TEXT, "What to do next, exactly.")


@record()
class PhaseSkill:
    """A skill of the current phase."""

    name: str = field(TEXT, "Its name.")
    required: bool = field(FLAG, "True when the phase does not close without it.")
    evidence: str | None = field(
        TEXT, "What shows that it was read; null when nothing.", nullable=True
    )


@record()
class PhaseCriterion:
    """An exit criterion of the current phase, as last checked."""

    id: str = field(TEXT, "Its id.")
    kind: str = field(TEXT, "Its kind, as in the plan.")
    state: str = field(
        choice("unchecked", "met", "unmet", "error"), "How it stood when last checked."
    )
    why: str = field(TEXT, "Why it is so; empty when there is nothing to say.")


@record()
class PhaseState:
    """Where the plan of a session stands; without a plan its fields are null or []."""

    session_id: str = field(TEXT, _SESSION)
    state: str = field(choice(*STATES), "What the session does about a plan, see above.")
    task_id: str | None = field(TEXT, "Task of the plan.", nullable=True)
    plan_path: str | None = field(TEXT, "The plan file that was armed.", nullable=True)
    plan_digest: str | None = field(TEXT, "sha256 of the armed plan file, hex.", nullable=True)
    phase_id: str | None = field(
        TEXT, "Current phase; the last one after completion.", nullable=True
    )
    phase_index: int | None = field(COUNT, "Its number, from 1.", nullable=True)
    phase_count: int | None = field(COUNT, "How many phases the plan has.", nullable=True)
    attempt: int = field(COUNT, "Blocks of this phase so far.")
    attempts_left: int | None = field(COUNT, "Blocks left before it gives up.", nullable=True)
    blocks_total: int = field(COUNT, "Blocks of the whole plan so far.")
    gaps: tuple[Gap, ...] = field(list_of(object_of(Gap)), "What the last check found missing.")
    skills: tuple[PhaseSkill, ...] = field(
        list_of(object_of(PhaseSkill)), "Skills of the current phase."
    )
    criteria: tuple[PhaseCriterion, ...] = field(
        list_of(object_of(PhaseCriterion)), "Exit criteria of the current phase."
    )
    warnings: tuple[Flag, ...] = field(
        list_of(object_of(Flag)), "What is odd about the plan and refuses nothing."
    )


@record()
class Resumable:
    """An earlier run of a plan in the same workspace."""

    session_id: str = field(TEXT, "Session that it ran in.")
    task_id: str | None = field(TEXT, "Its task.", nullable=True)
    phase_id: str | None = field(TEXT, "Phase that it had reached.", nullable=True)


@record()
class SessionState:
    """A session as this process knows it."""

    session_id: str = field(TEXT, _SESSION)
    runtime: str = field(RUNTIME, "Host that runs the agent.")
    provider_backend: str | None = field(TEXT, "Codex only: its backend.", default=None)
    workspace: str = field(TEXT, "Folder that the agent works in, an absolute path.")
    state: str = field(choice(*STATES), "What the session does about a plan.")
    task_id: str | None = field(TEXT, "Task that it works on.", default=None)
    model: str | None = field(TEXT, "Name of the model.", default=None)
    window: ReportedWindow | None = field(
        object_of(ReportedWindow), "Context window, when its size is known.", default=None
    )
    turn_id: str | None = field(TEXT, "Turn that is open.", default=None)
    seq: int = field(COUNT, "Last line of its journal; of a followed one, a count that rises.")
    followed: bool | None = field(
        FLAG, "True for a session that is read from its recording and kept nowhere.", default=None
    )
    resumable: tuple[Resumable, ...] | None = field(
        list_of(object_of(Resumable)), "Earlier runs that plan/arm can take over.", default=None
    )


@record()
class Injection:
    """Text for the host to put before the model together with the prompt."""

    id: str = field(TEXT, "Its id.")
    kind: str = field(choice("arm_directive", "phase", "correction", "delivery"), "What it is for.")
    text: str = field(TEXT, "The text, to be passed on as it is.")


@record()
class PromptAnswer:
    """What to put before the model with this prompt."""

    injections: tuple[Injection, ...] = field(
        list_of(object_of(Injection)), "In this order; [] when there is nothing."
    )


@record()
class ToolCallAnswer:
    """The call should not be made; null means that it may."""

    deny: bool = field(FLAG, "Always true.")
    reason: str = field(TEXT, "Why, for the model.")


@record()
class Verdict:
    """Whether the turn may end."""

    decision: str = field(
        choice("allow", "block", "continue"),
        "block: obligations are unmet; continue: this phase is closed and the next begins now.",
    )
    reason: str = field(
        TEXT, "For the model: empty on allow, at most 1,500 characters on block, 4,000 on continue."
    )
    gaps: tuple[Gap, ...] = field(list_of(object_of(Gap)), "What is unmet.")
    attempt: int = field(COUNT, "Blocks of this phase so far, this one included.")
    attempts_left: int | None = field(
        COUNT, "Blocks left before it gives up; null without a plan.", nullable=True
    )
    phase: PhaseState | None = field(
        object_of(PhaseState),
        "The plan after the decision; null if none was ever armed.",
        nullable=True,
    )
    accounting: Accounting = field(object_of(Accounting), "The account of the turn.")
    flags: tuple[Flag, ...] = field(list_of(object_of(Flag)), "What needs eyes.")


@record()
class PlanProblem:
    """One fault of a plan file; lines and columns count code points from 0."""

    line: int = field(COUNT, "Line where it begins.")
    column: int = field(COUNT, "Column where it begins.")
    end_line: int = field(COUNT, "Line where it ends.")
    end_column: int = field(COUNT, "Column behind its last character.")
    code: str = field(TEXT, "Short name of the fault.")
    message: str = field(TEXT, "What is wrong.")
    mend: str | None = field(TEXT, "What to write instead.", default=None)


@record()
class PlanCheck:
    """The faults of a plan; it can be armed when there are none."""

    problems: tuple[PlanProblem, ...] = field(list_of(object_of(PlanProblem)), "In file order.")


@record()
class Stats:
    """Counters of this process since it started."""

    counters: dict[str, int] = field(map_of(COUNT), "Name to count.")


@record()
class Receipts:
    """Receipts, oldest first, as they stand in the ledger (their keys are snake_case)."""

    receipts: tuple[Json, ...] = field(list_of(OBJECT), "The receipts.")
    next: int | None = field(
        COUNT, "With sessionId: ask again with this since for more.", default=None
    )


@record()
class SessionList:
    """Sessions of this connection, and armed ones of its folders."""

    sessions: tuple[SessionState, ...] = field(list_of(object_of(SessionState)), "The sessions.")


@record()
class InjectionPush:
    """Injections of a prompt that came as a notification."""

    session_id: str = field(TEXT, _SESSION)
    turn_id: str = field(TEXT, "Turn of the prompt.")
    injections: tuple[Injection, ...] = field(list_of(object_of(Injection)), "In this order.")
    seq: int = field(COUNT, _SEQ)


@record()
class Correction:
    """A turn that ended by notification may not end yet."""

    session_id: str = field(TEXT, _SESSION)
    turn_id: str = field(TEXT, "Turn that wanted to end.")
    phase_id: str = field(TEXT, "Phase whose obligations are unmet.")
    reason: str = field(TEXT, "For the model, to be passed on as it is.")
    gaps: tuple[Gap, ...] = field(list_of(object_of(Gap)), "What is unmet.")
    attempt: int = field(COUNT, "Blocks of this phase so far, this one included.")
    attempts_left: int = field(COUNT, "Blocks left before it gives up.")
    seq: int = field(COUNT, _SEQ)


@record()
class CorrectionAnswer:
    """What the client does about a correction that came as a request; silence is dismiss."""

    action: str = field(
        choice("continue", "park", "dismiss"), "park lets the plan rest; the others change nothing."
    )


@record()
class PhaseChanged:
    """The plan of a session moved."""

    session_id: str = field(TEXT, _SESSION)
    from_phase: str | None = field(
        TEXT, "Phase before; null when there was none.", nullable=True, wire="from"
    )
    to_phase: str | None = field(
        TEXT, "Phase now; null when there is none, or none is left.", nullable=True, wire="to"
    )
    phase: PhaseState = field(object_of(PhaseState), "The plan as it stands now.")
    seq: int = field(COUNT, _SEQ)
