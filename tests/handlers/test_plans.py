"""Checking, arming and acting on plans, as an editor or a host does it."""

from pathlib import Path

import pytest

from core.errors import InvalidParams, PlanRefused, Refusal, UnknownSession
from tests.handlers.inproc import PLAN, Host


def test_arming_answers_where_the_plan_stands(host: Host) -> None:
    state = host.arm()

    digest = state.pop("planDigest")
    assert len(digest) == 64
    assert state == {
        "sessionId": "S",
        "state": "armed",
        "taskId": "T1",
        "planPath": str(host.workspace / "plan.yaml"),
        "phaseId": "survey",
        "phaseIndex": 1,
        "phaseCount": 2,
        "attempt": 0,
        "attemptsLeft": 3,
        "blocksTotal": 0,
        "gaps": [],
        "skills": [{"name": "shape", "required": True, "evidence": None}],
        "criteria": [
            {"id": "survey.1", "kind": "artifact_exists", "state": "unchecked", "why": ""}
        ],
        "warnings": [{"code": "plan_warning", "message": "no skill named shape was found"}],
    }
    assert host.ask("plan/status") == {**state, "planDigest": digest}


def test_without_a_plan_the_fields_of_a_plan_are_null_or_empty(host: Host) -> None:
    assert host.ask("plan/status") == {
        "sessionId": "S",
        "state": "idle",
        "taskId": None,
        "planPath": None,
        "planDigest": None,
        "phaseId": None,
        "phaseIndex": None,
        "phaseCount": None,
        "attempt": 0,
        "attemptsLeft": None,
        "blocksTotal": 0,
        "gaps": [],
        "skills": [],
        "criteria": [],
        "warnings": [],
    }


def test_a_block_shows_in_the_status_what_is_met_and_what_is_not(host: Host) -> None:
    host.arm()
    host.open_skill("pack:SHAPE")
    host.end()

    state = host.ask("plan/status")

    assert (state["attempt"], state["attemptsLeft"], state["blocksTotal"]) == (1, 2, 1)
    assert state["skills"] == [{"name": "shape", "required": True, "evidence": "receipt"}]
    assert [(x["id"], x["state"]) for x in state["criteria"]] == [("survey.1", "unmet")]
    assert [gap["criterionId"] for gap in state["gaps"]] == ["survey.1"]


def test_the_plan_that_was_armed_counts_whatever_becomes_of_its_file(host: Host) -> None:
    host.arm()
    host.write("plan.yaml", "version: 1\nphases: [{id: nothing, task_prompt: x}]\n")

    edited = host.end()

    assert edited["decision"] == "block"
    assert [flag["code"] for flag in edited["flags"]] == ["plan_drift"]
    assert host.end()["flags"] == []
    host.write("plan.yaml", PLAN)
    assert host.end()["flags"] == []
    events = [receipt["event"] for receipt in host.ask("receipts")["receipts"]]
    assert events.count("plan_drift") == 1


@pytest.mark.parametrize("text", ["version: [", PLAN.replace("out.md", "/etc/passwd")])
def test_a_faulty_plan_is_refused_with_its_problems_and_nothing_is_armed(
    host: Host, text: str
) -> None:
    with pytest.raises(PlanRefused) as refused:
        host.arm(text=text)

    assert refused.value.problems
    assert refused.value.code == -31002
    assert host.ask("plan/status")["state"] == "idle"


def test_arming_a_session_that_nobody_started_is_refused(host: Host) -> None:
    host.write("plan.yaml", PLAN)
    with pytest.raises(UnknownSession):
        host.ask("plan/arm", "nobody", path=str(host.workspace / "plan.yaml"))


def test_taking_over_a_run_is_refused_by_name(host: Host) -> None:
    host.write("plan.yaml", PLAN)
    with pytest.raises(InvalidParams) as refused:
        host.ask("plan/arm", path="plan.yaml", **{"from": "S0"})

    assert refused.value.field == "from"


def test_the_task_is_the_plans_then_the_hosts_then_made_from_the_session(host: Host) -> None:
    nameless = PLAN.replace("task_id: T1\n", "")
    host.start("S2", taskId="T9")

    tasks = [host.arm("S2")["taskId"], host.arm("S2", nameless)["taskId"]]
    made = host.arm("S", nameless)["taskId"]

    assert tasks == ["T1", "T9"]
    assert made == "session-S"


def test_check_lists_problems_of_a_path_and_of_a_text_alike(host: Host) -> None:
    host.write("bad.yaml", PLAN.replace("artifact_exists", "artifact_smells"))
    path = str(host.workspace / "bad.yaml")

    by_path = host.ask("plan/check", None, path=path)
    by_text = host.ask("plan/check", None, text=Path(path).read_text())

    assert by_path == by_text
    (problem,) = by_path["problems"]
    assert (problem["line"], problem["column"]) == (8, 8)
    assert "artifact_smells" in problem["message"]
    assert host.ask("plan/check", None, text=PLAN) == {"problems": []}


@pytest.mark.parametrize("params", [{}, {"path": "/w/p.yaml", "text": "x"}, {"path": "p.yaml"}])
def test_check_wants_one_absolute_path_or_a_text(host: Host, params: dict[str, str]) -> None:
    with pytest.raises(InvalidParams):
        host.ask("plan/check", None, **params)


def test_acts_move_the_plan_and_are_pushed_and_receipted(host: Host) -> None:
    host.arm()
    assert host.ask("plan/park", reason="lunch")["state"] == "parked"
    assert host.ask("plan/resume")["state"] == "armed"
    assert host.ask("plan/cancel", reason="enough")["state"] == "declined"

    moves = [(push["from"], push["to"]) for push in host.pushes("phaseChanged")]
    assert moves == [(None, "survey"), *[("survey", "survey")] * 3]
    events = [receipt["event"] for receipt in host.ask("receipts")["receipts"]]
    assert events == ["phase_cursor_armed", "phase_parked", "phase_resumed", "phase_cancelled"]
    assert {receipt["by"] for receipt in host.ask("receipts")["receipts"]} == {"host"}


def test_declining_an_offer_needs_a_reason_and_settles_it(host: Host) -> None:
    host.ask("prompt", turnId="t1", text="x" * 300)
    with pytest.raises(InvalidParams):
        host.ask("plan/decline")

    assert host.ask("plan/decline", reason="trivial")["state"] == "declined"
    assert host.ask("prompt", turnId="t2", text="x" * 300) == {"injections": []}


def test_an_act_that_fits_no_plan_is_refused(host: Host) -> None:
    for method in ("plan/park", "plan/resume"):
        with pytest.raises(Refusal):
            host.ask(method)


def test_arming_again_adopts_the_file_as_it_is_now(host: Host) -> None:
    first = host.arm()
    host.end()

    second = host.arm(text=PLAN.replace("out.md", "other.md"))

    assert second["planDigest"] != first["planDigest"]
    assert (second["attempt"], second["phaseIndex"]) == (0, 1)
    assert [gap["locator"] for gap in host.end()["gaps"]] == ["shape", "other.md"]
