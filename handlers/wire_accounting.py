"""The account of a turn on the wire: snapshot, rows, bars, usage and window."""

from core.accounting.kinds import KINDS, ROWS
from core.accounting.skill_states import STATES
from handlers.wire_kinds import COUNT, FLAG, INTEGER, NUMBER, RUNTIME, TEXT
from handlers.wire_records import choice, field, list_of, map_of, object_of, record

_SESSION = "Id of the session."
_SEQ = "Last journal line that this is made from; always there in a push."


@record()
class Item:
    """One part of an entry: a tool, a server, a skill, a file."""

    name: str = field(TEXT, "Its name.")
    tokens: int = field(COUNT, "Estimated tokens.")
    calls: int | None = field(COUNT, "How often it was called.", default=None)
    source: str | None = field(TEXT, "Where it came from.", default=None)
    note: str | None = field(TEXT, "What to know before trusting the figure.", default=None)


@record()
class Entry:
    """What one kind put into the context."""

    tokens: int = field(COUNT, "Estimated tokens.")
    source: str = field(TEXT, "Where it came from.")
    detail: str | None = field(TEXT, "Names and counts, for people.", default=None)
    items: tuple[Item, ...] | None = field(
        list_of(object_of(Item)), "Its parts, one by one.", default=None
    )
    calibrated: int | None = field(
        COUNT, "`tokens`, corrected by the measured error of the estimate.", default=None
    )


@record()
class Unknown:
    """Something that was there and cannot be counted."""

    kind: str = field(TEXT, "Kind it would count as.")
    name: str = field(TEXT, "Its name or id.")
    reason: str = field(TEXT, "Why it cannot be counted.")


@record()
class SkillState:
    """What became of one skill in this turn."""

    name: str = field(TEXT, "Its name.")
    state: str = field(
        choice(*STATES[1:]),
        "called: no body entered the context; loaded: it did; reinjected: again after a "
        "compaction; dropped: it left. Skills that are only listed are in `available`.",
    )
    source: str | None = field(TEXT, "Its SKILL.md, where it is known.", default=None)
    tokens: int | None = field(COUNT, "Estimated tokens of its body.", default=None)
    note: str | None = field(TEXT, "What to know about it.", default=None)


@record()
class Usage:
    """Usage as reported, in tokens; the parts do not overlap."""

    input: int = field(COUNT, "Input tokens that no cache gave.")
    output: int = field(COUNT, "Output tokens.")
    cache_read: int = field(COUNT, "Tokens read from the cache.")
    cache_creation: int = field(COUNT, "Tokens written to the cache.")
    messages: int | None = field(COUNT, "Requests that this is the sum of.", default=None)


@record()
class SubAgent:
    """What entered a sub-agent's own context."""

    agent_id: str = field(TEXT, "Id of the sub-agent.")
    entries: dict[str, Entry] = field(map_of(object_of(Entry)), "Kind to what it put in.")
    unknown: tuple[Unknown, ...] = field(
        list_of(object_of(Unknown)), "What was there and cannot be counted.", default=()
    )
    usage: Usage | None = field(
        object_of(Usage), "Usage of its own requests in this turn.", default=None
    )
    skill_states: tuple[SkillState, ...] = field(
        list_of(object_of(SkillState)), "What became of its skills.", default=()
    )


@record()
class Schema:
    """The description of a tool, or of all tools of an MCP server, as it was sent."""

    name: str = field(TEXT, "The tool, or the server.")
    units: int = field(COUNT, "Its length in UTF-16 code units.")


@record()
class NamedAvailable:
    """What could have been used, as the host named it; it counts for nothing."""

    tools: tuple[str, ...] | None = field(list_of(TEXT), "Built-in tools.", default=None)
    mcp_servers: tuple[str, ...] | None = field(list_of(TEXT), "MCP servers.", default=None)
    skills: tuple[str, ...] | None = field(list_of(TEXT), "Listed skills.", default=None)
    listed_again: tuple[str, ...] | None = field(
        list_of(TEXT), "Those of them that were listed more than once.", default=None
    )
    system_prompt_units: int | None = field(
        COUNT, "Length of the system prompt in UTF-16 code units.", default=None
    )
    schemas: tuple[Schema, ...] | None = field(
        list_of(object_of(Schema)), "What was sent of tools that were not called.", default=None
    )


