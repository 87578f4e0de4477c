"""What a host can tell us: the canonical events, the same behind every door.

Texts in an event are read once, while it is decided on; what is kept is derived from them
(lengths, names, digests). A hook command imports this module, so it holds NamedTuples only.
"""

from typing import Any, NamedTuple, TypeAlias

Json: TypeAlias = Any  # A JSON value: None, bool, int, float, str, list or dict of these.

Outcome: TypeAlias = str  # completed, interrupted, failed, awaitingUser
By: TypeAlias = str  # human, agent, host


class SessionStart(NamedTuple):
    """A session began, or goes on after a resume, a clear, a compaction or a fork."""

    runtime: str
    workspace: str  # Absolute path.
    provider_backend: str | None = None
    task_id: str | None = None
    model: str | None = None
    context_window: int | None = None  # Tokens, as the host reports it.
    available: Json = None  # {tools, mcpServers, skills, systemPrompt}, as the host gave it.
    source: str | None = None  # startup, resume, clear, compact, fork
    parent_session_id: str | None = None


class SelectedSkill(NamedTuple):
    """A skill that the user picked in the host before sending."""

    name: str
    source_path: str | None = None


class Attachment(NamedTuple):
    """A file that the host put beside the prompt; exactly one size is known."""

    name: str
    source: str
    units: int | None = None  # UTF-16 units of its text.
    bytes: int | None = None


class Prompt(NamedTuple):
    """A prompt reached the agent; it opens the account of a turn."""

    turn_id: str
    text: str
    from_human: bool = True
    selected_skills: tuple[SelectedSkill, ...] = ()
    attachments: tuple[Attachment, ...] = ()


class ToolCall(NamedTuple):
    """The agent calls a tool."""

    tool_use_id: str
    name: str
    input: Json
    turn_id: str | None = None
    agent_id: str | None = None  # The sub-agent that calls; None is the main agent.
    parent_tool_use_id: str | None = None


class ToolResult(NamedTuple):
    """A tool answered; `content` is a string or a list of content blocks."""

    tool_use_id: str
    content: Json
    is_error: bool = False
    agent_id: str | None = None


class Usage(NamedTuple):
    """Usage of one model request, in tokens; a later report of a message id replaces it."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    context_window: int | None = None
    message_id: str | None = None
    cumulative: bool = False  # Running totals of the session: the difference counts.
    input_includes_cache: bool = False  # OpenAI and AI SDK count cached tokens inside input.
    agent_id: str | None = None  # The sub-agent whose request it was: its own window, its own sums.
    inherited: bool = False  # Copied from the session that this one was forked from: counts there.
    partial: bool = False  # The message had not ended when this was written.
    request_id: str | None = None  # The `Request` that it is the usage of.
    is_sum: bool = False  # Of several requests: it does not say how full the window is.


class Fill(NamedTuple):
    """What the host itself says of its window, in tokens; `used` counts until the next usage."""

    used: int | None
    window: int | None
    source: str


class Part(NamedTuple):
    """One part of a request: its role, what it is called, where it came from, how long it is.

    Roles: system_prompt, tool_schema, skill_listing, skill_body, instructions, memory,
    mcp_instructions, hook_context, environment, reminder, file, user_text, assistant_text,
    thinking, tool_input, tool_result, image. The name of a tool's parts is the tool's.
    """

    role: str
    name: str | None
    source: str
    units: int  # UTF-16 units; of a schema or an input as compact JSON. Parts sum to the request.


class Request(NamedTuple):
    """The model is asked; `parts` where the host wrote the request down."""

    request_id: str | None = None
    parts: tuple[Part, ...] = ()
    agent_id: str | None = None


class Spoken(NamedTuple):
    """Text in the conversation that is no call and no result: it belongs to no kind."""

    by: str  # model, thinking, user, program
    text: str
    agent_id: str | None = None


class Skill(NamedTuple):
    """What became of a skill, beside the calls of the Skill tool: the host or its record says so.

    State: loaded (its body entered the context), reinjected (again, after a compaction), dropped
    (its body left the context).
    """

    name: str
    state: str
    source_path: str | None = None  # Its SKILL.md, or the folder of it.
    units: int | None = None  # UTF-16 units of the body as it entered the context.
    note: str | None = None  # Such as: truncated.
    agent_id: str | None = None
    is_result: bool = False  # It was read by a tool: its text is a result, and counts as such.


class SkillListing(NamedTuple):
    """Skills that were named to the model; none of it counts as used."""

    names: tuple[str, ...]
    is_initial: bool = False  # The whole list, not what came to it.
    removed: tuple[str, ...] = ()


class Context(NamedTuple):
    """Content that the host itself put into the context; its kind is supported from then on."""

    kind: str
    source: str
    units: int | None = None
    bytes: int | None = None
    detail: str | None = None


class Composer(NamedTuple):
    """What waits in the composer and is not sent yet; the next prompt clears it."""

    units: int | None = None
    tokens: int | None = None
    files: tuple[Attachment, ...] = ()


class Compaction(NamedTuple):
    """The host compacts its context; stage is before or after."""

    stage: str
    trigger: str | None = None
    pre_tokens: int | None = None
    post_tokens: int | None = None


class TurnEnd(NamedTuple):
    """The agent wants to end its turn; the answer says whether it may."""

    turn_id: str
    outcome: Outcome
    last_assistant_message: str | None = None
    background_tasks: int = 0
    stop_hook_active: bool = False
    agent_id: str | None = None


class SessionEnd(NamedTuple):
    """The session is over until it is started again."""

    reason: str | None = None


class Arm(NamedTuple):
    """A checked plan is to be carried out; `plan` is its JSON form (core/phases/plan.py)."""

    plan: Json
    path: str
    digest: str  # sha256 of the plan file's bytes, hex.
    by: By
    warnings: tuple[str, ...] = ()
    task_id: str | None = None  # Of the environment; the plan's and the session's own come first.


class Decline(NamedTuple):
    """No plan for this session, or no longer this one."""

    reason: str
    by: By


class Park(NamedTuple):
    """The armed plan rests; no turn end is blocked meanwhile."""

    by: By
    reason: str | None = None


class Resume(NamedTuple):
    """A parked plan goes on; a given-up one goes on with fresh counters."""

    by: By
    reason: str | None = None


class Cancel(NamedTuple):
    """The armed plan is dropped."""

    reason: str
    by: By


Event: TypeAlias = (
    SessionStart
    | Prompt
    | ToolCall
    | ToolResult
    | Usage
    | Fill
    | Request
    | Spoken
    | Skill
    | SkillListing
    | Context
    | Composer
    | Compaction
    | TurnEnd
    | SessionEnd
    | Arm
    | Decline
    | Park
    | Resume
    | Cancel
)
