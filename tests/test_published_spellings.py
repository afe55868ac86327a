"""Spellings in which people write published Python: each runs, is checked and verified alike, or is refused alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepcore.ide.analysis import analyze
from test_published import ONE, by_check, by_python, by_verify, errors, written

SYMBOLS = 'from sympy import symbols\n\nM, N = symbols("M, N", positive=True)'
INIT = 'super().__init__("Sum", input, output)'
TEST = ONE[ONE.index("def test_sum") :]
MAIN = "def main():" + TEST.removeprefix("def test_sum():").removesuffix("test_sum()\n").rstrip()
CASE = """
class TestSum(unittest.TestCase):
    def test_sum(self):
        E0 = prepare()
        S0 = prog(E0)
        self.assertEqual(S0.shape, [N])
        torch.testing.assert_close(S0.data[0], E0.data[0].sum(1))


unittest.main(argv=["x"], exit=False)
"""
RIGHT = {
    "symbols of a module": (SYMBOLS, "from sympy.abc import M, N"),
    "a module of symbols": (SYMBOLS, "import sympy.abc\n\nM, N = sympy.abc.M, sympy.abc.N"),
    "all of sympy": (SYMBOLS, SYMBOLS.replace("import symbols", "import *")),
    "the base by name": (INIT, INIT.replace("super().__init__(", "step.Fn.__init__(self, ")),
    "a main guard": (TEST, f'{MAIN}\n\n\nif __name__ == "__main__":\n    main()\n'),
    "an asynchronous main": (TEST, f"import asyncio\n\n\nasync {MAIN}\n\n\nasyncio.run(main())\n"),
    "a test case": (TEST, f"import unittest\n\n{CASE}"),
    "sizes by symbols of sympy": ("S0 = prog(E0)\n", "S0 = prog(E0)\n    assert S0.ctx[N] == 4 and S0.ctx['N'] == 4\n"),
    "symbols as keys": (
        "S0 = prog(E0)\n",
        "S0 = prog(E0)\n    n = symbols('N')\n    assert [{n: 4}[s] for s in S0.shape] == [4]\n",
    ),
    "a dictionary": ("S0 = prog(E0)\n", "S0 = {k: prog(v) for k, v in {'x': E0}.items()}['x']\n"),
}
TWICE = "A = prog(E0)\n{0}B = prog(E0)\n"
WRONG = {
    "in a method": f"""

class Case:
    def run(self):
        E0 = prepare()
        {TWICE.format("        ")}

Case().run()
""",
    "in a dictionary": "\n\nE0 = prepare()\nA = {n: prog(x) for n, x in {'a': E0}.items()}\nB = prog(E0)\n",
    "in a set": "\n\nE0 = prepare()\nA = {prog(x) for x in [E0]}\nB = prog(E0)\n",
    "in a case": "\n\nE0 = prepare()\nmatch 3:\n    case 3:\n        A = prog(E0)\nB = prog(E0)\n",
    "in a main": f"""
import asyncio


async def main():
    E0 = prepare()
    {TWICE.format("    ")}

asyncio.run(main())
""",
    "in a generator": """

E0 = prepare()


def both():
    for i in range(2):
        yield prog(E0)


A, B = both()
""",
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    """Each spelling as a file, with what plain Python ended it with: all in one process, which imports torch once."""
    folder = tmp_path_factory.mktemp("spellings")
    texts = {name: ONE.replace(old, new, 1) for name, (old, new) in RIGHT.items()}
    texts |= {name: ONE + more for name, more in WRONG.items()}
    files = {name: written(folder, f"spelled{number}", text) for number, (name, text) in enumerate(texts.items())}
    found = by_python(*files.values())
    return {name: (file, found[str(file)]) for name, file in files.items()}


@pytest.mark.parametrize("name", RIGHT)
def test_a_spelling_that_runs_is_right_everywhere(name: str, runs: dict[str, tuple[Path, str]]) -> None:
    file, ended = runs[name]
    assert RIGHT[name][0] in ONE
    assert ended == ""
    assert errors(file) == []
    assert analyze(file.read_text(encoding="utf-8"), str(file)).diagnostics == by_check(file).diagnostics
    row = by_verify(file)
    # A check of unittest is none of ours, and neither is one behind it.
    assert row["accepted"] or row["functional"]["code"] == "STEP411", row


@pytest.mark.parametrize("name", WRONG)
def test_a_stream_that_is_read_twice_is_found_wherever_python_has_it(
    name: str, runs: dict[str, tuple[Path, str]]
) -> None:
    file, ended = runs[name]
    assert ended.startswith("StepError: STEP101")
    assert errors(file) == ["STEP101"]
    assert not by_verify(file)["accepted"]


def test_a_main_guard_is_followed_as_it_runs_and_timed(tmp_path: Path) -> None:
    old, new = RIGHT["a main guard"]
    script = by_check(written(tmp_path, "guarded", ONE.replace(old, new, 1))).script
    assert script is not None
    assert script.runnable


def test_streams_that_a_method_makes_are_no_part_of_what_is_timed(tmp_path: Path) -> None:
    method = "\n\nclass Case:\n    def run(self):\n        return prog(prepare())\n"
    script = by_check(written(tmp_path, "apart", ONE + method)).script
    assert script is not None
    assert script.diagnostics == []
    assert not script.runnable


def test_a_stream_from_outside_is_unknown_in_a_method(tmp_path: Path) -> None:
    outside = (
        "\n\nE0 = prepare()\nA = prog(E0)\n\n\nclass Case:\n    def run(self, E1):\n        return prog(E0), prog(E1)\n"
    )
    assert errors(written(tmp_path, "outside", ONE + outside)) == []
