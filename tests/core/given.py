"""Given facts, when an event, then facts: tests of the core as sentences.

`given` folds the facts and proves that they replay, from journal lines and from a checkpoint at
any point; `when` decides and proves that deciding changed nothing.
"""

import json
from collections.abc import Sequence
from typing import Any

from core import decided as d
from core import events as e
from core import facts as f
from core.account import NOT_MEASURED
from core.evolve import evolve
from core.phases.criteria import CriterionState
from core.phases.plan import Criterion, Limits, Phase, Plan, to_json
from core.phases.routing import Route, Routing
from core.session import decide
from core.state import Session

SESSION = "S"
WORKSPACE = "/w"
ROUTING = Routing((Route(("deploy",), "ship"), Route(("schema",), "db")))
BOOKKEEPING = (f.PromptTaken, f.TurnAccounted, f.ChecksRecorded, f.TurnOpened, f.TurnNamed)


def artifact(path: str, criterion_id: str | None = None) -> Criterion:
    return Criterion(criterion_id or path, "artifact_exists", {"path": path})


LIMITS = Limits()
SURVEY = Phase("survey", "Look around.", criteria=(artifact("out.md"),))
BUILD = Phase("build", "Build it.", criteria=(artifact("done.md"),))


def started(**changes: Any) -> f.SessionStarted:
    return f.SessionStarted("claude_code", WORKSPACE)._replace(**changes)


def arming(*phases: Phase, limits: Limits = LIMITS, task_id: str | None = "T1") -> f.PlanArmed:
    plan = to_json(Plan(task_id, "Build a house.", limits, phases or (SURVEY, BUILD)))
    return f.PlanArmed(task_id or "made", plan, "/w/plan.yaml", "d1", "host")


def prompted(turn_id: str = "t1", **changes: Any) -> f.PromptTaken:
    return f.PromptTaken(turn_id, 5, "0" * 16)._replace(**changes)


STARTED = (started(),)
ARMED = (started(), arming(), prompted())


def prompt(turn_id: str = "t2", text: str = "go on", **changes: Any) -> e.Prompt:
    return e.Prompt(turn_id, text)._replace(**changes)


def call(ident: str, name: str = "Bash", arguments: Any = None, **changes: Any) -> e.ToolCall:
    return e.ToolCall(ident, name, arguments)._replace(**changes)


def result(ident: str, content: Any = "ok", **changes: Any) -> e.ToolResult:
    return e.ToolResult(ident, content)._replace(**changes)


def turn_end(turn_id: str = "t1", **changes: Any) -> e.TurnEnd:
    return e.TurnEnd(turn_id, "completed")._replace(**changes)


def blocked(attempt: int, left: int | None = None, phase: Phase = SURVEY, **changes: Any) -> f.Fact:
    """A block, as `then` compares it: without its gaps and its words."""
    number = {"survey": 1, "build": 2}[phase.id]
    fact = f.PhaseBlocked("t1", "T1", number, phase.id, attempt, 3 - attempt, [], "words")
    return fact._replace(**changes if left is None else {"attempts_left": left, **changes})


def advanced(phase: Phase = SURVEY, following: str | None = "build") -> f.Fact:
    number, path = (1, "out.md") if phase.id == "survey" else (2, "done.md")
    return f.PhaseAdvanced("t1", "T1", number, phase.id, following, [path])


CONTINUED = f.TurnContinued("t1", "T1")
COMPLETED = f.PlanCompleted("t1", "T1")


class Given:
    """A session as its facts have left it."""

    def __init__(self, facts: Sequence[f.Fact]) -> None:
        self.facts = tuple(facts)
        self.state = fold(self.facts)
        _prove_replay(self.facts, self.state)

    def when(self, event: e.Event, *files: str, host_cap: int | None = None) -> "Then":
        """Decide an event while these files, and no others, are in the workspace."""
        before = text(self.state)
        decided = decide(self.state, event, ROUTING)
        if decided.checks is not None:
            outcomes = _looked_up(self.state, decided.checks.phases_from, files)
            kept = {"kept": True} if decided.checks.event.turn_id in self.state.closed else None
            finished = d.ChecksFinished(
                decided.checks.event, outcomes, NOT_MEASURED, host_cap, kept=kept
            )
            decided = decide(self.state, finished, ROUTING)
        assert text(self.state) == before
        return Then((*self.facts, *decided.facts), decided)


