"""The ledger: its format, its pages, and its bad lines."""

import json
from pathlib import Path

from core.store.lines import LineFault
from core.store.receipts import read_receipts
from core.store.root import session_name
from tests.core.store.support import SESSION, expected_ids, fact, journal_lines, opened, receipt_ids


def ledger(root: Path) -> Path:
    return root / "receipts.jsonl"


def filled(root: Path, count: int = 3) -> None:
    for session in (SESSION, "other"):
        store, _ = opened(root, session)
        for number in range(count):
            store.append([fact(f"{session}-{number}", receipts=2)], sync=False)


def test_a_receipt_has_these_fields_in_this_order(tmp_path: Path) -> None:
    opened(tmp_path)[0].append([fact("a", receipts=1)], sync=False)

    (line,) = journal_lines(tmp_path)
    name = session_name(SESSION)
    assert ledger(tmp_path).read_text() == (
        f'{{"v":1,"seq":1,"event_id":"{name}-1-0","ts":{line["ts"]},"event":"skill_call",'
        f'"session_id":"{SESSION}","name":"a"}}\n'
    )


def test_receipts_are_found_by_session_and_read_on_page_by_page(tmp_path: Path) -> None:
    filled(tmp_path)
    path = str(ledger(tmp_path))

    first = read_receipts(path, SESSION, limit=3)
    second = read_receipts(path, SESSION, since=first.next, limit=3)

    assert [receipt["seq"] for receipt in first.receipts] == [1, 1, 2, 2]
    assert first.next == 2
    assert [receipt["seq"] for receipt in second.receipts] == [3, 3]
    assert second.next is None
    assert len(read_receipts(path).receipts) == 12


def test_without_a_session_a_limit_keeps_the_newest(tmp_path: Path) -> None:
    filled(tmp_path)
    path = str(ledger(tmp_path))

    found = read_receipts(path, limit=5)

    assert found.receipts == read_receipts(path).receipts[-5:]
    assert found.next is None


def test_receipts_are_found_by_task(tmp_path: Path) -> None:
    filled(tmp_path)
    lines = [json.loads(raw) for raw in ledger(tmp_path).read_bytes().splitlines()]
    lines[4]["task_id"] = "t1"
    ledger(tmp_path).write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert read_receipts(str(ledger(tmp_path)), task_id="t1").receipts == [lines[4]]


def test_line_412_of_two_glued_objects_is_set_aside_by_its_number_and_reading_goes_on(
    tmp_path: Path,
) -> None:
    filled(tmp_path, 250)
    raw = ledger(tmp_path).read_bytes().splitlines(keepends=True)
    raw[411] = raw[411][:-1]
    ledger(tmp_path).write_bytes(b"".join(raw))

    opened(tmp_path)[0].append([fact("later", receipts=1)], sync=False)
    found = read_receipts(str(ledger(tmp_path)))

    assert found.faults == [LineFault("receipts.jsonl", 412, "two objects are glued together")]
    assert found.receipts[-1]["name"] == "later"
    # The two that are set aside were found missing when the session was opened, and added.
    assert sorted(receipt_ids(tmp_path)) == sorted(expected_ids(journal_lines(tmp_path)))


def test_other_bad_lines_are_named_too_and_a_torn_tail_waits(tmp_path: Path) -> None:
    filled(tmp_path)
    good = ledger(tmp_path).read_bytes()
    head = b'{"v":1,"event_id":"x-1-0","event":"e","session_id":"x","seq":'
    odd = [b"1%s" % (b"0" * 30), b'1,"n":1.5', b'1,"n":1%s' % (b"0" * 30), b'1,"n":"\\ud800"']
    unfit = b"".join(head + rest + b"}\n" for rest in odd)
    ledger(tmp_path).write_bytes(b'\0\0\n[]\n{"v":1}\n' + unfit + good + b'{"v":1,"se')

    found = read_receipts(str(ledger(tmp_path)))

    assert [(fault.line, fault.why) for fault in found.faults] == [
        (1, "it holds NUL bytes"),
        (2, "it is not an object"),
        *((line, "it is no receipt of this schema") for line in range(3, 8)),
    ]
    assert len(found.receipts) == 12


def test_receipts_are_searched_for_only_behind_the_checkpoint(tmp_path: Path) -> None:
    store, _ = opened(tmp_path)
    store.append([fact("a", receipts=1)], sync=False)
    store.write_checkpoint({"names": ["a"]})
    store.append([fact("b", receipts=1)], sync=False)
    data = ledger(tmp_path).read_bytes().splitlines(keepends=True)
    ledger(tmp_path).write_bytes(b" " * (len(data[0]) - 1) + b"\n")

    opened(tmp_path)

    assert receipt_ids(tmp_path) == [f"{session_name(SESSION)}-2-0"]


def test_no_ledger_is_an_empty_one(tmp_path: Path) -> None:
    assert read_receipts(str(ledger(tmp_path))) == ([], None, [])
