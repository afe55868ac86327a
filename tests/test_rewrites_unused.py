"""Functions that rewrites declared and took out of use again go without a trace; those of the user stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimized_programs import optimizable_task
from stepcore.findings.diagnostics import apply_edits
from stepcore.rewrites import RewriteSubject, subject_of
from stepcore.rewrites.functions import NewFunction, declared
from stepcore.rewrites.unused import tidied, without_twins, without_unused

_MODULE = (Path(__file__).parents[1] / "examples" / "rms_norm.py").read_text()
_USERS = '''\
@step.fn(input=step.f32, output=step.f32)
def idle(input):
    return [input[0] + 1]


'''  # fmt: skip

_TASK = """\
test_name: rows
inputs:
- {name: E0, dtype: fp32, dims: [M, N], data_gen: torch.rand}
fns:
- name: fn_double
  func_name: fn_double
  input_dtype: fp32
  output_dtype: fp32
  apply: return [input[0] + input[0]]
outputs:
- {name: S0, dtype: fp32, dims: [M, N], data_transform: ["input_data['E0'] * 2"]}
impl: |-
  return step.Map(fn=fn_double).apply(E0)
"""


def _subject(path: str, text: str) -> RewriteSubject:
    found = subject_of(text, path, "rms_norm" if path.endswith(".py") else "rows")
    assert found is not None
    return found


def _with_functions(subject: RewriteSubject, *bodies: tuple[str, str]) -> str:
    kind = f"{subject.module}f32" if subject.result.task is None else "fp32"
    made = [NewFunction(name, ("input",), (kind,), kind, (body,)) for name, body in bodies]
    edit = declared(subject, made)
    assert edit is not None
    return apply_edits(subject.text, [edit])


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("rms_norm.py", _MODULE.replace("@step.program", f"{_USERS}# A note.\n@step.program")),
        ("rows.step.yaml", optimizable_task(3).replace("test_name: twice", "test_name: rows")),
    ],
)
def test_what_rewrites_declared_and_no_longer_use_goes_without_a_trace(path: str, text: str, newline: str) -> None:
    text = text.replace("\n", newline)
    subject = _subject(path, text)
    bodies = [("twice_1", "return [input[0] * 2]"), ("thrice_1", "return [input[0] * 3]")]
    grown = _with_functions(subject, *bodies)
    assert "thrice_1" in grown and without_unused(subject, grown, text) == text
    assert without_unused(subject, grown, grown) == grown  # all of it is its user's
    assert without_unused(subject, text, text) == text


def test_what_is_named_anywhere_else_stays() -> None:
    subject = _subject("rms_norm.py", _MODULE)
    grown = _with_functions(subject, ("twice_1", "return [input[0] * 2]"))
    for text in (grown.replace("step.Map(fn=scale)", "step.Map(fn=twice_1)"), f"{grown}\nKEPT = twice_1\n"):
        assert without_unused(subject, text, _MODULE) == text


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("path", "text", "use"),
    [
        ("rms_norm.py", _MODULE, "step.Map(fn=square)"),
        ("rows.step.yaml", _TASK, "step.Map(fn=fn_double)"),
    ],
)
def test_a_function_that_says_what_another_says_is_not_there_twice(
    path: str, text: str, use: str, newline: str
) -> None:
    """The second program of a file that was made faster declared the functions of the first one again."""
    text = text.replace("\n", newline)
    earlier = _with_functions(_subject(path, text), ("twice_1", "return [input[0] * 2]"))
    bodies = ("twice_2", "return [input[0] * 2]"), ("thrice_1", "return [input[0] * 3]")
    grown = _with_functions(_subject(path, earlier), *bodies)
    used = grown.replace(use, use.replace(use.partition("=")[2], "twice_2)"))
    found = without_twins(_subject(path, earlier), used, earlier)
    assert used != grown and "twice_2" not in found and "fn=twice_1)" in found and "thrice_1" in found
    assert tidied(_subject(path, earlier), used, earlier) == earlier.replace(
        use, use.replace(use.partition("=")[2], "twice_1)")
    )
    assert without_twins(_subject(path, earlier), used, used) == used  # both are its user's
