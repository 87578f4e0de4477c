"""What a host or an editor sends: the params of every method, field by field."""

from core.accounting.kinds import KINDS
from handlers.wire_kinds import (
    ABSOLUTE_PATH,
    ANY,
    CONTENT,
    COUNT,
    FILE,
    FLAG,
    ID,
    LABEL,
    NAME,
    NAME_OR_OBJECT,
    OBJECT,
    POSITIVE,
    RUNTIME,
    SESSION_ID,
    TEXT,
)
from handlers.wire_records import (
    Json,
    Kind,
    Needs,
    Wrong,
    at_most_one,
    choice,
    exactly_one,
    field,
    list_of,
    object_of,
    record,
    told,
    write_record,
)

OUTCOMES = ("completed", "interrupted", "failed", "awaitingUser")
SOURCES = ("startup", "resume", "clear", "compact", "fork")
STAGES = ("before", "after")

_SESSION = "Id of the session."


@record()
class NoParams:
    """Nothing is needed; params may be absent, null or {}."""


@record()
class SessionParams:
    """The session that is asked about."""

    session_id: str = field(SESSION_ID, _SESSION)


@record()
class Available:
    """What the agent could use; none of it counts as used."""

    tools: tuple[str, ...] | None = field(
        list_of(NAME_OR_OBJECT), "Names of the tools that are built in.", default=None
    )
    mcp_servers: tuple[str, ...] | None = field(
        list_of(NAME_OR_OBJECT),
        "Names of the MCP servers; they settle where a server's name ends.",
        default=None,
    )
    skills: tuple[str, ...] | None = field(
        list_of(NAME_OR_OBJECT), "Names of the skills that are listed to the model.", default=None
    )
    system_prompt: str | None = field(
        TEXT, "The system prompt; its text is never kept.", default=None
    )


@record()
class SessionStartParams:
    """A session begins, or goes on."""

    session_id: str = field(SESSION_ID, _SESSION)
    runtime: str = field(RUNTIME, "Which host runs the agent; also who a snapshot is produced by.")
    workspace: str = field(ABSOLUTE_PATH, "Folder that the agent works in.")
    provider_backend: str | None = field(
        LABEL,
        "Codex only: codex_account, codepilot_proxy or native_app_server.",
        default=None,
    )
    task_id: str | None = field(ID, "Task that this session works on.", default=None)
    model: str | None = field(LABEL, "Name of the model.", default=None)
    context_window: int | None = field(
        COUNT, "Size of the context window in tokens; leave it out until it is known.", default=None
    )
    available: Available | None = field(
        object_of(Available), "What the agent could use.", default=None
    )
    source: str | None = field(
        choice(*SOURCES),
        "Why it starts; a known id is resumed whatever this says, except for clear.",
        default=None,
    )
    parent_session_id: str | None = field(
        SESSION_ID, "Session that this one was forked or cleared from.", default=None
    )


@record()
class SelectedSkill:
    """A skill that the user picked before sending."""

    name: str = field(LABEL, "Its name; one that is blank is ignored.")
    source_path: str | None = field(
        LABEL, "Its SKILL.md, when two skills share the name.", default=None
    )


@record(exactly_one("text", "chars", "bytes"))
class Attachment:
    """A file that goes with the prompt."""

    name: str = field(LABEL, "Name as the user sees it.")
    source: str = field(LABEL, "Where it came from, a path or a word.")
    text: str | None = field(TEXT, "Its text; only the length is kept.", default=None)
    chars: int | None = field(COUNT, "Length of its text in UTF-16 code units.", default=None)
    bytes: int | None = field(COUNT, "Size in bytes.", default=None)


def _read_selected(value: Json) -> tuple[SelectedSkill, ...]:
    read = list_of(_SKILL_OR_NAME).read(value)
    return tuple(skill for skill in read if skill.name.strip())


def _read_skill_or_name(value: Json) -> SelectedSkill:
    if type(value) is str:
        return SelectedSkill(name=LABEL.read(value))
    if type(value) is not dict:
        raise Wrong(f"expected a string or an object with a name, got {told(value)}")
    read: SelectedSkill = _SELECTED.read(value)
    return read


_SELECTED = object_of(SelectedSkill)
_SKILL_OR_NAME = Kind(
    f"string or {_SELECTED.label}",
    _read_skill_or_name,
    {"anyOf": [LABEL.schema, _SELECTED.schema]},
    write_record,
)
_SKILLS = list_of(_SKILL_OR_NAME)._replace(read=_read_selected)


