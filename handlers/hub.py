"""What every handler shares: the sessions, the client, and what is pushed to it."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from core import decided as d
from core import events as e
from core import facts as f
from core.accounted import Accounted
from core.errors import Refusal
from core.later import Later, then
from core.phases.cursor import COMPLETE
from core.sessions import Act, Sessions
from core.state import Session
from handlers import answers
from handlers import wire_results as r
from handlers.convert import unstructure
from handlers.settings import DEFAULTS, Settings
from handlers.wire_accounting import Accounting

if TYPE_CHECKING:
    from handlers.follower import Follower
    from handlers.raw import Mapped

Ask = Callable[[str, Any, Callable[[Any], None]], None]  # Method, params, what to do then.
Delay = Callable[[float, Callable[[], None]], None]  # Seconds, then what to do.
# Work that may take long and touches nothing of ours, then what to do with what it returned.
Elsewhere = Callable[[Callable[[], Any], Callable[[Any], None]], None]

CORRECTION = "turnkeeper/correction"
# Facts that change what an editor shows although the plan stays where it stands.
SEEN_IN_EDITORS = frozenset({f.SkillOpened, f.SessionStarted, f.SessionEnded})
PREVIEW_SECONDS = 0.1  # At most one live account per session in this time.


class Hub:
    """One client and its sessions.

    `push` sends a notification of ours; before a client has opted in it does nothing.
    """

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions
        self.settings: Settings = DEFAULTS
        self.counters: Counter[str] = Counter()
        self.push: Callable[[str, Any], None] = _nothing
        self.ask: Ask = _nobody  # Sends a request of ours.
        self.correction_request = False
        self.later: Delay | None = None
        self.changed: Callable[[Session], None] = _nothing_of  # A plan moved: editors look.
        self.mapped: dict[str, Mapped] = {}  # What maps the raw events of a started session.
        self.follower: Follower | None = None  # Of recordings; made when first asked for.
        self.environ: Mapping[str, str] = {}
        self.elsewhere: Elsewhere = _here
        self._previews: set[str] = set()

    def record(self, session_id: str, event: e.Event) -> d.Decided:
        """Record an event and push what follows from it besides the answer."""
        before = _place(self.sessions.find(session_id))
        self.counters["events"] += 1
        if isinstance(event, e.SessionStart | e.SessionEnd):
            self.mapped.pop(session_id, None)
        if isinstance(event, e.SessionStart):
            decided = self.sessions.start(session_id, event)
        else:
            decided = self.sessions.record(session_id, event)
        state = self.sessions.find(session_id)
        if state is not None:
            self._after(state, before, decided)
        return decided

    def end_turn(self, session_id: str, event: e.TurnEnd) -> d.Decided | Later[d.Decided]:
        """Record the end of a turn, later when its checks take long; push what follows from it."""
        before = _place(self.sessions.find(session_id))
        self.counters["events"] += 1

        def ended(decided: d.Decided) -> d.Decided:
            state = self.sessions.find(session_id)
            if state is not None:
                self._after(state, before, decided)
            return decided

        return then(self.sessions.end_turn(session_id, event), ended)

    def act(self, session_id: str, event: Act) -> None:
        """Carry out an act on a plan and push what follows from it."""
        state = self.sessions.state(session_id)
        before = _place(state)
        self._after(state, before, self.sessions.act(session_id, event))
        self.changed(state)  # The same plan armed anew stands where it stood.

    def flag(self, state: Session | None, flag: d.Flag) -> None:
        """Push a flag, of a session or of none."""
        self.counters["flags"] += 1
        pushed = r.Flag(
            session_id=None if state is None else state.session_id,
            code=flag.code,
            message=flag.message,
            hint=flag.hint,
            seq=None if state is None else state.seq,
        )
        self.push("turnkeeper/flag", unstructure(pushed))

    def correct(self, session_id: str, correction: dict[str, Any]) -> None:
        """Bring a correction to a client that only notified us; its verdict never waits for this.

        A client that asked for it answers {action}; only `park` makes a difference.
        """
        if self.correction_request:
            self.ask(CORRECTION, correction, lambda answer: self._corrected(session_id, answer))
        else:
            self.push(CORRECTION, correction)

    def _corrected(self, session_id: str, answer: Any) -> None:
        if not isinstance(answer, dict) or answer.get("action") != "park":
            return
        try:
            self.act(session_id, e.Park("human", "parked from the correction"))
        except Refusal as refusal:  # The plan has moved on; nobody waits for an answer.
            flag = d.Flag("not_parked", refusal.message, refusal.hint or None)
            self.flag(self.sessions.find(session_id), flag)

    def accounting(self, state: Session, accounted: Accounted) -> Accounting:
        """Make the account of a turn in the client's language."""
        return answers.accounting(state, accounted, self.settings.locale)

    def preview(self, session_id: str) -> None:
        """Push the live account soon, once for many reports of usage."""
        if self.later is None or session_id in self._previews:
            return
        self._previews.add(session_id)
        self.later(PREVIEW_SECONDS, lambda: self._push_preview(session_id))

    def _push_preview(self, session_id: str) -> None:
        self._previews.discard(session_id)
        try:
            state = self.sessions.state(session_id)
            accounted = self.sessions.accounted(session_id, None)._replace(final=False)
            live = self.accounting(state, accounted)
        except Refusal:
            return  # It has ended meanwhile; whoever asks for it is told why.
        self.push("turnkeeper/accounting", unstructure(live))

    def _after(self, state: Session, before: tuple[str, str | None], decided: d.Decided) -> None:
        for flag in decided.flags:
            self.flag(state, flag)
        after = _place(state)
        if after != before:
            moved = r.PhaseChanged(
                session_id=state.session_id,
                from_phase=before[1],
                to_phase=after[1],
                phase=answers.phase_state(state),
                seq=state.seq,
            )
            self.push("turnkeeper/phaseChanged", unstructure(moved))
        seen = any(type(fact) in SEEN_IN_EDITORS for fact in decided.facts)
        if after != before or decided.verdict is not None or seen:
            self.changed(state)


def _place(state: Session | None) -> tuple[str, str | None]:
    """Where a session stands, as far as a change of it is worth telling."""
    if state is None:
        return ("idle", None)
    status, phase = state.cursor.status, state.cursor.phase
    return (status, None if phase is None or status == COMPLETE else phase.id)


def _nothing(method: str, params: Any) -> None:
    """Nobody listens yet."""


def _nobody(method: str, params: Any, then: Callable[[Any], None]) -> None:
    """There is no client to ask."""


def _here(work: Callable[[], Any], then: Callable[[Any], None]) -> None:
    """There is no other thread to do it."""
    then(work())


def _nothing_of(state: Session) -> None:
    """No editor shows plans."""
