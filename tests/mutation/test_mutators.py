"""The mutation tester, on small modules."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from .mutators import mutants_of, mutate

ROOT = Path(__file__).resolve().parents[2]

CHANGES = {
    "a < b": {"a <= b", "a >= b"},
    "a == b": {"a != b"},
    "a is not b": {"a is b"},
    "a in b": {"a not in b"},
    "a < b == c": {"a <= b == c", "a >= b == c", "a < b != c"},
    "a + b": {"a - b"},
    "a // b": {"a * b"},
    "a | b": {"a & b"},
    "A | None": set(),
    "a and b": {"a or b"},
    "not a": {"a"},
    "-a": {"a"},
    "a[b:]": {"a[:]", "a[b + 1:]"},
    "a[0:1]": {"a[0:]", "a[1:1]", "a[-1:1]", "a[0:2]", "a[0:0]"},
    "a[0]": {"a[1]"},
    "3": {"4", "2"},
    "True": {"False"},
    "'text'": set(),
    "f'{a + 1}'": set(),
    "'a' + b[1]": set(),
    "', '.join(a[1:])": set(),
    "f(a, b=c)": {"f(a)"},
    "f(a, doc='c')": set(),
    "f(**a)": set(),
    "zip(a, b, strict=True)": set(),
    "cast(A[1], b[1])": {"cast(A[1], b[2])", "cast(A[1], b[0])"},
    "a if b else c": {"a if True else c", "a if False else c"},
    "[a for a in b if c]": {"[a for a in b if True]"},
}


@pytest.mark.parametrize("source", CHANGES)
def test_expressions(source: str) -> None:
    # Assigned to a name, so that no mutant drops it.
    assert mutations(f"x = {source}") == {f"x = {change}" for change in CHANGES[source]}


STATEMENTS = {
    "return a": {"return None"},
    "return None": set(),
    "return (a, b)": {"return None", "return (b, a)"},
    "raise E": {"pass"},
    "raise AssertionError('never')": set(),
    "f(a)": {"pass"},
    "a += b": {"a -= b", "pass"},
    "a = b": set(),
    "a.b = c": {"pass"},
    "yield a": {"pass"},
    "del a": {"pass"},
    "assert a < 1": set(),
    "while a: f": {"while False:\n    f"},
    "while True: continue": {"while True:\n    break", "while False:\n    continue"},
    "if a: f": {"if True:\n    f", "if False:\n    f"},
    "if TYPE_CHECKING: f(1)": set(),
    "if __name__ == '__main__': f(1)": set(),
    "a: A[1]": set(),
    "__all__ = ['a', *b[1:]]": set(),
    "T = TypeVar('T', bound=int)": set(),
    "@overload\ndef f(a=1): ...": set(),
    "@d(1)\ndef f(a: A[1]) -> A[1]: 'text'": set(),
    "def f(a=1): pass": {"def f(a=2):\n    pass", "def f(a=0):\n    pass"},
    "@d(frozen=True)\nclass A(B[1]): c: int = 1": {
        "@d(frozen=True)\nclass A(B[1]):\n    c: int = 2",
        "@d(frozen=True)\nclass A(B[1]):\n    c: int = 0",
    },
    "match a:\n    case b if c: f": {"match a:\n    case b if True:\n        f"},
    "a.b = c  # pragma: no mutate: nobody reads it": set(),
}


@pytest.mark.parametrize("source", STATEMENTS)
def test_statements(source: str) -> None:
    assert mutations(source) == STATEMENTS[source]


def mutations(source: str) -> set[str]:
    """A module's mutants, as text."""
    return {ast.unparse(mutate(source, mutant)) for mutant in mutants_of(source, "m.py")}


FUNCTIONS = """
a = 1
def f(b=2):
    c = 3
    @deco
    def g():
        return 4
    return [5 for _ in c]
class A:
    def h(self):
        return 6
"""


def test_a_mutant_knows_the_function_that_runs_it() -> None:
    found = {mutant.before: mutant.function for mutant in mutants_of(FUNCTIONS, "m.py") if mutant.kind == "number"}
    assert found == {"1": None, "2": None, "3": 3, "4": 5, "5": 3, "6": 10}


