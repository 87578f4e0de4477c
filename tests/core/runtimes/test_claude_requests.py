"""Each request that a Claude Code transcript writes down is taken apart, exactly and once."""

import hashlib
import json
import tracemalloc
from collections import Counter
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.events import Part, Request
from core.runtimes.claude_code.requests import RequestLog

Json: TypeAlias = Any
Row: TypeAlias = dict[str, Json]

SHAPE: Json = {
    "system": [{"type": "text", "text": "You help."}, {"type": "text", "text": "Bücher 📚"}],
    "tools": [
        {"name": "Read", "description": "Reads.", "input_schema": {"type": "object"}},
        {"name": "mcp__map__find", "description": "Finds ☃.", "input_schema": {"n": 1.0}},
    ],
}
READ = '{"name":"Read","description":"Reads.","input_schema":{"type":"object"}}'
FIND = '{"name":"mcp__map__find","description":"Finds ☃.","input_schema":{"n":1}}'
SHAPE_UNITS = 9 + 9 + len(READ) + len(FIND)
FOLDER = "/project/.claude/skills/brew"
BODY = f"Base directory for this skill: {FOLDER}\n\n# Brew\nBoil water.\n"


def reminder(text: str) -> str:
    return f"<system-reminder>\n{text}\n</system-reminder>"


def text(value: str) -> Json:
    return {"type": "text", "text": value}


def use(call: str, name: str, **given: Json) -> Json:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def result(call: str, content: Json) -> Json:
    return {"type": "tool_result", "tool_use_id": call, "content": content}


def hash_of(role: str, blocks: list[Json]) -> str:
    plain = {"role": role, "content": blocks}
    printed = json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(printed.encode()).hexdigest()


class Transcript:
    """A transcript that is written and read at once."""

    def __init__(self, shape: Json = SHAPE) -> None:
        self.log = RequestLog()
        self.shape("shape", shape)

    def shape(self, key: str, shape: Json) -> None:
        self.log.read({"type": "api-request-shape", "shapeHash": key, "shape": shape})

    def blob(self, key: str, *content: Json, role: str = "user") -> str:
        message = {"role": role, "content": list(content)}
        self.log.read({"type": "api-request-blob", "hash": key, "message": message})
        return key

    def assistant(self, message_id: str, *blocks: Json) -> str:
        """Write one row a block; give the hash of the message."""
        for block in blocks:
            message = {"role": "assistant", "id": message_id, "content": [block]}
            self.log.read({"type": "assistant", "message": message})
        return hash_of("assistant", list(blocks))

    def user(self, content: Json, **more: Json) -> None:
        row = {"type": "user", "message": {"role": "user", "content": content}, **more}
        assert self.log.read(row) is None

    def attachment(self, kind: str, *rendered: str, **more: Json) -> None:
        row = {
            "type": "attachment",
            "attachment": {"type": kind, **more},
            "rendered": [{"content": item} for item in rendered],
        }
        assert self.log.read(row) is None

    def request(self, *tail: str, keep: int = 0, **more: Json) -> Request:
        row = {"type": "api-request", "id": "r", "shapeHash": "shape", "keep": keep, **more}
        found = self.log.read({**row, "tail": list(tail)})
        assert found is not None
        return found

    def parts(self, *tail: str, keep: int = 0, **more: Json) -> dict[tuple[str, str | None], int]:
        """Give the parts of a request, those of the shape left off."""
        found = self.request(*tail, keep=keep, **more).parts
        assert sum(part.units for part in found if part.source.endswith("shape")) == SHAPE_UNITS
        return {
            (part.role, part.name): part.units
            for part in found
            if not part.source.endswith("shape")
        }


def test_system_texts_and_schemas_are_measured_as_javascript_prints_them() -> None:
    found = Transcript().request().parts

    assert found == (
        Part("system_prompt", "system[0]", "transcript/api-request-shape", 9),
        Part("system_prompt", "system[1]", "transcript/api-request-shape", 9),
        Part("tool_schema", "Read", "transcript/api-request-shape", len(READ)),
        Part("tool_schema", "mcp__map__find", "transcript/api-request-shape", len(FIND)),
    )


