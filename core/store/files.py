"""How every file below the state root is made, read, written and synced."""

import errno
import fcntl
import os
import stat
import sys

from core.store.failures import Irregular, StoreError

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # A pipe of that name must not hang us.
_NOT_REGULAR = (errno.ELOOP, errno.EISDIR, errno.ENXIO)  # What opening such a thing may give.


def make_folder(path: str) -> None:
    """Make a folder and those above it that are missing, each 0700 and on disk in its parent."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent and parent != path:
        make_folder(parent)
    try:
        os.mkdir(path, FOLDER_MODE)
        os.chmod(path, FOLDER_MODE)  # The umask may have taken bits away.
    except FileExistsError:
        return  # Another process was faster, or it is no folder: then the next use says so.
    except OSError as error:
        raise StoreError("make", path, error) from None
    sync_folder(parent)


def open_file(path: str, flags: int) -> int:
    """Open a file that is there, without following a link; give its descriptor.

    Raises FileNotFoundError when there is none, Irregular when it is no regular file, StoreError
    when the disk refuses.
    """
    try:
        descriptor = os.open(path, flags | _FLAGS)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in _NOT_REGULAR:
            raise Irregular(path) from None
        raise StoreError("open", path, error) from None
    try:
        if stat.S_ISREG(status(descriptor, path).st_mode):
            return descriptor
    except StoreError:
        os.close(descriptor)
        raise
    os.close(descriptor)
    raise Irregular(path)


def status(descriptor: int, path: str) -> os.stat_result:
    """Give what the disk says of an open file."""
    try:
        return os.fstat(descriptor)
    except OSError as error:
        raise StoreError("read", path, error) from None


def open_or_make(path: str, flags: int) -> int:
    """Open a file, made 0600 when missing; its folder must be there.

    Raises FileNotFoundError when the folder is missing, StoreError when the disk refuses.
    """
    while True:
        try:
            return open_file(path, flags)
        except FileNotFoundError:
            pass
        try:
            return make_file(path, flags)
        except FileExistsError:
            continue  # Another process made it in between.


def make_file(path: str, flags: int) -> int:
    """Make a file that must be new, 0600 whatever the umask; give its descriptor."""
    try:
        descriptor = os.open(path, flags | _FLAGS | os.O_CREAT | os.O_EXCL, FILE_MODE)
    except (FileExistsError, FileNotFoundError):
        raise
    except OSError as error:
        raise StoreError("make", path, error) from None
    try:
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != FILE_MODE:
            os.fchmod(descriptor, FILE_MODE)
    except OSError as error:
        os.close(descriptor)
        raise StoreError("make", path, error) from None
    return descriptor


def read_range(descriptor: int, start: int, end: int, path: str) -> bytes:
    """Read the bytes from start up to end, fewer when the file ends before."""
    pieces = []
    try:
        while start < end:
            piece = os.pread(descriptor, end - start, start)
            if not piece:
                break
            pieces.append(piece)
            start += len(piece)
    except OSError as error:
        raise StoreError("read", path, error) from None
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def write_whole(descriptor: int, data: bytes, size: int, path: str) -> None:
    """Append all of data to a file of that size, or nothing; the caller holds the file's lock."""
    try:
        done = os.write(descriptor, data)
        while done < len(data):
            done += os.write(descriptor, data[done:])
    except OSError as error:
        cut_back(descriptor, size)
        raise StoreError("write", path, error) from None


def cut_back(descriptor: int, size: int) -> None:
    """Take off what a failed write left; where even that fails, the next writer closes it."""
    try:
        os.ftruncate(descriptor, size)
    except OSError:
        return


def sync_data(descriptor: int, path: str) -> None:
    """Have the file's data on the disk before this returns."""
    try:
        if sys.platform == "darwin":
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)  # fsync leaves it in the drive's cache.
        else:
            os.fdatasync(descriptor)
    except OSError as error:
        raise StoreError("sync", path, error) from None


def sync_folder(path: str) -> None:
    """Have the names in a folder on the disk, where the file system can do that."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise StoreError("open", path, error) from None
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise StoreError("sync", path, error) from None
    finally:
        os.close(descriptor)


def remove_file(path: str) -> None:
    """Remove a file; that it is not there is well."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError("remove", path, error) from None
