"""The account of a turn as it is answered and kept: its snapshot, its usage, the window's fill."""

from typing import Any, NamedTuple

from core.accounting import composition as compositions
from core.accounting import snapshot as snapshots
from core.accounting.breakdown import Breakdown, Pending, rows
from core.accounting.collector import Account, Attached, Supplied, collect
from core.accounting.composition import Composition, composed
from core.accounting.estimator import TOKENS_MAX
from core.accounting.rules import RuleFile
from core.accounting.skill_use import Note, SkillFiles, note_of
from core.accounting.snapshot import Snapshot, Window
from core.accounting.usage import Baseline, Figures, Requests
from core.events import SelectedSkill
from core.state import MAIN, UNNAMED, Session, Turn

JsonObject = dict[str, Any]


class Measured(NamedTuple):
    """The files behind a turn's skills and rules, with their sizes as they were looked up."""

    skills: SkillFiles
    rules: tuple[RuleFile, ...]
    rules_unknown: str | None = None  # Why nobody knows which instruction files were there.


NOT_MEASURED = Measured({}, ())


def account_of(state: Session, turn: Turn, measured: Measured = NOT_MEASURED) -> Account:
    """Gather what a snapshot of this turn is made from."""
    standing = [
        Supplied(kind, source, tokens, detail)
        for kind, sources in state.standing.items()
        for source, (tokens, detail) in sources.items()
    ]
    window = None
    if state.window is not None:
        window = Window(state.window, state.usage.window_source)
    turn_id = turn.turn_id or UNNAMED
    notes: dict[str, list[Note]] = {}
    for row in turn.skills:
        notes.setdefault(row[5] or MAIN, []).append(note_of(row))
    usage = {
        name: (figures, ledger.requests(turn_id).messages)
        for name, ledger in state.side_usage.items()
        if (figures := ledger.turn(turn_id)) is not None
    }
    return Account(
        runtime=state.runtime,
        calls=turn.agents[MAIN],
        provider_backend=state.provider_backend,
        sub_agents={name: calls for name, calls in turn.agents.items() if name != MAIN},
        selected=tuple(SelectedSkill(name, path) for name, path in turn.selected),
        skill_files=measured.skills,
        rule_files=measured.rules,
        rules_unknown=measured.rules_unknown,
        supplied=(*standing, *(Supplied(*given) for given in turn.supplied)),
        attachments=tuple(Attached(*given) for given in turn.attachments),
        supplied_kinds=frozenset(state.supplied_kinds),
        available=state.available or None,
        window=window,
        last_input_tokens=state.usage.fill(),
        workspace=state.workspace,
        skill_notes={name: tuple(found) for name, found in notes.items()},
        listed=dict(state.listed),
        composition=_composition(state, turn),
        measured=state.error.measured(),
        sub_usage=usage,
    )


def _composition(state: Session, turn: Turn) -> Composition | None:
    if turn.composition is None:
        return None
    request_id, parts, reported = turn.composition
    return composed(request_id, parts, reported, tuple(state.available.get("mcp_servers", ())))


def account(state: Session, turn: Turn, measured: Measured) -> JsonObject:
    """Give the account as JSON values without floats, in tokens.

    {snapshot, usage?: the turn's sums, requests: [messages, inherited, partial], last?: the newest
    request, weak, stale, fill?: [used, source], composer: [text, files...], composition?}; `view`
    reads it.
    """
    gathered = account_of(state, turn, measured)
    turn_id = turn.turn_id or UNNAMED
    sums = state.usage.turn(turn_id)
    baseline = state.usage.baseline()
    data: JsonObject = {
        "snapshot": snapshots.to_json(collect(gathered)),
        "requests": list(state.usage.requests(turn_id)),
        "stale": state.usage.stale,
        "composer": [state.composer[0], *(tokens for _, tokens in state.composer[1])],
    }
    if sums is not None:
        data["usage"] = [min(tokens, TOKENS_MAX) for tokens in sums]
    if baseline is not None:
        data["last"] = [min(tokens, TOKENS_MAX) for tokens in baseline.figures]
        data["weak"] = baseline.weak
    if state.usage.told_fill is not None:
        data["fill"] = list(state.usage.told_fill)
    if gathered.composition is not None:
        data["composition"] = compositions.to_json(gathered.composition)
    return data


class View(NamedTuple):
    """An account as people and hosts look at it."""

    snapshot: Snapshot
    usage: Figures | None  # Of this turn, in tokens.
    breakdown: Breakdown
    requests: Requests
    composition: Composition | None
    stale: bool  # A compaction came after the last usage.
    fill: int | None  # Tokens in the window as reported; None when nobody says so now.
    fill_source: str  # Who says how full the window is.


USAGE = "usage"


def view(data: JsonObject) -> View:
    """Read what `account` wrote and break it down into rows."""
    snapshot = snapshots.from_json(data["snapshot"])
    baseline, used, source = None, None, USAGE
    if "fill" in data:
        used, source = data["fill"]
        baseline = Baseline(Figures(used, 0))
    elif "last" in data and not data["stale"]:
        baseline = Baseline(Figures(*data["last"]), data["weak"])
        used = None if baseline.weak else baseline.figures.used
    text, *files = data["composer"]
    window = None if snapshot.window is None else snapshot.window.tokens
    return View(
        snapshot=snapshot,
        usage=Figures(*data["usage"]) if "usage" in data else None,
        breakdown=rows(snapshot.entries, baseline, Pending(text, tuple(files)), window),
        requests=Requests(*data["requests"]),
        composition=(
            compositions.from_json(data["composition"]) if "composition" in data else None
        ),
        stale=data["stale"],
        fill=used,
        fill_source=source,
    )
