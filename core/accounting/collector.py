"""From the account of a turn to its snapshot: the one place where kinds get their figures."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from core.accounting.estimator import file_tokens, utf16_order
from core.accounting.invocations import SkillCall, ToolInvocationAccumulator
from core.accounting.kinds import DERIVED_KINDS, KINDS, SKILL_TOOL, classify
from core.accounting.rules import RuleFile
from core.accounting.skills import SkillFile, canonical, skill_key
from core.accounting.snapshot import (
    Entry,
    Item,
    Reconciliation,
    Snapshot,
    SubAgent,
    Unknown,
    Window,
)
from core.events import SelectedSkill

NOT_FOUND = "no SKILL.md of this name was found"
CALL_FAILED = "the call failed"
NO_NAME = "the call names no skill"
EMPTY_FILE = "its SKILL.md is empty"
NOT_MEASURED = "the file cannot be read"
ORPHAN_RESULT = "orphan_result"
IMAGES = "images are not counted as text"
AMBIGUOUS = "ambiguous server name"

_Groups = dict[str, tuple[int, int, str | None]]  # Group: (tokens, calls, note).
_NO_CALLS: tuple[int, int, str | None] = (0, 0, None)

SkillFiles = Mapping[str, SkillFile | None]  # By skill_key of the name asked for.


class Supplied(NamedTuple):
    """Content that the host itself put into the context."""

    kind: str
    source: str
    tokens: int
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
    supplied: tuple[Supplied, ...] = ()
    attachments: tuple[Attached, ...] = ()
    supplied_kinds: frozenset[str] = frozenset()  # By the host, in this session so far.
    available: dict[str, Any] | None = None  # {mcp_servers: names, ...}, as the host named it.
    window: Window | None = None
    last_input_tokens: int | None = None  # Of the last request, cache included; None when stale.


def collect(account: Account) -> Snapshot:
    """Say what entered the context in a turn; an unsupported kind has no entry."""
    servers = _servers(account.available)
    unknown = _unknown_results(account.calls)
    entries = _call_entries(account.calls, servers)
    skills = _skills(account.calls, account.selected, account.skill_files, unknown)
    if skills is not None:
        entries["skills"] = skills
    rules = _rules(account, unknown)
    if rules is not None:
        entries["rules"] = rules
    _add_attachments(entries, account.attachments)
    _add_supplied(entries, account.supplied)
    supported = supported_kinds(account)
    entries = {k: entries[k] for k in KINDS if k in supported and k in entries}
    return Snapshot(
        entries={kind: entry for kind, entry in entries.items() if entry.tokens},
        unsupported=tuple(kind for kind in KINDS if kind not in supported),
        produced_by=account.runtime,
        provider_backend=account.provider_backend,
        unknown=tuple(unknown),
        available=account.available,
        subagents=_sub_agents(account, servers),
        window=account.window,
        reconciliation=_reconcile(account.last_input_tokens, entries),
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
    return tuple(wanted.values())


def supported_kinds(account: Account) -> frozenset[str]:
    """Say for which kinds an absent entry means nothing, and not that nobody knows."""
    kinds = DERIVED_KINDS | account.supplied_kinds | {given.kind for given in account.supplied}
    return kinds | {"files_attachments"} if account.attachments else kinds


def _want(wanted: dict[str, SelectedSkill], name: str, places: Mapping[str, str]) -> None:
    key = skill_key(name)
    wanted.setdefault(key, SelectedSkill(canonical(name), places.get(key)))


def _servers(available: dict[str, Any] | None) -> tuple[str, ...]:
    return tuple(available.get("mcp_servers", ())) if available else ()


def _unknown_results(calls: ToolInvocationAccumulator) -> list[Unknown]:
    unknown = [Unknown("tools", tool_use_id, ORPHAN_RESULT) for tool_use_id in calls.orphans()]
    for name, (_, _, images) in calls.totals().items():
        if images:
            kind = "mcp" if classify(name).kind == "mcp" else "tools"
            unknown.append(Unknown(kind, name, IMAGES))
    return unknown


def _call_entries(calls: ToolInvocationAccumulator, servers: tuple[str, ...]) -> dict[str, Entry]:
    """Make the entries of built-in tools and of MCP servers."""
    tools: _Groups = {}
    mcp: _Groups = {}
    for name, (count, tokens, _) in calls.totals().items():
        if name == SKILL_TOOL:
            continue
        tool = classify(name, servers)
        groups = mcp if tool.kind == "mcp" else tools
        known = groups.get(tool.group, _NO_CALLS)
        note = _note(known[2], name) if tool.ambiguous else known[2]
        groups[tool.group] = (known[0] + tokens, known[1] + count, note)
    entries = {}
    if tools:
        entries["tools"] = _calls_entry(tools, "tool_use/tool/")
    if mcp:
        entries["mcp"] = _calls_entry(mcp, "tool_use/mcp/")
    return entries


def _note(note: str | None, name: str) -> str:
    return f"{AMBIGUOUS}: {name}" if note is None else f"{note}, {name}"


def _calls_entry(groups: _Groups, prefix: str) -> Entry:
    # Text in ASCII sorts the same either way, and this is made at every usage event.
    names = sorted(groups) if "".join(groups).isascii() else sorted(groups, key=utf16_order)
    items, sources, details, total = [], [], [], 0
    for name in names:
        tokens, count, note = groups[name]
        items.append(Item(name, tokens, count, None, note))
        sources.append(prefix + name)
        details.append(f"{name} × {count}")
        total += tokens
    return Entry(total, " + ".join(sources), ", ".join(details), tuple(items))


def _skills(
    calls: ToolInvocationAccumulator,
    selected: Iterable[SelectedSkill],
    files: SkillFiles,
    unknown: list[Unknown],
) -> Entry | None:
    """Make the entry of the skills that were loaded; the rest goes to `unknown` with a reason."""
    loaded = _loaded_names(calls.skill_calls(), selected, unknown)
    items: dict[str, Item] = {}  # By path: two names of one file are one skill.
    for key, name in loaded.items():
        found = files.get(key)
        if found is None:
            unknown.append(Unknown("skills", name, NOT_FOUND))
        elif found.bytes == 0:
            unknown.append(Unknown("skills", name, EMPTY_FILE))
        else:
            items[found.path] = Item(found.name, file_tokens(found.bytes), None, found.source)
    return _files_entry(items.values()) if items else None


def _loaded_names(
    calls: list[SkillCall], selected: Iterable[SelectedSkill], unknown: list[Unknown]
) -> dict[str, str]:
    """Give the names that were loaded by their key: those called in order, then those selected."""
    loaded: dict[str, str] = {}
    failed: dict[str, str] = {}
    for call in calls:
        if call.name is None:
            unknown.append(Unknown("skills", call.tool_use_id, NO_NAME))
        else:
            names = failed if call.failed else loaded
            names.setdefault(skill_key(call.name), call.name)
    for skill in selected:
        loaded.setdefault(skill_key(skill.name), canonical(skill.name))
    for key, name in failed.items():
        if key not in loaded:
            unknown.append(Unknown("skills", name, CALL_FAILED))
    return loaded


def _files_entry(items: Iterable[Item]) -> Entry:
    items = tuple(items)
    return Entry(
        sum(item.tokens for item in items),
        " + ".join(item.source or item.name for item in items),
        ", ".join(item.name for item in items),
        items,
    )


def _rules(account: Account, unknown: list[Unknown]) -> Entry | None:
    """Make the entry of the instruction files; what the host names replaces what was measured."""
    items: dict[str, Item] = {}  # By source: a file that is named again counts as it is now.
    for given in account.supplied:
        if given.kind == "rules":
            name = given.detail or given.source.rpartition("/")[2]
            items[given.source] = Item(name, given.tokens, None, given.source)
    if items:
        return _files_entry(items.values())
    for file in account.rule_files:
        if file.bytes is None:
            unknown.append(Unknown("rules", file.source, NOT_MEASURED))
        else:
            items[file.source] = Item(file.detail, file_tokens(file.bytes), None, file.source)
    return _files_entry(items.values()) if items else None


def _add_attachments(entries: dict[str, Entry], attachments: Iterable[Attached]) -> None:
    items = tuple(Item(a.name, a.tokens, None, a.source) for a in attachments)
    if items:
        entries["files_attachments"] = _files_entry(items)


def _add_supplied(entries: dict[str, Entry], supplied: Iterable[Supplied]) -> None:
    """Add what the host supplied, but for rules, to the entries of its kinds."""
    for given in supplied:
        if given.kind == "rules":
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
        entry.tokens + given.tokens,
        " + ".join(sources),
        ", ".join(details) or None,
        (*entry.items, item),
    )


def _sub_agents(account: Account, servers: tuple[str, ...]) -> tuple[SubAgent, ...]:
    return tuple(
        _sub_agent(agent_id, calls, account.skill_files, servers)
        for agent_id, calls in account.sub_agents.items()
        if not calls.is_empty()
    )


def _sub_agent(
    agent_id: str,
    calls: ToolInvocationAccumulator,
    files: SkillFiles,
    servers: tuple[str, ...],
) -> SubAgent:
    unknown = _unknown_results(calls)
    entries = _call_entries(calls, servers)
    skills = _skills(calls, (), files, unknown)
    if skills is not None:
        entries["skills"] = skills
    ordered = {kind: entries[kind] for kind in KINDS if kind in entries}
    return SubAgent(agent_id, ordered, tuple(unknown))


def _reconcile(
    last_input_tokens: int | None, entries: Mapping[str, Entry]
) -> Reconciliation | None:
    if last_input_tokens is None:
        return None
    kinds = sum(entry.tokens for entry in entries.values())
    remainder = last_input_tokens - kinds
    return Reconciliation(last_input_tokens, kinds, remainder, remainder < 0)
