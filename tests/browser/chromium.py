"""Drives a headless Chromium over its debugging pipe: open a page, run script, press keys."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

Json = Any

LIMIT_S = 60
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def found() -> str | None:
    """Give the path of a Chromium, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Chromium:
    """A browser of its own, with one page; use it as a context manager."""

    def __init__(self, profile: Path) -> None:
        program = found()
        assert program is not None, "no chromium: install the package of that name"
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # The browser reads commands from descriptor 3 and answers on 4.
        shell = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", program, *_FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._last_id = 0
        self._page: str | None = None
        self.complaints: list[str] = []  # Errors, warnings and what the policy refused.
        self.requested: list[str] = []  # Addresses that the page asked for.

    def __enter__(self) -> "Chromium":
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._page = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.size(1280, 900)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._out)  # The browser ends when its pipe does.
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)

    def call(self, method: str, **params: Json) -> Json:
        """Send a command and give its result."""
        self._last_id += 1
        command = {"id": self._last_id, "method": method, "params": params}
        if self._page is not None:
            command["sessionId"] = self._page
        _write(self._out, json.dumps(command).encode() + b"\0")
        wanted = self._last_id
        answer = self._until(lambda message: message.get("id") == wanted, method)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def open(self, address: str) -> None:
        """Load a page and wait until it has loaded."""
        self.call("Page.navigate", url="about:blank")
        self.complaints.clear()
        self.requested.clear()
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, script: str) -> Json:
        """Give the value of an expression in the page; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + LIMIT_S
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < deadline, f"waited in vain for {condition}"
            self.frame()

    def frame(self) -> None:
        """Let the page draw what it wants to draw."""
        self.run("new Promise((done) => setTimeout(() => requestAnimationFrame(done), 1))")

    def press(self, *keys: str) -> None:
        """Press keys one after the other, as a person would."""
        for key in keys:
            text = {"Enter": "\r", " ": " "}.get(key)
            code = _CODES.get(key, 0)
            told = {"key": key, "windowsVirtualKeyCode": code, "code": key}
            down = told | ({"text": text} if text else {})
            self.call("Input.dispatchKeyEvent", type="keyDown", **down)
            self.call("Input.dispatchKeyEvent", type="keyUp", **told)
        self.frame()

    def size(self, width: int, height: int, scale: float = 1) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )

    def prefer(self, **features: str) -> None:
        """Set media features, such as prefers_color_scheme="dark"."""
        told = [
            {"name": name.replace("_", "-"), "value": value} for name, value in features.items()
        ]
        self.call("Emulation.setEmulatedMedia", features=told)

    def picture(self, clip: Json = None) -> bytes:
        """Give a PNG of the view, or of a part {x, y, width, height} of the page."""
        params: Json = {"format": "png"}
        if clip is not None:
            params |= {"clip": {**clip, "scale": 1}, "captureBeyondViewport": True}
        return base64.b64decode(self.call("Page.captureScreenshot", **params)["data"])

    def _until(self, wanted: Callable[[Json], bool], what: str) -> Json:
        deadline = time.monotonic() + LIMIT_S
        while True:
            while b"\0" in self._buffer:
                raw, _, self._buffer = self._buffer.partition(b"\0")
                message = json.loads(raw)
                self._note(message)
                if wanted(message):
                    return message
            left = deadline - time.monotonic()
            ready = select.select([self._in], [], [], max(left, 0))[0]
            assert ready, f"no answer to {what} in {LIMIT_S} s"
            data = os.read(self._in, 1 << 20)
            assert data, f"the browser ended while it was asked for {what}"
            self._buffer += data

    def _note(self, message: Json) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.consoleAPICalled" if params["type"] in {"error", "warning", "assert"}:
                self.complaints.append(json.dumps(params["args"]))
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(params["exceptionDetails"]))
            case "Log.entryAdded" if params["entry"]["level"] in {"error", "warning"}:
                self.complaints.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requested.append(params["request"]["url"])


_CODES = {
    "Enter": 13,
    " ": 32,
    "Tab": 9,
    "End": 35,
    "Home": 36,
    "PageUp": 33,
    "PageDown": 34,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
}


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
