"""One line about a Claude Code session for its status line: phase, context, the largest kinds.

It only looks: at the JSON on standard input, the end of the transcript and the state on disk.
"""

import os
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from server.jsontext import NotJson, dump, parse
from server.log import clean

if TYPE_CHECKING:
    from core.phases.cursor import Cursor

INPUT_BYTES_MAX = 1024 * 1024
TAIL_BYTES_MAX = 4 * 1024 * 1024  # Of the transcript; its last prompt lies there, or nearly always.
KINDS_SHOWN = 3
WIDTH, WIDTH_MIN = 100, 10  # Cells.
FULL, NEARLY_FULL = 0.9, 0.7

NEUTRAL = "turnkeeper"

_BETWEEN = " · "
_RED, _YELLOW, _GREEN, _CYAN, _DIM, _PLAIN = "31", "33", "32", "36", "2", ""
_WORDS = {
    "en": {
        "context": "context {0}",
        "stale": "stale",
        "blocked": ", blocked {0}, {1} left",
        "armed": "armed",
        "parked": "parked",
        "waiting_user": "waiting for you",
        "given_up": "given up",
        "complete": "complete",
    },
    "zh": {
        "context": "上下文 {0}",
        "stale": "已过期",
        "blocked": "，已拦 {0} 次，剩 {1} 次",
        "armed": "执行中",
        "parked": "已搁置",
        "waiting_user": "等待用户",
        "given_up": "已放弃",
        "complete": "已完成",
    },
}
_SHOWN_STATES = frozenset(_WORDS["en"]) - {"context", "stale", "blocked"}

Json = dict[str, Any]


class Style(NamedTuple):
    """How the line is written; without a width as wide as $COLUMNS says."""

    locale: str = "en"
    width: int | None = None
    color: bool = False


class _Part(NamedTuple):
    text: str
    color: str = _PLAIN


class _Seen(NamedTuple):
    """What the end of a transcript says of its last turn; tokens."""

    used: int | None
    is_stale: bool
    kinds: list[tuple[str, int]]  # The largest first.
    at_least: bool  # The turn begins before what was read.


def print_statusline(style: Style, *, as_json: bool) -> None:
    """Read the JSON of standard input and print the line; whatever comes, it is no error."""
    given = b"" if sys.stdin is None or sys.stdin.isatty() else _all_of_stdin()
    figures = figures_of(given, os.environ)
    line = dump(figures) if as_json else line_of(figures, style).encode(errors="replace")
    with suppress(OSError):  # Nobody reads it any longer.
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()


def figures_of(given: bytes, environ: Mapping[str, str]) -> Json:
    """Give {sessionId, model, phase, context, kinds, atLeast} out of what Claude Code said.

    phase {id, index, count, state, attempt, attemptsLeft} and context {used, window, ratio, stale}
    are null where nothing is known; kinds [{kind, tokens}] are those of the last turn.
    """
    host = _host(given)
    session_id = _text(host.get("session_id"))
    path = _text(host.get("transcript_path"))
    seen = None
    if session_id and path:
        seen = _transcript(path, session_id, _folder(host), environ)
    return {
        "sessionId": session_id or None,
        "model": _text(_object(host.get("model")).get("display_name")) or None,
        "phase": _phase(session_id) if session_id else None,
        "context": _context(_object(host.get("context_window")), seen),
        "kinds": [{"kind": kind, "tokens": count} for kind, count in seen.kinds] if seen else [],
        "atLeast": seen is not None and seen.at_least,
    }


def line_of(figures: Json, style: Style) -> str:
    """Write the line, cut to its width."""
    words = _WORDS["zh" if style.locale == "zh" else "en"]
    parts = [*_phase_parts(figures, words), *_context_parts(figures, words)]
    parts += _kind_parts(figures, style.locale)
    return _joined(parts or [_Part(NEUTRAL)], style)


def _host(given: bytes) -> Json:
    try:
        return _object(parse(given))
    except NotJson:
        return {}


def _folder(host: Json) -> str:
    """Give the folder that the session was begun in, else where it is now."""
    workspace = _object(host.get("workspace"))
    candidates = (workspace.get("project_dir"), workspace.get("current_dir"), host.get("cwd"))
    return next((path for path in map(_text, candidates) if os.path.isabs(path)), "")


def _phase(session_id: str) -> Json | None:
    cursor = _cursor(session_id)
    if cursor is None or cursor.plan is None or cursor.status not in _SHOWN_STATES:
        return None
    return {
        "id": None if cursor.phase is None else cursor.phase.id,
        "index": cursor.number,
        "count": len(cursor.plan.phases),
        "state": cursor.status,
        "attempt": cursor.blocks,
        "attemptsLeft": cursor.attempts_left,
    }


def _cursor(session_id: str) -> "Cursor | None":
    """Look where a session stands in its plan, without a byte written; None if nothing says so."""
    from core.errors import Refusal
    from core.store.failures import Gone, StoreError
    from core.store.root import check_root, ledger_path, session_dir, state_root

    try:
        root = check_root(state_root())
        if not os.path.isdir(session_dir(root, session_id)):
            return None
        from core.live import Live
        from core.store.receipts import Ledger

        live = Live(root, session_id, Ledger(ledger_path(root)), look_only=True)
    except (Refusal, StoreError, Gone):
        return None
    live.store.close()
    return live.state.cursor


