"""The report for a terminal: per session a bar for each turn, then what put the tokens there.

Whatever is long is cut, and the last line says how to see all of it.
"""

from collections.abc import Generator, Iterable, Iterator
from typing import Any, NamedTuple

import click
from rich.cells import cell_len, set_cell_size

from core.accounting.kinds import ROWS, label
from core.phases.display import shown
from server.looks import LOOKS
from server.report.words import said

Json = Any

LEAST_COLUMNS = 40
SESSIONS_MAX = 8  # The last ones.
TURNS_MAX = 20  # Of each session, the last ones.
NAMES_MAX = 6  # Of each table of totals, the largest ones.
NOTES_MAX = 5

_USAGE = ("input", "cacheRead", "cacheCreation", "output", "messages")
_TABLES = (  # Key of the totals, the column of counts beside the tokens.
    ("byTool", "calls"),
    ("bySkill", "loads"),
    ("byMcpServer", "calls"),
    ("byRule", None),
    ("bySubagent", "calls"),
)
_TOKENS_COLUMNS = 8
_FULL_COLUMNS = 6
_NAME_SHARE = 3  # A name has a third of the columns, and then some.
_SUM_COLUMNS = 12
_COUNT_COLUMNS = 9


class _Paper(NamedTuple):
    """How to write: so many columns, with colours or without, in one language."""

    columns: int
    colour: bool
    locale: str

    def say(self, key: str, **values: Any) -> str:
        return said(self.locale, key, **values)

    def style(self, text: str, **looks: Any) -> str:
        return click.style(text, **looks) if self.colour and text else text


def picture(report: Json, columns: int, colour: bool) -> str:
    """Draw a report (its detailed form) for a terminal of so many columns."""
    locale = report.get("locale")
    paper = _Paper(max(LEAST_COLUMNS, columns), colour, locale if isinstance(locale, str) else "en")
    return "\n".join(_lines(report, paper)) + "\n"


def _lines(report: Json, paper: _Paper) -> Iterator[str]:
    sessions = sorted(_objects(report.get("sessions")), key=_started)
    turns = [_objects(session.get("turns")) for session in sessions]
    counted = [
        paper.say("n_sessions", n=len(sessions)),
        paper.say("n_turns", n=sum(map(len, turns))),
    ]
    if _is_number(report.get("files")):
        counted.append(paper.say("n_files", n=report["files"]))
    yield paper.style(_cut(f"{paper.say('title')}: {', '.join(counted)}", paper), bold=True)
    yield from _totals_line(_object(report.get("totals")), paper)
    cut = len(sessions) > SESSIONS_MAX
    if cut:
        yield ""
        left_out = paper.say("sessions_left_out", n=len(sessions) - SESSIONS_MAX)
        yield paper.style(left_out, dim=True)
    for session, of_session in list(zip(sessions, turns, strict=True))[-SESSIONS_MAX:]:
        yield ""
        yield from _session(session, of_session, paper)
        cut |= len(of_session) > TURNS_MAX
    shown_kinds = _kinds(turn for of_session in turns for turn in of_session)
    if shown_kinds:
        yield ""
        yield from _legend(shown_kinds, paper)
    for key, count in _TABLES:
        names = _object(_object(report.get("totals")).get(key))
        if names:
            yield ""
            yield from _table(key, count, names, paper)
            cut |= len(names) > NAMES_MAX
    notes_cut = yield from _notes(report, paper)
    if cut or notes_cut:
        yield ""
        yield paper.style(_cut(paper.say("how_to_see_all"), paper), bold=True)


def _totals_line(totals: Json, paper: _Paper) -> Iterator[str]:
    known = [f"{paper.say(key)} {totals[key]:,}" for key in _USAGE if _is_number(totals.get(key))]
    if known:
        yield from _wrapped(known, paper)


def _session(session: Json, turns: list[Json], paper: _Paper) -> Iterator[str]:
    told = [_name(session)]
    told += [
        shown(session[key], 60) for key in ("runtime", "version") if _is_text(session.get(key))
    ]
    if _is_text(session.get("startedAt")):
        told.append(shown(session["startedAt"][:16].replace("T", " "), 20))
    yield paper.style(_cut("  ".join(told), paper), bold=True)
    if not turns:
        yield f"  {paper.say('no_turns')}"
        return
    digits = max(4, len(str(len(turns))), cell_len(paper.say("turn")))
    yield _turn_heads(digits, paper)
    first = max(0, len(turns) - TURNS_MAX)
    if first:
        hint = paper.say("turns_left_out", n=first)
        yield paper.style(_cut("  " + hint, paper), dim=True)
    for number, turn in enumerate(turns[first:], start=first + 1):
        yield _turn(number, turn, digits, paper)


