"""The death of another process is noticed, also where the kernel cannot tell."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from server.watch import PID_MAX, watch

LIMIT_SECONDS = 10


@pytest.fixture
def other() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


async def test_without_process_descriptors_the_process_is_polled(
    monkeypatch: pytest.MonkeyPatch, other: "subprocess.Popen[bytes]"
) -> None:
    if sys.platform == "linux":
        monkeypatch.setattr(os, "pidfd_open", _forbidden)
    loop = asyncio.get_running_loop()
    gone = loop.create_future()
    watch(loop, other.pid, lambda: gone.set_result(None))
    assert not gone.done()
    other.kill()
    other.wait()  # The poll sees a zombie as alive.
    async with asyncio.timeout(LIMIT_SECONDS):
        await gone


async def test_a_pid_that_names_no_single_process_is_not_watched() -> None:
    watch(asyncio.get_running_loop(), 0, pytest.fail)
    watch(asyncio.get_running_loop(), -1, pytest.fail)
    watch(asyncio.get_running_loop(), PID_MAX + 1, pytest.fail)


def _forbidden(pid: int) -> int:
    raise PermissionError(pid)
