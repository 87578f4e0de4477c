"""What a runtime gives: how the raw events of one agent host become canonical events.

A runtime is one module or package in core/runtimes, named by its id, with a `RUNTIME`. It maps and
nothing else: it estimates no tokens, classifies no tools and builds no snapshots.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol, TypeAlias

from core.errors import Unreadable
from core.events import Event, Json

Row: TypeAlias = dict[str, Json]  # One raw event: a hook payload, a stream part, a transcript row.
Loads: TypeAlias = Callable[[bytes], Json]  # The JSON parser of the caller; raises ValueError.

BLOCKED, ENDED, NOT_RECORDED = "blocked", "ended", ""


class UnknownFormat(Unreadable):
    """The file is no recording that is known here; the message names what it looks like."""

    kind = "unreadable_capture"


class Fault(NamedTuple):
    """A line that was set aside, 1-based, and why."""

    line: int
    why: str
    file: str | None = None  # Path, where it is not the recording's own file.


class Head(NamedTuple):
    """What a recording says about its session."""

    runtime: str
    session_id: str
    cwd: str  # As recorded; "" when nothing has it.
    model: str | None = None
    version: str | None = None
    side_only: bool = False  # A sub-agent's own file.
    parent_session_id: str | None = None
    path: str = ""  # The file that it was read from; "" for events that come from none.
    wants_changes: bool = True  # FileChange steps are wanted; working them out takes a while.


class FileChange(NamedTuple):
    """A file tool that succeeded; the new text is `content`, or `edits` applied to the old one."""

    tool: str
    path: str  # As recorded.
    content: str | None = None
    original: str | None = None  # The text before the edits, where the row carries it.
    edits: tuple[tuple[str, str, bool], ...] = ()  # (old, new, every occurrence)


class SkillBody(NamedTuple):
    """The text of a skill as the program put it into the context, front matter left off."""

    folder: str  # As recorded.
    text: str


class AgentSeen(NamedTuple):
    """A sub-agent of this id has begun; what its own file holds belongs here."""

    agent_id: str


class Step(NamedTuple):
    """One thing that a raw event tells, and the line that tells it.

    `recorded` says of a TurnEnd what the recorded session did there: blocked, ended, or "" where
    no stop was recorded.
    """

    line: int  # 1-based; 0 for an event that comes from no file.
    event: Event | FileChange | SkillBody | AgentSeen
    recorded: str = NOT_RECORDED


class Reader(Protocol):
    """Maps the raw events of one session, in order; holds what waits for its other half.

    It takes any JSON object: what it does not know, or what has not its usual shape, tells nothing.
    """

    def read(self, line: int, row: Row) -> Iterable[Step]:
        """Give what this raw event tells."""
        ...

    def read_side(self, agent_id: str, line: int, row: Row) -> Iterable[Step]:
        """Give what a row of a sub-agent's own file tells, for the agent of this id."""
        ...

    def finish(self, line: int) -> Iterable[Step]:
        """End what is still open where the recording ends."""
        ...


class SideFile(NamedTuple):
    """A sub-agent's own file."""

    agent_id: str
    path: str


class Runtime(NamedTuple):
    """One agent host.

    `recognise` says whether a raw event is this host's; of all runtimes at most one says so.
    `head` reads as many of a recording's rows as it takes to know its session.
    """

    reader: Callable[[Head], Reader]
    recognise: Callable[[Row], bool]
    head: Callable[[str, Iterable[Row]], Head]  # Path and rows.
    sides: Callable[[str], tuple[SideFile, ...]] | None = None  # Of the recording at this path.
    # Recordings of a workspace, newest first: home, environment, workspace ("" for all).
    recordings: Callable[[str, Mapping[str, str], str], list[str]] | None = None
    # Says of a line, before it is parsed, that it tells nothing (any value that is true); never of
    # one that may tell. The `match` of a compiled pattern is the quickest.
    is_idle: Callable[[bytes], object] | None = None
    block_cap: int | None = None  # Answers in a row that it obeys; None: it has no cap.
    block_cap_variable: str | None = None  # Environment variable that moves the cap; 0 lifts it.
