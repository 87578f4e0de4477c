"""The installed wheel works wherever it is started, whatever else is called `core` there."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 30
INITIALIZE: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    _run(build, ROOT, HOME=str(folder))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of an environment that holds the wheel and, by a .pth file, our dependencies."""
    root = tmp_path_factory.mktemp("environment")
    venv.create(root, with_pip=False, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", str(root / "bin/python"), "--no-cache-dir"]
    _run([*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)], root)
    (_packages_of(root) / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return root


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder whose modules carry the names of our packages and raise when imported."""
    for name in ("core", "handlers", "server"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise RuntimeError('foreign {name}')\n")
    return tmp_path


def test_the_wheel_installs_nothing_beside_its_own_folder(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        top = {name.split("/", 1)[0].split("-")[0] for name in archive.namelist()}

    assert top == {"turnkeeper"}


def test_help_is_shown_beside_a_hostile_core(installed: Path, hostile: Path) -> None:
    for start in ([_script(installed)], [str(installed / "bin/python"), "-m", "turnkeeper"]):
        shown = _run([*start, "--help"], hostile, PYTHONPATH=str(hostile))

        assert "serve" in shown


def test_a_session_is_served_beside_a_hostile_core(installed: Path, hostile: Path) -> None:
    calls = (("initialize", INITIALIZE, 1), ("shutdown", None, 2), ("exit", None, None))
    frames = b"".join(_frame(*call) for call in calls)
    environment = {"PYTHONPATH": str(hostile), "TURNKEEPER_STATE_DIR": str(hostile / "state")}

    answers = _answers(_run([_script(installed), "serve"], hostile, frames, **environment))

    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[0]["result"]["serverInfo"]["name"] == "turnkeeper"


def test_a_child_is_started_from_the_same_installation(installed: Path, hostile: Path) -> None:
    app = _packages_of(installed) / "turnkeeper/_app"
    ask = (
        f"import sys; sys.path.insert(0, {str(app)!r}); import server.child;"
        "sys.stdout.write('\\n'.join(server.child.turnkeeper_argv('--help')))"
    )
    argv = _run([str(installed / "bin/python"), "-c", ask], hostile).splitlines()

    assert str(app.parent / "__main__.py") in argv
    assert "serve" in _run(argv, hostile, PYTHONPATH=str(hostile))


def _script(root: Path) -> str:
    return str(root / "bin/turnkeeper")


def _packages_of(root: Path) -> Path:
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(root), "platbase": str(root)}))


def _run(argv: list[str], folder: Path, sent: bytes = b"", **environment: str) -> str:
    """What the command printed; it must end with 0. HOME is the folder, if not given."""
    inherited = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    ended = subprocess.run(
        argv,
        cwd=folder,
        input=sent,
        env=inherited | environment,
        capture_output=True,
        timeout=LIMIT_S,
    )

    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout.decode()


def _frame(method: str, params: Any, request_id: int | None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "params": params, "id": request_id}
    body = json.dumps({key: value for key, value in message.items() if value is not None}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def _answers(printed: str) -> list[dict[str, Any]]:
    """The answers among the frames, in order; requests of the server to us have a method."""
    bodies = (part.rpartition("}")[0] + "}" for part in printed.split("\r\n\r\n")[1:])
    return [message for message in map(json.loads, bodies) if "method" not in message]
