"""One session on disk: its journal, its checkpoint, and the receipts that follow from them.

The store knows no meaning: a fact is a JSON object with a `kind`, and what receipts a journal line
gives is asked of the caller. Order of writing: journal line, receipts, checkpoint; whatever a
killed process left out is made good by the next one that opens or folds the session.
"""

import os
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from core.errors import Unreadable
from core.store import checkpoint, journal
from core.store.checkpoint import Checkpoint, Covers
from core.store.failures import Gone, Moved, StoreError
from core.store.files import make_folder
from core.store.journal import Journal
from core.store.lines import Cursor, Line, LineFault, Tail
from core.store.locks import Lock
from core.store.receipts import Ledger, Place, Receipt, printed
from core.store.root import session_dir, session_name

# Gives the receipts of one journal line, each {"event": ..., ...}: always the same for that line.
Projection: TypeAlias = Callable[[Line], list[Line]]

CHECKPOINT_FACTS = 500
CHECKPOINT_S = 2.0
# Checkpoints may take this part of the time: a long turn makes them large, and they are a cache.
CHECKPOINT_SHARE = 0.05
LEDGER_FAILURES = (StoreError, Gone, Unreadable)  # None of them undoes what the journal holds.


class Recovered(NamedTuple):
    """What the disk told of a session when it was opened."""

    state: Line | None  # Of the checkpoint; None means: fold from the first state.
    lines: list[Line]  # What happened after it, in order.
    faults: list[LineFault]
    # There was a journal, and its beginning cannot be had back from anywhere, or facts that left
    # a receipt cannot.
    lost: bool
    orphans: list[Line]  # The receipts of such facts, in the order of the ledger.


class News(NamedTuple):
    """What other processes appended."""

    lines: list[Line]
    faults: list[LineFault]