@record()
class PromptParams:
    """A prompt reaches the agent and opens a turn."""

    session_id: str = field(SESSION_ID, _SESSION)
    turn_id: str = field(ID, "Id of the turn that this prompt opens.")
    text: str = field(TEXT, "The prompt; its text is never kept.")
    from_human: bool = field(
        FLAG, "False for a prompt that a program wrote; it never arms a plan.", default=True
    )
    selected_skills: tuple[SelectedSkill, ...] = field(
        _SKILLS, "Skills that the user picked; blank names are ignored.", default=()
    )
    attachments: tuple[Attachment, ...] = field(
        list_of(object_of(Attachment)), "Files that go with the prompt.", default=()
    )


@record()
class ToolCallParams:
    """The agent calls a tool."""

    session_id: str = field(SESSION_ID, _SESSION)
    tool_use_id: str = field(ID, "Id of the call; the same id again in a turn replaces the call.")
    name: str = field(NAME, "Name of the tool, as the model wrote it.")
    input: Json = field(ANY, "Arguments of the call; only derived lengths and names are kept.")
    turn_id: str | None = field(
        ID, "Turn of the call; without it the open turn, else a new one.", default=None
    )
    agent_id: str | None = field(
        ID, "Sub-agent that calls; left out for the main agent.", default=None
    )
    parent_tool_use_id: str | None = field(
        ID, "Call of the parent agent that started this sub-agent.", default=None
    )


@record()
class ToolResultParams:
    """A tool answered."""

    session_id: str = field(SESSION_ID, _SESSION)
    tool_use_id: str = field(ID, "Id of the call, before or after which this may arrive.")
    content: Json = field(CONTENT, "What the tool answered; only its length is kept.")
    is_error: bool = field(FLAG, "True when the call failed.", default=False)
    agent_id: str | None = field(
        ID, "Sub-agent that called; left out for the main agent.", default=None
    )


@record()
class UsageParams:
    """Usage of one model request of the open turn, in tokens."""

    session_id: str = field(SESSION_ID, _SESSION)
    input_tokens: int = field(COUNT, "Input tokens.", wire="input")
    output_tokens: int = field(COUNT, "Output tokens.", wire="output")
    cache_read_tokens: int = field(
        COUNT, "Tokens read from the cache.", default=0, wire="cacheRead"
    )
    cache_creation_tokens: int = field(
        COUNT, "Tokens written to the cache.", default=0, wire="cacheCreation"
    )
    context_window: int | None = field(
        COUNT, "Size of the context window in tokens, when the host knows it.", default=None
    )
    message_id: str | None = field(
        ID, "Id of the model's message; a later report of it replaces this one.", default=None
    )
    cumulative: bool = field(
        FLAG, "True for running totals of the session: the difference counts.", default=False
    )
    input_includes_cache: bool = field(
        FLAG, "True when cached tokens are counted inside input.", default=False
    )
    agent_id: str | None = field(
        ID, "Sub-agent whose request it was; left out for the main agent.", default=None
    )


@record(exactly_one("text", "chars", "bytes"))
class ContextParams:
    """Content that the host itself put into the context; its kind is supported from then on."""

    session_id: str = field(SESSION_ID, _SESSION)
    kind: str = field(choice(*KINDS), "Which kind it counts as.")
    source: str = field(NAME, "Where it came from, a path or a word.")
    text: str | None = field(TEXT, "The content; only its length is kept.", default=None)
    chars: int | None = field(COUNT, "Length in UTF-16 code units.", default=None)
    bytes: int | None = field(COUNT, "Size in bytes.", default=None)
    detail: str | None = field(LABEL, "A few words for people.", default=None)


@record(exactly_one("chars", "bytes"))
class ComposerFile:
    """A file in the composer."""

    name: str = field(LABEL, "Name as the user sees it.")
    chars: int | None = field(COUNT, "Length of its text in UTF-16 code units.", default=None)
    bytes: int | None = field(COUNT, "Size in bytes.", default=None)


@record(at_most_one("text", "chars", "tokens"))
class ComposerParams:
    """What waits in the composer; the next prompt clears it."""

    session_id: str = field(SESSION_ID, _SESSION)
    text: str | None = field(TEXT, "What was typed; only its length is kept.", default=None)
    chars: int | None = field(COUNT, "Length in UTF-16 code units.", default=None)
    tokens: int | None = field(COUNT, "Length in tokens, when the host counted them.", default=None)
    files: tuple[ComposerFile, ...] = field(
        list_of(object_of(ComposerFile)), "Files that wait with it.", default=()
    )