def test_each_block_of_a_message_is_a_part_by_role_and_tool() -> None:
    rows = Transcript()
    first = rows.blob("h1", text("Look 🔍."), {"type": "image", "source": {"data": "aGk="}})
    said = rows.assistant(
        "m1",
        {"type": "thinking", "thinking": "Hm.", "signature": "c2VhbGVk"},
        text("I look."),
        use("t1", "Read", path="/a b"),
        use("t2", "mcp__map__find", n=2),
    )
    second = rows.blob(
        "h2",
        result("t1", "one\ntwo"),
        result("t2", [text("here"), {"type": "image", "source": {"data": "aGVsbG8="}}]),
    )

    assert rows.parts(first, said, second) == {
        ("user_text", None): 8,
        ("image", None): 4,
        ("thinking", None): 3,
        ("assistant_text", None): 7,
        ("tool_input", "Read"): 15,
        ("tool_input", "mcp__map__find"): 7,
        ("tool_result", "Read"): 7,
        ("tool_result", "mcp__map__find"): 4,
        ("image", "mcp__map__find"): 8,
    }


def test_a_part_says_which_row_it_comes_from() -> None:
    rows = Transcript()
    rows.attachment("date", reminder("Today's date is 2031-02-03."))
    first = rows.blob("h1", text(reminder("Today's date is 2031-02-03.") + "\n"), text("Go."))
    said = rows.assistant("m1", text("Gone."))

    sources = {part.role: part.source for part in rows.request(first, said).parts}

    assert sources["environment"] == "transcript/attachment/date"
    assert sources["user_text"] == "transcript/api-request-blob"
    assert sources["assistant_text"] == "transcript/assistant"


def test_a_request_goes_on_from_the_last_one_or_from_the_one_it_names() -> None:
    rows = Transcript()
    first = rows.blob("h1", text("1"))
    assert rows.parts(first, id="a") == {("user_text", None): 1}
    said = rows.assistant("m1", text("22"))
    rows.blob("h2", text("333"))
    assert rows.parts(said, "h2", keep=1, id="b") == {
        ("user_text", None): 4,
        ("assistant_text", None): 2,
    }
    rows.blob("h3", text("4444"))

    assert rows.parts("h3", keep=2) == {("user_text", None): 5, ("assistant_text", None): 2}
    assert rows.parts("h3", keep=1, base="a") == {("user_text", None): 5}
    assert rows.parts(keep=3, base="b") == {("user_text", None): 4, ("assistant_text", None): 2}
    assert rows.parts("h3", keep=0, base="b") == {("user_text", None): 4}


def test_a_message_without_a_blob_is_known_by_the_hash_of_its_rows() -> None:
    rows = Transcript()
    first = rows.blob("h1", text("Go."))
    rows.request(first)
    said = rows.assistant("m1", text("ab"), use("t1", "Read", path="ж"))
    rows.user([result("t1", "12345")])
    rows.user([result("t2", "6")])
    rows.user("typed")
    answered = hash_of("user", [result("t1", "12345"), result("t2", "6")])

    assert rows.parts(said, answered, keep=1) == {
        ("user_text", None): 3,
        ("assistant_text", None): 2,
        ("tool_input", "Read"): 12,
        ("tool_result", "Read"): 5,
        ("tool_result", None): 1,
    }


def test_a_message_that_grew_because_nothing_answered_it_is_known_as_a_whole() -> None:
    rows = Transcript()
    rows.user("Go.")
    assert rows.parts(hash_of("user", [text("Go.")])) == {("user_text", None): 3}
    rows.user("Stop, go back.")

    grown = hash_of("user", [text("Go."), text("Stop, go back.")])
    assert rows.parts(grown) == {("user_text", None): 17}


def test_rows_of_a_message_that_was_not_sent_are_no_part() -> None:
    rows = Transcript()
    first = rows.blob("h1", text("Go."))
    rows.request(first)
    rows.assistant("refused", text("Broken off"))
    said = rows.assistant("m1", text("ab"))

    assert rows.parts(said, keep=1) == {("user_text", None): 3, ("assistant_text", None): 2}


