"""The account of a turn, open or closed: closed ones are read back from the journal."""

from typing import Any, NamedTuple

from core import account
from core import facts as f
from core.errors import InvalidParams, Unreadable
from core.evolve import evolve
from core.live import Live
from core.state import CLOSED_TURNS_KEPT, UNNAMED, Session, Turn
from core.store.failures import Gone, StoreError
from core.store.journal import Journal
from core.store.root import session_dir
from core.world import World


class Accounted(NamedTuple):
    """The account of a turn; `data` is read by core/account.py, `view`."""

    turn_id: str | None
    revision: int
    outcome: str | None
    final: bool
    data: dict[str, Any]
    late: tuple[tuple[str, str, int], ...] = ()  # (call or result, tool use id, UTF-16 units)


def open_account(world: World, state: Session, turn: Turn) -> Accounted:
    """Give the account of the open turn as it stands."""
    data = account.account(state, turn, world.measure(state, turn))
    return Accounted(turn.turn_id, turn.revision, turn.outcome, turn.final, data)


def closed_account(root: str, world: World, live: Live, turn_id: str) -> Accounted:
    """Give the account of a closed turn as it was last answered, with what came late."""
    closed = live.state.closed.get(turn_id)
    if closed is None:
        raise InvalidParams(
            "no account of this turn is kept",
            hint=f"The last {CLOSED_TURNS_KEPT} turns of a session can be asked for by their id.",
            field="turnId",
        )
    late = tuple((what, call, units) for what, call, units in closed.late)
    lines = _lines(root, live)
    line = next((line for line in lines if line["seq"] == closed.seq), None)
    final = line is not None and bool(line["final"])
    data = _rebuilt(world, live, turn_id, lines) if line is None else line["accounting"]
    name = None if turn_id == UNNAMED else turn_id
    return Accounted(name, closed.revision, closed.outcome, final, data, late)


def kept_account(root: str, world: World, live: Live, turn_id: str) -> dict[str, Any] | None:
    """Give what is kept of a turn that was closed before, None for any other turn."""
    if turn_id not in live.state.closed:
        return None
    return closed_account(root, world, live, turn_id).data


def _rebuilt(world: World, live: Live, turn_id: str, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Make the account of a turn that was closed without an end, out of the journal."""
    state, turn = Session(live.state.session_id), Turn(turn_id)
    for line in lines:
        fact = f.from_line(line)
        if fact is not None:
            evolve(state, fact, line["seq"])
        if state.turn is not None and (state.turn.turn_id or UNNAMED) == turn_id:
            turn = state.turn
    return account.account(live.state, turn, world.measure(live.state, turn))


def _lines(root: str, live: Live) -> list[dict[str, Any]]:
    """Read the journal again; closed accounts are kept nowhere else."""
    journal = Journal(session_dir(root, live.state.session_id))
    try:
        return journal.read_on().lines
    except (StoreError, Gone) as error:
        raise Unreadable(str(error), hint="Mend the folder; then ask again.") from None
    finally:
        journal.close()
