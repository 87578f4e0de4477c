"""A Claude Code transcript file as a sequence of canonical events, each with its line number."""

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import NamedTuple

from core.events import Event, Json, Prompt, SessionEnd, SessionStart, TurnEnd
from core.runtimes import claude_code as rows
from core.runtimes.claude_code import Blocks, FileChange, SkillBody
from core.runtimes.claude_file import Fault, Head, Row, read_head, text_of
from core.runtimes.claude_file import rows as rows_of_file

OPENING_TURN = "before-first-prompt"  # Rows before the first prompt are a turn of this name.

BLOCKED, ENDED, NOT_RECORDED = "blocked", "ended", ""


class Step(NamedTuple):
    """One thing that a transcript tells, and the line that tells it.

    `recorded` says of a TurnEnd what the recorded session did there: blocked, ended, or "" where
    no stop was recorded.
    """

    line: int
    event: Event | FileChange | SkillBody
    recorded: str = NOT_RECORDED


class Transcript:
    """A transcript file, read once for its head and then as often as `steps` is called."""

    def __init__(self, path: str) -> None:
        """Read the head; raise UnknownFormat for another format and OSError as it comes."""
        self.path = path
        self.head = read_head(path)
        self.faults: list[Fault] = []

    def steps(self) -> Iterator[Step]:
        """Give everything in the file, in order; `faults` then names the lines set aside."""
        self.faults = []
        reader = _Reader(self.head)
        head = self.head
        yield Step(
            1,
            SessionStart(
                rows.RUNTIME,
                head.cwd,
                model=head.model,
                source="startup",
                parent_session_id=head.parent_session_id,
            ),
        )
        line = 1
        for line, row in rows_of_file(self.path, self.faults):
            yield from reader.read(line, row)
        yield from reader.finish(line)
        yield Step(line, SessionEnd())


class _Turn:
    """The open turn, as far as the rows so far have told."""

    __slots__ = ("id", "is_active", "last_text", "outcome", "stops")

    def __init__(self, turn_id: str) -> None:
        self.id = turn_id
        self.stops = 0
        self.outcome = "completed"
        self.last_text: str | None = None
        self.is_active = True  # Something happened since its last stop.


