"""One session in memory, in step with its journal and with other processes that write it."""

import time
from typing import Any

from core import decided as d
from core import facts as f
from core.errors import Unreadable
from core.evolve import evolve
from core.phases import cursor as c
from core.receipts import receipts_of
from core.state import Session
from core.store.failures import Moved, StoreError
from core.store.journal import NAME
from core.store.lines import LineFault
from core.store.receipts import Ledger
from core.store.session_store import Recovered, SessionStore

SAVE_AGAIN_S = 30.0  # After a checkpoint that the disk refused.


class Live:
    """A session and its journal; raises what core/store/session_store.py raises."""

    __slots__ = ("_owes", "_save_after", "flags", "is_begun", "state", "store")

    def __init__(self, root: str, session_id: str, ledger: Ledger) -> None:
        self.is_begun = False  # By a sessionStart of this process; a command only attaches.
        self.flags: list[d.Flag] = []  # Of the disk, to go out with the next answer.
        self._owes = False
        self._save_after = 0.0  # As of time.monotonic().
        self.store = SessionStore(root, session_id, ledger, receipts_of)
        recovered = self.store.open()
        self.state = Session(session_id)
        if recovered.state is not None:
            self.state = Session.from_json(recovered.state)
        self._fold(recovered.lines)
        self.flags += map(_damaged, recovered.faults)
        if self._is_lost(recovered):
            why = recovered.faults[0].why if recovered.faults else "it is missing"
            try:
                self.append((f.StateLost(NAME, why),))
            except Moved:
                self.catch_up()  # Another process opened it too, and says so.

    def catch_up(self) -> None:
        """Fold in what other processes wrote since."""
        news = self.store.catch_up()
        self.flags += map(_damaged, news.faults)
        self._fold(news.lines)

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

    def _is_lost(self, recovered: Recovered) -> bool:
        """Say whether there was a plan, or may have been, that nobody has said yet to be lost."""
        if any(line["kind"] == "state_lost" for line in recovered.lines):
            return False
        if self.state.cursor.status == c.STATE_LOST:
            return recovered.state is None
        return recovered.lost and self.state.cursor.plan is None

    def _tell_of_owed(self) -> None:
        trouble = self.store.trouble
        if trouble is not None and not self._owes:
            self.flags.append(d.Flag("receipts_not_written", str(trouble), _ROOM_HINT))
        self._owes = trouble is not None


_ROOM_HINT = "Make room or mend the folder; until then the journal alone holds it."


def _damaged(fault: LineFault) -> d.Flag:
    where = f" line {fault.line}" if fault.line else ""
    message = f"{fault.file}{where}: {fault.why}"
    hint = "The line is set aside and everything else is used."
    return d.Flag("journal_damaged", message, hint)
