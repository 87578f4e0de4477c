"""What was read from the disk, remembered while the path is the same by its times and inode."""

import os
import time
from collections.abc import Callable
from typing import Generic, TypeVar

REMEMBERED_MAX = 50_000  # Paths; then all is read anew.

# A file changed twice within one tick of the disk's clock keeps its times: what was read this soon
# after a change is not remembered. Two seconds is the coarsest clock of a file system in use.
_SETTLED_NS = 2_000_000_000

Stamp = tuple[int, int, int, int, int]
T = TypeVar("T")


class Remembered(Generic[T]):
    """Values by path, each good for as long as the stamp of its path stands."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Stamp, T]] = {}

    def get(self, path: str, found: os.stat_result, read: Callable[[str], T]) -> T:
        """Give what `read` makes of a path; `found` is its status from before the reading."""
        if not is_settled(found):
            return read(path)
        known = self._kept.get(path)
        if known is not None and known[0] == stamp(found):
            return known[1]
        value = read(path)
        if len(self._kept) >= REMEMBERED_MAX:
            self._kept.clear()
        self._kept[path] = (stamp(found), value)
        return value


def status(path: str) -> os.stat_result | None:
    """Look at a path, through links; None when nothing can be seen there."""
    try:
        return os.stat(path)
    except (OSError, ValueError):  # ValueError: the host named a path that no disk can have.
        return None


def stamp(found: os.stat_result) -> Stamp:
    """Give what changes whenever a file or the entries of a folder change."""
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_dev, found.st_ino, found.st_size)


def is_settled(found: os.stat_result) -> bool:
    """Say whether the last change is so old that a further one must show in the stamp."""
    return time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > _SETTLED_NS
