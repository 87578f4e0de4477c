"""What attachment rows put into the context, each with its kind, its source and its size."""

from core.events import Compaction, Context, Fill, SkillListing, Spoken
from tests.core.runtimes.claude.given import assistant, attachment, boundary, events, read, text

LONG = "é" * 10


def test_memory_files_are_memory_and_the_others_rules() -> None:
    files = [
        {"path": "/repo/CLAUDE.md", "type": "Project", "content": "abc"},
        {"path": "/house/dev/.claude/projects/-repo/memory/MEMORY.md", "content": LONG},
        {"path": "/house/dev/notes.md", "type": "AutoMem", "content": "x"},
        {"path": "/house/dev/team.md", "type": "TeamMem", "content": "x"},
    ]

    told = events(read(attachment("instructions", files=files)), Context)

    assert [(one.kind, one.source, one.bytes) for one in told] == [
        ("rules", "workspace/CLAUDE.md", 3),
        ("memory", "/house/dev/.claude/projects/-repo/memory/MEMORY.md", 20),
        ("memory", "/house/dev/notes.md", 1),
        ("memory", "/house/dev/team.md", 1),
    ]


def test_an_instruction_file_is_told_again_when_it_changed_or_after_a_compaction() -> None:
    def file(content: str) -> object:
        return attachment("instructions", files=[{"path": "/r/CLAUDE.md", "content": content}])

    rows = [file("a"), file("a"), file("ab"), boundary(trigger="auto"), file("ab")]

    assert [one.bytes for one in events(read(*rows), Context)] == [1, 2, 2]  # type: ignore[arg-type]


def test_a_listing_names_skills_or_is_read_for_names() -> None:
    content = "- notes: Take notes.\n- plugin:draw: Draw.\n  more of it\n- bare"
    rows = [
        attachment("skill_listing", names=["notes"], isInitial=True, content=content),
        attachment("skill_listing", content=content, isInitial=False),
    ]

    assert events(read(*rows), SkillListing) == [
        SkillListing(("notes",), True),
        SkillListing(("notes", "plugin:draw", "bare"), False),
    ]


def test_instructions_of_mcp_servers_have_the_server_as_source() -> None:
    row = attachment("mcp_instructions_delta", addedNames=["hub", "x"], addedBlocks=["## hub", 3])

    assert events(read(row), Context) == [
        Context("mcp", "transcript/mcp_instructions/hub", 6, detail="hub")
    ]


def test_a_system_prompt_is_told_before_the_request_that_has_it_and_once() -> None:
    rows = [
        attachment("prompt_snapshot", systemPrompt=["Be brief.", "é"], tools=[{"name": "Read"}]),
        assistant(text("a")),
        attachment("prompt_snapshot", systemPrompt=["Be brief.", "é"], cliPrefix="You."),
        assistant(text("b"), message_id="m-2"),
    ]

    source = "transcript/prompt_snapshot"
    assert events(read(*rows), Context) == [Context("system_prompt", source, units=10)]


def test_attached_files_have_their_path_and_the_length_of_their_text() -> None:
    file = {"type": "text", "file": {"filePath": "/repo/a.txt", "content": "one"}}
    rows = [
        attachment("file", filename="/repo/a.txt", content=file),
        attachment("file", "Called Read", "1 one", filename="/repo/b.txt", content=file),
        attachment("edited_text_file", filename="/else/c.txt", snippet="+ two"),
        attachment("directory", path="/repo/d", content="x\ny"),
        attachment("file", filename="/repo/e.png", content={"type": "image", "file": {}}),
        attachment("file", content=file),
    ]

    told = events(read(*rows), Context)

    assert [(one.kind, one.source, one.units, one.detail) for one in told] == [
        ("files_attachments", "workspace/a.txt", 3, "file"),
        ("files_attachments", "workspace/b.txt", 17, "file"),
        ("files_attachments", "/else/c.txt", 5, "edited_text_file"),
        ("files_attachments", "workspace/d", 3, "directory"),
        ("files_attachments", "workspace/e.png", None, "file"),
    ]


def test_reminders_are_texts_of_the_program_and_what_has_a_kind_is_not() -> None:
    rows = [
        attachment("date", "<system-reminder>Today</system-reminder>", date="2026-01-01"),
        attachment("skill_listing", "Skills: notes", names=["notes"]),
        attachment("deferred_tools_delta", addedLines=["Cron", "Web"]),
        attachment("hook_additional_context", content=["hello", "you"]),
        attachment("hook_success", hookEvent="UserPromptSubmit", content="output"),
        attachment("hook_success", hookEvent="Stop", content="for nobody"),
        attachment("hook_blocking_error", blockingError={"blockingError": "not yet"}),
        attachment("nested_memory", "Rules!", content={"path": "/r.md", "content": "Rules!"}),
        attachment("unheard_of", content="for nobody"),
    ]

    assert [(said.by, said.text) for said in events(read(*rows), Spoken)] == [
        ("program", "<system-reminder>Today</system-reminder>"),
        ("program", "Skills: notes"),
        ("program", "Cron\nWeb"),
        ("program", "hello\nyou"),
        ("program", "output"),
        ("program", "not yet"),
    ]


def test_a_compaction_says_how_full_the_window_is_where_it_knows() -> None:
    steps = read(boundary(trigger="auto", preTokens=900, postTokens=70), boundary(trigger="manual"))

    assert events(steps, Compaction, Fill) == [
        Compaction("after", "auto", 900, 70),
        Fill(70, None, "transcript/compact_boundary"),
        Compaction("after", "manual"),
    ]
