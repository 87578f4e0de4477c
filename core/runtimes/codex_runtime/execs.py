"""Lines of `codex exec --json`: what one run shows, without prompts and without ids of turns."""

from collections.abc import Callable

from core.recordings.content import text_of
from core.recordings.contract import Row
from core.runtimes.codex_runtime import calls
from core.runtimes.codex_runtime.story import Story
from core.runtimes.codex_runtime.tokens import tokens
from core.runtimes.codex_runtime.turns import COMPLETED, FAILED


class ExecReader:
    """Reads the lines of one run after the other; ids of items begin anew in each.

    The usage at the end of a turn is what the thread used so far, earlier runs included.
    """

    def __init__(self, story: Story) -> None:
        self._story = story
        self._readers: dict[str, Callable[[Row], None]] = {
            "thread.started": _nothing,
            "turn.started": self._turn_started,
            "turn.completed": self._turn_completed,
            "turn.failed": self._turn_failed,
            "item.started": self._item,
            "item.updated": _nothing,
            "item.completed": self._item,
        }

    def knows(self, row: Row) -> bool:
        """Say whether this is a line of `codex exec --json`."""
        return text_of(row, "type") in self._readers

    def read(self, row: Row) -> None:
        """Read a line."""
        self._readers[text_of(row, "type")](row)

    def _turn_started(self, row: Row) -> None:
        self._story.ask_nothing()
        self._story.follow(self._story.turns.close())
        self._story.follow(self._story.turns.enter_new())

    def _turn_completed(self, row: Row) -> None:
        found = tokens(row.get("usage"))
        if found is not None:
            self._story.used_so_far(found)
        self._end(COMPLETED)

    def _turn_failed(self, row: Row) -> None:
        self._end(FAILED)

    def _end(self, outcome: str) -> None:
        turn_id = self._story.turns.id or ""
        self._story.follow(self._story.turns.end(turn_id, outcome, None))

    def _item(self, row: Row) -> None:
        item = row.get("item")
        if not isinstance(item, dict) or not text_of(item, "id"):
            return
        story, has_ended = self._story, row["type"] == "item.completed"
        item = item | {"id": f"{story.turns.id or 'run'}/{item['id']}"}
        kind = calls.item_kind(item)
        if kind in ("agentmessage", "reasoning"):
            if has_ended:
                by = "model" if kind == "agentmessage" else "thinking"
                story.say(by, text_of(item, "text"), item["id"])
            return
        if not has_ended and kind == "websearch":
            return  # What is searched for is shown at the end.
        if (call := calls.item_call(item)) is not None:
            story.call(call, "")
        if has_ended and (answer := calls.item_answer(item)) is not None:
            story.answer(answer)


def _nothing(row: Row) -> None:
    pass