def _turn_heads(digits: int, paper: _Paper) -> str:
    heads = [
        _right(paper.say("turn"), digits),
        _right(paper.say("tokens"), _TOKENS_COLUMNS),
        _right(paper.say("ratio"), _FULL_COLUMNS),
    ]
    head = "  " + " ".join(heads) + "  " + paper.say("bar_is")
    return paper.style(_cut(head, paper), dim=True)


def _turn(number: int, turn: Json, digits: int, paper: _Paper) -> str:
    rows = [row for row in _objects(turn.get("rows")) if _is_number(row.get("tokens"))]
    tokens = f"{sum(row['tokens'] for row in rows):,}" if rows else "-"
    window = _object(turn.get("window"))
    full = "-"
    if _is_number(window.get("tokens")) and isinstance(window.get("ratio"), int | float):
        full = f"{window['ratio']:.0%}"
    start = f"  {number:>{digits}} {tokens:>{_TOKENS_COLUMNS}} {full:>{_FULL_COLUMNS}}  "
    marks = _marks(turn, paper)
    if cell_len(start + marks) > paper.columns:
        marks = _left(marks, paper.columns - cell_len(start))
    room = paper.columns - cell_len(start) - cell_len(marks)
    return start + _bar(turn, room, paper) + paper.style(marks, fg="yellow")


def _marks(turn: Json, paper: _Paper) -> str:
    compactions = len(_objects(turn.get("compactions")))
    told = [paper.say("n_compactions", n=compactions)] if compactions else []
    if _object(turn.get("window")).get("stale") is True:
        told.append(paper.say("stale_short"))
    if turn.get("outcome") in ("failed", "interrupted"):
        told.append(paper.say(f"outcome_{turn['outcome']}"))
    return f"  {', '.join(told)}" if told else ""


def _bar(turn: Json, room: int, paper: _Paper) -> str:
    """Draw the cells of a turn's wide bar in the columns that are left."""
    runs = [
        (run.get("kind"), run["cells"])
        for run in _objects(_object(turn.get("bars")).get("cells100"))
        if _is_number(run.get("cells")) and run["cells"] > 0
    ]
    whole = max(100, sum(cells for _, cells in runs))
    drawn = []
    columns = scaled([cells for _, cells in runs], whole, room)
    for (kind, _), wide in zip(runs, columns, strict=True):
        colour, letter = _looks(kind)
        drawn.append(paper.style("█" * wide, fg=colour) if paper.colour else letter * wide)
    return "".join(drawn)


