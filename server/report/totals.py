"""What all sessions of a report come to: usage, and tokens by tool, skill, server and rule file."""

from typing import Any

from core.accounting.skill_states import LOADED, REINJECTED
from core.accounting.skill_use import READ

Json = Any

USAGE = ("input", "output", "cacheRead", "cacheCreation", "messages")


class Totals:
    """Sums over sessions."""

    def __init__(self) -> None:
        self.usage = dict.fromkeys(USAGE, 0)
        self.partial = 0
        self.by: dict[str, dict[str, dict[str, Json]]] = {
            "byTool": {},
            "bySkill": {},
            "byMcpServer": {},
            "byRule": {},
            "bySubagent": {},
        }

    def add_session(self, session: dict[str, Json]) -> None:
        """Add a session in the shape of the report.

        Calls of sub-agents count under their tools too. An instruction file counts once for a
        session, however many of its turns it stood in. A turn that was copied from another session
        counts there alone.
        """
        rules: dict[str, int] = {}
        for turn in session["turns"]:
            snapshot = turn["snapshot"]
            self._add_usage(turn.get("usage"))
            for agent in snapshot["subagents"]:
                self._add_agent(agent)
            if not _is_copied(turn.get("usage")):
                self._add_entries(snapshot["entries"], snapshot.get("skillStates", ()))
            for item in _items(snapshot["entries"], "rules"):
                rules[_rule_path(item, session["cwd"])] = item["tokens"]
        for path, tokens in rules.items():
            _count(self.by["byRule"], path, tokens=tokens, sessions=1)

    def to_json(self) -> dict[str, Json]:
        """Give the sums, the largest first within each kind."""
        ordered = {
            kind: dict(sorted(named.items(), key=lambda item: (-item[1].get("tokens", 0), item[0])))
            for kind, named in self.by.items()
        }
        return {**self.usage, **({"partial": self.partial} if self.partial else {}), **ordered}

    def _add_usage(self, usage: dict[str, int] | None) -> None:
        if usage is not None:
            for name in USAGE:
                self.usage[name] += usage.get(name, 0)
            self.partial += usage.get("partial", 0)

    def _add_agent(self, agent: dict[str, Json]) -> None:
        entries = agent["entries"]
        self._add_usage(agent.get("usage"))
        if _is_copied(agent.get("usage")):
            return
        self._add_entries(entries, agent.get("skillStates", ()))
        calls = [
            item.get("calls", 0) for kind in ("tools", "mcp") for item in _items(entries, kind)
        ]
        tokens = sum(entry["tokens"] for entry in entries.values())
        _count(self.by["bySubagent"], agent["agentId"], tokens=tokens, calls=sum(calls))

    def _add_entries(self, entries: dict[str, Json], states: Json) -> None:
        for kind, by in (("tools", "byTool"), ("mcp", "byMcpServer")):
            for item in _items(entries, kind):
                _count(self.by[by], item["name"], tokens=item["tokens"], calls=item.get("calls", 0))
        for state in states:
            if state["state"] in (LOADED, REINJECTED):
                sums = {"tokens": state["tokens"]} if "tokens" in state else {}
                if not sums and state.get("note") != READ:
                    sums["unknown"] = 1  # A load whose size nobody knows; tokens leave it out.
                _count(self.by["bySkill"], state["name"], state.get("source"), **sums, loads=1)


def _is_copied(usage: dict[str, int] | None) -> bool:
    """Say whether all usage of a turn counts in other sessions: a fork copied it whole."""
    return usage is not None and bool(usage.get("inherited")) and not usage.get("messages")


def _items(entries: dict[str, Json], kind: str) -> Json:
    entry = entries.get(kind)
    return () if entry is None else entry.get("items", ())


def _count(
    named: dict[str, dict[str, Json]], name: str, source: str | None = None, **sums: int
) -> None:
    known = named.setdefault(name, {})
    for key, value in sums.items():
        known[key] = known.get(key, 0) + value
    if source is not None:
        known.setdefault("source", source)


def _rule_path(item: dict[str, Json], cwd: str) -> str:
    source: str = item.get("source") or item["name"]
    if cwd and source.startswith("workspace/"):
        return cwd.rstrip("/") + "/" + source.removeprefix("workspace/")
    return source
