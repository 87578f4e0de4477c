"""The calls and results of one agent in one turn, and what they sum to at any moment."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from core.accounting.estimator import call_tokens
from core.accounting.kinds import SKILL_TOOL

# Plain tuples of atoms: the garbage collector stops looking at them.
_Result = tuple[int | None, int, int]  # (units, 1 for an error, images)
_Call = tuple[str, int, str | None, str | None, int | None, int, int]
# (name, input units, skill, path) and then the result.

_NO_RESULT: _Result = (None, 0, 0)


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
        self._totals: dict[str, tuple[int, int, int]] = {}

    def call(
        self,
        tool_use_id: str,
        name: str,
        units: int,
        skill: str | None = None,
        path: str | None = None,
    ) -> bool:
        """Take a call of so many UTF-16 units of input; True when its id was called before.

        A result that came earlier is kept. A different call of the same id moves to the end.
        """
        known = self._calls.get(tool_use_id)
        if known is None:
            result = self._early.pop(tool_use_id, _NO_RESULT)
        else:
            self._duplicates[tool_use_id] = None
            self._count(known, -1)
            result = known[4:]
            if known[:4] != (name, units, skill, path):
                del self._calls[tool_use_id]
        call = (name, units, skill, path, *result)
        self._calls[tool_use_id] = call
        self._count(call, 1)
        return known is not None

    def result(self, tool_use_id: str, units: int, is_error: bool = False, images: int = 0) -> str:
        """Take a result of so many UTF-16 units; say what it is.

        "orphan": its call has not come; "matched": the first of its call; "replaced": a later one.
        """
        result = (units, int(is_error), images)
        known = self._calls.get(tool_use_id)
        if known is None:
            self._early[tool_use_id] = result
            return "orphan"
        call = known[:4] + result
        self._calls[tool_use_id] = call
        self._count(known, -1)
        self._count(call, 1)
        return "matched" if known[4] is None else "replaced"

    def totals(self) -> Mapping[str, tuple[int, int, int]]:
        """Give (calls, tokens, images) by tool name, the Skill tool's too; not to be changed."""
        return self._totals

    def skill_calls(self) -> list[SkillCall]:
        """List the Skill calls in the order they were made."""
        if SKILL_TOOL not in self._totals:
            return []
        return [
            SkillCall(tool_use_id, call[2], call[5] == 1)
            for tool_use_id, call in self._calls.items()
            if call[0] == SKILL_TOOL
        ]

    def pending(self) -> list[str]:
        """List the ids of calls that have no result yet."""
        return [tool_use_id for tool_use_id, call in self._calls.items() if call[4] is None]

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
        return call is not None and call[4] is not None and not call[5]

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
        account._early = {row[0]: (row[1], row[2], row[3]) for row in data["early"]}
        account._duplicates = dict.fromkeys(data["duplicates"])
        for tool_use_id, name, units, skill, path, *result in data["calls"]:
            call = (name, units, skill, path, result[0], result[1], result[2])
            account._calls[tool_use_id] = call
            account._count(call, 1)
        return account

    def _count(self, call: _Call, sign: int) -> None:
        """Add a call to the totals of its tool, or take it out again."""
        calls, tokens, images = self._totals.get(call[0], (0, 0, 0))
        if calls + sign == 0:
            del self._totals[call[0]]
            return
        spent = call_tokens(call[1] + (call[4] or 0))
        self._totals[call[0]] = (calls + sign, tokens + sign * spent, images + sign * call[6])
