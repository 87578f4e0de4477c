"""What the pages show is run as it stands, and what they name is there."""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from core.accounting import collector, skill_use
from core.accounting.kinds import KINDS
from core.accounting.skill_states import STATES
from core.runtimes.registry import known
from server.report.fold import Detail
from server.report.gather import gather
from tests.core.runtimes import codex_given as codex
from tests.core.runtimes.claude import given as claude

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]

Json = Any


def read(name: str) -> str:
    return (REPOSITORY / name).read_text(encoding="utf-8")


@pytest.fixture
def with_our_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `turnkeeper` found, as when the folder of the environment's programs is on the PATH."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    monkeypatch.setenv("PATH", path)


def test_the_host_in_the_readme_runs_and_gets_its_verdict(
    state_root: Path, with_our_programs: None
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", read("README.md"), re.DOTALL)

    ran = subprocess.run(
        [sys.executable, "-c", blocks[0]],
        capture_output=True,
        text=True,
        timeout=30,
        cwd=REPOSITORY,
    )

    assert ran.stderr == "" or "Traceback" not in ran.stderr
    assert ran.stdout == "allow [('Tools', 7)]\n"


def test_the_commands_in_the_readme_run(
    state_root: Path, with_our_programs: None, tmp_path: Path
) -> None:
    (tmp_path / "server").symlink_to(REPOSITORY / "server")
    blocks = re.findall(r"```sh\n(.*?)```", read("README.md"), re.DOTALL)
    assert blocks

    for block in blocks:
        ran = subprocess.run(
            ["sh", "-e", "-c", block], capture_output=True, text=True, timeout=120, cwd=tmp_path
        )

        assert (ran.returncode, "error" in ran.stderr) == (0, False), ran.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_that_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [
        *re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text),
        *re.findall(r'src(?:set)?="(.*?)"', text),
    ]

    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_into_a_page_lead_to_one_of_its_headings(page: Path) -> None:
    missing = []
    for link, heading in re.findall(r"\]\(([^)#:]*\.md)?#([^)]+)\)", page.read_text("utf-8")):
        target = page.parent / link if link else page
        headings = re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.MULTILINE)
        if heading not in [
            re.sub(r"[^\w -]", "", name).lower().replace(" ", "-") for name in headings
        ]:
            missing.append(f"{link}#{heading}")

    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tests_that_a_page_names_are_there(page: Path) -> None:
    named = re.findall(r"`(tests/[\w/.]+)(?:::(\w+))?`", page.read_text(encoding="utf-8"))

    missing = [
        f"{file}::{test}"
        for file, test in named
        if not (REPOSITORY / file).exists() or (test and f"def {test}(" not in read(file))
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_and_targets_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    modules = re.findall(r"python -m (tests[\w.]*)", text)
    targets = re.findall(r"`make ([a-z-]+)`|^ +make ([a-z-]+)", text, re.MULTILINE)
    made = re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE)
    paths = [REPOSITORY.joinpath(*module.split(".")) for module in modules]

    assert [
        str(path) for path in paths if not (path.with_suffix(".py").exists() or path.is_dir())
    ] == []
    assert [name for pair in targets for name in pair if name and name not in made] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_folders_of_the_code_that_a_page_names_are_there(page: Path) -> None:
    named = re.findall(
        r"`((?:core|handlers|server|docs|editors)/[\w/.-]*)`", page.read_text("utf-8")
    )
    invented = {"core/runtimes/parrot.py"} if page.name == "new-runtime.md" else set()

    assert [
        name for name in named if not (REPOSITORY / name).exists() and name not in invented
    ] == []


# docs/report.md: the keys of `report --json`.

_OBJECTS_BY_NAME = re.compile(r"^totals\.by\w+$")
_SHARED = {
    "sessions[].estimator": "EstimateError",
    "sessions[].subagents[]": "SubAgent",
    "sessions[].turns[].snapshot": "Snapshot",
    "sessions[].turns[].reconciliation": "Reconciliation",
    "sessions[].turns[].composition": "Composition",
}


def documented_keys() -> dict[str, str]:
    """Give each key's path in docs/report.md, and its presence."""
    keys: dict[str, str] = {}
    under: list[str] = []
    for line in read("docs/report.md").splitlines():
        if line.startswith("Under "):
            under = [path.replace("(top)", "") for path in re.findall(r"`([^`]+)`", line)]
        elif under and (row := re.match(r"\| `(\w+)` \| (always|optional) \|", line)):
            keys |= {f"{path}.{row[1]}".lstrip("."): row[2] for path in under}
    return keys


