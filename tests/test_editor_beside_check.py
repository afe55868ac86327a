"""The language server shows what ``stepsmith check`` finds: in texts that a client edits, of all kinds that it opens.

Line ends of all kinds, byte order marks, wide characters, tasks as JSON, notebooks, programs of generation 2.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from lsp_client import PULL, Client
from stepcore.check import check_text
from stepcore.findings.diagnostics import listed
from stepcore.ide.analysis import analyze
from stepcore.reports.json import as_json
from storm.edits import change

ROOT = Path(__file__).parents[1]
FILES, EDITS = 12, 5  # of each kind
_NO_TEXT = re.compile("[\0\ud800-\udfff]")  # which no file holds
_SEVERITIES = {"error": 1, "warning": 2, "information": 3, "hint": 4}
_GENERATION_2 = re.compile(r"Partition|Reassemble|EagerMerge|FlatMap|OffChipLoad|Tile|Feedback|Reshape")
_LINES_ELSEWHERE = ("%matplotlib inline\n", "!ls\n", "%%bash\necho E0\n", "   \n", "# x", "x = !ls", "?E0", "await f()")


def texts_of(kind: str, rng: random.Random) -> Iterator[str]:
    """Yield texts to begin with: those of examples and of golden files."""
    python = [*(ROOT / "examples").rglob("*.py"), *(ROOT / "tests/golden/check").rglob("*.py")]
    tasks = [*(ROOT / "benchmarks/tasks").glob("*.yaml"), *(ROOT / "tests/golden/check").rglob("*.step.yaml")]
    paths = tasks if kind in ("task", "json") else python
    texts = [path.read_text(encoding="utf-8") for path in sorted(paths)]
    if kind == "json":
        texts = [text for text in texts if " &" not in text]  # what aliases repeat, JSON would hold as often
    if kind == "generation 2":
        texts = [text for text in texts if _GENERATION_2.search(text)]
    rng.shuffle(texts)
    for text in texts:
        if kind == "json":
            try:
                yield json.dumps(YAML(typ="safe").load(text), indent=rng.choice([None, 2]), ensure_ascii=False)
            except (YAMLError, TypeError):
                continue
        else:
            yield strange(text, rng) if kind == "strange" else text


def strange(text: str, rng: random.Random) -> str:
    """Return a text with other line ends, a mark at its start, and characters of every width."""
    text = text.replace("import stepcore", "# 😀 語\u2028 x\f y\nimport stepcore", 1)
    text = re.sub(r"\bE1\b", "É1", text) if rng.random() < 0.5 else text
    ends = rng.choice([("\n",), ("\r\n",), ("\r",), ("\n", "\r\n", "\r")])
    return rng.choice(["", "\ufeff"]) + "".join(line + rng.choice(ends) for line in text.split("\n"))


def edited(text: str, rng: random.Random) -> tuple[str, dict[str, Any]]:
    """Return a text after a random change, and the change."""
    for _ in range(20):
        new, sent = change(rng, text, "utf-16")
        if not _NO_TEXT.search(new):
            return new, sent
    return text, {"text": text}


def checked(text: str, path: str) -> list[tuple[Any, ...]]:
    """Return what the command finds, with the positions of its report."""
    result = check_text(text, path)
    found = (as_json(result.source, item) for item in listed(result.diagnostics))
    return sorted((str(each["range"]), each["code"], _SEVERITIES[each["severity"]], each["message"]) for each in found)


def shown(items: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted((str(each["range"]), each["code"], each["severity"], each["message"]) for each in items)


@pytest.mark.parametrize("kind", ["python", "strange", "generation 2", "task", "json"])
def test_the_server_shows_what_check_finds(kind: str, tmp_path: Path) -> None:
    rng, counted = random.Random(kind), 0
    suffix, language = (".step.yaml", "yaml") if kind in ("task", "json") else (".py", "python")
    with Client() as client:
        client.initialize(PULL, folder=tmp_path)
        for number, text in zip(range(FILES), texts_of(kind, rng), strict=False):
            path = tmp_path / f"a{number}{suffix}"
            target = {"textDocument": {"uri": path.as_uri()}}
            client.open(path.as_uri(), text, language)
            now = text
            for version in range(2, EDITS + 3):
                found = checked(now, str(path))
                assert shown(client.request("textDocument/diagnostic", target)["items"]) == found, now
                counted += len(found)
                now, sent = edited(now, rng)
                client.change(path.as_uri(), version, sent)
            client.notify("textDocument/didClose", target)
    assert counted > FILES


def test_a_notebook_shows_what_check_finds_in_its_cells() -> None:
    """Cells are checked as one module, in which lines that are no Python are comments of equal length."""
    rng = random.Random(11)
    for text in list(texts_of("python", rng))[:FILES]:
        cells = [text[: len(text) // 2].rpartition("\n\n\n")[0], *_LINES_ELSEWHERE[:3]]
        cells.append(text[len(cells[0]) :])
        whole = "".join(cell if cell.endswith("\n") else cell + "\n" for cell in (cells[0], cells[-1]))
        expected = Counter((item.code, item.message) for item in listed(check_text(whole, "b.ipynb").diagnostics))
        with_lines = "".join(_commented(cell) for cell in cells)
        state = analyze(with_lines, "b.ipynb")
        assert Counter((item.code, item.message) for item in listed(state.diagnostics)) == expected, text
        for _ in range(EDITS):
            with_lines, _sent = edited(with_lines, rng)
            state = analyze(with_lines, "b.ipynb", previous=state)
            found = check_text(with_lines, "b.ipynb")
            assert listed(state.diagnostics) == listed(found.diagnostics), with_lines


def _commented(cell: str) -> str:
    lines = cell.split("\n")
    foreign = cell.startswith("%%")
    return "\n".join("#" + line[1:] if line[:1] in ("%", "!") or (foreign and line) else line for line in lines) + (
        "" if cell.endswith("\n") else "\n"
    )


HEAD = """\
from typing import Annotated
import stepcore as step
from stepcore.dims import M, N

