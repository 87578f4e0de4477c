"""Sessions on a real state folder, and what is looked at there."""

from pathlib import Path

from core import events as e
from core.decided import Decided
from core.phases.routing import Routing
from core.sessions import Sessions
from core.store.receipts import read_receipts
from core.store.root import ledger_path, session_dir
from core.world import World
from tests.core.given import SESSION, arming, prompt


def opened(root: str, **environ: str) -> Sessions:
    return Sessions(root, World("/nobody", environ), Routing())


def begun(root: str, workspace: Path, session_id: str = SESSION) -> Sessions:
    sessions = opened(root)
    begin(sessions, workspace, session_id)
    return sessions


def begin(sessions: Sessions, workspace: Path, session_id: str = SESSION) -> Decided:
    return sessions.start(session_id, e.SessionStart("claude_code", str(workspace)))


def arm_event() -> e.Arm:
    fact = arming()
    return e.Arm(fact.plan, fact.path, fact.digest, "host")


def armed(root: str, workspace: Path, session_id: str = SESSION) -> Sessions:
    sessions = begun(root, workspace, session_id)
    sessions.act(session_id, arm_event())
    sessions.record(session_id, prompt("t1"))
    return sessions


def folder(root: str, session_id: str = SESSION) -> Path:
    return Path(session_dir(root, session_id))


def decision(decided: Decided) -> str:
    assert decided.verdict is not None
    return decided.verdict.decision


def codes(decided: Decided) -> list[str]:
    return [flag.code for flag in decided.flags]


def receipts(root: str) -> list[str]:
    found = read_receipts(ledger_path(root))
    assert len({receipt["event_id"] for receipt in found.receipts}) == len(found.receipts)
    return [receipt["event"] for receipt in found.receipts]
