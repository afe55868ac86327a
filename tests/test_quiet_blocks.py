"""Blocks that only import or hold functions of ours are searched for nothing: what is read of a file stays the same."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from stepcore.frontend import changes
from stepcore.frontend.python import read_module, reader
from stepcore.frontend.python.module import PyModule

ROOT = Path(__file__).parents[1]
HEAD = "import stepcore as step\nfrom stepcore.dims import M, N\n"
PROGRAM = """
@step.program()
def same(a: step.Annotated[step.Stream, step.f32, (M, N)]):
    return step.Map(fn=double).apply(a)
"""
FN = "\n@step.fn(input=step.f32, output=step.f32)\ndef double(input):\n    return [input[0] * {factor}]\n"
QUIET = [
    "import torch\n",
    "from __future__ import annotations\n",
    "import torch.nn.functional as F, math\n",
    "from typing import Annotated, Any\n",
    FN.format(factor=2),
    PROGRAM,
    "class Sum(step.Fn):\n    def apply(self, input):\n        return [input[0]]\n",
]
LOUD = [
    "c = 2\n",
    "c: float = 2\n",
    "import helpers\n",
    "from helpers import c\n",
    "from numpy import *\n",
    "from torch.backends import modules\n",
    "from builtins import exec\n",
    "if True:\n    c = 2\n",
    "print(c := 2)\n",
    "def helper(x):\n    return x\n",
    "def helper():\n    global c\n    c = 2\n",
    "for c in range(3):\n    pass\n",
    "@step.fn(input=step.f32, output=step.f32)\ndef double(input):\n    return [input[0] * (c := 2)]\n",
    "@step.fn(input=step.f32, output=step.f32)\ndef double(input):\n    exec('c = 3')\n    return [input[0]]\n",
    "@other\ndef helper(x):\n    return x\n",
    "class Other:\n    pass\n",
    "import torch; c = 2\n",
    "del torch\n",
    "assert (c := 3)\n",
    "c = globals()\n",
]


@pytest.mark.parametrize("text", QUIET)
def test_most_blocks_are_quiet(text: str) -> None:
    assert changes.is_quiet(text)


@pytest.mark.parametrize("text", LOUD)
def test_what_may_bind_or_change_something_is_not(text: str) -> None:
    assert not changes.is_quiet(text)


def read(text: str, path: str = "a.py") -> dict[str, object]:
    module: PyModule = read_module(text, path)
    return {
        "scope": asdict(module.fn_scope),
        "unfollowed": module.scope.unfollowed,
        "names": {name: repr(value) for name, value in module.scope.names.items()},
        "findings": module.diagnostics,
        "programs": [program.spec for program in module.programs],
    }


def same_both_ways(text: str, monkeypatch: pytest.MonkeyPatch, path: str = "a.py") -> bool:
    """Whether ``text`` is quiet as a whole; it has to be read alike if nobody asks."""
    asked: list[bool] = []

    def noted(block: str) -> bool:
        asked.append(changes.is_quiet(block))
        return asked[-1]

    with monkeypatch.context() as patch:
        patch.setattr(reader, "is_quiet", noted)
        found = read(text, path)
    with monkeypatch.context() as patch:
        patch.setattr(reader, "is_quiet", lambda _block: False)
        assert read(text, path) == found
    return all(asked)


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/**/*.py")), ids=lambda path: path.name)
def test_examples_are_read_alike(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same_both_ways(path.read_text(encoding="utf-8"), monkeypatch, str(path))


@pytest.mark.parametrize("more", ["", *QUIET[:4], *LOUD])
def test_files_with_one_more_block_are_read_alike(more: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = same_both_ways(HEAD + more + FN.format(factor="c" if more else 2) + PROGRAM, monkeypatch)
    assert quiet is (more not in LOUD)
    same_both_ways(HEAD + FN.format(factor="c") + more + PROGRAM, monkeypatch)
    same_both_ways(HEAD + FN.format(factor="c") + PROGRAM + more, monkeypatch)


def test_names_that_are_bound_again_are_seen_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = HEAD + FN.format(factor=2) + PROGRAM
    for again in (FN.format(factor=3), "from stepcore.dims import K as M\n", PROGRAM, "import torch as step\n"):
        assert same_both_ways(text + again, monkeypatch)
        assert same_both_ways(HEAD + again + FN.format(factor=2) + PROGRAM, monkeypatch)