@record()
class EstimateError:
    """How far the estimate was off, measured between consecutive requests of a turn.

    An error is |estimate - change| / change of the reported input; a ratio is reported tokens by
    estimated ones.
    """

    samples: int = field(COUNT, "How many pairs of requests were measured.")
    median: float = field(NUMBER, "Median error.")
    p90: float = field(NUMBER, "Error that nine of ten stay below.")
    ratio: float = field(NUMBER, "Ratio of text apart from wide scripts, else of all.")
    wide_ratio: float | None = field(NUMBER, "Ratio of wide scripts such as CJK.", default=None)


@record()
class Reconciliation:
    """The reported input of the last request against what the kinds explain, in tokens."""

    input: int = field(COUNT, "Reported input, with what the cache holds.")
    kinds: int = field(COUNT, "Sum of the kinds.")
    remainder: int = field(INTEGER, "Input less kinds: conversation and the like.")
    overcount: bool = field(FLAG, "True when the remainder is negative.")
    error: EstimateError | None = field(
        object_of(EstimateError), "The error of the estimate so far.", default=None
    )
    calibrated: int | None = field(
        COUNT, "Sum of the kinds, corrected by that error.", default=None
    )


@record()
class ReportedWindow:
    """The context window, when its size is known."""

    tokens: int = field(COUNT, "Its size in tokens.")
    source: str = field(TEXT, "Who said so.")


@record()
class Snapshot:
    """What really entered the context in one turn."""

    entries: dict[str, Entry] = field(map_of(object_of(Entry)), "Kind to what it put in.")
    unsupported: tuple[str, ...] = field(
        list_of(choice(*KINDS)), "Kinds that this runtime cannot tell."
    )
    produced_by: str = field(RUNTIME, "Runtime that the events came from.")
    provider_backend: str | None = field(TEXT, "Codex only: its backend.", default=None)
    unknown: tuple[Unknown, ...] = field(
        list_of(object_of(Unknown)), "What was there and cannot be counted.", default=()
    )
    available: NamedAvailable | None = field(
        object_of(NamedAvailable), "What could have been used.", default=None
    )
    subagents: tuple[SubAgent, ...] = field(
        list_of(object_of(SubAgent)), "What entered the contexts of sub-agents.", default=()
    )
    estimator: str | None = field(TEXT, "How tokens are estimated.", default=None)
    window: ReportedWindow | None = field(
        object_of(ReportedWindow), "Context window, when its size is known.", default=None
    )
    reconciliation: Reconciliation | None = field(
        object_of(Reconciliation), "The estimates against the reported usage.", default=None
    )
    skill_states: tuple[SkillState, ...] = field(
        list_of(object_of(SkillState)), "What became of the skills that came up.", default=()
    )


@record()
class ContextAccounting:
    """The plain snapshot, for a host to store with its result message."""

    entries: dict[str, Entry] = field(map_of(object_of(Entry)), "Kind to what it put in.")
    unsupported: tuple[str, ...] = field(
        list_of(choice(*KINDS)), "Kinds that this runtime cannot tell."
    )
    produced_by: str = field(RUNTIME, "Runtime that the events came from.")
    provider_backend: str | None = field(TEXT, "Codex only: its backend.", default=None)


@record()
class Row:
    """One row for people; rows of 0 and unsupported ones are left out."""

    kind: str = field(choice(*ROWS), "Which row.")
    label: str = field(TEXT, "Its name in the language of the settings.")
    tokens: int = field(COUNT, "Its tokens.")
    share: float | None = field(NUMBER, "Part of the whole, from 0 to 1.", default=None)
    source: str | None = field(TEXT, "Where it came from.", default=None)
    detail: str | None = field(TEXT, "Names and counts.", default=None)


@record()
class Cells:
    """A run of equal cells in a bar."""

    kind: str = field(TEXT, "Row that the cells belong to.")
    cells: int = field(COUNT, "How many cells.")