def test_a_number_in_an_input_is_hashed_and_measured_as_javascript_prints_it() -> None:
    rows = Transcript()
    rows.assistant("m1", use("t1", "Wait", seconds=2.0, small=1e-7))
    printed = '{"seconds":2,"small":1e-7}'
    block = f'{{"id":"t1","input":{printed},"name":"Wait","type":"tool_use"}}'
    key = hashlib.sha256(f'{{"content":[{block}],"role":"assistant"}}'.encode()).hexdigest()

    assert rows.parts(key) == {("tool_input", "Wait"): len(printed)}


def test_the_same_message_said_twice_counts_twice() -> None:
    rows = Transcript()
    again = rows.assistant("m1", text("Nothing to add."))
    feedback = rows.blob("h1", text("Why?"))

    assert rows.parts(again, feedback, again, feedback) == {
        ("assistant_text", None): 30,
        ("user_text", None): 8,
    }


def test_a_tool_that_was_loaded_later_is_part_from_then_on() -> None:
    rows = Transcript()
    rows.blob("h1", text("Go."))
    before = rows.request("h1").parts
    late = '{"name":"Late","description":"","input_schema":{}}'
    rows.shape("other", {**SHAPE, "tools": [*SHAPE["tools"], json.loads(late)]})
    after = rows.request("h1", shapeHash="other").parts
    back = rows.request("h1").parts

    added = Part("tool_schema", "Late", "transcript/api-request-shape", len(late))
    assert set(after) - set(before) == {added}
    assert set(back) == set(before)


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("skill_listing", "skill_listing"),
        ("mcp_instructions_delta", "mcp_instructions"),
        ("hook_additional_context", "hook_context"),
        ("hook_blocking_error", "hook_context"),
        ("environment", "environment"),
        ("model", "environment"),
        ("date", "environment"),
        ("session_context", "environment"),
        ("total_tokens_reminder", "environment"),
        ("relevant_memories", "memory"),
        ("file", "file"),
        ("edited_text_file", "file"),
        ("queued_command", "user_text"),
        ("deferred_tools_delta", "reminder"),
        ("something_new", "reminder"),
    ],
)
def test_a_text_is_what_its_attachment_row_says(kind: str, role: str) -> None:
    rows = Transcript()
    added = reminder("Words that say nothing.")
    rows.attachment(kind, added)

    found = rows.request(rows.blob("h1", text(added + "\n"))).parts[-1]

    assert found[0] == role
    assert found.source == f"transcript/attachment/{kind}"
    assert found.units == len(added) + 1


def test_a_reminder_of_an_unknown_kind_has_the_name_of_its_attachment() -> None:
    rows = Transcript()
    rows.attachment("something_new", reminder("New."))

    found = rows.parts(rows.blob("h1", text(reminder("New.")), text(reminder("Newer."))))

    assert found == {
        ("reminder", "something_new"): len(reminder("New.")),
        ("reminder", None): len(reminder("Newer.")),
    }


def test_reminders_behind_a_result_are_no_part_of_the_result() -> None:
    rows = Transcript()
    said = rows.assistant("m1", use("t1", "Read"), use("t2", "mcp__map__find"))
    hook, left = reminder("PostToolUse:Read hook additional context: hi"), reminder("9 left")
    rows.attachment("hook_additional_context", hook, hookName="PostToolUse:Read")
    rows.attachment("total_tokens_reminder", left)
    look_alike = f"a\n\n{reminder('of the file itself')}"
    sent = rows.blob(
        "h1",
        result("t1", f"{look_alike}\n\n{hook}\n\n{left}"),
        result("t2", [text("here"), text(left)]),
    )

    found = rows.parts(said, sent)

    assert found["tool_result", "Read"] == len(look_alike)
    assert found["tool_result", "mcp__map__find"] == 4
    assert found["hook_context", "PostToolUse:Read"] == len(hook) + 2
    assert found["environment", "total_tokens_reminder"] == 2 * len(left) + 2


