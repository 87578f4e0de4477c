"""The real programs that the tests here run: their versions, and where they are put.

python -m tests.hosts.programs           puts what is missing into FOLDER
python -m tests.hosts.programs ledger    also what only the ledger needs (tests/hosts/smoke.py)
"""

import os
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
GIVEN = os.environ.get("TURNKEEPER_HOSTS")  # A folder that has the programs: nothing is fetched.
FOLDER = Path(GIVEN or ROOT / ".venv" / "hosts")

CLAUDE_CODE = "2.1.332"
CODEX = "0.171.0"
AI_SDK = ("ai@6.0.326", "@ai-sdk/anthropic@3.0.140", "zod@4.6.7")
ACP_CLAUDE, ACP_CODEX = "0.49.0", "0.16.0"  # Newer ones of the first need node 22.

CLAUDE_PROGRAM = FOLDER / "claude" / "package" / "claude"
CODEX_PROGRAM = FOLDER / "codex" / "node_modules" / ".bin" / "codex"
AI_SDK_MODULES = FOLDER / "ai" / "node_modules"
ACP_CLAUDE_PROGRAM = FOLDER / "acp_claude" / "node_modules" / ".bin" / "claude-agent-acp"
ACP_CODEX_PROGRAM = FOLDER / "acp_codex" / "node_modules" / ".bin" / "codex-acp"


def main() -> int:
    """Install what is missing; an installation that was broken off is made again."""
    if GIVEN:
        return 0
    if shutil.which("npm") is None:
        sys.stderr.write("npm is needed to fetch the programs\n")
        return 1
    wanted = [
        ("claude", CLAUDE_CODE, put_claude),
        ("codex", CODEX, put_codex),
        ("ai", " ".join(AI_SDK), put_ai_sdk),
    ]
    if "ledger" in sys.argv[1:]:
        wanted += [
            ("acp_claude", ACP_CLAUDE, put_acp_claude),
            ("acp_codex", ACP_CODEX, put_acp_codex),
        ]
    for name, version, put in wanted:
        folder, stamp = FOLDER / name, FOLDER / f"{name}.installed"
        if stamp.is_file() and stamp.read_text(encoding="utf-8") == version:
            continue
        sys.stdout.write(f"Fetching {name} {version}\n")
        sys.stdout.flush()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        put(folder)
        stamp.write_text(version, encoding="utf-8")
    shutil.rmtree(FOLDER / "npm-cache", ignore_errors=True)
    return 0


def put_claude(folder: Path) -> None:
    """Unpack the native program; the plain package only holds a script that fetches it."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}
    system, processor = platform.system().lower(), platform.machine().lower()
    here = f"{system}-{machine.get(processor, processor)}"
    npm(folder, "pack", f"@anthropic-ai/claude-code-{here}@{CLAUDE_CODE}")
    (packed,) = folder.glob("*.tgz")
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    packed.unlink()


def put_codex(folder: Path) -> None:
    npm(folder, "install", "--ignore-scripts", f"@openai/codex@{CODEX}")


def put_ai_sdk(folder: Path) -> None:
    npm(folder, "install", "--ignore-scripts", *AI_SDK)


def put_acp_claude(folder: Path) -> None:
    package = f"@agentclientprotocol/claude-agent-acp@{ACP_CLAUDE}"
    npm(folder, "install", "--ignore-scripts", package)


def put_acp_codex(folder: Path) -> None:
    npm(folder, "install", "--ignore-scripts", f"@zed-industries/codex-acp@{ACP_CODEX}")


def npm(folder: Path, command: str, *arguments: str) -> None:
    """Run npm in the folder; nothing but FOLDER is written."""
    quiet = ("--silent", "--no-audit", "--no-fund", "--cache", str(FOLDER / "npm-cache"))
    subprocess.run(
        ["npm", command, *quiet, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL
    )


if __name__ == "__main__":
    sys.exit(main())
