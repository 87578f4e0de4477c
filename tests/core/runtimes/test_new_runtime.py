"""The worked example of docs/new-runtime.md is a whole runtime, and keeps to what it says."""

import importlib
import re
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import core.runtimes
from core import events
from core.events import (
    Prompt,
    SessionEnd,
    SessionStart,
    Spoken,
    ToolCall,
    ToolResult,
    TurnEnd,
    Usage,
)
from core.recordings import contract
from core.recordings.contract import ENDED, NOT_RECORDED, Runtime, Step
from core.recordings.recording import Recording
from core.runtimes.registry import known, runtime
from tests.core.runtimes.contract import read_all, static_faults, step_faults
from tests.core.runtimes.look_alikes import LOOK_ALIKES

PAGE = (Path(__file__).resolve().parents[3] / "docs/new-runtime.md").read_text(encoding="utf-8")
LINES_MAX = 100
NAME = "parrot"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the module of the page, where runtimes are looked for."""
    path = tmp_path_factory.mktemp("runtimes")
    (path / f"{NAME}.py").write_text(blocks("python")[0], encoding="utf-8")
    found = list(core.runtimes.__path__)
    core.runtimes.__path__ = [*found, str(path)]
    importlib.invalidate_caches()
    yield path
    core.runtimes.__path__ = found
    sys.modules.pop(f"core.runtimes.{NAME}", None)
    runtime.cache_clear()
    importlib.invalidate_caches()


@pytest.fixture
def recording(folder: Path, tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text(blocks("json")[0], encoding="utf-8")
    return path


def parrot() -> Runtime:
    found = runtime(NAME)
    assert found is not None
    return found


def test_the_page_holds_one_module_and_one_recording() -> None:
    assert len(blocks("python")) == len(blocks("json")) == 1


def test_the_example_is_short() -> None:
    assert blocks("python")[0].count("\n") < LINES_MAX


def test_a_module_is_known_as_soon_as_it_is_there(folder: Path) -> None:
    assert NAME in known()


def test_the_example_keeps_to_the_contract(folder: Path) -> None:
    assert static_faults(NAME) == []


def test_the_recording_of_the_page_is_read_as_it_says(recording: Path) -> None:
    read = Recording(str(recording))

    assert list(read.steps()) == [
        Step(1, SessionStart(NAME, "/repo", model="grey-2", source="startup")),
        Step(2, Prompt("round-1", "Which files are here?")),
        Step(3, ToolCall("c-1", "look", {"at": "."}, "round-1")),
        Step(4, ToolResult("c-1", "notes.txt")),
        Step(5, Usage(900, 40, 300, message_id="a-1", input_includes_cache=True)),
        Step(6, Spoken("model", "One file: notes.txt.")),
        Step(7, TurnEnd("round-1", "completed"), ENDED),
        Step(7, SessionEnd()),
    ]
    assert read.faults == []
    assert read.head.session_id == "p-1"


def test_a_recording_that_is_cut_off_ends_its_turn(recording: Path) -> None:
    lines = recording.read_text(encoding="utf-8").splitlines()
    recording.write_text("\n".join(lines[:4]) + "\n", encoding="utf-8")

    *_, end, _ = Recording(str(recording)).steps()

    assert end == Step(4, TurnEnd("round-1", "interrupted"), NOT_RECORDED)


def test_raw_events_are_read_like_a_recording(recording: Path) -> None:
    rows = [row for _, row in _rows(recording)]
    from_file = [step.event for step in read_all(parrot(), rows)]

    assert [step.event for step in read_all(parrot(), rows, from_file=False)] == from_file


def test_no_other_runtime_claims_its_rows_nor_it_theirs(recording: Path) -> None:
    own = [[name for name in known() if _is_claimed(name, row)] for _, row in _rows(recording)]
    theirs = [row for lists in LOOK_ALIKES.values() for rows in lists for row in rows]

    assert own == [[NAME]] * len(own)
    assert [row for row in theirs if parrot().recognise(row)] == []


def _is_claimed(name: str, row: contract.Row) -> bool:
    found = runtime(name)
    return found is not None and found.recognise(row)


def _rows(path: Path) -> Iterator[tuple[int, contract.Row]]:
    from core.recordings.lines import rows

    return rows(str(path), [])


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_odd_rows_tell_less_or_nothing_and_never_fail(recording: Path, data: st.DataObject) -> None:
    rows = deepcopy([row for _, row in _rows(recording)])
    odd = st.sampled_from((None, True, -1, 2**70, 1.5, "", [], {}, [None], {"type": None}))
    for _ in range(data.draw(st.integers(1, 4))):
        row = data.draw(st.sampled_from(rows))
        row[data.draw(st.sampled_from(sorted(row)))] = data.draw(odd)

    assert step_faults(read_all(parrot(), rows, from_file=data.draw(st.booleans()))) == []


def test_the_table_names_every_event_that_a_runtime_may_tell() -> None:
    by_the_host = {"SelectedSkill", "Attachment", "SessionStart", "SessionEnd", "Part", "Composer"}
    by_people = {"Arm", "Decline", "Park", "Resume", "Cancel"}
    kinds = {name for name, kind in vars(events).items() if hasattr(kind, "_fields")}
    recorded = {"FileChange", "SkillBody", "AgentSeen"}
    table = PAGE.split("## Events")[1].split("## Rules")[0]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", table, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"\w+", row)}

    assert named == kinds - by_the_host - by_people | recorded


def test_the_fields_that_the_page_explains_are_those_of_a_runtime() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE.split("## The module")[1].split("## Events")[0]))

    assert set(Runtime._fields) - {"block_cap_variable"} <= named
