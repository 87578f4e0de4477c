"""An answer is made in the same way, whether what it needs is there now or comes later."""

from core.later import Later, then


def carried_out(found: str | Later[str]) -> str:
    while isinstance(found, Later):
        found = found.finish(found.work())
    return found


def found_late() -> int | Later[int]:
    """Find 20 in two goes, each with work of its own."""
    second: Later[int] = Later(lambda: 2, lambda n: n * 10)
    return Later(lambda: 1, lambda _: second)


def test_what_is_there_is_answered_at_once() -> None:
    assert then(20, lambda n: f"{n}!") == "20!"


def test_what_comes_later_is_answered_once_all_its_work_is_done() -> None:
    assert carried_out(then(found_late(), lambda n: f"{n}!")) == "20!"


def test_an_answer_may_need_work_of_its_own() -> None:
    both = then(found_late(), lambda n: then(found_late(), lambda m: f"{n + m}!"))

    assert carried_out(both) == "40!"
