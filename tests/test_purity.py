"""What bodies must not do besides computing: bind predeclared names, return generators, change what global made."""

from __future__ import annotations

import pytest

from stepcore.check.files import check_text
from stepcore.printing.code_lines import broken
from test_faults import PYTHON, TASK


def codes(text: str) -> list[str]:
    return [item.code for item in check_text(text, "case.step.yaml").diagnostics]


def with_global(code: str, text: str = TASK) -> str:
    return "global: |\n" + "".join(f"  {line}\n" for line in code.splitlines()) + text


def with_body(code: str) -> str:
    return TASK.replace("    return [input[0] * 2]\n", "".join(f"    {line}\n" for line in code.splitlines()))


REBOUND = [
    "torch = 3", "z = [torch := 1 for i in range(1)]", "input_data = {}", "ctx = {}", "Symbol = 1", "torch: int = 3",
    "for torch in range(2):\n  pass", "z = [ctx for ctx in range(2)]", "def torch(x):\n  return x",
    "def f(input_data):\n  return 1", "f = lambda ctx: 1", "a, torch = 1, 2",
]  # fmt: skip


@pytest.mark.parametrize("code", REBOUND)
def test_predeclared_names_are_not_bound_anew(code: str) -> None:
    assert codes(with_global(code)) == ["STEP302"]
    assert codes(with_body(f"{code}\nreturn [input[0] * 2]")) == ["STEP302"]


def test_sizes_are_made_in_global() -> None:
    assert codes(with_global('E = Symbol("E")\nE_value = 3\nctx[E] = E_value\nM_value = 6\nctx[M] = M_value')) == []


@pytest.mark.parametrize(
    "code",
    [
        "return (x * 2 for x in input)", "g = (x for x in input)\nreturn [x * 2 for x in g]",
        "return [len((x for x in input)) * input[0]]", "return [torch.stack((x for x in input))[0] * 2]",
    ],
)  # fmt: skip
def test_generators_that_are_kept_are_refused(code: str) -> None:
    assert codes(with_body(code)) == ["STEP302"]


@pytest.mark.parametrize(
    "code",
    [
        "return [sum(x * 2 for x in input)]", "return list(x * 2 for x in input)", "return [*(x * 2 for x in input)]",
        "return [x * 2 for x in (y for y in input)]", "for x in (y for y in input):\n  pass\nreturn [input[0] * 2]",
    ],
)  # fmt: skip
def test_generators_that_are_used_up_at_once_are_fine(code: str) -> None:
    assert codes(with_body(code)) == []


def test_a_program_returns_no_generator() -> None:
    text = TASK.replace("return step.Map(fn=fn_f).apply(E0)", "return (step.Map(fn=fn_f).apply(x) for x in [E0])")
    assert codes(text) == ["STEP220"]
    fine = TASK.replace("return step.Map", "a, = list(x for x in [E0])\n  return step.Map").replace("(E0)\n", "(a)\n")
    assert codes(fine) == []


@pytest.mark.parametrize("code", ["ctx[M] = 1", "c = ctx\n  c[M] = 1"])
def test_a_program_binds_no_sizes(code: str) -> None:
    assert codes(TASK.replace("  return step.Map", f"  {code}\n  return step.Map"))[:1] == ["STEP220"]


@pytest.mark.parametrize("change", ["c.append(1)", "c[0] = 1", "c[0] += 1", "c.pop()"])
def test_what_global_made_is_not_changed_by_functions(change: str) -> None:
    body = with_body(f"{change}\nreturn [input[0] * 2]")
    assert codes(with_global("c = [0]", body)) == ["STEP310"]
    assert codes(with_global("c = [0]", body.replace(f"    {change}", f"    c = [0]\n    {change}"))) == []
    assert codes(with_global(f"c = [0]\ndef f(x):\n  {change}\n  return x")) == ["STEP310"]
    assert codes(with_global(f"c = [0]\ndef f(c):\n  {change}\n  return c")) == []
    assert codes(with_global(f"c = [0]\n{change}")) == []


@pytest.mark.parametrize("layout", ["__import__('os')", "x[m, k]: read [i0 *", "x[M, N]: stuff [a]"])
def test_a_layout_that_cannot_be_read_is_a_finding(layout: str) -> None:
    text = TASK.replace("data_gen: torch.randn}", f'data_gen: torch.randn, layout: "{layout}"}}')
    assert codes(text) == ["STEP907"]
    assert codes(TASK.replace("  dims: [M, N]\n", f'  dims: [M, N]\n  layout: "{layout}"\n')) == ["STEP907"]


def test_a_long_text_is_broken_in_time_that_its_length_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    from stepcore.printing import code_lines

    seen: list[int] = []
    plain = code_lines.literal

    def counted(text: str) -> str:
        seen.append(len(text))
        return plain(text)

    monkeypatch.setattr(code_lines, "literal", counted)
    broken(f"f(name={'A' * 20_000!r})", 0, 0)
    assert sum(seen) < 40 * 20_000


def test_an_element_function_calls_nothing_that_was_imported_from_elsewhere() -> None:
    text = PYTHON.replace("    return [input", "    system('true')\n    return [input")
    found = check_text("from os import system\n" + text, "case.py").diagnostics
    assert [item.code for item in found] == ["STEP304"]
    assert check_text("from os import system\n" + PYTHON, "case.py").diagnostics == []


@pytest.mark.parametrize(
    "change", ["input_data.clear()", "d = input_data\nd.clear()", "input_data.pop('E0')", "ctx.clear()", "ctx.pop(M)"]
)
def test_global_empties_neither_the_data_nor_the_sizes(change: str) -> None:
    assert codes(with_global(change)) == ["STEP310"]
