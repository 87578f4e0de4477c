"""Following recordings on disk: what is pushed as they grow, and that nothing is kept of them."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from core.errors import InvalidParams, Refusal, UnknownSession, Unreadable
from handlers import followed, follower
from tests.handlers.inproc import Host

LIMIT_SECONDS = 10.0
DAY = 24 * 3600

Row = dict[str, Any]


class Transcript:
    """A transcript of Claude Code that grows as the program writes it."""

    def __init__(self, home: Path, workspace: Path, session: str) -> None:
        folder = "".join(char if char.isalnum() else "-" for char in str(workspace))
        self.path = home / ".claude" / "projects" / folder / f"{session}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._common = {"sessionId": session, "cwd": str(workspace), "version": "2.1.0"}
        self._rows = 0

    def write(self, *rows: Row) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)

    def prompt(self, text: str) -> None:
        self.write(self._row("user", {"role": "user", "content": text}))

    def call(self, ident: str, tokens: int, output: int = 5) -> None:
        """Write a request that called Bash, and its answer: two tokens in the account."""
        block = {"type": "tool_use", "id": ident, "name": "Bash", "input": {}}
        message = {
            "id": f"m-{ident}", "role": "assistant", "model": "small", "content": [block],
            "usage": {"input_tokens": tokens, "output_tokens": output}, "stop_reason": "tool_use",
        }  # fmt: skip
        result = {"type": "tool_result", "tool_use_id": ident, "content": "done"}
        self.write(
            self._row("assistant", message),
            self._row("user", {"role": "user", "content": [result]}),
        )

    def helper(self, name: str, text: str) -> None:
        """Write a sub-agent's own file: one call of Read."""
        path = self.path.with_suffix("") / "subagents" / f"agent-{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        side = {"isSidechain": True, "agentId": name}
        call = {"type": "tool_use", "id": f"c-{name}", "name": "Read", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"c-{name}", "content": text}
        asked = {"id": f"m-{name}", "role": "assistant", "model": "small", "content": [call],
                 "usage": {"input_tokens": 9, "output_tokens": 1}}  # fmt: skip
        rows = [
            {**self._row("assistant", asked), **side},
            {**self._row("user", {"role": "user", "content": [result]}), **side},
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def _row(self, kind: str, message: Row) -> Row:
        self._rows += 1
        uuid = f"u{self._rows}"
        return {"type": kind, "message": message, "uuid": uuid, **self._common}


class Watched:
    """A client, and a home with recordings of its workspace."""

    def __init__(self, root: Path, base: Path) -> None:
        self.root, self.home = root, base / "home"
        self.host = Host(root, base / "work", environ={"CLAUDE_CONFIG_DIR": ""})
        self.host.app.hub.sessions.world.home = str(self.home)
        self.workspace = self.host.workspace

    def transcript(self, session: str) -> Transcript:
        return Transcript(self.home, self.workspace, session)

    def follow(self, **params: Any) -> list[Any]:
        asked = params or {"workspace": str(self.workspace)}
        found: list[Any] = self.host.ask("follow", None, **asked)["sessions"]
        return found

    def accounts(self, session: str) -> list[Any]:
        return [push for push in self.host.pushes("accounting") if push["sessionId"] == session]

    def until(self, is_so: Callable[[], object]) -> None:
        """Let time pass, as the loop would, until something is so."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not is_so():
            assert time.monotonic() < deadline, "it never came to be"
            self.host.run_soon()
            threading.Event().wait(0.01)

    def until_calls(self, session: str, calls: int) -> Any:
        def is_so() -> bool:
            accounts = self.accounts(session)
            return bool(accounts) and f"Bash × {calls}" in tools(accounts[-1])

        self.until(is_so)
        return self.accounts(session)[-1]

    def pass_time(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() > end)


def tools(account: Any) -> str:
    return str(account["snapshot"]["entries"].get("tools", {}).get("detail", ""))


@pytest.fixture
def watched(state_root: Path, tmp_path: Path) -> Iterator[Watched]:
    found = Watched(state_root, tmp_path)
    yield found
    found.host.app.close()


def test_a_transcript_is_read_and_its_growth_is_pushed(watched: Watched) -> None:
    script = watched.transcript("a1")
    script.prompt("Look around.")
    script.call("c1", tokens=100)

    (state,) = watched.follow()
    first = watched.until_calls("a1", 1)
    script.call("c2", tokens=150)
    second = watched.until_calls("a1", 2)

    assert (state["sessionId"], state["runtime"]) == ("a1", "claude_code")
    assert (state["state"], state["followed"]) == ("idle", True)
    assert state["workspace"] == str(watched.workspace)
    assert (first["final"], first["usage"]["input"]) == (False, 100)
    assert second["usage"]["input"] == 250
    assert second["seq"] > first["seq"]


def test_nothing_is_written_by_following(watched: Watched) -> None:
    script = watched.transcript("a1")
    script.prompt("Look around.")
    before = sorted(path.name for path in watched.root.rglob("*"))

    watched.follow()
    script.call("c1", tokens=100)
    watched.until_calls("a1", 1)
    watched.host.ask("accounting/snapshot", "a1")
    watched.host.ask("sessions", None)
    watched.host.app.close()

    assert sorted(path.name for path in watched.root.rglob("*")) == before


def test_one_account_is_pushed_for_a_burst(watched: Watched) -> None:
    script = watched.transcript("a1")
    script.prompt("Look around.")
    watched.follow()
    watched.until(lambda: watched.accounts("a1"))

    times: list[float] = []
    push = watched.host.app.hub.push

    def timed(method: str, params: Any) -> None:
        times.append(time.monotonic())
        push(method, params)

    watched.host.app.hub.push = timed
    for number in range(60):
        script.call(f"c{number}", tokens=10)
        watched.pass_time(0.01)
    watched.until_calls("a1", 60)

    assert all(b - a >= follower.PUSH_SECONDS for a, b in pairwise(times))
    assert 1 < len(times) < 20


def test_a_followed_session_can_be_asked_about(watched: Watched) -> None:
    script = watched.transcript("a1")
    script.prompt("Look around.")
    script.call("c1", tokens=100)
    script.prompt("And again.")
    watched.follow()
    watched.until(lambda: watched.accounts("a1"))
    ask = watched.host.ask

    (state,) = ask("sessions", None)["sessions"]
    latest = ask("accounting/snapshot", "a1")
    earlier = ask("accounting/snapshot", "a1", turnId="u1")

    assert (state["sessionId"], state["followed"]) == ("a1", True)
    assert (latest["turnId"], tools(latest)) == ("u4", "")
    assert (earlier["turnId"], tools(earlier)) == ("u1", "Bash × 1")
    with pytest.raises(InvalidParams):
        ask("accounting/snapshot", "a1", turnId="never")
    for method, params in (("prompt", {"turnId": "t", "text": "hi"}), ("plan/status", {})):
        with pytest.raises(UnknownSession):
            ask(method, "a1", **params)


def test_the_earlier_turns_of_a_long_session_are_let_go(watched: Watched) -> None:
    script = watched.transcript("a1")
    for number in range(followed.TURNS_KEPT + 2):
        script.prompt(f"Prompt {number}.")
        script.call(f"c{number}", tokens=1)
    watched.follow()
    watched.until(lambda: watched.accounts("a1"))

    assert watched.host.ask("accounting/snapshot", "a1", turnId="u4")["turnId"] == "u4"
    with pytest.raises(InvalidParams):
        watched.host.ask("accounting/snapshot", "a1", turnId="u1")


def test_a_sub_agent_s_file_that_appears_later_is_read_too(watched: Watched) -> None:
    script = watched.transcript("a1")
    script.prompt("Look around.")
    script.call("c1", tokens=100)
    watched.follow()
    watched.until_calls("a1", 1)

    script.helper("b2", "x" * 400)
    watched.until(lambda: watched.accounts("a1")[-1]["snapshot"].get("subagents"))

    (agent,) = watched.accounts("a1")[-1]["snapshot"]["subagents"]
    assert agent["agentId"] == "b2"
    assert agent["entries"]["tools"]["detail"] == "Read × 1"
    assert agent["usage"]["input"] == 9
    assert tools(watched.accounts("a1")[-1]) == "Bash × 1"


def test_a_file_that_is_written_anew_begins_its_session_anew(watched: Watched) -> None:
    script = watched.transcript("a1")
    script.prompt("Look around.")
    for number in range(3):
        script.call(f"c{number}", tokens=100)
    watched.follow()
    before = watched.until_calls("a1", 3)

    script.path.write_text("")
    script.prompt("Once more.")
    script.call("d1", tokens=7)
    after = watched.until_calls("a1", 1)

    assert after["usage"]["input"] == 7
    assert after["seq"] > before["seq"]


def test_a_file_that_is_gone_is_followed_no_longer_until_it_is_back(watched: Watched) -> None:
    script = watched.transcript("a1")
    script.prompt("Look around.")
    script.call("c1", tokens=100)
    watched.follow()
    before = watched.until_calls("a1", 1)

    script.path.unlink()
    watched.until(lambda: not watched.host.ask("sessions", None)["sessions"])
    script.prompt("Once more.")
    script.call("d1", tokens=7)
    script.call("d2", tokens=7)

    assert watched.until_calls("a1", 2)["seq"] > before["seq"]


def test_rows_that_are_written_piece_by_piece_count_as_whole_ones(
    watched: Watched, tmp_path: Path
) -> None:
    whole = Transcript(tmp_path / "whole", watched.workspace, "a1")
    for number in range(6):
        whole.prompt(f"Prompt {number}, \N{SEEDLING}.")
        whole.call(f"c{number}", tokens=100)
        whole.call(f"d{number}", tokens=150)
    data = whole.path.read_bytes()
    script = watched.transcript("a1")
    watched.follow()

    for start in range(0, len(data), 577):
        with script.path.open("ab") as file:
            file.write(data[start : start + 577])
        watched.pass_time(0.03)
    watched.until(lambda: watched.accounts("a1") and watched.accounts("a1")[-1]["turnId"] == "u26")
    grown = watched.until_calls("a1", 2)
    watched.follow(workspace=str(watched.workspace), off=True)
    watched.follow(path=str(whole.path))
    watched.until(lambda: watched.accounts("a1")[-1]["seq"] != grown["seq"])

    assert {**watched.accounts("a1")[-1], "seq": 0} == {**grown, "seq": 0}


def test_a_session_that_comes_later_is_found(watched: Watched) -> None:
    assert watched.follow() == []

    script = watched.transcript("a1")
    script.prompt("Look around.")
    script.call("c1", tokens=100)

    watched.until_calls("a1", 1)


def test_a_recording_that_rests_is_opened_when_it_grows(watched: Watched) -> None:
    script = watched.transcript("a1")
    script.prompt("Look around.")
    old = time.time() - DAY - 60
    os.utime(script.path, (old, old))

    assert watched.follow() == []
    script.call("c1", tokens=100)

    watched.until_calls("a1", 1)


def test_the_first_rows_need_not_name_the_folder(watched: Watched) -> None:
    script = watched.transcript("a1")
    script.write({"type": "summary", "summary": "Earlier.", "leafUuid": "l"})
    (state,) = watched.follow()
    rules = {"path": f"{watched.workspace}/CLAUDE.md", "content": "x" * 40}
    script.prompt("Look around.")
    script.write(
        {
            "type": "attachment",
            "sessionId": script.path.stem,
            "attachment": {"type": "instructions", "files": [rules]},
        }
    )
    script.call("c1", tokens=100)

    account = watched.until_calls("a1", 1)

    assert state["workspace"] == ""
    (state,) = watched.host.ask("sessions", None)["sessions"]
    assert (state["workspace"], state["model"]) == (str(watched.workspace), "small")
    assert account["snapshot"]["entries"]["rules"]["source"] == "workspace/CLAUDE.md"


def test_what_a_host_reports_itself_is_not_followed_twice(watched: Watched) -> None:
    for name in ("a1", "b1"):
        script = watched.transcript(name)
        script.prompt("Look around.")
    watched.host.start("a1")

    assert [state["sessionId"] for state in watched.follow()] == ["b1"]
    watched.host.start("b1")
    watched.until(lambda: not any(s.get("followed") for s in all_sessions(watched)))
    assert sorted(state["sessionId"] for state in all_sessions(watched)) == ["a1", "b1"]


def all_sessions(watched: Watched) -> list[Any]:
    found: list[Any] = watched.host.ask("sessions", None)["sessions"]
    return found


def test_it_ends_when_it_is_switched_off(watched: Watched) -> None:
    script = watched.transcript("a1")
    script.prompt("Look around.")
    script.call("c1", tokens=100)
    watched.follow()
    watched.until_calls("a1", 1)
    pushed = len(watched.accounts("a1"))

    assert watched.follow(workspace=str(watched.workspace), off=True) == []
    script.call("c2", tokens=100)
    watched.pass_time(1.0)

    assert len(watched.accounts("a1")) == pushed
    assert all_sessions(watched) == []
    with pytest.raises(UnknownSession):
        watched.host.ask("accounting/snapshot", "a1")


def test_switching_off_leaves_what_another_call_asked_for(watched: Watched) -> None:
    script = watched.transcript("a1")
    script.prompt("Look around.")
    watched.follow()
    (state,) = watched.follow(path=str(script.path))
    assert state["sessionId"] == "a1"

    watched.follow(workspace=str(watched.workspace), off=True)
    assert [state["sessionId"] for state in all_sessions(watched)] == ["a1"]
    watched.follow(path=str(script.path), off=True)
    assert all_sessions(watched) == []


def test_one_file_is_followed_wherever_it_lies_and_however_old_it_is(
    watched: Watched, tmp_path: Path
) -> None:
    script = Transcript(tmp_path / "elsewhere", watched.workspace, "a1")
    script.prompt("Look around.")
    script.call("c1", tokens=100)
    os.utime(script.path, (1, 1))

    watched.follow(path=str(script.path))

    watched.until_calls("a1", 1)


def test_a_file_that_is_no_recording_is_refused(watched: Watched, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("milk\n")
    script = watched.transcript("a1")
    script.prompt("Look around.")
    wrong: tuple[tuple[dict[str, Any], type[Refusal]], ...] = (
        ({"path": str(tmp_path / "list.txt")}, Unreadable),
        ({"path": str(tmp_path / "gone.jsonl")}, Unreadable),
        ({"path": str(tmp_path)}, Unreadable),
        ({"path": str(script.path), "runtime": "codex_runtime"}, InvalidParams),
        ({"workspace": str(tmp_path), "runtime": "x-mine"}, InvalidParams),
        ({"workspace": str(tmp_path), "path": str(script.path)}, InvalidParams),
        ({"workspace": "some/where"}, InvalidParams),
    )
    for params, refusal in wrong:
        with pytest.raises(refusal):
            watched.follow(**params)
    assert all_sessions(watched) == []


def test_only_the_newest_are_followed_when_there_are_many(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "FOLLOWED_MAX", 3)
    monkeypatch.setattr(follower, "LIST_SECONDS", 0.1)
    for number in range(5):
        script = watched.transcript(f"s{number}")
        script.prompt("Look around.")
        then = time.time() - 3600 + number
        os.utime(script.path, (then, then))

    assert [state["sessionId"] for state in watched.follow()] == ["s4", "s3", "s2"]
    watched.transcript("s0").prompt("And again.")
    watched.until(lambda: watched.accounts("s0"))
    watched.pass_time(0.5)

    assert {state["sessionId"] for state in all_sessions(watched)} == {"s4", "s3", "s0"}


def test_a_long_transcript_is_read_in_slices(watched: Watched) -> None:
    script = watched.transcript("a1")
    script.prompt("Look around.")
    for number in range(8000):
        script.call(f"c{number}", tokens=1)
    watched.follow()
    slices: list[float] = []

    def run() -> None:
        begun = time.process_time()
        watched.host.run_soon()
        slices.append(time.process_time() - begun)

    while not watched.accounts("a1"):
        run()

    assert len(slices) > 5
    assert sorted(slices)[-2] < 0.1  # One may hold the making of the account.
    assert tools(watched.accounts("a1")[0]) == "Bash × 8000"