def test_each_instruction_file_is_a_part_and_the_words_around_them_another() -> None:
    rows = Transcript()
    files = [
        {"path": "/project/CLAUDE.md", "type": "Project", "content": "Keep it small."},
        {"path": "/memory/MEMORY.md", "type": "AutoMem", "content": "Likes tea."},
    ]
    shown = reminder("Rules:\n\nKeep it small.\n\nLikes tea.")
    rows.attachment("instructions", shown, files=files)
    nested = reminder("Contents of /project/a/CLAUDE.md:\n\nCount twice.\n")
    inner = {"path": "/project/a/CLAUDE.md", "type": "Project", "content": "Count twice.\n"}
    rows.attachment("nested_memory", nested, content=inner)

    found = rows.request(rows.blob("h1", text(shown), text(nested))).parts[4:]

    assert {part[:3]: part.units for part in found} == {
        ("instructions", "/project/CLAUDE.md", "/project/CLAUDE.md"): 14,
        ("memory", "/memory/MEMORY.md", "/memory/MEMORY.md"): 10,
        ("instructions", "frame", "transcript/attachment/instructions"): len(shown) - 24,
        ("instructions", "/project/a/CLAUDE.md", "/project/a/CLAUDE.md"): 13,
        ("instructions", "frame", "transcript/attachment/nested_memory"): len(nested) - 13,
    }


def test_a_file_that_was_left_out_of_the_rendered_text_is_no_part() -> None:
    rows = Transcript()
    files = [
        {"path": "/a.md", "type": "Project", "content": "Keep it small."},
        {"path": "/b.md", "type": "Project", "content": "small."},
    ]
    shown = reminder("Rules:\n\nKeep it small.")
    rows.attachment("instructions", shown, files=files)

    found = rows.parts(rows.blob("h1", text(shown)))

    assert found == {("instructions", "/a.md"): 14, ("instructions", "frame"): len(shown) - 14}


def test_a_skill_body_has_the_name_that_it_was_called_by_and_the_path_of_its_file() -> None:
    rows = Transcript()
    said = rows.assistant("m1", use("t1", "Skill", skill="drinks:brew"))
    rows.user([text(BODY)], isMeta=True, sourceToolUseID="t1")

    found = rows.request(said, rows.blob("h1", text(BODY))).parts[-1]

    assert found == Part("skill_body", "drinks:brew", FOLDER + "/SKILL.md", len(BODY))


def test_a_typed_skill_has_the_name_of_the_command_and_another_that_of_its_folder() -> None:
    rows = Transcript()
    rows.user("<command-message>x</command-message>\n<command-name>/drinks:brew</command-name>")
    rows.user([text(BODY)], isMeta=True)
    other = BODY.replace("brew", "roast")

    found = rows.parts(rows.blob("h1", text(BODY), text(other)))

    assert found == {
        ("skill_body", "drinks:brew"): len(BODY),
        ("skill_body", "roast"): len(other),
    }


def test_skills_that_are_put_back_after_a_compaction_are_parts_of_their_own() -> None:
    rows = Transcript()
    shown = reminder(f"Invoked before:\n\n{BODY}")
    rows.attachment("invoked_skills", shown, skills=[{"name": "drinks:brew", "content": BODY}])

    found = rows.parts(rows.blob("h1", text(shown)))

    assert found == {
        ("skill_body", "drinks:brew"): len(BODY),
        ("skill_body", "frame"): len(shown) - len(BODY),
    }


def test_a_text_that_a_user_typed_is_the_users_even_if_it_looks_like_a_reminder() -> None:
    rows = Transcript()
    typed = reminder("Today's date is a Monday.")
    rows.user(typed)

    assert rows.parts(rows.blob("h1", text(typed))) == {("user_text", None): len(typed)}


@pytest.mark.parametrize(
    ("beginning", "what"),
    [
        ("The following skills are available for use", ("skill_listing", None)),
        ("# MCP Server Instructions", ("mcp_instructions", None)),
        ("# Environment\nYou are here", ("environment", "environment")),
        ("SessionStart hook additional context: x", ("hook_context", "SessionStart")),
        ("PreToolUse:Bash hook additional context: x", ("hook_context", "PreToolUse:Bash")),
        (
            "The text below is the output of a hook.\nStop hook feedback:\nx",
            ("hook_context", "Stop"),
        ),
        ("Codebase and user instructions are shown below.", ("instructions", "frame")),
        ("Available agent types for the Agent tool", ("reminder", "agent_listing_delta")),
    ],
)
def test_without_its_attachment_row_a_text_is_known_by_how_it_begins(
    beginning: str, what: tuple[str, str | None]
) -> None:
    rows = Transcript()
    shown = reminder(beginning)

    assert rows.parts(rows.blob("h1", text(shown))) == {what: len(shown)}


