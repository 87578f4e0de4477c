"""What a decision may look up: files as they are now, the host's cap, the task at hand."""

import json
import math
from pathlib import Path

import pytest

from core import decided as d
from core.phases.plan import Criterion, Phase
from core.state import Session
from core.world import World
from tests.core.given import (
    BUILD,
    STARTED,
    SURVEY,
    advanced,
    arming,
    artifact,
    fold,
    started,
    turn_end,
)


def armed(workspace: Path, *phases: Phase, runtime: str = "claude_code") -> Session:
    return fold((started(workspace=str(workspace), runtime=runtime), arming(*phases)))


def run(state: Session, **environ: str) -> d.ChecksFinished:
    return look(World("/nobody", environ), state, state.cursor.index)


def look(world: World, state: Session, phases_from: int | None) -> d.ChecksFinished:
    checks = d.Checks(turn_end(), phases_from)
    looked = world.carry_out(world.look_for(state, checks), math.inf)
    assert looked.complete
    return world.finish(state, checks, looked)


def states(finished: d.ChecksFinished) -> list[list[str]]:
    return [[found.state for found in phase] for phase in finished.outcomes]


def test_it_checks_phase_by_phase_up_to_the_first_unmet_one(tmp_path: Path) -> None:
    (tmp_path / "out.md").write_text("x")
    both = BUILD._replace(criteria=(artifact("out.md"), artifact("done.md")))
    state = armed(tmp_path, SURVEY, both, SURVEY._replace(id="last"))

    assert states(run(state)) == [["met"], ["met", "unmet"]]


def test_it_checks_from_the_current_phase_on(tmp_path: Path) -> None:
    state = armed(tmp_path, SURVEY, BUILD)
    state.cursor.evolve(advanced())

    assert states(run(state)) == [["unmet"]]


def test_it_sees_files_as_they_are_at_that_moment(tmp_path: Path) -> None:
    world, state = World("/nobody", {}), armed(tmp_path, SURVEY)
    assert states(look(world, state, 0)) == [["unmet"]]

    (tmp_path / "out.md").write_text("x")

    assert states(look(world, state, 0)) == [["met"]]


def test_what_the_time_is_too_short_for_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "out.md").write_text("x")
    world, state = World("/nobody", {}), armed(tmp_path, SURVEY)

    looked = world.carry_out(world.look_for(state, d.Checks(turn_end(), 0)), 0.0)

    assert not looked.complete
    assert [(found.state, found.why[:12]) for found in looked.outcomes[0]] == [
        ("error", "not finished")
    ]


def test_what_cannot_be_checked_is_an_error_and_stops_nothing(tmp_path: Path) -> None:
    odd = Phase("survey", criteria=(Criterion("odd", "smells_nice", {}),))

    assert states(run(armed(tmp_path, odd))) == [["error"]]


def test_without_a_phase_to_check_nothing_is_looked_at(tmp_path: Path) -> None:
    finished = look(World("/nobody", {}), armed(tmp_path), None)

    assert finished.outcomes == ()
    assert run(fold(STARTED)).outcomes == ()


@pytest.mark.parametrize(
    ("runtime", "given", "cap"),
    [
        ("claude_code", None, 8),
        ("claude_code", "3", 3),
        ("claude_code", "0", None),
        ("claude_code", "many", 8),
        ("codex_runtime", "3", None),
        ("x-mine", None, None),
    ],
)
def test_the_hosts_cap_is_its_own_or_what_its_environment_says(
    tmp_path: Path, runtime: str, given: str | None, cap: int | None
) -> None:
    environ = {} if given is None else {"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": given}

    assert run(armed(tmp_path, runtime=runtime), **environ).host_cap == cap


def test_the_task_of_a_dispatch_comes_before_the_active_task_file(tmp_path: Path) -> None:
    file = tmp_path / "active"
    file.write_text(json.dumps({"task_id": "T7"}))
    environ = {"CONTEXT_INFRA_ACTIVE_TASK_PATH": str(file)}

    assert World("/nobody", environ).task_id() == "T7"
    assert World("/nobody", {**environ, "TURNKEEPER_TASK_ID": "T8"}).task_id() == "T8"
    assert World("/nobody", {}).task_id() is None


@pytest.mark.parametrize(
    ("text", "task"),
    [("T7\n", "T7"), ("", None), ('{"task_id": 7}', None), ("{", None), ("a\nb", None)],
)
def test_an_active_task_file_holds_one_line_or_an_object(
    tmp_path: Path, text: str, task: str | None
) -> None:
    file = tmp_path / "active"
    file.write_text(text)

    assert World("/nobody", {"TURNKEEPER_ACTIVE_TASK_PATH": str(file)}).task_id() == task
    missing = {"TURNKEEPER_ACTIVE_TASK_PATH": str(tmp_path / "missing")}
    assert World("/nobody", missing).task_id() is None
