"""What Stepsmith says to what people and models write: one message for one mistake, by example of what was written.

``STEPSMITH_UPDATE_GOLDEN=1`` writes what is said now into the tables; read the difference before you commit it.
"""

from __future__ import annotations

import os

import pytest

from message_cases import FOLDER, Case, cases, checked, said, update
from stepcore.check import check_text
from stepcore.findings.diagnostics import Severity, apply_edits

ALL = list(cases())
UPDATES = os.environ.get("STEPSMITH_UPDATE_GOLDEN") == "1"
if UPDATES:
    update()
    ALL = list(cases())
# Words of Python, PyTorch and ours that no reader can do anything with.
FOREIGN = (
    "Traceback",
    "<class",
    "object at 0x",
    "unsupported operand",
    "NoneType",
    "StreamRef",
    "invalid syntax",
    "()'",
)


@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.table}: {case.title}")
def test_what_is_said(case: Case) -> None:
    assert said(case) == case.says


@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.table}: {case.title}")
def test_one_mistake_gives_one_message_with_a_way_out(case: Case) -> None:
    result = checked(case)
    text = case.says
    if result is not None:
        errors = [item for item in result.diagnostics if item.severity is not Severity.HINT]
        (found,) = errors or result.diagnostics
        text = found.message
        assert found.span.start < found.span.end or found.code == "STEP902"  # behind the end of a line
    assert not [word for word in FOREIGN if word in text]


def test_each_fix_mends_its_case() -> None:
    """A fix is what its author meant: applied, its finding is gone, and nothing else is wrong that was not before."""
    mended = 0
    for case in ALL:
        result = checked(case)
        for found in result.diagnostics if result is not None else []:
            if found.fix is None:
                continue
            assert result is not None
            text = apply_edits(result.source.text, list(found.fix.edits))
            again = check_text(text, result.source.path)
            assert (found.code, found.message) not in [(item.code, item.message) for item in again.diagnostics], case
            mended += 1
    assert mended > 20


def test_there_are_enough_of_them_and_their_titles_differ() -> None:
    assert len(ALL) >= 60
    assert len({(case.table, case.title) for case in ALL}) == len(ALL)
    assert {path.name for path in FOLDER.glob("*.txt")} == {case.table for case in ALL}
