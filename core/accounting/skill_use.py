"""Which skills entered the context in a turn, and in which state each one is."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from core.accounting.estimator import call_tokens, file_tokens
from core.accounting.invocations import ToolInvocationAccumulator
from core.accounting.skill_roots import SKILL_FILE
from core.accounting.skill_states import CALLED, DROPPED, LOADED, REINJECTED, SkillState
from core.accounting.skills import SkillFile, canonical, skill_key
from core.accounting.snapshot import Entry, Item, Unknown, files_entry
from core.events import SelectedSkill

NOT_FOUND = "no SKILL.md of this name was found"
CALL_FAILED = "the call failed"
NO_NAME = "the call names no skill"
EMPTY_FILE = "its SKILL.md is empty"
AGAIN = "again after a compaction"
READ = "read as a file: its text counts as a result in tools"

SkillFiles: TypeAlias = Mapping[str, SkillFile | None]  # By skill_key of the name asked for.


class Note(NamedTuple):
    """What the host or its record told of a skill's body; `units` where the body was recorded."""

    name: str
    state: str
    path: str | None = None
    units: int | None = None
    note: str | None = None
    is_result: bool = False  # Its text is a tool's result and counts there.


class Used(NamedTuple):
    """The entry of the skills that entered the context, the states of all, and what is unknown."""

    entry: Entry | None
    states: tuple[SkillState, ...]
    unknown: tuple[Unknown, ...]


class _Skill:
    """One skill of the turn, under the name by which it first came up."""

    __slots__ = ("called", "loaded", "name", "notes", "read")

    def __init__(self, name: str) -> None:
        self.name = name
        self.called = False
        self.loaded = False  # By a call that did not fail, or by the user's selection.
        self.read: str | None = None  # The path by which its whole SKILL.md was read.
        self.notes: list[Note] = []


def skills_used(
    calls: ToolInvocationAccumulator,
    selected: Iterable[SelectedSkill],
    notes: Iterable[Note],
    files: SkillFiles,
    workspace: str,
) -> Used:
    """Tell the skills of one agent in one turn, in the order in which they came up.

    A body that the host recorded counts by its own length; any other skill that was called or
    selected counts with its whole SKILL.md. A skill that cannot be found is unknown, never 0.
    """
    unknown: list[Unknown] = []
    skills = _gathered(calls, selected, notes, unknown)
    items: dict[str, Item] = {}  # By path: two names of one file are one skill.
    states = []
    for key, skill in skills.items():
        item = _item(skill, files.get(key), workspace, unknown)
        if item is not None:
            items[item.source or item.name] = item
        states.append(_state(skill, item, files.get(key), workspace))
    return Used(files_entry(items.values()) if items else None, tuple(states), tuple(unknown))


def _gathered(
    calls: ToolInvocationAccumulator,
    selected: Iterable[SelectedSkill],
    notes: Iterable[Note],
    unknown: list[Unknown],
) -> dict[str, _Skill]:
    skills: dict[str, _Skill] = {}
    for call in calls.skill_calls():
        if call.name is None:
            unknown.append(Unknown("skills", call.tool_use_id, NO_NAME))
            continue
        skill = _of(skills, call.name)
        skill.called, skill.loaded = True, skill.loaded or not call.failed
    for choice in selected:
        _of(skills, choice.name).loaded = True
    for note in notes:
        skill = _of(skills, note.name)
        if note.is_result:
            skill.read = note.path or note.name
        else:
            skill.notes.append(note)
    for path in _read_whole(calls):
        _of(skills, path.replace("\\", "/").rstrip("/").split("/")[-2]).read = path
    return skills


def _of(skills: dict[str, _Skill], name: str) -> _Skill:
    """Find a skill by name; a body is named by its folder, its call perhaps as plugin:skill."""
    key = skill_key(name)
    if key not in skills:
        same = [known for known in skills if known.rpartition(":")[2] == key.rpartition(":")[2]]
        if len(same) == 1 and (":" in key) != (":" in same[0]):
            return skills[same[0]]
    return skills.setdefault(key, _Skill(canonical(name)))


def _read_whole(calls: ToolInvocationAccumulator) -> list[str]:
    if "Read" not in calls.totals():
        return []
    return [
        row.path
        for row in calls.rows()
        if row.path is not None
        and row.result_units is not None
        and not row.failed
        and row.path.replace("\\", "/").casefold().endswith("/" + SKILL_FILE.casefold())
        and len(row.path.replace("\\", "/").split("/")) > 1
    ]


def _item(
    skill: _Skill, found: SkillFile | None, workspace: str, unknown: list[Unknown]
) -> Item | None:
    """Give what a skill put into the context; None when nothing did, or nobody knows how much."""
    bodies = [note for note in skill.notes if note.state in (LOADED, REINJECTED)]
    recorded = [note for note in bodies if note.units is not None]
    if recorded:
        return _recorded(skill, recorded, found, workspace)
    if not skill.loaded and not bodies:
        if skill.called:
            unknown.append(Unknown("skills", skill.name, CALL_FAILED))
        return None
    if found is None:
        unknown.append(Unknown("skills", skill.name, NOT_FOUND))
        return None
    if found.bytes == 0:
        unknown.append(Unknown("skills", skill.name, EMPTY_FILE))
        return None
    return Item(found.name, file_tokens(found.bytes), None, found.source)


def _recorded(skill: _Skill, notes: list[Note], found: SkillFile | None, workspace: str) -> Item:
    """Count bodies as recorded: one load, and each time that it came again."""
    again = [note for note in notes if note.state == REINJECTED]
    first = [note for note in notes if note.state == LOADED][-1:]
    tokens = sum(call_tokens(note.units or 0) for note in (*first, *again))
    path = next((note.path for note in notes if note.path), None)
    said = [note.note for note in notes if note.note] + ([AGAIN] if again else [])
    source = source_of(path, workspace) if path else (found.source if found else skill.name)
    name = found.name if found else skill.name
    return Item(name, tokens, None, source, ", ".join(dict.fromkeys(said)) or None)


def _state(skill: _Skill, item: Item | None, found: SkillFile | None, workspace: str) -> SkillState:
    last = skill.notes[-1] if skill.notes else None
    source = item.source if item else (found.source if found else None)
    tokens = item.tokens if item else None
    note = item.note if item else None
    if last is not None and last.state == DROPPED:
        path = source or (source_of(last.path, workspace) if last.path else None)
        return SkillState(skill.name, DROPPED, path, tokens, last.note)
    if any(said.state == REINJECTED for said in skill.notes):
        return SkillState(skill.name, REINJECTED, source, tokens, note)
    if skill.loaded or skill.notes:
        return SkillState(skill.name, LOADED, source, tokens, note)
    if skill.read is not None:
        return SkillState(skill.name, LOADED, source_of(skill.read, workspace), None, READ)
    return SkillState(skill.name, CALLED, source, None, CALL_FAILED)


def source_of(path: str, workspace: str) -> str:
    """Name a file as sources do: workspace/<relative>, or the path as it is."""
    folder = workspace.rstrip("/")
    if folder and path.startswith(folder + "/"):
        return "workspace/" + path[len(folder) + 1 :]
    return path


def note_of(row: list[Any]) -> Note:
    """Read a note out of the state of a turn."""
    return Note(row[0], row[1], row[2], row[3], row[4], row[6])
