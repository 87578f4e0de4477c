"""Plan text in, then a plan, or problems with their places."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.phases import yaml_safe
from core.phases.loader import PROBLEMS_MAX, load
from core.phases.plan import PLAN_BYTES_MAX, Criterion, Limits, from_json, to_json
from core.phases.wording import EXAMPLE_PLAN
from core.phases.yaml_safe import ALIASED_NODES_MAX, DEPTH_MAX

HEAD = "version: 1\nphases:\n  - id: a\n"
DUPLICATE = "duplicate_id"
OPEN = HEAD + "    exit_criteria: "
CRITERIA = HEAD + "    exit_criteria:\n"
FULL = """\
version: 1
task_id: 652
original_prompt: |
  Make it fast.
  And small.
limits: {blocks_per_phase: 10, blocks_total: 50}
phases:
  - id: survey
    task_prompt: 12:30
    skill_injection:
      dao_skills: [on, "x:On", notes/how.md]
      shu_skills: [skills/deploy/SKILL.md]
    forbidden_read: [secrets/]
    carry: true
    exit_criteria:
      - artifact_exists: ./reports//survey.md
      - id: findings
        artifact_contains: "reports/survey.md::a::b"
      - artifact_exists: {path: src/*.py, min_bytes: 0, min_count: 2}
      - skill_used: deploy
  - id: build
    required_skills: []
    task_prompt: Build.
    skill_injection: {dao_skills: [on]}
    count_subagents: true
"""


def found(source: str | bytes) -> list[tuple[int, int, int, int, str]]:
    """The places and codes of all problems."""
    return [(p.line, p.column, p.end_line, p.end_column, p.code) for p in load(source).problems]


def test_texts_are_taken_as_written_and_defaults_follow() -> None:
    plan = load(FULL).plan

    assert plan is not None
    assert (plan.task_id, plan.limits) == ("652", Limits(10, 50))
    assert plan.original_prompt == "Make it fast.\nAnd small.\n"
    survey, build = plan.phases
    assert survey.task_prompt == "12:30"
    assert survey.required_skills == ("on", "notes/how.md", "skills/deploy/SKILL.md")
    assert survey.forbidden_read == ("secrets",)
    assert (survey.carry, survey.count_subagents) == (True, False)
    assert (build.required_skills, build.dao_skills, build.criteria) == ((), ("on",), ())
    assert survey.criteria == (
        Criterion("survey.1", "artifact_exists", {"path": "reports/survey.md"}),
        Criterion("findings", "artifact_contains", {"path": "reports/survey.md", "text": "a::b"}),
        Criterion(
            "survey.3", "artifact_exists", {"path": "src/*.py", "min_bytes": 0, "min_count": 2}
        ),
        Criterion("survey.4", "skill_used", {"name": "deploy"}),
    )


def test_places_are_those_of_the_text() -> None:
    places = load(FULL).places

    assert places.phase == {0: (7, 8, 7, 14), 1: (20, 8, 20, 13)}
    assert places.criterion["survey.1"] == (15, 8, 15, 45)
    assert places.criterion["findings"] == (17, 8, 17, 52)
    assert places.skill[0, "on"] == (10, 19, 10, 21)
    assert places.skill[0, "deploy"] == (11, 19, 11, 41)
    assert places.skill[1, "on"] == (23, 35, 23, 37)


def test_a_plan_and_its_json_are_the_same() -> None:
    plan = load(FULL).plan

    assert plan is not None
    assert from_json(json.loads(json.dumps(to_json(plan)))) == plan


@pytest.mark.parametrize(
    "source",
    [
        FULL.encode(),
        FULL.replace("\n", "\r\n"),
        FULL.replace("\n", "\r"),
        "\ufeff" + FULL,
        b"\xef\xbb\xbf" + FULL.replace("\n", "\r\n").encode(),
    ],
    ids=["bytes", "CRLF", "CR", "BOM", "BOM and CRLF"],
)
def test_encodings_and_line_ends_change_nothing(source: str | bytes) -> None:
    plain, loaded = load(FULL), load(source)

    assert loaded.plan == plain.plan
    assert loaded.places.criterion == plain.places.criterion
    assert loaded.places.phase == plain.places.phase


def test_the_example_that_agents_are_shown_is_a_plan() -> None:
    assert load(EXAMPLE_PLAN).problems == ()


@pytest.mark.parametrize(
    ("source", "place", "code"),
    [
        ("", (0, 0, 0, 0), "empty"),
        ("# nothing\n", (0, 0, 0, 0), "empty"),
        ("- a\n", (0, 0, 0, 3), "wrong_type"),
        ("version: 1\n", (0, 0, 0, 7), "missing_phases"),
        ("phases: [{id: a, task_prompt: x}]\n", (0, 0, 0, 6), "missing_version"),
        ("version: 1\nphases: []\n", (1, 0, 1, 6), "no_phases"),
        ("version: 1\nphases:\n", (1, 0, 1, 6), "no_value"),
        ("version: 1\nphases: {a: b}\n", (1, 8, 1, 14), "wrong_type"),
        (HEAD.replace("1", "2") + "    task_prompt: x\n", (0, 9, 0, 10), "bad_version"),
        (HEAD.replace("1", '"1"') + "    task_prompt: x\n", (0, 9, 0, 12), "bad_version"),
        (HEAD, (2, 8, 2, 9), "empty_phase"),
        ("version: 1\nphases:\n  - task_prompt: x\n", (2, 4, 2, 15), "missing_id"),
        ("version: 1\nphases:\n  - id: A b\n    task_prompt: x\n", (2, 8, 2, 11), "bad_id"),
        (HEAD + "    task_promt: x\n    task_prompt: x\n", (3, 4, 3, 14), "unknown_key"),
        (HEAD + "    task_prompt: x\n    carry: yes\n", (4, 11, 4, 14), "bad_flag"),
        (HEAD + "    task_prompt: x\n    carry: 'true'\n", (4, 11, 4, 17), "bad_flag"),
        (HEAD + "    task_prompt: [x]\n", (3, 17, 3, 20), "wrong_type"),
        (HEAD + "    task_prompt: ~\n", (3, 4, 3, 15), "no_value"),
        (HEAD + "    exit_criteria:\n", (3, 4, 3, 17), "no_value"),
        (HEAD + "    task_prompt: x\n  - {id: a, task_prompt: x}\n", (4, 9, 4, 10), "duplicate_id"),
        (HEAD + "    task_prompt: x\n    task_prompt: y\n", (4, 4, 4, 15), "duplicate_key"),
        (HEAD + "    task_prompt: x\n    <<: {a: b}\n", (4, 4, 4, 6), "merge_key"),
        (HEAD + "    task_prompt: x\n    ? [k]\n    : v\n", (4, 6, 4, 9), "key"),
        (HEAD + "    task_prompt: !!str x\n", (3, 17, 3, 24), "tag"),
        (HEAD + "    task_prompt: !!python/name:os.system x\n", (3, 17, 3, 42), "tag"),
        (HEAD + '    task_prompt: "\\ud800"\n', (3, 17, 3, 25), "surrogate"),
        (HEAD + "    task_prompt: *x\n", (3, 17, 3, 19), "alias"),
        (HEAD + "    task_prompt: x\n    required_skills: &x [*x]\n", (4, 25, 4, 27), "alias"),
        (HEAD + "    task_prompt: x\n---\na: b\n", (4, 0, 4, 3), "documents"),
        (HEAD + "    task_prompt: x\n    required_skills: ['/']\n", (4, 22, 4, 25), "bad_skill"),
        (FULL.replace("per_phase: 10", "per_phase: 0"), (5, 27, 5, 28), "out_of_range"),
        (FULL.replace("per_phase: 10", "per_phase: 11"), (5, 27, 5, 29), "out_of_range"),
        (FULL.replace("total: 50", "total: 51"), (5, 45, 5, 47), "out_of_range"),
        (FULL.replace("total: 50", "total: 1.5"), (5, 45, 5, 48), "bad_number"),
        (FULL.replace("task_id: 652", "task_id: ' '"), (1, 9, 1, 12), "bad_task_id"),
        (FULL.replace("id: findings", "id: survey.1"), (16, 12, 16, 20), "bad_id"),
        (FULL + "    exit_criteria: [{id: findings, skill_used: x}]", (25, 25, 25, 33), DUPLICATE),
        (CRITERIA + "      - tests_passed: junit.xml\n", (4, 8, 4, 20), "unknown_criterion"),
        (CRITERIA + "      - {artifact_exists: a, skill_used: b}\n", (4, 29, 4, 39), "two_kinds"),
        (CRITERIA + "      - id: x\n", (4, 8, 4, 10), "no_kind"),
        (CRITERIA + "      - done when it works\n", (4, 8, 4, 26), "wrong_type"),
        (CRITERIA + "      - artifact_exists: [a]\n", (4, 25, 4, 28), "bad_argument"),
        (CRITERIA + "      - artifact_exists: {min_bytes: 1}\n", (4, 26, 4, 35), "missing_path"),
        (OPEN + "[artifact_exists: {path: a, min_count: 2}]", (3, 37, 3, 60), "bad_argument"),
        (OPEN + "[artifact_exists: {path: a, min_bytes: '1'}]", (3, 58, 3, 61), "bad_number"),
        (CRITERIA + "      - artifact_exists: {path: a, size: 1}\n", (4, 35, 4, 39), "unknown_key"),
        (CRITERIA + "      - artifact_contains: a.md\n", (4, 27, 4, 31), "bad_argument"),
        (CRITERIA + "      - artifact_contains: 'a.md::'\n", (4, 27, 4, 35), "bad_argument"),
        (CRITERIA + "      - artifact_contains: a*.md::x\n", (4, 27, 4, 35), "bad_path"),
    ],
)  # fmt: skip
def test_each_fault_has_its_place(source: str, place: tuple[int, int, int, int], code: str) -> None:
    assert found(source) == [(*place, code)]
    assert all(problem.message and problem.mend for problem in load(source).problems)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/etc/passwd", "path_outside"),
        ("../x", "path_outside"),
        ("a/../../x", "path_outside"),
        ("a/..", "path_outside"),
        ("~/x", "path_outside"),
        ('""', "bad_path"),
        ('" "', "bad_path"),
        (".", "bad_path"),
        ("./", "bad_path"),
        ('"a\\0b"', "bad_path"),
        ('"a\\nb"', "bad_path"),
        ("C:/x", "bad_path"),
        ("C:\\x", "bad_path"),
        ("\\\\server\\x", "bad_path"),
        ("a\\b", "bad_path"),
        ("a" * 1001, "bad_path"),
    ],
)
@pytest.mark.parametrize(
    "line",
    ["exit_criteria: [{artifact_exists: {path: %s}}]", "forbidden_read: [%s]"],
    ids=["artifact", "forbidden"],
)
def test_paths_stay_under_the_workspace(line: str, path: str, code: str) -> None:
    problems = load(HEAD + "    task_prompt: x\n    " + line % path + "\n").problems

    assert [(problem.line, problem.code) for problem in problems] == [(4, code)]


def test_all_faults_are_told_in_the_order_of_the_text() -> None:
    source = FULL.replace("12:30", "[]").replace("task_id", "taskid").replace("true", "1")

    assert found(source) == [
        (1, 0, 1, 6, "unknown_key"),
        (8, 17, 8, 19, "wrong_type"),
        (13, 11, 13, 12, "bad_flag"),
        (24, 21, 24, 22, "bad_flag"),
    ]


def test_a_fault_quotes_what_it_is_about_and_says_what_was_meant() -> None:
    (problem,) = load(CRITERIA + "      - artifact_exist: x\n").problems

    assert problem.message.startswith('unknown criterion "artifact_exist"; known are artifact_ex')
    assert problem.mend == 'Write "artifact_exists".'


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("'1'", '"version" is a text in quotes, not the number 1'),
        ("2", 'this program reads version 1 of plans, not "2"'),
        ("[1]", '"version" is a list, not the number 1'),
    ],
)
def test_a_wrong_version_is_told_what_to_write(written: str, message: str) -> None:
    (problem,) = load(FULL.replace("version: 1", f"version: {written}")).problems

    assert (problem.message, problem.mend) == (message, "Write version: 1, without quotes.")


def test_no_fault_names_an_id_that_the_file_does_not_have() -> None:
    phase = "  - id: {}\n    exit_criteria: [artifact_exists: x]\n"
    same = load("version: 1\nphases:\n" + phase.format("a") + phase.format("a")).problems
    bad = load("version: 1\nphases:\n" + phase.format("A!") + phase.format("phase-1")).problems
    empty = load("version: 1\nphases:\n  - id: A!\n").problems

    assert [problem.code for problem in (*same, *bad)] == ["duplicate_id", "bad_id"]
    assert [problem.message for problem in empty] == [
        'phase 1 has neither "task_prompt" nor "exit_criteria"',
        '"A!" is no id',
    ]


def test_hostile_names_are_cleaned_before_they_are_shown() -> None:
    (problem,) = load(HEAD + '    task_prompt: x\n    "a\\u202Eb\\x1b[31m": x\n').problems

    assert '"ab[31m"' in problem.message


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("version: 1\nphases: [\n", (2, 0, 2, 0)),
        ("version: 1\n\tphases: x\n", (1, 0, 1, 1)),
        ("version: 1\nphases: a: b\n", (1, 9, 1, 10)),
        ('a: "\n', (1, 0, 1, 0)),
        ("a: \x07\n", (0, 3, 0, 4)),
        ('a: "\\UFFFFFFFF"\n', (0, 6, 0, 7)),
    ],
)
def test_what_is_not_yaml_is_placed_where_the_parser_stopped(
    source: str, place: tuple[int, int, int, int]
) -> None:
    assert found(source) == [(*place, "not_yaml")]


@pytest.mark.parametrize(
    ("source", "why", "mend"),
    [
        ("a:\n\tb: c\n", "a tab stands where only spaces may", "Indent with spaces"),
        ("a: b: c\n", 'a ": " stands where no key can be', "Quote a text"),
        ("a: @b\n", "a text begins with a character that YAML keeps for itself", "Put the text"),
        ("a\nb: c\n", 'a ": " stands where no key can be', "Quote a text"),
        ("a: b\nc\n", 'a key has no ":" behind it', "Write `key: value`"),
        ("a: 'b\n", "the file ends within quotes", "Close the quote"),
        ("a: 'b\n---\n", "a line `---` or `...` stands within quotes", "Close the quote"),
        ('a: "\\d"\n', "a backslash in double quotes begins no escape", "Use single quotes"),
        ('a: "\\xZZ"\n', "a backslash in double quotes begins no escape", "Use single quotes"),
        ('a: "\\UFFFFFFFF"\n', "a number or an escape is out of range", "Use single quotes"),
        ("a: b\n- c\n", "this line does not fit those above it", "Align the line"),
        ("a: [b\n", "a bracket is not closed, or a comma is missing", "Close the bracket"),
        ('{"a": 1,', "a value is missing, or a bracket is not closed", "Write the value"),
        ("a: - b\n", "a list item cannot begin here", "Begin each item"),
        ("a: ? b\n", 'a "? " cannot stand here', "Write `key: value`"),
        ("a: & b\n", "an anchor, an alias or a directive has no name", "Quote the text"),
        ("a: |x\n b\n", "something stands behind a | or >", "Begin the text"),
        ("a: |0\n b\n", "something stands behind a | or >", "Begin the text"),
        ("%FOO\na: b\n", "something stands outside of the plan's keys", "Write all keys"),
        ("%YAML 3.0\n---\na: b\n", "a tag or a directive is not well-formed", "Remove it"),
        ("a: !<x b\n", "a tag or a directive is not well-formed", "Remove it"),
        ("a: \x07\n", "the character U+0007 is not allowed", "Remove it"),
    ],
)
def test_what_is_not_yaml_is_said_in_plain_words(source: str, why: str, mend: str) -> None:
    (problem,) = load(source).problems

    assert problem.message.startswith(f"this is not YAML: {why}")
    assert problem.mend.startswith(mend)


def test_a_column_counts_code_points_and_lines_end_as_editors_say() -> None:
    assert found('version: 1\nphases: []\n"😀": "\u2028"\n"": x\n') == [
        (1, 0, 1, 6, "no_phases"),
        (2, 0, 2, 3, "unknown_key"),
        (3, 0, 3, 2, "unknown_key"),
    ]


def test_bytes_that_are_not_utf8_are_named() -> None:
    (problem,) = load(b"\xef\xbb\xbfversion: 1\r\nid: \xe4\xff").problems

    assert problem[:5] == (1, 4, 1, 4, "not_utf8")
    assert "byte 0xe4 at offset 19" in problem.message


def test_the_size_limit_counts_bytes() -> None:
    comment = "\n#" + "é" * ((PLAN_BYTES_MAX - len(FULL) - 2) // 2)
    filled = FULL + comment + "x" * (PLAN_BYTES_MAX - len((FULL + comment).encode()))

    assert found(filled) == []
    assert [code for *_, code in found(filled + "x")] == ["too_large"]
    assert [code for *_, code in found((filled + "x").encode())] == ["too_large"]


@pytest.mark.parametrize(("deep", "codes"), [(DEPTH_MAX, []), (DEPTH_MAX + 1, ["too_deep"])])
def test_nesting_has_a_limit(deep: int, codes: list[str]) -> None:
    source = "[" * deep + "]" * deep

    assert [code for *_, code in found(source) if code != "wrong_type"] == codes


@pytest.mark.parametrize(("more", "codes"), [(0, []), (1, ["too_many_nodes"])])
def test_the_number_of_values_has_a_limit(
    monkeypatch: pytest.MonkeyPatch, more: int, codes: list[str]
) -> None:
    monkeypatch.setattr(yaml_safe, "NODES_MAX", 100)
    source = "[" + "a," * (99 + more) + "]"

    assert [code for *_, code in found(source) if code != "wrong_type"] == codes


def test_anchors_work_and_a_repeated_fault_points_at_the_original() -> None:
    source = (
        "version: 1\nphases:\n"
        "  - id: a\n    exit_criteria: &all\n      - skill_used: x\n      - artifact_exists: /x\n"
        "  - id: b\n    exit_criteria: *all\n"
    )

    assert found(source) == [(5, 25, 5, 27, "path_outside")]
    plan = load(source.replace("/x", "y")).plan
    assert plan is not None
    assert [criterion.id for criterion in plan.phases[1].criteria] == ["b.1", "b.2"]


@pytest.mark.parametrize(("more", "codes"), [(0, []), (1, ["alias_bomb"])])
def test_aliases_may_repeat_a_limited_number_of_values(more: int, codes: list[str]) -> None:
    source = "a: &a x\n" + "".join(f"k{n}: *a\n" for n in range(ALIASED_NODES_MAX + more))

    told = [code for *_, code in found(source)]
    assert [code for code in told if "alias" in code] == codes


def test_an_alias_bomb_is_refused_where_it_goes_off() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]

    assert found("\n".join(levels)) == [(3, 9, 3, 12, "alias_bomb")]


@pytest.mark.parametrize(("count", "codes"), [(50, []), (51, ["too_many_phases"])])
def test_a_plan_has_fifty_phases_at_most(count: int, codes: list[str]) -> None:
    phases = "".join(f"  - {{id: p{n}, task_prompt: x}}\n" for n in range(count))
    source = "version: 1\nphases:\n" + phases

    assert [code for *_, code in found(source)] == codes


def test_the_number_of_problems_has_a_limit() -> None:
    assert (
        len(load("".join(f"k{n}: x\n" for n in range(PROBLEMS_MAX + 5))).problems) == PROBLEMS_MAX
    )


@given(st.one_of(st.text(max_size=200), st.binary(max_size=200)))
@settings(max_examples=100, deadline=None)
def test_no_text_makes_it_raise(source: str | bytes) -> None:
    loaded = load(source)

    assert (loaded.plan is None) == bool(loaded.problems)


@given(
    st.integers(0, len(FULL)),
    st.integers(0, 12),
    st.text(alphabet="\n\t -:[]{}&*!|>'\"%@`#?,x1\\uU\ud800\u2028", max_size=6),
)
@settings(max_examples=100, deadline=None)
def test_a_mutated_plan_is_read_or_refused_within_its_text(at: int, cut: int, put: str) -> None:
    source = FULL[:at] + put + FULL[at + cut :]
    loaded = load(source)

    assert (loaded.plan is None) == bool(loaded.problems)
    lines = source.count("\n") + source.count("\r") + 1
    for problem in loaded.problems:
        assert (0, 0) <= problem[:2] <= problem[2:4]
        assert problem.end_line < lines
        assert problem.message
        assert problem.mend
    if loaded.plan is not None:
        assert from_json(json.loads(json.dumps(to_json(loaded.plan)))) == loaded.plan
