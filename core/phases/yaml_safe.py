"""YAML as a tree of plain texts with their places: no types, no tags, and limits on everything.

The composer runs over parse events with a stack of its own, so that no text can exhaust the
interpreter's; aliases are counted as the nodes they stand for, so that no text can grow.
"""

import re
from typing import Any, NamedTuple, TypeAlias

import yaml

from core.phases.display import shown
from core.phases.places import Lines, Problem, Span

DEPTH_MAX = 40
NODES_MAX = 50_000
ALIASED_NODES_MAX = 1000  # Nodes that aliases repeat, counted as if they were written out.


class Text(NamedTuple):
    """A scalar as it was written; `plain` means without quotes and not as a block."""

    span: Span
    text: str
    plain: bool


class Items(NamedTuple):
    """A list."""

    span: Span
    nodes: tuple["Node", ...]


class Pairs(NamedTuple):
    """A mapping, in the order of the text; keys are unique texts."""

    span: Span
    pairs: tuple[tuple[Text, "Node"], ...]


Node: TypeAlias = Text | Items | Pairs


class Parsed(NamedTuple):
    """The tree, None when the text gave none, and what is wrong with it as YAML."""

    root: Node | None
    problems: list[Problem]


class _Stop(Exception):
    """The text cannot be read any further."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code)
        self.problem = problem


def parse(text: str) -> Parsed:
    """Read one YAML document; never raises for any text."""
    composer = _Composer(text)
    try:
        composer.run()
    except _Stop as stop:
        return Parsed(None, [*composer.problems, stop.problem])
    return Parsed(composer.root, composer.problems)


class _Frame:
    """A list or mapping that is still open."""

    __slots__ = ("anchor", "end", "event", "nodes", "size")

    def __init__(self, event: yaml.CollectionStartEvent) -> None:
        self.event = event
        self.anchor: str | None = event.anchor
        self.nodes: list[Node] = []
        self.size = 1
        self.end = _offset(event.end_mark)


class _Anchored(NamedTuple):
    node: Node
    size: int  # Nodes, aliases written out.


class _Composer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = Lines(text)
        self.problems: list[Problem] = []
        self.root: Node | None = None
        self.frames: list[_Frame] = []
        self.anchors: dict[str, _Anchored] = {}
        self.nodes = self.aliased = self.documents = 0

    def run(self) -> None:
        try:
            loader: Any = yaml.SafeLoader(self.text)
        except yaml.YAMLError as error:
            raise self._not_yaml(error, 0) from None
        while True:
            try:
                if not loader.check_event():
                    return
                event = loader.get_event()
            except (yaml.YAMLError, ValueError, OverflowError) as error:
                # PyYAML lets chr() and int() fail on escapes and directives that are out of range.
                raise self._not_yaml(error, loader.index) from None
            self._take(event)

    def _take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.NodeEvent):
            self._node(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close(event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                mend = "Put everything into one document, without `---` between."
                raise self._stop(event, "documents", "there is a second document", mend)

    def _node(self, event: yaml.NodeEvent) -> None:
        self.nodes += 1
        if self.nodes > NODES_MAX:
            message = f"the text has more than {NODES_MAX} values"
            raise self._stop(event, "too_many_nodes", message, "Write a smaller plan.")
        if isinstance(event, yaml.AliasEvent):
            self._alias(event)
            return
        if isinstance(event, yaml.ScalarEvent):
            self._no_tag(event)
            self._scalar(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._no_tag(event)
            if len(self.frames) == DEPTH_MAX:
                message = f"lists and mappings are nested more than {DEPTH_MAX} deep"
                raise self._stop(event, "too_deep", message, "Write it flatter.")
            self.frames.append(_Frame(event))

    def _no_tag(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.tag is not None:
            tag = shown(event.tag.replace("tag:yaml.org,2002:", "!!"))
            mend = "Remove the tag; every value is taken as it is written."
            self._fault(event, "tag", f'the tag "{tag}" means nothing in a plan', mend)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        if any("\ud800" <= character <= "\udfff" for character in event.value):
            mend = "Write the character itself in UTF-8."
            self._fault(event, "surrogate", "the text has half of a surrogate pair", mend)
        node = Text(self._span(event), event.value, event.style is None)
        self._add(node, event.anchor, 1, _offset(event.end_mark))

    def _alias(self, event: yaml.AliasEvent) -> None:
        name = shown(event.anchor or "")
        if any(frame.anchor == event.anchor for frame in self.frames):
            message = f'the alias "*{name}" stands inside its own anchor'
            raise self._stop(event, "alias", message, "Write the value out instead.")
        if event.anchor is None or event.anchor not in self.anchors:
            message = f'the alias "*{name}" has no anchor "&{name}" before it'
            mend = f'Quote it, if "*{name}" is meant as text; or write "&{name}" at the value.'
            raise self._stop(event, "alias", message, mend)
        node, size = self.anchors[event.anchor]
        self.aliased += size
        if self.aliased > ALIASED_NODES_MAX:
            message = (
                f'with the alias "*{name}", aliases repeat more than {ALIASED_NODES_MAX} values'
            )
            raise self._stop(event, "alias_bomb", message, "Write the values out instead.")
        self._add(node._replace(span=self._span(event)), None, size, _offset(event.end_mark))

    def _add(self, node: Node, anchor: str | None, size: int, end: int) -> None:
        if anchor is not None:
            self.anchors[anchor] = _Anchored(node, size)
        if not self.frames:
            self.root = node
            return
        frame = self.frames[-1]
        frame.nodes.append(node)
        frame.size += size
        frame.end = max(frame.end, self._trimmed(frame.end, end))

    def _close(self, event: yaml.CollectionEndEvent) -> None:
        frame = self.frames.pop()
        # The end of a block collection is reported at the next token, past blanks and comments.
        end = _offset(event.end_mark) if frame.event.flow_style else frame.end
        span = self.lines.span(_offset(frame.event.start_mark), end)
        node: Node = (
            Items(span, tuple(frame.nodes))
            if isinstance(event, yaml.SequenceEndEvent)
            else Pairs(span, self._pairs(frame.nodes))
        )
        self._add(node, frame.anchor, frame.size, end)

    def _pairs(self, nodes: list[Node]) -> tuple[tuple[Text, Node], ...]:
        pairs: dict[str, tuple[Text, Node]] = {}
        for key, value in zip(nodes[::2], nodes[1::2], strict=True):
            if not isinstance(key, Text):
                self._fault_at(key.span, "key", "a key must be a text", "Write a plain word.")
            elif key.plain and key.text == "<<":
                mend = "Write the keys out instead."
                self._fault_at(key.span, "merge_key", 'the merge key "<<" is not read', mend)
            elif key.text in pairs:
                first = pairs[key.text][0].span.line + 1
                message = f'the key "{shown(key.text)}" stands twice, first in line {first}'
                self._fault_at(key.span, "duplicate_key", message, "Remove one of them.")
            else:
                pairs[key.text] = (key, value)
        return tuple(pairs.values())

    def _trimmed(self, start: int, end: int) -> int:
        while end > start and self.text[end - 1].isspace():
            end -= 1
        return end

    def _span(self, event: yaml.Event) -> Span:
        start = _offset(event.start_mark)
        return self.lines.span(start, self._trimmed(start, _offset(event.end_mark)))

    def _fault(self, event: yaml.Event, code: str, message: str, mend: str) -> None:
        self._fault_at(self._span(event), code, message, mend)

    def _fault_at(self, span: Span, code: str, message: str, mend: str) -> None:
        self.problems.append(Problem(*span, code, message, mend))

    def _stop(self, event: yaml.Event, code: str, message: str, mend: str) -> _Stop:
        return _Stop(Problem(*self._span(event), code, message, mend))

    def _not_yaml(self, error: Exception, index: int) -> _Stop:
        why, mend = _OUT_OF_RANGE
        if isinstance(error, yaml.reader.ReaderError):
            index = error.position
            why = f"the character U+{int(error.character):04X} is not allowed"
            mend = "Remove it, or write it as an escape in double quotes."
        elif isinstance(error, yaml.MarkedYAMLError):
            mark = error.problem_mark or error.context_mark
            index = mark.index if mark is not None else index
            why, mend = _plainly(error.problem or error.context or "")
        index = min(index, len(self.text))
        end = index + (self.text[index : index + 1] not in ("", "\n", "\r"))
        message = f"this is not YAML: {why}"
        return _Stop(Problem(*self.lines.span(index, end), "not_yaml", message, mend))


def _offset(mark: Any) -> int:
    index: int = mark.index
    return index


# What PyYAML says, in plain words, and the mend; the first pattern that is found counts.
_SAID = (
    (r"'\\t'", "a tab stands where only spaces may", "Indent with spaces, not with tabs."),
    (
        "cannot start any token",
        "a text begins with a character that YAML keeps for itself",
        "Put the text in quotes.",
    ),
    (
        "mapping values are not allowed",
        'a ": " stands where no key can be',
        'Quote a text that has ": " in it; align keys that belong together, each with its ":".',
    ),
    (
        "could not find expected ':'",
        'a key has no ":" behind it',
        "Write `key: value`, or quote a text of several lines.",
    ),
    ("unexpected end of stream", "the file ends within quotes", "Close the quote."),
    ("document separator", "a line `---` or `...` stands within quotes", "Close the quote."),
    (
        "escape",
        "a backslash in double quotes begins no escape that YAML knows",
        "Use single quotes, in which a backslash is a backslash.",
    ),
    (
        "<block end>",
        "this line does not fit those above it",
        "Align the line with those it belongs to; let nothing follow a closing quote.",
    ),
    (
        "expected ',' or|unclosed",
        "a bracket is not closed, or a comma is missing",
        "Close the bracket, or put a comma between the values.",
    ),
    (
        "the node content",
        "a value is missing, or a bracket is not closed",
        "Write the value, or close the bracket.",
    ),
    (
        "sequence entries are not allowed",
        "a list item cannot begin here",
        "Begin each item with `- ` on a line of its own, below its key.",
    ),
    (
        "mapping keys are not allowed",
        'a "? " cannot stand here',
        'Write `key: value`, or quote the text if it begins with "? ".',
    ),
    (
        "alphabetic or numeric",
        "an anchor, an alias or a directive has no name",
        "Quote the text, if &, * or % is meant as text.",
    ),
    (
        "indentation indicator|a comment or a line break",
        "something stands behind a | or >",
        "Begin the text on the next line, indented deeper than its key.",
    ),
    (
        "<document start>",
        "something stands outside of the plan's keys",
        "Write all keys in one mapping, and no lines with %, --- or ... .",
    ),
    (
        "[tT]ag|URI|directive|a digit|incompatible|expected '[!> ]'",
        "a tag or a directive is not well-formed",
        "Remove it, a plan has none; or quote the text, if ! or % is meant as text.",
    ),
)
_NO_SENSE = (
    "the text makes no sense from here on",
    "Look at indentation, quotes and brackets here and in the line before.",
)
_OUT_OF_RANGE = (
    "a number or an escape is out of range",
    "Use single quotes, in which a backslash is a backslash.",
)


def _plainly(said: str) -> tuple[str, str]:
    """Say in plain words what the parser said, and how to mend it."""
    found = (row[1:] for row in _SAID if re.search(row[0], said))
    return next(found, _NO_SENSE)
