"""Keeps the accounts of one session in memory, from events that come from a recording.

It decides and folds as a served session does (core/sessions.py), and writes nothing.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from core import account as accounts
from core import events as e
from core import facts as f
from core.accounting.estimator import TOKENS_MAX
from core.accounting.invocations import CallRow
from core.accounting.kinds import SKILL_TOOL
from core.accounting.usage import NOTHING, Figures, Requests
from core.errors import Refusal
from core.evolve import count_call, count_result, evolve, measure_request
from core.phases.evidence import READ
from core.phases.routing import Routing
from core.recordings.contract import Step
from core.session import decide
from core.state import MAIN, UNNAMED, Session, Turn
from core.units import content_measure, json_measure, text_measure

Measure = Callable[[Session, Turn], accounts.Measured]  # Looks files up; core/world.py, World.

_Usage: TypeAlias = tuple[Figures, Requests]

_NO_USAGE: _Usage = (NOTHING, Requests(0))
_NO_ROUTES = Routing()
_ENDS_TURN = frozenset({f.TurnOpened, f.PromptTaken, f.SessionEnded})


class Call(NamedTuple):
    """One call of a turn, and the line that told of it."""

    line: int
    agent_id: str  # "" for the main agent.
    row: CallRow


class Fill(NamedTuple):
    """How full the window was at one request, in tokens."""

    line: int
    used: int
    output: int


class Message(NamedTuple):
    """A model's message whose usage counts in this turn; "" for the main agent's.

    `figures` are those of the turn's end; a message may be told again later.
    """

    message_id: str
    agent_id: str
    figures: Figures


class Compaction(NamedTuple):
    """A compaction within a turn, in tokens where they are known."""

    line: int
    trigger: str | None
    pre_tokens: int | None
    post_tokens: int | None


class TurnBook(NamedTuple):
    """The account of a turn that is over, or of the open one as it stands."""

    turn_id: str | None
    line: int  # Of its prompt, else of its first event.
    outcome: str | None
    from_human: bool | None  # None for a turn without a prompt.
    prompt_units: int | None
    data: dict[str, Any]  # Read by core/account.py, `view`.
    messages: tuple[Message, ...]  # Those whose usage counts in this turn.
    calls: tuple[Call, ...] = ()
    fills: tuple[Fill, ...] = ()
    compactions: tuple[Compaction, ...] = ()


class _Page:
    """What is noted of the open turn beside its state."""

    __slots__ = (
        "compactions",
        "fills",
        "from_human",
        "is_empty",
        "line",
        "lines",
        "messages",
        "outcome",
        "prompt_units",
    )

    def __init__(self, line: int) -> None:
        self.line = line
        self.is_empty = True
        self.from_human: bool | None = None
        self.prompt_units: int | None = None
        self.outcome: str | None = None
        self.lines: dict[str, int] = {}
        self.messages: dict[str, str] = {}  # Message id: agent id.
        self.fills: dict[str | int, Fill] = {}
        self.compactions: list[Compaction] = []


class Book:
    """The accounts of one session.

    With `detail` each call keeps its line, and each request its fill. `closed` is given every turn
    that is over, once.
    """

    def __init__(
        self,
        session_id: str,
        measure: Measure,
        closed: Callable[[TurnBook], None],
        *,
        detail: bool = False,
    ) -> None:
        self.state = Session(session_id)
        self.refused = 0  # Events that could not be taken.
        self._measure = measure
        self._closed = closed
        self._told: dict[str, _Usage] = {}  # By the last book of each turn, and those before it.
        # Of each turn by name: the data of its last book, and the usage that earlier ones hold.
        self._last: dict[str, tuple[dict[str, Any], _Usage]] = {}
        self.detail = detail
        self.page = _Page(1)

    def take(self, step: Step) -> None:
        """Fold what a step tells; what is no event tells nothing here."""
        event = step.event
        kind = type(event)
        short_cut = _SHORT_CUTS.get(kind)
        if short_cut is not None and short_cut(self, event, step.line):
            return
        if kind not in _TAKEN:
            if isinstance(event, e.TurnEnd):
                self._end(event)
            return
        try:
            decided = decide(self.state, event, _NO_ROUTES)  # type: ignore[arg-type]  # See _TAKEN.
        except Refusal:
            self.refused += 1
            return
        for fact in decided.facts:
            self.fold(fact, step.line)

    def close(self) -> None:
        """Give the open turn as if it were over, and mend what was told late of earlier ones.

        The usage of a message may be told again after its turn closed; then `data` of that turn's
        last book changes in place.
        """
        self._close(self.page.line)
        for name, (data, before) in self._last.items():
            self._set_usage(data, name, before)

    def _set_usage(self, data: dict[str, Any], name: str, before: _Usage) -> None:
        """Put the usage of a turn into its book, less what an earlier book of its name holds."""
        now = self._usage_of(name)
        figures = [max(0, n - b) for n, b in zip(now[0], before[0], strict=True)]
        if any(figures):
            data["usage"] = [min(tokens, TOKENS_MAX) for tokens in figures]
        else:
            data.pop("usage", None)
        data["requests"] = [n - b for n, b in zip(now[1], before[1], strict=True)]
        for agent in data["snapshot"]["subagents"]:
            ledger = self.state.side_usage.get(agent["agent_id"])
            side = None if ledger is None else ledger.turn(name)
            if ledger is not None and side is not None:
                agent["usage"] = [min(tokens, TOKENS_MAX) for tokens in side]
                agent["messages"] = ledger.requests(name).messages

    def _usage_of(self, name: str) -> _Usage:
        usage = self.state.usage
        return usage.turn(name) or NOTHING, usage.requests(name)

    def open_turn(self) -> TurnBook | None:
        """Give the account of the open turn as it stands."""
        turn = self.state.turn
        return None if turn is None else self._book(turn)

    def _end(self, event: e.TurnEnd) -> None:
        """Note how a turn ended; an end is no event of the account, which only a prompt closes."""
        if event.agent_id is None and self.state.turn is not None:
            self.page.outcome = event.outcome
            if self.state.turn.turn_id is None:
                self.fold(f.TurnNamed(event.turn_id), self.page.line)

    def fold(self, fact: f.Fact, line: int) -> None:
        """Fold a fact that was decided before, or just now."""
        kind = type(fact)
        if kind in _ENDS_TURN and not (isinstance(fact, f.PromptTaken) and fact.joins):
            self._close(line)
        state = self.state
        evolve(state, fact, state.seq + 1)
        if kind in _NOTED:
            self._note(fact, line)
        if kind is not f.SessionStarted and state.turn is not None:
            self.page.is_empty = False

    def _note(self, fact: f.Fact, line: int) -> None:
        page = self.page
        match fact:
            case f.ToolCalled():
                if self.detail:
                    page.lines[fact.tool_use_id] = line
            case f.UsageReported():
                self._note_usage(fact, line)
            case f.PromptTaken():
                if page.prompt_units is None:
                    page.from_human, page.prompt_units = fact.from_human, fact.units
            case f.TurnAccounted():
                page.outcome = fact.outcome
            case f.Compacted():
                if fact.stage == "after":
                    page.compactions.append(
                        Compaction(line, fact.trigger, fact.pre_tokens, fact.post_tokens)
                    )

    def _note_usage(self, fact: f.UsageReported, line: int) -> None:
        if fact.message_id is not None and not fact.inherited:
            self.page.messages[fact.message_id] = fact.agent_id or MAIN
        if self.detail and fact.agent_id is None and not (fact.cumulative or fact.is_sum):
            cached = 0 if fact.includes_cache else fact.cache_read + fact.cache_creation
            used = fact.input + cached
            if used:
                self.page.fills[fact.message_id or line] = Fill(line, used, fact.output)

    def _close(self, line: int) -> None:
        turn = self.state.turn
        if turn is not None and not self.page.is_empty:
            book, name = self._book(turn), turn.turn_id or UNNAMED
            told = _NO_USAGE if name not in self._last else self._told.get(name, _NO_USAGE)
            self._set_usage(book.data, name, told)
            self._last[name], self._told[name] = (book.data, told), self._usage_of(name)
            self._closed(book)
        self.page = _Page(line)

    def _book(self, turn: Turn) -> TurnBook:
        page = self.page
        return TurnBook(
            turn_id=turn.turn_id,
            line=page.line,
            outcome=page.outcome,
            from_human=page.from_human,
            prompt_units=page.prompt_units,
            data=accounts.account(self.state, turn, self._measure(self.state, turn)),
            messages=tuple(self._messages(turn)),
            calls=tuple(self._calls(turn)) if self.detail else (),
            fills=tuple(page.fills.values()),
            compactions=tuple(page.compactions),
        )

    def _messages(self, turn: Turn) -> Iterator[Message]:
        """Give the messages that count here; one that was known before counts where it came."""
        for message_id, agent_id in self.page.messages.items():
            ledger = self.state.side_usage[agent_id] if agent_id else self.state.usage
            owned = ledger.owned(message_id)
            is_here = owned is not None and owned[0] == (turn.turn_id or UNNAMED)
            if owned is not None and is_here and owned[1] != NOTHING:
                yield Message(message_id, agent_id, owned[1])

    def _calls(self, turn: Turn) -> Iterator[Call]:
        for agent_id, calls in turn.agents.items():
            for row in calls.rows():
                yield Call(self.page.lines.get(row.tool_use_id, 0), agent_id or MAIN, row)


def _take_call(book: Book, event: e.ToolCall, line: int) -> bool:
    """Count a plain call of the open turn; any other is decided."""
    turn = book.state.turn
    if turn is None or event.turn_id not in (None, turn.turn_id) or event.name in _LOOKED_INTO:
        return False
    state = book.state
    units, wide = json_measure(event.input)
    call = (event.tool_use_id, event.name, units, None, None, wide)
    count_call(state, turn, event.agent_id or event.parent_tool_use_id, call)
    state.seq += 1
    if book.detail:
        book.page.lines[event.tool_use_id] = line
    return True


def _take_result(book: Book, event: e.ToolResult, _line: int) -> bool:
    """Count the result of a call that the named agent made in the open turn."""
    turn = book.state.turn
    calls = None if turn is None else turn.agents.get(event.agent_id or MAIN)
    if turn is None or calls is None or calls.find(event.tool_use_id) is None:
        return False
    units, wide, images = content_measure(event.content)
    result = (event.tool_use_id, units, event.is_error, images, wide)
    count_result(book.state, turn, event.agent_id or None, result)
    book.state.seq += 1
    return True


def _take_usage(book: Book, event: e.Usage, line: int) -> bool:
    """Count the usage of one request of the main agent in the open turn."""
    state, turn = book.state, book.state.turn
    if turn is None or event.agent_id is not None or event.inherited or event.cumulative:
        return False
    if event.input_includes_cache or event.is_sum:
        return False
    turn.final = False
    figures = Figures(*event[:4])
    state.usage.report(
        turn.turn_id or UNNAMED,
        figures,
        message_id=event.message_id,
        window=event.context_window,
        partial=event.partial,
    )
    state.window = event.context_window or state.window
    sent = figures.used
    measure_request(state, event.message_id, event.request_id, sent)
    state.seq += 1
    if event.message_id is not None:
        book.page.messages[event.message_id] = MAIN
    if book.detail and sent:
        book.page.fills[event.message_id or line] = Fill(line, sent, event.output_tokens)
    return True


def _take_text(book: Book, event: e.Spoken, _line: int) -> bool:
    """Measure a text of the open turn."""
    if book.state.turn is None:
        return False
    if event.agent_id is None:
        book.state.error.append(*text_measure(event.text))
    book.state.seq += 1
    return True


def _take_request(book: Book, event: e.Request, _line: int) -> bool:
    """Mark where a request begins, if nothing more is told of it."""
    if book.state.turn is None or event.parts:
        return False
    if event.agent_id is None:
        book.state.error.request()
        book.state.turn.composition = None
    book.state.seq += 1
    return True


# Most events need no decision: they fold to the state that deciding them would give, which
# tests/core/recordings/test_book.py proves.
_SHORT_CUTS: dict[type, Callable[[Book, Any, int], bool]] = {
    e.ToolCall: _take_call,
    e.ToolResult: _take_result,
    e.Usage: _take_usage,
    e.Spoken: _take_text,
    e.Request: _take_request,
}
_LOOKED_INTO = frozenset({SKILL_TOOL, READ})  # Calls of these tell of skills.
_TAKEN = frozenset(
    {
        e.ToolCall,
        e.ToolResult,
        e.Usage,
        e.Spoken,
        e.Request,
        e.Prompt,
        e.Context,
        e.Skill,
        e.SkillListing,
        e.Fill,
        e.Compaction,
        e.SessionStart,
        e.SessionEnd,
        e.Composer,
    }
)
_NOTED = frozenset({f.ToolCalled, f.UsageReported, f.PromptTaken, f.Compacted, f.TurnAccounted})
