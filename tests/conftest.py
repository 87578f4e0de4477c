"""What every test may ask for."""

import signal
from pathlib import Path

import pytest
from hypothesis import settings

# Whoever started us may ignore Ctrl-C, as a shell does in the background; our children would too.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Time limits would make a busy machine fail; the same examples each time make a failure come again.
settings.register_profile("turnkeeper", deadline=None, derandomize=True)
settings.load_profile("turnkeeper")


@pytest.fixture
def state_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own, also for the processes that it starts."""
    root = tmp_path / "state"
    monkeypatch.setenv("TURNKEEPER_STATE_DIR", str(root))
    for other in ("PHASE_STATE_DIR", "TURNKEEPER_LEDGER", "TOOL_RECEIPTS_LEDGER"):
        monkeypatch.delenv(other, raising=False)
    return root