@record()
class Bars:
    """The same bar in two widths, so that every client draws the same."""

    cells100: tuple[Cells, ...] = field(list_of(object_of(Cells)), "Of 100 cells.")
    cells10: tuple[Cells, ...] = field(list_of(object_of(Cells)), "Of 10 cells.")


@record()
class UsageWithContext:
    """Usage of the turn as reported, in tokens, with the plain snapshot beside it."""

    input: int | None = field(COUNT, "Input tokens.", default=None)
    output: int | None = field(COUNT, "Output tokens.", default=None)
    cache_read: int | None = field(COUNT, "Tokens read from the cache.", default=None)
    cache_creation: int | None = field(COUNT, "Tokens written to the cache.", default=None)
    context_window: int | None = field(COUNT, "Size of the window in tokens.", default=None)
    messages: int | None = field(COUNT, "Requests that this is the sum of.", default=None)
    partial: int | None = field(
        COUNT, "Those of them whose message had not ended when last written.", default=None
    )
    inherited: int | None = field(
        COUNT, "Reports that count in the session this one was forked from.", default=None
    )
    context_accounting: ContextAccounting = field(
        object_of(ContextAccounting), "The plain snapshot.", wire="context_accounting"
    )


@record()
class WindowFill:
    """How full the context window is."""

    tokens: int = field(COUNT, "Its size in tokens.")
    source: str = field(TEXT, "Who said so.")
    used: int | None = field(
        COUNT,
        "Tokens in it; left out while nothing tells: before any usage, and after a compaction.",
        default=None,
    )
    used_source: str | None = field(
        TEXT,
        "Who says how many: usage of the last request, or another word of the host.",
        default=None,
    )
    stale: bool | None = field(
        FLAG, "True from a compaction on until the next usage.", default=None
    )
    ratio: float | None = field(NUMBER, "Used part, from 0.", default=None)
    remaining: int | None = field(COUNT, "Tokens left.", default=None)


@record()
class Part:
    """One part of a request."""

    kind: str = field(
        TEXT,
        "system_prompt, tool_schema, mcp_schema, skill_listing, skill_body, instructions, memory, "
        "mcp_instructions, hook_context, environment, reminder, file, user_text, assistant_text, "
        "thinking, tool_input, tool_result or image.",
    )
    name: str | None = field(TEXT, "Tool, server, skill or file, where there is one.", default=None)
    source: str = field(TEXT, "Where it is written down, or the file that it came from.")
    units: int = field(COUNT, "Its exact length in UTF-16 code units.")
    tokens: int | None = field(COUNT, "Its share of the reported input, by length.", default=None)


@record()
class Composition:
    """What the last request of the turn was made of, where the host wrote it down."""

    request_id: str | None = field(TEXT, "Id of the request.", default=None)
    parts: tuple[Part, ...] = field(list_of(object_of(Part)), "All of it, part by part.")
    reported: int | None = field(
        COUNT,
        "Reported input in tokens, cache included; what the parts' tokens sum to.",
        default=None,
    )


@record()
class Accounting:
    """The account of one turn, as it stands."""

    session_id: str = field(TEXT, _SESSION)
    turn_id: str | None = field(TEXT, "Turn; null while it has no name.", nullable=True)
    revision: int = field(COUNT, "Rises with each turn end and late result of this turn.")
    outcome: str | None = field(
        TEXT, "Outcome of the last turn end; null before one.", nullable=True
    )
    final: bool = field(FLAG, "True when the turn was allowed to end.")
    snapshot: Snapshot = field(object_of(Snapshot), "What entered the context.")
    rows: tuple[Row, ...] = field(list_of(object_of(Row)), "The same, for people.")
    bars: Bars = field(object_of(Bars), "The same, as bars.")
    usage: UsageWithContext = field(object_of(UsageWithContext), "What the host reported.")
    window: WindowFill | None = field(
        object_of(WindowFill), "How full the window is, when its size is known.", default=None
    )
    composition: Composition | None = field(
        object_of(Composition), "What the last request was made of.", default=None
    )
    seq: int | None = field(COUNT, _SEQ, default=None)
