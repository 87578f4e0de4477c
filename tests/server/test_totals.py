"""The totals of a report against another way of counting, and the sums of its own turns."""

import json
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from server.report.totals import USAGE
from tests.core.runtimes.claude.given import attachment, boundary, text, user, written
from tests.server.recorded import (
    answer,
    called,
    read_rows,
    report,
    rollout,
    session_id,
    some_turns,
    stamped,
    turn,
    write,
)

Json = Any


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Sessions of Claude Code, one with sub-agents, one a fork of another; not sorted by age."""
    folder, dice = tmp_path_factory.mktemp("projects") / "-repo", random.Random(3)
    first = some_turns(dice, 1, 6)
    paths = [
        write(folder, 2, some_turns(dice, 2, 9), start=900),
        write(folder, 1, first, start=100),
        write(folder, 3, [*first[:40], *some_turns(dice, 3, 2)], start=2000),
    ]
    for agent in ("a1", "a2"):
        side = folder / session_id(2) / "subagents" / f"agent-{agent}.jsonl"
        rows = some_turns(dice, 2, 2, agent)
        more = {"sessionId": session_id(2), "agentId": agent, "isSidechain": True}
        written(side, *stamped(rows, 1000, **more))
    return paths


@pytest.fixture(scope="module")
def given(files: list[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    return report(*files, home=tmp_path_factory.mktemp("home"))


def every_row(files: list[str]) -> list[dict[str, Json]]:
    sides = [str(path) for file in files for path in Path(file).parent.glob("*/*/agent-*.jsonl")]
    return read_rows([*files, *sorted(set(sides))])


def test_usage_is_that_of_the_last_row_of_each_message(
    files: list[str], given: dict[str, Json]
) -> None:
    last = {
        row["message"]["id"]: row["message"]["usage"]
        for row in every_row(files)
        if row["type"] == "assistant"
    }

    assert {name: given["totals"][name] for name in USAGE} == {
        "input": sum(used["input_tokens"] for used in last.values()),
        "output": sum(used["output_tokens"] for used in last.values()),
        "cacheRead": sum(used["cache_read_input_tokens"] for used in last.values()),
        "cacheCreation": sum(used["cache_creation_input_tokens"] for used in last.values()),
        "messages": len(last),
    }


def test_calls_and_tokens_stand_under_their_tool_or_server(
    files: list[str], given: dict[str, Json]
) -> None:
    calls: Counter[str] = Counter()
    lengths: dict[tuple[int, str], int] = defaultdict(int)  # By file and call; ASCII throughout.
    names: dict[str, str] = {}
    owners: dict[str, int] = {}  # A call that a fork copied counts in one file alone.
    for file, rows in enumerate([every_row(files[:1]), *(read_rows([f]) for f in files[1:])]):
        for row in rows:
            content = row["message"]["content"]
            for block in content if isinstance(content, list) else ():
                call_id = block.get("id") or block.get("tool_use_id")
                if call_id and owners.setdefault(call_id, file) != file:
                    continue
                if block["type"] == "tool_use":
                    names[block["id"]] = block["name"]
                    calls[block["name"]] += 1
                    escaped = block["input"]["text"].replace("\n", "\\n")
                    lengths[file, block["id"]] += len('{"text":""}') + len(escaped)
                elif block["type"] == "tool_result":
                    lengths[file, block["tool_use_id"]] += len(block["content"])
    tokens: Counter[str] = Counter()
    for (_, call_id), units in lengths.items():
        tokens[names[call_id]] += (units + 3) // 4

    expected: dict[str, dict[str, dict[str, int]]] = {"byTool": {}, "byMcpServer": {}}
    for name, number in calls.items():
        by, group = ("byMcpServer", name.split("__")[1]) if "__" in name else ("byTool", name)
        known = expected[by].setdefault(group, {"tokens": 0, "calls": 0})
        known["tokens"] += tokens[name]
        known["calls"] += number
    assert {by: given["totals"][by] for by in expected} == expected
    by_size = [told["tokens"] for told in given["totals"]["byTool"].values()]
    assert by_size == sorted(by_size, reverse=True)


def test_usage_and_sub_agents_sum_to_those_of_the_turns(given: dict[str, Json]) -> None:
    turns = [turn for session in given["sessions"] for turn in session["turns"]]
    agents = [agent for turn in turns for agent in turn["snapshot"]["subagents"]]
    told = [each["usage"] for each in (*turns, *agents) if "usage" in each]

    sums = {name: sum(used.get(name, 0) for used in told) for name in USAGE}
    # A sub-agent's usage does not say how many messages it is of.
    assert {**sums, "messages": given["totals"]["messages"]} == {
        name: given["totals"][name] for name in USAGE
    }
    assert given["totals"]["bySubagent"] == {
        name: {
            "tokens": sum(
                entry["tokens"]
                for agent in agents
                if agent["agentId"] == name
                for entry in agent["entries"].values()
            ),
            "calls": sum(
                item["calls"]
                for agent in agents
                if agent["agentId"] == name
                for entry in agent["entries"].values()
                for item in entry["items"]
            ),
        }
        for name in given["totals"]["bySubagent"]
    }
    assert set(given["totals"]["bySubagent"]) == {"a1", "a2"}


def test_codex_counts_as_its_running_total_says(tmp_path: Path) -> None:
    paths = [
        rollout(tmp_path / f"rollout-{number}.jsonl", session_id(number), turns=number + 2)
        for number in range(2)
    ]
    totals = report(*paths, home=tmp_path)["totals"]

    last = [
        [row for row in read_rows([path]) if row["payload"].get("type") == "token_count"][-1]
        for path in paths
    ]
    sums = [row["payload"]["info"]["total_token_usage"] for row in last]
    cached = sum(used["cached_input_tokens"] for used in sums)
    assert (totals["input"], totals["cacheRead"], totals["output"], totals["messages"]) == (
        sum(used["input_tokens"] for used in sums) - cached,
        cached,
        sum(used["output_tokens"] for used in sums),
        10,
    )
    assert totals["byTool"]["exec_command"]["calls"] == 5


def test_a_rule_file_counts_once_a_session_by_its_own_path(tmp_path: Path) -> None:
    def rules(path: str, units: int) -> dict[str, Json]:
        return attachment("instructions", "x", files=[{"path": path, "content": "x" * units}])

    one = turn("1", rules("/repo/CLAUDE.md", 40), answer("m1"))
    two = turn("2", rules("/repo/CLAUDE.md", 80), answer("m2"))
    three = turn("3", answer("m3"))
    paths = [
        write(tmp_path, 1, [*one, *two, *three]),
        write(tmp_path, 2, turn("4", rules("/repo/CLAUDE.md", 40), answer("m4"))),
        write(tmp_path, 3, [{**row, "cwd": "/other"} for row in one[:1]]
              + [rules("/other/CLAUDE.md", 8) | {"cwd": "/other"}, answer("m5")]),
    ]  # fmt: skip

    assert report(*paths, home=tmp_path)["totals"]["byRule"] == {
        "/repo/CLAUDE.md": {"tokens": 20 + 10, "sessions": 2},
        "/other/CLAUDE.md": {"tokens": 2, "sessions": 1},
    }


def skill(name: str, *rows: dict[str, Json], call_id: str = "s1") -> list[dict[str, Json]]:
    return [*called(f"m-{name}-{call_id}", call_id, "Skill", {"skill": name}, "Launching"), *rows]


def body(call_id: str, path: str, units: int) -> dict[str, Json]:
    start = f"Base directory for this skill: {path}\n\n"
    told = start + "x" * (units - len(start))
    return user([text(told)], isMeta=True, sourceToolUseID=call_id)


def test_u27_a_body_that_comes_again_counts_in_the_turn_in_which_it_came(tmp_path: Path) -> None:
    cut = "x" * 60 + "\n[... skill content truncated for compaction]"
    rows = [
        *turn("1", *skill("notes", body("s1", "/repo/.claude/skills/notes", 400))),
        *skill("draw", body("s2", "/repo/.claude/skills/draw", 200), call_id="s2"),
        *turn("2", answer("m1"), boundary(trigger="auto")),
        attachment("invoked_skills", skills=[{"name": "notes", "content": cut}]),
        answer("m2"),
        *turn("3", answer("m3")),
    ]
    given = report(write(tmp_path, 1, rows), home=tmp_path)
    first, second, third = (turn["snapshot"] for turn in given["sessions"][0]["turns"])

    assert first["entries"]["skills"]["tokens"] == 150
    again = len(cut) // 4 + 1
    assert second["entries"]["skills"]["tokens"] == again
    note = "truncated, again after a compaction"
    states = [(s["name"], s["state"], s.get("note")) for s in second["skillStates"]]
    assert states == [("notes", "reinjected", note), ("draw", "dropped", None)]
    assert "skills" not in third["entries"]
    by_skill = given["totals"]["bySkill"]
    assert {name: (told["tokens"], told["loads"]) for name, told in by_skill.items()} == {
        "notes": (100 + again, 2),
        "draw": (50, 1),
    }


def test_u23_what_has_no_known_size_is_no_zero_and_totals_say_what_they_leave_out(
    tmp_path: Path,
) -> None:
    paths = [
        write(tmp_path, 1, turn("1", *skill("ghost"))),
        write(tmp_path, 2, turn("2", *skill("half"))),
        write(
            tmp_path,
            3,
            turn("3", *skill("half", body("s3", "/repo/skills/half", 400), call_id="s3")),
        ),
    ]
    given = report(*paths, home=tmp_path)
    turns = [session["turns"][0]["snapshot"] for session in given["sessions"]]

    why = {"kind": "skills", "name": "ghost", "reason": "no SKILL.md of this name was found"}
    assert why in turns[0]["unknown"]
    assert "skills" not in turns[0]["entries"]
    by_skill = given["totals"]["bySkill"]
    assert by_skill["ghost"].get("tokens") is None
    assert (by_skill["half"]["tokens"], by_skill["half"]["loads"]) == (100, 2)
    assert by_skill["half"].get("unknown") == 1  # Of the two loads one is not in the tokens.


def test_u03_rows_of_a_proxy_without_a_request_id_count_once_by_their_message(
    tmp_path: Path,
) -> None:
    once = stamped(turn("1", answer("m1", 20)), 0, sessionId=session_id(1))
    assert "requestId" not in once[1]
    path = written(tmp_path / f"{session_id(1)}.jsonl", *once, *once[1:], *once[1:])
    more = {"agentId": "a1", "isSidechain": True}
    side = stamped(turn("s", *[answer("side", 3)] * 4), 9, sessionId=session_id(1), **more)
    written(tmp_path / session_id(1) / "subagents" / "agent-a1.jsonl", *side)
    totals = report(path, home=tmp_path)["totals"]

    assert (totals["output"], totals["messages"]) == (23, 2)


def test_u29_names_are_told_and_nothing_of_what_was_said(tmp_path: Path) -> None:
    secret = "Xyzzy plugh"
    rows = [
        *turn("1", *called("m1", "c1", "mcp__claude_ai_Drive__find", {"q": secret}, secret)),
        *skill("tools:brew", body("s1", "/repo/.claude/skills/brew", 400)),
        user([text(secret)], uuid="u-9", promptId="9"),
        answer("m2"),
    ]
    rows[0]["message"]["content"] = secret
    rows[5]["message"]["content"][0]["text"] += secret
    told = report(write(tmp_path, 1, rows), home=tmp_path, pictures=True)

    assert set(told["totals"]["byMcpServer"]) == {"claude_ai_Drive"}
    assert set(told["totals"]["bySkill"]) == {"tools:brew"}
    assert secret not in json.dumps(told)


def test_u02_a_message_counts_with_its_last_row_wherever_that_stands(tmp_path: Path) -> None:
    rows = [*turn("1", answer("m1", 2)), *turn("2", answer("m2", 30), answer("m1", 50))]

    assert report(write(tmp_path, 1, rows), home=tmp_path)["totals"]["output"] == 80
