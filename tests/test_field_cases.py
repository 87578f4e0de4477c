"""Every case that the field taught us has a test; this names it, area by area.

The cases themselves, with what is right in each, are tests/conformance/field_cases.json.
"""

import json
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent

STORE = "core/store/test_"
SERVER = "server/test_"
CASES = {
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
AREAS = ("stdio", "checkpoint")  # Those that are built.


def test_each_case_of_the_built_areas_names_its_test() -> None:
    cases = json.loads((TESTS / "conformance" / "field_cases.json").read_text(encoding="utf-8"))

    assert {case["id"] for case in cases if case["area"] in AREAS} == CASES.keys()


@pytest.mark.parametrize("case", CASES)
def test_the_named_test_is_there(case: str) -> None:
    file, _, name = CASES[case].partition("::")

    assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8")
