"""An editor sees the faults of an open plan, then how a session stands in it; a real process."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.child import turnkeeper_argv
from tests.server.raw_client import RawClient, notification, request

# As Neovim 0.11 says it; it does not opt in to anything of ours.
NEOVIM: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
    "textDocument": {"inlayHint": {"dynamicRegistration": True}},
    "workspace": {"inlayHint": {"refreshSupport": True}},
}
FAULTY = """\
version: 1\r
task_id: T1\r
phases:\r
  - id: survey\r
    exit_criteria:\r
      - {artifact_exists: {path: "\U0001f600\U0001f680.md", min_byte: 1}}\r
      - artifact_exists: b.md\r
  - id: build\r
    exit_criteria: [artifact_exists: build.md]\r
"""
FIXED = FAULTY.replace("min_byte:", "min_bytes:")
WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}


class Editor:
    """A client with documents; what the server sends on its own is kept in order."""

    def __init__(self, raw: RawClient, folder: Path) -> None:
        self.raw = raw
        self.folder = folder
        self.refreshes = 0
        self.documents: list[str] = []
        self._published: dict[str, list[Any]] = {}
        self._asked = 0

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str) -> None:
        (self.folder / name).write_bytes(text.encode())
        self.documents.append(name)
        item = {"uri": self.uri(name), "languageId": "yaml", "version": 1, "text": text}
        self.raw.send(notification("textDocument/didOpen", {"textDocument": item}))

    def change(self, name: str, version: int, *changes: dict[str, Any]) -> None:
        document = {"uri": self.uri(name), "version": version}
        params = {"textDocument": document, "contentChanges": list(changes)}
        self.raw.send(notification("textDocument/didChange", params))

    def close(self, name: str) -> None:
        params = {"textDocument": {"uri": self.uri(name)}}
        self.raw.send(notification("textDocument/didClose", params))

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self._asked += 1
        self.raw.send(request(self._asked, method, params))
        while True:
            message = self.raw.receive()
            if message.get("id") == self._asked and "method" not in message:
                assert "result" in message, message
                return message["result"]
            self._take(message)

    def diagnostics(self, name: str) -> Any:
        """The next diagnostics of this document: (version, list)."""
        published = self._published.setdefault(self.uri(name), [])
        while not published:
            self._take(self.raw.receive())
        params = published.pop(0)
        return params.get("version"), params["diagnostics"]

    def refreshed(self) -> None:
        """Wait until the server asks to ask for the hints again."""
        while not self.refreshes:
            self._take(self.raw.receive())
        self.refreshes = 0

    def hints(self, name: str) -> dict[int, str]:
        """Line -> label."""
        params = {"textDocument": {"uri": self.uri(name)}, "range": WHOLE}
        found = self.ask("textDocument/inlayHint", params)
        return {hint["position"]["line"]: hint["label"] for hint in found}

    def nothing_waits(self) -> bool:
        """Whether the server, having dealt with all that was sent, published nothing more."""
        self.ask("turnkeeper/stats", {})
        return not any(self._published.values())

    def session(self, session_id: str) -> None:
        self.ask(
            "turnkeeper/sessionStart",
            {"sessionId": session_id, "runtime": "claude_code", "workspace": str(self.folder)},
        )

    def arm(self, session_id: str, name: str) -> None:
        self.ask("turnkeeper/plan/arm", {"sessionId": session_id, "path": name})

    def stop(self, session_id: str) -> Any:
        """End a turn; the decision."""
        params = {"sessionId": session_id, "turnId": "t", "outcome": "completed"}
        return self.ask("turnkeeper/turnEnd", params)["decision"]

    def _take(self, message: Any) -> None:
        if message.get("method") == "textDocument/publishDiagnostics":
            params = message["params"]
            self._published.setdefault(params["uri"], []).append(params)
            return
        # Whoever did not opt in hears nothing but the protocol of every language server.
        assert message.get("method") == "workspace/inlayHint/refresh", message
        self.refreshes += 1
        self.raw.send({"jsonrpc": "2.0", "id": message["id"], "result": None})


@pytest.fixture(scope="module")
def neovim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawClient]:
    """One process for the whole module, since starting one takes most of the time."""
    env = {"TURNKEEPER_STATE_DIR": str(tmp_path_factory.mktemp("state"))}
    with RawClient(turnkeeper_argv("serve"), env) as raw:
        raw.initialize({"processId": None, "rootUri": None, "capabilities": NEOVIM})
        yield raw


@pytest.fixture
def editor(neovim: RawClient, tmp_path: Path) -> Iterator[Editor]:
    """The editor with a folder of the test's own and no document open."""
    editor = Editor(neovim, tmp_path)
    yield editor
    for name in editor.documents:
        editor.close(name)
    editor.ask("turnkeeper/stats", {})


def marked(text: str, range_: Any, encoding: str) -> str:
    """What a client marks: a range within one line, in its own units."""
    assert range_["start"]["line"] == range_["end"]["line"]
    width = {"utf-8": 1, "utf-16-le": 2, "utf-32-le": 4}[encoding]
    line: str = text.split("\r\n")[range_["start"]["line"]]
    raw = line.encode(encoding)
    start, end = int(range_["start"]["character"]), int(range_["end"]["character"])
    return raw[start * width : end * width].decode(encoding)


