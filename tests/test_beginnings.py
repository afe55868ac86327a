"""How a file begins is read once for all texts that begin so, and nothing shows that it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepcore.findings import budget
from stepcore.findings.budget import Budget
from stepcore.fn.source import node_span
from stepcore.frontend.beginnings import MOST_BLOCKS
from stepcore.frontend.python import ModuleFacts, PyModule, read_module, reader
from stepcore.frontend.syntax import parse_suite, split_blocks, unmarked
from stepcore.frontend.values import Helper

ROOT = Path(__file__).parents[1]
FILES = [*sorted((ROOT / "examples").glob("*.py")), *sorted((ROOT / "tests/golden/check").glob("*.py"))]
HEADER = (
    "import stepcore as step\nfrom stepcore.dims import D, M\n\nROW, T = step.Tile('fp32', [1, D]), step.dyn('T')\n"
)


def told(module: PyModule, own: Budget) -> list[Any]:
    """Return all that reading a text came to."""
    names = module.scope.names
    return [
        [(name, type(value), str(value) if type(value) is not Helper else "") for name, value in names.items()],
        [(node_span(item.code, item.node), type(item.value), item.is_store) for item in module.seen],
        module.diagnostics,
        [(program.spec, program.op_module, program.inputs) for program in module.programs],
        (module.fn_scope.symbols, module.fn_scope.modules, module.fn_scope.parameters, module.op_module),
        None if module.fn_scope.prelude is None else module.fn_scope.prelude.source.text,
        module.imports_stepcore,
        [statement.lineno for statement, _ in module.scope.imports.statements] if module.scope.imports else None,
        (own.left, own.looks),
    ]


def read(text: str, others: ModuleFacts | None = None, left: int = 100_000) -> list[Any]:
    with budget.using(Budget(left)) as own:
        return told(read_module(text, "file.py", others), own)


def shared(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many blocks of a text are read as a beginning."""
    counts: list[int] = []
    begin = reader._Reader._begin

    def counted(own: reader._Reader, blocks: list[tuple[int, str]]) -> int:
        counts.append(begin(own, blocks))
        return counts[-1]

    monkeypatch.setattr(reader._Reader, "_begin", counted)
    read_module(text, "file.py")
    monkeypatch.undo()
    return counts[-1]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_reads_the_same_whether_its_beginning_is_known(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = path.read_text(encoding="utf-8")
    first, again = read(text), read(text)
    monkeypatch.setattr(reader, "_beginning", lambda *_: None)
    alone = read(text)
    assert first == again == alone


def test_most_files_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shared(HEADER, monkeypatch) == 3
    assert shared('"""What it is."""\n\n' + HEADER, monkeypatch) == 4
    examples = [path for path in FILES if path.parent.name == "examples"]
    assert all(shared(path.read_text(encoding="utf-8"), monkeypatch) > 1 for path in examples)


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("sizes = [M, D]", 3),  # a program may change it
        ("double = lambda x: x + x", 3),  # it holds its text
        ("COLUMN = step.Tile('fp32', [D, 1.5])", 3),  # a finding, which each file gets
        ("COLUMN = step.Tile('fp32'", 3),  # a line that cannot be read
        ("def helper(x): return x", 3),
        ("COLUMN = step.Tile('fp32', [D, 1])", 4),
        ("COUNT: int = 4", 4),
    ],
)
def test_what_may_be_shared_ends_where_texts_may_differ(line: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shared(f"{HEADER}{line}\n", monkeypatch) == count


def test_a_long_beginning_is_shared_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    text = HEADER + "".join(f"A{number} = {number}\n" for number in range(2 * MOST_BLOCKS))
    assert shared(text, monkeypatch) == MOST_BLOCKS
    known = read(text)
    monkeypatch.setattr(reader, "_beginning", lambda *_: None)
    assert known == read(text)


def test_a_name_of_another_program_stands_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = HEADER + "other = rows\n"
    read(text)  # nothing is named rows there
    others = ModuleFacts(programs=frozenset({"rows"}))
    known = read(text, others)
    monkeypatch.setattr(reader, "_beginning", lambda *_: None)
    assert known == read(text, others) != read(text)


def test_a_budget_ends_at_the_same_place(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [(HEADER, left) for left in range(40)]
    known = [read(text, left=left) for text, left in texts]
    monkeypatch.setattr(reader, "_beginning", lambda *_: None)
    assert known == [read(text, left=left) for text, left in texts]
    assert any(found[-1][0] <= 0 for found in known), "some end in there"


def test_two_files_do_not_share_what_they_add() -> None:
    one = read_module(HEADER + "def f(x): return x\n", "one.py")
    other = read_module(HEADER + "def g(x): return x\n", "other.py")
    assert "f" not in other.scope.names
    assert "g" not in one.scope.names
    assert one.scope.names["ROW"] is other.scope.names["ROW"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_text_reads_the_same_whether_its_blocks_are_known(path: Path) -> None:
    text = unmarked(path.read_text(encoding="utf-8"))
    every = [block for _, block in split_blocks(text)]
    blocks = [block for block in every if not parse_suite(block).faults]  # where those end depends on what follows
    assert blocks
    whole = "".join(blocks)
    assert [block for _, block in split_blocks(whole)] == blocks
    with budget.using(Budget(100_000)) as own:
        known = told(read_module(whole, "file.py", blocks=blocks), own)
    assert known == read(whole)
