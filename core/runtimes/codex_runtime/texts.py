"""What the texts of a message are: a prompt, or something that Codex itself put in."""

import posixpath
import re
from typing import NamedTuple

from core.events import Json
from core.recordings.content import text_of
from core.recordings.contract import Row

PROMPT = "prompt"
RULES = "rules"
SKILL = "skill"
MEMORY = "memory"
BASE = "base"  # The system prompt, sent as a message.
HOOK_PROMPT = "hook_prompt"  # A stop hook sent the model on.
ABORTED = "aborted"
SHELL = "shell"  # What the user ran in the program.
PROGRAM = "program"
PICTURE = "picture"

_RULES_START = "# AGENTS.md instructions"
_MEMORY_START = "========= MEMORY_SUMMARY BEGINS ========="
_PROGRAM_TAGS = (
    "environment_context", "subagent_notification", "goal_context", "recommended_plugins",
    "additional_context", "internal_model_context", "model_switch", "collaboration_mode",
    "permissions instructions", "skills_instructions", "token_budget", "rollout_budget",
    "context_window", "context_window_guidance", "command_sessions", "personality_spec", "tools",
    "apps_instructions", "plugins_instructions",
)  # fmt: skip
# A person may type a tag: only these, closed at the end, are the program's.
_TAGS = {
    "user_instructions": RULES,
    "skill": SKILL,
    "hook_prompt": HOOK_PROMPT,
    "turn_aborted": ABORTED,
    "user_shell_command": SHELL,
    **dict.fromkeys(_PROGRAM_TAGS, PROGRAM),
}
_TAG = re.compile(f"<({'|'.join(_TAGS)})[ >]")
_KINDS = {"model.base_instructions": BASE, "memories.": MEMORY}

_DIRECTORY = re.compile(_RULES_START + r"(?: for (.*))?")
_INNER = re.compile(r"<INSTRUCTIONS>\r?\n?(.*?)\r?\n?</INSTRUCTIONS>\s*$", re.DOTALL)
_OLD_INNER = re.compile(r"<user_instructions>\s*(.*?)\s*</user_instructions>\s*$", re.DOTALL)
_SKILL = re.compile(
    r"<skill>\s*<name>(.*?)</name>\s*<path>(.*?)</path>\r?\n?(.*?)\r?\n?</skill>\s*$", re.DOTALL
)
_LISTING = re.compile(r"^### Available skills\s*\n(.*?)(?=^#|^</|\Z)", re.DOTALL | re.MULTILINE)
_LISTED = re.compile(r"^- ([^\s:](?:[^\n]*?[^\s:])??):(?: |$)", re.MULTILINE)
_MEMORY_FILE = re.compile(r"(\S+)/memory_summary\.md")


class Text(NamedTuple):
    """A piece of a message."""

    kind: str
    text: str


class SkillText(NamedTuple):
    """A skill as it was put into the context."""

    name: str
    path: str
    body: str


def pieces(item: Row) -> list[Text]:
    """Take the content of an input message apart."""
    content = item.get("content")
    role = text_of(item, "role")
    if isinstance(content, str):
        return [Text(_kind(content, role, ""), content)]
    parts = content if isinstance(content, list) else []
    kinds = _named_kinds(item)
    found = []
    for index, part in enumerate(parts):
        if "image" in text_of(part, "type"):
            found.append(Text(PICTURE, ""))
        elif text := text_of(part, "text"):
            named = kinds[index] if index < len(kinds) else None
            found.append(Text(_kind(text, role, named if isinstance(named, str) else ""), text))
    return found


def _named_kinds(item: Row) -> list[Json]:
    """Give what newer versions say of each piece of content."""
    passed = item.get("internal_chat_message_metadata_passthrough")
    kinds = passed.get("content_item_kinds") if isinstance(passed, dict) else None
    return kinds if isinstance(kinds, list) else []


def _kind(text: str, role: str, named: str) -> str:
    for start, kind in _KINDS.items():
        if named.startswith(start):
            return kind
    start = text.lstrip()[:40]
    if start.startswith(_RULES_START) and text.rstrip().endswith("</INSTRUCTIONS>"):
        return RULES
    tag = _TAG.match(start)
    if tag is not None and text.rstrip().endswith(f"</{tag.group(1)}>"):
        return _TAGS[tag.group(1)]
    if role != "user":
        return MEMORY if _MEMORY_START in text else PROGRAM
    return PROGRAM if named and not named.startswith(("user.", "unknown")) else PROMPT


def rules(text: str, cwd: str) -> tuple[str, str]:
    """Give the source of instructions and their text, without what Codex put around them."""
    found = _INNER.search(text) or _OLD_INNER.search(text)
    named = _DIRECTORY.match(text.lstrip())
    directory = (named.group(1) or "").strip().rstrip("/\\") if named else ""
    return _source(directory, cwd.rstrip("/\\")), found.group(1) if found else text


def _source(directory: str, cwd: str) -> str:
    if not directory or directory == cwd:
        return "workspace/AGENTS.md"
    if cwd and directory.startswith(cwd + "/"):
        return f"workspace/{directory[len(cwd) + 1 :]}/AGENTS.md"
    return posixpath.join(directory, "AGENTS.md")


def skill(text: str) -> SkillText | None:
    """Read a skill that was put into the context; None where it has not its usual shape."""
    found = _SKILL.search(text)
    if found is None or not found.group(1).strip():
        return None
    return SkillText(found.group(1).strip(), found.group(2).strip(), found.group(3))


def listed_skills(text: str) -> tuple[str, ...]:
    """Name the skills that a text lists to the model."""
    found = _LISTING.search(text) if "### Available skills" in text else None
    return tuple(dict.fromkeys(_LISTED.findall(found.group(1)))) if found else ()


def memory_source(text: str) -> str:
    """Name the file that memory came from, as the text itself does."""
    found = _MEMORY_FILE.search(text)
    return found.group(0).lstrip("`(") if found else "rollout/memory"
