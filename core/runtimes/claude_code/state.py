"""What is known of a session so far, whatever kind of raw event told it."""

from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING

from core.events import (
    Context,
    Event,
    Fill,
    Json,
    Skill,
    Spoken,
    ToolCall,
    ToolResult,
    Usage,
)
from core.recordings.contract import (
    NOT_RECORDED,
    AgentSeen,
    FileChange,
    Head,
    Row,
    SkillBody,
    Step,
)
from core.runtimes.claude_code import rows
from core.runtimes.claude_code.files import has_sibling, shares_rows
from core.runtimes.claude_code.shapes import text_of
from core.runtimes.claude_code.turns import Turns

if TYPE_CHECKING:
    from core.runtimes.claude_code.requests import RequestLog

SHAPED, EXACT = 1, 2  # A result as the tool gave it; as the model sees it.
EARLY_ROWS_MAX = 200
FIRST_WITH_REQUESTS = (2, 1, 300)  # No earlier version was seen to write its requests down.
_VERSION_UNITS_MAX = 32


def is_before(version: str, first: tuple[int, ...]) -> bool:
    """Say whether a version is known and older than this one."""
    numbers = version[:_VERSION_UNITS_MAX].split(".")
    return all(one.isdecimal() for one in numbers) and tuple(map(int, numbers)) < first


class Thread:
    """One conversation with the model: the session's own, or a sub-agent's."""

    __slots__ = (
        "agent_id",
        "composed",
        "early",
        "exact",
        "loaded",
        "log",
        "parent",
        "snapshot",
        "snapshot_units",
        "spoken",
        "tells_stops",
        "unsettled",
        "usages",
    )

    def __init__(self, agent_id: str | None, parent: str | None = None) -> None:
        self.agent_id = agent_id
        self.parent = parent  # The call that began it.
        self.usages: dict[str, Usage | None] = {}  # By message id, as last told.
        self.exact: set[str] = set()  # Messages whose usage is not only that of their beginning.
        self.spoken: set[tuple[str, int]] = set()  # (message id, hash of the text)
        self.tells_stops = False  # Its rows name stop reasons, so one without has not ended.
        self.loaded: dict[str, str] = {}  # Skill -> the row (uuid) of its body.
        self.unsettled: list[str] = []  # Skills that a compaction may have dropped.
        self.composed: set[str] = set()  # Requests that were told part by part.
        self.log: RequestLog | None = None
        self.early: list[Row] | None = []  # Rows that a log will want, if there is to be one.
        self.snapshot: Context | None = None  # A system prompt that waits for its request.
        self.snapshot_units: int | None = None


