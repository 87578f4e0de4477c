"""Writes docs/smoke-ledger.md anew: what a sidecar stored of runs of the real programs.

python -m tests.hosts.smoke [WORD ...]    only the lines with all these words, to standard output

Ids, folders and times are replaced: the rest changes only when a program or the sidecar does.
"""

import json
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from tests.hosts.claude import memory_file
from tests.hosts.smoke_runs import (
    CHOSEN,
    ECHO,
    MCP,
    SKILL_NAME,
    SKILL_SIGN,
    SPOKEN,
    TOOLS,
    Line,
    Made,
    lines,
    made,
)

Json: TypeAlias = Any

ROOT = Path(__file__).resolve().parents[2]
LEDGER = ROOT / "docs" / "smoke-ledger.md"
WIDTH = 100
GLYPHS = dict(
    zip(
        (
            *("system_prompt", "tools", "rules", "skills", "mcp", "memory", "files_attachments"),
            *("conversation", "pending_next_turn", "cache_or_previous"),
        ),
        "SHRKMYFCPB",
        strict=True,
    )
)
ERROR_LINES_MAX = 8
ABOUT_TMP = "Refusing to create helper binaries under temporary dir"  # It depends on the machine.

INTRODUCTION = """# Smoke ledger

What a real `turnkeeper serve` stored of turns of the real programs, each line one run. The programs
ran offline against a scripted model. What they said was handed to the sidecar raw, while they ran,
through `turnkeeper/hostEvent`; after the end of the session the snapshot was read from the disk by
a second sidecar. A line is open when the snapshot lacks what the turn is about (its tools, its MCP
calls, its skill, whose body the model server must have been sent), when the usage is not what the
model server answered, when a flag was raised, or when the sidecar wrote anything to its standard
error or anything to its log but that it ends.

Codex runs the same way for each backend: which one it is, is the host's word when the session
starts. Its warning that its home lies in a temporary folder is left out. `make smoke` writes this
page and `tests/hosts/test_smoke.py` holds it to the programs. Folders are {run}, ids `<id-N>`. The
scripted model takes a token for four characters, and a fixed number for a first request.
"""


def main() -> int:
    """Run the lines one after the other."""
    words = sys.argv[1:]
    chosen = [line for line in lines() if all(word in line.title for word in words)]
    sections, rows = [], []
    for line in chosen:
        sys.stderr.write(f"{line.title}\n")
        section, why = evidence(line)
        sections.append(section)
        rows.append(_row(line, why))
    page = "\n".join((INTRODUCTION, _table(rows), *sections))
    if words:
        sys.stdout.write(page)
    else:
        LEDGER.write_text(page, encoding="utf-8")
    return 0


def evidence(line: Line) -> tuple[str, str]:
    """Run a line; give its section, and why it is open ("" when it is not)."""
    run = made(line)
    why = missing(line, run)
    return _cleaned("\n".join(_section(line, run, why)), run), why


def missing(line: Line, run: Made) -> str:
    """Say what the stored snapshot lacks of what the run shows; "" for nothing."""
    entries = run.accounting["snapshot"]["entries"]
    calls = sum(item.get("calls", 0) for item in entries.get("mcp", {}).get("items", ()))
    loads = sum(SKILL_SIGN in json.dumps(asked.body) for asked in run.told.asked)
    log = [text for text in run.log.splitlines() if "INFO turnkeeper: stopping:" not in text]
    if log or run.flags:
        return f"the sidecar said more than usual: {log or run.flags}"
    if why := _unlike_usage(line, run):
        return why
    if line.kind == TOOLS and "tools" not in entries:
        return "no entry for tools"
    if line.kind == MCP and calls != 2:
        return f"of two calls of {ECHO} {calls} are told"
    if line.kind in (SPOKEN, CHOSEN):
        if not loads:
            return "the program did not put the skill's body into a request"
        states = run.accounting["snapshot"]["skillStates"]
        if [(state["name"], state["state"]) for state in states] != [(SKILL_NAME, "loaded")]:
            return "the skill, whose body was in a request, is not told as loaded"
        # What was read by a tool counts there, and says so.
        if "skills" not in entries and "note" not in states[0]:
            return "no entry for the skill, whose body was in a request"
    return ""


def _unlike_usage(line: Line, run: Made) -> str:
    """Compare the stored usage with what the model server answered."""
    usage = run.accounting.get("usage", {})
    found = [usage.get(key) for key in ("input", "cacheRead", "cacheCreation", "output")]
    if found == [None] * 4:
        return "" if line.program.startswith("codex-acp") else "no usage is told"
    sums = [sum(column) for column in zip(*(asked.tokens for asked in run.told.asked), strict=True)]
    fresh, written, read, made_of = sums[:4]
    if line.runtime == "codex_runtime":  # OpenAI's figures do not tell what was written.
        fresh, written = fresh + written, 0
    wanted = [fresh, read, written, made_of]
    return "" if found == wanted else f"the usage is {found}, the model's answers were {wanted}"


