"""Where state lies on disk, and whether a folder may be trusted with it."""

import hashlib
import os
import stat
import sys

from core.errors import Unreadable
from core.store.failures import StoreError
from core.store.files import FOLDER_MODE, make_folder

APP = "turnkeeper"
SESSIONS = "sessions"
CAPTURES = "captures"
_NAME_DIGITS = 16


def state_root() -> str:
    """Give the folder that the environment names, else the user's own."""
    return os.environ.get("TURNKEEPER_STATE_DIR") or (
        os.environ.get("PHASE_STATE_DIR") or default_root()
    )


def default_root() -> str:
    """Give the platform's state folder of this user, as platformdirs computes it."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
        return os.path.join(os.path.normpath(base), APP)
    named = os.environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(named):
        return os.path.join(named, APP)
    if sys.platform == "darwin":
        return os.path.join(_home(), "Library", "Application Support", APP)
    return os.path.join(_home(), ".local", "state", APP)


def ledger_path(root: str) -> str:
    """Give the receipts ledger: where the environment puts it, else below the root."""
    named = os.environ.get("TURNKEEPER_LEDGER") or os.environ.get("TOOL_RECEIPTS_LEDGER")
    return os.path.abspath(named) if named else os.path.join(root, "receipts.jsonl")


def open_root(root: str) -> str:
    """Make the folder when it is missing; give its real path.

    Raises Unreadable as `check_root` does, StoreError when the disk refuses.
    """
    check_root(root)
    make_folder(os.path.abspath(root))
    real = check_root(root)
    _restrict(real)
    return real


def check_root(root: str) -> str:
    """Give the real path of a root that may be read; it need not be there.

    Raises Unreadable for a link, for what is no folder, for another user's folder, and for the
    default root while a test runs.
    """
    path = os.path.abspath(root)
    if "PYTEST_CURRENT_TEST" in os.environ and path == os.path.abspath(default_root()):
        raise _refused(path, "is the user's own, and a test is running")
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return os.path.realpath(path)
    except OSError as error:
        raise StoreError("read", path, error) from None
    if stat.S_ISLNK(status.st_mode):
        raise _refused(path, "is a symbolic link")
    if not stat.S_ISDIR(status.st_mode):
        raise _refused(path, "is no folder")
    if sys.platform != "win32" and status.st_uid != os.geteuid():
        raise _refused(path, "belongs to another user")
    return os.path.realpath(path)


def session_name(session_id: str) -> str:
    """Give the 16 hex digits that stand for a session in paths and event ids."""
    digest = hashlib.sha256(session_id.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:_NAME_DIGITS]


def session_dir(root: str, session_id: str) -> str:
    """Give the folder of a session; it need not be there."""
    return os.path.join(root, SESSIONS, session_name(session_id))


def _home() -> str:
    """Give the user's home; a HOME that is no absolute path counts as unset."""
    home = os.environ.get("HOME")
    if home is None or os.path.isabs(home):
        return os.path.expanduser("~")
    import pwd  # Rarely needed, and missing on Windows.

    return pwd.getpwuid(os.getuid()).pw_dir


def _restrict(path: str) -> None:
    try:
        if stat.S_IMODE(os.stat(path).st_mode) != FOLDER_MODE:
            os.chmod(path, FOLDER_MODE)
    except OSError as error:
        raise StoreError("restrict", path, error) from None


def _refused(path: str, why: str) -> Unreadable:
    return Unreadable(
        f"state folder {path} {why}",
        hint="Set TURNKEEPER_STATE_DIR to a folder of your own.",
    )
