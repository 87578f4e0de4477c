"""Where older products count wrongly: what is right instead, through one real process."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.sidecar import Sidecar

CONFORMANCE = Path(__file__).parents[1] / "conformance" / "deviations.json"
CASES = json.loads(CONFORMANCE.read_text(encoding="utf-8"))["cases"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("deviations")


@pytest.fixture(scope="module")
def sidecar(home: Path) -> Iterator[Sidecar]:
    client = Sidecar(home / "state", home)
    with client:
        yield client
        code, log = client.end()
        assert (code, "failed" in log) == (0, False)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_what_older_products_miss_is_right(
    sidecar: Sidecar, home: Path, tmp_path: Path, case: dict[str, Any]
) -> None:
    session, workspace = case["id"], tmp_path / "work"
    for name, text in case.get("files", {}).items():
        path = home / name[2:] if name.startswith("~/") else workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    sidecar.begin(workspace, session, runtime=case["runtime"], **case.get("start", {}))

    answers = [sidecar.call(method, session, **params) for method, params in case["steps"]]

    accounting = answers[-1]["accounting"]
    assert {place: at(accounting, place) for place in case["expect"]} == case["expect"]
    assert {place: at(accounting, place) for place in case.get("absent", ())} == dict.fromkeys(
        case.get("absent", ())
    )


def at(value: Any, pointer: str) -> Any:
    """Give what a JSON pointer points to; None when it is not there."""
    for part in pointer.split("/")[1:]:
        if isinstance(value, list):
            value = value[int(part)] if int(part) < len(value) else None
        elif isinstance(value, dict):
            value = value.get(part)
        else:
            return None
    return value