def scaled(cells: list[int], whole: int, room: int) -> list[int]:
    """Scale runs of cells, of which `whole` fill the room; each keeps a column while there is one.

    The ends of the runs are rounded, not their lengths, so that no error adds up.
    """
    ends = [sum(cells[: at + 1]) * room // whole for at in range(len(cells))]
    wide = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    for at, columns in enumerate(wide):
        if columns == 0 and max(wide) > 1:
            wide[wide.index(max(wide))] -= 1
            wide[at] = 1
        elif columns == 0 and sum(wide) < room:
            wide[at] = 1
    return wide


def _kinds(turns: Iterable[Json]) -> list[str]:
    found = {
        run.get("kind")
        for turn in turns
        for run in _objects(_object(turn.get("bars")).get("cells100"))
    }
    return [kind for kind in ROWS if kind in found]


def _legend(kinds: list[str], paper: _Paper) -> Iterator[str]:
    yield from _wrapped([label(kind, paper.locale) for kind in kinds], paper, kinds)


def _wrapped(texts: list[str], paper: _Paper, kinds: list[str] | None = None) -> Iterator[str]:
    """Write texts side by side, on as many lines as they need; each with its kind's cell."""
    line, used = "", 0
    for at, text in enumerate(texts):
        mark, wide = "", cell_len(text) + 3
        if kinds is not None:
            colour, letter = _looks(kinds[at])
            mark = paper.style("█" if paper.colour else letter, fg=colour) + " "
            wide += 2
        if line and used + wide > paper.columns:
            yield line.rstrip()
            line, used = "", 0
        line += f"{mark}{text}   "
        used += wide
    if line:
        yield line.rstrip()


def _table(key: str, count: str | None, names: Json, paper: _Paper) -> Iterator[str]:
    yield _table_head(key, count, paper)
    ordered = sorted(names.items(), key=lambda named: (-_tokens(named[1]), named[0]))
    room = _name_columns(paper)
    most = max((_tokens(value) for value in names.values()), default=0)
    for name, value in ordered[:NAMES_MAX]:
        told = _object(value)
        tokens = f"{told['tokens']:,}" if _is_number(told.get("tokens")) else paper.say("unknown")
        line = f"  {_shortened(shown(name, 400), key, room)} {_right(tokens, _SUM_COLUMNS)}"
        if count is not None:
            counted = f"{told[count]:,}" if _is_number(told.get(count)) else ""
            line += _right(counted, _COUNT_COLUMNS)
        left = paper.columns - cell_len(line) - 2
        wide = _tokens(value) * min(left, 30) // most if most else 0
        bar = f"  {paper.style('▪' * wide, dim=True)}" if left >= 4 and wide else ""
        yield line.rstrip() + bar
    if len(ordered) > NAMES_MAX:
        yield paper.style(f"  {paper.say('n_more', n=len(ordered) - NAMES_MAX)}", dim=True)


def _table_head(key: str, count: str | None, paper: _Paper) -> str:
    room = _name_columns(paper)
    counted = _right(paper.say(count), _COUNT_COLUMNS) if count is not None else ""
    name = paper.style(_left(paper.say(key), room + 2), bold=True)
    sums = f"{_right(paper.say('tokens'), _SUM_COLUMNS)}{counted}"
    return f"{name} {paper.style(sums, dim=True)}"


def _name_columns(paper: _Paper) -> int:
    fixed = _SUM_COLUMNS + _COUNT_COLUMNS + 4
    return max(10, min(60, paper.columns // _NAME_SHARE + 12, paper.columns - fixed))


def _notes(report: Json, paper: _Paper) -> Generator[str, None, bool]:
    """Write the notes; give whether some were left out."""
    notes = [note for note in report.get("notes") or () if _is_text(note)]
    lines = report.get("unreadableLines")
    if not notes and not lines:
        return False
    yield ""
    yield paper.style(paper.say("notes"), bold=True)
    if _is_number(lines) and lines:
        yield f"  {paper.say('unreadableLines')}: {lines:,}"
    for note in notes[:NOTES_MAX]:
        yield f"  {shown(note, 400)}"
    if len(notes) > NOTES_MAX:
        yield paper.style(f"  {paper.say('n_more', n=len(notes) - NOTES_MAX)}", dim=True)
    return len(notes) > NOTES_MAX


def _name(session: Json) -> str:
    cwd, session_id = session.get("cwd"), session.get("sessionId")
    folder = cwd.rstrip("/\\").replace("\\", "/").rpartition("/")[2] if _is_text(cwd) else ""
    told = [shown(part, 80) for part in (folder, session_id) if _is_text(part)]
    return "  ".join(told)


def _started(session: Json) -> str:
    started = session.get("startedAt")
    return started if isinstance(started, str) else ""


def _shortened(text: str, key: str, columns: int) -> str:
    """Fit a name; of a path the end stays, which tells more than its beginning."""
    if key != "byRule" or cell_len(text) <= columns:
        return _left(text, columns)
    while cell_len(text) >= columns:
        text = text[1:]
    return _left("…" + text, columns)


def _looks(kind: Any) -> tuple[str, str]:
    return LOOKS.get(kind, ("white", "."))


def _left(text: str, columns: int) -> str:
    if cell_len(text) > columns:
        return set_cell_size(text, columns - 1).rstrip() + "…"
    return set_cell_size(text, columns)


def _right(text: str, columns: int) -> str:
    return " " * max(0, columns - cell_len(text)) + text


def _cut(text: str, paper: _Paper) -> str:
    return _left(text, paper.columns).rstrip()


def _tokens(value: Json) -> int:
    tokens = _object(value).get("tokens")
    return tokens if _is_number(tokens) else 0


def _is_number(value: Json) -> bool:
    return type(value) is int


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and value != ""


def _object(value: Json) -> Json:
    return value if isinstance(value, dict) else {}


def _objects(value: Json) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
