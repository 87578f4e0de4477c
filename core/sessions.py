"""The shell around the pure core: each event is decided, written down, folded, then answered.

Invariant: what an answer promises is in the journal before `record` returns; a decision was made
against the journal's end as it stood when its facts were appended.
"""

import time
from functools import partial
from typing import TypeAlias

from core import decided as d
from core import events as e
from core import facts as f
from core.account import account
from core.accounted import Accounted, closed_account, kept_account, open_account
from core.errors import Conflict, NotWritten, Refusal, UnknownSession, Unreadable
from core.later import Later, here
from core.live import Live
from core.phases import cursor as c
from core.phases.routing import Routing
from core.receipts import under_way
from core.session import decide
from core.state import Session, Turn
from core.store.failures import Gone, Moved, StoreError
from core.store.receipts import Found, Ledger, read_receipts
from core.store.root import ledger_path
from core.world import CHECK_BUDGET_S, Look, Looked, World

Act: TypeAlias = e.Arm | e.Decline | e.Park | e.Resume | e.Cancel

_DRIVEN = (e.Prompt, e.ToolCall, e.ToolResult, e.TurnEnd)  # What a plan has a say in.
OPEN_MAX = 64  # Sessions that hold descriptors at one time; the others open theirs when needed.
INLINE_S = 0.05  # Checks that take longer than this are carried out elsewhere.
DECISIONS_MAX = 3  # Times one event is decided anew when other processes write the session.


Ended: TypeAlias = d.Decided | Later[d.Decided]