def anchor(line: Line) -> str:
    return re.sub(r"[^a-z0-9_ -]", "", line.title.lower()).replace(" ", "-")


def _row(line: Line, why: str) -> str:
    backend = f"`{line.backend}`" if line.backend else ""
    status = f"open: {why}" if why else "ok"
    cells = (f"`{line.runtime}`", backend, line.kind, line.program)
    return f"| {' | '.join(cells)} | [evidence](#{anchor(line)}) | {status} |"


def _table(rows: list[str]) -> str:
    head = ("| runtime | backend | turn | program | evidence | status |", "| --- " * 6 + "|")
    return "\n".join((*head, *rows, ""))


def _section(line: Line, run: Made, why: str) -> Iterator[str]:
    heard = ", ".join(sorted(run.told.feed.heard))
    yield f"## {line.title}\n"
    yield f"Raw: {heard}. The host itself told: {run.told.how}."
    yield f"Requests that the model server got: {len(run.told.asked)}{_loads(run)}."
    if "input" not in run.accounting.get("usage", {}):
        yield "The program reports no usage."
    if why:
        yield f"\nOpen: {why}."
    yield "\n```text"
    yield from picture(run.accounting)
    yield "```\n\n```json"
    yield laid_out(_stored(run.accounting))
    yield "```\n"
    errors = _errors(run.told.errors)
    if errors:
        yield "Standard error of the program:\n\n```text"
        yield from errors
        yield "```\n"
    else:
        yield "Standard error of the program: empty.\n"


def _loads(run: Made) -> str:
    found = [SKILL_SIGN in json.dumps(asked.body) for asked in run.told.asked]
    return f"; the skill's body stood first in number {found.index(True) + 1}" if any(found) else ""


def picture(accounting: Json) -> Iterator[str]:
    """Draw the bar of 100 cells, and each row with its bar of 10."""
    bars = accounting["bars"]
    yield "".join(GLYPHS[bar["kind"]] * bar["cells"] for bar in bars["cells100"])
    short = {bar["kind"]: bar["cells"] for bar in bars["cells10"]}
    for row in accounting["rows"]:
        cells = short.get(row["kind"], 0)
        share = f"{row['share']:8.2%}" if "share" in row else " " * 8
        bar = "█" * cells + "·" * (10 - cells)
        about = f"  {row['detail']}" if "detail" in row else ""
        yield f"{GLYPHS[row['kind']]} {row['label']:<20} {bar} {row['tokens']:>7,}{share}{about}"


def _stored(accounting: Json) -> Json:
    """Leave out what the picture shows, and what says the same twice."""
    left_out = {"rows", "bars", "composition", "seq"}
    kept = {key: value for key, value in accounting.items() if key not in left_out}
    usage = accounting.get("usage", {})
    kept["usage"] = {key: value for key, value in usage.items() if key != "context_accounting"}
    return kept


def _errors(text: str) -> list[str]:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    timed = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>", plain)
    told = [line for line in map(str.rstrip, timed.splitlines()) if line and ABOUT_TMP not in line]
    return list(dict.fromkeys(told))[:ERROR_LINES_MAX]


def _cleaned(text: str, run: Made) -> str:
    """Replace what is another thing in each run."""
    folder, project = str(run.folder), run.told.project
    stored = memory_file(project).split("/")[2]
    swaps = ((stored, "{project}"), (folder, "{run}"), (tempfile.gettempdir(), "{tmp}"))
    for old, new in swaps:
        text = text.replace(old, new)
    seen: dict[str, str] = {}
    ids = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    return re.sub(ids, lambda found: seen.setdefault(found[0], f"<id-{len(seen) + 1}>"), text)


def laid_out(value: Json, indent: int = 0) -> str:
    """Write JSON with as much on a line as fits."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + indent <= WIDTH or not isinstance(value, dict | list) or not value:
        return flat
    pad = " " * (indent + 2)
    if isinstance(value, list):
        parts = [laid_out(item, indent + 2) for item in value]
        return "[\n" + _filled(parts, pad) + "\n" + " " * indent + "]"
    parts = [f"{json.dumps(key)}: {laid_out(item, indent + 2)}" for key, item in value.items()]
    return "{\n" + ",\n".join(pad + part for part in parts) + "\n" + " " * indent + "}"


def _filled(parts: Iterable[str], pad: str) -> str:
    rows: list[str] = []
    for part in parts:
        if rows and "\n" not in rows[-1] + part and len(rows[-1]) + len(part) + 2 <= WIDTH:
            rows[-1] += f", {part}"
        else:
            rows = [*rows[:-1], rows[-1] + ","] if rows else []
            rows.append(pad + part)
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
