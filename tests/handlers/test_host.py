"""What a host tells and what it hears: shapes, pushes, refusals."""

from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import InvalidParams, UnknownSession
from tests.handlers.inproc import PLAN, Host

LONG = "x" * 250


def test_a_session_start_answers_the_session(host: Host) -> None:
    state = host.start("S2", model="m", contextWindow=200_000, taskId="T9")

    assert state == {
        "sessionId": "S2",
        "runtime": "claude_code",
        "workspace": str(host.workspace),
        "state": "idle",
        "taskId": "T9",
        "model": "m",
        "window": {"tokens": 200_000, "source": "host"},
        "seq": 1,
    }


def test_a_start_again_keeps_everything_whatever_its_source_but_clear(host: Host) -> None:
    host.arm()
    for source in ("startup", "resume", "compact", "fork"):
        assert host.start(source=source)["state"] == "armed"

    cleared = host.start("S2", source="clear")
    assert cleared["state"] == "idle"
    assert cleared["resumable"] == [{"sessionId": "S", "taskId": "T1", "phaseId": "survey"}]
    assert host.start(source="clear")["state"] == "idle"


@pytest.mark.parametrize("session", ["", "  ", "null", " null "])
def test_an_id_that_names_no_session_is_refused(host: Host, session: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        host.start(session)

    assert refused.value.field == "sessionId"


@pytest.mark.parametrize("runtime", ["native", "claude", "x-", "cline"])
def test_an_unknown_runtime_is_refused_with_the_list(host: Host, runtime: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        host.start("S2", runtime=runtime)

    assert refused.value.field == "runtime"
    assert "codex_runtime" in refused.value.message + refused.value.hint
    assert host.start("S2", runtime="x-mine")["runtime"] == "x-mine"


def test_types_are_checked_before_the_session_is_looked_up(host: Host) -> None:
    with pytest.raises(InvalidParams):
        host.ask("prompt", "nobody", turnId=7, text="hi")
    with pytest.raises(UnknownSession):
        host.ask("prompt", "nobody", turnId="t1", text="hi")


def test_every_message_of_an_ended_session_is_refused_until_it_starts_again(host: Host) -> None:
    host.ask("prompt", turnId="t1", text="hi")
    host.ask("sessionEnd")
    sends: tuple[Callable[[], object], ...] = (
        lambda: host.ask("prompt", turnId="t2", text="hi"),
        lambda: host.ask("toolCall", toolUseId="c", name="Bash", input=None),
        lambda: host.ask("plan/status"),
        lambda: host.ask("accounting/snapshot"),
        lambda: host.ask("sessionEnd"),
    )
    for send in sends:
        with pytest.raises(UnknownSession):
            send()

    host.start()

    assert host.ask("accounting/snapshot")["turnId"] == "t1"


def test_injections_are_always_there_and_empty_when_there_is_nothing(host: Host) -> None:
    assert host.ask("prompt", turnId="t1", text="hi") == {"injections": []}


def test_the_arm_directive_is_answered_to_a_request_and_pushed_to_a_notification(
    host: Host,
) -> None:
    answered = host.ask("prompt", turnId="t1", text=LONG)["injections"]
    assert [injection["kind"] for injection in answered] == ["arm_directive"]
    assert not host.pushes("injection")

    host.tell("prompt", turnId="t2", text=LONG)

    (pushed,) = host.pushes("injection")
    assert [injection["kind"] for injection in pushed["injections"]] == ["arm_directive"]
    assert (pushed["sessionId"], pushed["turnId"]) == ("S", "t2")
    assert pushed["seq"] == host.start()["seq"] - 1


def test_settings_say_which_prompts_are_worth_a_plan(state_root: Path, tmp_path: Path) -> None:
    settings = {"armChars": 10, "armRoutes": 1, "routes": [{"words": ["ship"], "skill": "release"}]}
    host = Host(state_root, tmp_path / "work", settings)
    host.start()

    offered = [
        bool(host.ask("prompt", turnId=f"t{number}", text=text)["injections"])
        for number, text in enumerate(["hi", "0123456789", "ship it"])
    ]

    assert offered == [False, True, True]


def test_a_turn_end_without_a_plan_answers_the_whole_verdict(host: Host) -> None:
    host.ask("prompt", turnId="t1", text="hi")
    host.ask("toolCall", toolUseId="c", name="Bash", input={"command": "ls"})
    host.ask("toolResult", toolUseId="c", content=[{"type": "text", "text": "a.md"}])

    verdict = host.end()

    accounting = verdict.pop("accounting")
    assert verdict == {
        "decision": "allow",
        "reason": "",
        "gaps": [],
        "attempt": 0,
        "attemptsLeft": None,
        "phase": None,
        "flags": [],
    }
    assert (accounting["turnId"], accounting["revision"], accounting["final"]) == ("t1", 1, True)
    entry = accounting["snapshot"]["entries"]["tools"]
    assert (entry["tokens"], entry["source"], entry["detail"]) == (
        5,
        "tool_use/tool/Bash",
        "Bash × 1",
    )
    assert [row["kind"] for row in accounting["rows"]] == ["tools"]
    assert set(accounting["usage"]["context_accounting"]) == {
        "entries",
        "unsupported",
        "producedBy",
    }


def test_a_plan_is_blocked_goes_on_and_is_completed(host: Host) -> None:
    host.arm()
    host.ask("prompt", turnId="t1", text="hi")

    blocked = host.end()
    assert (blocked["decision"], blocked["attempt"], blocked["attemptsLeft"]) == ("block", 1, 2)
    assert [gap["criterionId"] for gap in blocked["gaps"]] == ["survey.skill.shape", "survey.1"]
    assert blocked["phase"]["phaseId"] == "survey"
    assert not blocked["accounting"]["final"]

    host.open_skill()
    host.write("out.md", "x")
    further = host.end()
    assert (further["decision"], further["attempt"], further["attemptsLeft"]) == ("continue", 0, 3)
    assert (further["phase"]["phaseId"], further["phase"]["phaseIndex"]) == ("build", 2)
    assert "Build it." in further["reason"]

    host.write("done.md", "all done")
    last = host.end()
    assert (last["decision"], last["phase"]["state"]) == ("allow", "complete")
    assert last["accounting"]["revision"] == 3
    assert last["accounting"]["final"]
    moves = [(push["from"], push["to"]) for push in host.pushes("phaseChanged")]
    assert moves == [(None, "survey"), ("survey", "build"), ("build", None)]


def test_every_required_step_of_a_run_stands_in_the_receipts(host: Host) -> None:
    host.ask("prompt", turnId="t1", text=LONG)
    host.arm()
    host.ask("prompt", turnId="t2", text="go")
    host.end("t2")
    host.open_skill()
    host.write("out.md", "x")
    host.write("done.md", "done")
    host.end("t2")

    receipts = host.ask("receipts", taskId=None)["receipts"]

    assert [receipt["event"] for receipt in receipts] == [
        "arm_directive",
        "phase_cursor_armed",
        "phase_injection",
        "phase_block",
        "skill_call",
        "phase_advance_drive",
        "phase_advance_drive",
        "phase_plan_complete",
    ]
    assert {receipt.get("task_id") for receipt in receipts[1:]} == {"T1"}


def test_a_blocked_notification_is_followed_by_its_account_and_its_correction(host: Host) -> None:
    host.arm()
    host.tell("turnEnd", turnId="t1", outcome="completed")

    (correction,) = host.pushes("correction")
    assert (correction["phaseId"], correction["attempt"], correction["attemptsLeft"]) == (
        "survey",
        1,
        2,
    )
    assert correction["gaps"]
    assert host.pushes("accounting")[-1]["turnId"] == "t1"
    assert correction["seq"] == host.pushes("accounting")[-1]["seq"]


def test_a_client_that_asked_for_it_may_park_from_the_correction(
    state_root: Path, tmp_path: Path
) -> None:
    host = Host(state_root, tmp_path / "work", correction_request=True)
    host.start()
    host.arm()
    for answer in ({"action": "continue"}, None, "junk", {"action": "dismiss"}):
        host.tell("turnEnd", turnId="t1", outcome="interrupted")
        host.tell("prompt", turnId="t1", text="go")
        host.tell("turnEnd", turnId="t1", outcome="completed")
        host.asked.pop()[1](answer)
        assert host.ask("plan/status")["state"] in ("armed", "given_up")
        host.arm()

    host.tell("turnEnd", turnId="t1", outcome="completed")
    params, answered = host.asked.pop()
    assert params["phaseId"] == "survey"
    answered({"action": "park"})
    assert host.ask("plan/status")["state"] == "parked"

    answered({"action": "park"})
    assert [flag["code"] for flag in host.pushes("flag")] == ["not_parked"]


def test_usage_pushes_one_preview_soon_that_is_not_final(host: Host) -> None:
    host.ask("prompt", turnId="t1", text="hi")
    for number in range(3):
        host.ask("usage", input=100 + number, output=1, contextWindow=1000, messageId="m")
    host.run_soon()

    (live,) = host.pushes("accounting")
    assert (live["turnId"], live["revision"], live["final"]) == ("t1", 0, False)
    assert live["usage"]["input"] == 102
    assert live["window"] == {
        "tokens": 1000,
        "source": "host",
        "used": 102,
        "usedSource": "usage",
        "ratio": 0.102,
        "remaining": 898,
    }

    host.ask("usage", input=1, output=1)
    host.ask("sessionEnd")
    host.run_soon()
    assert len(host.pushes("accounting")) == 1


def test_previews_are_never_kept(host: Host, state_root: Path) -> None:
    host.ask("prompt", turnId="t1", text="hi")
    host.ask("usage", input=100, output=1)
    host.run_soon()

    journals = [path.read_text() for path in state_root.rglob("journal.jsonl")]
    assert not any("turn_accounted" in text for text in journals)


def test_the_end_of_a_sub_agent_answers_the_parents_account_as_not_final(host: Host) -> None:
    host.ask("prompt", turnId="t1", text="hi")
    host.ask("toolCall", toolUseId="c", name="Bash", input=None, agentId="a1")

    verdict = host.end("t1", agentId="a1")

    assert (verdict["decision"], verdict["accounting"]["final"]) == ("allow", False)
    assert verdict["accounting"]["revision"] == 0
    assert verdict["accounting"]["snapshot"]["subagents"][0]["agentId"] == "a1"


def test_the_end_of_an_earlier_turn_answers_that_turns_account(host: Host) -> None:
    host.ask("prompt", turnId="t1", text="hi")
    host.ask("toolCall", toolUseId="c", name="Bash", input=None)
    host.ask("prompt", turnId="t2", text="hi")

    verdict = host.end("t1", outcome="interrupted")

    accounting = verdict["accounting"]
    assert (accounting["turnId"], accounting["revision"]) == ("t1", 1)
    assert accounting["outcome"] == "interrupted"
    assert accounting["snapshot"]["entries"]["tools"]["detail"] == "Bash × 1"
    assert [flag["code"] for flag in verdict["flags"]] == ["late_turn_end"]
    assert host.end("t2")["accounting"]["snapshot"]["entries"] == {}


def test_a_forbidden_read_is_denied_and_any_other_call_is_not(host: Host) -> None:
    host.arm(text=PLAN.replace("task_prompt: Look around.", "forbidden_read: [secret]"))

    denied = host.ask("toolCall", toolUseId="c", name="Read", input={"file_path": "secret/a"})
    allowed = host.ask("toolCall", toolUseId="d", name="Read", input={"file_path": "open/a"})

    assert denied["deny"] is True
    assert "secret" in denied["reason"]
    assert allowed is None


def test_what_the_host_supplied_counts_by_its_length(host: Host) -> None:
    host.ask("prompt", turnId="t1", text="hi")
    host.ask("context", kind="memory", source="notes", text="\N{SEEDLING}" * 4)
    host.ask("context", kind="system_prompt", source="host", chars=40)
    host.ask("context", kind="rules", source="/w/AGENTS.md", bytes=41)

    snapshot = host.end()["accounting"]["snapshot"]

    tokens = {kind: entry["tokens"] for kind, entry in snapshot["entries"].items()}
    assert tokens == {"system_prompt": 10, "rules": 11, "memory": 2}
    assert not {"memory", "system_prompt"} & set(snapshot["unsupported"])


def test_selected_skills_and_attachments_come_with_the_prompt(host: Host) -> None:
    host.write(".claude/skills/shape/SKILL.md", "---\nname: shape\n---\n" + "x" * 20)
    host.ask(
        "prompt",
        turnId="t1",
        text="hi",
        selectedSkills=["/shape", "", {"name": "ghost"}],
        attachments=[{"name": "a.md", "source": "/w/a.md", "bytes": 9}],
    )

    snapshot = host.end()["accounting"]["snapshot"]

    assert snapshot["entries"]["skills"]["detail"] == "shape"
    assert snapshot["entries"]["files_attachments"]["tokens"] == 3
    assert [entry["name"] for entry in snapshot["unknown"]] == ["ghost"]


def test_what_waits_in_the_composer_is_pushed_and_cleared_by_the_prompt(host: Host) -> None:
    host.ask("prompt", turnId="t1", text="hi")
    host.ask("composer", text="x" * 8, files=[{"name": "a", "bytes": 40}])
    host.run_soon()

    rows = {row["kind"]: row["tokens"] for row in host.pushes("accounting")[-1]["rows"]}
    assert (rows["pending_next_turn"], rows["files_attachments"]) == (2, 10)
    host.ask("prompt", turnId="t2", text="hi")
    assert host.end("t2")["accounting"]["rows"] == []


def test_a_call_twice_is_flagged_in_the_open(host: Host) -> None:
    for _ in range(2):
        host.ask("toolCall", toolUseId="c", name="Bash", input=None)

    (flag,) = host.pushes("flag")
    assert (flag["code"], flag["sessionId"]) == ("duplicate_call", "S")


def test_a_switched_off_sidecar_allows_in_silence(state_root: Path, tmp_path: Path) -> None:
    host = Host(state_root, tmp_path / "work", environ={"TURNKEEPER_DISABLED": "1"})
    host.start()
    host.arm()

    assert host.ask("prompt", turnId="t1", text=LONG) == {"injections": []}
    verdict = host.end()

    assert (verdict["decision"], verdict["flags"], verdict["gaps"]) == ("allow", [], [])


def test_usage_that_comes_after_an_allowed_end_is_kept_when_the_turn_closes(host: Host) -> None:
    host.ask("prompt", turnId="t1", text="go")
    host.ask("usage", input=100, output=3, messageId="m1")
    host.ask("turnEnd", turnId="t1", outcome="completed")
    host.ask("usage", input=100, output=96, messageId="m1", contextWindow=200_000)
    host.ask("prompt", turnId="t2", text="on")

    kept = host.ask("accounting/snapshot", turnId="t1")

    assert (kept["usage"]["output"], kept["window"]["tokens"]) == (96, 200_000)
    assert (kept["revision"], kept["final"], kept["outcome"]) == (2, True, "completed")
