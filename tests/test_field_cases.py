"""Every case that the field taught us has a test; this names it, area by area.

The cases themselves, with what is right in each, are tests/conformance/field_cases.json.
"""

import json
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
DEVIATIONS = [
    case["id"]
    for case in json.loads((TESTS / "conformance/deviations.json").read_text("utf-8"))["cases"]
]

STORE = "core/store/test_"
SERVER = "server/test_"
ACCOUNTING = "core/accounting/test_"
CLAUDE = "core/runtimes/claude/test_"
CODEX = "core/runtimes/test_codex_"
ACP = "core/runtimes/test_acp.py::test_"
# A case among the ids that a test is run with stands in brackets behind its name.
OVER_THE_WIRE = SERVER + "deviations.py::test_what_older_products_miss_is_right"

CASES: dict[str, str | tuple[str, ...]] = {
    "U01": (
        SERVER + "totals.py::test_usage_is_that_of_the_last_row_of_each_message",
        SERVER + "totals.py::test_calls_and_tokens_stand_under_their_tool_or_server",
    ),
    "U02": (
        CLAUDE + "usage.py::test_of_the_rows_of_a_message_the_last_one_counts",
        CLAUDE + "usage.py::test_a_message_without_its_end_is_partial_where_rows_tell_of_ends",
        SERVER + "totals.py::test_u02_a_message_counts_with_its_last_row_wherever_that_stands",
    ),
    "U03": SERVER
    + "totals.py::test_u03_rows_of_a_proxy_without_a_request_id_count_once_by_their_message",
    "U05": (
        SERVER
        + "report_gather.py::"
        + "test_u05_a_forks_copy_of_its_parents_rows_is_inherited_and_adds_nothing",
        SERVER
        + "report_gather.py::"
        + "test_u05_a_copy_under_the_forks_own_name_belongs_to_the_session_that_began_first",
    ),
    "U06": SERVER
    + "report_gather.py::test_u06_a_resumed_session_goes_on_in_its_own_file_and_counts_whole",
    "U07": CODEX + "rollout.py::test_u07_a_count_that_is_written_again_adds_nothing",
    "U10": CODEX
    + "rollout.py::test_u10_a_response_with_both_records_counts_once_and_with_either_one_too",
    "U11": CODEX
    + "rollout.py::test_u11_the_last_response_tells_the_fill_and_never_the_running_total",
    "U12": (
        OVER_THE_WIRE + "[usage-exclusive-parts-anthropic]",
        OVER_THE_WIRE + "[usage-exclusive-parts-openai]",
    ),
    "U13": CODEX + "rollout.py::test_u13_the_cached_part_stays_inside_the_input",
    "U14": (
        CLAUDE + "subagents.py::test_a_folder_of_the_session_holds_its_sub_agents_nested_ones_too",
        CLAUDE + "subagents.py::test_files_beside_the_session_are_its_own_where_they_name_it",
        CLAUDE
        + "subagents.py::"
        + "test_usage_of_inline_rows_is_that_of_the_agent_whose_prompt_they_began_with",
        OVER_THE_WIRE + "[subagent-usage-apart]",
    ),
    "U15": (
        OVER_THE_WIRE + "[stale-after-compaction]",
        CLAUDE + "attachments.py::test_a_compaction_says_how_full_the_window_is_where_it_knows",
    ),
    "U17": ACP + "the_fill_of_the_window_is_the_agents_word_once_a_request_was_made",
    "U18": (
        ACP + "without_a_usage_report_the_usage_stays_unknown",
        SERVER + "lifecycle.py::test_pushes_go_only_to_a_client_that_opted_in",
    ),
    "U19": (
        CODEX + "rollout.py::test_u19_usage_that_cannot_be_read_stays_absent",
        CODEX + "exec.py::test_u19_no_usage_and_a_usage_of_nothing_are_absent",
    ),
    "U20": ACCOUNTING
    + "composition.py::"
    + "test_u20_the_schemas_of_a_server_sum_to_its_group_and_overhead_is_its_own_line",
    "U23": (
        SERVER
        + "totals.py::"
        + "test_u23_what_has_no_known_size_is_no_zero_and_totals_say_what_they_leave_out",
        ACCOUNTING
        + "composition.py::test_u23_without_reported_usage_a_share_is_unknown_and_not_zero",
    ),
    "U24": (
        CLAUDE
        + "skills.py::"
        + "test_a_called_skill_is_loaded_by_the_row_of_its_body_under_the_name_of_the_call",
        CLAUDE + "skills.py::test_a_typed_skill_is_loaded_by_the_row_after_it",
        CLAUDE + "skills.py::test_what_came_again_has_its_source_its_length_and_whether_it_was_cut",
        OVER_THE_WIRE + "[whole-read-is-a-load]",
        CODEX + "skills.py::test_u24_a_skill_that_codex_put_in_is_loaded_with_its_size",
        CODEX + "skills.py::test_u24_a_shell_read_of_the_whole_file_is_a_load",
    ),
    "U25": (
        ACCOUNTING
        + "skill_use.py::test_u25_a_skill_that_is_only_listed_is_available_and_has_no_state",
        ACCOUNTING + "skill_use.py::test_called_loaded_reinjected_and_dropped_are_told_apart",
        CLAUDE + "skills.py::test_the_text_of_a_prompt_alone_loads_nothing",
    ),
    "U27": SERVER
    + "totals.py::test_u27_a_body_that_comes_again_counts_in_the_turn_in_which_it_came",
    "U28": ACCOUNTING
    + "skill_use.py::"
    + "test_u28_only_a_listing_since_the_last_compaction_names_what_is_available",
    "U29": SERVER + "totals.py::test_u29_names_are_told_and_nothing_of_what_was_said",
    "U30": (
        ACCOUNTING + "kinds.py::test_an_mcp_name_is_split_at_the_longest_known_server",
        ACCOUNTING + "collector.py::test_an_ambiguous_server_is_marked_and_a_named_one_is_not",
    ),
    "U32": ACCOUNTING
    + "kinds.py::test_all_spellings_of_a_server_are_one_key_with_the_hosts_own_as_alias",
    "U55": SERVER + "lifecycle.py::test_the_end_of_input_ends_the_process_after_the_last_answer",
    "U57": SERVER
    + "messages.py::test_nothing_printed_reaches_the_client_and_no_child_eats_its_messages",
    "U58": SERVER + "messages.py::test_a_frame_at_the_limit_works_and_one_past_it_is_refused",
    "U60": SERVER
    + "editor.py::test_a_fault_behind_emoji_is_marked_in_the_encoding_that_was_offered",
    "U62": SERVER
    + "editor.py::test_an_editor_with_no_encoding_and_no_folder_is_served_and_no_folder_is_scanned",
    "U64": STORE + "damage.py::test_what_is_not_damaged_comes_back_and_the_session_goes_on",
    "U66": STORE + "processes.py::test_two_processes_lose_and_double_no_fact_and_no_receipt",
    "U67": STORE + "disk.py::test_a_checkpoint_that_cannot_be_written_leaves_the_last_one",
}
AREAS = ("stdio", "checkpoint", "tokens", "attribution", "mcp-naming")  # Those that are built.


def test_each_case_of_the_built_areas_names_its_test() -> None:
    cases = json.loads((TESTS / "conformance" / "field_cases.json").read_text(encoding="utf-8"))

    assert {case["id"] for case in cases if case["area"] in AREAS} == CASES.keys()


@pytest.mark.parametrize("case", CASES)
def test_the_named_tests_are_there(case: str) -> None:
    named = CASES[case]
    for place in (named,) if isinstance(named, str) else named:
        file, _, test = place.partition("::")
        name, _, ident = test.removesuffix("]").partition("[")

        assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8")
        assert not ident or ident in DEVIATIONS
