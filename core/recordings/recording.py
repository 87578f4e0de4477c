"""A recording of a session on disk: which host wrote it, and everything in it in order."""

import json
import os
import re
import stat
from collections.abc import Iterator
from itertools import chain, islice

from core.events import SessionEnd, SessionStart
from core.recordings.contract import (
    AgentSeen,
    Fault,
    Head,
    Loads,
    Reader,
    Row,
    Runtime,
    SideFile,
    Step,
    UnknownFormat,
)
from core.recordings.lines import rows
from core.runtimes.registry import known, runtime

LOOKED_AT_ROWS = 200  # Of a file, before it is called another program's.
_LOOKED_AT_BYTES = 4096


class Recording:
    """A recording, read once for its head and then as often as `steps` is called."""

    def __init__(
        self,
        path: str,
        loads: Loads = json.loads,
        *,
        bounded: bool = False,
        wants_changes: bool = True,
    ) -> None:
        """Read the head; raise UnknownFormat for another format and OSError as it comes.

        With `bounded` texts that are too long to hold come by their length alone (LongText).
        """
        self.path = path
        self.faults: list[Fault] = []
        self._loads = loads
        self._bounded = bounded
        self._row: Row = {}
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _unknown("is no regular file, and it would be read twice")
        first: list[Row] = []
        rest = self._plain_rows()
        found = _recognised(rest, first)
        if found is None:
            raise _unknown(_look_of(path, bool(first)))
        self._runtime = found
        head = found.head(path, chain(first, rest))
        self.head: Head = head._replace(wants_changes=wants_changes)

    @property
    def timestamp(self) -> str | None:
        """When the row was written that gave the last step, as recorded."""
        found = self._row.get("timestamp")
        return found if isinstance(found, str) else None

    def sides(self) -> tuple[SideFile, ...]:
        """List the files of this session's sub-agents."""
        return () if self._runtime.sides is None else self._runtime.sides(self.path)

    def steps(self) -> Iterator[Step]:
        """Give everything in the recording, in order; `faults` then names the lines set aside.

        What a sub-agent's own file holds comes where the sub-agent is first told of, else at the
        end; the steps of such a file carry its line numbers.
        """
        self.faults = []
        head, reader = self.head, self._runtime.reader(self.head)
        yield Step(1, session_start(head))
        sides = {side.agent_id: side for side in self.sides()}
        line = 1
        for line, row in rows(
            self.path,
            self.faults,
            self._loads,
            bounded=self._bounded,
            is_idle=self._runtime.is_idle,
        ):
            self._row = row
            for step in reader.read(line, row):
                event = step.event
                if type(event) is not AgentSeen:
                    if type(event) is not SessionEnd:  # It ends where it ends; more may follow.
                        yield step
                elif (side := sides.pop(event.agent_id, None)) is not None:
                    yield from self._side_steps(reader, side)
        for side in sides.values():
            yield from self._side_steps(reader, side)
        yield from reader.finish(line)
        yield Step(line, SessionEnd())

    def _side_steps(self, reader: Reader, side: SideFile) -> Iterator[Step]:
        faults: list[Fault] = []
        try:
            for line, row in rows(side.path, faults, self._loads, bounded=self._bounded):
                self._row = row
                for step in reader.read_side(side.agent_id, line, row):
                    if not isinstance(step.event, AgentSeen):
                        yield step
        except OSError as error:  # The session is told without it.
            faults.append(Fault(0, f"cannot be read: {error.strerror}"))
        self.faults += [fault._replace(file=side.path) for fault in faults]

    def _plain_rows(self) -> Iterator[Row]:
        faults: list[Fault] = []
        return (row for _, row in rows(self.path, faults, self._loads, bounded=self._bounded))


def session_start(head: Head) -> SessionStart:
    """Give the event that a recording of this head begins with."""
    return SessionStart(
        head.runtime,
        head.cwd,
        model=head.model,
        source="startup",
        parent_session_id=head.parent_session_id,
    )


def _recognised(found: Iterator[Row], first: list[Row]) -> Runtime | None:
    """Give the runtime whose row comes first among the first rows; `first` gets those."""
    for row in islice(found, LOOKED_AT_ROWS):
        first.append(row)
        for name in known():
            candidate = runtime(name)
            if candidate is not None and candidate.recognise(row):
                return candidate
    return None


def _unknown(what: str) -> UnknownFormat:
    return UnknownFormat(
        f"{what}; wanted is the recording of an agent's session",
        hint="Such as a .jsonl file below ~/.claude/projects or ~/.codex/sessions.",
    )


def _look_of(path: str, has_rows: bool) -> str:
    """Say what a file seems to be in which no row tells its format."""
    with open(path, "rb") as file:
        start = file.read(_LOOKED_AT_BYTES)
    if not start.strip():
        return "is empty"
    if has_rows:
        return "seems to be JSON lines of another program"
    if not _is_text(start):
        return "seems to be a binary file"
    if re.match(rb'\s*(\{\s*["}]|\[\s*[\[{"\d\]])', start):
        return "seems to be JSON, but none of its lines is a whole object"
    first = next(line for line in start.splitlines() if line.strip())
    is_yaml = path.endswith((".yaml", ".yml")) or re.match(rb"---\s*$|[A-Za-z_]\w*:(\s|$)", first)
    return "seems to be YAML" if is_yaml else "seems to be plain text"


def _is_text(start: bytes) -> bool:
    try:
        start.decode()
    except UnicodeDecodeError as error:
        # The last character may have been cut through.
        if error.start < len(start) - 3:
            return False
    return b"\0" not in start
