"""A session store with facts of a meaning so small that its receipts can be counted by hand."""

import os
from pathlib import Path
from typing import Any

from core.store.receipts import Ledger, read_receipts
from core.store.root import session_name
from core.store.session_store import Recovered, SessionStore

SESSION = "session-1"
NAME = session_name(SESSION)
NEVER_WAS = Recovered(state=None, lines=[], faults=[], lost=False, orphans=[])


def project(line: dict[str, Any]) -> list[dict[str, Any]]:
    """Give as many receipts as the fact's `receipts` says."""
    return [{"event": "skill_call", "name": line["name"]}] * line.get("receipts", 0)


def fact(name: str, receipts: int = 0) -> dict[str, Any]:
    return {"kind": "noted", "name": name, "receipts": receipts}


def opened(root: Path, session_id: str = SESSION) -> tuple[SessionStore, Recovered]:
    store = SessionStore(str(root), session_id, Ledger(str(root / "receipts.jsonl")), project)
    return store, store.open()


def folder(root: Path) -> Path:
    return root / "sessions" / NAME


def names(lines: list[dict[str, Any]]) -> list[str]:
    return [line["name"] for line in lines]


def everything(root: Path) -> list[str]:
    """Give the names of all facts, those in the checkpoint's state first."""
    found = opened(root)[1]
    before: list[str] = found.state["names"] if found.state else []
    return before + names(found.lines)


def receipt_ids(root: Path) -> list[str]:
    found = read_receipts(str(root / "receipts.jsonl"), SESSION)
    return [receipt["event_id"] for receipt in found.receipts]


def expected_ids(lines: list[dict[str, Any]]) -> list[str]:
    counted = [(line["seq"], n) for line in lines for n in range(line.get("receipts", 0))]
    return [f"{NAME}-{seq}-{n}" for seq, n in counted]


def journal_lines(root: Path) -> list[dict[str, Any]]:
    """Give all good journal lines, as read with no checkpoint."""
    checkpoint = folder(root) / "checkpoint.json"
    if checkpoint.exists():
        os.rename(checkpoint, root / "aside")
    lines = opened(root)[1].lines
    if (root / "aside").exists():
        os.rename(root / "aside", checkpoint)
    return lines