class Sessions:
    """All sessions of this process."""

    def __init__(self, root: str, world: World, routing: Routing) -> None:
        self.root = root
        self.world = world
        self.routing = routing
        self._ledger = Ledger(ledger_path(root))
        self._live: dict[str, Live] = {}
        self._away = 0  # Turn ends whose checks are carried out elsewhere.
        self._open: dict[str, Live] = {}  # Those that may hold descriptors, last used last.

    def start(self, session_id: str, event: e.SessionStart) -> d.Decided:
        """Begin a session or take it up again, with everything that is known of it on disk."""
        live = self._opened(session_id)
        decided = self._record(live, event)
        live.is_begun = True
        return decided

    def attach(self, session_id: str) -> Session:
        """Open a session as it stands on disk, known or not, for a command that acts on it."""
        live = self._opened(session_id)
        self._catch_up(live)
        return live.state

    def record(self, session_id: str, event: e.Event) -> d.Decided:
        """Decide an event of a started session; its facts are on disk when this returns."""
        if isinstance(event, e.TurnEnd):
            return here(self.end_turn(session_id, event))
        live = self._started(session_id)
        decided = self._record(live, event)
        if isinstance(event, e.SessionEnd):
            self._save(live)
            live.store.close()
        return decided

    def end_turn(
        self,
        session_id: str,
        event: e.TurnEnd,
        left: int = DECISIONS_MAX,
        until: float | None = None,
    ) -> Ended:
        """Decide the end of a turn at once, or later when its checks take long.

        Until then no other event of that session may be recorded here. All checks of one stop
        are over at `until`, as of time.monotonic(), however often it is decided.
        """
        live = self._started(session_id)
        until = time.monotonic() + CHECK_BUDGET_S if until is None else until
        for tries in range(left, 0, -1):
            state, checks = self._checks(live, event)
            look = self.world.look_for(state, checks)
            # While others are looked for elsewhere, time in line is theirs.
            looked = self.world.carry_out(look, time.monotonic() + (0 if self._away else INLINE_S))
            if not looked.complete:
                self._away += 1
                work = partial(self.world.carry_out, look, until)
                return Later(work, partial(self._looked, session_id, event, look, tries, until))
            decided = self._decide_end(live, state, checks, looked)
            if decided is not None:
                return self._with_flags(live, event, decided)
        raise _conflict()

    def _looked(
        self, session_id: str, event: e.TurnEnd, look: Look, left: int, until: float, looked: Looked
    ) -> Ended:
        """Go on with the end of a turn; look anew only if that is now about something else."""
        self._away -= 1
        live = self._started(session_id)
        for tries in range(left, 0, -1):
            state, checks = self._checks(live, event)
            if self.world.look_for(state, checks) != look:
                return self.end_turn(session_id, event, tries - 1, until)
            decided = self._decide_end(live, state, checks, looked)
            if decided is not None:
                return self._with_flags(live, event, decided)
        raise _conflict()

    def act(self, session_id: str, event: Act) -> d.Decided:
        """Carry out an act on the plan of an attached or started session."""
        if isinstance(event, e.Arm):
            event = event._replace(task_id=self.world.task_id())
        return self._record(self._live[session_id], event)

    def state(self, session_id: str) -> Session:
        """Give the state of a started session, with what other processes did to it."""
        live = self._started(session_id)
        self._catch_up(live)
        return live.state

    def find(self, session_id: str) -> Session | None:
        """Give the state of a session that is in memory, ended or not."""
        live = self._live.get(session_id)
        return None if live is None else live.state

    def resumable(self, state: Session) -> list[Session]:
        """List runs of a plan under way in the same workspace, for a session that has none.

        Only sessions of this process and the session's own parent are looked at, never others.
        """
        if state.cursor.status != c.IDLE or state.turn is not None:
            return []
        known = {name: live.state for name, live in self._live.items()}
        parent = state.parent_session_id
        if parent is not None and parent not in known and (seen := self._seen(parent)):
            known[parent] = seen
        return [
            other
            for other in known.values()
            if other.workspace == state.workspace
            and other.cursor.status in c.UNDER_WAY
            and other.session_id != state.session_id
        ]

    def states(self) -> list[Session]:
        """Give the state of every session that was started here and has not ended."""
        return [live.state for live in self._live.values() if _is_on(live)]

    def receipts(
        self, session_id: str | None, task_id: str | None, since: int | None, limit: int | None
    ) -> Found:
        """Read receipts out of the ledger of all sessions, oldest first."""
        try:
            return read_receipts(self._ledger.path, session_id, task_id, since, limit)
        except StoreError as error:
            raise Unreadable(str(error), hint=_DISK) from None

    def armed_elsewhere(self) -> list[Session]:
        """List plans under way in the folders of this process's sessions, begun by others."""
        folders = {state.workspace for state in self.states()}
        begun = {state.session_id for state in self.states()}
        armed = under_way(self.receipts(None, None, None, None).receipts)
        seen = [self._seen(session_id) for session_id in armed if session_id not in begun]
        return [
            state
            for state in seen
            if state and state.workspace in folders and state.cursor.status in c.UNDER_WAY
        ]

    def accounted(self, session_id: str, turn_id: str | None) -> Accounted:
        """Give the account of a turn: of the open one as it stands, of a closed one as kept."""
        live = self._started(session_id)
        self._catch_up(live)
        state, turn = live.state, live.state.turn
        if turn_id is None and turn is None and state.closed:
            turn_id = next(reversed(state.closed))
        if turn_id is None or (turn is not None and turn.turn_id == turn_id):
            return open_account(self.world, state, turn or Turn(None))
        return closed_account(self.root, self.world, live, turn_id)

    def close(self) -> None:
        """Write every checkpoint; the journals need nothing more."""
        self._ledger.patience.hurry()
        for live in list(self._live.values()):
            self._save(live)
            live.store.close()
        self._live.clear()
        self._open.clear()
        self._ledger.close()

    def _opened(self, session_id: str) -> Live:
        live = self._live.get(session_id)
        if live is None:
            try:
                live = Live(self.root, session_id, self._ledger)
            except (StoreError, Gone) as error:
                raise Unreadable(f"this session cannot be opened: {error}", hint=_DISK) from None
            self._live[session_id] = live
            self._touch(live)
        return live

    def _seen(self, session_id: str) -> Session | None:
        """Look at another session without writing a byte; None when it cannot be read."""
        live = self._live.get(session_id)
        try:
            if live is not None:
                self._catch_up(live)
                return live.state
            live = Live(self.root, session_id, self._ledger, look_only=True)
            live.store.close()
        except (Refusal, StoreError, Gone):
            return None  # Whoever starts that session is told why.
        return live.state

    def _started(self, session_id: str) -> Live:
        live = self._live.get(session_id)
        if live is None or not _is_on(live):
            raise UnknownSession(
                "this session was not started here, or it has ended",
                hint="Send turnkeeper/sessionStart first; it brings everything back.",
                field="sessionId",
            )
        return live

    def _record(self, live: Live, event: e.Event) -> d.Decided:
        for _ in range(DECISIONS_MAX):
            state = self._caught_up(live, event)
            decided = decide(state, event, self.routing)
            facts = (*self._settled(state, event, decided), *decided.facts)
            if self._append(live, facts):
                return self._with_flags(live, event, decided)
        raise _conflict()

    def _settled(
        self, state: Session, event: e.Event, decided: d.Decided
    ) -> tuple[f.TurnAccounted, ...]:
        """Keep what came after a turn had ended, such as its usage, when its account closes."""
        turn = state.turn
        if turn is None or turn.turn_id is None or turn.final or not turn.settled:
            return ()
        closes = isinstance(event, e.SessionEnd) or any(
            isinstance(fact, f.PromptTaken) and not fact.joins for fact in decided.facts
        )
        if not closes:
            return ()
        data = account(state, turn, self.world.measure(state, turn))
        outcome = turn.outcome or "completed"
        return (f.TurnAccounted(turn.turn_id, turn.revision + 1, outcome, True, data),)

    def _caught_up(self, live: Live, event: e.Event) -> Session:
        """Give the state that an event is decided against: as on disk, without a resting plan."""
        self._catch_up(live)
        if self.world.is_disabled and isinstance(event, _DRIVEN):
            return live.state.without_plan()
        return live.state

    def _checks(self, live: Live, event: e.TurnEnd) -> tuple[Session, d.Checks]:
        state = self._caught_up(live, event)
        checks = decide(state, event, self.routing).checks
        assert checks is not None
        return state, checks

    def _decide_end(
        self, live: Live, state: Session, checks: d.Checks, looked: Looked
    ) -> d.Decided | None:
        """Decide a turn end with what was seen; None when another process wrote first."""
        finished = self.world.finish(state, checks, looked)
        kept = kept_account(self.root, self.world, live, checks.event.turn_id)
        decided = decide(state, finished._replace(kept=kept), self.routing)
        return decided if self._append(live, decided.facts) else None

    def _touch(self, live: Live) -> None:
        """Let the session used longest ago give its descriptors back, if there are many."""
        session_id = live.state.session_id
        self._open.pop(session_id, None)
        self._open[session_id] = live
        if len(self._open) > OPEN_MAX:
            self._open.pop(next(iter(self._open))).store.close()

    def _append(self, live: Live, facts: tuple[f.Fact, ...]) -> bool:
        """Write facts down; say whether they still fit what other processes wrote meanwhile."""
        try:
            live.append(facts)
        except Moved:
            return False
        except Gone:
            raise self._purged(live) from None
        except StoreError as error:
            raise NotWritten(str(error), hint=_DISK) from None
        return True

    def _catch_up(self, live: Live) -> None:
        self._touch(live)
        try:
            live.catch_up()
        except Gone:
            raise self._purged(live) from None
        except StoreError as error:
            raise Unreadable(str(error), hint=_DISK) from None

    def _save(self, live: Live) -> None:
        try:
            live.save()
        except Gone:
            self._purged(live)

    def _purged(self, live: Live) -> UnknownSession:
        """Forget a session whose files are gone, and make the refusal that says so."""
        self._forget(live)
        return UnknownSession(
            "this session was purged while it was open",
            hint="Send turnkeeper/sessionStart; it begins anew.",
            field="sessionId",
        )

    def _forget(self, live: Live) -> None:
        live.store.close()
        self._live.pop(live.state.session_id, None)
        self._open.pop(live.state.session_id, None)

    def _with_flags(self, live: Live, event: e.Event, decided: d.Decided) -> d.Decided:
        flags = (*live.take_flags(), *decided.flags)
        if live.state.cursor.status == c.STATE_LOST and isinstance(event, e.TurnEnd):
            why = f"the plan's state is lost: {live.state.cursor.warnings[0]}"
            flags = (*flags, d.Flag("state_lost", why, "Arm the plan again, or decline it."))
        return decided._replace(flags=flags) if flags else decided


def _conflict() -> Conflict:
    return Conflict(
        "other processes keep writing this session; nothing has changed",
        hint="Send the request again.",
    )


def _is_on(live: Live) -> bool:
    return live.is_begun and live.state.started and not live.state.ended


_DISK = "Make room or mend the folder; then try again."
