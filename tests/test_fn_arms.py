"""A name that two arms of a condition bind to tensors of different shapes is followed with each of them."""

from __future__ import annotations

import pytest

from stepcore.check.files import check_text
from test_purity import codes, with_body

BOTH = "  y = input[0]\nelse:\n  y = torch.stack([input[0], input[0]])\n"
STACKED = "y = input[0]\nif input[0] > 0:\n  y = torch.stack([y, y])\n"
WRONG = {
    f"if input[0] > 0:\n{BOTH}return [y]": "where input[0] > 0 does not hold",
    f"if input[0] > 0:\n{BOTH}z = y + 1\nreturn [z * 2]": "where input[0] > 0 does not hold",
    f"{STACKED}return [y]": "where input[0] > 0 holds",
    f"{STACKED}for i in range(2):\n  z = y + torch.ones(3)\nreturn [y.sum()]": "where input[0] > 0 holds",
    f"if M_value > 0:\n  {STACKED.replace(chr(10), chr(10) + '  ')}x = 1\nreturn [y]": "where input[0] > 0 holds",
    "y = input[0]\nif input[0] > 0:\n  y = y > 0\nreturn [y]": "found    bool\n  where input[0] > 0 holds",
    f"if M_value > 6:\n{BOTH}return [y]": "where M_value > 6 does not hold",
    f"if not M_value <= 6:\n{BOTH}return [y]": "where not M_value <= 6 does not hold",
}
RIGHT = [
    f"if M_value > 3:\n{BOTH}return [y]", f"{STACKED}return [y.sum()]",
    f"{STACKED}if input[0] > 0:\n  y = y[0]\nreturn [y]", f"{STACKED}return [y[0] if input[0] > 0 else y]",
    f"{STACKED}if input[0] > 0:\n  return [y[0]]\nreturn [y]",
    f"{STACKED}z = input[0] if input[0] > 0 else y\nreturn [z]",
    "y = input[0]\nif M_value > 6:\n  if input[0] > 1:\n    y = torch.stack([y, y])\nreturn [y]",
    f"{STACKED}for i in range(1):\n  if input[0] > 0:\n    return [y[0]]\nreturn [y]",
]  # fmt: skip


@pytest.mark.parametrize("code", WRONG)
def test_what_one_arm_makes_wrong_is_found_with_the_arm(code: str) -> None:
    (found,) = check_text(with_body(code), "case.step.yaml").diagnostics
    assert found.code == "STEP306"
    assert WRONG[code] in found.message


@pytest.mark.parametrize("code", RIGHT)
def test_arms_that_go_together_and_arms_that_no_size_takes_are_left_alone(code: str) -> None:
    assert codes(with_body(code)) == []
