"""Which prompts are worth a plan."""

import pytest

from core.phases.routing import Route, Routing, hits

ROUTES = (Route(("deploy", "roll out"), "deploying"), Route(("测试", "Tests"), "testing"))


@pytest.mark.parametrize(
    ("text", "skills"),
    [
        ("Deploy it", ("deploying",)),
        ("DEPLOY; then run the tests.", ("deploying", "testing")),
        ("we Roll Out now", ("deploying",)),
        ("redeployed", ()),
        ("deploy2", ()),
        ("请写测试用例", ("testing",)),
        ("部署deploy吧", ("deploying",)),
        ("", ()),
    ],
)
def test_a_route_is_hit_by_a_whole_word_in_any_case(text: str, skills: tuple[str, ...]) -> None:
    assert hits(text, ROUTES) == skills


@pytest.mark.parametrize(
    ("text", "worth"),
    [
        ("x" * 199, False),
        ("x" * 200, True),
        (" " * 10 + "x" * 199 + "\n" * 10, False),
        ("😀" * 199, False),
        ("😀" * 200, True),
        ("deploy", False),
        ("deploy the tests", True),
    ],
)
def test_long_prompts_and_those_on_two_routes_are_worth_a_plan(text: str, worth: bool) -> None:
    routing = Routing(ROUTES)

    assert routing.is_non_trivial(text, routing.hits(text)) is worth


def test_without_routes_only_the_length_counts() -> None:
    assert Routing().hits("deploy tests") == 0
