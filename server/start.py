"""Builds the application and serves it over stdio."""

import os
from typing import TYPE_CHECKING

from server.serve import serve

if TYPE_CHECKING:
    from handlers.method import App


def serve_stdio(client_process_id: int | None, log_file: str | None) -> int:
    """Serve one client until it goes away; the exit code is returned."""
    return serve(_application, client_process_id=client_process_id, log_file=log_file)


def _application() -> "App":
    from core.store.root import state_root
    from handlers.app import Application

    return Application(state_root(), os.environ)
