"""Answers that something slow comes before: how work leaves the thread that holds the sessions."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

A = TypeVar("A")
B = TypeVar("B")


class Later(NamedTuple, Generic[A]):
    """Stands for an answer that is not there yet.

    `work` may run on any thread: it reads files or waits, and touches nothing that others change.
    `finish` is given what work returned, back on the thread that holds the sessions; it gives the
    answer, or another Later. What either raises takes the answer's place.
    """

    work: Callable[[], Any]
    finish: Callable[[Any], "A | Later[A]"]


def then(found: A | Later[A], answer: Callable[[A], B | Later[B]]) -> B | Later[B]:
    """Make an answer out of what was found: now, or once it is there."""
    if not isinstance(found, Later):
        return answer(found)
    later: Later[A] = found

    def finish(result: Any) -> B | Later[B]:
        return then(later.finish(result), answer)

    return Later(later.work, finish)


def here(found: A | Later[A]) -> A:
    """Give the answer, doing on this thread whatever comes before it."""
    while isinstance(found, Later):
        found = found.finish(found.work())
    return found
