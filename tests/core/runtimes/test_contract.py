"""Every runtime maps and does nothing else, whatever it is fed; a bad one is refused."""

import importlib
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import core.runtimes
from core.recordings.contract import Runtime
from core.runtimes.registry import known, runtime
from tests.core.runtimes.contract import loaded_by, read_all, static_faults, step_faults
from tests.core.runtimes.look_alikes import LOOK_ALIKES, Row

EXAMPLES = 400  # Of about a dozen rows each, for every runtime.
DEPTH = 1_000  # As deep as the parsers go.


def _deep(levels: int) -> Any:
    value: Any = "end"
    for level in range(levels):
        value = [value] if level % 2 else {"content": value}
    return value


ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, float("nan"), 2**70, -(2**70), "", " ", "x", "\ud800", "é" * 9,
    [], {}, [None], [[]], [{}], [1, "x"], {"type": None}, {"type": "text", "text": 5}, {"": ""},
    _deep(3),
)  # fmt: skip


def registered(runtime_id: str) -> Runtime:
    found = runtime(runtime_id)
    assert found is not None
    return found


@pytest.mark.parametrize("runtime_id", known())
def test_a_runtime_imports_nothing_that_estimates_classifies_or_decides(runtime_id: str) -> None:
    assert static_faults(runtime_id) == []


def test_a_runtime_is_light_until_it_reads() -> None:
    assert loaded_by(known()) == {name: set() for name in known()}


@pytest.fixture
def module_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is searched for runtimes too."""
    monkeypatch.setattr(core.runtimes, "__path__", [*core.runtimes.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("core.runtimes.made_up")]:
        del sys.modules[name]
    runtime.cache_clear()
    importlib.invalidate_caches()


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("from core.accounting.estimator import call_tokens", "core.accounting.estimator"),
        ("import core.accounting.snapshot", "core.accounting.snapshot"),
        ("from core import account", "core.account"),
        ("from core import events, session", "core.session"),
        ("from core.state import Session", "core.state"),
        ("from core.facts import Fact", "core.facts"),
        ("from core.runtimes.claude_code import rows", "core.runtimes.claude_code"),
        ("from handlers import wire", "handlers.wire"),
        ("import orjson", "orjson"),
        ("from .claude_code import rows", ".claude_code"),
        ("from importlib import import_module", "importlib.import_module"),
        ("import dataclasses", "import dataclasses where it is used"),
        ("TOKENS = len('text') // 4", "estimate tokens"),
        ("def read(row):\n    import core.accounting.kinds", "core.accounting.kinds"),
        ("class Reader:\n    def read(self): return -(-9 // 4)", "estimate tokens"),
    ],
)
def test_a_runtime_that_does_more_than_map_is_refused(
    module_folder: Path, line: str, fault: str
) -> None:
    (module_folder / "made_up.py").write_text(f'"""Made up."""\n\n{line}\n', encoding="utf-8")
    importlib.invalidate_caches()

    faults = static_faults("made_up")

    assert "made_up" in known()
    assert [found for found in faults if fault in found] != []


def test_a_module_of_a_runtime_that_is_a_package_is_looked_at_too(module_folder: Path) -> None:
    package = module_folder / "made_up_package"
    package.mkdir()
    (package / "__init__.py").write_text('"""Made up."""\n', encoding="utf-8")
    (package / "rows.py").write_text("from core.evolve import evolve\n", encoding="utf-8")
    importlib.invalidate_caches()

    assert static_faults("made_up_package") == ["rows.py:1: a runtime must not import core.evolve"]


def test_every_runtime_has_rows_to_be_tried_on() -> None:
    assert set(known()) == set(LOOK_ALIKES)


CASES = [(name, number) for name, lists in LOOK_ALIKES.items() for number in range(len(lists))]


@pytest.mark.parametrize(("runtime_id", "number"), CASES)
def test_a_recording_is_recognised_by_its_own_runtime_only(runtime_id: str, number: int) -> None:
    rows = LOOK_ALIKES[runtime_id][number]
    claims = [[name for name in known() if registered(name).recognise(row)] for row in rows]

    # Some rows say nothing of who wrote them; not all of a recording may be such.
    assert [claim for claim in claims if claim not in ([], [runtime_id])] == []
    assert [runtime_id] in claims


@pytest.mark.parametrize("from_file", [True, False], ids=["file", "live"])
@pytest.mark.parametrize(("runtime_id", "number"), CASES)
def test_usual_rows_tell_something_and_nothing_wrong(
    runtime_id: str, number: int, from_file: bool
) -> None:
    steps = read_all(registered(runtime_id), LOOK_ALIKES[runtime_id][number], from_file=from_file)

    assert step_faults(steps) == []
    assert steps != []


@pytest.mark.parametrize(("runtime_id", "number"), CASES)
def test_a_value_that_is_nested_deep_may_stand_anywhere(runtime_id: str, number: int) -> None:
    found = registered(runtime_id)
    rows = LOOK_ALIKES[runtime_id][number]
    for index, row in enumerate(rows):
        for place in range(len(_places(row))):
            changed = deepcopy(row)
            holder, key = _places(changed)[place]
            holder[key] = _deep(DEPTH)

            steps = read_all(found, [*rows[:index], changed, *rows[index + 1 :]])

            assert step_faults(steps) == []


@pytest.mark.parametrize("runtime_id", list(LOOK_ALIKES))
@given(data=st.data())
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
def test_odd_rows_tell_less_or_nothing_and_never_fail(runtime_id: str, data: st.DataObject) -> None:
    found = registered(runtime_id)
    rows = deepcopy(data.draw(st.sampled_from(LOOK_ALIKES[runtime_id]), label="recording"))
    for _ in range(data.draw(st.integers(1, 4), label="changes")):
        _change(rows, data)

    from_file = data.draw(st.booleans(), label="from a file")
    steps = read_all(found, rows, from_file=from_file)

    assert step_faults(steps) == []
    assert read_all(found, rows, from_file=from_file, without_idle=True) == steps
    assert {type(found.recognise(row)) for row in rows} == {bool}


@given(data=st.data())
@settings(max_examples=EXAMPLES)
def test_no_odd_row_is_claimed_by_two_runtimes(data: st.DataObject) -> None:
    every = [rows for lists in LOOK_ALIKES.values() for rows in lists]
    row = deepcopy(data.draw(st.sampled_from(data.draw(st.sampled_from(every)))))
    _change([row], data)

    claims = [name for name in known() if registered(name).recognise(row)]

    assert len(claims) < 2


def _change(rows: list[Row], data: st.DataObject) -> None:
    """Put an odd value in some place of some row, drop what is there, or say a row twice."""
    row = data.draw(st.sampled_from(rows), label="row")
    holder, key = data.draw(st.sampled_from(_places(row)), label="place")
    what = data.draw(st.sampled_from(("put", "put", "put", "drop", "repeat")), label="what")
    if what == "put":
        holder[key] = deepcopy(data.draw(st.sampled_from(ODD), label="value"))
    elif what == "drop":
        del holder[key]
    else:
        rows.insert(data.draw(st.integers(0, len(rows)), label="where"), deepcopy(row))


def _places(row: Row) -> list[tuple[Any, Any]]:
    """List every place of a row, at any depth that its usual shape has."""
    found: list[tuple[Any, Any]] = []
    waiting: list[tuple[Any, int]] = [(row, 0)]
    while waiting:
        holder, depth = waiting.pop()
        inner = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, value in list(inner):
            found.append((holder, key))
            if isinstance(value, dict | list) and depth < 8:
                waiting.append((value, depth + 1))
    return found or [({"": None}, "")]
