"""What can go wrong between the store and the disk, each told apart by its class."""

import os


class StoreError(Exception):
    """The disk refused; the last good files stay as they were, and nothing new is promised."""

    def __init__(self, doing: str, path: str, error: OSError) -> None:
        self.doing = doing  # What was tried, as in "write".
        self.path = path
        self.errno = error.errno or 0
        reason = os.strerror(self.errno) if self.errno else str(error) or type(error).__name__
        super().__init__(f"cannot {doing} {path}: {reason}")


class Irregular(StoreError):
    """A link, a folder, a pipe or a device has the name of a file of ours; it is left alone."""

    def __init__(self, path: str) -> None:
        super().__init__("use", path, OSError("it is no regular file"))


class Moved(Exception):
    """Another process wrote this session since it was read; nothing was appended.

    Fold what `catch_up` gives, decide again, and append again.
    """


class Gone(Exception):
    """The session's files were removed while it was open; what memory holds is on no disk.

    Open the session anew to go on.
    """
