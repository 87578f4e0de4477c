"""The report for a terminal: per session a bar for each turn, and its last turn in figures.

Then follow the tables of what put the tokens there.

Whatever is long is cut, and the last line says how to see all of it.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from rich.cells import cell_len

from core.accounting.breakdown import format_tokens
from core.accounting.kinds import ROWS, label
from core.phases.display import shown
from server.report.names import folder, short_ids
from server.report.paper import Paper, left, right
from server.report.shapes import is_number, is_text, object_of, objects_of
from server.report.tables import NAMES_MAX, TABLES, notes, table
from server.report.words import WORDS, is_chinese

Json = Any

LEAST_COLUMNS = 40
SESSIONS_MAX = 8  # The last ones.
TURNS_MAX = 20  # Of each session, the last ones.
PARTS_MAX = 6  # Of a request, the largest ones.

_USAGE = ("input", "cacheRead", "cacheCreation", "output", "messages")
_TOKENS_COLUMNS = 8
_FULL_COLUMNS = 6
_SHORT_COLUMNS = 6


class _Layout(NamedTuple):
    """What all bars of a report have in common, so that they can be compared."""

    most: int  # Tokens of a whole bar, where the size of the window is unknown.
    windows: bool  # Whether the size of any window is known.
    unknown: bool  # Whether that of any is not.
    marks: int  # Columns.


def picture(report: Json, columns: int, colour: bool) -> str:
    """Draw a report (its detailed form) for a terminal of so many columns."""
    locale = report.get("locale")
    paper = Paper(max(LEAST_COLUMNS, columns), colour, locale if isinstance(locale, str) else "en")
    return "\n".join(_lines(report, paper)) + "\n"


def _lines(report: Json, paper: Paper) -> Iterator[str]:
    sessions = sorted(objects_of(report.get("sessions")), key=_started)
    turns = [objects_of(session.get("turns")) for session in sessions]
    counted = [
        paper.say("n_sessions", n=len(sessions)),
        paper.say("n_turns", n=sum(map(len, turns))),
    ]
    if is_number(report.get("files")):
        counted.append(paper.say("n_files", n=report["files"]))
    yield paper.style(paper.cut(f"{paper.say('title')}: {', '.join(counted)}"), bold=True)
    totals = object_of(report.get("totals"))
    yield from _totals_line(totals, paper)
    cut = len(sessions) > SESSIONS_MAX
    if cut:
        yield ""
        left_out = paper.say("sessions_left_out", n=len(sessions) - SESSIONS_MAX)
        yield paper.style(left_out, dim=True)
    shown_sessions, shown_turns = sessions[-SESSIONS_MAX:], turns[-SESSIONS_MAX:]
    cut |= any(len(of_session) > TURNS_MAX for of_session in shown_turns)
    yield from _sessions(shown_sessions, shown_turns, paper)
    tables = [(key, count, object_of(totals.get(key))) for key, count in TABLES]
    if len(sessions) > SESSIONS_MAX and any(names for *_, names in tables):
        yield ""
        yield paper.style(paper.cut(paper.say("of_all_sessions", n=len(sessions))), bold=True)
    for key, counts, names in tables:
        if names:
            yield ""
            yield from table(key, counts, names, paper)
            cut |= len(names) > NAMES_MAX
    notes_cut = yield from notes(report, paper)
    if cut or notes_cut:
        yield ""
        yield paper.style(paper.cut(paper.say("how_to_see_all")), bold=True)


def _totals_line(totals: Json, paper: Paper) -> Iterator[str]:
    if totals.get("messages") == 0:
        yield paper.cut(paper.say("no_usage"))
        return
    known = [f"{paper.say(key)} {totals[key]:,}" for key in _USAGE if is_number(totals.get(key))]
    if known:
        yield from paper.wrapped(known)


def _sessions(sessions: list[Json], turns: list[list[Json]], paper: Paper) -> Iterator[str]:
    drawn = [turn for of_session in turns for turn in of_session[-TURNS_MAX:]]
    layout = _layout(drawn, paper)
    for session, short_id, of_session in zip(sessions, short_ids(sessions), turns, strict=True):
        yield ""
        yield paper.style(_session_head(session, short_id, paper), bold=True)
        if not of_session:
            yield f"  {paper.say('no_turns')}"
            continue
        yield from _turns(of_session, layout, paper)
        yield from _figures(of_session[-1], len(of_session), paper)
    kinds = _kinds(drawn)
    if kinds:
        yield ""
        yield from paper.wrapped([label(kind, paper.locale) for kind in kinds], kinds)
        yield from _explained(layout, paper)


def _layout(turns: list[Json], paper: Paper) -> _Layout:
    unknown = [turn for turn in turns if not _window_size(turn)]
    marks = max((cell_len(_marks(turn, paper)) for turn in turns), default=0)
    return _Layout(
        max(map(_stacked, unknown), default=0),
        len(unknown) < len(turns),
        any(map(_stacked, unknown)),
        min(marks, paper.columns // 3),
    )


def _explained(layout: _Layout, paper: Paper) -> Iterator[str]:
    """Say what the bars show and what a whole bar stands for."""
    told = [paper.say("bars_told")]
    if layout.windows:
        told.append(paper.say("scale_window"))
    if layout.unknown:
        key = "scale_most_else" if layout.windows else "scale_most"
        told.append(paper.say(key, n=layout.most))
    for line in paper.filled(("" if is_chinese(paper.locale) else " ").join(told)):
        yield paper.style(line, dim=True)


def _session_head(session: Json, short_id: str, paper: Paper) -> str:
    """Name a session; what comes first is not cut."""
    told = []
    if is_text(session.get("startedAt")):
        told.append(shown(session["startedAt"][:16].replace("T", " "), 20))
    told.append(short_id)
    runtime = [session[key] for key in ("runtime", "version") if is_text(session.get(key))]
    told.append(" ".join(shown(part, 60) for part in runtime))
    told.append(folder(session))
    return paper.cut("  ".join(part for part in told if part))


def _turns(turns: list[Json], layout: _Layout, paper: Paper) -> Iterator[str]:
    digits = max(4, len(str(len(turns))), cell_len(paper.say("turn")))
    heads = [right(paper.say("turn"), digits), right(paper.say("tokens"), _TOKENS_COLUMNS)]
    if layout.windows:
        heads.append(right(paper.say("ratio"), _FULL_COLUMNS))
    head = "  " + " ".join(heads) + "  " + paper.say("bar_is")
    yield paper.style(paper.cut(head), dim=True)
    first = max(0, len(turns) - TURNS_MAX)
    if first:
        hint = paper.say("turns_left_out", n=first)
        yield paper.style(paper.cut("  " + hint), dim=True)
    for number, turn in enumerate(turns[first:], start=first + 1):
        yield _turn(f"  {number:>{digits}}", turn, layout, paper)


def _turn(number: str, turn: Json, layout: _Layout, paper: Paper) -> str:
    used = object_of(turn.get("window")).get("used")
    whole = used if is_number(used) else _stacked(turn) if _rows(turn) else None
    told = "-" if whole is None else f"{whole:,}"
    start = f"{number} {told:>{_TOKENS_COLUMNS}}"
    if layout.windows:
        window = object_of(turn.get("window"))
        known = is_number(window.get("tokens")) and isinstance(window.get("ratio"), int | float)
        full = f"{window['ratio']:.0%}" if known else "-"
        start += f" {full:>{_FULL_COLUMNS}}"
    start += "  "
    room = max(0, paper.columns - cell_len(start) - layout.marks)
    bar, wide = _bar(turn, room, layout, paper)
    marks = _marks(turn, paper)
    if not marks:
        return (start + bar).rstrip()
    marks = left(marks, layout.marks) if cell_len(marks) > layout.marks else marks
    return start + bar + " " * (room - wide) + paper.style(marks, fg="yellow")


def _marks(turn: Json, paper: Paper) -> str:
    compactions = len(objects_of(turn.get("compactions")))
    told = [paper.say("n_compactions", n=compactions)] if compactions else []
    if object_of(turn.get("window")).get("stale") is True:
        told.append(paper.say("stale_short"))
    if turn.get("outcome") in ("failed", "interrupted"):
        told.append(paper.say(f"outcome_{turn['outcome']}"))
    return f"  {', '.join(told)}" if told else ""


def _bar(turn: Json, room: int, layout: _Layout, paper: Paper) -> tuple[str, int]:
    """Draw the cells of a turn's wide bar; give how many columns it takes, too."""
    runs = [
        (run.get("kind"), run["cells"])
        for run in objects_of(object_of(turn.get("bars")).get("cells100"))
        if is_number(run.get("cells")) and run["cells"] > 0
    ]
    whole = max(100, sum(cells for _, cells in runs))
    stacked = _stacked(turn)
    if not _window_size(turn) and stacked:
        whole = max(whole, whole * layout.most // stacked)
    columns = scaled([cells for _, cells in runs], whole, room)
    drawn = [paper.cells(kind, wide) for (kind, _), wide in zip(runs, columns, strict=True)]
    return "".join(drawn), sum(columns)


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


def _figures(turn: Json, number: int, paper: Paper) -> Iterator[str]:
    """Write a turn's kinds and the largest parts of its last request, each with its tokens."""
    rows = _rows(turn)
    if rows:
        yield paper.style(paper.cut(f"  {paper.say('turn_by_kind', n=number)}"), dim=True)
        yield from _figure_lines(
            [
                (row.get("kind"), _row_name(row, paper), row["tokens"], _source(row, paper))
                for row in rows
            ],
            paper,
        )
    parts = _parts(object_of(turn.get("composition")), paper)
    if parts:
        yield paper.style(paper.cut(f"  {paper.say('composition_last')}"), dim=True)
        yield from _figure_lines(parts[:PARTS_MAX], paper)
        if len(parts) > PARTS_MAX:
            more = paper.say("n_more", n=len(parts) - PARTS_MAX)
            yield paper.style(f"    {more}", dim=True)


def _figure_lines(lines: list[tuple[Any, str, int, str]], paper: Paper) -> Iterator[str]:
    room = min(max(cell_len(name) for _, name, *_ in lines), paper.columns // 2 - 6)
    for kind, name, tokens, source in lines:
        mark = paper.cells(kind, 1) if kind is not None else " "
        start = f"{left(name, room)} {format_tokens(tokens):>{_SHORT_COLUMNS}}"
        rest = paper.columns - 6 - cell_len(start) - 2
        told = left(source, rest).rstrip() if source and rest >= 8 else ""
        yield f"    {mark} {start}  {paper.style(told, dim=True)}".rstrip()


def _row_name(row: Json, paper: Paper) -> str:
    kind, name = row.get("kind"), row.get("label")
    if is_text(name):
        return shown(name, 60)
    return label(kind, paper.locale) if kind in ROWS else shown(str(kind), 60)


def _source(row: Json, paper: Paper) -> str:
    if is_text(row.get("source")):
        return shown(row["source"], 200)
    key = f"source_{row.get('kind')}"
    return paper.say(key) if key in WORDS else ""


def _parts(composition: Json, paper: Paper) -> list[tuple[Any, str, int, str]]:
    """Put the parts of a request of one role and name together, the largest first."""
    sums: dict[tuple[str, str], int] = {}
    sources: dict[tuple[str, str], str] = {}
    for part in objects_of(composition.get("parts")):
        if is_number(part.get("tokens")) and is_text(part.get("kind")):
            named = part["kind"], part["name"] if is_text(part.get("name")) else ""
            sums[named] = sums.get(named, 0) + part["tokens"]
            sources.setdefault(named, part["source"] if is_text(part.get("source")) else "")
    found = []
    for (role, name), tokens in sorted(sums.items(), key=lambda item: (-item[1], item[0])):
        key = f"part_{role}"
        told = paper.say(key) if key in WORDS else shown(role, 60)
        told += f": {shown(name, 60)}" if name and name != role else ""
        found.append((None, told, tokens, shown(sources[role, name], 200)))
    return found


def _kinds(turns: Iterable[Json]) -> list[str]:
    found = {
        run.get("kind")
        for turn in turns
        for run in objects_of(object_of(turn.get("bars")).get("cells100"))
    }
    return [kind for kind in ROWS if kind in found]


def _rows(turn: Json) -> list[Json]:
    return [row for row in objects_of(turn.get("rows")) if is_number(row.get("tokens"))]


def _stacked(turn: Json) -> int:
    """Give what a turn's rows come to, in tokens."""
    return sum(row["tokens"] for row in _rows(turn))


def _window_size(turn: Json) -> int:
    tokens = object_of(turn.get("window")).get("tokens")
    return tokens if is_number(tokens) and tokens > 0 else 0


def _started(session: Json) -> str:
    started = session.get("startedAt")
    return started if isinstance(started, str) else ""
