"""When the editor is told: once for many changes, and only of what it does not know; no waiting."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handlers import editor
from handlers.app import Application
from server.framing import Oversized
from server.protocol import Sidecar
from tests.server.raw_client import notification, request

PLAN = "version: 1\ntask_id: T\nphases:\n  - id: survey\n    exit_criteria: [artifact_exists: a]\n"
FAULTY = PLAN + "more: 1\n"
REFRESH = "workspace/inlayHint/refresh"
PUBLISHED = "textDocument/publishDiagnostics"
CAN_REFRESH = {"workspace": {"inlayHint": {"refreshSupport": True}}}


class Wired:
    """The application without pipes; its clock moves only when told to."""

    def __init__(self, folder: Path, capabilities: dict[str, Any]) -> None:
        self.folder = folder
        self.sent: list[Any] = []
        self.asked: list[str] = []
        self._due: list[tuple[float, Callable[[], None]]] = []
        app = Application(str(folder / "state"), {})
        sidecar = Sidecar(
            app, lambda body: self.sent.append(json.loads(body)), lambda *_: None, lambda _: None
        )
        app.hub.later = lambda seconds, work: self._due.append((seconds, work))
        app.hub.ask = lambda method, _params, _then: self.asked.append(method)
        editor.register(sidecar, app.hub)
        self._receive: Callable[[bytes | Oversized], None] = sidecar.protocol.receive
        self.call("initialize", {"processId": None, "capabilities": capabilities})

    @property
    def uri(self) -> str:
        return (self.folder / "plan.yaml").as_uri()

    def call(self, method: str, params: dict[str, Any]) -> Any:
        self._receive(json.dumps(request("q", method, params)).encode())
        (answer,) = [message for message in self.sent if message.get("id") == "q"]
        self.sent.remove(answer)
        return answer["result"]

    def tell(self, method: str, params: dict[str, Any]) -> None:
        self._receive(json.dumps(notification(method, params)).encode())

    def open(self, text: str) -> None:
        (self.folder / "plan.yaml").write_text(text)
        item = {"uri": self.uri, "languageId": "yaml", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": item})

    def type(self, version: int, text: str) -> None:
        document = {"uri": self.uri, "version": version}
        params = {"textDocument": document, "contentChanges": [{"text": text}]}
        self.tell("textDocument/didChange", params)

    def arm(self) -> None:
        start = {"sessionId": "s", "runtime": "claude_code", "workspace": str(self.folder)}
        self.call("turnkeeper/sessionStart", start)
        self.arm_again()

    def arm_again(self) -> None:
        self.call("turnkeeper/plan/arm", {"sessionId": "s", "path": "plan.yaml"})

    def stop(self) -> Any:
        end = {"sessionId": "s", "turnId": "t", "outcome": "completed"}
        return self.call("turnkeeper/turnEnd", end)["decision"]

    def act(self, act: str) -> None:
        self.call(f"turnkeeper/plan/{act}", {"sessionId": "s"})

    def hints(self) -> list[str]:
        everywhere = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
        params = {"textDocument": {"uri": self.uri}, "range": everywhere}
        return [hint["label"] for hint in self.call("textDocument/inlayHint", params)]

    def pass_seconds(self, seconds: float) -> None:
        """Do what is due within this time, and what becomes due by that."""
        while due := [entry for entry in self._due if entry[0] <= seconds]:
            for entry in due:
                self._due.remove(entry)
                entry[1]()

    def published(self) -> list[tuple[int | None, int]]:
        """(version, number of diagnostics), in order; nothing else was sent."""
        assert all(message["method"] == PUBLISHED for message in self.sent)
        found = [(m["params"].get("version"), len(m["params"]["diagnostics"])) for m in self.sent]
        self.sent.clear()
        return found


@pytest.fixture
def wired(tmp_path: Path, state_root: Path) -> Wired:
    return Wired(tmp_path, CAN_REFRESH)


def test_many_changes_of_a_session_make_one_refresh(wired: Wired) -> None:
    wired.open(PLAN)
    wired.arm()
    wired.act("park")
    wired.pass_seconds(0)
    wired.act("resume")
    wired.pass_seconds(editor.REFRESH_SECONDS - 0.01)
    assert wired.asked == []

    wired.pass_seconds(editor.REFRESH_SECONDS)

    assert wired.asked == [REFRESH]
    assert wired.hints() == ["armed: 1 unchecked, blocked 0 of 3"]


def test_hints_that_the_client_has_already_make_no_refresh(wired: Wired) -> None:
    wired.open(PLAN)
    wired.arm()
    wired.pass_seconds(0)
    wired.hints()  # Asked for meanwhile.
    wired.pass_seconds(1)
    wired.act("park")
    wired.act("resume")
    wired.pass_seconds(1)
    assert wired.asked == []


def test_a_client_that_knows_no_refresh_is_not_asked(tmp_path: Path, state_root: Path) -> None:
    plain = Wired(tmp_path, {"workspace": {"inlayHint": {}}})
    plain.open(PLAN)
    plain.arm()
    plain.pass_seconds(1)
    assert plain.asked == []
    assert plain.hints() != []


def test_a_text_that_is_being_typed_is_judged_once_as_it_ends_up(wired: Wired) -> None:
    wired.open(PLAN)
    wired.type(2, FAULTY + "x")
    wired.type(3, FAULTY + "xy")
    wired.type(4, FAULTY)
    assert wired.published() == []

    wired.pass_seconds(editor.TYPING_SECONDS)

    assert wired.published() == [(4, 1)]


def test_only_what_changed_is_published(wired: Wired) -> None:
    wired.open(PLAN)
    wired.type(2, PLAN + "# still right\n")
    wired.pass_seconds(1)
    assert wired.published() == []

    wired.type(3, FAULTY)
    wired.pass_seconds(1)
    assert wired.published() == [(3, 1)]
    wired.type(4, FAULTY + "# a fault is said anew of each version\n")
    wired.pass_seconds(1)
    assert wired.published() == [(4, 1)]
    (wired.folder / "plan.yaml").write_text(PLAN)
    wired.arm()  # Another text of the file than is open; its faults stay what they are.
    wired.pass_seconds(1)
    assert wired.published() == []


def test_a_document_that_was_closed_while_it_was_typed_stays_silent(wired: Wired) -> None:
    wired.open(PLAN)
    wired.type(2, FAULTY)
    wired.tell("textDocument/didClose", {"textDocument": {"uri": wired.uri}})
    wired.pass_seconds(1)
    assert wired.published() == []


def test_a_session_that_changes_does_not_hurry_a_typist(wired: Wired) -> None:
    wired.open(PLAN)
    wired.arm()
    wired.type(2, FAULTY)
    wired.pass_seconds(0)
    assert wired.published() == []


def test_a_plan_armed_anew_in_the_same_place_has_no_gaps(wired: Wired) -> None:
    wired.open(PLAN)
    wired.arm()
    assert wired.stop() == "block"
    wired.pass_seconds(1)
    assert wired.published() == [(1, 1)]

    wired.arm_again()
    wired.pass_seconds(1)

    assert wired.published() == [(1, 0)]
    assert wired.hints() == ["armed: 1 unchecked, blocked 0 of 3"]


def test_a_skill_shows_as_soon_as_it_is_opened(wired: Wired) -> None:
    wired.open(PLAN + "    required_skills: [look]\n")
    wired.arm()
    wired.pass_seconds(1)
    wired.asked.clear()
    assert wired.hints() == ["armed: 0 of 1 skills opened, 1 unchecked, blocked 0 of 3"]
    call = {"sessionId": "s", "toolUseId": "u", "name": "Skill", "input": {"skill": "look"}}
    wired.call("turnkeeper/toolCall", call)
    wired.call("turnkeeper/toolResult", {"sessionId": "s", "toolUseId": "u", "content": "Look."})
    wired.pass_seconds(1)

    assert wired.asked == [REFRESH]
    assert wired.hints() == ["armed: 1 of 1 skills opened, 1 unchecked, blocked 0 of 3"]


def test_the_host_has_its_answer_before_the_editor_is_looked_after(wired: Wired) -> None:
    wired.open(PLAN)
    wired.arm()
    wired.pass_seconds(0)
    assert wired.stop() == "block"
    assert wired.published() == []

    wired.pass_seconds(0)

    assert wired.published() == [(1, 1)]
