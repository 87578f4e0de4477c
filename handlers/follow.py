"""Following recordings: the request that begins and ends it."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from core.errors import InvalidParams
from core.later import Later
from core.runtimes.registry import known
from handlers import wire as w
from handlers import wire_results as r
from handlers.hub import Hub
from handlers.method import Call


def follow(hub: Hub, params: w.FollowParams, call: Call) -> r.SessionList | Later[r.SessionList]:
    """Follow the recordings of a workspace, or one file, or no longer; list what is followed."""
    from handlers.follower import Follower, Watch, found_by

    if params.runtime is not None and params.runtime not in known():
        raise InvalidParams(
            "params.runtime: a host of its own has no recordings that are known here",
            hint=f"Followed are the recordings of {', '.join(known())}.",
            field="runtime",
        )
    if hub.follower is None:
        hub.follower = Follower(hub)
    follower = hub.follower
    watch = Watch(_normal(params.workspace), _normal(params.path), params.runtime)
    if params.off:
        follower.leave(watch)
        return r.SessionList(sessions=())
    home, followed = hub.sessions.world.home, follower.paths()
    work: Callable[[], Any] = partial(
        found_by, watch, home, hub.environ, followed, {}, is_asked=True
    )
    return Later(work, partial(_begun, hub, watch))


def _begun(hub: Hub, watch: Any, found: Any) -> r.SessionList:
    assert hub.follower is not None
    hub.follower.begin(watch, found)
    return r.SessionList(sessions=tuple(hub.follower.states(watch)))


def _normal(path: str | None) -> str | None:
    return None if path is None else os.path.normpath(path)
