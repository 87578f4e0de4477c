"""From the account of a turn to its snapshot: the one place where kinds get their figures."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from core.accounting.composition import MCP_SCHEMA, SCHEMA, SYSTEM_PROMPT, Composition
from core.accounting.composition import SOURCE as COMPOSED
from core.accounting.error import Measured
from core.accounting.estimator import call_tokens, file_tokens
from core.accounting.invocations import ToolInvocationAccumulator
from core.accounting.kinds import DERIVED_KINDS, KINDS, SKILL_TOOL, ToolClass, classify
from core.accounting.rules import RuleFile
from core.accounting.skill_use import Note, SkillFiles, skills_used
from core.accounting.skills import canonical, skill_key
from core.accounting.snapshot import (
    Entry,
    Item,
    Reconciliation,
    Snapshot,
    SubAgent,
    Unknown,
    Window,
    files_entry,
)
from core.accounting.usage import Figures
from core.events import SelectedSkill
from core.units import utf16_order

NOT_MEASURED = "the file cannot be read"
ORPHAN_RESULT = "orphan_result"
IMAGES = "images are not counted as text"
AMBIGUOUS = "ambiguous server name"
ALIAS = "the host calls it"


class _Group(NamedTuple):
    """Calls of one tool, or of one MCP server."""

    tokens: int = 0
    calls: int = 0
    wide: int = 0  # UTF-16 units of wide scripts among them.
    note: str | None = None


_Groups = dict[str, _Group]
_NO_CALLS = _Group()


class Supplied(NamedTuple):
    """Content that the host itself put into the context."""

    kind: str
    source: str
    tokens: int | None  # None when nobody knows how long it is.
    detail: str | None = None


class Attached(NamedTuple):
    """A file that the host put beside the prompt."""

    name: str
    source: str
    tokens: int


class Account(NamedTuple):
    """All that a snapshot of one turn is made from."""

    runtime: str
    calls: ToolInvocationAccumulator  # Of the main agent.
    provider_backend: str | None = None
    sub_agents: Mapping[str, ToolInvocationAccumulator] = MappingProxyType({})
    selected: tuple[SelectedSkill, ...] = ()
    skill_files: SkillFiles = MappingProxyType({})  # An answer for each of `wanted_skills`.
    rule_files: tuple[RuleFile, ...] = ()
    rules_unknown: str | None = None  # Why nobody knows which instruction files were there.
    supplied: tuple[Supplied, ...] = ()
    attachments: tuple[Attached, ...] = ()
    supplied_kinds: frozenset[str] = frozenset()  # By the host, in this session so far.
    available: dict[str, Any] | None = None  # {mcp_servers: names, ...}, as the host named it.
    window: Window | None = None
    last_input_tokens: int | None = None  # Of the last request, cache included; None when stale.
    workspace: str = ""
    skill_notes: Mapping[str, tuple[Note, ...]] = MappingProxyType({})  # By agent, "" the main one.
    # Skills named to the model since the last compaction, and how often.
    listed: Mapping[str, int] = MappingProxyType({})
    composition: Composition | None = None  # Of the last request that was written down.
    measured: Measured | None = None  # The error of the estimate so far.
    # Of sub-agents in this turn: their usage, and how many requests it is the sum of.
    sub_usage: Mapping[str, tuple[Figures, int]] = MappingProxyType({})


def collect(account: Account) -> Snapshot:
    """Say what entered the context in a turn; an unsupported kind has no entry."""
    servers = _servers(account.available)
    unknown = _unknown_results(account.calls)
    entries = _call_entries(account.calls, servers, account.measured)
    notes = account.skill_notes.get("", ())
    skills = skills_used(
        account.calls, account.selected, notes, account.skill_files, account.workspace
    )
    unknown += skills.unknown
    if skills.entry is not None:
        entries["skills"] = skills.entry
    rules = _rules(account, unknown)
    if rules is not None:
        entries["rules"] = rules
    _add_system_prompt(entries, account.composition)
    _add_attachments(entries, account.attachments)
    _add_supplied(entries, account.supplied)
    unknown += [
        Unknown(given.kind, given.source, NOT_MEASURED)
        for given in account.supplied
        if given.tokens is None
    ]
    supported = supported_kinds(account)
    entries = {k: entries[k] for k in KINDS if k in supported and k in entries}
    entries = {k: _calibrated(entry, account) for k, entry in entries.items() if entry.tokens}
    return Snapshot(
        entries=entries,
        unsupported=tuple(kind for kind in KINDS if kind not in supported),
        produced_by=account.runtime,
        provider_backend=account.provider_backend,
        unknown=tuple(unknown),
        available=_available(account, servers),
        subagents=_sub_agents(account, servers),
        window=account.window,
        reconciliation=_reconcile(account, entries),
        skill_states=skills.states,
    )


def wanted_skills(account: Account) -> tuple[SelectedSkill, ...]:
    """List the skills whose files a snapshot needs, each once, under the name it is asked for.

    The place that the user selected for a name stands for every call of that name.
    """
    places = {
        skill_key(skill.name): skill.source_path for skill in account.selected if skill.source_path
    }
    wanted: dict[str, SelectedSkill] = {}
    for calls in (account.calls, *account.sub_agents.values()):
        for call in calls.skill_calls():
            if call.name is not None:
                _want(wanted, call.name, places)
    for skill in account.selected:
        _want(wanted, skill.name, places)
    for notes in account.skill_notes.values():
        for note in notes:
            if note.path and note.units is None:
                places.setdefault(skill_key(note.name), note.path)
            _want(wanted, note.name, places)
    return tuple(wanted.values())


def supported_kinds(account: Account) -> frozenset[str]:
    """Say for which kinds an absent entry means nothing, and not that nobody knows."""
    kinds = DERIVED_KINDS | account.supplied_kinds | {given.kind for given in account.supplied}
    if account.attachments:
        kinds |= {"files_attachments"}
    composition = account.composition
    if composition is not None and any(p.kind == SYSTEM_PROMPT for p in composition.parts):
        kinds |= {"system_prompt"}
    return kinds


def _want(wanted: dict[str, SelectedSkill], name: str, places: Mapping[str, str]) -> None:
    key = skill_key(name)
    wanted.setdefault(key, SelectedSkill(canonical(name), places.get(key)))


def _servers(available: dict[str, Any] | None) -> tuple[str, ...]:
    return tuple(available.get("mcp_servers", ())) if available else ()


def _unknown_results(calls: ToolInvocationAccumulator) -> list[Unknown]:
    unknown = [Unknown("tools", tool_use_id, ORPHAN_RESULT) for tool_use_id in calls.orphans()]
    for name, total in calls.totals().items():
        if total.images:
            kind = "mcp" if classify(name).kind == "mcp" else "tools"
            unknown.append(Unknown(kind, name, IMAGES))
    return unknown


def _call_entries(
    calls: ToolInvocationAccumulator, servers: tuple[str, ...], measured: Measured | None
) -> dict[str, Entry]:
    """Make the entries of built-in tools and of MCP servers."""
    tools: _Groups = {}
    mcp: _Groups = {}
    for name, total in calls.totals().items():
        if name == SKILL_TOOL:
            continue
        tool = classify(name, servers)
        groups = mcp if tool.kind == "mcp" else tools
        known = groups.get(tool.group, _NO_CALLS)
        groups[tool.group] = _Group(
            known.tokens + total.tokens,
            known.calls + total.calls,
            known.wide + total.wide,
            _note(known.note, name, tool),
        )
    entries = {}
    if tools:
        entries["tools"] = _calls_entry(tools, "tool_use/tool/", measured)
    if mcp:
        entries["mcp"] = _calls_entry(mcp, "tool_use/mcp/", measured)
    return entries


def _note(note: str | None, name: str, tool: ToolClass) -> str | None:
    """Say under which other name the host knows a server, or which tools leave it unclear."""
    if tool.ambiguous:
        return f"{AMBIGUOUS}: {name}" if note is None else f"{note}, {name}"
    return f"{ALIAS} {tool.alias}" if tool.alias is not None else note


def _calls_entry(groups: _Groups, prefix: str, measured: Measured | None) -> Entry:
    # Text in ASCII sorts the same either way, and this is made at every usage event.
    names = sorted(groups) if "".join(groups).isascii() else sorted(groups, key=utf16_order)
    items, sources, details, total, wide = [], [], [], 0, 0
    for name in names:
        group = groups[name]
        items.append(Item(name, group.tokens, group.calls, None, group.note))
        sources.append(prefix + name)
        details.append(f"{name} × {group.calls}")
        total += group.tokens
        wide += group.wide
    calibrated = None if measured is None else measured.calibrated(total, wide)
    return Entry(total, " + ".join(sources), ", ".join(details), tuple(items), calibrated)


def _calibrated(entry: Entry, account: Account) -> Entry:
    """Add the corrected figure where an error was measured and none is there yet."""
    if account.measured is None or entry.calibrated is not None:
        return entry
    return entry._replace(calibrated=account.measured.calibrated(entry.tokens))


def _rules(account: Account, unknown: list[Unknown]) -> Entry | None:
    """Make the entry of the instruction files; what the host names replaces what was measured."""
    items: dict[str, Item] = {}  # By source: a file that is named again counts as it is now.
    for given in account.supplied:
        if given.kind == "rules" and given.tokens is not None:
            name = given.detail or given.source.rpartition("/")[2]
            items[given.source] = Item(name, given.tokens, None, given.source)
    if items:
        return files_entry(items.values())
    if account.rules_unknown is not None:
        unknown.append(Unknown("rules", "instructions", account.rules_unknown))
    for file in account.rule_files:
        if file.bytes is None:
            unknown.append(Unknown("rules", file.source, NOT_MEASURED))
        else:
            items[file.source] = Item(file.detail, file_tokens(file.bytes), None, file.source)
    return files_entry(items.values()) if items else None


def _add_system_prompt(entries: dict[str, Entry], composition: Composition | None) -> None:
    """Count the system prompt of the last request that was written down."""
    parts = () if composition is None else composition.parts
    units = sum(part.units for part in parts if part.kind == SYSTEM_PROMPT)
    if units:
        entries["system_prompt"] = Entry(call_tokens(units), COMPOSED, None, ())


def _available(account: Account, servers: tuple[str, ...]) -> dict[str, Any] | None:
    """Add to what the host named the sizes of schemas that were sent and not called."""
    available = dict(account.available or {})
    if account.listed:
        available["skills"] = list(dict.fromkeys((*available.get("skills", ()), *account.listed)))
        again = [name for name, times in account.listed.items() if times > 1]
        if again:
            available["listed_again"] = again
    parts = () if account.composition is None else account.composition.parts
    called = {classify(name, servers).group for name in account.calls.totals()}
    schemas = [
        [part.name, part.units]
        for part in parts
        if part.kind in (SCHEMA, MCP_SCHEMA) and part.name not in called
    ]
    if schemas:
        available["schemas"] = schemas
    return available or None


def _add_attachments(entries: dict[str, Entry], attachments: Iterable[Attached]) -> None:
    items = tuple(Item(a.name, a.tokens, None, a.source) for a in attachments)
    if items:
        entries["files_attachments"] = files_entry(items)


def _add_supplied(entries: dict[str, Entry], supplied: Iterable[Supplied]) -> None:
    """Add what the host supplied, but for rules, to the entries of its kinds.

    A system prompt that stands in a request as it was sent is not counted again.
    """
    is_composed = "system_prompt" in entries
    for given in supplied:
        if given.kind == "rules" or (given.kind == "system_prompt" and is_composed):
            continue
        if given.tokens is None:
            continue
        entry = entries.get(given.kind)
        item = Item(given.detail or given.source, given.tokens, None, given.source)
        if entry is None:
            entries[given.kind] = Entry(given.tokens, given.source, given.detail, (item,))
        else:
            entries[given.kind] = _joined(entry, given, item)


def _joined(entry: Entry, given: Supplied, item: Item) -> Entry:
    sources = entry.source.split(" + ")
    details = [] if entry.detail is None else entry.detail.split(", ")
    if given.source not in sources:
        sources.append(given.source)
    if given.detail is not None and given.detail not in details:
        details.append(given.detail)
    return Entry(
        entry.tokens + item.tokens,
        " + ".join(sources),
        ", ".join(details) or None,
        (*entry.items, item),
    )


def _sub_agents(account: Account, servers: tuple[str, ...]) -> tuple[SubAgent, ...]:
    ids = dict.fromkeys((*account.sub_agents, *account.skill_notes, *account.sub_usage))
    agents = (_sub_agent(agent_id, account, servers) for agent_id in ids if agent_id)
    return tuple(agent for agent in agents if agent is not None)


def _sub_agent(agent_id: str, account: Account, servers: tuple[str, ...]) -> SubAgent | None:
    calls = account.sub_agents.get(agent_id) or ToolInvocationAccumulator()
    notes = account.skill_notes.get(agent_id, ())
    usage, messages = account.sub_usage.get(agent_id, (None, 0))
    if calls.is_empty() and not notes and usage is None:
        return None
    entries = _call_entries(calls, servers, account.measured)
    skills = skills_used(calls, (), notes, account.skill_files, account.workspace)
    if skills.entry is not None:
        entries["skills"] = skills.entry
    ordered = {kind: entries[kind] for kind in KINDS if kind in entries}
    unknown = (*_unknown_results(calls), *skills.unknown)
    return SubAgent(agent_id, ordered, unknown, usage, skills.states, messages)


def _reconcile(account: Account, entries: Mapping[str, Entry]) -> Reconciliation | None:
    if account.last_input_tokens is None:
        return None
    kinds = sum(entry.tokens for entry in entries.values())
    remainder = account.last_input_tokens - kinds
    calibrated = None
    corrected = [entry.calibrated for entry in entries.values() if entry.calibrated is not None]
    if corrected and len(corrected) == len(entries):
        calibrated = sum(corrected)
    return Reconciliation(
        account.last_input_tokens, kinds, remainder, remainder < 0, account.measured, calibrated
    )