class State:
    """Takes what raw events tell, gives each thing once."""

    def __init__(self, head: Head) -> None:
        self.head = head
        self.line = 0
        self.out: list[Step] = []
        self.turns = Turns(self.tell)
        self.main = Thread(None)
        self._threads: dict[str, Thread] = {}
        self._agents: set[str] = set()  # Whose beginning was told.
        self._calls: set[str] = set()
        self._results: dict[str, int] = {}
        self._writes: dict[str, tuple[str, Json]] = {}
        self._skill_calls: dict[str, str] = {}
        self.tasks: dict[str, str] = {}  # Digest of a sub-agent's prompt -> the call that sent it.
        self.parents: dict[str, str] = {}  # Sub-agent -> the call that began it.
        self.agent_of: dict[str, str] = {}  # That call -> the sub-agent.
        self.first_row = ""  # The uuid of the session's first message.
        self._forks: dict[str, bool] = {}
        self._is_fork: bool | None = None
        self._supplied: dict[tuple[str, str], int | None] = {}
        self._compactions: dict[str, int] = {}  # By kind of raw event, and how many were told.

    def begin(self, line: int) -> list[Step]:
        """Start a raw event: what is told from now on is of this line."""
        self.line, self.out = line, []
        return self.out

    def begin_in(self, workspace: str) -> None:
        """Take the folder of the session, where it was not known; files in it are named by it."""
        if not self.head.cwd:
            self.head = self.head._replace(cwd=workspace)

    def tell(self, event: Event | FileChange | SkillBody, recorded: str = NOT_RECORDED) -> None:
        """Give one thing."""
        self.out.append(Step(self.line, event, recorded))

    def say(self, thread: Thread, by: str, text: str) -> None:
        """Tell a text that is no call and no result."""
        if text:
            self.out.append(Step(self.line, Spoken(by, text, thread.agent_id)))

    def supply(self, context: Context) -> None:
        """Tell an instruction file, unless it was told with this size since the last compaction."""
        key = (context.kind, context.source)
        if key not in self._supplied or self._supplied[key] != context.bytes:
            self._supplied[key] = context.bytes
            self.tell(context)

    def thread(self, agent_id: str, parent: str = "") -> Thread:
        """Give a sub-agent's thread."""
        thread = self._threads.get(agent_id)
        if thread is None:
            thread = self._threads[agent_id] = Thread(agent_id)
        if thread.parent is None:
            known = agent_id if agent_id in self._calls else None
            thread.parent = parent or self.parents.get(agent_id) or known
        return thread

    def agent_seen(self, agent_id: str, call_id: str = "") -> None:
        """Take note of a sub-agent, and of the call that began it."""
        if not agent_id:
            return
        if call_id:
            self.parents.setdefault(agent_id, call_id)
            self.agent_of.setdefault(call_id, agent_id)
        if agent_id not in self._agents:
            self._agents.add(agent_id)
            self.out.append(Step(self.line, AgentSeen(agent_id)))

    def call(self, thread: Thread, call_id: Json, name: Json, given: Json) -> None:
        """Tell a call, the first time."""
        if not (isinstance(call_id, str) and isinstance(name, str) and call_id and name):
            return
        if call_id in self._calls:
            return
        self._calls.add(call_id)
        if name in rows.WRITERS:
            if self.head.wants_changes:
                self._writes[call_id] = (name, given)
        elif name == "Skill":
            self._skill_calls[call_id] = rows.skill_name(given)
        elif name in ("Task", "Agent") and isinstance(given, dict):
            self.tasks[digest(text_of(given, "prompt"))] = call_id
        event = ToolCall(call_id, name, given, self.turns.id(), thread.agent_id, thread.parent)
        self.out.append(Step(self.line, event))

    def result(
        self,
        thread: Thread,
        result: tuple[str, Json, bool],
        outcome: Json,
        quality: int = EXACT,
    ) -> None:
        """Tell a result, once, and again where it is known better; `outcome` is the tool's own."""
        call_id, content, is_error = result
        if self._results.get(call_id, 0) >= quality:
            return
        self._results[call_id] = quality
        if call_id in self._writes:
            change = rows.file_change(*self._writes.pop(call_id), outcome)
            if change is not None and not is_error:
                self.tell(change)
        event = ToolResult(call_id, content, is_error, thread.agent_id)
        self.out.append(Step(self.line, event))

    def skill_of(self, call_id: str) -> str:
        """Give the skill that this call named; "" where it named none."""
        return self._skill_calls.get(call_id, "")

    def load(self, thread: Thread, skill: Skill, row_id: str) -> None:
        """Tell that a skill's body entered the context, and remember the row of it."""
        known = thread.loaded.get(skill.name)
        if known is not None and (skill.units is None or (row_id and known == row_id)):
            return
        thread.loaded[skill.name] = row_id
        if skill.name in thread.unsettled:
            thread.unsettled.remove(skill.name)
        self.tell(skill)

    def compact_skills(self, thread: Thread, preserved: Iterable[str]) -> None:
        """After a compaction a skill's body is gone, unless its row was kept or it comes again."""
        kept = frozenset(preserved)
        lost = [name for name, row_id in thread.loaded.items() if row_id not in kept]
        thread.unsettled += [name for name in lost if name not in thread.unsettled]
        for name in lost:
            del thread.loaded[name]

    def settle(self, thread: Thread) -> None:
        """Say before a request which skills it lacks, and its system prompt."""
        for name in thread.unsettled:
            self.tell(Skill(name, "dropped", agent_id=thread.agent_id))
        thread.unsettled = []
        self.tell_snapshot(thread)

    def tell_snapshot(self, thread: Thread) -> None:
        """Tell a system prompt that waited, unless requests tell theirs or it was told before."""
        snapshot, thread.snapshot = thread.snapshot, None
        if snapshot is None or thread.composed or snapshot.units == thread.snapshot_units:
            return
        thread.snapshot_units = snapshot.units
        self.tell(snapshot)

    def compacted(self, door: str, row: Row, source: str) -> None:
        """Tell a compaction once, whichever kinds of raw events prove it."""
        self._compactions[door] = self._compactions.get(door, 0) + 1
        event = rows.compaction(row)
        if self._compactions[door] > self._compactions.get("told", 0):
            self._compactions["told"] = self._compactions[door]
            self._supplied = {}
            self.tell(event)
        if event.post_tokens is not None:
            self.tell(Fill(event.post_tokens, None, source))

    def is_inherited(self, thread: Thread, row: Row) -> bool:
        """Say whether a fork copied this row from the file of another session, which has it too.

        Older versions kept the other session's id in the row. 2.1.33x writes its own, but copies
        no rows about requests: the request that the row names is not in this file.
        """
        session_id, head = row.get("sessionId"), self.head
        if not head.path or head.side_only:
            return False
        if session_id == head.session_id:
            ref = row.get("requestRef")
            if type(ref) is not str or ref in thread.composed or thread is not self.main:
                return False
            if self._is_fork is None:
                self._is_fork = shares_rows(head.path, self.first_row)
            return self._is_fork
        if not isinstance(session_id, str):
            return False
        if session_id not in self._forks:
            self._forks[session_id] = has_sibling(head.path, session_id)
        return self._forks[session_id]


def digest(text: str) -> str:
    """Give a short stand-in for a text."""
    return sha256(text.encode(errors="replace")).hexdigest()
