"""What a request is made of: parts by kind and name, with shares of the reported input."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.accounting.composition import Composition, Part, composed, from_json, to_json

SHAPE = "transcript/api-request-shape"
SIXTY: list[list[Any]] = [
    ["tool_schema", f"mcp__wiki__tool_{number}", SHAPE, 1000] for number in range(60)
]
OVERHEAD: list[list[Any]] = [
    ["system_prompt", None, SHAPE, 30_000],
    ["mcp_instructions", "wiki", "transcript/attachment", 2_000],
    ["tool_schema", "Bash", SHAPE, 8_000],
    ["user_text", None, "transcript/user", 20_000],
]

ROWS = st.lists(
    st.tuples(
        st.sampled_from(["system_prompt", "tool_schema", "user_text", "tool_result"]),
        st.sampled_from([None, "Bash", "Read", "mcp__a__b", "mcp__a__c", "mcp__d__e"]),
        st.sampled_from([SHAPE, "transcript/user"]),
        st.integers(0, 5000),
    ).map(list),
    max_size=20,
)


@given(ROWS, st.integers(0, 10**6))
def test_shares_sum_exactly_to_the_reported_input(rows: list[list[Any]], reported: int) -> None:
    made = composed("r1", rows, reported)
    whole = sum(row[3] for row in rows)

    assert sum(part.units for part in made.parts) == whole
    if whole:
        assert sum(part.tokens or 0 for part in made.parts) == reported
        for part in made.parts:
            assert part.tokens is not None
            assert abs(part.tokens - reported * part.units / whole) < 1
    else:
        assert {part.tokens for part in made.parts} <= {None}


def test_u20_the_schemas_of_a_server_sum_to_its_group_and_overhead_is_its_own_line() -> None:
    made = composed("r1", [*OVERHEAD, *SIXTY], 30_000, ("wiki",))

    assert made.parts == (
        Part("system_prompt", None, SHAPE, 30_000, 7_500),
        Part("mcp_instructions", "wiki", "transcript/attachment", 2_000, 500),
        Part("tool_schema", "Bash", SHAPE, 8_000, 2_000),
        Part("user_text", None, "transcript/user", 20_000, 5_000),
        Part("mcp_schema", "wiki", SHAPE, 60_000, 15_000),
    )


def test_schemas_stand_under_the_server_that_the_host_names() -> None:
    rows: list[list[Any]] = [
        ["tool_schema", f"mcp__{tool}", SHAPE, 10] for tool in ("a__b__c", "a__d", "a__b__e")
    ]

    def servers(*named: str) -> list[tuple[str | None, int]]:
        return [(part.name, part.units) for part in composed(None, rows, None, named).parts]

    assert servers() == [("a", 30)]
    assert servers("a", "a__b") == [("a__b", 20), ("a", 10)]


def test_u23_without_reported_usage_a_share_is_unknown_and_not_zero() -> None:
    made = composed("r1", [*OVERHEAD], None)

    assert {part.tokens for part in made.parts} == {None}
    assert sum(part.units for part in made.parts) == 60_000
    assert from_json(json.loads(json.dumps(to_json(made)))) == made


def test_a_request_of_no_parts_has_none() -> None:
    assert composed(None, [], 500) == Composition(None, (), 500)
