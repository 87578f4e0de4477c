"""Which prompts are worth a plan: long ones, and those that touch several routes."""

from collections.abc import Sequence
from typing import NamedTuple

ARM_CHARS = 200  # Code points of a trimmed prompt.
ARM_ROUTES = 2

# Scripts above this point (Thai, Chinese, Japanese, ..) put no spaces between words.
_UNSPACED_FROM = "\u0e00"


class Route(NamedTuple):
    """Words that point to a skill; any one of them is a hit."""

    words: tuple[str, ...]
    skill: str


class Routing(NamedTuple):
    """The routes of a session and the thresholds from which a prompt gets a plan."""

    routes: tuple[Route, ...] = ()
    arm_chars: int = ARM_CHARS
    arm_routes: int = ARM_ROUTES

    def hits(self, text: str) -> int:
        """Count the routes that a prompt touches."""
        return len(hits(text, self.routes))

    def is_non_trivial(self, text: str, hit_count: int) -> bool:
        """Say whether a prompt is long enough, or touches enough routes, for a plan."""
        return len(text.strip()) >= self.arm_chars or hit_count >= self.arm_routes


def hits(text: str, routes: Sequence[Route]) -> tuple[str, ...]:
    """Name the skills of the routes that a text touches; case does not count."""
    if not routes:
        return ()
    folded = text.casefold()
    return tuple(
        route.skill
        for route in routes
        if any(_has_word(folded, word.strip().casefold()) for word in route.words)
    )


def _has_word(text: str, word: str) -> bool:
    start = text.find(word) if word else -1
    while start >= 0:
        end = start + len(word)
        if not _joined(text[start - 1 : start], word[0]) and not _joined(
            word[-1], text[end : end + 1]
        ):
            return True
        start = text.find(word, start + 1)
    return False


def _joined(left: str, right: str) -> bool:
    """Say whether two neighbours belong to one word; "" stands for the end of the text."""
    return left.isalnum() and right.isalnum() and max(left, right) < _UNSPACED_FROM
