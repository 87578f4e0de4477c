"""The account of a turn as it is answered and kept: its snapshot, its usage, the window's fill."""

from typing import Any, NamedTuple

from core.accounting import snapshot as snapshots
from core.accounting.breakdown import Breakdown, Pending, rows
from core.accounting.collector import Account, Attached, SkillFiles, Supplied, collect
from core.accounting.estimator import TOKENS_MAX
from core.accounting.rules import RuleFile
from core.accounting.snapshot import Snapshot, Window
from core.accounting.usage import Baseline, Figures
from core.events import SelectedSkill
from core.state import MAIN, UNNAMED, Session, Turn

JsonObject = dict[str, Any]


class Measured(NamedTuple):
    """The files behind a turn's skills and rules, with their sizes as they were looked up."""

    skills: SkillFiles
    rules: tuple[RuleFile, ...]


NOT_MEASURED = Measured({}, ())


def account_of(state: Session, turn: Turn, measured: Measured = NOT_MEASURED) -> Account:
    """Gather what a snapshot of this turn is made from."""
    rules = [
        Supplied("rules", source, tokens, detail)
        for source, (tokens, detail) in state.rules.items()
    ]
    window = None if state.window is None else Window(state.window, "host")
    return Account(
        runtime=state.runtime,
        calls=turn.agents[MAIN],
        provider_backend=state.provider_backend,
        sub_agents={name: calls for name, calls in turn.agents.items() if name != MAIN},
        selected=tuple(SelectedSkill(name, path) for name, path in turn.selected),
        skill_files=measured.skills,
        rule_files=measured.rules,
        supplied=(*rules, *(Supplied(*given) for given in turn.supplied)),
        attachments=tuple(Attached(*given) for given in turn.attachments),
        supplied_kinds=frozenset(state.supplied_kinds),
        available=state.available or None,
        window=window,
        last_input_tokens=state.usage.fill(),
    )


def account(state: Session, turn: Turn, measured: Measured) -> JsonObject:
    """Give the account as JSON values without floats, in tokens.

    {snapshot, usage?: the turn's sums, last?: the newest request, weak, stale, composer: [text,
    files...]}; `view` reads it.
    """
    sums = state.usage.turn(turn.turn_id or UNNAMED)
    baseline = state.usage.baseline()
    data: JsonObject = {
        "snapshot": snapshots.to_json(collect(account_of(state, turn, measured))),
        "stale": state.usage.stale,
        "composer": [state.composer[0], *(tokens for _, tokens in state.composer[1])],
    }
    if sums is not None:
        data["usage"] = [min(tokens, TOKENS_MAX) for tokens in sums]
    if baseline is not None:
        data["last"] = [min(tokens, TOKENS_MAX) for tokens in baseline.figures]
        data["weak"] = baseline.weak
    return data


class View(NamedTuple):
    """An account as people and hosts look at it."""

    snapshot: Snapshot
    usage: Figures | None  # Of this turn, in tokens.
    breakdown: Breakdown


def view(data: JsonObject) -> View:
    """Read what `account` wrote and break it down into rows."""
    snapshot = snapshots.from_json(data["snapshot"])
    baseline = None
    if "last" in data and not data["stale"]:
        baseline = Baseline(Figures(*data["last"]), data["weak"])
    text, *files = data["composer"]
    window = None if snapshot.window is None else snapshot.window.tokens
    breakdown = rows(snapshot.entries, baseline, Pending(text, tuple(files)), window)
    usage = Figures(*data["usage"]) if "usage" in data else None
    return View(snapshot, usage, breakdown)
