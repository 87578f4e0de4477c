"""What an attachment row put into the context: instruction files, listings, files, reminders."""

from collections.abc import Callable

from core.events import Context, Event, Json, Skill, SkillListing
from core.recordings.content import joined
from core.recordings.contract import Row
from core.runtimes.claude_code.rows import blocks, skill_body, skill_file
from core.runtimes.claude_code.shapes import dict_of, dicts_of, list_of, text_of, texts_of
from core.units import utf16_units

INSTRUCTION_KINDS = frozenset({"rules", "memory"})

_MEMORY_KINDS = frozenset({"AutoMem", "TeamMem"})
_MEMORY_FILE = "MEMORY.md"
_HOOKS_THAT_ADD_OUTPUT = frozenset({"SessionStart", "UserPromptSubmit"})
_BLOCKING_ERROR = "blockingError"


def events(attachment: Row, row: Row, cwd: str) -> list[Event]:
    """Give what an attachment of the session itself brought, each with its own kind."""
    read = _READERS.get(text_of(attachment, "type"))
    return [] if read is None else read(attachment, row, cwd)


def text(attachment: Row, row: Row) -> str:
    """Give the text that reached the model for an attachment, as far as the row tells it."""
    shown = _rendered(row)
    if shown is not None:
        return shown
    read = _OLDER_TEXTS.get(text_of(attachment, "type"))
    return "" if read is None else read(attachment)


def invoked_skills(attachment: Row) -> list[Skill]:
    """Name the skills whose bodies came back after a compaction."""
    found: list[Skill] = []
    for skill in dicts_of(attachment, "skills"):
        name, body = text_of(skill, "name"), text_of(skill, "content")
        if name:
            is_cut = "truncated" in body[-200:] or skill.get("truncated") is True
            note = "truncated" if is_cut else None
            file = skill_body(body)  # The path beside it is often none, such as bundled:name.
            source = None if file is None else skill_file(file)
            found.append(Skill(name, "reinjected", source, utf16_units(body), note))
    return found


def system_prompt(attachment: Row) -> Context | None:
    """Give the system prompt of a prompt_snapshot; None where it has none."""
    parts = texts_of(attachment, "systemPrompt")
    if not parts:
        return None
    units = sum(utf16_units(part) for part in parts)
    return Context("system_prompt", "transcript/prompt_snapshot", units=units)


def instruction_kind(path: str, memory_type: str) -> str:
    """Say whether an instruction file is a rule of people or a memory of the agent."""
    is_memory = memory_type in _MEMORY_KINDS or _name(path) == _MEMORY_FILE
    return "memory" if is_memory else "rules"


def source_of(path: str, cwd: str) -> str:
    """Write a path as the accounts do: below the workspace relative to it."""
    inside = cwd and path.startswith(cwd.rstrip("/") + "/")
    return "workspace/" + path[len(cwd.rstrip("/")) + 1 :] if inside else path


def instruction_file(path: str, memory_type: str, cwd: str, size: int | None) -> Context:
    """Give an instruction file of so many bytes as evidence."""
    kind = instruction_kind(path, memory_type)
    return Context(kind, source_of(path, cwd), bytes=size, detail=_name(path))


def _instructions(attachment: Row, row: Row, cwd: str) -> list[Event]:
    return _instruction_files(dicts_of(attachment, "files"), cwd)


def _nested_memory(attachment: Row, row: Row, cwd: str) -> list[Event]:
    return _instruction_files([dict_of(attachment, "content")], cwd)


def _relevant_memories(attachment: Row, row: Row, cwd: str) -> list[Event]:
    memories = dicts_of(attachment, "memories")
    return _instruction_files([{"type": "AutoMem", **memory} for memory in memories], cwd)


def _instruction_files(files: list[Row], cwd: str) -> list[Event]:
    found: list[Event] = []
    for file in files:
        path, content = file.get("path"), file.get("content")
        if isinstance(path, str) and path and isinstance(content, str) and content:
            size = len(content.encode(errors="replace")) or None  # None: it was too long to keep.
            told = instruction_file(path, text_of(file, "type"), cwd, size)
            found.append(told if size else told._replace(units=utf16_units(content)))
    return found


