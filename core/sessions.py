"""The shell around the pure core: each event is decided, written down, folded, then answered.

Invariant: what an answer promises is in the journal before `record` returns; a decision was made
against the journal's end as it stood when its facts were appended.
"""

from typing import Any, NamedTuple, TypeAlias

from core import account
from core import decided as d
from core import events as e
from core import facts as f
from core.errors import Conflict, InvalidParams, NotWritten, Refusal, UnknownSession, Unreadable
from core.evolve import evolve
from core.live import Live
from core.phases import cursor as c
from core.phases.routing import Routing
from core.receipts import under_way
from core.session import decide
from core.state import UNNAMED, Session, Turn
from core.store.failures import Gone, Moved, StoreError
from core.store.journal import Journal
from core.store.receipts import Ledger, read_receipts
from core.store.root import ledger_path, session_dir
from core.world import World

Act: TypeAlias = e.Arm | e.Decline | e.Park | e.Resume | e.Cancel

_DRIVEN = (e.Prompt, e.ToolCall, e.ToolResult, e.TurnEnd)  # What a plan has a say in.
OPEN_MAX = 64  # Sessions that hold descriptors at one time; the others open theirs when needed.
DECISIONS_MAX = 3  # Times one event is decided anew when other processes write the session.


class Accounted(NamedTuple):
    """The account of a turn; `data` is read by core/account.py, `view`."""

    turn_id: str | None
    revision: int
    outcome: str | None
    final: bool
    data: dict[str, Any]
    late: tuple[tuple[str, str, int], ...] = ()  # (call or result, tool use id, UTF-16 units)


class Sessions:
    """All sessions of this process."""

    def __init__(self, root: str, world: World, routing: Routing) -> None:
        self.root = root
        self.world = world
        self.routing = routing
        self._ledger = Ledger(ledger_path(root))
        self._live: dict[str, Live] = {}
        self._open: dict[str, Live] = {}  # Those that may hold descriptors, last used last.

    def start(self, session_id: str, event: e.SessionStart) -> d.Decided:
        """Begin a session or take it up again, with everything that is known of it on disk."""
        live = self._opened(session_id)
        live.is_begun = True
        return self._record(live, event)

    def attach(self, session_id: str) -> Session:
        """Open a session as it stands on disk, known or not, for a command that acts on it."""
        live = self._opened(session_id)
        self._catch_up(live)
        return live.state

    def record(self, session_id: str, event: e.Event) -> d.Decided:
        """Decide an event of a started session; its facts are on disk when this returns."""
        live = self._started(session_id)
        decided = self._record(live, event)
        if isinstance(event, e.SessionEnd):
            self._save(live)
        return decided

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
        parent = state.parent_session_id
        if parent is not None and parent != state.session_id:
            try:
                self.attach(parent)
            except Refusal:
                pass  # Whoever starts that session is told why it cannot be read.
        return [
            live.state
            for live in self._live.values()
            if live.state.workspace == state.workspace
            and live.state.cursor.status in c.UNDER_WAY
            and live.state.session_id != state.session_id
        ]

    def states(self) -> list[Session]:
        """Give the state of every session that was started here and has not ended."""
        return [live.state for live in self._live.values() if _is_on(live)]

    def armed_elsewhere(self) -> list[Session]:
        """List plans under way in the folders of this process's sessions, begun by others."""
        folders = {state.workspace for state in self.states()}
        found = []
        for session_id in under_way(read_receipts(self._ledger.path).receipts):
            live = self._opened(session_id)
            self._catch_up(live)
            if live.is_begun:
                continue
            if live.state.workspace in folders and live.state.cursor.status in c.UNDER_WAY:
                found.append(live.state)
            else:
                self._forget(live)
        return found

    def accounted(self, session_id: str, turn_id: str | None) -> Accounted:
        """Give the account of a turn: of the open one as it stands, of a closed one as kept."""
        live = self._started(session_id)
        self._catch_up(live)
        state, turn = live.state, live.state.turn
        if turn_id is None and turn is None and state.closed:
            turn_id = next(reversed(state.closed))
        if turn_id is None or (turn is not None and turn.turn_id == turn_id):
            return self._open_account(state, turn or Turn(None))
        return self._closed_account(live, turn_id)

    def close(self) -> None:
        """Write every checkpoint; the journals need nothing more."""
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
        self._touch(live)
        for _ in range(DECISIONS_MAX):
            self._catch_up(live)
            state = live.state
            if self.world.is_disabled and isinstance(event, _DRIVEN):
                state = state.without_plan()
            decided = decide(state, event, self.routing)
            if decided.checks is not None:
                finished = self.world.run(state, decided.checks)
                kept = self._kept(live, decided.checks.event.turn_id)
                decided = decide(state, finished._replace(kept=kept), self.routing)
            if self._append(live, decided.facts):
                return self._with_flags(live, event, decided)
        raise Conflict(
            "other processes keep writing this session; nothing has changed",
            hint="Send the request again.",
        )

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

    def _open_account(self, state: Session, turn: Turn) -> Accounted:
        data = account.account(state, turn, self.world.measure(state, turn))
        return Accounted(turn.turn_id, turn.revision, turn.outcome, turn.final, data)

    def _closed_account(self, live: Live, turn_id: str) -> Accounted:
        closed = live.state.closed.get(turn_id)
        if closed is None:
            raise InvalidParams(
                "no account of this turn is kept",
                hint="The last 500 turns of a session can be asked for by their id.",
                field="turnId",
            )
        late = tuple((what, call, units) for what, call, units in closed.late)
        lines = self._lines(live)
        line = _of_seq(lines, closed.seq)
        final = line is not None and bool(line["final"])
        data = self._rebuilt(live, turn_id, lines) if line is None else line["accounting"]
        name = None if turn_id == UNNAMED else turn_id
        return Accounted(name, closed.revision, closed.outcome, final, data, late)

    def _kept(self, live: Live, turn_id: str) -> dict[str, Any] | None:
        """Give the account of a turn that was closed before, None for any other turn."""
        if turn_id not in live.state.closed:
            return None
        return self._closed_account(live, turn_id).data

    def _rebuilt(self, live: Live, turn_id: str, lines: list[dict[str, Any]]) -> dict[str, Any]:
        """Make the account of a turn that was closed without an end, out of the journal."""
        state, turn = Session(live.state.session_id), Turn(turn_id)
        for line in lines:
            fact = f.from_line(line)
            if fact is not None:
                evolve(state, fact, line["seq"])
            if state.turn is not None and (state.turn.turn_id or UNNAMED) == turn_id:
                turn = state.turn
        return account.account(live.state, turn, self.world.measure(live.state, turn))

    def _lines(self, live: Live) -> list[dict[str, Any]]:
        """Read the journal again; closed accounts are kept nowhere else."""
        journal = Journal(session_dir(self.root, live.state.session_id))
        try:
            return journal.read_on().lines
        except (StoreError, Gone) as error:
            raise Unreadable(str(error), hint=_DISK) from None
        finally:
            journal.close()


def _of_seq(lines: list[dict[str, Any]], seq: int | None) -> dict[str, Any] | None:
    return next((line for line in lines if line["seq"] == seq), None)


def _is_on(live: Live) -> bool:
    return live.is_begun and live.state.started and not live.state.ended


_DISK = "Make room or mend the folder; then try again."
