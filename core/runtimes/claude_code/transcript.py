"""The rows of a transcript file of Claude Code 1.0 to 2.1."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from core.events import Context, Skill
from core.recordings.contract import BLOCKED, ENDED, Row, SkillBody
from core.runtimes.claude_code import attachments, rows
from core.runtimes.claude_code.messages import tell_message
from core.runtimes.claude_code.rows import Blocks
from core.runtimes.claude_code.shapes import SYNTHETIC_MODEL, dict_of, list_of, text_of
from core.runtimes.claude_code.state import (
    EARLY_ROWS_MAX,
    FIRST_WITH_REQUESTS,
    State,
    Thread,
    digest,
    is_before,
)
from core.units import utf16_units

if TYPE_CHECKING:
    from core.runtimes.claude_code.requests import RequestLog


class Held:
    """A command that a person typed: the row after it tells whether it loads a skill."""

    __slots__ = ("by_human", "is_told", "name", "prompt_id", "text", "uuid")

    def __init__(self, row: Row, text: str, by_human: bool, is_told: bool) -> None:
        self.name = rows.typed_command(text)
        self.text, self.by_human = text, by_human
        self.uuid, self.prompt_id = text_of(row, "uuid"), text_of(row, "promptId")
        self.is_told = is_told  # A hook has told the prompt.

    def is_followed_by(self, row: Row) -> bool:
        """Say whether this row of the program's is the text of the command."""
        parent, prompt = text_of(row, "parentUuid"), text_of(row, "promptId")
        return bool((parent and parent == self.uuid) or (prompt and prompt == self.prompt_id))