def faulty_is_marked(editor: Editor, encoding: str) -> None:
    editor.open("plan.yaml", FAULTY)
    version, (fault,) = editor.diagnostics("plan.yaml")

    assert version == 1
    assert marked(FAULTY, fault["range"], encoding) == "min_byte"
    assert (fault["code"], fault["source"], fault["severity"]) == ("unknown_key", "turnkeeper", 1)
    assert "min_bytes" in fault["message"]


def test_a_fault_behind_emoji_is_marked_in_the_encoding_that_was_offered(editor: Editor) -> None:
    faulty_is_marked(editor, "utf-8")


def test_an_editor_with_no_encoding_and_no_folder_is_served_and_no_folder_is_scanned(
    tmp_path: Path, state_root: Path
) -> None:
    (tmp_path / "other.plan.yaml").write_text("not: a plan")
    with RawClient(turnkeeper_argv("serve")) as raw:
        raw.initialize({"processId": None, "capabilities": {}, "workspaceFolders": None})
        added = {"uri": tmp_path.as_uri(), "name": "home"}
        event = {"event": {"added": [added], "removed": []}}
        raw.send(notification("workspace/didChangeWorkspaceFolders", event))

        editor = Editor(raw, tmp_path)
        faulty_is_marked(editor, "utf-16-le")
        # Nothing is said of a file that nobody opened.
        assert editor.nothing_waits()


def test_diagnostics_and_hints_follow_the_text_and_the_session(editor: Editor) -> None:
    editor.open("plan.yaml", FAULTY)
    assert len(editor.diagnostics("plan.yaml")[1]) == 1
    editor.change("plan.yaml", 2, {"text": FIXED})
    assert editor.diagnostics("plan.yaml") == (2, [])
    assert editor.hints("plan.yaml") == {}

    (editor.folder / "plan.yaml").write_bytes(FIXED.encode())
    editor.session("s")
    editor.arm("s", "plan.yaml")
    editor.refreshed()
    assert editor.hints("plan.yaml") == {3: "armed: 2 unchecked, blocked 0 of 3", 7: "next"}

    (editor.folder / "b.md").write_text("b")
    assert editor.stop("s") == "block"
    version, (gap,) = editor.diagnostics("plan.yaml")
    assert (version, gap["code"], gap["severity"]) == (2, "survey.1", 2)
    assert marked(FIXED, gap["range"], "utf-8").startswith("artifact_exists: {path:")
    assert "the file is missing" in gap["message"]
    assert "Create \U0001f600\U0001f680.md." in gap["message"]
    editor.refreshed()
    assert editor.hints("plan.yaml") == {3: "armed: 1 of 2 met, blocked 1 of 3", 7: "next"}

    (editor.folder / "\U0001f600\U0001f680.md").write_text("a")
    assert editor.stop("s") == "continue"
    assert editor.diagnostics("plan.yaml") == (2, [])
    editor.refreshed()
    assert editor.hints("plan.yaml") == {3: "done", 7: "armed: 1 unchecked, blocked 0 of 3"}


def test_a_session_makes_any_file_a_plan_and_its_end_takes_that_back(editor: Editor) -> None:
    editor.open("steps.txt", FIXED)
    editor.session("ending")
    editor.arm("ending", "steps.txt")
    assert editor.stop("ending") == "block"
    _, gaps = editor.diagnostics("steps.txt")
    assert [gap["code"] for gap in gaps] == ["survey.1", "survey.2"]
    assert editor.hints("steps.txt") != {}

    editor.ask("turnkeeper/sessionEnd", {"sessionId": "ending"})

    assert editor.diagnostics("steps.txt") == (1, [])
    editor.refreshed()
    assert editor.hints("steps.txt") == {}


def test_of_several_sessions_the_one_that_changed_last_is_shown(editor: Editor) -> None:
    editor.open("plan.yaml", FIXED)
    for session_id in ("a", "b"):
        editor.session(session_id)
        editor.arm(session_id, "plan.yaml")

    assert editor.stop("a") == "block"
    assert editor.hints("plan.yaml")[3] == "armed: 0 of 2 met, blocked 1 of 3"
    assert editor.ask("turnkeeper/plan/park", {"sessionId": "b"})["state"] == "parked"
    assert editor.hints("plan.yaml")[3] == "parked: 2 unchecked, blocked 0 of 3"


def test_a_closed_document_keeps_no_diagnostics(editor: Editor) -> None:
    editor.open("my.plan.yml", FAULTY)
    assert len(editor.diagnostics("my.plan.yml")[1]) == 1

    editor.close("my.plan.yml")

    assert editor.diagnostics("my.plan.yml") == (None, [])


def test_a_file_that_is_no_plan_is_left_alone(editor: Editor) -> None:
    editor.open("compose.yaml", FAULTY)
    assert editor.nothing_waits()
    assert editor.hints("compose.yaml") == {}


def test_a_half_typed_plan_gets_faults_and_the_next_version_its_own(editor: Editor) -> None:
    editor.open("plan.yaml", 'phases:\r\n  - id: "\U0001f600')
    assert editor.diagnostics("plan.yaml")[1] != []

    editor.change("plan.yaml", 2, {"text": "phases: ["})
    editor.change("plan.yaml", 3, {"text": FIXED})

    assert editor.diagnostics("plan.yaml") == (3, [])
