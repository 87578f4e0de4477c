"""The hosts that we know: one module or package of this folder each, named by its id."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import core.runtimes
from core.recordings.contract import Runtime

_ITSELF = "registry"


def known() -> tuple[str, ...]:
    """Name every host, without loading any."""
    return _names(tuple(core.runtimes.__path__))


@cache
def runtime(runtime_id: str) -> Runtime | None:
    """Load the host of this id; None for one of its own (`x-<name>`), which maps nothing."""
    if runtime_id not in known():
        return None
    found: Runtime = import_module(f"core.runtimes.{runtime_id}").RUNTIME
    return found


@cache
def _names(folders: tuple[str, ...]) -> tuple[str, ...]:
    names = (found.name for found in iter_modules(folders))
    return tuple(sorted(name for name in names if name != _ITSELF))
