"""What every runtime must keep to: what its modules may import, and what its readers may give."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from core import events
from core.recordings.contract import AgentSeen, FileChange, Head, Runtime, SkillBody, Step
from core.units import content_units, image_count, json_units

Row = dict[str, Any]

REPOSITORY = Path(__file__).resolve().parents[3]

# It maps raw events, and what estimates, classifies, decides or stores is out of its reach.
CORE_ALLOWED = ("core.events", "core.errors", "core.units", "core.recordings")
# The modules of the standard library that every process has loaded anyway, or nearly.
LIGHT = frozenset({
    "collections", "enum", "functools", "hashlib", "heapq", "itertools", "json", "math",
    "operator", "os", "re", "sys", "types", "typing", "__future__",
})  # fmt: skip
HEAVY = frozenset({
    "attr", "attrs", "cattrs", "click", "dataclasses", "inspect", "logging", "lsprotocol",
    "orjson", "pathlib", "platformdirs", "pygls", "rich", "subprocess", "tempfile", "uuid",
    "yaml", "asyncio",
})  # fmt: skip
OUTCOMES = frozenset({"completed", "interrupted", "failed", "awaitingUser"})
EVENTS = tuple(
    kind for kind in vars(events).values() if isinstance(kind, type) and hasattr(kind, "_fields")
)
TOLD = (*EVENTS, AgentSeen, FileChange, SkillBody)


def files_of(runtime_id: str) -> list[Path]:
    """List the modules of a runtime, the one with its `RUNTIME` first."""
    spec = find_spec(f"core.runtimes.{runtime_id}")
    assert spec is not None
    assert spec.origin is not None
    origin = Path(spec.origin)
    if spec.submodule_search_locations is None:
        return [origin]
    return [origin, *sorted(set(origin.parent.rglob("*.py")) - {origin})]


def static_faults(runtime_id: str) -> list[str]:
    """Say which imports and sums of a runtime are none of its business; [] when all is well."""
    found: list[str] = []
    for number, path in enumerate(files_of(runtime_id)):
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        for line, name in _imports(ast.walk(tree)):
            if not _is_allowed(runtime_id, name):
                found.append(f"{path.name}:{line}: a runtime must not import {name}")
        for line, name in _imports(_at_import(tree)) if number == 0 else ():
            if name.split(".")[0] not in LIGHT and not name.startswith(CORE_ALLOWED):
                found.append(f"{path.name}:{line}: import {name} where it is used, it is heavy")
        found += [f"{path.name}:{line}: a runtime must not {what}" for line, what in _sums(tree)]
    return found


def _at_import(tree: ast.Module) -> Iterator[ast.AST]:
    """Walk what runs when the module is imported."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


def _imports(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            # `from core import account` names a module too.
            full = [f"{module}.{alias.name}" for alias in node.names]
            yield from ((node.lineno, name) for name in ([module] if "." in module else full))
        elif isinstance(node, ast.Name) and node.id in ("__import__", "import_module"):
            yield node.lineno, f"by name ({node.id})"
        elif isinstance(node, ast.Attribute) and node.attr == "import_module":
            yield node.lineno, "by name (import_module)"


def _is_allowed(runtime_id: str, name: str) -> bool:
    top = name.split(".")[0]
    own = f"core.runtimes.{runtime_id}"
    if top == "core":
        return name.startswith((*(f"{module}." for module in CORE_ALLOWED), f"{own}.")) or name in (
            *CORE_ALLOWED,
            own,
        )
    return top in sys.stdlib_module_names and top != "importlib"


def _sums(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Find a division by four, by which tokens are estimated from a length."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Div | ast.FloorDiv)
            and isinstance(node.right, ast.Constant)
            and node.right.value == 4
        ):
            yield node.lineno, "estimate tokens"


def loaded_by(runtime_ids: Iterable[str]) -> dict[str, set[str]]:
    """Import each runtime in a process of its own; give the heavy modules that came with it."""
    program = "import sys, json, core.runtimes.{}; print(json.dumps(sorted(sys.modules)))"
    heavy = {}
    for name in runtime_ids:
        ran = subprocess.run(
            [sys.executable, "-c", program.format(name)],
            capture_output=True, text=True, check=True, cwd=REPOSITORY,
        )  # fmt: skip
        heavy[name] = set(json.loads(ran.stdout)) & HEAVY
    return heavy


def read_all(
    runtime: Runtime, rows: list[Row], *, from_file: bool = True, without_idle: bool = False
) -> list[Step]:
    """Read rows as a file is read, or as a host sends them one by one.

    `without_idle` leaves out the lines that the runtime calls idle before they are parsed.
    """
    head = Head("", "s-1", "/repo")
    if from_file:
        head = runtime.head("/recordings/s-1.jsonl", iter(rows))
        assert isinstance(head, Head)
        assert head.session_id
    reader = runtime.reader(head)
    lines = list(enumerate(rows, start=1)) if from_file else [(0, row) for row in rows]
    if without_idle:
        lines = [(line, row) for line, row in lines if not _is_idle(runtime, row)]
    steps = [step for line, row in lines for step in reader.read(line, row)]
    steps += [step for line, row in lines for step in reader.read_side("agent-1", line, row)]
    return [*steps, *reader.finish(len(rows) if from_file else 0)]


def _is_idle(runtime: Runtime, row: Row) -> bool:
    if runtime.is_idle is None:
        return False
    forms = (json.dumps(row), json.dumps(row, separators=(",", ":")))
    return any(runtime.is_idle(form.encode() + b"\n") for form in forms)


def step_faults(steps: Iterable[Step]) -> list[str]:
    """Say which steps hold what nobody may be told; [] when all is well."""
    return [f"{step.event!r:.200}: {why}" for step in steps for why in _faults_of(step)]


def _faults_of(step: Step) -> Iterator[str]:
    event = step.event
    if not isinstance(event, TOLD):
        yield "no event"
        return
    if type(step.line) is not int or step.line < 0:
        yield "no line"
    for name, value in zip(event._fields, event, strict=True):
        if name.endswith("_id") and not _is_id(value, event._field_defaults, name):
            yield f"{name} is no id"
        if _is_figure(name) and not (value is None or (type(value) is int and value >= 0)):
            yield f"{name} is no figure"
    yield from _faults_of_kind(event)


def _is_id(value: Any, defaults: dict[str, Any], name: str) -> bool:
    return (isinstance(value, str) and value != "") or (value is None and name in defaults)


def _is_figure(name: str) -> bool:
    return name.endswith(("_tokens", "units", "bytes")) or name in ("used", "window")


def _faults_of_kind(event: Any) -> Iterator[str]:
    match event:
        case events.Usage() if None in event[:4]:
            yield "a figure of the usage is missing"
        case events.ToolCall():
            if not isinstance(event.name, str) or not event.name:
                yield "no name"
            json_units(event.input)  # Raises for what is no JSON.
        case events.ToolResult():
            is_blocks = isinstance(event.content, list)
            if is_blocks and not all(isinstance(block, dict) for block in event.content):
                yield "a block is no object"
            if not is_blocks and not isinstance(event.content, str):
                yield "content is neither text nor blocks"
            content_units(event.content)
            image_count(event.content)
        case events.Prompt() | events.Spoken():
            if not isinstance(event.text, str):
                yield "no text"
        case events.TurnEnd() if event.outcome not in OUTCOMES:
            yield "no outcome"
        case events.Request():
            for part in event.parts:
                if type(part.units) is not int or part.units < 0:
                    yield "a part without a length"