def test_a_summary_is_the_users_message_and_says_what_it_is() -> None:
    rows = Transcript()
    summary = "This session is being continued from a previous conversation that ran out."

    found = rows.parts(rows.blob("h1", text(summary), text("Go on.")))

    assert found == {("user_text", "compact_summary"): len(summary), ("user_text", None): 6}


def test_a_request_with_a_message_missing_has_no_parts_and_a_later_whole_one_has() -> None:
    rows = Transcript()
    first = rows.blob("h1", text("1"))

    assert rows.request(first, "nowhere", id="a").parts == ()
    assert rows.request(keep=2).parts == ()
    assert rows.request(keep=3, base="a").parts == ()
    assert rows.request(keep=1, base="another file's").parts == ()
    assert rows.request(first, shapeHash="never seen").parts == ()
    assert rows.parts(keep=1, base="a") == {("user_text", None): 1}


def test_what_is_no_request_gives_none_and_a_request_has_its_id() -> None:
    log = RequestLog()

    assert log.read({"type": "summary"}) is None
    assert log.read({"type": "api-request", "id": "r1"}) == Request("r1")
    assert log.read({"type": "api-request", "id": 7, "keep": True}) == Request(None)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("type", "text", "content", "name", "id")), inner, max_size=4
        )
    ),
    max_leaves=4,
)
KEYS = (
    *("hash", "shapeHash", "shape", "message", "attachment", "rendered", "keep", "tail", "base"),
    *("id", "isMeta", "sourceToolUseID"),
)
TYPES = ("user", "assistant", "attachment", "api-request-shape", "api-request-blob", "api-request")
BLOCK_TYPES = ("text", "thinking", "tool_use", "tool_result", "image", "document", "other")
BLOCK_KEYS = ("text", "thinking", "content", "input", "source", "id", "tool_use_id")
BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(BLOCK_TYPES)},
    optional=dict.fromkeys(BLOCK_KEYS, ANY),
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(("user", "assistant")) | ANY},
    optional={"content": st.lists(BLOCK, max_size=3) | ANY, "id": ANY},
)
ROW = st.fixed_dictionaries(
    {"type": st.sampled_from(TYPES)},
    optional={**dict.fromkeys(KEYS, ANY), "message": MESSAGE | ANY},
)


@given(st.lists(ROW, max_size=5))
def test_no_shape_of_a_row_is_an_error(rows: list[Row]) -> None:
    log = RequestLog()

    for row in [*rows, {"type": "api-request", "id": [], "tail": [[], None, "x"]}]:
        log.read(row)


MESSAGES = {
    f"h{number}": [text("x" * number), result("t", "y" * (number % 3))] for number in range(1, 8)
}


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(sorted(MESSAGES)), max_size=5),
            st.integers(0, 8),
            st.none() | st.integers(0, 9),
        ),
        max_size=10,
    )
)
def test_going_from_request_to_request_adds_up_like_counting_each_anew(
    asked: list[tuple[list[str], int, int | None]],
) -> None:
    rows = Transcript()
    for key, content in MESSAGES.items():
        rows.blob(key, *content)
    lists: list[list[str]] = []
    for number, (tail, keep, base) in enumerate(asked):
        before = lists[base] if base is not None and base < number else lists[-1] if lists else []
        name = {"base": f"r{base}"} if base is not None and base < number else {}
        kept = min(keep, len(before))
        lists.append([*before[:kept], *tail])

        found = rows.parts(*tail, keep=kept, id=f"r{number}", **name)

        count: Counter[tuple[str, str | None]] = Counter()
        for key in lists[-1]:
            said, answered = MESSAGES[key]
            count["user_text", None] += len(said["text"])
            count["tool_result", None] += len(answered["content"])
        assert found == +count


def test_two_thousand_requests_take_memory_by_their_number_and_keep_no_text() -> None:
    rows = Transcript()
    rows.request(rows.blob("h", text("Go.")))
    tracemalloc.start()
    for number in range(2_000):
        said = rows.assistant(f"m{number}", text(f"{number} " * 500))
        rows.user([result("t", f"{number} " * 5_000)])
        answered = rows.blob(f"h{number}", result("t", f"{number} " * 5_000))
        rows.request(said, answered, keep=1 + 2 * number)
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert kept < 4_000_000  # The texts of it are 100 MB.
