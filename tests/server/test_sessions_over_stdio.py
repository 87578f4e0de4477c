"""Sessions through real processes: bad input, two at once, kill -9, and what may never be kept."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from core.store.root import session_dir
from server.child import turnkeeper_argv
from tests.handlers.inproc import PLAN
from tests.server.raw_client import INITIALIZE, RawClient, request
from tests.server.sidecar import Sidecar

MARKER = "zq7markerzq7"


class Farm:
    """Starts sidecars on one state folder, each with the same workspace."""

    def __init__(self, base: Path, stack: ExitStack) -> None:
        self.base, self._stack = base, stack
        self.root, self.workspace = base / "state", base / "work"
        self.workspace.mkdir()

    def sidecar(self, session: str | None = "S") -> Sidecar:
        client = Sidecar(self.root, self.base / "home")
        self._stack.enter_context(client)
        if session is not None:
            client.begin(self.workspace, session)
        return client

    def armed(self) -> Sidecar:
        (self.workspace / "plan.yaml").write_text(PLAN)
        client = self.sidecar()
        client.call("plan/arm", path="plan.yaml")
        return client

    def facts(self, session: str = "S") -> list[dict[str, Any]]:
        path = Path(session_dir(str(self.root), session)) / "journal.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def receipts(self) -> list[dict[str, Any]]:
        lines = (self.root / "receipts.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture
def farm(tmp_path: Path) -> Iterator[Farm]:
    with ExitStack() as stack:
        yield Farm(tmp_path, stack)


def kinds(injections: dict[str, Any]) -> list[str]:
    return [injection["kind"] for injection in injections["injections"]]


def test_bad_input_of_one_session_is_answered_and_disturbs_no_other(farm: Farm) -> None:
    sidecar = farm.sidecar()
    sidecar.begin(farm.workspace, "calm")
    sidecar.call("prompt", "calm", turnId="t1", text="hi")
    before = farm.facts("calm")

    assert sidecar.refused("prompt", "nobody", turnId="t1", text="hi")["code"] == -31001
    wrong = sidecar.refused("prompt", turnId=10, text="hi")
    assert (wrong["code"], wrong["data"]["field"]) == (-32602, "turnId")
    sidecar.tell("prompt", "nobody", turnId="t1", text="hi")
    sidecar.tell("usage", input="10", output=1)
    sidecar.call("toolResult", toolUseId="lonely", content="ok")
    for _ in range(2):
        sidecar.call("toolCall", toolUseId="c", name="Bash", input=None)

    snapshot = sidecar.turn_end()["accounting"]["snapshot"]

    assert [entry["reason"] for entry in snapshot["unknown"]] == ["orphan_result"]
    assert snapshot["entries"]["tools"]["detail"] == "Bash × 1"
    flags = [params["code"] for method, params in sidecar.pushed if method == "turnkeeper/flag"]
    assert len(flags) == 3
    assert "duplicate_call" in flags
    assert farm.facts("calm") == before
    assert sidecar.turn_end("t1", "calm")["decision"] == "allow"


def test_an_ended_session_is_unknown_until_a_start_brings_everything_back(farm: Farm) -> None:
    sidecar = farm.armed()
    sidecar.call("prompt", turnId="t1", text="hi")
    assert sidecar.turn_end()["decision"] == "block"
    sidecar.call("sessionEnd")
    assert sidecar.refused("plan/status")["code"] == -31001

    assert sidecar.begin(farm.workspace)["state"] == "armed"
    assert kinds(sidecar.call("prompt", turnId="t2", text="hi")) == ["correction", "phase"]
    assert sidecar.turn_end("t2")["attempt"] == 2


def test_two_processes_on_one_session_lose_no_fact_and_double_no_receipt(farm: Farm) -> None:
    one = farm.armed()
    two = farm.sidecar()
    posted: list[tuple[Sidecar, int, str]] = []
    call = {"name": "Skill", "input": {"skill": "shape"}}
    for number in range(40):
        for name, client in (("a", one), ("b", two)):
            use = f"{name}{number}"
            posted.append((client, client.post("toolCall", toolUseId=use, **call), ""))
            posted.append((client, client.post("toolResult", toolUseId=use, content="ok"), use))

    acknowledged = [ident for client, asked, ident in posted if "result" in client.answer(asked)]

    facts = farm.facts()
    assert [fact["seq"] for fact in facts] == list(range(1, len(facts) + 1))
    answered = [fact["tool_use_id"] for fact in facts if fact["kind"] == "tool_returned"]
    assert sorted(answered) == sorted(ident for ident in acknowledged if ident)
    opened = sorted(fact["tool_use_id"] for fact in facts if fact["kind"] == "skill_opened")
    receipts = [x["tool_use_id"] for x in farm.receipts() if x["event"] == "skill_call"]
    assert sorted(receipts) == opened
    assert len(set(receipts)) == len(receipts) > 0
    assert one.call("plan/status") == two.call("plan/status")


def test_a_correction_survives_kill_9_and_is_given_once_marked_before_the_answer(
    farm: Farm,
) -> None:
    first = farm.armed()
    first.call("prompt", turnId="t1", text="hi")
    reason = first.turn_end()["reason"]
    first.kill()

    second = farm.sidecar()
    injections = second.call("prompt", turnId="t2", text="go")["injections"]
    second.kill()

    assert (injections[0]["kind"], injections[0]["text"]) == ("correction", reason)
    marked = [fact["turn_id"] for fact in farm.facts() if fact["kind"] == "correction_delivered"]
    assert marked == ["t2"]
    third = farm.sidecar()
    assert kinds(third.call("prompt", turnId="t3", text="go")) == ["phase"]
    assert third.turn_end("t3")["attempt"] == 2
    events = [receipt["event"] for receipt in farm.receipts()]
    assert events.count("phase_correction") == 1
    assert events.count("phase_block") == 2


def test_a_turn_goes_on_in_the_process_that_follows_a_killed_one(farm: Farm) -> None:
    first = farm.sidecar()
    first.call("prompt", turnId="t1", text="hi")
    first.call("toolCall", toolUseId="c", name="Bash", input="x" * 38)
    first.kill()

    second = farm.sidecar()
    second.call("toolResult", toolUseId="c", content="y" * 40)

    accounting = second.turn_end()["accounting"]
    assert accounting["revision"] == 1
    assert accounting["snapshot"]["entries"]["tools"]["tokens"] == 20


def test_no_text_of_prompts_inputs_and_results_is_ever_kept(farm: Farm) -> None:
    sidecar = farm.armed()
    marked = f"x{MARKER} " * 40
    sidecar.begin(farm.workspace, available={"systemPrompt": marked, "tools": ["Bash"]})
    attachment = {"name": "a.md", "source": "/w/a.md", "text": marked}
    sidecar.call("prompt", turnId="t1", text=marked, attachments=[attachment])
    sidecar.tell("prompt", turnId="t1", text=marked, fromHuman=MARKER)
    for name in ("Bash", "Write", "mcp__a__b", "Skill", "Read"):
        arguments = {"text": marked, "content": [marked], "args": marked, marked: 1}
        sidecar.call("toolCall", toolUseId=name, name=name, input=arguments)
        content = [{"type": "text", "text": marked}]
        sidecar.call("toolResult", toolUseId=name, content=content, isError=name == "Bash")
    sidecar.call("toolResult", toolUseId="lonely", content=marked)
    sidecar.call("context", kind="memory", source="notes", text=marked)
    sidecar.call("composer", text=marked)
    said = {"outcome": "completed", "lastAssistantMessage": marked}
    assert sidecar.call("turnEnd", turnId="t1", **said)["decision"] == "block"
    assert sidecar.refused("prompt", turnId=[MARKER], text=marked)["code"] == -32602
    assert sidecar.refused("toolCall", toolUseId="c", name={MARKER: 1}, input=marked)["code"]
    sidecar.call("sessionEnd")
    code, log = sidecar.end()

    files = [path for path in farm.root.rglob("*") if path.is_file()]
    assert code == 0
    assert len(files) >= 4
    assert [path for path in files if MARKER.encode() in path.read_bytes()] == []
    assert MARKER not in log
    assert MARKER not in json.dumps(sidecar.pushed)


def test_a_setting_that_means_nothing_is_flagged_after_initialize(
    state_root: Path,
) -> None:
    env = {"TURNKEEPER_STATE_DIR": str(state_root)}
    options = {"turnkeeper": {"armChars": 100, "armchars": 1}}
    with RawClient(turnkeeper_argv("serve"), env) as client:
        client.send(request(0, "initialize", {**INITIALIZE, "initializationOptions": options}))

        assert client.receive()["id"] == 0
        flag = client.receive()

    assert flag["method"] == "turnkeeper/flag"
    assert flag["params"]["code"] == "unknown_setting"
    assert "armchars" in flag["params"]["message"]
