"""Look-alikes of recordings, with invented text, and reports of them."""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

from server.report.fold import Detail
from server.report.gather import gather
from tests.core.runtimes import codex_given as codex
from tests.core.runtimes.claude.given import (
    Row,
    assistant,
    call,
    result,
    text,
    usage,
    user,
    written,
)

Json = Any

LETTERS = "abcdefghij klmnop\n"
TOOLS = ("Bash", "Read", "mcp__db__query", "mcp__db__list", "mcp__wiki__find", "Task")


def session_id(number: int) -> str:
    return str(UUID(int=number, version=4))


def at(seconds: int) -> str:
    return f"2026-02-01T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.000Z"


def stamped(rows: Iterable[Row], start: int = 0, **more: Json) -> list[Row]:
    """Give each row its own second, and what else is said of all."""
    return [{**row, "timestamp": at(start + n), **more} for n, row in enumerate(rows)]


def turn(prompt_id: str, *rows: Row) -> list[Row]:
    return [user("Go on.", uuid=f"u-{prompt_id}", promptId=prompt_id), *rows]


def answer(message_id: str, output: int = 5, **more: Json) -> Row:
    return assistant(text("Done."), message_id=message_id, output=output, **more)


def called(message_id: str, call_id: str, name: str, given: Json, answered: Json) -> list[Row]:
    """A message that is one call, and the result of it."""
    made = {"type": "tool_use", "id": call_id, "name": name, "input": given}
    return [assistant(made, message_id=message_id), user([result(call_id, answered)])]


def write(folder: Path, number: int, rows: Iterable[Row], start: int = 0) -> str:
    """Write a session's file under its own id."""
    own = session_id(number)
    return written(folder / f"{own}.jsonl", *stamped(rows, start, sessionId=own))


def report(*paths: str, home: Path, pictures: bool = False) -> dict[str, Json]:
    return gather(list(paths), str(home), Detail(pictures), lambda _done, _total: None)


def some_turns(dice: random.Random, session: int, turns: int, agent: str = "") -> list[Row]:
    """Turns of calls with results; each message stands on several rows, its output growing."""
    rows: list[Row] = []
    for number in range(turns):
        name = f"{session}{agent}-{number}"
        told = []
        for message in range(dice.randint(1, 4)):
            message_id, output = f"m-{name}-{message}", dice.randint(1, 30)
            given, read = dice.randint(1, 9), dice.randint(0, 900)
            for block in range(dice.randint(1, 3)):
                call_id = f"t-{name}-{message}-{block}"
                row = assistant(
                    call(call_id, dice.choice(TOOLS), text=_words(dice)),
                    message_id=message_id,
                    stop="tool_use",
                )
                output += dice.randint(0, 300)
                row["message"]["usage"] = usage(output, given, read, message * 7)
                told += [row, user([result(call_id, _words(dice))])]
        rows += turn(name, *told)
    return rows


def _words(dice: random.Random) -> str:
    return "".join(dice.choices(LETTERS, k=dice.randint(0, 400)))


def rollout(path: Path, thread: str, turns: int) -> str:
    """A session of Codex: each turn with one call, two requests and their counts."""
    rows = [codex.meta(thread)]
    sent = made = 0
    for number in range(turns):
        turn_id = f"{thread}-{number}"
        rows += [codex.started(turn_id), codex.said("user", "Go on."), _asked("Go on.")]
        for request in range(2):
            sent, made = sent + 1000 + request, made + 20
            if not request:
                rows += [codex.called(f"{turn_id}-c", "exec_command", {"cmd": "ls"})]
            total = codex.figures(sent, made, sent // 1000 * 500)
            rows.append(codex.count(total, codex.figures(1000 + request, 20, 500)))
            if not request:
                rows.append(codex.answered(f"{turn_id}-c", "a.txt\n"))
        rows.append(codex.completed(turn_id))
    return written(path, *rows)


def _asked(message: str) -> Row:
    return codex.event("user_message", message=message)


def read_rows(paths: Iterable[str]) -> list[Row]:
    texts = (Path(path).read_text(encoding="utf-8") for path in paths)
    return [json.loads(line) for text in texts for line in text.splitlines()]
