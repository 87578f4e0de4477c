"""What can end a phase: each kind of criterion, declared once.

The loader's checks, the plan's JSON Schema and docs/plan-format.md are made from KINDS.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, NewType

from core.files import READ_BYTES_MAX, Files, FileState, is_pattern
from core.phases.display import shown
from core.phases.plan import Criterion, skill_id

MET = "met"
UNMET = "unmet"
ERROR = "error"

PlanPath = NewType("PlanPath", str)  # One file under the workspace.
PlanPattern = NewType("PlanPattern", str)  # The same, or a pattern with `*`, `?` and `**`.
SkillName = NewType("SkillName", str)  # A skill's name, or a path to it.


class CriterionState(NamedTuple):
    """How one criterion stands: state is met, unmet or error (it could not be checked)."""

    id: str
    kind: str
    state: str
    locator: str  # What it looks at: a path, a pattern, or a skill.
    why: str = ""
    next_action: str = ""


class Outcome(NamedTuple):
    """What a check found out."""

    state: str
    locator: str
    why: str = ""
    next_action: str = ""


class Evidence(NamedTuple):
    """All that a check may look at."""

    files: Files
    opened: frozenset[str]  # Canonical ids of the skills that count as opened.
    until: float  # A search ends early then, as of time.monotonic().


class ArtifactExists(NamedTuple):
    """A regular file is there, and it is not empty."""

    path: PlanPattern
    min_bytes: int = 1
    min_count: int = 1


class ArtifactContains(NamedTuple):
    """A file contains a text, letter for letter."""

    path: PlanPath
    text: str


class SkillUsed(NamedTuple):
    """A skill was opened in this phase: called, or its file read whole."""

    name: SkillName


class Arg(NamedTuple):
    """What the reader of a plan must know about one argument; bounds are those of a number."""

    doc: str
    low: int = 0
    high: int = 0


class Kind(NamedTuple):
    """A kind of criterion; `args` is the NamedTuple that its arguments fill.

    `short` is the form of a plain text in place of the arguments: their names, joined by "::".
    """

    name: str
    args: Callable[..., Any]
    check: Callable[[Any, Evidence], Outcome]
    wanted: Callable[[Any], str]  # Says in one line what the phase waits for.
    short: str
    docs: dict[str, Arg]


def check(
    criterion: Criterion, files: Files, opened: frozenset[str], until: float = math.inf
) -> CriterionState:
    """Say how a criterion stands now; what cannot be checked is `error`, never an exception."""
    kind, want = _compiled(criterion)
    if kind is None:
        why = f'this version cannot check "{shown(criterion.kind)}" with these arguments'
        outcome = Outcome(ERROR, criterion.id, why, "Arm the plan again.")
    else:
        outcome = kind.check(want, Evidence(files, opened, until))
    return CriterionState(criterion.id, criterion.kind, *outcome)


def not_finished(criterion: Criterion) -> CriterionState:
    """Say of a criterion that the time of this stop was over before it was checked."""
    what = wanted(criterion)
    why = "not finished: the checks of this stop took too long"
    return CriterionState(criterion.id, criterion.kind, ERROR, what, why, "Stop again.")


def wanted(criterion: Criterion) -> str:
    """Say in one line what a criterion waits for."""
    kind, want = _compiled(criterion)
    return shown(criterion.kind) if kind is None else kind.wanted(want)


def open_skill(name: str) -> str:
    """Say how to open a skill so that it counts."""
    called = _called(name)
    if _is_skill_path(called):
        return f"Read {called} whole."
    return f'Open the skill "{called}" with the Skill tool, or read its SKILL.md whole.'


def skill_not_opened(name: str) -> str:
    """Say why a required skill is still open."""
    if _is_skill_path(_called(name)):
        return "its file was not read whole in this phase"
    return "no call of it succeeded, and its SKILL.md was not read whole, in this phase"


def _called(name: str) -> str:
    return shown(name.strip())


def _is_skill_path(name: str) -> bool:
    return "/" in name.lstrip("/") or name.casefold().endswith(".md")


def _compiled(criterion: Criterion) -> tuple[Kind | None, Any]:
    kind = KINDS_BY_NAME.get(criterion.kind)
    if kind is None:
        return None, None
    try:
        want = kind.args(**criterion.args)
    except TypeError:  # Written by a version whose kind had other arguments.
        return None, None
    types = kind.args.__annotations__
    fits = all(
        type(value) is (int if types[name] is int else str)
        for name, value in want._asdict().items()
    )
    return (kind, want) if fits else (None, None)


def _artifact_exists(want: ArtifactExists, evidence: Evidence) -> Outcome:
    if is_pattern(want.path):
        return _artifacts_match(want, evidence)
    locator = shown(want.path)
    found = evidence.files.inspect(want.path)
    if found.kind != "file":
        return _no_file(locator, found, f"Create {locator}.")
    if found.size >= want.min_bytes:
        return Outcome(MET, locator)
    why = f"{found.size} of {want.min_bytes} bytes" if found.size else "the file is empty"
    size = f" to at least {want.min_bytes} bytes" if want.min_bytes > 1 else ""
    return Outcome(UNMET, locator, why, f"Complete {locator}{size}.")


def _artifacts_match(want: ArtifactExists, evidence: Evidence) -> Outcome:
    locator = shown(want.path)
    found = evidence.files.find(want.path, want.min_count, want.min_bytes, evidence.until)
    if len(found.paths) >= want.min_count:
        return Outcome(MET, locator)
    if found.base.kind not in ("directory", "missing"):
        return _no_file(locator, found.base, f"Create files that match {locator}.")
    if not found.complete:
        why = "too many files, too little time or unreadable folders to look at them all"
        return Outcome(ERROR, locator, why, "Tell your user: the plan needs a narrower pattern.")
    smaller = f"; {found.smaller} below {want.min_bytes} bytes" if found.smaller else ""
    why = f"{len(found.paths)} of {want.min_count} files{smaller}"
    return Outcome(UNMET, locator, why, f"Create files that match {locator}.")


def _artifact_contains(want: ArtifactContains, evidence: Evidence) -> Outcome:
    locator, text = shown(want.path), shown(want.text)
    content = evidence.files.read(want.path)
    if isinstance(content, FileState):
        return _no_file(locator, content, f'Create {locator} with the text "{text}".')
    wanted_bytes = want.text.encode("utf-8", "surrogatepass")
    if wanted_bytes in content or wanted_bytes in content.replace(b"\r\n", b"\n"):
        return Outcome(MET, locator)
    why = f'the text "{text}" is not in it'
    return Outcome(UNMET, locator, why, f'Write "{text}" into {locator}.')


def _skill_used(want: SkillUsed, evidence: Evidence) -> Outcome:
    locator = shown(want.name)
    if skill_id(want.name) in evidence.opened:
        return Outcome(MET, locator)
    return Outcome(UNMET, locator, skill_not_opened(want.name), open_skill(want.name))


_NOT_A_FILE = {
    "missing": (UNMET, "the file is missing", ""),
    "directory": (UNMET, "not a regular file, but a folder", "Put a regular file there."),
    "special": (UNMET, "not a regular file", "Put a regular file there."),
    "link": (UNMET, "a link, not a regular file", "Put the file itself there."),
    "outside": (UNMET, "link leaves the workspace", "Put the file itself there."),
    "too_large": (
        ERROR,
        f"larger than {READ_BYTES_MAX // 1024**2} MiB, so it was not read",
        "Write the text into a smaller file, or tell your user.",
    ),
    "unreadable": (ERROR, "it cannot be read", "Make it readable."),
}


def _no_file(locator: str, found: FileState, create: str) -> Outcome:
    state, why, next_action = _NOT_A_FILE[found.kind]
    return Outcome(state, locator, why, next_action or create)


def _wanted_exists(want: ArtifactExists) -> str:
    size = f" of at least {want.min_bytes} bytes" if want.min_bytes > 1 else ""
    if is_pattern(want.path):
        return f"{want.min_count} or more files{size} match {shown(want.path)}"
    return f"{shown(want.path)} is a file{size or ' that is not empty'}"


KINDS = (
    Kind(
        "artifact_exists",
        ArtifactExists,
        _artifact_exists,
        _wanted_exists,
        "path",
        {
            "path": Arg("File under the workspace, or a pattern with `*`, `?` and `**`."),
            "min_bytes": Arg("Smallest size that counts, in bytes.", 0, 1_000_000_000),
            "min_count": Arg("How many files must match; more than 1 needs a pattern.", 1, 1000),
        },
    ),
    Kind(
        "artifact_contains",
        ArtifactContains,
        _artifact_contains,
        lambda want: f'{shown(want.path)} contains "{shown(want.text)}"',
        "path::text",
        {
            "path": Arg("File under the workspace, of at most 8 MiB."),
            "text": Arg("Text that stands in it, letter for letter."),
        },
    ),
    Kind(
        "skill_used",
        SkillUsed,
        _skill_used,
        lambda want: f"the skill {shown(want.name)} was opened",
        "name",
        {"name": Arg("Name of the skill, or path to its SKILL.md.")},
    ),
)
KINDS_BY_NAME = {kind.name: kind for kind in KINDS}
