"""Reads every raw shape of Codex; each goes to the part that knows it."""

from collections.abc import Iterable

from core.recordings.content import text_of
from core.recordings.contract import Head, Row, Step
from core.runtimes.codex_runtime import hooks, shapes
from core.runtimes.codex_runtime.execs import ExecReader
from core.runtimes.codex_runtime.rollout import RolloutReader
from core.runtimes.codex_runtime.server import ServerReader
from core.runtimes.codex_runtime.threads import Threads


class CodexReader:
    """Maps the raw events of one session, in order."""

    def __init__(self, head: Head) -> None:
        self._threads = Threads(head)
        self._rollout = RolloutReader(self._threads.main, self._threads.agent, head.session_id)
        self._server = ServerReader(self._threads, head.session_id)
        self._exec = ExecReader(self._threads.main)
        self._sides: dict[str, RolloutReader] = {}
        self._has_others = False  # More is told than `exec --json` tells.

    def read(self, line: int, row: Row) -> Iterable[Step]:
        """Give what this row tells."""
        threads = self._threads
        threads.at(line)
        kind, payload = row.get("type"), row.get("payload")
        if isinstance(payload, dict) and isinstance(kind, str):
            self._rollout.read(kind, payload, text_of(row, "timestamp"))
        elif not self._read_other(shapes.unwrapped(row)):
            return threads.take(line)
        steps = threads.take(line)
        self._has_others |= bool(steps)
        return steps

    def _read_other(self, row: Row) -> bool:
        """Read a row that is no rollout's; False for a line of `codex exec --json`.

        Where more is told than such lines tell, they add nothing.
        """
        if "hook_event_name" in row:
            hooks.read(self._threads, row)
        elif "method" in row:
            self._server.read(row)
        elif shapes.shape_of(row) == shapes.NOTIFY:
            hooks.notified(self._threads.main, row)
        elif self._exec.knows(row):
            if not self._has_others:
                self._exec.read(row)
            return False
        else:
            self._rollout.read_bare(row)
        return True

    def read_side(self, agent_id: str, line: int, row: Row) -> Iterable[Step]:
        """Give what a row of a sub-agent's own rollout tells."""
        threads = self._threads
        reader = self._sides.get(agent_id)
        if reader is None:
            story = threads.agent(agent_id)
            reader = self._sides[agent_id] = RolloutReader(story, threads.agent, agent_id)
        threads.at(line)
        if isinstance(row.get("payload"), dict) and isinstance(row.get("type"), str):
            reader.read(row["type"], row["payload"], text_of(row, "timestamp"))
        return threads.take(line)

    def finish(self, line: int) -> Iterable[Step]:
        """End the turn that is still open."""
        self._threads.at(line)
        self._threads.main.follow(self._threads.main.turns.close())
        return self._threads.take(line)
