"""The accounts of a session that hosts reported to us, read back from its journal."""

from core import facts as f
from core.recordings.book import Book, Measure
from core.recordings.contract import Head
from core.store.journal import Journal
from core.store.root import session_dir
from server.report.fold import Detail, Folded, Session


def fold_stored(root: str, session_id: str, measure: Measure, detail: Detail) -> Folded:
    """Fold the journal of a session again; raise StoreError or Gone when it cannot be read.

    Lines are numbers of the journal.
    """
    folder = session_dir(root, session_id)
    journal = Journal(folder)
    try:
        found = journal.read_on()
    finally:
        journal.close()
    facts = [(line["seq"], f.from_line(line)) for line in found.lines]
    head = Head("unknown", session_id, "")
    for _, fact in facts:
        if isinstance(fact, f.SessionStarted):
            head = Head(fact.runtime, session_id, fact.workspace, fact.model)
    session = Session(head, folder, detail)
    book = Book(session_id, measure, session.add, detail=detail.pictures)
    for seq, fact in facts:
        if fact is not None:
            book.fold(fact, seq)
    book.close()
    notes = [f"{fault.file}:{fault.line}: {fault.why}" for fault in found.faults]
    return session.finished(book, len(found.faults), notes)