@record()
class CompactionParams:
    """The host compacts its context."""

    session_id: str = field(SESSION_ID, _SESSION)
    stage: str = field(choice(*STAGES), "Before it begins, or after it is done.")
    trigger: str | None = field(LABEL, "What set it off, such as manual or auto.", default=None)
    pre_tokens: int | None = field(COUNT, "Context before, in tokens.", default=None)
    post_tokens: int | None = field(COUNT, "Context after, in tokens.", default=None)


@record()
class TurnEndParams:
    """The agent wants to end its turn."""

    session_id: str = field(SESSION_ID, _SESSION)
    turn_id: str = field(ID, "Turn that ends.")
    outcome: str = field(choice(*OUTCOMES), "How it ends; only a completed turn can be blocked.")
    last_assistant_message: str | None = field(
        TEXT, "What the agent said last; its text is never kept.", default=None
    )
    background_tasks: int = field(
        COUNT, "How many background tasks are alive; above 0 nothing is blocked.", default=0
    )
    stop_hook_active: bool = field(
        FLAG, "The host's own word that it goes on after a block; information only.", default=False
    )
    agent_id: str | None = field(
        ID, "Sub-agent that ends; its end is recorded and never blocked.", default=None
    )


@record()
class SessionEndParams:
    """The session is over until it is started again."""

    session_id: str = field(SESSION_ID, _SESSION)
    reason: str | None = field(LABEL, "Why, in the host's words.", default=None)


@record()
class HostEventParams:
    """One raw event of a host, mapped to the methods above by that host's runtime.

    A hook payload, a line of stream-json, a message of the Agent SDK, a stream part, a notification
    or a row of a transcript or rollout, as it is. What is not known tells nothing.
    """

    session_id: str = field(SESSION_ID, _SESSION)
    runtime: str = field(RUNTIME, "Host whose event it is; not `x-<name>`.")
    event: dict[str, Json] = field(OBJECT, "The event exactly as the host gave it.")


@record(exactly_one("path", "text"))
class PlanCheckParams:
    """A plan to look over; nothing is armed."""

    path: str | None = field(ABSOLUTE_PATH, "The plan file.", default=None)
    text: str | None = field(TEXT, "The plan as it stands in an editor.", default=None)


@record()
class PlanArmParams:
    """A plan to carry out in this session."""

    session_id: str = field(SESSION_ID, _SESSION)
    path: str = field(FILE, "The plan file; a relative path is below the workspace.")
    from_session: str | None = field(
        SESSION_ID,
        "Earlier session whose run of this plan is taken over.",
        default=None,
        wire="from",
    )


@record()
class PlanReasonParams:
    """A plan or an offer that is turned down; the reason goes into the receipts."""

    session_id: str = field(SESSION_ID, _SESSION)
    reason: str = field(NAME, "Why, in a few words.")


@record()
class PlanPauseParams:
    """A plan that rests, or goes on."""

    session_id: str = field(SESSION_ID, _SESSION)
    reason: str | None = field(LABEL, "Why, in a few words.", default=None)


@record(exactly_one("workspace", "path"))
class FollowParams:
    """The recordings to follow, of sessions that no host reports."""

    workspace: str | None = field(
        ABSOLUTE_PATH, "Folder whose transcripts and rollouts are followed.", default=None
    )
    path: str | None = field(ABSOLUTE_PATH, "One transcript or rollout.", default=None)
    runtime: str | None = field(
        RUNTIME, "Only the recordings of this host; not `x-<name>`.", default=None
    )
    off: bool = field(FLAG, "True stops following what an earlier call named.", default=False)


@record()
class SnapshotParams:
    """The account that is asked about."""

    session_id: str = field(SESSION_ID, _SESSION)
    turn_id: str | None = field(ID, "Turn; without it the latest one.", default=None)


@record(Needs("since", "sessionId"))
class ReceiptsParams:
    """Which receipts to give, oldest first."""

    session_id: str | None = field(SESSION_ID, "Only those of this session.", default=None)
    task_id: str | None = field(ID, "Only those of this task.", default=None)
    since: int | None = field(COUNT, "Only those with a higher seq.", default=None)
    limit: int | None = field(
        POSITIVE,
        "At most this many, never more than 1,000: with sessionId the oldest, and `next` leads on; "
        "without it the newest.",
        default=None,
    )
