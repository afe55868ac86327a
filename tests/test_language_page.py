"""The language page: every example is run, the operators are those of the registry, and links reach its sections."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import torch

import stepcore as step
from sim_tasks import Bed
from source_trees import tree_with
from stepcore.check import check_text
from stepcore.costs import metrics
from stepcore.cycles.findings import findings
from stepcore.cycles.timed import time_program
from stepcore.findings import budget, explain
from stepcore.findings.codes import CODES
from stepcore.findings.diagnostics import Severity
from stepcore.findings.explain import explanation, sections
from stepcore.fn import allow, bulk
from stepcore.frontend import expressions, sequences
from stepcore.frontend.yaml.parts import FN_SCHEMA, INPUT_SCHEMA, OUTPUT_SCHEMA, PARAMETER_SCHEMA
from stepcore.frontend.yaml.tasks import TASK_SCHEMA, read_task
from stepcore.ide import docs
from stepcore.ide.analysis import analyze
from stepcore.ide.hover import hover
from stepcore.ops import OPERATORS
from stepcore.sim.compare import TOLERANCES
from stepcore.sizes.dim import DEFAULT_SIZES, LARGEST_SIZE
from stepcore.text.wording import anchor
from stepcore.timing.hardware import PRESETS
from stepcore.types import DTYPE_BYTES, MAX_RANK
from test_examples import load, programs

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "language.md"
_BLOCK: Final = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_REFUSED: Final = re.compile(r"^#.*\brefused: (STEP\d+)$", re.MULTILINE)
_TIMED: Final = re.compile(r"; timed: (\w+)")
_STREAM: Final = re.compile(r"(\w+): (\[[^\]]*\]) of ((?:Buffer|Tile)\([^)]*\)|\w+)")
_TYPE: Final = re.compile(r"  # (\[.+)")
_HEAD: Final = """\
from typing import Annotated

import stepcore as step
from stepcore.dims import D, K, M, N


