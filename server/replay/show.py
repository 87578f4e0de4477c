"""A replay for people: what entered the context turn by turn, each stop, and the sum of it."""

import os
import shutil
import sys
from collections.abc import Iterator
from io import StringIO
from typing import Any

from rich.console import Console
from rich.text import Text

from core.accounting.collector import ORPHAN_RESULT
from core.accounting.kinds import label
from core.phases.display import shown, shown_lines
from server.looks import LOOKS
from server.replay.report import Report, Stop, Turn

Json = Any

INJECTION_LINES_MAX = 6
NAMED_MAX = 5  # Lines and paths that the summary names one by one.
WIDE_COLUMNS = 100  # Below that the bar has 10 cells; what is no terminal is that wide.
LEAST_COLUMNS = 20

_DECISIONS = {"allow": "green", "block": "bold red", "continue": "bold yellow"}
_INJECTIONS = {
    "arm_directive": "the offer of a plan",
    "phase": "what the phase asks for",
    "correction": "what is still missing",
    "delivery": "context saved before",
}
_OFFER = "the sidecar offers this for long prompts while no plan is armed"
_RECORDED = {
    "blocked": "stop at line {line} (blocked in the recording): ",
    "ended": "stop at line {line} (allowed in the recording): ",
    "": "turn ends at line {line} (the recording shows no stop here): ",
}


def picture_of(report: Report) -> str:
    """Give the whole report as stdout can show it."""
    picture = StringIO()
    show(report, console(picture))
    return picture.getvalue()


def console(file: StringIO) -> Console:
    """Stand in for stdout: as wide as COLUMNS or the terminal says, plain where NO_COLOR is set."""
    plain = bool(os.environ.get("NO_COLOR"))
    return Console(
        file=file,
        force_terminal=True if sys.stdout.isatty() else None,
        highlight=False,
        width=max(LEAST_COLUMNS, shutil.get_terminal_size((WIDE_COLUMNS, 24)).columns),
        color_system=None if plain else "auto",
    )


def show(report: Report, console: Console) -> None:
    """Print the whole report."""
    for line in _lines(report, console):
        console.print(line, soft_wrap=True)


def _lines(report: Report, console: Console) -> Iterator[Text]:
    yield from _head(report)
    injected: set[str] = set()
    for number, turn in enumerate(report.turns.values(), start=1):
        yield Text()
        yield Text(f"Turn {number} of {len(report.turns)}", style="bold")
        for injection in turn.injections:
            yield from _injection(injection, injected, console.width)
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
        name = _plan_name(plan["taskId"] or "", report.session_id)
        yield Text(f"{name}: {_counted(plan['phaseCount'], 'phase')}")


def _plan_name(task_id: str, session_id: str) -> str:
    # A plan that names no task is known by the beginning of its session's id.
    of_session = task_id.removeprefix("session-")
    if of_session != task_id and session_id.startswith(of_session):
        return "Plan of this session"
    return f"Plan {shown(task_id)}"


def _injection(injection: Json, before: set[str], columns: int) -> Iterator[Text]:
    """Show the beginning of an injection; of one that came `before`, word for word, its name."""
    kind, text = injection["kind"], injection["text"]
    name = _INJECTIONS.get(kind, shown(kind))
    if text in before:
        yield Text(f"  injected again: {name}", style="cyan")
        return
    before.add(text)
    yield Text(f"  injected: {name}", style="cyan")
    if kind == "arm_directive":
        yield Text(f"  ({_OFFER})", style="dim")
    lines = shown_lines(text).split("\n")
    for line in lines[:INJECTION_LINES_MAX]:
        yield _cut(Text(f"  | {line}", style="dim"), columns)
    if len(lines) > INJECTION_LINES_MAX:
        rest = _counted(len(lines) - INJECTION_LINES_MAX, "more line")
        yield Text(f"  | ... {rest}", style="dim")


def _stop(stop: Stop) -> Iterator[Text]:
    verdict = stop.verdict
    decision = verdict["decision"]
    line = Text("  " + _RECORDED[stop.recorded].format(line=stop.line))
    line.append(decision.upper(), style=_DECISIONS[decision])
    yield line.append(_why(verdict))
    for number, gap in enumerate(verdict["gaps"], start=1):
        yield Text(f"    {number}. {shown(gap['locator'])}: {shown(gap['why'], 300)}")
        yield Text(f"       next: {shown(gap['nextAction'], 300)}", style="dim")
    for flag in verdict["flags"]:
        yield Text(f"    warning: {shown(flag['message'], 300)}", style="yellow")
        if flag.get("hint"):
            yield Text(f"       next: {shown(flag['hint'], 300)}", style="dim")


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
        yield _bar(accounting["bars"], console)
    whole, told = _whole(accounting)
    for row in rows:
        yield _cut(_row(row, whole, console), console.width)
    if rows:
        yield Text(f"    {told}", style="dim")
    for unknown in accounting["snapshot"].get("unknown", ()):
        yield _not_counted(unknown)


def _bar(bars: Json, console: Console) -> Text:
    bar = Text()
    for run in bars["cells100" if console.width >= WIDE_COLUMNS else "cells10"]:
        bar.append(_cell(run["kind"], console) * run["cells"], style=_looks(run["kind"])[0])
    return bar


def _whole(accounting: Json) -> tuple[int, str]:
    """Give the tokens that the shares are parts of, and say what they are."""
    rows = accounting["rows"]
    added = sum(row["tokens"] for row in rows)
    window, sent = accounting.get("window"), accounting["snapshot"].get("reconciliation")
    if window is not None:
        return window["tokens"], f"of the {window['tokens']:,} tokens that the context window holds"
    if sent is None:
        return added, f"of {added:,} tokens; no request told how many were sent"
    pending = sum(row["tokens"] for row in rows if row["kind"] == "pending_next_turn")
    whole = max(sent["input"], sent["kinds"]) + pending
    if sent["overcount"]:
        return whole, f"of {whole:,} estimated tokens; the last request sent {sent['input']:,}"
    told = f"of {whole:,} tokens that the last request sent"
    if added > whole:
        told += "; the cache may hold the other rows too"
    return whole, told


def _row(row: Json, whole: int, console: Console) -> Text:
    line = Text("  ").append(_cell(row["kind"], console), style=_looks(row["kind"])[0])
    line.append(f" {row['label']:<20} {row['tokens']:>9,} {_share(row['tokens'], whole):>5}")
    source = row.get("source")
    return line.append(f"  {shown(source, 300)}", style="dim") if source else line


def _share(tokens: int, whole: int) -> str:
    """Write a share; only nothing is 0 %, and only all is 100 %."""
    percent = f"{tokens / whole:.0%}" if whole else ""
    if percent == "0%" and tokens:
        return "<1%"
    return ">99%" if percent == "100%" and tokens < whole else percent


def _not_counted(unknown: Json) -> Text:
    name, reason = shown(unknown["name"], 60), unknown["reason"]
    if reason == ORPHAN_RESULT:
        name, reason = f"call {name}", "a result without its call"
    told = f"{label(unknown['kind'], 'en')}, {name}: {shown(reason)}"
    return Text(f"    not counted: {told}", style="dim")


def _cut(line: Text, columns: int) -> Text:
    line.truncate(columns, overflow="ellipsis")
    return line


def _cell(kind: str, console: Console) -> str:
    has_colours = console.color_system is not None and not console.no_color
    return "█" if has_colours else _looks(kind)[1]


def _looks(kind: str) -> tuple[str, str]:
    return LOOKS.get(kind, ("white", "."))


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
