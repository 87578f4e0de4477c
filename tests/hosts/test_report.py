"""What `turnkeeper report` says of a live run is what the model server received and answered."""

import json
import os
import subprocess
import sysconfig
from collections import Counter
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.hosts.claude import Run
from tests.hosts.conftest import ClaudeRuns
from tests.hosts.test_composition import (
    COMPARED,
    KNOWN_REMINDERS,
    UNATTRIBUTED_MAX,
    is_recorded,
    measured,
    requests,
)

Json: TypeAlias = Any

PROGRAM = Path(sysconfig.get_path("scripts"), "turnkeeper")


@pytest.fixture(params=COMPARED)
def live(request: pytest.FixtureRequest, claude_run: ClaudeRuns) -> Run:
    name: str = request.param
    return claude_run(name)


def test_the_parts_of_a_request_sum_to_the_input_that_the_server_reported(
    live: Run, state_root: Path
) -> None:
    ids = [said.request_id for said in requests(live.transcript) if said.agent_id is None]
    asked = [asked for asked in live.asked if is_recorded(asked) and asked.agent_id is None]
    found = [turn["composition"] for turn in turns(live) if "composition" in turn]
    assert found

    for composition in found:
        parts, reported = composition["parts"], composition["reported"]
        sent = asked[ids.index(composition["requestId"])]
        unknown = [
            part
            for part in parts
            if part["kind"] == "reminder" and part.get("name") not in KNOWN_REMINDERS
        ]

        assert reported == sum(sent.tokens[:3])
        assert sum(part["tokens"] for part in parts) == reported
        assert sum(part["tokens"] for part in unknown) <= UNATTRIBUTED_MAX * reported
        assert all(part["source"] for part in parts)
        assert units_by_kind(parts) == units_by_role(sent.body)


def test_the_totals_are_those_of_the_answers(live: Run, state_root: Path) -> None:
    totals = report(live)["totals"]
    answered = [asked.tokens for asked in live.asked if is_recorded(asked)]

    assert totals["input"] == sum(tokens.input for tokens in answered)
    assert totals["cacheCreation"] == sum(tokens.cache_write for tokens in answered)
    assert totals["cacheRead"] == sum(tokens.cache_read for tokens in answered)
    assert totals["output"] == sum(tokens.output for tokens in answered)


def test_the_total_of_messages_counts_those_of_sub_agents_too(live: Run, state_root: Path) -> None:
    answered = [asked for asked in live.asked if is_recorded(asked)]

    assert report(live)["totals"]["messages"] == len(answered)


def turns(live: Run) -> list[Json]:
    (session,) = report(live)["sessions"]
    found: list[Json] = session["turns"]
    return found


def report(live: Run) -> Json:
    done = subprocess.run(
        [PROGRAM, "report", live.transcript, "--json"],
        env=os.environ,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


def units_by_kind(parts: list[Json]) -> Counter[str]:
    found: Counter[str] = Counter()
    for part in parts:
        found["tool_schema" if part["kind"] == "mcp_schema" else part["kind"]] += part["units"]
    return found


def units_by_role(body: Json) -> Counter[str]:
    found: Counter[str] = Counter()
    for (role, _), units in measured(body).items():
        found[role] += units
    return found
