"""An advisory lock between processes, on a file that is never deleted but by purge."""

import errno
import fcntl
import os
import time
from types import TracebackType

from core.errors import Unreadable
from core.store.failures import Gone, StoreError
from core.store.files import open_or_make, status

WAIT_S_MAX = 2.0
AGAIN_S = 10.0  # After it was waited for in vain; until then a lock is tried and not waited for.
LAST_WAIT_S = 0.2
_PAUSE_S = 0.0005
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


class Patience:
    """How long the locks of one process may be waited for."""

    __slots__ = ("ends_at",)

    def __init__(self) -> None:
        self.ends_at = float("inf")  # As of time.monotonic(); a lock is not waited for after it.

    def hurry(self) -> None:
        """The process is about to end: wait LAST_WAIT_S more for all locks together."""
        self.ends_at = time.monotonic() + LAST_WAIT_S


class Lock:
    """`with lock:` holds it against every other process and every other Lock of this one.

    Entering raises Gone when the folder is missing, StoreError when it was waited for in vain
    (its holder was stopped, and no turn may hang on that), and Unreadable where the file system
    knows no locks.
    """

    __slots__ = ("_descriptor", "_patience", "_tried_only_until", "path", "size")

    def __init__(self, path: str, patience: Patience) -> None:
        self.path = path
        self.size = 0  # Bytes in the lock file when it was last taken.
        self._patience = patience
        self._tried_only_until = 0.0
        self._descriptor = -1

    def __enter__(self) -> "Lock":
        while True:
            if self._descriptor < 0:
                self._descriptor = self._open()
            self._take()
            try:
                there = status(self._descriptor, self.path)
            except StoreError:
                self.close()
                raise
            if there.st_nlink:
                self.size = there.st_size
                return self
            self.close()  # Purged while we waited: another file has the name now.

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        except OSError:
            self.close()  # That gives it back too.

    def add_mark(self) -> None:
        """Make the lock file one byte longer, for good; the lock is held."""
        try:
            self.size += os.write(self._descriptor, b"+")
        except OSError as error:
            raise StoreError("write", self.path, error) from None

    def clear_marks(self) -> None:
        """Take all marks off; the lock is held."""
        try:
            os.ftruncate(self._descriptor, 0)
        except OSError as error:
            raise StoreError("write", self.path, error) from None
        self.size = 0

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Give the descriptor back; the next use opens it again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> int:
        try:
            return open_or_make(self.path, os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            raise Gone(self.path) from None

    def _take(self) -> None:
        give_up_at = 0.0
        while True:
            try:
                return fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                now = time.monotonic()
                give_up_at = give_up_at or self._give_up_at(now)
                if now >= give_up_at:
                    if now >= self._tried_only_until:
                        self._tried_only_until = now + AGAIN_S
                    raise StoreError(
                        "lock", self.path, OSError("another process holds it")
                    ) from None
            except OSError as error:
                if error.errno in _NO_LOCKS:
                    raise Unreadable(
                        f"file locks do not work at {self.path}",
                        hint="Set TURNKEEPER_STATE_DIR to a folder on a local disk.",
                    ) from None
                raise StoreError("lock", self.path, error) from None
            time.sleep(_PAUSE_S)

    def _give_up_at(self, now: float) -> float:
        if now < self._tried_only_until:
            return now
        return min(now + WAIT_S_MAX, max(now, self._patience.ends_at))
