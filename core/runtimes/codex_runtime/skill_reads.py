"""A shell command that reads a whole SKILL.md: how a skill is loaded without a tool of its own."""

import posixpath
import re
import shlex
from typing import NamedTuple

from core.events import Json
from core.recordings.content import text_of

SKILL_FILE = "SKILL.md"
_COMMAND_CHARS_MAX = 8_192  # A longer one writes a file rather than reads one.
_READERS = frozenset({"cat", "bat", "batcat", "nl", "less", "more", "type", "gc", "Get-Content"})
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "fish", "pwsh", "powershell"})
_ENDS = frozenset({";", "&&", "||", "&", "\n"})
_HEAD_LINES = 10  # What head gives when it is not told how many lines.
_TRUNCATED = re.compile(r"tokens truncated|\[\.\.\. omitted|\[truncated\]")
_FRONT_MATTER = re.compile(r"(?:^|\n)\ufeff?[ \t]*(?:\d+[ \t]+)?---[ \t]*\r?\n")
_RANGE = re.compile(r"1,(\d+|\$)p")


class SkillRead(NamedTuple):
    """A read of a SKILL.md from its first line on."""

    path: str
    lines: int | None = None  # No more than these were asked for.


def command_of(arguments: Json) -> str:
    """Give the shell command in the arguments of a call; "" where there is none."""
    if not isinstance(arguments, dict):
        return ""
    given = arguments.get("cmd", arguments.get("command"))
    if isinstance(given, list):
        words = [word for word in given if isinstance(word, str)]
        return unwrapped(words) if len(words) == len(given) else ""
    return given if isinstance(given, str) else ""


def unwrapped(words: list[str]) -> str:
    """Give the command that a shell is called with, else the words as one command."""
    if len(words) == 3 and posixpath.basename(words[0]) in _SHELLS and words[1].startswith("-"):
        return words[2]
    return shlex.join(words)


def split(command: str) -> list[str]:
    """Split a command into its words; [] where its quotes do not close."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def skill_reads(arguments: Json, cwd: str) -> list[SkillRead]:
    """List the SKILL.md files that a shell call reads from their first line on."""
    command = command_of(arguments)
    if SKILL_FILE not in command or len(command) > _COMMAND_CHARS_MAX:
        return []
    folder = text_of(arguments, "workdir") or cwd
    found: list[SkillRead] = []
    for words in _simple_commands(command):
        for read in _reads(words):
            path = read.path.replace("\\", "/")
            if folder and not path.startswith(("/", "~")) and not re.match(r"[A-Za-z]:/", path):
                path = posixpath.normpath(posixpath.join(folder, path))
            found.append(read._replace(path=path))
    return found


def _simple_commands(command: str) -> list[list[str]]:
    """Split at ; && || and line ends; what is piped on is left out."""
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    try:
        for word in lexer:
            if word in _ENDS:
                commands.append([])
            else:
                commands[-1].append(word)
    except ValueError:
        return []
    return [words for words in commands if words and not {"|", "<", ">", ">>"} & set(words)]


def _reads(words: list[str]) -> list[SkillRead]:
    name = posixpath.basename(words[0])
    paths = [
        word for word in words[1:] if posixpath.basename(word.replace("\\", "/")) == SKILL_FILE
    ]
    if name in _READERS:
        return [SkillRead(path) for path in paths]
    if name == "head":
        return [SkillRead(path, _head_lines(words)) for path in paths]
    if name == "sed" and "-n" in words:
        script = next((found for word in words if (found := _RANGE.fullmatch(word))), None)
        if script is not None:
            last = script.group(1)
            return [SkillRead(path, None if last == "$" else _number(last)) for path in paths]
    return []


def _head_lines(words: list[str]) -> int:
    for word, after in zip(words, [*words[1:], ""], strict=True):
        given = after if word in ("-n", "--lines") else word.removeprefix("-n").removeprefix("-")
        if word.startswith("-") and (lines := _number(given)) is not None:
            return lines
    return _HEAD_LINES


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def is_whole(read: SkillRead, output: str) -> bool:
    """Say whether an output can hold the whole file: it has its start, and ends before the limit.

    A SKILL.md that Codex knows begins with front matter, so that an error message is told from it.
    """
    if _FRONT_MATTER.search(output) is None:
        return False
    return read.lines is None or len(output.splitlines()) < read.lines


def is_truncated(output: str) -> bool:
    """Say whether the program left out a part of an output."""
    return _TRUNCATED.search(output) is not None


def skill_name(path: str) -> str:
    """Name a skill by the folder of its SKILL.md."""
    return posixpath.basename(posixpath.dirname(path)) or path
