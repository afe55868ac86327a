"""Golden files: every kind of finding, with its position, message, related places and fix, as a user sees it.

``STEPSMITH_UPDATE_GOLDEN=1`` writes the expected files anew; read the difference before you commit it.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from golden_files import FOLDER, check_file, code_of, expected_path, files, render, sources
from stepcore.findings.codes import CODES
from stepcore.findings.diagnostics import Severity

TESTS = Path(__file__).parent

# Codes that checking a text cannot give: running, or the command line, does. They are tested where they arise.
ELSEWHERE: dict[str, str] = {
    "STEP401": "test_sim_functional.py::test_wrong_answer_shows_the_first_difference",
    "STEP402": "test_sim_compare.py::test_another_shape_dtype_or_number_has_its_own_code",
    "STEP403": "test_sim_functional.py::test_origin_of_nan_is_the_first_operator_that_makes_one",
    "STEP404": "test_jobs.py::test_errors_keep_their_code_and_defects_show_no_traceback",
    "STEP405": "test_jobs.py::test_a_job_over_its_time_is_killed_and_the_next_runs",
    "STEP406": "test_jobs.py::test_the_memory_limit_is_an_error_and_the_worker_lives",
    "STEP407": "test_jobs.py::test_a_crash_costs_only_its_job",
    "STEP408": "test_sim_functional.py::test_a_failing_reference_is_reported_once_and_clearly",
    "STEP409": "test_sim_functional.py::test_branch_that_does_not_fit",
    "STEP410": "test_jobs.py::test_a_worker_of_another_version_is_refused",
    "STEP411": "test_sim_functional.py::test_no_reference",
    "STEP413": "test_tiles.py::test_addresses_are_tiles_of_the_memory",
    "STEP414": "test_arrival.py::test_golden",
    "STEP415": "test_sim_strength.py::test_the_command_tells_in_text_and_json",
    "STEP412": "test_ragged.py::test_streams_read_in_step_need_the_same_lengths",
    "STEP417": "test_tiles.py::test_what_is_stored_is_neither_read_nor_stored_again",
    "STEP418": "test_feedback.py::test_what_never_leaves_ends_the_run",
    "STEP502": "test_timing_findings.py::test_golden",
    "STEP503": "test_timing_findings.py::test_golden",
    "STEP504": "test_timing_findings.py::test_golden",
    "STEP505": "test_timing_findings.py::test_golden",
    "STEP506": "test_timing_findings.py::test_golden",
    "STEP507": "test_timing_findings.py::test_golden",
    "STEP601": "test_torchfn_target.py::test_what_is_no_function_has_a_place_and_a_way_out",
    "STEP602": "test_torchfn_dims.py::test_missing_shapes_come_with_a_guess",
    "STEP603": "test_torchfn_trace.py::test_what_cannot_be_traced_is_said_at_its_line",
    "STEP604": "test_torchfn_synth.py::test_an_operation_without_a_lowering_is_said_at_its_line",
    "STEP605": "test_torchfn_dims.py::test_types_and_sizes_that_no_program_holds",
    "STEP908": "test_cli_check.py::test_unusable_input_is_one_message_each",
    "STEP911": "test_cli_check.py::test_internal_errors_show_no_traceback",
}


def check(path: Path) -> None:
    """Compare what is found in a golden program with what is expected."""
    found = render(check_file(path))
    expected = expected_path(path)
    if os.environ.get("STEPSMITH_UPDATE_GOLDEN") == "1":
        expected.write_text(found, encoding="utf-8")
    assert found == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.name)
def test_golden(path: Path) -> None:
    check(path)


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.name)
def test_one_mistake_gives_one_message(path: Path) -> None:
    found = check_file(path).diagnostics
    code = code_of(path)
    if CODES[code].severity is Severity.ERROR:  # hints and warnings may stand beside it
        found = [item for item in found if item.severity is Severity.ERROR]
    assert [item.code for item in found] == [code]


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.name)
def test_findings_point_into_the_file_and_carry_the_severity_of_the_table(path: Path) -> None:
    result = check_file(path)
    size = len(result.source.text)
    for item in result.diagnostics:
        spans = [item.span, *(r.span for r in item.related), *(e.span for e in (item.fix.edits if item.fix else ()))]
        assert all(0 <= span.start <= span.end <= size for span in spans)
        assert item.severity is CODES[item.code].severity


def test_each_code_has_a_golden_file_or_a_test_elsewhere() -> None:
    golden = {code_of(path) for path in sources()}
    assert golden <= CODES.keys()
    assert golden | ELSEWHERE.keys() == CODES.keys()
    assert not golden & ELSEWHERE.keys()


@pytest.mark.parametrize(("code", "place"), ELSEWHERE.items(), ids=str)
def test_the_test_elsewhere_exists(code: str, place: str) -> None:
    file, _, name = place.partition("::")
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert code in ast.unparse(functions[name])


def test_no_expectation_is_left_over() -> None:
    wanted = {expected_path(path) for path in sources()} | set(sources())
    assert files(FOLDER) == wanted
