"""One session in memory, in step with its journal and with other processes that write it."""

import time
from typing import Any

from core import decided as d
from core import facts as f
from core.errors import Unreadable
from core.evolve import evolve
from core.phases import cursor as c
from core.receipts import receipts_of, under_way
from core.state import Session
from core.store.failures import Moved, StoreError
from core.store.journal import NAME
from core.store.lines import LineFault
from core.store.receipts import Ledger
from core.store.session_store import Recovered, SessionStore

DAMAGE_FLAGS_MAX = 10
SAVE_AGAIN_S = 30.0  # After a checkpoint that the disk refused.


class Live:
    """A session and its journal; raises what core/store/session_store.py raises.

    One that is opened to look only follows what others write, and writes nothing itself: it is
    never appended to, and has to be opened anew for that.
    """

    __slots__ = ("_owes", "_save_after", "flags", "is_begun", "look_only", "state", "store")

    def __init__(
        self, root: str, session_id: str, ledger: Ledger, *, look_only: bool = False
    ) -> None:
        self.look_only = look_only
        self.is_begun = False  # By a sessionStart of this process; a command only attaches.
        self.flags: list[d.Flag] = []  # Of the disk, to go out with the next answer.
        self._owes = False
        self._save_after = 0.0  # As of time.monotonic().
        self.store = SessionStore(root, session_id, ledger, receipts_of)
        recovered = self.store.open(look_only=look_only)
        self.state = Session(session_id)
        if recovered.state is not None:
            self.state = Session.from_json(recovered.state)
        before = self.state.cursor.status
        self._fold(recovered.lines)
        self.flags += _damages(recovered.faults)
        if self._is_lost(recovered, before):
            why = recovered.faults[0].why if recovered.faults else "it is missing"
            self._say_lost(f.StateLost(NAME, why))

    def catch_up(self) -> None:
        """Fold in what other processes wrote since."""
        self._news()

    def append(self, facts: tuple[f.Fact, ...]) -> None:
        """Write facts down and fold them; raise Moved when another process wrote first."""
        if not facts:
            return
        self._fold(self.store.append([f.to_line(fact) for fact in facts], self._sync(facts)))
        self._tell_of_owed()
        now = time.monotonic()
        if now >= self._save_after and self.store.due(now):
            self.save()

    def save(self) -> None:
        """Write the checkpoint; it is a cache of the journal, so a full disk loses nothing."""
        try:
            self.store.write_checkpoint(self.state.to_json())
        except (StoreError, Unreadable) as error:
            if not self._save_after:
                self.flags.append(d.Flag("checkpoint_not_written", str(error), _ROOM_HINT))
            self._save_after = time.monotonic() + SAVE_AGAIN_S
        else:
            self._save_after = 0.0

    def take_flags(self) -> tuple[d.Flag, ...]:
        """Give what the disk has told since the last call."""
        flags, self.flags = tuple(self.flags), []
        return flags

    def _news(self) -> list[dict[str, Any]]:
        news = self.store.catch_up()
        self.flags += _damages(news.faults)
        self._fold(news.lines)
        return news.lines

    def _sync(self, facts: tuple[f.Fact, ...]) -> bool:
        armed = self.state.cursor.status in c.UNDER_WAY
        return any(
            type(fact) in f.DURABLE or (armed and isinstance(fact, f.TurnAccounted))
            for fact in facts
        )

    def _fold(self, lines: list[dict[str, Any]]) -> None:
        for line in lines:
            fact = f.from_line(line)
            if fact is None:
                self.state.seq = line["seq"]  # Of a newer version; it says nothing to this one.
            else:
                evolve(self.state, fact, line["seq"])

    def _say_lost(self, fact: f.StateLost) -> None:
        if self.look_only:
            evolve(self.state, fact, self.state.seq)
        is_said = self.look_only
        while not is_said:
            try:
                self.append((fact,))
                is_said = True
            except Moved:  # Perhaps another process opened it too, and has said so.
                is_said = _last(self._news(), _SETTLES | _SAYS) > 0

    def _is_lost(self, recovered: Recovered, before: str) -> bool:
        """Say whether there was a plan, or may have been, that nobody has said yet to be lost."""
        said = _last(recovered.lines, _SAYS)
        orphans = [receipt for receipt in recovered.orphans if receipt["seq"] > said]
        if said and not orphans:
            return False
        if self.state.cursor.status == c.STATE_LOST:
            return before != c.STATE_LOST and not said
        if recovered.lost and self.state.cursor.plan is None:
            return True
        settled = _last(recovered.lines, _SETTLES)
        return bool(under_way(receipt for receipt in orphans if receipt["seq"] > settled))

    def _tell_of_owed(self) -> None:
        trouble = self.store.trouble
        if trouble is not None and not self._owes:
            self.flags.append(d.Flag("receipts_not_written", str(trouble), _ROOM_HINT))
        self._owes = trouble is not None


_SAYS = frozenset({"state_lost"})
# Whatever plan was armed before such a fact is not the one under way after it.
_SETTLES = frozenset({"plan_armed", "plan_declined", "plan_cancelled", "plan_completed"})
_ROOM_HINT = "Make room or mend the folder; until then the journal alone holds it."


def _last(lines: list[dict[str, Any]], kinds: frozenset[str]) -> int:
    """Give the number of the last line of these kinds, else 0."""
    return max((line["seq"] for line in lines if line["kind"] in kinds), default=0)


def _damages(faults: list[LineFault]) -> list[d.Flag]:
    """Give a flag for each of the first faults, and one that counts the rest."""
    flags = [_damaged(fault) for fault in faults[:DAMAGE_FLAGS_MAX]]
    if len(faults) > DAMAGE_FLAGS_MAX:
        more = f"{len(faults) - DAMAGE_FLAGS_MAX} more lines are damaged"
        flags.append(d.Flag("journal_damaged", more, _SET_ASIDE))
    return flags


def _damaged(fault: LineFault) -> d.Flag:
    where = f" line {fault.line}" if fault.line else ""
    message = f"{fault.file}{where}: {fault.why}"
    return d.Flag("journal_damaged", message, _SET_ASIDE)


_SET_ASIDE = "What is damaged is set aside and everything else is used."