class Then(Given):
    """What a decision gave, and the session after it."""

    def __init__(self, facts: Sequence[f.Fact], decided: d.Decided) -> None:
        super().__init__(facts)
        self.decided = decided

    def then(self, *expected: f.Fact) -> "Then":
        """These facts about a plan, in this order, and no others."""
        found = [fact for fact in self.decided.facts if not isinstance(fact, BOOKKEEPING)]
        assert [_without_words(fact) for fact in found] == [_without_words(x) for x in expected]
        return self

    def recorded(self, *expected: type) -> "Then":
        """Facts of these kinds, in this order, and no others."""
        assert [type(fact) for fact in self.decided.facts] == list(expected)
        return self

    def answers(self, decision: str, attempt: int = 0, left: int | None = None) -> "Then":
        verdict = self.decided.verdict
        assert verdict is not None
        assert (verdict.decision, verdict.attempt) == (decision, attempt)
        assert left is None or verdict.attempts_left == left
        return self

    def injects(self, *kinds: str) -> "Then":
        assert [injection.kind for injection in self.decided.injections] == list(kinds)
        return self

    def flags(self, *codes: str) -> "Then":
        assert [flag.code for flag in self.decided.flags] == list(codes)
        return self

    def stands(self, status: str) -> "Then":
        assert self.state.cursor.status == status
        return self


def given(*facts: f.Fact | tuple[f.Fact, ...]) -> Given:
    flat: list[Any] = []  # A fact is a tuple too, so types cannot tell them apart.
    for fact in facts:
        flat += fact if type(fact) is tuple else [fact]
    return Given(flat)


def fold(facts: Sequence[f.Fact], state: Session | None = None) -> Session:
    """Fold facts as a journal gives them back: through lines of JSON."""
    state = state or Session(SESSION)
    for seq, fact in enumerate(facts, state.seq + 1):
        line = json.dumps(f.to_line(fact))
        read = f.from_line(json.loads(line))
        assert read is not None
        assert json.dumps(f.to_line(read)) == line
        evolve(state, read, seq)
    return state


def text(state: Session) -> str:
    """Print a state; equal states give equal text."""
    return json.dumps(state.to_json())


def _prove_replay(facts: tuple[f.Fact, ...], state: Session) -> None:
    whole = text(state)
    assert text(fold(facts)) == whole
    for point in range(len(facts)):
        checkpoint = Session.from_json(json.loads(text(fold(facts[:point]))))
        assert text(fold(facts[point:], checkpoint)) == whole


def _looked_up(
    state: Session, phases_from: int | None, files: tuple[str, ...]
) -> tuple[tuple[CriterionState, ...], ...]:
    outcomes: list[tuple[CriterionState, ...]] = []
    plan = state.cursor.plan
    if plan is None or phases_from is None:
        return ()
    for phase in plan.phases[phases_from:]:
        states = tuple(_state(criterion, files) for criterion in phase.criteria)
        outcomes.append(states)
        if any(found.state != "met" for found in states):
            break
    return tuple(outcomes)


def _state(criterion: Criterion, files: tuple[str, ...]) -> CriterionState:
    path = str(criterion.args["path"])
    if path in files:
        return CriterionState(criterion.id, criterion.kind, "met", path)
    action = f"Create {path}."
    return CriterionState(criterion.id, criterion.kind, "unmet", path, "it is missing", action)


def _without_words(fact: f.Fact) -> f.Fact:
    return fact._replace(gaps=[], reason="") if isinstance(fact, f.PhaseBlocked) else fact