def key_paths(value: Json, at: str = "") -> Iterator[tuple[str, Json]]:
    """Give each object's place, and the object."""
    if at in _SHARED:
        return
    if isinstance(value, list):
        for item in value:
            yield from key_paths(item, f"{at}[]")
    elif isinstance(value, dict) and _OBJECTS_BY_NAME.match(at):
        for item in value.values():
            yield from key_paths(item, f"{at}.<name>")
    elif isinstance(value, dict):
        yield at, value
        for key, item in value.items():
            yield from key_paths(item, f"{at}.{key}" if at else key)


def claude_rows(session_id: str, started: str) -> list[Json]:
    """A session with something of everything that a transcript tells."""
    blob = {"role": "user", "content": "Go on."}
    shape = {
        "system": [{"type": "text", "text": "You help."}],
        "tools": [{"name": "Read"}, {"name": "mcp__map__find"}],
    }
    body = "Base directory for this skill: /repo/.claude/skills/brew\n\n# Brew\nBoil water.\n"
    file = {"path": "/repo/CLAUDE.md", "type": "Project", "content": "Be kind."}
    rows = [
        claude.user("Go.", uuid="u-1", promptId="p-1"),
        claude.attachment("instructions", files=[file]),
        claude.attachment("skill_listing", names=["brew", "notes"], isInitial=True),
        claude.assistant(
            claude.call("c-1", "Bash", command="ls"),
            claude.call("c-2", "mcp__map__find", at="说明文字" * 30),
            claude.call("c-3", "Skill", skill="brew"),
            claude.call("c-4", "Skill", skill="gone"),
            claude.call("c-5", "Agent", prompt="Count."),
        ),
        claude.user([claude.result("c-1", "a.txt" * 40), claude.result("c-2", "说明" * 90)]),
        claude.user([claude.result("c-3", "Launching")]),
        claude.user([claude.text(body)], isMeta=True, sourceToolUseID="c-3", uuid="u-2"),
        claude.user([claude.result("c-4", [{"type": "image", "source": {"data": "AA"}}])]),
        claude.user([claude.result("c-5", "Two.")], toolUseResult={"agentId": "a1"}),
        claude.assistant(claude.text("So."), message_id="m-2", stop=None),
        {
            **claude.assistant(claude.call("s-1", "Bash"), message_id="s-m"),
            "isSidechain": True,
            "agentId": "a1",
        },
        claude.boundary(trigger="auto", preTokens=900, postTokens=90),
        claude.user("Go on.", uuid="u-3", promptId="p-2"),
        {"type": "api-request-shape", "shapeHash": "s", "shape": shape},
        {"type": "api-request-blob", "hash": "h", "message": blob},
        {"type": "api-request", "id": "q", "shapeHash": "s", "keep": 0, "tail": ["h"]},
        claude.assistant(claude.text("Yes."), message_id="m-3", requestRef="q"),
    ]
    for row, output in ((rows[9], 400), (rows[16], 5)):
        row["message"]["usage"] = claude.usage(output, given=output, read=80)
    return [{**row, "sessionId": session_id, "timestamp": started} for row in rows]


def codex_rows() -> list[Json]:
    """A thread whose window is known."""
    used = codex.figures(90, 5, cached=40)
    return [
        codex.meta(forked_from_id=codex.PARENT),
        codex.started(),
        codex.said("user", "Go."),
        codex.said("assistant", "Yes."),
        codex.count(used, used),
        codex.completed(),
        codex.started("turn-b"),
        codex.said("user", "More."),
        codex.row("compacted", {"message": ""}),
    ]


@pytest.fixture
def small_report(tmp_path: Path) -> Json:
    """The report of a transcript, its fork and a rollout."""
    files = {
        claude.SESSION: claude_rows(claude.SESSION, "2026-01-01T00:00:00.000Z"),
        claude.OTHER: claude_rows(claude.OTHER, "2026-01-02T00:00:00.000Z"),
        "rollout-2026-07-01T10-00-00-" + codex.THREAD: codex_rows(),
    }
    for name, rows in files.items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    paths = sorted(map(str, tmp_path.glob("*.jsonl")))
    return gather(paths, str(tmp_path / "home"), Detail(), lambda _done, _total: None)


