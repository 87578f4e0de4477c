"""Texts that were measured and not kept, because their line was too long to be held."""

import json
from pathlib import Path
from typing import Any

from core.events import Context, Prompt, Spoken, ToolResult
from core.recordings.long_text import LONG_LINE_BYTES
from core.recordings.recording import Recording
from core.units import content_units, utf16_units
from tests.core.runtimes.claude.given import Row, assistant, attachment, result, text, user, written

LONG = "x" * (LONG_LINE_BYTES + 1)


def bounded(path: Path, *rows: Row) -> list[Any]:
    return [
        step.event for step in Recording(written(path, *rows), json.loads, bounded=True).steps()
    ]


def test_they_count_with_their_whole_length(tmp_path: Path) -> None:
    file = {"path": "/repo/CLAUDE.md", "content": LONG}
    told = bounded(
        tmp_path / "s.jsonl",
        user(LONG, uuid="u-1"),
        assistant(text("short"), text(LONG)),
        user([result("t-1", [text("a"), text(LONG)])]),
        attachment("instructions", files=[file]),
        attachment("date", LONG),
    )

    (prompt,) = [one for one in told if isinstance(one, Prompt)]
    assert utf16_units(prompt.text) == len(LONG)
    assert [utf16_units(one.text) for one in told if isinstance(one, Spoken)] == [
        len(LONG),
        len("short"),
        len(LONG),
        len(LONG),
    ]
    (answer,) = [one for one in told if isinstance(one, ToolResult)]
    assert content_units(answer.content) == len(LONG) + 1
    (rules,) = [one for one in told if isinstance(one, Context)]
    assert (rules.units, rules.bytes) == (len(LONG), None)
