"""What a text in a user's message of a request is: typed, or put there by Claude Code.

Claude Code writes an `attachment` row for what it adds, with the text as rendered; a text of a
request is known by that row, else by how it begins.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from core.events import Json
from core.recordings.contract import Row
from core.units import utf16_units

BLOB = "transcript/api-request-blob"
SKILL_BODY = "Base directory for this skill:"

_REMINDER = "<system-reminder>"
_SEAM = "\n\n" + _REMINDER + "\n"  # Where a reminder was put behind a text, in one block.

_ENVIRONMENT = frozenset(
    {
        *("environment", "model", "date", "date_change", "session_context", "git_status"),
        *("total_tokens_reminder", "token_usage", "output_token_usage", "budget_usd"),
    }
)
_FILES = frozenset(
    {
        *("file", "already_read_file", "compact_file_reference", "edited_text_file", "directory"),
        *("edited_image_file", "pdf_reference", "selected_lines_in_ide", "opened_file_in_ide"),
        *("mcp_resource", "plan_file_reference"),
    }
)
_TYPED = ("<command-name>", "<command-message>", "<bash-input>")
_LOCAL = ("<local-command-", "<bash-stdout>", "<bash-stderr>")
# Beside the result of ToolSearch; no row tells of it.
_LOADED = re.compile(r"Tool loaded\.(?:\n\[id:[^\]\n]+\])*")
_SUMMARY = "This session is being continued from a previous conversation"

# How the client's own texts begin where no attachment row tells of them: role and name.
_BEGINNINGS: tuple[tuple[str, str, str | None], ...] = (
    ("The following skills are available", "skill_listing", None),
    ("The following skills were invoked", "skill_body", None),
    ("The text below is the output of a hook", "hook_context", None),
    ("Codebase and user instructions are shown below", "instructions", "frame"),
    (
        "As you answer the user's questions, you can use the following context",
        "instructions",
        "frame",
    ),
    ("Contents of ", "instructions", "frame"),
    ("# MCP Server Instructions", "mcp_instructions", None),
    ("# Environment", "environment", "environment"),
    ("You are powered by the model", "environment", "model"),
    ("Today's date is", "environment", "date"),
    ("The date has changed", "environment", "date_change"),
    ("<total_tokens>", "environment", "total_tokens_reminder"),
    ("gitStatus:", "environment", "session_context"),
    ("Called the ", "file", None),
    ("Result of calling the ", "file", None),
    ("The following deferred tools", "reminder", "deferred_tools_delta"),
    ("Available agent types", "reminder", "agent_listing_delta"),
    ("Attribution for git commits", "reminder", "remote_session_change"),
)
_HOOK = re.compile(r"([A-Z]\w+(?::\S+)?) hook [a-z]")
_FEEDBACK = re.compile(r"^(\w+) hook feedback:", re.MULTILINE)
_COMMAND = re.compile(r"<command-name>/?([^<]+)</command-name>")


class Kind(NamedTuple):
    """What a part of a request is; the first three fields of a Part."""

    role: str
    name: str | None
    source: str


Measured: TypeAlias = tuple[tuple[Kind, int], ...]  # What a text or message is made of, in units.


class _Rendered(NamedTuple):
    """A text as rendered: the files or skills in it, and what the rest of it is."""

    inside: Measured
    rest: Kind


class RequestTexts:
    """Remembers, as digests, the texts that the rows of one transcript tell of."""

    def __init__(self) -> None:
        self._rendered: dict[bytes, _Rendered] = {}
        self._typed: set[bytes] = set()  # Texts of the user's own that look like a reminder.
        self._client: set[bytes] = set()  # Texts in user rows that no user wrote.
        self._skill_calls: dict[
            str, str
        ] = {}  # Id of a call of the Skill tool to the skill's name.
        self._skill_names: dict[str, str] = {}  # Folder to the name that the skill was called by.
        self._command: str | None = None  # The last command that was typed.

    def note_skill_call(self, tool_use_id: str, given: Json) -> None:
        """Remember which skill a call of the Skill tool names."""
        name = given.get("skill") if isinstance(given, dict) else None
        if isinstance(name, str):
            self._skill_calls[tool_use_id] = name.lstrip("/")

    def note_user_row(self, row: Row, texts: list[str]) -> None:
        """Remember what the texts of a user row tell of later ones in requests."""
        for text in texts:
            is_client = row.get("isMeta") is True
            if text.startswith(_REMINDER) and not is_client:
                self._typed.add(_digest(text.strip()))
            elif text.startswith(_TYPED):
                found = _COMMAND.search(text)
                self._command = found[1].strip() if found else None
            elif text.startswith(SKILL_BODY):
                called = row.get("sourceToolUseID")
                known = self._skill_calls.get(called) if isinstance(called, str) else self._command
                if known:
                    self._skill_names[_folder(text)] = known
            elif is_client and not text.startswith("<"):
                self._client.add(_digest(text.strip()))

    def note_attachment(self, row: Row) -> None:
        """Remember a text that Claude Code put into the context, by its attachment row."""
        attachment, rendered = row.get("attachment"), row.get("rendered")
        if not isinstance(attachment, dict) or not isinstance(rendered, list):
            return
        kind = _kind(attachment)
        for item in rendered:
            for text in texts_of(item.get("content") if isinstance(item, dict) else None):
                inside = tuple(self._inside(attachment, text))
                self._rendered[_digest(text.strip())] = _Rendered(inside, kind)

    def _inside(self, attachment: Row, text: str) -> Iterator[tuple[Kind, int]]:
        """Give the files or skills in a rendered text, word for word, one after another."""
        end = 0
        for key, item in _listed(attachment):
            content, path = item.get("content"), item.get("path")
            if not isinstance(content, str) or (at := text.find(content, end)) < 0:
                continue
            end = at + len(content)
            if key == "skills":
                name = item.get("name")
                if isinstance(name, str) and content.startswith(SKILL_BODY):
                    self._skill_names.setdefault(_folder(content), name)
                yield self._skill(content), utf16_units(content)
            elif isinstance(path, str):
                is_memory = str(item.get("type")).startswith("AutoMem")
                role = "memory" if is_memory else "instructions"
                yield Kind(role, path, path), utf16_units(content)

    def measure(self, text: str, own: Kind) -> Measured:
        """Take a text apart; `own` is what it is when nothing shows another origin.

        Reminders of the client that were put behind a text, in one block, are parts of their own.
        """
        found: list[tuple[Kind, int]] = []
        start = 0
        at = text.find(_SEAM)
        while at >= 0:
            after = text.find(_SEAM, at + 1)
            piece = text[at : after if after >= 0 else len(text)]
            rendered = self._rendered.get(_digest(piece.strip()))
            if rendered is not None:
                if at > start:
                    found += self._whole(text[start:at], own)
                found += _taken_apart(piece, rendered)
                start = at + len(piece)
            at = after
        if start < len(text):
            found += self._whole(text[start:], own)
        return tuple(found)

    def _whole(self, text: str, own: Kind) -> Measured:
        """Say what a text without a reminder behind it is."""
        if own.role != "user_text" and not text.startswith(_REMINDER):
            return ((own, utf16_units(text)),)
        plain = text.strip()
        digest = _digest(plain)
        if (rendered := self._rendered.get(digest)) is not None:
            return _taken_apart(text, rendered)
        if own.role != "user_text" or digest in self._typed:
            return ((own, utf16_units(text)),)
        if digest in self._client:
            return ((Kind("reminder", "client_text", own.source), utf16_units(text)),)
        return ((self._by_beginning(plain, own), utf16_units(text)),)

    def _by_beginning(self, text: str, own: Kind) -> Kind:
        if text.startswith(SKILL_BODY):
            return self._skill(text)
        if text.startswith(_SUMMARY):
            return Kind(own.role, "compact_summary", own.source)
        if text.startswith(_LOCAL):
            return Kind("reminder", "local_command", own.source)
        if _LOADED.fullmatch(text):
            return Kind("reminder", "tool_loaded", own.source)
        if not text.startswith(_REMINDER):
            return own
        inner = text[len(_REMINDER) :].lstrip()
        for beginning, role, name in _BEGINNINGS:
            if inner.startswith(beginning):
                event = _FEEDBACK.search(inner) if role == "hook_context" else None
                return Kind(role, event[1] if event else name, own.source)
        hook = _HOOK.match(inner)
        return Kind("hook_context", hook[1], own.source) if hook else _unknown(own.source)

    def _skill(self, text: str) -> Kind:
        """Name the skill whose body this is, by its folder."""
        folder = _folder(text)
        name = self._skill_names.get(folder) or folder.replace("\\", "/").rsplit("/", 1)[-1]
        return Kind("skill_body", name or None, folder + "/SKILL.md")


def texts_of(content: Json) -> list[str]:
    """List the texts of a content: a string, or blocks."""
    if isinstance(content, str):
        return [content]
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return [text for text in texts if isinstance(text, str)]


def _kind(attachment: Row) -> Kind:
    """Say what an attachment is, by its type."""
    found = attachment.get("type")
    kind = found if isinstance(found, str) else "unknown"
    source = f"transcript/attachment/{kind}"
    if kind in ("skill_listing", "dynamic_skill", "skill_discovery"):
        return Kind("skill_listing", None, source)
    if kind == "invoked_skills":
        return Kind("skill_body", "frame", source)
    if kind in ("instructions", "nested_memory"):
        return Kind("instructions", "frame", source)
    if kind.startswith("mcp_instructions"):
        return Kind("mcp_instructions", None, source)
    if "hook" in kind:
        return Kind("hook_context", _text(attachment, "hookName", "hookEvent"), source)
    if kind in _ENVIRONMENT:
        return Kind("environment", kind, source)
    if "memor" in kind:
        return Kind("memory", kind, source)
    if kind in _FILES:
        return Kind("file", _text(attachment, "filename", "displayPath", "path", "uri"), source)
    if kind == "queued_command" and attachment.get("commandMode") in (None, "prompt"):
        return Kind("user_text", None, source)
    return Kind("reminder", kind, source)


def _listed(attachment: Row) -> Iterator[tuple[str, Row]]:
    for key in ("files", "skills", "content"):
        items = attachment.get(key)
        for item in items if isinstance(items, list) else [items]:
            if isinstance(item, dict):
                yield key, item


def _taken_apart(text: str, rendered: _Rendered) -> Measured:
    rest = utf16_units(text) - sum(units for _, units in rendered.inside)
    return (*rendered.inside, (rendered.rest, rest))


def _unknown(source: str) -> Kind:
    return Kind("reminder", None, source)


def _folder(text: str) -> str:
    return text[len(SKILL_BODY) :].partition("\n")[0].strip()


def _text(row: Row, *keys: str) -> str | None:
    return next((row[key] for key in keys if isinstance(row.get(key), str)), None)


def _digest(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).digest()