def test_the_page_on_the_report_names_the_keys_of_its_json(small_report: Json) -> None:
    objects = list(key_paths(small_report))
    made = {f"{at}.{key}".lstrip(".") for at, found in objects for key in found}
    keys = documented_keys()
    always = {key for key, presence in keys.items() if presence == "always"}

    assert made == set(keys)
    for at, found in objects:
        here = {key.rpartition(".")[2] for key in always if key.rpartition(".")[0] == at}
        assert here <= set(found), at


def test_what_the_report_shares_with_the_protocol_has_its_keys(small_report: Json) -> None:
    schema = json.loads(read("docs/protocol.schema.json"))["$defs"]

    # In a report usage may be inherited from another file.
    assert set(_unlisted(small_report, schema)) == {"Usage.inherited"}


def _unlisted(report: Json, schema: Json) -> Iterator[str]:
    for session in report["sessions"]:
        yield from _unlisted_in(session.get("estimator"), "EstimateError", schema)
        for agent in session["subagents"]:
            told = {key: value for key, value in agent.items() if key != "turnId"}
            yield from _unlisted_in(told, "SubAgent", schema)
        for turn in session["turns"]:
            for key, name in (("snapshot", "Snapshot"), ("composition", "Composition")):
                yield from _unlisted_in(turn.get(key), name, schema)
            yield from _unlisted_in(turn.get("reconciliation"), "Reconciliation", schema)


def _unlisted_in(value: Json, name: str, schema: Json) -> Iterator[str]:
    fields = schema[name]["properties"]
    for key, item in (value or {}).items():
        if key not in fields:
            yield f"{name}.{key}"
            continue
        printed = json.dumps(fields[key])
        inner = re.findall(r"#/\$defs/(\w+)", printed)
        if len(inner) == 1:
            is_map = "additionalProperties" in fields[key]
            items = item if isinstance(item, list) else item.values() if is_map else [item]
            for one in items:
                if isinstance(one, dict):
                    yield from _unlisted_in(one, inner[0], schema)


# docs/accounting.md: hosts, kinds, states, reasons.


def first_column(page: str, heading: str) -> list[str]:
    """Give the names in code in the first column of the table that begins with this heading."""
    table = re.search(
        rf"^\| {re.escape(heading)} \|.*?\n\n", read(page) + "\n\n", re.DOTALL | re.MULTILINE
    )
    assert table is not None
    return re.findall(r"^\| `?(.*?)`? \|", table[0], re.MULTILINE)[2:]


def reasons() -> Iterator[str]:
    """Give each reason with which the code makes something unknown."""
    for folder in ("core", "handlers"):
        for path in sorted((REPOSITORY / folder).rglob("*.py")):
            name = ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call):
                    yield from _reasons_of(node, name)


def _reasons_of(call: ast.Call, module: str) -> Iterator[str]:
    named = call.func.id if isinstance(call.func, ast.Name) else ""
    given = call.args[2:3] if named == "Unknown" and "wire" not in module else []
    given += [keyword.value for keyword in call.keywords if keyword.arg == "rules_unknown"]
    for value in given:
        if isinstance(value, ast.Name):
            yield getattr(import_module(module), value.id)
        elif isinstance(value, ast.JoinedStr):
            yield "".join(
                str(part.value)
                if isinstance(part, ast.Constant)
                else f"<{ast.unparse(part.value)}>"
                for part in value.values
                if isinstance(part, ast.Constant | ast.FormattedValue)
            )


def test_the_page_on_accounting_lists_every_reason_for_what_is_unknown() -> None:
    assert set(first_column("docs/accounting.md", "reason")) == set(reasons())


def test_the_page_on_accounting_lists_the_notes_and_the_states() -> None:
    notes = {collector.AMBIGUOUS, collector.ALIAS, skill_use.AGAIN, skill_use.READ, "truncated"}

    assert set(first_column("docs/accounting.md", "note")) == notes
    assert tuple(first_column("docs/accounting.md", "state")) == STATES


def test_the_page_on_accounting_has_a_column_for_each_host_and_a_row_for_each_kind() -> None:
    (head,) = re.findall(
        r"^\| kind \| (`claude_code`.*)$", read("docs/accounting.md"), re.MULTILINE
    )

    assert sorted(re.findall(r"`(\w+)`", head)) == sorted(known())
    assert tuple(first_column("docs/accounting.md", "kind")[: len(KINDS)]) == KINDS
