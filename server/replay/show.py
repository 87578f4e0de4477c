"""A replay for people: what entered the context turn by turn, each stop, and the sum of it."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from core.phases.display import shown, shown_lines
from server.replay.report import Report, Stop, Turn

Json = Any

INJECTION_LINES_MAX = 6
NAMED_MAX = 5  # Lines and paths that the summary names one by one.
WIDE_COLUMNS = 104  # A terminal below that gets the bar of 10 cells.

# Row: (colour on a terminal, cell of a bar without colours).
_LOOKS = {
    "system_prompt": ("blue", "s"),
    "tools": ("green", "t"),
    "rules": ("magenta", "r"),
    "skills": ("yellow", "k"),
    "mcp": ("cyan", "m"),
    "memory": ("bright_blue", "y"),
    "files_attachments": ("bright_magenta", "f"),
    "conversation": ("white", "c"),
    "pending_next_turn": ("bright_green", "p"),
    "cache_or_previous": ("bright_black", "-"),
}
_DECISIONS = {"allow": "green", "block": "bold red", "continue": "bold yellow"}


def show(report: Report, console: Console) -> None:
    """Print the whole report."""
    for line in _lines(report, console):
        console.print(line, soft_wrap=True)


def _lines(report: Report, console: Console) -> Iterator[Text]:
    yield from _head(report)
    for number, turn in enumerate(report.turns.values(), start=1):
        yield Text()
        yield Text(f"Turn {number} of {len(report.turns)}", style="bold")
        for injection in turn.injections:
            yield from _injection(injection)
        for stop in turn.stops:
            yield from _stop(stop)
        if turn.accounting is not None:
            yield from _accounting(turn, console)
    yield Text()
    yield from _summary(report)


def _head(report: Report) -> Iterator[Text]:
    host = f"{report.runtime} {shown(report.version or '')}".strip()
    yield Text(f"Session {shown(report.session_id)}, {host}", style="bold")
    plan = report.plan_state
    if plan is not None:
        yield Text(f"Plan {shown(plan['taskId'] or '')}: {plan['phaseCount']} phases")


def _injection(injection: Json) -> Iterator[Text]:
    lines = shown_lines(injection["text"]).split("\n")
    yield Text(f"  injected ({injection['kind']}):", style="cyan")
    for line in lines[:INJECTION_LINES_MAX]:
        yield Text(f"  | {line}", style="dim")
    if len(lines) > INJECTION_LINES_MAX:
        yield Text(f"  | ... {len(lines) - INJECTION_LINES_MAX} more lines", style="dim")


def _stop(stop: Stop) -> Iterator[Text]:
    verdict = stop.verdict
    decision = verdict["decision"]
    line = Text(f"  stop at line {stop.line}: ")
    line.append(decision.upper(), style=_DECISIONS[decision])
    line.append(_why(verdict))
    line.append(f"  (recorded: {stop.recorded or 'no stop'})", style="dim")
    yield line
    for number, gap in enumerate(verdict["gaps"], start=1):
        yield Text(f"    {number}. {shown(gap['locator'])}: {shown(gap['why'], 300)}")
        yield Text(f"       next: {shown(gap['nextAction'], 300)}", style="dim")
    for flag in verdict["flags"]:
        yield Text(f"    flag {flag['code']}: {shown(flag['message'], 300)}", style="yellow")


def _why(verdict: Json) -> str:
    phase = verdict["phase"]
    if phase is None:
        return ""
    place = (
        f"phase {shown(phase['phaseId'] or '')} ({phase['phaseIndex']} of {phase['phaseCount']})"
    )
    if verdict["decision"] == "block":
        return f", {place}, attempt {verdict['attempt']}, {verdict['attemptsLeft']} left"
    if verdict["decision"] == "continue":
        return f", on to {place}"
    return f", the plan is {phase['state'].replace('_', ' ')}"


def _accounting(turn: Turn, console: Console) -> Iterator[Text]:
    accounting = turn.accounting
    rows = accounting["rows"]
    if not rows:
        yield Text("  nothing that can be counted entered the context")
    else:
        yield Text("  ").append_text(_bar(accounting["bars"], console))
    for row in rows:
        yield _row(row, console)
    for unknown in accounting["snapshot"].get("unknown", ()):
        told = f"{unknown['kind']} {shown(unknown['name'])}: {shown(unknown['reason'])}"
        yield Text(f"    unknown  {told}", style="dim")


def _bar(bars: Json, console: Console) -> Text:
    bar = Text()
    is_narrow = console.is_terminal and console.width < WIDE_COLUMNS
    for run in bars["cells10" if is_narrow else "cells100"]:
        bar.append(_cell(run["kind"], console) * run["cells"], style=_looks(run["kind"])[0])
    return bar


def _row(row: Json, console: Console) -> Text:
    line = Text("  ").append(_cell(row["kind"], console), style=_looks(row["kind"])[0])
    line.append(f" {row['label']:<20} {row['tokens']:>9,} {_share(row.get('share')):>5}")
    source = row.get("source")
    return line.append(f"  {shown(source, 300)}", style="dim") if source else line


def _share(share: float | None) -> str:
    if share is None:
        return ""
    return "<1%" if 0 < share < 0.01 else f"{share:.0%}"


def _cell(kind: str, console: Console) -> str:
    return _looks(kind)[1] if console.no_color or not console.is_terminal else "█"


def _looks(kind: str) -> tuple[str, str]:
    return _LOOKS.get(kind, ("white", "."))


def _summary(report: Report) -> Iterator[Text]:
    counts = [
        _counted(len(report.turns), "turn"),
        _counted(report.blocks, "block"),
        _counted(report.advances, "advance"),
        _counted(len(report.receipts), "receipt"),
    ]
    line = Text(", ".join(counts), style="bold")
    if report.plan_state is not None:
        line.append("; plan complete" if report.completed else f"; plan {_plan_state(report)}")
    yield line
    yield Text(_counted(report.played, "recorded file change") + " played into a scratch copy")
    if report.shell_calls:
        made = _counted(report.shell_calls, "shell command")
        yield Text(f"Not reproducible: what {made} may have made.")
    if report.not_copied:
        yield Text(f"Left out of the copy: {report.not_copied:,} links, large or odd files.")
    if report.not_played:
        yield _named("Not played, outside the workspace or not fitting", report.not_played)
    if report.unreadable:
        lines = [f"line {fault.line} {fault.why}" for fault in report.unreadable]
        yield _named(_counted(len(lines), "unreadable line"), lines)
    if report.refused:
        lines = [f"line {fault.line}: {fault.why}" for fault in report.refused]
        yield _named("Refused by the server", lines)


def _plan_state(report: Report) -> str:
    return str(report.plan_state["state"]).replace("_", " ")


def _named(title: str, names: list[str]) -> Text:
    rest = len(names) - NAMED_MAX
    told = [shown(name) for name in names[:NAMED_MAX]] + ([f"{rest} more"] if rest > 0 else [])
    return Text(f"{title}: {'; '.join(told)}")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
