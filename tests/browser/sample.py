"""An invented report of any size, in the detailed form that the pictures are made from."""

import random
from typing import Any

from core.accounting.breakdown import WIDE_CELLS
from core.accounting.kinds import ROWS, label

Json = Any

WINDOW_TOKENS = 200_000
_TOOLS = ("Bash", "Read", "Edit", "Grep", "Glob", "Write", "WebFetch", "TaskUpdate", "Agent")
_SERVERS = {"github": ("list_issues", "get_pull_request"), "playwright": ("navigate", "snapshot")}
_SKILLS = ("release-notes", "review-checklist", "发布检查", "docs:style-guide")
_RULES = (
    "workspace/CLAUDE.md",
    "workspace/services/billing/CLAUDE.md",
    "/opt/company/agent-policies/engineering/2026/instructions-for-all-repositories.md",
)
_PARTS = (  # Role, name, source, about how many tokens.
    ("system_prompt", None, "transcript/api-request-shape", 3400),
    *(("tool_schema", name, "transcript/api-request-shape", 900) for name in _TOOLS),
    ("mcp_schema", "github", "transcript/api-request-shape", 700),
    ("mcp_schema", "playwright", "transcript/api-request-shape", 500),
    ("skill_listing", None, "transcript/api-request", 800),
    ("skill_body", "release-notes", "workspace/.claude/skills/release-notes/SKILL.md", 1900),
    ("instructions", "workspace/CLAUDE.md", "workspace/CLAUDE.md", 1400),
    ("mcp_instructions", "github", "transcript/api-request", 260),
    ("hook_context", "UserPromptSubmit", "transcript/api-request", 310),
    ("environment", None, "transcript/api-request", 240),
    ("user_text", None, "transcript/api-request", 900),
    ("assistant_text", None, "transcript/assistant", 4200),
    ("thinking", None, "transcript/assistant", 2600),
    *(("tool_input", name, "transcript/assistant", 420) for name in _TOOLS[:6]),
    *(("tool_result", name, "transcript/api-request", 3600) for name in _TOOLS[:4] * 3),
    ("tool_result", "mcp__github__list_issues", "transcript/api-request", 5200),
    ("image", "screenshot.png", "transcript/api-request", 1500),
)