def _transcript(
    path: str, session_id: str, folder: str, environ: Mapping[str, str]
) -> _Seen | None:
    """Read the end of a transcript; None where there is nothing to read yet."""
    from core.account import NOT_MEASURED, Measured, view
    from core.accounting.kinds import KINDS
    from core.recordings.book import Book
    from core.recordings.contract import AgentSeen, Head, Step
    from core.recordings.recording import session_start
    from core.runtimes.registry import runtime
    from core.state import Session, Turn
    from core.world import World

    world = World(os.path.expanduser("~"), environ) if folder else None
    is_read = False

    def measure(state: Session, turn: Turn) -> Measured:
        # Earlier turns are not looked at.
        return world.measure(state, turn) if world is not None and is_read else NOT_MEASURED

    host = runtime("claude_code")
    assert host is not None
    head = Head("claude_code", session_id, folder, path=path)
    reader, book = host.reader(head), Book(session_id, measure, lambda _: None)
    book.take(Step(1, session_start(head)))
    try:
        start = max(0, os.stat(path).st_size - TAIL_BYTES_MAX)
        for number, row in enumerate(_rows(path, start), 1):
            for step in reader.read(number, row):
                if not isinstance(step.event, AgentSeen):
                    book.take(step)
    except (OSError, ValueError):  # A path may hold what no path can.
        return None
    is_read = True
    turn = book.open_turn()
    if turn is None:
        return None
    rows = [row for row in view(turn.data).breakdown.rows if row.kind in KINDS and row.tokens]
    kinds = [(row.kind, row.tokens) for row in sorted(rows, key=lambda row: -row.tokens)]
    usage = book.state.usage
    at_least = start > 0 and turn.from_human is None
    return _Seen(usage.fill(), usage.stale, kinds, at_least)


def _rows(path: str, start: int) -> Iterator[Json]:
    """Give the rows from the first one that begins behind `start`."""
    from core.recordings import lines

    with lines.open_recording(path) as file:
        if start:
            file.seek(start - 1)
            file.readline(TAIL_BYTES_MAX)
        left = TAIL_BYTES_MAX
        while left > 0 and (line := file.readline(left)):
            left -= len(line)
            row = lines.parse(line, orjson.loads)
            if isinstance(row, dict):
                yield row


def _context(host: Json, seen: _Seen | None) -> Json | None:
    """Say how full the window is: what the host says first, then the transcript.

    From a compaction on until the next request nobody knows it exactly.
    """
    window = _count(host.get("context_window_size")) or None
    told = _object(host.get("current_usage"))
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    used: int | None = sum(_count(told.get(name)) for name in names) or None
    is_stale = seen is not None and seen.is_stale
    if is_stale or used is None:
        used = None if seen is None else seen.used
    if used is None and not is_stale:
        return None
    is_known = window is not None and used is not None and not is_stale
    return {
        "used": used,
        "window": window,
        "ratio": round(min(1.0, used / window), 4) if is_known and used and window else None,
        "stale": is_stale,
    }


def _phase_parts(figures: Json, words: dict[str, str]) -> list[_Part]:
    phase = figures["phase"]
    if phase is None:
        return []
    name = "" if phase["id"] is None else f"{clean(phase['id'])} "
    text = f"{name}{phase['index']}/{phase['count']} {words[phase['state']]}"
    if phase["attempt"]:
        text += words["blocked"].format(phase["attempt"], phase["attemptsLeft"])
    is_bad = phase["state"] == "given_up" or phase["attemptsLeft"] == 0
    return [_Part(text, _RED if is_bad else _CYAN)]


def _context_parts(figures: Json, words: dict[str, str]) -> list[_Part]:
    from core.accounting.breakdown import format_tokens

    context = figures["context"]
    if context is None:
        return []
    used, window, ratio = context["used"], context["window"], context["ratio"]
    text = "" if used is None else format_tokens(used)
    if used is not None and window is not None:
        text += f"/{format_tokens(window)}"
    if context["stale"]:
        text = f"{text} {words['stale']}".strip()
    color = _DIM
    if ratio is not None:
        text += f" {ratio:.0%}"
        color = _RED if ratio >= FULL else _YELLOW if ratio >= NEARLY_FULL else _GREEN
    return [_Part(words["context"].format(text), color)]


def _kind_parts(figures: Json, locale: str) -> list[_Part]:
    from core.accounting.breakdown import format_tokens
    from core.accounting.kinds import label

    at_least = "≥" if figures["atLeast"] else ""
    parts = []
    for row in figures["kinds"][:KINDS_SHOWN]:
        name = label(row["kind"], locale)
        name = name if name.isupper() else name.lower()
        parts.append(_Part(f"{name} {at_least}{format_tokens(row['tokens'])}", _DIM))
    return parts


def _joined(parts: list[_Part], style: Style) -> str:
    """Join parts while they fit; of the first one as much as fits."""
    width = style.width or _columns()
    first, *rest = parts
    shown = [_Part(_cut(first.text, width), first.color)]
    used = _cells(shown[0].text)
    for part in rest:
        used += _cells(_BETWEEN) + _cells(part.text)
        if used > width:
            break
        shown.append(part)
    if not style.color:
        return _BETWEEN.join(part.text for part in shown)
    return _BETWEEN.join(f"\x1b[{part.color}m{part.text}\x1b[0m" for part in shown)


def _columns() -> int:
    given = os.environ.get("COLUMNS", "")
    return max(WIDTH_MIN, int(given)) if given.isdecimal() and len(given) < 6 else WIDTH


def _cut(text: str, width: int) -> str:
    if _cells(text) <= width:
        return text
    while text and _cells(text) > width - 1:
        text = text[:-1]
    return text + "…"


def _cells(text: str) -> int:
    """Say how many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


def _all_of_stdin() -> bytes:
    try:
        return sys.stdin.buffer.read(INPUT_BYTES_MAX)
    except OSError:
        return b""


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int:
    return value if type(value) is int and 0 <= value <= 2**53 else 0
