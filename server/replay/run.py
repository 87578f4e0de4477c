"""Plays a recorded session to `turnkeeper serve`, started as a host would start it."""

import os
import site
from collections.abc import Callable
from typing import Any

from core.errors import PlanRefused
from core.events import Prompt, SelectedSkill, SessionEnd, SessionStart, ToolCall, TurnEnd, Usage
from core.recordings.contract import AgentSeen, Fault, FileChange, SkillBody, Step
from core.recordings.recording import Recording
from server.interrupts import Interrupts
from server.replay.client import ChildFailed, Refused, Sidecar
from server.replay.kept import check_state
from server.replay.messages import message_of
from server.replay.report import Report, Stop
from server.replay.scratch import Copied, Scratch

SHELL_TOOLS = frozenset({"Bash", "exec_command", "shell", "local_shell"})
RECEIPTS_PER_PAGE = 1_000

# What decides for a user's own sessions must not reach into a replay.
_OURS = ("TURNKEEPER_", "PHASE_", "TOOL_RECEIPTS_", "CONTEXT_INFRA_", "CLAUDE_", "XDG_")

Progress = Callable[[int, int], None]  # Steps played, and steps in all; 0 while that is unknown.


def replay(
    file: str,
    plan: str | None = None,
    workspace: str | None = None,
    state: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Replay a Claude Code transcript and report what the server said to it.

    `plan` is armed once the session has started; `workspace` gives the files as they were before
    it; `state` is a folder that keeps the state root. All else is temporary and removed, also when
    a signal ends this. Raises UnknownFormat, StateInTheWay, PlanRefused, ChildFailed, or OSError
    for a file that cannot be read.
    """
    transcript = Recording(file)
    if state is not None:
        check_state(state, transcript.head.session_id)
    with Interrupts() as interrupts, Scratch(transcript.head.cwd) as scratch:
        with interrupts.heard():
            copied = Copied() if workspace is None else scratch.copy_from(workspace)
            total = _prepare(transcript, scratch, progress or _silent)
        with Sidecar(scratch.root, _environment(scratch, state)) as sidecar, interrupts.heard():
            sidecar.initialize(scratch.workspace)
            player = _Player(transcript, scratch, sidecar, plan)
            player.play_all(total, progress or _silent)
        player.report.not_copied = copied.left_out
        return player.report


def _prepare(transcript: Recording, scratch: Scratch, progress: Progress) -> int:
    """Lay out the skills that the recording carries; give the number of steps."""
    total = 0
    for step in transcript.steps():
        total += 1
        progress(total, 0)
        if isinstance(step.event, SkillBody):
            scratch.keep_skill(step.event)
    return total


def _silent(_done: int, _total: int) -> None:
    pass


def _environment(scratch: Scratch, state: str | None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return {
        **kept,
        "HOME": scratch.home,
        "USERPROFILE": scratch.home,
        # Packages that the user installed for themselves are found through HOME otherwise.
        "PYTHONUSERBASE": site.getuserbase(),
        "TURNKEEPER_STATE_DIR": scratch.state if state is None else os.path.abspath(state),
    }


class _Player:
    """Sends one step after the other and writes down the answers."""

    def __init__(
        self, transcript: Recording, scratch: Scratch, sidecar: Sidecar, plan: str | None
    ) -> None:
        head = transcript.head
        self.report = Report(head.session_id, head.runtime, head.version)
        self._transcript = transcript
        self._scratch = scratch
        self._sidecar = sidecar
        self._plan = plan

    def play_all(self, total: int, progress: Progress) -> None:
        """Play the whole recording."""
        for done, step in enumerate(self._transcript.steps(), start=1):
            self._play(step)
            progress(done, total)
        self.report.unreadable = list(self._transcript.faults)

    def _play(self, step: Step) -> None:
        """Do what the step says; what the server refuses is noted with its line."""
        event = step.event
        match event:
            case FileChange():
                self._change(event)
            case SkillBody() | AgentSeen():
                pass  # The first lay ready before the session began; the second says nothing.
            case SessionStart():
                self._start(event)
            case SessionEnd():
                self._finish(step)
            case _:
                self._tell(step)

    def _start(self, event: SessionStart) -> None:
        try:
            self._send(event._replace(workspace=self._scratch.workspace))
        except Refused as refused:
            raise ChildFailed(
                f"the session cannot be started: {refused.message}",
                hint=self._sidecar.last_words(),
            ) from None
        if self._plan is None or self.report.plan_state is not None:
            return
        try:
            self.report.plan_state = self._ask("plan/arm", path=os.path.abspath(self._plan))
        except Refused as refused:
            problems = refused.data.get("problems") or ()
            raise PlanRefused(refused.message, problems=tuple(problems)) from None

    def _tell(self, step: Step) -> None:
        event = step.event
        if isinstance(event, FileChange | SkillBody | AgentSeen) or message_of(event) is None:
            return  # No method tells it, and no plan asks for it.
        if isinstance(event, Usage) and event.inherited:
            return  # It counts in the session that this one was forked from.
        if isinstance(event, Prompt):
            event = event._replace(selected_skills=tuple(map(self._here, event.selected_skills)))
        try:
            answer = self._send(event)
        except Refused as refused:
            self.report.refused.append(Fault(step.line, refused.message))
            return
        if isinstance(event, Prompt):
            self.report.turn(event.turn_id).injections.extend(answer["injections"])
        elif isinstance(event, TurnEnd):
            self.report.add_stop(event.turn_id, Stop(step.line, step.recorded, answer))
        elif isinstance(event, ToolCall):
            self.report.shell_calls += event.name in SHELL_TOOLS

    def _finish(self, step: Step) -> None:
        self.report.receipts = self._receipts()
        self._tell(step)

    def _change(self, change: FileChange) -> None:
        if self._scratch.play(change):
            self.report.played += 1
        else:
            self.report.not_played.append(change.path)

    def _here(self, skill: SelectedSkill) -> SelectedSkill:
        place = self._scratch.place_of(skill.source_path) if skill.source_path else None
        return skill._replace(source_path=place)

    def _receipts(self) -> list[Any]:
        found: list[Any] = []
        since: int | None = None
        while True:
            asked = {} if since is None else {"since": since}
            page = self._ask("receipts", limit=RECEIPTS_PER_PAGE, **asked)
            found += page["receipts"]
            since = page.get("next")
            if since is None:
                return found

    def _send(self, event: Any) -> Any:
        message = message_of(event)
        assert message is not None, type(event).__name__
        return self._sidecar.request(
            message.method, {"sessionId": self.report.session_id, **message.params}
        )

    def _ask(self, name: str, **params: object) -> Any:
        return self._sidecar.request(
            f"turnkeeper/{name}", {"sessionId": self.report.session_id, **params}
        )