FP = step.f32


"""
PROGRAM = """\
@step.program()
def p(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Promote(b=two() - 2).apply(E0)
"""
NOT_OURS = {
    "of another module": "import click as cli\n\n\n@cli.program()\ndef two():\n    return 2\n\n\n",
    "of nothing": "@cli.program()\ndef two():\n    return 2\n\n\n",
    "of a call": "@cli().program()\ndef two():\n    return 2\n\n\n",
    "outside of another": "@step.program()\n@step.fn(input=FP, output=FP)\ndef two(input):\n    return 2\n\n\n",
}


@pytest.mark.parametrize("other", NOT_OURS.values(), ids=NOT_OURS)
def test_what_is_called_a_program_elsewhere_is_none_of_ours(other: str) -> None:
    text = HEAD + other + PROGRAM
    found = check_text(text, "a.py").diagnostics
    assert "two is not known" not in str(found)
    assert listed(analyze(text, "a.py").diagnostics) == listed(found)


def test_an_import_that_cannot_be_read_belongs_to_all_programs() -> None:
    text = (
        (HEAD + PROGRAM).replace("import stepcore as step\n", "import stepcore as step x\n").replace("two() - 2", "1))")
    )
    text = text.replace("from stepcore.dims import M, N", "")
    found = check_text(text, "a.py").diagnostics
    assert len(found) == 2
    assert listed(analyze(text, "a.py").diagnostics) == listed(found)


def test_what_cannot_be_read_is_told_where_its_part_imports_nothing() -> None:
    text = (HEAD + PROGRAM).replace(
        "from typing import Annotated\n", '"""A line is broken."""\n\nifns:\n@mport torch\n\n'
    )
    text = text.replace("FP = step.f32\n", "")
    found = check_text(text, "a.py").diagnostics
    assert [item.code for item in found].count("STEP902") == 2
    assert listed(analyze(text, "a.py").diagnostics) == listed(found)


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_each_kind_of_line_end_parts_programs(end: str) -> None:
    text = (HEAD + "def two():\n    return 3\n\n\n" + PROGRAM + "\n\n" + PROGRAM.replace("def p", "def q")).replace(
        "\n", end
    )
    state = analyze(text, "a.py")
    assert [unit.checked.name for unit in state.units if unit.checked] == ["p", "q"]
    assert listed(state.diagnostics) == listed(check_text(text, "a.py").diagnostics)


def test_a_published_script_is_checked_in_the_editor_too() -> None:
    text = "import torch\nimport step\n\nE0 = step.Stream.of(torch.ones(3, 4), shape=[4, 3])\n"
    text += "E1 = step.Promot(b=1).apply(E0)\n"
    found = check_text(text, "a.py")
    state = analyze(text, "a.py")
    assert [item.code for item in found.diagnostics] == ["STEP201"]
    assert state.script is not None
    assert listed(state.diagnostics) == listed(found.diagnostics)


def test_a_misspelt_type_of_a_stream_is_told_once_and_as_a_type() -> None:
    text = (HEAD + PROGRAM).replace("two() - 2", "1").replace("E0: Annotated[step.Stream", "E0: Annotated[step.Streaam")
    told = [item.message for item in check_text(text, "a.py").diagnostics if item.code == "STEP201"]
    assert told == ["the operator Streaam is not known; did you mean Stream?"]
