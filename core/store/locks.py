"""An advisory lock between processes, on a file that is never deleted but by purge."""

import errno
import fcntl
import os
import time
from types import TracebackType

from core.errors import Unreadable
from core.store.failures import Gone, StoreError
from core.store.files import open_or_make

WAIT_S_MAX = 5.0
_PAUSE_S = 0.0005
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


class Lock:
    """`with lock:` holds it against every other process and every other Lock of this one.

    Entering raises Gone when the folder is missing, StoreError after WAIT_S_MAX seconds, and
    Unreadable where the file system knows no locks.
    """

    __slots__ = ("_descriptor", "path", "size")

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = 0  # Bytes in the lock file when it was last taken.
        self._descriptor = -1

    def __enter__(self) -> "Lock":
        while True:
            if self._descriptor < 0:
                self._descriptor = self._open()
            _take(self._descriptor, self.path)
            status = os.fstat(self._descriptor)
            if status.st_nlink:
                self.size = status.st_size
                return self
            self.close()  # Purged while we waited: another file has the name now.

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

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


def _take(descriptor: int, path: str) -> None:
    give_up_at = None
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as busy:
            now = time.monotonic()
            give_up_at = give_up_at or now + WAIT_S_MAX
            if now > give_up_at:  # Its holder was stopped: a turn must not hang on that.
                raise StoreError("lock", path, busy) from None
        except OSError as error:
            if error.errno in _NO_LOCKS:
                raise Unreadable(
                    f"file locks do not work at {path}",
                    hint="Set TURNKEEPER_STATE_DIR to a folder on a local disk.",
                ) from None
            raise StoreError("lock", path, error) from None
        time.sleep(_PAUSE_S)
