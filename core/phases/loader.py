"""Plan files: from YAML to a compiled plan, or to every fault with its place and its mend."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from core.files import is_pattern
from core.phases import fields, values
from core.phases.criteria import KINDS, KINDS_BY_NAME, Kind, PlanPath, PlanPattern, SkillName
from core.phases.display import shown
from core.phases.places import Lines, Places, Problem, Span
from core.phases.plan import PLAN_BYTES_MAX, Criterion, Limits, Phase, Plan, skill_id
from core.phases.values import Faults
from core.phases.yaml_safe import Items, Node, Pairs, Text, parse

PROBLEMS_MAX = 1000


class Loaded(NamedTuple):
    """A plan without problems, or None and its problems in the order of the text."""

    plan: Plan | None
    problems: tuple[Problem, ...]
    places: Places


def load(source: str | bytes) -> Loaded:
    """Read a plan file; never raises for any text.

    Positions are code points from 0, in the text without a byte order mark.
    """
    text = _decoded(source)
    if isinstance(text, Problem):
        return Loaded(None, (text,), Places())
    parsed = parse(text)
    reading = _Reading(Faults(parsed.problems))
    plan = None
    if parsed.root is not None:
        plan = reading.plan(parsed.root)
    elif not parsed.problems:
        mend = "Write version, and phases with an id and a task_prompt or exit_criteria."
        reading.faults.add(Span(0, 0, 0, 0), "empty", "the plan is empty", mend)
    problems = tuple(sorted(set(reading.faults.problems)))[:PROBLEMS_MAX]
    return Loaded(None if problems else plan, problems, reading.places)


def _decoded(source: str | bytes) -> str | Problem:
    size = len(source) if isinstance(source, bytes) else _utf8_bytes(source)
    if size > PLAN_BYTES_MAX:
        message = f"the plan has {size} bytes, more than {PLAN_BYTES_MAX}"
        return Problem(0, 0, 0, 0, "too_large", message, "Write a smaller plan.")
    if isinstance(source, str):
        return source.removeprefix("\ufeff")
    try:
        return source.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = source[: error.start].decode("utf-8").removeprefix("\ufeff")
        span = Lines(before).span(len(before), len(before))
        message = f"byte 0x{source[error.start]:02x} at offset {error.start} is not UTF-8"
        return Problem(*span, "not_utf8", message, "Save the file as UTF-8.")


def _utf8_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


class _Reading:
    """One walk over the tree; what has a fault is left out or takes its default."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.places = Places()
        self.phase_ids: dict[str, Span] = {}
        self.criterion_ids: dict[str, Span] = {}

    def plan(self, root: Node) -> Plan:
        found = values.mapping(self.faults, "the plan", root, fields.PLAN)
        if "version" in found:
            values.version(self.faults, *found["version"])
        task_id = values.task_id(self.faults, *found["task_id"]) if "task_id" in found else None
        prompt = self._text(found, "original_prompt")
        limits = self._limits(found["limits"][1]) if "limits" in found else Limits()
        phases = self._phases(*found["phases"]) if "phases" in found else ()
        return Plan(task_id, prompt, limits, phases)

    def _text(self, found: dict[str, tuple[Text, Node]], name: str) -> str:
        return (values.text(self.faults, *found[name]) if name in found else None) or ""

    def _limits(self, node: Node) -> Limits:
        found = values.mapping(self.faults, '"limits"', node, fields.LIMITS)
        read = {
            field.name: values.count(self.faults, *found[field.name], field.low, field.high)
            for field in fields.LIMITS
            if field.name in found
        }
        return Limits(**{name: number for name, number in read.items() if number is not None})

    def _phases(self, key: Text, node: Node) -> tuple[Phase, ...]:
        nodes = values.items(self.faults, key, node)
        if isinstance(node, Items) and not nodes:
            mend = "Write at least one phase with an id and a task_prompt or exit_criteria."
            self.faults.add(key.span, "no_phases", '"phases" is empty', mend)
        if len(nodes) > fields.PHASES_MAX:
            span = values.first_key(nodes[fields.PHASES_MAX])
            message = f'"phases" has {len(nodes)} phases, more than {fields.PHASES_MAX}'
            self.faults.add(span, "too_many_phases", message, "Put some of them together.")
        return tuple(
            self._phase(index, item) for index, item in enumerate(nodes[: fields.PHASES_MAX])
        )

    def _phase(self, index: int, node: Node) -> Phase:
        self.places.phase[index] = values.first_key(node)
        found = values.mapping(self.faults, f"phase {index + 1}", node, fields.PHASE)
        phase_id = self._phase_id(index, found)
        dao, shu = self._injected(index, found)
        required = tuple(_distinct((*dao, *shu)).values())
        if "required_skills" in found:
            required = self._skills(index, *found["required_skills"])
        if isinstance(node, Pairs) and not found.keys() & {"task_prompt", "exit_criteria"}:
            what = f"phase {index + 1}" if phase_id is None else f'phase "{phase_id}"'
            message = f'{what} has neither "task_prompt" nor "exit_criteria"'
            mend = "Write what to do as task_prompt, or when it ends as exit_criteria."
            self.faults.add(self.places.phase[index], "empty_phase", message, mend)
        named = phase_id or f"phase {index + 1}"  # A plan without its id is never given out.
        return Phase(
            named,
            self._text(found, "task_prompt"),
            dao,
            shu,
            required,
            self._forbidden(found),
            self._flag(found, "carry"),
            self._flag(found, "count_subagents"),
            self._criteria(named, *found["exit_criteria"]) if "exit_criteria" in found else (),
        )

    def _phase_id(self, index: int, found: dict[str, tuple[Text, Node]]) -> str | None:
        written = values.id_(self.faults, *found["id"]) if "id" in found else None
        if written is None:
            return None
        self.places.phase[index] = written.span
        self._unique(self.phase_ids, written.text, written.span, "phase")
        return written.text

    def _unique(self, seen: dict[str, Span], name: str, span: Span, what: str) -> None:
        if name in seen:
            message = (
                f'the {what} id "{shown(name)}" stands twice, first in line {seen[name].line + 1}'
            )
            self.faults.add(span, "duplicate_id", message, "Give this one another id.")
        seen.setdefault(name, span)

    def _injected(
        self, index: int, found: dict[str, tuple[Text, Node]]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if "skill_injection" not in found:
            return (), ()
        node = found["skill_injection"][1]
        lists = values.mapping(self.faults, '"skill_injection"', node, fields.SKILL_INJECTION)
        dao, shu = (
            self._skills(index, *lists[field.name]) if field.name in lists else ()
            for field in fields.SKILL_INJECTION
        )
        return dao, shu

    def _skills(self, index: int, key: Text, node: Node) -> tuple[str, ...]:
        """Read a list of skills; a skill that stands twice is kept once."""
        names: list[str] = []
        for item in values.texts(self.faults, key, node):
            name = values.skill(self.faults, item)
            if name is not None:
                names.append(name)
                self.places.skill.setdefault((index, skill_id(name)), item.span)
        return tuple(_distinct(names).values())

    def _forbidden(self, found: dict[str, tuple[Text, Node]]) -> tuple[str, ...]:
        if "forbidden_read" not in found:
            return ()
        written = values.texts(self.faults, *found["forbidden_read"])
        paths = (values.path(self.faults, item.span, item.text) for item in written)
        return tuple(path for path in paths if path is not None)

    def _flag(self, found: dict[str, tuple[Text, Node]], name: str) -> bool:
        return bool(values.flag(self.faults, *found[name])) if name in found else False

    def _criteria(self, phase_id: str, key: Text, node: Node) -> tuple[Criterion, ...]:
        nodes = values.items(self.faults, key, node)
        read = (
            self._criterion(f"{phase_id}.{position}", item)
            for position, item in enumerate(nodes, 1)
        )
        return tuple(criterion for criterion in read if criterion is not None)

    def _criterion(self, default_id: str, node: Node) -> Criterion | None:
        if not isinstance(node, Pairs):
            said = f'"{shown(node.text)}"' if isinstance(node, Text) else "this"
            mend = "Write `- kind: arguments`, as in `- artifact_exists: reports/survey.md`."
            self.faults.add(node.span, "wrong_type", f"{said} is no criterion", mend)
            return None
        id_pair = next((pair for pair in node.pairs if pair[0].text == "id"), None)
        criterion_id, id_span = default_id, values.first_key(node)
        if id_pair is not None and (written := values.id_(self.faults, *id_pair)) is not None:
            criterion_id, id_span = written.text, written.span
            self._unique(self.criterion_ids, criterion_id, id_span, "criterion")
        pair = self._kind_pair(node)
        self.places.criterion.setdefault(criterion_id, _pair_span(pair) if pair else id_span)
        if pair is None:
            return None
        kind = KINDS_BY_NAME[pair[0].text]
        args = self._args(kind, *pair)
        return None if args is None else Criterion(criterion_id, kind.name, args)

    def _kind_pair(self, node: Pairs) -> tuple[Text, Node] | None:
        """Find the one key that names a kind."""
        known = [kind.name for kind in KINDS]
        others = [pair for pair in node.pairs if pair[0].text != "id"]
        if not others:
            mend = f"Add one of {', '.join(known)}."
            self.faults.add(values.first_key(node), "no_kind", "the criterion has no kind", mend)
        for key, _ in others:
            if key.text not in known:
                message = f'unknown criterion "{shown(key.text)}"; known are {", ".join(known)}'
                values.unknown(self.faults, key, "unknown_criterion", message, known)
        for key, _ in others[1:]:
            message = f'"{shown(key.text)}" is a second kind in one criterion'
            mend = "Begin a list item of its own with `- `."
            self.faults.add(key.span, "two_kinds", message, mend)
        return next((pair for pair in others if pair[0].text in known), None)

    def _args(self, kind: Kind, key: Text, node: Node) -> dict[str, Any] | None:
        if isinstance(node, Pairs):
            args = self._long_args(kind, key, node)
        elif isinstance(node, Items):
            mend = f"Write {kind.name}: {kind.short}."
            self.faults.add(node.span, "bad_argument", f'"{kind.name}" takes no list', mend)
            return None
        else:
            args = self._short_args(kind, key, node)
        if args is None:
            return None
        if args.get("min_count", 1) > 1 and not is_pattern(args["path"]):
            message = f'"min_count" above 1 needs a pattern, and "{shown(args["path"])}" is none'
            mend = "Write a path with * in it, or remove min_count."
            self.faults.add(node.span, "bad_argument", message, mend)
        return args

    def _short_args(self, kind: Kind, key: Text, node: Text) -> dict[str, Any] | None:
        written = values.text(self.faults, key, node)
        if written is None:
            return None
        names = kind.short.split("::")
        parts = written.split("::", len(names) - 1)
        if len(parts) < len(names):
            message = f'"{shown(written)}" has no "::"'
            mend = f'Write {kind.name}: "{kind.short}".'
            self.faults.add(node.span, "bad_argument", message, mend)
            return None
        pairs = (
            (Text(key.span, name, True), Text(node.span, part, False))
            for name, part in zip(names, parts, strict=True)
        )
        return self._values(kind, {name.text: (name, part) for name, part in pairs})

    def _long_args(self, kind: Kind, key: Text, node: Pairs) -> dict[str, Any] | None:
        table = fields.arguments_of(kind)
        found = values.mapping(self.faults, f'"{kind.name}"', node, table)
        missing = [field for field in table if field.required and field.name not in found]
        read = self._values(kind, found)
        return None if missing else read

    def _values(self, kind: Kind, found: dict[str, tuple[Text, Node]]) -> dict[str, Any] | None:
        read = {name: self._value(kind, name, *pair) for name, pair in found.items()}
        return None if None in read.values() else read

    def _value(self, kind: Kind, name: str, key: Text, node: Node) -> Any:
        wanted = kind.args.__annotations__[name]
        arg = kind.docs[name]
        if wanted is int:
            return values.count(self.faults, key, node, arg.low, arg.high)
        written = values.text(self.faults, key, node)
        if written is None or not isinstance(node, Text):
            return None
        if wanted is PlanPattern:
            return values.pattern(self.faults, node.span, written)
        if wanted is PlanPath:
            return values.path(self.faults, node.span, written)
        if wanted is SkillName:
            return values.skill(self.faults, node)
        if not written:
            message = f'the {name} of "{kind.name}" is empty'
            self.faults.add(node.span, "bad_argument", message, f"Write a {name}.")
            return None
        return written


def _distinct(names: Iterable[str]) -> dict[str, str]:
    """Canonical id -> the first spelling of it, in order."""
    distinct: dict[str, str] = {}
    for name in names:
        distinct.setdefault(skill_id(name), name)
    return distinct


def _pair_span(pair: tuple[Text, Node]) -> Span:
    key, value = pair
    start, end = key.span, value.span
    # An aliased value, or an empty one, may end before its key does.
    last = max((end.end_line, end.end_column), (start.end_line, start.end_column))
    return Span(start.line, start.column, *last)
