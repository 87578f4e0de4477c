"""docs/receipts.md, made from the table of receipts."""

from core.receipts import FIELDS, KINDS, ReceiptKind
from handlers.markdown import codes, table

# On every receipt.
ALWAYS = ("v", "seq", "event_id", "ts", "event", "session_id")

_INTRO = """\
<!-- Made by `make docs` from core/receipts.py; edit the table there, not this page. -->

# Receipts

The ledger is the audit trail of plans: one JSON object a line, appended when something happened to
a plan, never changed (`turnkeeper purge` alone removes). It says who armed what, which skills were
really opened, which turn ends were blocked and on what evidence phases were closed. A session
without a plan leaves nothing but the `arm_directive` of an offer and the skills opened while it
stands. Accounts are not in the ledger: they are answered, and kept in the session's journal.

The file is `receipts.jsonl` in the state folder, by default `~/.local/state/turnkeeper` on Linux
and `~/Library/Application Support/turnkeeper` on macOS; `TURNKEEPER_STATE_DIR` moves the folder,
`TURNKEEPER_LEDGER` the ledger alone. A receipt holds no text of a prompt, result or file; the
reason of an act is written as given."""

_FIELDS = """\
## Fields

A field that has nothing to say is left out. One that would make the line longer than 64 KiB is cut,
and `<field>_cut` counts what is lacking."""

_READING = """\
## Reading a run

    turnkeeper receipts --task T1                  # of one task, oldest first, one object a line
    turnkeeper receipts --session s1 --since 40    # of one session, those with a seq above 40
    grep '"task_id":"T1"' receipts.jsonl           # the same without us: there are no blanks
    grep '"event":"phase_block"' receipts.jsonl

Receipts that belong to no task yet (`arm_directive`, `state_lost`, what happens to an offer) are
found by their session. A whole run reads `phase_cursor_armed`, then for each phase
`phase_injection`, `skill_call` or `skill_read`, `phase_block` if need be, `phase_advance_drive`,
and at the end `phase_plan_complete`.

`turnkeeper receipts --json` prints one object:

| key | meaning |
| --- | --- |
| `receipts` | The receipts, oldest first. |
| `next` | With `--session` and `--limit`: give it as `--since` for more; null at the end. |
| `unreadable` | Lines that are no receipt, each `{"line": number, "why": text}`. |

Over the protocol `turnkeeper/receipts` answers `receipts` and `next`
([protocol.md](protocol.md#receipts))."""


def receipts_markdown() -> str:
    """Write docs/receipts.md."""
    events = ((f"`{kind.event}`", kind.doc, codes(_own_fields(kind))) for kind in KINDS)
    meanings = ((f"`{name}`", meaning) for name, meaning in FIELDS.items())
    blocks = (
        _INTRO,
        f"## Events\n\nEach has {codes(ALWAYS)}, and the fields named here.",
        table(("event", "written when", "fields"), events),
        _FIELDS,
        table(("field", "meaning"), meanings),
        _READING,
    )
    return "\n\n".join(blocks) + "\n"


def _own_fields(kind: ReceiptKind) -> tuple[str, ...]:
    return (*kind.fields, *(name for name, _ in kind.fixed))