def test_a_mutant_is_reported_on_one_line() -> None:
    (mutant,) = mutants_of("x = y\nif (\n    a\n    not in b): pass", "some/m.py")[:1]
    assert str(mutant) == "some/m.py:3  a not in b  ->  True"


def test_every_mutant_of_a_real_module_compiles_and_differs() -> None:
    source = (ROOT / "tests" / "mutation" / "mutators.py").read_text(encoding="utf-8")
    original = ast.dump(ast.parse(source))
    mutants = mutants_of(source, "m.py")
    assert len(mutants) > 100
    for mutant in mutants[::5]:
        tree = mutate(source, mutant)
        assert ast.dump(tree) != original, mutant
        compile(tree, "m.py", "exec")


TOY = dedent(
    """
    LIMIT = 3

    def clip(x: int) -> int:
        if x > LIMIT:
            return LIMIT
        return x

    def endless(n: int) -> int:
        while n:
            n -= 1
        return n

    def shared() -> int:
        return 7

    def unreached() -> bool:
        return True
    """
)
TOY_TESTS = dedent(
    """
    import os
    import pytest
    from toy import mod

    @pytest.fixture(scope="module")
    def seven():
        return mod.shared()

    def test_first(seven):
        pass

    def test_seven(seven):
        assert seven == 7

    def test_clip():
        assert mod.clip(4) == 3

    def test_small():
        assert mod.clip(1) == 1

    def test_endless():
        assert mod.endless(3) == 0
    """
)


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "__init__.py").touch()
    (tmp_path / "toy" / "mod.py").write_text(TOY, encoding="utf-8")
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "test_toy.py").write_text(TOY_TESTS, encoding="utf-8")
    return tmp_path


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(toy: Path) -> Run:
    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "tests.mutation",
            "--root",
            str(toy),
            "--target",
            "toy/*.py",
            "--tests",
            "checks",
        ]
        return subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, check=False)

    return run


@pytest.mark.slow
def test_from_end_to_end(run: Run, toy: Path) -> None:
    before = {path: path.read_bytes() for path in toy.rglob("*.py")}
    # Stuck mutants are waited for; an honest one needs a small part of these seconds of work.
    done = run("--at-least", "50", "--timeout", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path: path.read_bytes() for path in toy.rglob("*.py")} == before
    (file,) = (toy / "benchmarks" / "results").glob("mutation-????-??-??.json")
    result = json.loads(file.read_text(encoding="utf-8"))
    part = result["files"]["toy/mod.py"]
    survivors = {(item["before"], item["after"]): item["reached"] for item in part["survivors"]}
    assert survivors == {
        # clip(3) is 3 either way, so this one changes nothing.
        ("x > LIMIT", "x >= LIMIT"): True,
        # endless() ends at 0 whenever it ends.
        ("return True", "return None"): False,
        ("True", "False"): False,
    }
    assert part["timeouts"] == 4
    assert result["mutants"] == part["mutants"] == part["killed"] + 3
    assert "toy/mod.py:5  x > LIMIT  ->  x >= LIMIT\n" in done.stdout
    assert "return True  ->  return None  (no test reaches it)" in done.stdout


@pytest.mark.slow
def test_a_low_share_and_a_failing_test_end_otherwise(run: Run, toy: Path) -> None:
    sample = ("--sample", "2", "--seed", "1")
    assert run(*sample, "--at-least", "101").returncode == 1
    (toy / "checks" / "test_toy.py").write_text("def test(): assert False", encoding="utf-8")
    done = run(*sample)
    assert done.returncode == 2
    assert "the tests must pass before anything is mutated" in done.stderr


@pytest.mark.slow
def test_samples_and_parts_are_listed_alike(run: Run) -> None:
    everything = run("--list").stdout.splitlines()
    sample = run("--list", "--sample", "4", "--seed", "5").stdout.splitlines()
    assert len(sample) == 4
    assert sample == [line for line in everything if line in sample]
    assert run("--list", "--sample", "4", "--seed", "5").stdout.splitlines() == sample
    assert run("--list", "--only", "toy/mod.py").stdout.splitlines() == everything
    assert run("--list", "--only", "toy").stdout.splitlines() == everything
    assert run("--only", "elsewhere").returncode == 2
