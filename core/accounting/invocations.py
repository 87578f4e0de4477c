"""The calls and results of one agent in one turn, and what they sum to at any moment."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from core.accounting.estimator import call_tokens
from core.accounting.kinds import SKILL_TOOL

# Plain tuples of atoms: the garbage collector stops looking at them.
_Result = tuple[int | None, int, int, int]  # (units, 1 for an error, images, wide units)
_Call = tuple[str, int, str | None, str | None, int, int | None, int, int, int]
# (name, input units, skill, path, wide units of the input) and then the result.

_NO_RESULT: _Result = (None, 0, 0, 0)


class Total(NamedTuple):
    """What the calls of one tool come to; `wide` is in UTF-16 units."""

    calls: int
    tokens: int
    images: int
    wide: int


class CallRow(NamedTuple):
    """One call with its result; units are UTF-16 units, `result_units` None without a result."""

    tool_use_id: str
    name: str
    tokens: int
    skill: str | None
    path: str | None
    result_units: int | None
    failed: bool


class SkillCall(NamedTuple):
    """A Skill call: the canonical name it gave, if any, and whether its result was good."""

    tool_use_id: str
    name: str | None
    failed: bool  # False also while there is no result.


class ToolInvocationAccumulator:
    """Calls by id, each with its result, in whatever order they come.

    The last call and the last result of an id count. Invariant: the totals are what one would get
    by summing all calls anew.
    """

    __slots__ = ("_calls", "_duplicates", "_early", "_totals")

    def __init__(self) -> None:
        self._calls: dict[str, _Call] = {}
        self._early: dict[str, _Result] = {}  # Results whose call has not come.
        self._duplicates: dict[str, None] = {}
        self._totals: dict[str, list[int]] = {}  # The fields of Total, by tool name.

    def call(
        self,
        tool_use_id: str,
        name: str,
        units: int,
        skill: str | None = None,
        path: str | None = None,
        wide: int = 0,
    ) -> bool:
        """Take a call of so many UTF-16 units of input; True when its id was called before.

        A result that came earlier is kept. A different call of the same id moves to the end.
        """
        known = self._calls.get(tool_use_id)
        if known is None:
            result = self._early.pop(tool_use_id, _NO_RESULT) if self._early else _NO_RESULT
        else:
            self._duplicates[tool_use_id] = None
            self._count(known, -1)
            result = known[5:]
            if known[:4] != (name, units, skill, path):
                del self._calls[tool_use_id]
        call = (name, units, skill, path, wide, *result)
        self._calls[tool_use_id] = call
        self._count(call, 1)
        return known is not None

    def result(
        self,
        tool_use_id: str,
        units: int,
        is_error: bool = False,
        images: int = 0,
        wide: int = 0,
    ) -> str:
        """Take a result of so many UTF-16 units; say what it is.

        "orphan": its call has not come; "matched": the first of its call; "replaced": a later one.
        """
        result = (units, int(is_error), images, wide)
        known = self._calls.get(tool_use_id)
        if known is None:
            self._early[tool_use_id] = result
            return "orphan"
        call = known[:5] + result
        self._calls[tool_use_id] = call
        total = self._totals[known[0]]
        total[1] += call_tokens(call[1] + units) - call_tokens(known[1] + (known[5] or 0))
        total[2] += images - known[7]
        total[3] += wide - known[8]
        return "matched" if known[5] is None else "replaced"

    def totals(self) -> Mapping[str, Total]:
        """Give the totals by tool name, the Skill tool's too."""
        return {name: Total(*total) for name, total in self._totals.items()}

    def tool_names(self) -> Collection[str]:
        """Name the tools that were called; not to be changed."""
        return self._totals.keys()

    def rows(self) -> Iterator[CallRow]:
        """Give every call, in the order they were made."""
        for tool_use_id, call in self._calls.items():
            tokens = call_tokens(call[1] + (call[5] or 0))
            yield CallRow(tool_use_id, call[0], tokens, call[2], call[3], call[5], call[6] == 1)

    def skill_calls(self) -> list[SkillCall]:
        """List the Skill calls in the order they were made."""
        if SKILL_TOOL not in self._totals:
            return []
        return [
            SkillCall(tool_use_id, call[2], call[6] == 1)
            for tool_use_id, call in self._calls.items()
            if call[0] == SKILL_TOOL
        ]

    def pending(self) -> list[str]:
        """List the ids of calls that have no result yet."""
        return [tool_use_id for tool_use_id, call in self._calls.items() if call[5] is None]

    def orphans(self) -> list[str]:
        """List the ids of results whose call has not come."""
        return list(self._early)

    def duplicates(self) -> list[str]:
        """List the ids that were called more than once."""
        return list(self._duplicates)

    def is_empty(self) -> bool:
        """Say whether neither a call nor a result has come."""
        return not self._calls and not self._early

    def find(self, tool_use_id: str) -> tuple[str, str | None, str | None] | None:
        """Give (name, skill, path) of a call; None when this agent never made it."""
        call = self._calls.get(tool_use_id)
        return None if call is None else (call[0], call[2], call[3])

    def has_early_result(self, tool_use_id: str) -> bool:
        """Say whether a good result of this id waits for its call."""
        result = self._early.get(tool_use_id)
        return result is not None and not result[1]

    def has_good_result(self, tool_use_id: str) -> bool:
        """Say whether a call of this id has a result that is no error."""
        call = self._calls.get(tool_use_id)
        return call is not None and call[5] is not None and not call[6]

    def to_json(self) -> dict[str, Any]:
        """Give all of it as JSON values."""
        return {
            "calls": [[tool_use_id, *call] for tool_use_id, call in self._calls.items()],
            "early": [[tool_use_id, *result] for tool_use_id, result in self._early.items()],
            "duplicates": list(self._duplicates),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "ToolInvocationAccumulator":
        """Read what `to_json` wrote; the totals are summed anew."""
        account = cls()
        account._early = {row[0]: (row[1], row[2], row[3], row[4]) for row in data["early"]}
        account._duplicates = dict.fromkeys(data["duplicates"])
        for tool_use_id, name, units, skill, path, wide, *result in data["calls"]:
            call = (name, units, skill, path, wide, *_result(result))
            account._calls[tool_use_id] = call
            account._count(call, 1)
        return account

    def _count(self, call: _Call, sign: int) -> None:
        """Add a call to the totals of its tool, or take it out again."""
        total = self._totals.get(call[0])
        if total is None:
            total = self._totals[call[0]] = [0, 0, 0, 0]
        total[0] += sign
        if not total[0]:
            del self._totals[call[0]]
            return
        total[1] += sign * call_tokens(call[1] + (call[5] or 0))
        total[2] += sign * call[7]
        total[3] += sign * (call[4] + call[8])


def _result(row: list[Any]) -> _Result:
    return (row[0], row[1], row[2], row[3])
