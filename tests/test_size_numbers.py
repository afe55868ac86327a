"""A size is a symbol in programs, and its number has a name of its own; checker and Python agree on which is which.

The checker knows the number of each size. Where it took ``M`` for it, Python compared a symbol or raised an error: a
task was judged as one program, and its converted file ran as another. So sizes are refused where numbers are needed,
with the fix that writes the number, and what is accepted is the same in the task, in its converted file and in Python.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch

from stepcore.check import check_text
from stepcore.check.sized import at_dims
from stepcore.conversion.to_python import task_to_python
from stepcore.conversion.to_task import python_to_task
from stepcore.findings.diagnostics import Diagnostic, Severity, apply_edits
from stepcore.frontend.python import read_module
from stepcore.frontend.values import ContextSizes
from stepcore.frontend.yaml.tasks import read_task
from stepcore.sizes.dim import Dim
from test_program_semantics import Programs, elaborated, executed, plain, readable

HEAD = """\
{prelude}inputs:
- {{name: E0, dtype: fp32, dims: [N, M], data_gen: torch.randn}}
fns:
- {{name: Twice, func_name: twice, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0] * 2]"}}
- {{name: Same, func_name: same, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0]]"}}
outputs:
- name: S0
  dtype: fp32
  dims: [N, M]
  data_transform: ["input_data['E0'] * 2"]
impl: |
"""
TWICE = "return step.Map(fn=twice).apply(E0)"
PYTHON = """\
import torch
import stepcore as step
from stepcore.dims import K, M, N
from typing import Annotated

@step.fn(input=step.f32, output=step.f32)
def twice(input):
    return [input[0] * 2]

def reference(x: torch.Tensor) -> torch.Tensor:
    return x * 2