class _Reader:
    """Turns rows into steps; holds the open turn and what is waiting for its other half."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._turn: _Turn | None = None
        self._turn_ids: set[str] = set()
        self._held: Step | None = None  # A typed command: the next row tells whether it is a skill.
        self._stop_ids: set[str] = set()  # Stops that a feedback row has told of.
        self._is_local = False  # The next command ran in the program, the model never saw it.
        self._calls: set[str] = set()
        self._results: set[str] = set()
        self._writes: dict[str, tuple[str, Json]] = {}
        self._last_usage: Event | None = None
        self._agents: dict[str, str] = {}  # Row of a sub-agent -> the agent.
        self._tasks: dict[str, str] = {}  # Digest of a sub-agent's prompt -> the call that sent it.
        self._readers: dict[str, Callable[[int, Row], Iterator[Step]]] = {
            "user": self._user,
            "assistant": self._assistant,
            "system": self._system,
            "attachment": self._attachment,
            "progress": self._progress,
        }

    def read(self, line: int, row: Row) -> Iterator[Step]:
        """Give what this row tells; an unknown type tells nothing."""
        reader = self._readers.get(text_of(row, "type"))
        if reader is None:
            return
        if row.get("isSidechain") is True and not self._head.side_only:
            yield from self._side(line, row, text_of(row, "agentId") or self._agent(row), None)
        else:
            yield from reader(line, row)

    def finish(self, line: int) -> Iterator[Step]:
        """End what is still open at the end of the file."""
        yield from self._release()
        yield from self._end_turn(line)

    def _user(self, line: int, row: Row) -> Iterator[Step]:
        found = rows.blocks(row.get("message"))
        body = rows.skill_body(found.text) if row.get("isMeta") else None
        yield from self._release(body)
        if rows.is_stop_feedback(row, found.text):
            yield from self._stop(line, BLOCKED)
        elif body is not None:
            yield Step(line, body)
        elif found.results:
            self._act("completed")
            yield from self._tool_results(line, row, found, None)
        if rows.is_interrupt(found.text):
            self._act("interrupted")
        elif rows.is_caveat(found.text):
            self._is_local = True
        elif _is_prompt(row, found):
            yield from self._prompt(line, row, found.text)

    def _prompt(self, line: int, row: Row, text: str) -> Iterator[Step]:
        was_local, self._is_local = self._is_local, False
        if rows.is_local(text) or (was_local and rows.is_command(text)):
            return
        by_human = not rows.is_from_machine(text) and not self._head.side_only
        if by_human or self._turn is None or self._is_at_rest(self._turn):
            yield from self._end_turn(line)
            self._open(self._new_id(row))
        step = Step(line, Prompt(self._turn_id(), text, by_human))
        if rows.is_command(text):
            self._held = step
        else:
            yield step

    def _assistant(self, line: int, row: Row) -> Iterator[Step]:
        yield from self._release()
        message = row.get("message")
        found = rows.blocks(message)
        if row.get("isApiErrorMessage"):
            self._act("failed")
        elif isinstance(message, dict) and message.get("model") != rows.SYNTHETIC_MODEL:
            turn = self._act("completed")
            turn.last_text = found.text or turn.last_text
            yield from self._tool_calls(line, found, None, None)
            yield from self._usage(line, row)

    def _usage(self, line: int, row: Row) -> Iterator[Step]:
        usage = rows.usage(row)
        if usage is not None and usage != self._last_usage:
            self._last_usage = usage
            yield Step(line, usage)

    def _system(self, line: int, row: Row) -> Iterator[Step]:
        subtype = row.get("subtype")
        if subtype == "stop_hook_summary":
            yield from self._release()
            yield from self._summary(line, row)
        elif subtype == "compact_boundary":
            yield from self._release()
            yield Step(line, rows.compaction(row))

    def _attachment(self, line: int, row: Row) -> Iterator[Step]:
        attachment = row.get("attachment")
        if not isinstance(attachment, dict):
            return
        if attachment.get("type") == "queued_command":
            yield from self._queued(line, attachment)
        elif attachment.get("type") == "hook_blocking_error":
            self._stop_ids.add(text_of(attachment, "toolUseID"))
        for event in rows.instruction_files(attachment, self._head.cwd):
            yield Step(line, event)

    def _queued(self, line: int, attachment: Row) -> Iterator[Step]:
        # The program folds a prompt that came meanwhile into the running turn: one stop for both.
        text = rows.blocks({"content": attachment.get("prompt")}).text
        if text and not rows.is_local(text):
            yield from self._release()
            self._act("completed")
            yield Step(line, Prompt(self._turn_id(), text, not rows.is_from_machine(text)))

    def _progress(self, line: int, row: Row) -> Iterator[Step]:
        data = row.get("data")
        if isinstance(data, dict) and data.get("type") == "agent_progress":
            message = data.get("message")
            agent_id, parent = text_of(data, "agentId"), text_of(row, "parentToolUseID")
            if isinstance(message, dict) and agent_id:
                yield from self._side(line, message, agent_id, parent or None)

    def _side(self, line: int, row: Row, agent_id: str, parent: str | None) -> Iterator[Step]:
        """A sub-agent's row in its parent's file: only its calls and their results."""
        found = rows.blocks(row.get("message"))
        parent = parent or (agent_id if agent_id in self._calls else None)
        yield from self._release()
        yield from self._tool_calls(line, found, agent_id, parent)
        yield from self._tool_results(line, row, found, agent_id)

    def _agent(self, row: Row) -> str:
        """Name the agent of an old row without one: the call whose prompt its chain began with."""
        uuid, parent = text_of(row, "uuid"), text_of(row, "parentUuid")
        agent_id = self._agents.get(parent, "")
        if not agent_id:
            text = rows.blocks(row.get("message")).text
            agent_id = self._tasks.get(_digest(text), "") or f"side-{uuid[:8] or 'unknown'}"
        self._agents[uuid] = agent_id
        return agent_id

    def _tool_calls(
        self, line: int, found: Blocks, agent_id: str | None, parent: str | None
    ) -> Iterator[Step]:
        for call in found.calls:
            call_id, name, given = call
            if call_id in self._calls:
                continue
            self._calls.add(call_id)
            if name in rows.WRITERS:
                self._writes[call_id] = (name, given)
            if name in rows.AGENT_TOOLS and isinstance(given, dict):
                self._tasks[_digest(text_of(given, "prompt"))] = call_id
            yield Step(line, rows.tool_call(call, self._turn_id(), agent_id, parent))

    def _tool_results(
        self, line: int, row: Row, found: Blocks, agent_id: str | None
    ) -> Iterator[Step]:
        for result in found.results:
            call_id, _, is_error = result
            if call_id in self._results:
                continue
            self._results.add(call_id)
            name, given = self._writes.pop(call_id, ("", None))
            change = rows.file_change(name, given, row.get("toolUseResult")) if name else None
            if change is not None and not is_error:
                yield Step(line, change)
            yield Step(line, rows.tool_result(result, agent_id))

    def _summary(self, line: int, row: Row) -> Iterator[Step]:
        # Some versions write the summary of a blocked stop only after the next one.
        stop_id = text_of(row, "toolUseID")
        if not stop_id or stop_id not in self._stop_ids:
            yield from self._stop(line, _what_hooks_did(row))
        self._stop_ids.add(stop_id)

    def _stop(self, line: int, recorded: str) -> Iterator[Step]:
        """One recorded stop; the second row about the same stop adds nothing."""
        turn = self._turn or self._open(OPENING_TURN)
        if turn.is_active:
            yield self._turn_end(line, turn, "completed", recorded)

    def _end_turn(self, line: int) -> Iterator[Step]:
        """The turn is over, with a recorded stop or without one."""
        turn = self._turn
        if turn is not None and turn.is_active:
            yield self._turn_end(line, turn, turn.outcome, NOT_RECORDED)

    def _turn_end(self, line: int, turn: _Turn, outcome: str, recorded: str) -> Step:
        event = TurnEnd(turn.id, outcome, turn.last_text, stop_hook_active=turn.stops > 0)
        turn.stops += 1
        turn.is_active = False
        return Step(line, event, recorded)

    def _release(self, body: SkillBody | None = None) -> Iterator[Step]:
        """Give the held prompt, with its skill where the row after it is that skill's body."""
        step, self._held = self._held, None
        if step is None or not isinstance(step.event, Prompt):
            return
        if body is not None:
            skill = rows.typed_skill(step.event.text, body)
            step = step._replace(event=step.event._replace(selected_skills=(skill,)))
        yield step

    def _act(self, outcome: str) -> _Turn:
        """Something happened in the open turn; rows before the first prompt open one."""
        turn = self._turn or self._open(OPENING_TURN)
        turn.is_active, turn.outcome = True, outcome
        return turn

    def _open(self, turn_id: str) -> _Turn:
        self._turn = _Turn(turn_id)
        self._turn_ids.add(turn_id)
        return self._turn

    def _turn_id(self) -> str:
        return (self._turn or self._open(OPENING_TURN)).id

    def _new_id(self, row: Row) -> str:
        for candidate in (text_of(row, "promptId"), text_of(row, "uuid")):
            if candidate and candidate not in self._turn_ids:
                return candidate
        return f"turn-{len(self._turn_ids) + 1}"

    def _is_at_rest(self, turn: _Turn) -> bool:
        return not turn.is_active or turn.outcome == "interrupted"


def _is_prompt(row: Row, found: Blocks) -> bool:
    if row.get("isMeta") or row.get("isCompactSummary") or "toolUseResult" in row:
        return False
    return not found.results and bool(found.text.strip() or found.has_media)


def _what_hooks_did(row: Row) -> str:
    errors, failed = row.get("hookErrors"), row.get("failedHookErrorIndexes")
    blocking = _count(errors) - _count(failed) + _count(row.get("hookAdditionalContext"))
    return BLOCKED if blocking > 0 and not row.get("preventedContinuation") else ENDED


def _count(value: Json) -> int:
    return len(value) if isinstance(value, list) else 0


def _digest(text: str) -> str:
    return sha256(text.encode(errors="replace")).hexdigest()
