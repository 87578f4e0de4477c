"""What the core costs to import: hook commands will start it for every event."""

import subprocess
import sys

HEAVY = (
    "attr attrs cattrs click dataclasses inspect logging lsprotocol orjson pathlib platformdirs"
    " pygls rich subprocess tempfile uuid yaml asyncio"
)


def test_the_core_imports_nothing_heavy() -> None:
    program = "import sys, core.sessions; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()

    assert set(loaded) & set(HEAVY.split()) == set()
