"""The tables of a report for a terminal: totals by what put them there, and the notes."""

from collections.abc import Generator, Iterator
from typing import Any

from rich.cells import cell_len

from core.phases.display import shown
from server.report.paper import Paper, left, right
from server.report.shapes import is_number, is_text, object_of

Json = Any

NAMES_MAX = 6  # Of each table of totals, the largest ones.
NOTES_MAX = 5

TABLES = (  # Key of the totals, the column of counts beside the tokens.
    ("byTool", "calls"),
    ("bySkill", "loads"),
    ("byMcpServer", "calls"),
    ("byRule", None),
    ("bySubagent", "calls"),
)
_NAME_SHARE = 3  # A name has a third of the columns, and then some.
_SUM_COLUMNS = 12
_COUNT_COLUMNS = 13


def table(key: str, count: str | None, names: Json, paper: Paper) -> Iterator[str]:
    """Write one table of totals, its largest rows."""
    yield _table_head(key, count, paper)
    ordered = sorted(names.items(), key=lambda named: (-_tokens(named[1]), named[0]))
    room = _name_columns(paper)
    most = max((_tokens(value) for value in names.values()), default=0)
    for name, value in ordered[:NAMES_MAX]:
        told = object_of(value)
        tokens = f"{told['tokens']:,}" if is_number(told.get("tokens")) else paper.say("unknown")
        line = f"  {_shortened(shown(name, 400), key, room)} {right(tokens, _SUM_COLUMNS)}"
        if count is not None:
            line += right(_counted(key, count, told, paper), _COUNT_COLUMNS)
        room_left = paper.columns - cell_len(line) - 2
        wide = _tokens(value) * min(room_left, 30) // most if most else 0
        bar = f"  {paper.style('▪' * wide, dim=True)}" if room_left >= 4 and wide else ""
        yield line.rstrip() + bar
    if len(ordered) > NAMES_MAX:
        yield paper.style(f"  {paper.say('n_more', n=len(ordered) - NAMES_MAX)}", dim=True)


def _counted(key: str, count: str, told: Json, paper: Paper) -> str:
    """Write how often; a server that was never called put its instructions there."""
    if key == "byMcpServer" and not told.get(count) and _tokens(told):
        return paper.say("only_instructions")
    return f"{told[count]:,}" if is_number(told.get(count)) else ""


def _table_head(key: str, count: str | None, paper: Paper) -> str:
    room = _name_columns(paper)
    counted = right(paper.say(count), _COUNT_COLUMNS) if count is not None else ""
    name = paper.style(left(paper.say(f"title_{key}"), room + 2), bold=True)
    sums = f"{right(paper.say('tokens'), _SUM_COLUMNS)}{counted}"
    return f"{name} {paper.style(sums, dim=True)}"


def _name_columns(paper: Paper) -> int:
    fixed = _SUM_COLUMNS + _COUNT_COLUMNS + 4
    return max(10, min(60, paper.columns // _NAME_SHARE + 12, paper.columns - fixed))


def notes(report: Json, paper: Paper) -> Generator[str, None, bool]:
    """Write the notes; give whether some were left out."""
    told = [note for note in report.get("notes") or () if is_text(note)]
    lines = report.get("unreadableLines")
    if not told and not lines:
        return False
    yield ""
    yield paper.style(paper.say("notes"), bold=True)
    if is_number(lines) and lines:
        yield f"  {paper.say('unreadableLines')}: {lines:,}"
    for note in told[:NOTES_MAX]:
        yield f"  {shown(note, 400)}"
    if len(told) > NOTES_MAX:
        yield paper.style(f"  {paper.say('n_more', n=len(told) - NOTES_MAX)}", dim=True)
    return len(told) > NOTES_MAX


def _shortened(text: str, key: str, columns: int) -> str:
    """Fit a name; of a path the end stays, which tells more than its beginning."""
    if key != "byRule" or cell_len(text) <= columns:
        return left(text, columns)
    while cell_len(text) >= columns:
        text = text[1:]
    return left("…" + text, columns)


def _tokens(value: Json) -> int:
    tokens = object_of(value).get("tokens")
    return tokens if is_number(tokens) else 0