@step.program(reference=reference, dims={{M: 5, K: 9, N: 7}})
def p(E0: Annotated[step.Stream, step.f32, (N, M)]) -> Annotated[step.Stream, step.f32, (N, M)]:
{body}
"""


def task(body: str, prelude: str = "") -> str:
    lines = "".join(f"  {line}\n" for line in prelude.splitlines())
    return HEAD.format(prelude=f"global: |\n{lines}" if lines else "") + "".join(
        f"  {line}\n" for line in body.splitlines()
    )


def python(body: str) -> str:
    return PYTHON.format(body="\n".join(f"    {line}" for line in body.splitlines()))


def errors(text: str, path: str = "a.step.yaml") -> list[Diagnostic]:
    return [item for item in check_text(text, path).diagnostics if item.severity is Severity.ERROR]


def mended(text: str, path: str) -> str:
    """Apply the fix of the first size that is used as a number until none is left."""
    for _ in range(9):
        found = next((item for item in errors(text, path) if "is a size, and" in item.message), None)
        if found is None:
            return text
        assert found.fix is not None, found
        text = apply_edits(text, list(found.fix.edits))
    raise AssertionError(text)


# Each takes a size where Python needs a number, {} where it stands; behind it what the same is with its number.
USES = {
    "equal": "1 if {} == 5 else 2",
    "unequal": "1 if {} != 5 else 2",
    "less": "1 if {} < 6 else 2",
    "between": "1 if 0 < {} < 6 else 2",
    "chained": "1 if 5 <= {} == 5 else 2",
    "a fraction": "1 if {} > 4.5 else 2",
    "two sizes": "1 if {} == N else 2",
    "among numbers": "1 if {} in (5, 6) else 2",
    "not in a range": "1 if {} not in range(9) else 2",
    "truth": "1 if {} - 5 else 2",
    "not": "not {} - 5",
    "and": "{} - 5 and 3",
    "or": "{} - 5 or 3",
    "a filter": "[i for i in range(3) if {} - 5]",
    "index": "[1, 2, 3, 4, 5, 6, 7, 8][{} - 2]",
    "index of a tuple": "(1, 2)[{} - 6]",
    "index of a range": "range(9)[{}]",
    "slice": "[1, 2, 3][: {} - 3]",
    "slice from": "[1, 2, 3][{} - 4 :]",
    "slice by": "[1, 2, 3][:: {} - 4]",
    "repeated": "[0] * {}",
    "one of many": "max(*[{}, 3])",
    "repeated from the left": "{} * (0, 1)",
    "range": "[i for i in range({})]",
    "range from": "len(range(2, {}))",
    "enumerate": "list(enumerate([7], {}))",
    "enumerate by name": "list(enumerate([7], start={}))",
    "min": "min({}, 3)",
    "max": "max([{}, 3])",
    "int": "int({})",
    "abs": "abs({} - 7)",
    "pop": "[1, 2, 3, 4, 5, 6, 7].pop({} - 1)",
    "key": "{{5: 1, 6: 2, 4: 3}}[{}]",
    "in a helper's argument": "(lambda_ := 1) if {} == 5 else 2",
}


@pytest.mark.parametrize("use", USES)
def test_a_size_is_no_number_and_the_fix_writes_its_number(use: str) -> None:
    text = task(f"x = {USES[use].format('M')}\n{TWICE}")
    found = errors(text)
    assert {item.code for item in found} == {"STEP224"}
    assert "is a size, and" in found[0].message and "needs a number" in found[0].message, found[0].message
    body = f"x = {USES[use].format('M_value')}\n{TWICE}"
    assert mended(text, "a.step.yaml") == task(body.replace("== N", "== N_value"))


@pytest.mark.parametrize("use", USES)
def test_in_a_python_file_the_fix_takes_the_number_from_an_input(use: str) -> None:
    text = python(f"x = {USES[use].format('M')}\n{TWICE}")
    assert {item.code for item in errors(text, "a.py")} == {"STEP224"}
    body = f"x = {USES[use].format('E0.ctx[M]')}\n{TWICE}"
    assert mended(text, "a.py") == python(body.replace("== N", "== E0.ctx[N]"))


STATEMENTS = {
    "if": "if {} == 5:\n    x = 1",
    "while": "x = 0\nwhile x < {}:\n    x += 1",
    "while true": "x = 0\nwhile {} - 5:\n    x += 1",
    "stored": "x = [0] * 9\nx[{}] = 1",
    "repeated in place": "x = [0]\nx *= {}",
    "inserted": "x = [1]\nx.insert({}, 2)",
    "loop": "x = 0\nfor i in range({}):\n    x += 1",
    "helper": "def h(n):\n    return n + 1 if {} == 5 else n\nx = h(1)",
    "default": "def h(n={} == 5):\n    return n\nx = h()",
    "comprehension": "x = [j for i in range(2) for j in range({})]",
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements_too(statement: str) -> None:
    text = task(f"{STATEMENTS[statement].format('M')}\n{TWICE}")
    assert {item.code for item in errors(text)} == {"STEP224"}
    assert mended(text, "a.step.yaml") == task(f"{STATEMENTS[statement].format('M_value')}\n{TWICE}")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "s = 2 * M\nx = 1 if s == 10 else 2",
            "s is a size, and a comparison needs a number; write its number, 2*M_value",
        ),
        ("def h(s):\n    return 1 if s < 6 else 2\nx = h(M)", "s is a size, and a comparison needs a number"),
        ("x = [1 if s < 6 else 2 for s in (M, N)]", "s is a size, and a comparison needs a number"),
        ("x = 1 if E == 5 else 2", "E is a size, and a comparison needs a number; bind one in global: E_value = 4"),
        ("x = (M - M) == 0", "M - M is a size, and a comparison needs a number; write its number, 0"),
    ],
)
def test_where_no_fix_is_certain_the_message_says_what_to_write(body: str, message: str) -> None:
    found = errors(task(f"{body}\n{TWICE}"))
    assert found[0].message.startswith(message), found
    assert found[0].fix is None


@pytest.mark.parametrize(
    "body",
    [
        "x = M + 1\ny = [M, 2 * M, -M, +M, M // 2, sum([M, N, 1])]",
        "x = {M: 1, N: 2}[N]\ny = 1 if M in [N, M] else 2\nz = 1 if M in {M: 1} else 2",
        "x = f'{M}{2 * M}'\ny = 1 if x == 'M2*M' else 2",
        "x = ctx[M] + M_value\ny = E0.ctx[M] == M_value",
        "x = 1 if M is None else 2",
    ],
)
def test_sizes_stay_sizes(body: str) -> None:
    assert errors(task(f"{body}\n{TWICE}")) == []


@pytest.mark.parametrize(
    "body",
    [
        "x = E0.ctx",
        "x = len(E0.ctx)",
        "x = M in E0.ctx",
        "x = E0.ctx['M']",
        "x = E0.ctx[2 * M]",
        "x = E0.ctx[E]",
        "E0.ctx[M] = 3",
        "A, B = step.Copy().apply(E0)\nE0 = A\nx = B.ctx[M]",
        "x = [E0].ctx[M]",
    ],
)
def test_the_sizes_of_a_run_are_read_from_inputs_by_symbols_alone(body: str) -> None:
    found = errors(task(f"{body}\n{TWICE}"))
    assert found and {item.code for item in found} <= {"STEP220", "STEP224"}, found


# -- converted files ---------------------------------------------------------------------------------------------------

SIZES = ({"M": 5, "N": 7}, {"M": 6, "N": 7}, {"M": 4, "N": 3}, {"M": 2, "N": 2})


def doublings(text: str, path: str, dims: dict[str, int]) -> int | str:
    """Return how often the program in a text doubles its input, or the code of its first error at these sizes."""
    result = check_text(text, path)
    checked = at_dims(result, result.programs[0], dims, "strict")
    found = [item.code for item in checked.diagnostics if item.severity is Severity.ERROR]
    if found:
        return found[0]
    assert checked.graph.complete
    return sum("twice" in str(node.params.get("fn")) for node in checked.graph.nodes)


def in_python(text: str, folder: Path, dims: dict[str, int]) -> int | str:
    """Run a converted file in Python on tensors of other sizes."""
    file = folder / "converted.py"
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("converted", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    given = torch.ones(dims["M"], dims["N"])
    try:
        result = module.a.apply(given)
    except IndexError:
        return "STEP224"
    return int(torch.log2(result[0, 0]).item())


class Tasks(Programs):
    """Draws tasks that double their input as often as numbers of sizes say."""

    def number(self, depth: int = 0) -> str:
        if depth > 1 or self.random.random() < 0.4:
            return self.one("M_value", "N_value", "ctx[M]", "1", "2", "0")
        first, second = self.number(depth + 1), self.number(depth + 1)
        return self.one(
            f"({first} {self.one('+', '-', '*')} {second})",
            f"{first} {self.one('//', '%')} {self.one('2', '3')}",
            f"{self.one('min', 'max')}({first}, {second})",
            f"abs({first})",
            f"({first} if {self.condition(depth + 1)} else {second})",
            f"len([0] * {first})",
            f"len(range({first}, 9))",
            f"[1, 2, 3][{first}]",
            f"sum([{first}, {second}])",
            f"len([1, 2, 3, 4][:{first}])",
            f"{{5: 1, 6: 2}}[{self.one('M_value', first)}]",
        )

    def condition(self, depth: int = 0) -> str:
        """Return a test of numbers."""
        first, second = self.number(depth + 1), self.number(depth + 1)
        sign = self.one("==", "!=", "<", "<=", ">", ">=")
        return self.one(
            f"{first} {sign} {second}", f"{first} {self.one('in', 'not in')} (5, {second})", f"not {first}", first
        )

    def text(self) -> str:
        lines = ["A = E0"]
        for _ in range(self.random.randint(1, 3)):
            step = "A = step.Map(fn=twice).apply(A)"
            lines += self.one(
                f"for i in range({self.number()} % 4):\n    {step}",
                f"if {self.condition()}:\n    {step}",
                f"A = step.Map(fn=[same, twice, twice][{self.number()} % 3]).apply(A)",
                f"A = step.Map(fn=twice if {self.condition()} else same).apply(A)",
                f"for f in [twice, same, twice][: {self.number()} % 4]:\n    A = step.Map(fn=f).apply(A)",
                f"k = {self.number()}\nwhile 0 < k < 3:\n    {step}\n    k += 1",
            ).splitlines()
        return "\n".join([*lines, "return A"])


@pytest.mark.parametrize("seed", range(60))
def test_a_converted_file_is_the_task_at_all_sizes(seed: int, tmp_path: Path) -> None:
    texts = (Tasks(seed * 1000 + number).text() for number in range(100))
    body = next((each for each in texts if not errors(task(each))), None)
    assert body is not None
    text = task(body)
    converted = task_to_python(read_task(text, "a.step.yaml"))
    assert errors(converted, "a.py") == []
    for dims in SIZES:
        wanted = doublings(text, "a.step.yaml", dims)
        assert doublings(converted, "a.py", dims) == wanted, (body, dims)
        assert in_python(converted, tmp_path, dims) == wanted, (body, dims)
    module = read_module(converted, "a.py")
    again = read_task(python_to_task(module, module.programs[0]), "a.step.yaml")
    assert again.impl is not None and again.impl.source.text.strip() == body.replace("ctx[M]", "M_value")


def test_what_global_computes_from_sizes_follows_them_in_the_program(tmp_path: Path) -> None:
    prelude = "E = Symbol('E')\nE_value = ctx[M] - 4\nctx[E] = E_value"
    text = task("A = E0\nfor i in range(E_value):\n    A = step.Map(fn=twice).apply(A)\nreturn A", prelude)
    converted = task_to_python(read_task(text, "a.step.yaml"))
    for size, count in ((5, 1), (6, 2), (8, 4)):
        dims = {"M": size, "N": 7}
        assert doublings(text, "a.step.yaml", dims) == doublings(converted, "a.py", dims) == count
        assert in_python(converted, tmp_path, dims) == count


def test_a_fixed_size_stays_a_number_of_the_file(tmp_path: Path) -> None:
    prelude = "E = Symbol('E')\nE_value = 2\nctx[E] = E_value"
    text = task("A = E0\nfor i in range(E_value):\n    A = step.Map(fn=twice).apply(A)\nreturn A", prelude)
    converted = task_to_python(read_task(text, "a.step.yaml"))
    assert "ctx[" not in converted
    assert in_python(converted, tmp_path, {"M": 6, "N": 7}) == 2


# -- drawn programs beside Python -------------------------------------------------------------------------------------


class Sized(Programs):
    """Draws programs of numbers and sizes."""

    def number(self, depth: int = 0) -> str:
        if self.random.random() < 0.3:
            return self.one("M_value", "N_value", "ctx[M]", "s", "M", "M - 4", "(M + N)", "(K // 3)", "sum([s, M])")
        return super().number(depth)

    def text(self) -> str:
        return "s = M\n" + super().text()


def with_sizes(text: str, sizes: dict[str, int]) -> tuple[list[str], dict[str, Any]]:
    """Return the errors of a program that knows sizes, and the values of its names."""
    names: dict[str, Any] = {name: Dim.symbol(name) for name in sizes}
    names |= {f"{name}_value": size for name, size in sizes.items()}
    names["ctx"] = ContextSizes({Dim.symbol(name): size for name, size in sizes.items()})
    return elaborated(text, names, sizes)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("seed", range(2))
def test_drawn_programs_with_sizes_have_the_values_that_python_gives(seed: int) -> None:
    accepted = refused = 0
    for text in readable(Sized(seed * 10_000 + number).text() for number in range(300)):
        for size in (5, 4):
            sizes = {"M": size, "N": 7, "K": 9}
            found, values = with_sizes(text, sizes)
            refused += any("is a size, and" in message for message in found)
            if found:
                continue
            accepted += 1
            given = {name: Dim.symbol(name) for name in sizes} | {f"{name}_value": n for name, n in sizes.items()}
            try:
                expected = executed(text, {**given, "ctx": {Dim.symbol(name): n for name, n in sizes.items()}})
            except Exception as error:
                raise AssertionError(f"checked, but Python says {type(error).__name__}: {error}\n{text}") from error
            for name, value in expected.items():
                assert plain(values[name]) == plain(value), f"{name} differs\n{text}"
    assert accepted > 30 and refused > 30, (accepted, refused)