def report(sessions: int = 3, turns: int = 24, locale: str = "en", seed: int = 7) -> Json:
    """Give a report with `turns` turns in its first session and fewer in the others."""
    chance = random.Random(seed)
    made = [
        _session(chance, at, max(2, turns // (1 + 2 * at)) if at else turns, locale)
        for at in range(sessions)
    ]
    return {
        "files": sessions + 2,
        "unreadableLines": 3,
        "notes": [
            "billing-refactor.jsonl: line 812 is not JSON",
            "billing-refactor.jsonl: lines 813 and 814 are longer than 16 MB and were not kept",
            "one file held no row of a runtime that is known, and was left out",
        ],
        "locale": locale,
        "sessions": made,
        "totals": _totals(chance, made),
    }


def _session(chance: random.Random, at: int, turns: int, locale: str) -> Json:
    folder = ("billing-refactor", "docs-site", "结算服务")[at % 3]
    state = {"line": 1, "used": 17_000, "request": 0}
    made = [_turn(chance, number, turns, state, locale) for number in range(1, turns + 1)]
    return {
        "sessionId": f"{chance.getrandbits(64):016x}-{at:04x}",
        "runtime": ("claude_code", "codex_runtime", "claude_code")[at % 3],
        "path": f"/srv/agent/projects/-srv-src-{folder}/{at:04d}.jsonl",
        "cwd": f"/srv/src/{folder}",
        "model": "claude-opus-4-8",
        "version": "2.1.332",
        "startedAt": f"2026-11-{28 - at % 27:02d}T08:14:03.120Z",
        "endedAt": f"2026-11-{28 - at % 27:02d}T11:52:40.003Z",
        "turns": made,
        "subagents": [
            {
                "agentId": "a91f3c",
                "usage": _usage(9_000, 700, 2),
                "entries": {"tools": _entry(chance, "tools", 5_300)},
                "unknown": [],
            }
        ],
        "estimator": {"samples": turns * 3, "median": 0.041, "p90": 0.172, "ratio": 1.62},
    }


def _turn(chance: random.Random, number: int, turns: int, state: Json, locale: str) -> Json:
    line, requests, compactions = state["line"], [], []
    tools = chance.randint(400, 6_000) if number % 5 else chance.randint(9_000, 26_000)
    for _ in range(chance.randint(1, 6)):
        state["used"] += chance.randint(600, 5_200) + tools // 6
        state["line"] += chance.randint(2, 9)
        if state["used"] > 165_000:
            kept = chance.randint(21_000, 34_000)
            compactions.append(
                {"line": state["line"], "trigger": "auto", "preTokens": state["used"]}
                | {"postTokens": kept}
            )
            state["used"] = kept
            state["line"] += 4
            continue
        requests.append(
            {"line": state["line"], "used": state["used"], "output": chance.randint(40, 1_900)}
        )
    entries = {"tools": _entry(chance, "tools", tools)}
    entries["system_prompt"] = {"tokens": 3_412, "source": "transcript/api-request-shape"}
    entries["rules"] = _entry(chance, "rules", 2_600)
    if number % 3 == 0:
        entries["mcp"] = _entry(chance, "mcp", chance.randint(900, 7_000))
    if number % 4 == 1:
        entries["skills"] = _entry(chance, "skills", 1_950)
    if number % 7 == 2:
        entries["files_attachments"] = _entry(chance, "files_attachments", 4_100)
    used = requests[-1]["used"] if requests else state["used"]
    stale = bool(compactions) and (not requests or compactions[-1]["line"] > requests[-1]["line"])
    rows = _rows(chance, entries, used, locale, number == turns)
    kinds = sum(entry["tokens"] for entry in entries.values())
    turn = {
        "turnId": f"turn-{number}",
        "line": line,
        "startedAt": f"2026-11-28T{8 + number // 60 % 12:02d}:{number % 60:02d}:10.000Z",
        "outcome": ("completed", "completed", "completed", "interrupted")[number % 4],
        "fromHuman": number % 6 != 5,
        "promptUnits": chance.randint(20, 2_400),
        "snapshot": {
            "entries": entries,
            "unsupported": ["memory"],
            "unknown": _unknown(number),
            "subagents": _subagents(chance) if number % 4 == 0 else [],
            "skillStates": _skills(number),
            "available": {"skills": [f"plugin:skill-{at}" for at in range(12)]},
            "estimator": "chars/4",
        },
        "rows": rows,
        "bars": _bars(rows),
        "usage": _usage(used, sum(request["output"] for request in requests), len(requests)),
        "reconciliation": {
            "input": used,
            "kinds": kinds,
            "remainder": used - kinds,
            "overcount": used < kinds,
        },
        "window": {"tokens": WINDOW_TOKENS, "used": used, "ratio": used / WINDOW_TOKENS}
        | {"remaining": WINDOW_TOKENS - used, "source": "transcript/result", "stale": stale}
        | {"usedSource": "usage"},
        "calls": _calls(chance, entries, line),
        "requests": requests,
        "compactions": compactions,
    }
    if number % 9 != 4:
        state["request"] += len(requests)
        turn["composition"] = _composition(chance, used, state["request"])
    return turn


def _entry(chance: random.Random, kind: str, tokens: int) -> Json:
    names = {
        "tools": _TOOLS,
        "mcp": tuple(_SERVERS),
        "skills": _SKILLS,
        "rules": _RULES,
    }.get(kind, ("架构说明.pdf", "error-log.txt"))
    picked = sorted(chance.sample(names, k=min(len(names), chance.randint(2, 5))))
    cuts = sorted(chance.randint(0, tokens) for _ in picked[1:])
    sizes = [high - low for low, high in zip([0, *cuts], [*cuts, tokens], strict=True)]
    items: list[Json] = []
    for name, size in zip(picked, sizes, strict=True):
        items.append({"name": name, "tokens": size})
        if kind in {"tools", "mcp"}:
            items[-1] |= {"calls": chance.randint(1, 5), "source": f"tool_use/{kind}/{name}"}
        if kind == "skills":
            items[-1]["source"] = f"workspace/.claude/skills/{name}/SKILL.md"
        if kind == "rules":
            items[-1]["source"] = name
    counted = ", ".join(
        f"{item['name']} × {item['calls']}" if "calls" in item else item["name"].rsplit("/", 1)[-1]
        for item in items
    )
    return {
        "tokens": tokens,
        "source": " + ".join(item.get("source", "host/attachment") for item in items),
        "detail": counted,
        "calibrated": tokens * 11 // 10,
        "items": items,
    }


def _rows(
    chance: random.Random, entries: Json, used: int, locale: str, with_pending: bool
) -> list[Json]:
    tokens = {kind: entry["tokens"] for kind, entry in entries.items()}
    left = max(0, used - sum(tokens.values()))
    tokens["cache_or_previous"] = left * chance.randint(55, 75) // 100
    tokens["conversation"] = left - tokens["cache_or_previous"]
    if with_pending:
        tokens["pending_next_turn"] = 640
    return [
        {"kind": kind, "label": label(kind, locale), "tokens": tokens[kind]}
        | {"share": tokens[kind] / WINDOW_TOKENS}
        | {key: entries[kind][key] for key in ("source", "detail") if key in entries.get(kind, {})}
        for kind in ROWS
        if tokens.get(kind)
    ]


def _bars(rows: list[Json]) -> Json:
    return {
        f"cells{cells}": [
            {"kind": row["kind"], "cells": max(1, row["tokens"] * cells // WINDOW_TOKENS)}
            for row in rows
        ]
        for cells in (WIDE_CELLS, 10)
    }


def _calls(chance: random.Random, entries: Json, line: int) -> list[Json]:
    calls: list[Json] = []
    for kind in ("tools", "mcp"):
        for item in entries.get(kind, {}).get("items", ()):
            for at in range(item["calls"]):
                tool = item["name"]
                if kind == "mcp":
                    tool = f"mcp__{tool}__{_SERVERS[tool][at % 2]}"
                calls.append(
                    {
                        "id": f"toolu_{chance.getrandbits(48):012x}",
                        "name": tool,
                        "kind": kind,
                        "group": item["name"],
                        "tokens": item["tokens"] // item["calls"],
                        "line": line + 1 + len(calls) * 2,
                    }
                    | ({"isError": True} if chance.random() < 0.1 else {})
                )
    return calls


def _composition(chance: random.Random, reported: int, request: int) -> Json:
    weights = [about * chance.uniform(0.5, 1.6) for *_, about in _PARTS]
    units = [int(weight * 3.6) for weight in weights]
    whole = sum(units)
    tokens = [size * reported // whole for size in units]
    tokens[0] += reported - sum(tokens)
    return {
        "requestId": f"req_{request:05d}",
        "reported": reported,
        "parts": [
            {"kind": role, "source": source, "units": size, "tokens": part}
            | ({"name": name} if name else {})
            for (role, name, source, _), size, part in zip(_PARTS, units, tokens, strict=True)
        ],
    }


def _usage(used: int, output: int, messages: int) -> Json:
    return {
        "input": used // 50,
        "output": output,
        "cacheRead": used * 9 // 10,
        "cacheCreation": used - used // 50 - used * 9 // 10,
        "messages": messages,
    }


def _unknown(number: int) -> list[Json]:
    if number % 6 != 2:
        return []
    return [
        {
            "kind": "skills",
            "name": "quarterly-report",
            "reason": "no SKILL.md of this name was found in any folder of skills",
        },
        {"kind": "tools", "name": "toolu_0f3e", "reason": "a result without its call"},
    ]


def _skills(number: int) -> list[Json]:
    states = ("called", "loaded", "reinjected", "dropped", "loaded")
    return [
        {"name": name, "state": states[(number + at) % 5], "source": f"workspace/.claude/{name}"}
        | ({"tokens": 1_900 + 90 * at} if (number + at) % 5 in {1, 2, 4} else {})
        for at, name in enumerate(_SKILLS)
    ]


def _subagents(chance: random.Random) -> list[Json]:
    return [
        {
            "agentId": "a91f3c",
            "entries": {"tools": _entry(chance, "tools", 5_300)},
            "usage": _usage(31_000, 900, 4),
            "unknown": [
                {
                    "kind": "mcp",
                    "name": "mcp__a__b__c",
                    "reason": "two servers may have it",
                }
            ],
        }
    ]


def _totals(chance: random.Random, sessions: list[Json]) -> Json:
    usages = [turn["usage"] for session in sessions for turn in session["turns"]]
    totals: Json = {key: sum(usage[key] for usage in usages) for key in _usage(0, 0, 0)}
    return totals | {
        "byTool": {
            name: {"calls": chance.randint(3, 400), "tokens": chance.randint(900, 400_000)}
            for name in _TOOLS
        },
        "bySkill": {
            name: {"tokens": chance.randint(900, 9_000), "loads": chance.randint(1, 6)}
            | {"source": f"workspace/.claude/skills/{name}/SKILL.md"}
            for name in _SKILLS
        },
        "byMcpServer": {
            name: {"calls": chance.randint(3, 90), "tokens": chance.randint(900, 90_000)}
            for name in _SERVERS
        },
        "byRule": {path: {"tokens": chance.randint(300, 4_000)} for path in _RULES},
        "bySubagent": {
            name: {"tokens": chance.randint(900, 90_000), "calls": chance.randint(2, 40)}
            for name in ("a91f3c", "b20c11")
        },
    }
