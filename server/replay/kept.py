"""Whether a folder may keep the state of a replay without mixing it with anything else."""

import os
import re

from core.errors import InvalidParams, Unreadable
from core.store.failures import StoreError
from core.store.root import SESSIONS, check_root, session_dir, session_name


class StateInTheWay(InvalidParams):
    """The folder is not ours, or it holds this very session already."""


def check_state(folder: str, session_id: str) -> None:
    """Raise StateInTheWay unless the folder is missing, empty, or a state folder without it."""
    try:
        check_root(folder)
        names = os.listdir(folder)
    except FileNotFoundError:
        return
    except (Unreadable, StoreError) as refused:
        raise StateInTheWay(str(refused), hint=_ANOTHER) from None
    except OSError as error:
        raise StateInTheWay(
            f"state folder {folder} cannot be read: {error.strerror}", hint=_ANOTHER
        ) from None
    if names and not _is_ours(folder):
        raise StateInTheWay(
            f"state folder {folder} holds something else than state of turnkeeper", hint=_ANOTHER
        )
    if os.path.lexists(session_dir(folder, session_id)):
        raise StateInTheWay(
            f"state folder {folder} holds session {session_id} already", hint=_ANOTHER
        )


_ANOTHER = "name a new or an empty folder"


def _is_ours(folder: str) -> bool:
    sessions = os.path.join(folder, SESSIONS)
    if os.path.islink(sessions) or not os.path.isdir(sessions):
        return False
    # A folder of that name may belong to anybody; ours holds nothing but the names we give.
    name = re.compile(f"[0-9a-f]{{{len(session_name(''))}}}")
    return all(map(name.fullmatch, os.listdir(sessions)))
