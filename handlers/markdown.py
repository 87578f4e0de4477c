"""The pieces of Markdown that generated pages are made of."""

from collections.abc import Iterable


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Write a table; cells hold no bar and no line break."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def codes(names: Iterable[str]) -> str:
    """List names as code."""
    return ", ".join(f"`{name}`" for name in names)