"""


@dataclass(frozen=True)
class Example:
    """A block of code: its language, the line that it begins in, the code that it is refused with, and its text."""

    kind: str
    line: int
    refused: str
    text: str

    def __str__(self) -> str:
        return f"line{self.line}"


def examples() -> list[Example]:
    """The examples outside of the generated part, whose programs are run by test_ops_docs.py."""
    text = PAGE.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        before = text[: match.start()]
        if before.count("<!-- operators:") != 1:
            refused = _REFUSED.search(match[2])
            found.append(Example(match[1], before.count("\n") + 1, "" if refused is None else refused[1], match[2]))
    return found


EXAMPLES: Final = examples()
FUNCTIONS: Final = next(item.text for item in EXAMPLES if item.text.startswith("@step.fn") and not item.refused)
FILES: Final = [item for item in EXAMPLES if item.text.startswith("from typing")]
SESSIONS: Final = [item for item in EXAMPLES if item.text.startswith(">>>")]
TASKS: Final = [item for item in EXAMPLES if item.kind == "yaml"]
PIECES: Final = [item for item in EXAMPLES if item.text.startswith("# E0: ")]
BODIES: Final = [item for item in EXAMPLES if item.text.startswith(("@step.fn", "# refused: "))]


def whole(piece: Example) -> str:
    """A piece of a program as a file: with the functions of the page, and its streams declared as it says."""
    first, _, body = piece.text.partition("\n")
    streams = []
    for name, shape, element in _STREAM.findall(first):
        written = "step." + element.replace("fp32", "step.f32") if "(" in element else "step.f32"
        streams.append(f"{name}: Annotated[step.Stream, {written}, ({shape[1:-1]},)]")
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{_HEAD}{FUNCTIONS}\n\n@step.program\ndef piece({', '.join(streams)}):\n{lines}"


def errors(text: str) -> list[str]:
    return [item.code for item in check_text(text, "page.py").diagnostics if item.severity is not Severity.HINT]


def test_no_example_is_left_out() -> None:
    tried = [*FILES, *SESSIONS, *TASKS, *PIECES, *BODIES]
    assert len(tried) == len(EXAMPLES) >= 20
    assert all((len(FILES) > 2, SESSIONS, TASKS, len(PIECES) > 10))


@pytest.mark.parametrize("piece", PIECES, ids=str)
def test_pieces_of_programs_have_the_types_and_findings_that_stand_behind_them(piece: Example) -> None:
    text = whole(piece)
    assert errors(text) == [piece.refused] * bool(piece.refused)
    result = check_text(text, "page.py")
    (checked,) = result.programs
    assert checked.graph is not None
    lines = text.splitlines()
    compared = 0
    for node in checked.graph.nodes:
        line = lines[result.source.line_col(node.span.start)[0]]
        said = _TYPE.search(line)
        if said is not None:
            assert {str(checked.graph.streams[index].type) for index in node.outputs} == {said[1]}, line
            compared += 1
    assert compared >= len([line for line in lines if _TYPE.search(line)])


@pytest.mark.parametrize("piece", [piece for piece in PIECES if _TIMED.search(piece.text)], ids=str)
def test_pieces_of_programs_stop_on_a_chip_or_run_as_they_say(piece: Example) -> None:
    (said,) = _TIMED.findall(piece.text)
    (checked,) = check_text(whole(piece), "page.py").programs
    result = check_text(whole(piece), "page.py")
    timed = time_program(checked, PRESETS["default"])
    assert [item.code for item in findings(timed, result) if item.severity.counts] == [said] * (said != "runs")
    assert (timed.cycles is None) is (said != "runs")


@pytest.mark.parametrize("body", BODIES, ids=str)
def test_functions_are_in_the_closed_language_or_refused(body: Example) -> None:
    names = re.findall(r"^def (\w+)", body.text, re.MULTILINE)
    used = "".join(f"    f{number} = {name}\n" for number, name in enumerate(names))
    head = "@step.program\ndef p(E0: Annotated[step.Stream, step.f32, (M,)]):\n"
    text = f"{_HEAD}{body.text}\n\n{head}{used}    return E0\n"
    assert errors(text) == [body.refused] * bool(body.refused)


@pytest.mark.parametrize("file", FILES, ids=str)
def test_files_check_clean_and_verify(file: Example, tmp_path: Path) -> None:
    assert check_text(file.text, "page.py").diagnostics == []
    path = tmp_path / f"page_{file.line}.py"
    path.write_text(file.text, encoding="utf-8")
    module = load(path, path.stem)
    found = programs(module)
    assert found
    for program in found:
        assert program.verify().accepted, program.name
    for value in vars(module).values():
        if isinstance(value, step.Composition):
            x = torch.randn(5, 7)
            assert value.reference is not None
            torch.testing.assert_close(value(x), value.reference(x))


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_tasks_verify(task: Example) -> None:
    assert check_text(task.text, "page.step.yaml").diagnostics == []
    read = read_task(task.text, "page.step.yaml")
    assert read.impl is not None
    assert Bed(task.text).verify(read.impl.source.text).accepted


@pytest.mark.parametrize("session", SESSIONS, ids=str)
def test_sessions_print_what_is_shown(session: Example) -> None:
    names: dict[str, Any] = {"step": step, "torch": torch}
    exec(f"{_HEAD}{FUNCTIONS}", names)
    test = doctest.DocTestParser().get_doctest(session.text, names, str(session), None, session.line)
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    said: list[str] = []
    assert runner.run(test, out=said.append).failed == 0, "".join(said)


def test_the_operators_are_those_of_the_registry() -> None:
    spec = importlib.util.spec_from_file_location("language", ROOT / "scripts" / "language.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    page = PAGE.read_text(encoding="utf-8")
    assert script.written(page) == page, "run scripts/language.py"
    assert [name for name in sections() if name in {item.__name__.lower() for item in OPERATORS}] == [
        item.__name__.lower() for item in OPERATORS
    ]


def names_in(section: str, begin: str, end: str) -> set[str]:
    """The names in quotes between two texts of a section."""
    text = sections()[section].partition(begin)[2].partition(end)[0]
    return set(re.findall(r"`(\w+)`", text))


def test_lists_of_names_are_those_of_the_code() -> None:
    assert names_in("closed-language", "- of Python", "and what `math`") == allow.BUILTINS
    assert names_in("program-language", "Of Python's functions it has", ". Loops") == expressions.BUILTINS - {"print"}
    assert names_in("element-types", "Numbers are", ".\n") == DTYPE_BYTES.keys()
    keys = set(re.findall(r"`(\w+)`", sections()["task-form"]))
    for schema in (TASK_SCHEMA, INPUT_SCHEMA, PARAMETER_SCHEMA, OUTPUT_SCHEMA, FN_SCHEMA):
        assert set(schema.known) - keys == set(), schema.what
    assert set(re.findall(r"`(\w+) \[", sections()["layouts"])) >= {"read", "pad", "stuff", "values", "permute", "take"}


def test_numbers_are_those_of_the_code() -> None:
    bounds = sections()["bounds"].replace(",", "")
    assert f"2**{bulk.MAX_NUMBERS.bit_length() - 1} numbers" in bounds and f"{bulk.MAX_ITEMS} items" in bounds
    assert f"{bulk.MAX_BITS} bits" in bounds and f"at most {sequences.MAX_ITEMS}\nitems" in bounds
    assert f"{MAX_RANK} dimensions" in bounds
    assert f"{budget.STEPS} steps and {budget.STEPS_PER_CHARACTER} for each" in bounds
    sizes = sections()["sizes"]
    assert LARGEST_SIZE == 2**31 and "from 1 to 2**31" in sizes
    assert all(f"{name} = {size}" in sizes for name, size in DEFAULT_SIZES.items())
    relative, absolute = TOLERANCES[torch.float32]
    assert f"{relative:g}".replace("e-0", "e-") in sections()["verification"]
    assert f"{absolute:g}".replace("e-0", "e-") in sections()["verification"]
    assert f"at least {metrics.LEAST_SIZE}" in sections()["metrics"]


def test_links_inside_the_page_reach_a_section() -> None:
    links = re.findall(r"\]\(#([\w-]+)\)", PAGE.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if link not in sections()] == []


def test_the_packaged_page_is_this_one() -> None:
    beside = Path(explain.__file__).parent / ".." / explain.LANGUAGE  # as the links of the pages say
    assert beside.read_bytes() == PAGE.read_bytes()
    client = (ROOT / "editor-extension" / "src" / "explanations.ts").read_text(encoding="utf-8")
    folder = Path(explain.__file__).parents[1].relative_to(ROOT).as_posix()
    assert f'"/{folder}/{explain.LANGUAGE}"' in client, "the extension opens no other page"


def titles_of_hovers() -> set[str]:
    """The sections that hovers of names lead to, those of operators aside."""
    named = set(docs.SECTIONS.values())
    for path in (ROOT / "stepcore" / "ide").rglob("*.py"):
        for node in ast.walk(tree_with(path.read_text(encoding="utf-8"), r"\brule\b")):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "rule":
                named |= {str(part.value) for part in ast.walk(node.args[1]) if isinstance(part, ast.Constant)}
    return named - {"layout", "layouts"}


def test_hovers_lead_to_their_rule() -> None:
    titles = {section.splitlines()[0].lstrip("# ") for section in sections().values()}
    assert {"Affine rule", "Sizes", "Element functions", "Layouts", "Task form"} <= titles_of_hovers() <= titles
    assert docs.SECTIONS.keys() == docs.STEP_NAMES.keys()
    assert {operator.__name__ for operator in OPERATORS} <= titles
    analysis = analyze(FILES[0].text, "page.py")
    found = hover(analysis, FILES[0].text.index("Bufferize"))
    assert found is not None and found.markdown.endswith("Rule: [Bufferize](language:bufferize)")


def test_what_cites_the_page_names_a_section() -> None:
    titles = {section.splitlines()[0].lstrip("# ") for section in sections().values()}
    places = ("stepcore/**/*.py", "tests/oracle/*.py", "tests/programs/*.py")
    texts = [path.read_text(encoding="utf-8") for place in places for path in ROOT.glob(place)]
    cited = [title for text in texts for title in re.findall(r"language page\s+\(\"([^\"]+)\"\)", text)]
    assert len(cited) >= 8
    assert set(cited) <= titles


def test_each_rule_is_reached_from_a_hover_or_a_code() -> None:
    reached = {anchor(title) for title in titles_of_hovers()} | {item.__name__.lower() for item in OPERATORS}
    reached |= {found for code in CODES for found in re.findall(r"language\.md#([\w-]+)", explanation(code))}
    page = sections()
    rules = {name for name, text in page.items() if not any(page[other] in text for other in page if other != name)}
    # No name and no finding is about these; `stepsmith explain` prints them.
    assert rules - reached == {"idioms", "metrics"}


@pytest.mark.parametrize("code", CODES)
def test_each_code_leads_to_its_rule(code: str) -> None:
    last = explanation(code).rstrip().splitlines()[-1]
    match = re.fullmatch(r"Rule: \[(.+)\]\(\.\./language\.md#([\w-]+)\) \(`stepsmith explain ([\w-]+)`\)", last)
    assert match is not None, last
    assert match[2] == match[3] == anchor(match[1])
    assert sections()[match[2]].splitlines()[0].lstrip("# ") == match[1]