def _skill_listing(attachment: Row, row: Row, cwd: str) -> list[Event]:
    names = texts_of(attachment, "names") or _listed(text_of(attachment, "content"))
    removed = texts_of(attachment, "removedNames")
    is_initial = attachment.get("isInitial") is True
    if not names and not removed:
        return []
    return [SkillListing(tuple(names), is_initial, tuple(removed))]


def _listed(content: str) -> list[str]:
    """Read the names of "- name: description"; a plugin's skill has a colon of its own."""
    lines = (line[2:] for line in content.split("\n") if line.startswith("- "))
    return [name.strip() for line in lines if (name := line.partition(": ")[0]).strip()]


def _mcp_instructions(attachment: Row, row: Row, cwd: str) -> list[Event]:
    names, blocks_of = texts_of(attachment, "addedNames"), list_of(attachment, "addedBlocks")
    return [
        Context("mcp", f"transcript/mcp_instructions/{name}", utf16_units(block), detail=name)
        for name, block in zip(names, blocks_of, strict=False)
        if isinstance(block, str) and block
    ]


def _file(attachment: Row, row: Row, cwd: str) -> list[Event]:
    kind = text_of(attachment, "type")
    keys = ("filename", "path", "planFilePath", "uri")
    path = next((found for key in keys if (found := text_of(attachment, key))), "")
    shown = _rendered(row)
    content = shown if shown is not None else _file_text(attachment)
    if not path or (content == "" and not _is_image(attachment)):
        return []
    units = utf16_units(content) if content else None
    return [Context("files_attachments", source_of(path, cwd), units=units, detail=kind)]


def _file_text(attachment: Row) -> str:
    """Give the text of an attached file, however its version writes it."""
    for key in ("content", "snippet", "planContent"):
        found = attachment.get(key)
        if isinstance(found, str):
            return found
        if isinstance(found, dict):
            return text_of(dict_of(found, "file"), "content") or blocks(found.get("contents")).text
    return ""


def _is_image(attachment: Row) -> bool:
    kinds = (text_of(attachment, "type"), text_of(dict_of(attachment, "content"), "type"))
    return kinds[0] == "edited_image_file" or kinds[1] in ("image", "pdf")


def _rendered(row: Row) -> str | None:
    """Give the text that the program made of an attachment; None before 2.1.3."""
    found = row.get("rendered")
    if not isinstance(found, list):
        return None
    parts = (blocks(part.get("content")).text for part in found if isinstance(part, dict))
    return joined(parts, "\n")


def _name(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def _joined(key: str) -> Callable[[Row], str]:
    return lambda attachment: joined(texts_of(attachment, key), "\n")


def _plain(key: str) -> Callable[[Row], str]:
    return lambda attachment: text_of(attachment, key)


def _hook_context(attachment: Row) -> str:
    content: Json = attachment.get("content")
    return content if isinstance(content, str) else joined(texts_of(attachment, "content"), "\n")


def _hook_success(attachment: Row) -> str:
    adds_output = text_of(attachment, "hookEvent") in _HOOKS_THAT_ADD_OUTPUT
    return text_of(attachment, "content") if adds_output else ""


def _hook_error(attachment: Row) -> str:
    found = attachment.get(_BLOCKING_ERROR)
    return text_of(found, _BLOCKING_ERROR) if isinstance(found, dict) else ""


_READERS: dict[str, Callable[[Row, Row, str], list[Event]]] = {
    "instructions": _instructions,
    "nested_memory": _nested_memory,
    "relevant_memories": _relevant_memories,
    "skill_listing": _skill_listing,
    "mcp_instructions_delta": _mcp_instructions,
    **dict.fromkeys(
        (
            "file",
            "edited_text_file",
            "edited_image_file",
            "directory",
            "selected_lines_in_ide",
            "mcp_resource",
            "plan_file_reference",
        ),
        _file,
    ),
}

# What versions without `rendered` put into the context for an attachment that has no kind.
_OLDER_TEXTS: dict[str, Callable[[Row], str]] = {
    "skill_listing": _plain("content"),
    "deferred_tools_delta": _joined("addedLines"),
    "agent_listing_delta": _joined("addedLines"),
    "hook_additional_context": _hook_context,
    "hook_success": _hook_success,
    "hook_blocking_error": _hook_error,
    "critical_system_reminder": _plain("content"),
    "total_tokens_reminder": _plain("text"),
    "model": _plain("text"),
}
OF_A_KIND = frozenset(_READERS) - {"skill_listing"}  # Whose text has a kind, so is not told again.
