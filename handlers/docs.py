"""Write the generated pages under docs/, or say which of them are stale.

python -m handlers.docs            write them
python -m handlers.docs --check    exit 1 and name each one that is stale
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from handlers.protocol_page import protocol_markdown, protocol_schema
from handlers.receipts_page import receipts_markdown

DOCS = Path(__file__).resolve().parent.parent / "docs"


def plan_schema() -> str:
    """Write docs/plan-schema.json, the JSON Schema of a plan file."""
    from core.phases.schema import plan_schema as schema

    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def plan_format() -> str:
    """Write docs/plan-format.md, the manual of a plan file."""
    from core.phases.schema import plan_format_markdown

    return plan_format_markdown()


PAGES: tuple[tuple[str, Callable[[], str]], ...] = (
    ("protocol.md", protocol_markdown),
    ("protocol.schema.json", protocol_schema),
    ("plan-schema.json", plan_schema),
    ("plan-format.md", plan_format),
    ("receipts.md", receipts_markdown),
)


def stale(folder: Path) -> list[str]:
    """Name the pages whose copy in this folder is missing or differs from what the code gives."""
    return [name for name, make in PAGES if _held(folder / name) != make().encode()]


def write(folder: Path) -> list[str]:
    """Write the stale pages into this folder and name them."""
    names = stale(folder)
    makers = dict(PAGES)
    for name in names:
        (folder / name).write_bytes(makers[name]().encode())
    return names


def main(arguments: list[str]) -> int:
    """Run as a command; the answer is the exit code."""
    if arguments not in ([], ["--check"]):
        print("usage: python -m handlers.docs [--check]", file=sys.stderr)
        return 2
    if not arguments:
        for name in write(DOCS):
            print(f"wrote docs/{name}")
        return 0
    names = stale(DOCS)
    for name in names:
        print(f"docs/{name} is stale: run `make docs` and commit it", file=sys.stderr)
    return 1 if names else 0


def _held(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
