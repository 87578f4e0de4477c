"""The launcher, first to run in every process of ours; in the wheel it is turnkeeper/__main__.py.

It puts our own packages first on the import path, so that no `core` in PYTHONPATH or in the working
folder can stand in for ours.
"""

import os
import sys


def main() -> int:
    """Run the command line with the process's arguments; its exit code is returned."""
    home = _packages_folder(os.path.dirname(os.path.abspath(__file__)))
    if home is not None:
        sys.path.insert(0, home)
    try:
        from server.main import main as run
    except KeyboardInterrupt:
        return 130  # Ctrl-C while everything is loaded.
    return run(sys.argv[1:])


def _packages_folder(here: str) -> str | None:
    """The folder that holds server, handlers and core; None where the environment names it."""
    app = os.path.join(here, "_app")
    if os.path.isdir(app):
        return app
    # In the source tree we stand in server/. An editable install holds a bare copy of this file.
    return os.path.dirname(here) if os.path.exists(os.path.join(here, "main.py")) else None


if __name__ == "__main__":
    sys.exit(main())