class SessionStore:
    """One session as one process sees it; no lock is held between calls.

    Call `open` first. Every method raises StoreError when the disk refuses, Gone when the session
    was purged, Unreadable for state of a newer schema.
    """

    __slots__ = (
        *(
            "_dirty_since",
            "_earliest",
            "_facts_since",
            "_folder",
            "_generation",
            "_journal",
            "_ledger",
        ),
        *("_lock", "_looks_only", "_name", "_owed", "_place", "_projection", "_receipts_since"),
        *("_session_id", "_unsure_since", "trouble"),
    )

    def __init__(self, root: str, session_id: str, ledger: Ledger, projection: Projection) -> None:
        self.trouble: Exception | None = None  # Why receipts are owed to the ledger, if they are.
        self._session_id = session_id
        self._name = session_name(session_id)
        self._folder = session_dir(root, session_id)
        self._lock = Lock(os.path.join(self._folder, "lock"), ledger.patience)
        self._journal = Journal(self._folder)
        self._ledger = ledger
        self._projection = projection
        self._looks_only = False
        self._unsure_since: Place | None = None  # Receipts behind it may be of lines that are lost.
        self._owed: list[Receipt] = []  # Follow from known lines, and may not be written.
        self._place = Place()  # No receipt of a line that is not known yet lies before it.
        self._generation = 0
        self._facts_since = 0  # Facts that no checkpoint of ours covers.
        self._receipts_since = False
        self._dirty_since = 0.0
        self._earliest = 0.0  # No checkpoint is due before.

    @property
    def cursor(self) -> Cursor:
        """How far the journal is known: offset, sequence number, line."""
        return self._journal.cursor

    def open(self, *, look_only: bool = False) -> Recovered:
        """Read what is there; writes nothing but receipts that a killed process left out.

        A store opened to look only writes nothing at all, now or later, and is never appended to.
        """
        self._looks_only = look_only
        if not look_only:
            checkpoint.clean(self._folder)
        found, fault = checkpoint.load(self._folder)
        if found is not None:
            self._go_on_from(found)
        since, told = self._place, self._told()  # Before the journal, which is written first.
        tail = self._tail_after(found)
        faults = [fault, *tail.faults] if fault else tail.faults
        orphans = self._orphans(told, tail, found)
        if orphans and max(map(_seq, orphans)) > tail.cursor.seq:
            why = f"receipts tell of facts that it lacks, the first is {min(map(_seq, orphans))}"
            faults.append(LineFault(journal.NAME, 0, why))
        if orphans or told is None:
            self._unsure_since = since
        self._learn(tail.lines, told or ())
        lost = bool(orphans) or (found is None and self._is_lost(tail, faults))
        return Recovered(found.state if found else None, tail.lines, faults, lost, orphans)

    def catch_up(self) -> News:
        """Give what others appended since; costs one fstat when there is nothing."""
        if not self._journal.has_moved():
            return News([], [])
        size = self._journal.size
        tail = self._journal.read_on()
        if self._journal.size < size:
            self._count(CHECKPOINT_FACTS)  # Cut from outside: what is known must be kept.
        self._learn(tail.lines)
        return News(tail.lines, tail.faults)

    def append(self, facts: list[Line], sync: bool) -> list[Line]:
        """Append facts and their receipts; give the facts as any reader will see them.

        The facts stand in one write: all or none. With `sync` they are on the disk when this
        returns. Receipts that the disk refuses are owed: `trouble` says why, and the next call
        tries again. Raises Moved when the session has changed since it was read.
        """
        assert not self._looks_only, "the session was opened to look at it"
        if not self._journal.size:
            make_folder(self._folder)
        if self._unsure_since is not None:
            self._pass_lost_numbers(self._unsure_since)
        stamped = self._journal.stamp(facts)
        receipts = self._receipts_of(stamped.lines)
        with self._lock:
            self._journal.append(stamped, sync)
            self._write_receipts(receipts)
            self._note_begun()
        self._count(len(stamped.lines))
        return stamped.lines

    def due(self, now: float) -> bool:
        """Say whether a checkpoint should be written; `now` as of time.monotonic()."""
        if not self._facts_since:
            return False
        if now < self._earliest:
            return False
        return self._facts_since >= CHECKPOINT_FACTS or now - self._dirty_since >= CHECKPOINT_S

    def write_checkpoint(self, state: Line) -> bool:
        """Write the state that all known lines have led to; say whether it is covered on disk.

        While receipts are owed the old checkpoint stays, so that they are not forgotten.
        """
        if not self._facts_since or self._looks_only:
            return True
        begun = time.monotonic()
        if self._owed:
            self._settle([])
        if self._owed:
            return False
        with self._lock:
            if not self._journal.has_moved():  # Raises Gone: what was purged stays away.
                self._place = self._ledger.place()
        if self._receipts_since:
            self._ledger.sync()
        cursor = self._journal.cursor
        mark = self._journal.mark(cursor.offset)
        covers = Covers(cursor.seq, cursor.offset, cursor.line, mark, *self._place)
        written = checkpoint.save(self._folder, state, covers, self._generation, self._lock)
        self._generation = written
        self._facts_since, self._receipts_since = 0, False
        ended = time.monotonic()
        self._earliest = ended + (ended - begun) / CHECKPOINT_SHARE
        return True

    def close(self) -> None:
        """Give the descriptors back; the next use opens the files again."""
        self._journal.close()
        self._lock.close()

    def _go_on_from(self, found: Checkpoint) -> None:
        covers = found.covers
        self._generation = found.generation
        self._place = Place(covers.receipts_offset, covers.receipts_file)
        self._journal = Journal(self._folder, Cursor(covers.offset, covers.seq, covers.line))

    def _tail_after(self, found: Checkpoint | None) -> Tail:
        """Read the journal behind the checkpoint, or all of it where that does not fit."""
        if found is None or self._journal.mark(found.covers.offset) == found.covers.mark:
            return self._journal.read_on()
        self._count(CHECKPOINT_FACTS)  # The next one will fit this journal.
        return self._journal.read_again("it is not the one that the checkpoint was made from")

    def _is_lost(self, tail: Tail, faults: list[LineFault]) -> bool:
        if tail.lines:
            return tail.missing_before > 0
        if faults or b"\0" in self._journal.unread_tail():
            return True
        return _size(self._lock.path) > 0

    def _told(self) -> list[Line] | None:
        """Give the receipts behind the checkpoint's; None when the ledger cannot be read."""
        try:
            return self._ledger.behind(self._place, self._name)
        except StoreError:
            return None  # Whoever has to write to it says so.

    def _orphans(self, told: list[Line] | None, tail: Tail, found: Checkpoint | None) -> list[Line]:
        """Give the receipts whose facts are neither in the checkpoint nor in the journal."""
        covered = found.covers.seq if found else 0
        known = {line["seq"] for line in tail.lines}
        orphans = [r for r in told or () if r["seq"] > covered and r["seq"] not in known]
        if not orphans:
            return []
        known = self._journal.unread_seqs()
        there = {receipt["event_id"] for receipt in self._told() or ()}  # Or purged meanwhile.
        return [r for r in orphans if r["seq"] not in known and r["event_id"] in there]

    def _learn(self, lines: list[Line], told: Iterable[Line] = ()) -> None:
        """Take note of lines that were read, and see to it that their receipts are written."""
        if not lines or self._looks_only:
            return
        self._count(len(lines))
        written = {receipt["event_id"] for receipt in told}
        receipts = [r for r in self._receipts_of(lines) if r.event_id not in written]
        if receipts:
            self._settle(receipts)

    def _settle(self, receipts: list[Receipt]) -> None:
        """Write which of these, and of those still owed, the ledger does not hold."""
        self._owed += receipts
        try:
            with self._lock:
                self._write_missing()
        except StoreError as error:
            self.trouble = error

    def _pass_lost_numbers(self, since: Place) -> None:
        """Give out no number again whose line was lost but whose receipt was not."""
        with self._lock:
            if self._journal.has_moved():
                raise Moved(self._folder)
            try:
                told = self._ledger.behind(since, self._name)
                self._journal.skip_to(max(map(_seq, told), default=0))
            except StoreError as error:
                self.trouble = error
                return
        self._unsure_since = None

    def _note_begun(self) -> None:
        """Mark the lock file: from now on an absent journal is a lost one. The lock is held."""
        try:
            if not self._lock.size:
                self._lock.add_mark()
        except StoreError:
            return  # The facts are written, which counts; the next append tries again.

    def _write_receipts(self, receipts: list[Receipt]) -> None:
        """Write the receipts of lines that were just appended; the lock is held."""
        if self._owed:
            self._owed += receipts
            self._write_missing()
        elif receipts:
            try:
                self._place = self._ledger.append(receipts)
            except LEDGER_FAILURES as error:
                self._owed, self.trouble = receipts, error

    def _write_missing(self) -> None:
        """Write what is owed and not in the ledger yet; the lock is held."""
        try:
            end = self._ledger.append_missing(self._owed, self._name, self._place)
        except LEDGER_FAILURES as error:
            self.trouble = error
            return
        self._owed, self.trouble = [], None
        if not self._journal.has_moved():
            self._place = end

    def _receipts_of(self, lines: list[Line]) -> list[Receipt]:
        receipts = []
        for line in lines:
            for number, fields in enumerate(self._projection(line)):
                receipts.append(printed(fields, line, number, self._name, self._session_id))
        if receipts:
            self._receipts_since = True
        return receipts

    def _count(self, facts: int) -> None:
        if not self._facts_since:
            self._dirty_since = time.monotonic()
        self._facts_since += facts


def _seq(receipt: Line) -> int:
    seq: int = receipt["seq"]
    return seq


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise StoreError("read", path, error) from None
