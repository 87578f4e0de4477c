"""The agreed accounts through one real process, as a host would send and hear them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.accounting.kinds import KINDS
from tests.server.sidecar import Sidecar

CONFORMANCE = Path(__file__).parents[1] / "conformance" / "accounting.json"
CASES = json.loads(CONFORMANCE.read_text(encoding="utf-8"))["cases"]


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    base = tmp_path_factory.mktemp("conformance")
    client = Sidecar(base / "state", base / "home")
    with client:
        yield client
        code, log = client.end()
        assert (code, "failed" in log) == (0, False)


def test_all_agreed_accounts_are_here() -> None:
    assert len(CASES) == 42


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_an_agreed_account_is_answered(
    sidecar: Sidecar, tmp_path: Path, case: dict[str, Any]
) -> None:
    session, workspace = case["id"], tmp_path / "work"
    for name, text in case["files"].items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    backend = {"providerBackend": case["providerBackend"]} if "providerBackend" in case else {}
    sidecar.begin(workspace, session, runtime=case["runtime"], **backend)
    skills = case.get("selectedSkills", [])
    sidecar.call("prompt", session, turnId="t1", text="go", selectedSkills=skills)
    for event in case["events"]:
        _send(sidecar, session, event)

    snapshot = sidecar.turn_end("t1", session)["accounting"]["snapshot"]

    expected = case["expect"]
    entries = {
        kind: {name: entry[name] for name in ("tokens", "source", "detail") if name in entry}
        for kind, entry in snapshot["entries"].items()
    }
    assert entries == expected["entries"]
    assert list(entries) == [kind for kind in KINDS if kind in entries]
    assert snapshot["unsupported"] == expected["unsupported"]
    assert snapshot["producedBy"] == expected["producedBy"]
    assert snapshot.get("providerBackend") == expected.get("providerBackend")


def _send(sidecar: Sidecar, session: str, event: dict[str, Any]) -> None:
    if "call" in event:
        call = event["call"]
        sidecar.call(
            "toolCall", session, toolUseId=call["id"], name=call["name"], input=call["input"]
        )
    else:
        result = event["result"]
        failed = {"isError": result["isError"]} if "isError" in result else {}
        sidecar.call(
            "toolResult", session, toolUseId=result["id"], content=result["content"], **failed
        )