class TranscriptRows:
    """Reads rows of the session's own file, and of its sub-agents' files."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._turns = state.turns
        self._held: Held | None = None
        self._stop_ids: set[str] = set()  # Stops that a feedback row has told of.
        self._is_local = False  # The next command ran in the program, no model was asked.
        self._chain: dict[str, str] = {}  # Row of an inline sub-agent -> the agent.
        self._attached: dict[str, Callable[[Row, Row], None]] = {
            "queued_command": self._queued,
            "invoked_skills": self._invoked,
            "prompt_snapshot": self._snapshot,
            "hook_blocking_error": self._blocking_error,
        }

    def user(self, row: Row) -> None:
        """Read a user row: a prompt, results, or what the program put in."""
        if row.get("isSidechain") is True and self._went_to_side(row):
            return
        found = rows.blocks(rows.content_of(row))
        state = self._state
        main = state.main
        if not state.first_row:
            state.first_row = text_of(row, "uuid")
        if main.log is not None or main.early is not None:
            self._keep(main, row)
        if found.results and not found.text:
            if self._held is not None:
                self._release()
            self._turns.act()
            self._results(main, row, found)
            return
        is_meta = bool(row.get("isMeta"))
        is_skill = self._body_or_release(main, row, found.text if is_meta else "")
        if found.results:
            self._turns.act()
            self._results(main, row, found)
        text = found.text
        if is_meta and rows.is_stop_feedback(text):
            self._turns.stop(BLOCKED)
        if rows.is_interrupt(text):
            self._turns.act("interrupted")
            self._state.say(main, "program", text)
        elif rows.is_caveat(text):
            self._is_local = True
            self._state.say(main, "program", text)
        elif _is_prompt(row, found):
            self._prompt(row, text)
        elif not is_skill and (found.results or is_meta or row.get("isCompactSummary")):
            self._state.say(main, "program", text)

    def assistant(self, row: Row) -> None:
        """Read a row of a message of the model."""
        if row.get("isSidechain") is True and self._went_to_side(row):
            return
        if self._held is not None:
            self._release()
        message, main = row.get("message"), self._state.main
        if main.log is not None or main.early is not None:
            self._keep(main, row)
        if row.get("isApiErrorMessage"):
            self._turns.act("failed")
        elif isinstance(message, dict) and message.get("model") != SYNTHETIC_MODEL:
            turn = self._turns.act()
            turn.last_text = tell_message(self._state, main, row, False) or turn.last_text

    def system(self, row: Row) -> None:
        """Read a row of the program: a stop, a compaction."""
        subtype = row.get("subtype")
        if subtype == "stop_hook_summary":
            self._release()
            self._summary(row)
        elif subtype == "compact_boundary" and row.get("isSidechain") is not True:
            self._release()
            self._state.compact_skills(self._state.main, rows.preserved_rows(row))
            self._state.compacted("transcript", row, "transcript/compact_boundary")

    def attachment(self, row: Row) -> None:
        """Read what the program put beside the conversation."""
        if row.get("isSidechain") is True and self._went_to_side(row):
            return
        attachment = dict_of(row, "attachment")
        self._keep(self._state.main, row)
        kind = text_of(attachment, "type")
        special = self._attached.get(kind)
        if special is not None:
            special(attachment, row)
            return
        for event in attachments.events(attachment, row, self._state.head.cwd):
            if isinstance(event, Context) and event.kind in attachments.INSTRUCTION_KINDS:
                self._state.supply(event)
            else:
                self._state.tell(event)
        if kind not in attachments.OF_A_KIND:
            self._state.say(self._state.main, "program", attachments.text(attachment, row))

    def progress(self, row: Row) -> None:
        """Read what a sub-agent did meanwhile; its own file tells it again, and better."""
        data = row.get("data")
        if not isinstance(data, dict) or data.get("type") != "agent_progress":
            return
        message, agent_id = data.get("message"), text_of(data, "agentId")
        if not isinstance(message, dict) or not agent_id:
            return
        parent = text_of(row, "parentToolUseID")
        self._state.agent_seen(agent_id, parent)
        self._side(self._state.thread(agent_id, parent), message, is_first_look=True)

    def request(self, row: Row) -> None:
        """Read a row of what the model was sent."""
        self._request(self._state.main, row)

    def side(self, agent_id: str, row: Row) -> None:
        """Read a row of a sub-agent's own file."""
        kind = row.get("type")
        thread = self._state.thread(agent_id)
        if kind == "user" or kind == "assistant":
            self._side(thread, row, is_first_look=False)
        elif kind == "attachment":
            self._keep(thread, row)
            attachment = dict_of(row, "attachment")
            self._state.say(thread, "program", attachments.text(attachment, row))
        elif isinstance(kind, str) and kind.startswith("api-request"):
            self._request(thread, row)

    def finish(self) -> None:
        """End what is still open at the end of the file."""
        self._release()
        self._state.tell_snapshot(self._state.main)
        self._turns.end()

    def _went_to_side(self, row: Row) -> bool:
        """Hand a sub-agent's row in its parent's file to the sub-agent."""
        if self._state.head.side_only:
            return False
        agent_id = text_of(row, "agentId") or self._agent(row)
        self._release()
        if row.get("type") != "attachment":
            self._side(self._state.thread(agent_id), row, is_first_look=False)
        return True

    def _side(self, thread: Thread, row: Row, is_first_look: bool) -> None:
        """A sub-agent's message or results."""
        state = self._state
        self._keep(thread, row)
        if row.get("type") == "assistant":
            message = row.get("message")
            if isinstance(message, dict) and message.get("model") != SYNTHETIC_MODEL:
                tell_message(state, thread, row, is_first_look)
            return
        found = rows.blocks(rows.content_of(row))
        self._results(thread, row, found)
        body = rows.skill_body(found.text)
        if body is not None:
            state.tell(body)
            state.load(thread, self._loaded(thread, row, body, found.text), text_of(row, "uuid"))
        elif found.text and not is_first_look:
            state.say(thread, "program" if row.get("isMeta") else "user", found.text)

    def _agent(self, row: Row) -> str:
        """Name the agent of an old row without one: the call whose prompt its chain began with."""
        uuid, parent = text_of(row, "uuid"), text_of(row, "parentUuid")
        agent_id = self._chain.get(parent, "")
        if not agent_id:
            text = rows.blocks(rows.content_of(row)).text
            agent_id = self._state.tasks.get(digest(text), "") or f"side-{uuid[:8] or 'unknown'}"
        self._chain[uuid] = agent_id
        return agent_id

    def _results(self, thread: Thread, row: Row, found: Blocks) -> None:
        outcome = row.get("toolUseResult")
        if isinstance(outcome, dict) and len(found.results) == 1:
            self._state.agent_seen(text_of(outcome, "agentId"), found.results[0][0])
        for result in found.results:
            self._state.result(thread, result, outcome)

    def _prompt(self, row: Row, text: str) -> None:
        was_local, self._is_local = self._is_local, False
        state, turns = self._state, self._turns
        command = rows.typed_command(text)
        if rows.is_local(text) or (was_local and command):
            state.say(state.main, "program", text)
            return
        prompt_id = text_of(row, "promptId")
        by_human = not rows.is_from_machine(text) and not state.head.side_only
        is_told = bool(prompt_id) and not turns.is_new("transcript", prompt_id)
        if not is_told and (by_human or turns.is_at_rest()):
            turns.open(turns.new_id(prompt_id, text_of(row, "uuid")))
        if command:
            self._held = Held(row, text, by_human, is_told)
        elif not is_told:
            turns.prompt(text, by_human)

    def _body_or_release(self, thread: Thread, row: Row, text: str) -> bool:
        """Tell the held prompt, and the skill whose body this text of the program's is, if any."""
        body = rows.skill_body(text) if text else None
        held = self._held
        if body is not None:
            skill = self._loaded(thread, row, body, text)
            self._release(body)
            self._state.tell(body)
            self._state.load(thread, skill, text_of(row, "uuid"))
            return True
        self._release()
        if held is None or not text or not held.is_followed_by(row) or rows.is_caveat(text):
            return False
        skill = Skill(held.name, "loaded", None, utf16_units(text))
        self._state.load(thread, skill, text_of(row, "uuid"))
        return True

    def _loaded(self, thread: Thread, row: Row, body: SkillBody, text: str) -> Skill:
        typed = "" if self._held is None else self._held.name
        name = self._state.skill_of(text_of(row, "sourceToolUseID")) or typed
        units, file = utf16_units(text), rows.skill_file(body)
        name = name or rows.folder_name(body)
        return Skill(name, "loaded", file, units, agent_id=thread.agent_id)

    def _release(self, body: SkillBody | None = None) -> None:
        """Tell the held prompt, with its skill where the row after it is that skill's body."""
        held, self._held = self._held, None
        if held is None or held.is_told:
            return
        skills = () if body is None else (rows.selected(held.name, body),)
        self._turns.prompt(held.text, held.by_human, skills)

    def _queued(self, attachment: Row, row: Row) -> None:
        # The program folds a prompt that came meanwhile into the running turn: one stop for both.
        found = rows.blocks(attachment.get("prompt"))
        text = found.text
        if not (text or found.has_media) or rows.is_local(text):
            return
        self._release()
        self._turns.act()
        if self._turns.is_new("transcript", self._turns.id()):
            self._turns.prompt(text, not rows.is_from_machine(text))

    def _invoked(self, attachment: Row, row: Row) -> None:
        for skill in attachments.invoked_skills(attachment):
            self._state.load(self._state.main, skill, text_of(row, "uuid"))

    def _snapshot(self, attachment: Row, row: Row) -> None:
        found = attachments.system_prompt(attachment)
        if found is not None:
            self._state.main.snapshot = found

    def _blocking_error(self, attachment: Row, row: Row) -> None:
        self._stop_ids.add(text_of(attachment, "toolUseID"))
        self._state.say(self._state.main, "program", attachments.text(attachment, row))

    def _summary(self, row: Row) -> None:
        # Some versions write the summary of a blocked stop only after the next one.
        stop_id = text_of(row, "toolUseID")
        if not stop_id or stop_id not in self._stop_ids:
            self._turns.stop(_what_hooks_did(row))
        self._stop_ids.add(stop_id)

    def _keep(self, thread: Thread, row: Row) -> None:
        """Show a row to the log of requests; before there is one, to the first rows of the file."""
        if thread.log is not None:
            thread.log.read(row)
            return
        version = text_of(row, "version")
        if version and not is_before(version, FIRST_WITH_REQUESTS):
            self._log(thread).read(row)
        elif thread.early is not None:
            is_late = row.get("type") == "assistant" or len(thread.early) >= EARLY_ROWS_MAX
            if version or is_late:
                thread.early = None  # A file without rows about requests.
            else:
                thread.early.append(row)

    def _log(self, thread: Thread) -> "RequestLog":
        """Give the log of requests; a file without any never loads what takes them apart."""
        if thread.log is None:
            from core.runtimes.claude_code.requests import RequestLog

            thread.log = RequestLog()
            for early in thread.early or ():
                thread.log.read(early)
            thread.early = None
        return thread.log

    def _request(self, thread: Thread, row: Row) -> None:
        """Read one row about requests."""
        request = self._log(thread).read(row)
        if request is None:
            return
        request_id = request.request_id or None
        thread.composed.add(request_id or "")
        self._state.settle(thread)
        self._state.tell(request._replace(request_id=request_id, agent_id=thread.agent_id))


def _is_prompt(row: Row, found: Blocks) -> bool:
    if row.get("isMeta") or row.get("isCompactSummary") or "toolUseResult" in row or found.results:
        return False
    return found.has_media or bool(found.text and not found.text.isspace())


def _what_hooks_did(row: Row) -> str:
    errors, failed = list_of(row, "hookErrors"), list_of(row, "failedHookErrorIndexes")
    blocking = len(errors) - len(failed) + len(list_of(row, "hookAdditionalContext"))
    return BLOCKED if blocking > 0 and not row.get("preventedContinuation") else ENDED
