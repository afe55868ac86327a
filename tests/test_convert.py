"""Task files to Python and back, programs back to text, and the key that folds equal programs."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from stepcore.check import Checked, check_impl, check_text
from stepcore.check.programs import check_program
from stepcore.conversion.to_python import ConvertError, task_to_python
from stepcore.conversion.to_task import python_to_task
from stepcore.fn.decl import CodeBlock
from stepcore.frontend.python import read_module
from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.ir import ProgramSpec
from stepcore.graph.task import TaskFile
from stepcore.ops import BY_NAME
from stepcore.printing.task import canonical_key, graph_to_impl, task_to_yaml

ROOT = Path(__file__).parent.parent
FIXTURES = {
    "two_components": """\
test_name: another name than the file's
global: |
  gelu = torch.nn.GELU()
  E_value = 3
  ctx[E] = E_value
inputs:
- {name: E0, dtype: fp32, dims: [M, N], data_gen: torch.randn}
- {name: E1, dtype: "Buffer(Multihot(fp32, E), [K])", dims: [N], min: 0, max: 2}
fns:
- name: Both
  func_name: fn_both
  init: [0, "-inf"]
  input_dtype: fp32
  output_dtype: [fp32, fp32]
  apply: |
    # the sum and the largest
    y = gelu(input[0]) * ctx[M] / E_value
    return [state[0] + y, torch.maximum(state[1], y)]
outputs:
- name: S0
  dtype: [fp32, fp32]
  dims: [N]
  data_transform:
  - |
    y = gelu(input_data['E0']) * M_value / E_value
    y.sum(1)
  - |
    y.max(1).values
- name: S1
  dtype: "Buffer(Multihot(fp32, E), [K])"
  dims: [N]
  data_transform:
  - input_data['E1']
impl: |-
  # one pass
  E2 = step.Accum(fn=fn_both, b=1).apply(E0)
  return E2, E1
""",
    "own_sizes": """\
test_name: own_sizes
global: |
  H_value = D_value // 2
  H = Symbol("H")
  ctx[H] = H_value
  M_value = 6
  ctx[M] = M_value
inputs:
- {name: E0, dtype: "Buffer(fp32, [H, 2])", dims: [M, 3, N*K], data_gen: torch.ones}
parameters:
- {name: W, dtype: fp32, dims: [D, H], data_gen: torch.rand}
fns:
- name: fn_scale
  func_name: fn_scale
  input_dtype: Buffer(fp32, [H, 2])
  output_dtype: Buffer(fp32, [D, 2])
  apply: |
    return [input[0] @ input_data['W'] / H_value]
outputs:
- name: S0
  dtype: Buffer(fp32, [D, 2])
  dims: [M, 3, N*K]
  data_transform:
  - |
    result = input_data['E0'] @ input_data['W'] / H_value
constraints: "a: sentence, with \\"quotes\\" # and signs\\nand a second line"
impl: |-
  return step.Map(fn=fn_scale).apply(E0)
""",
    "no_answer": """\
test_name: no_answer
inputs:
- {name: E0, dtype: [fp32, "Buffer(fp32, [D])"], dims: [1], data_gen: binary}
outputs:
- name: S0
  dtype: [fp32, "Buffer(fp32, [D])"]
  dims: [1]
  data_transform:
  - input_data['E0'][0]
  - input_data['E0'][1]
""",
}
TASKS = {
    path.name.split(".")[0]: path.read_text(encoding="utf-8") for path in ROOT.glob("benchmarks/tasks/*.step.yaml")
}
ALL = {**TASKS, **FIXTURES}
SMALL = """\
import torch
import torch.nn.functional as F
from torch import nn
from typing import Annotated
import stepcore as s
from stepcore.dims import K, M, N

SCALE = 2.0
gelu = nn.GELU()
unused = 3


@s.fn(input=s.f32, output=s.f32, init=[0])
def add(total, x):
    return [total[0] + F.relu(gelu(x[0])) * SCALE]


class Most(s.Fn):
    def __init__(self):
        super().__init__("Most", s.f32, s.f32)

    def getInit(self):
        return [torch.full((), float("-inf"))]

    def apply(self, state, input):
        return [torch.maximum(state[0], input[0])]


def sums(x: torch.Tensor, *, W: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    x = x * W.shape[0]
    total = (F.relu(gelu(x)) * SCALE).sum(1)  # over M
    return total, x.max(1).values


def twice(stream):
    return s.Copy().apply(stream)


@s.program(reference=sums, dims={M: 4, N: 7}, name="both sums", data={"E0": "torch.rand"})
def both(
    E0: Annotated[s.Stream, s.f32, (M, N)], *, W: Annotated[s.Param, s.f32, (K,)]
) -> tuple[Annotated[s.Stream, s.f32, (N,)], Annotated[s.Stream, s.f32, (N,)]]:
    @s.fn(input=s.f32, output=s.f32)
    def scale(x):
        return [x[0] * W.shape[0]]

    E1 = s.Map(fn=scale).apply(E0)
    E2, E3 = BODY
    return s.Accum(fn=add, b=1).apply(E2), s.Accum(fn=most, b=1).apply(E3)
""".replace("def twice", "most = Most()\n\n\ndef twice")


def task_of(text: str, name: str = "small") -> TaskFile:
    return read_task(text, f"somewhere/{name}.step.yaml")


def back_to_task(text: str) -> str:
    module = read_module(text, "small.step.py")
    (program,) = module.programs
    return python_to_task(module, program)


def dump(text: str) -> str:
    """Code without its layout; a last line that only names what the line before assigned says nothing new."""
    body = ast.parse(text).body
    for node in body:
        for inner in ast.walk(node):  # ctx[M] and M_value are the same number
            for field, value in ast.iter_fields(inner):
                match value:
                    case ast.Subscript(value=ast.Name(id="ctx"), slice=ast.Name(id=name), ctx=ast.Load()):
                        setattr(inner, field, ast.Name(f"{name}_value", ast.Load()))
    match body:
        case [*_, ast.Assign(targets=[ast.Name(id=bound)]), ast.Expr(value=ast.Name(id=name))] if bound == name:
            body.pop()
    return "\n".join(ast.dump(node) for node in body)


def prelude(block: CodeBlock | None) -> list[str]:
    """The statements of ``global`` in any order: independent ones may be moved."""
    return sorted(dump(block.source.text).split("\n")) if block is not None else []


def meaning(task: TaskFile) -> dict[str, object]:
    """Everything that a task says, without layout and order of functions."""
    spec = task.spec
    assert spec is not None
    return {
        "spec": replace(spec, fns=(), outputs=None, fixed=(), scope=replace(spec.scope, prelude=None)),
        "fixed": dict(spec.fixed),
        "global": prelude(spec.scope.prelude),
        "fns": sorted(
            (f.func_name, f.label, str(f.input), str(f.output), f.init, f.body.arguments, dump(f.body.source.text))
            for f in spec.fns
        ),
        "outputs": [(o.name, o.type, [dump(b.source.text) for b in o.transforms]) for o in spec.outputs or ()],
        "impl": None if task.impl is None else dump(task.impl.source.text),
        "metadata": (task.test_name, task.constraints),
    }


def own_findings(text: str, path: str) -> list[str]:
    """Findings besides hints (a fixture may leave a stream alone)."""
    return [f"{d.code} {d.message}" for d in check_text(text, path).diagnostics if d.severity.value == "error"]


class TestRoundTrips:
    @pytest.mark.parametrize("name", ALL)
    def test_task_python_task(self, name: str) -> None:
        task = task_of(ALL[name], name)
        assert task.diagnostics == []
        back = task_of(back_to_task(task_to_python(task)), name)
        assert back.diagnostics == []
        assert meaning(back) == meaning(task)

    @pytest.mark.parametrize("name", ALL)
    def test_python_task_python(self, name: str) -> None:
        text = task_to_python(task_of(ALL[name], name))
        assert task_to_python(task_of(back_to_task(text), name)) == text

    @pytest.mark.parametrize("name", ALL)
    def test_yaml_is_stable(self, name: str) -> None:
        task = task_of(ALL[name], name)
        assert task.spec is not None
        impl = task.impl.source.text if task.impl is not None else None
        text = task_to_yaml(task.spec, impl, {"test_name": task.test_name, "constraints": task.constraints})
        again = task_of(text, name)
        assert again.diagnostics == []
        assert meaning(again) == meaning(task)
        assert (again.impl is None) == (impl is None)

    @pytest.mark.parametrize("name", TASKS)
    def test_converted_tasks_check_clean(self, name: str) -> None:
        text = task_to_python(task_of(TASKS[name], name))
        assert own_findings(text, f"{name}.step.py") == []
        assert own_findings(back_to_task(text), f"{name}.step.yaml") == []
        # The task's own lines stay as they are; nested deeper they may become a little longer.
        assert all(len(line.strip()) <= 120 for line in text.splitlines())

    @pytest.mark.slow
    def test_converted_tasks_are_clean_under_pyright(self, tmp_path: Path) -> None:
        for name, text in ALL.items():
            (tmp_path / f"{name}.py").write_text(task_to_python(task_of(text, name)), encoding="utf-8")
        settings = {"include": ["."], "extraPaths": [str(ROOT)], "pythonVersion": "3.11"}
        (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
        command = [sys.executable, "-m", "pyright", "--project", str(tmp_path), "--pythonpath", sys.executable]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        assert "0 errors, 0 warnings" in done.stdout, done.stdout + done.stderr


class TestTaskToPython:
    def test_parameters_nest_the_functions_that_read_them(self) -> None:
        text = task_to_python(task_of(FIXTURES["own_sizes"], "own_sizes"))
        module = ast.parse(text)
        program = next(node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == "own_sizes")
        assert [argument.arg for argument in program.args.kwonlyargs] == ["W"]
        assert [node.name for node in program.body if isinstance(node, ast.FunctionDef)] == ["fn_scale"]
        assert "return [input[0] @ W / H_value]" in text
        assert "dims={M: 6, N: 7, K: 9, D: D_value, H: H_value}" in text

    def test_references_take_sizes_from_tensors(self) -> None:
        text = task_to_python(task_of(FIXTURES["two_components"], "two_components"))
        assert "    M_value = E0.shape[1]\n" in text
        assert "-> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:" in text
        assert "    S0_0 = y.sum(1)\n" in text
        assert "    return S0_0, S0_1, E1\n" in text

    def test_size_values_are_what_a_run_binds(self) -> None:
        """``D_value = 16`` serves plain Python; it must not fix the size where a run binds another."""
        text = (
            FIXTURES["own_sizes"]
            .replace("/ H_value]", "/ H_value * scale]")
            .replace("global: |\n", "global: |\n  scale = 2.0\n")
        )
        module = read_module(task_to_python(task_of(text, "own_sizes")), "a.step.py")
        assert module.fn_scope.prelude is not None
        assert module.fn_scope.prelude.source.text == "scale = 2.0\n"

    def test_local_names_do_not_hide_parameters(self) -> None:
        text = FIXTURES["own_sizes"].replace(
            "return [input[0] @ input_data['W'] / H_value]", "W = input_data['W']\n    return [input[0] @ W]"
        )
        python = task_to_python(task_of(text, "own_sizes"))
        assert "W_local = W\n        return [input[0] @ W_local]" in python
        assert own_findings(python, "a.step.py") == []

    def test_computed_names_of_parameters_stay(self) -> None:
        text = FIXTURES["own_sizes"].replace("result = input_data['E0'] @", "result = input_data[f'E{0}'] @")
        python = task_to_python(task_of(text, "own_sizes"))
        assert '    input_data = {"E0": E0, "W": W}\n' in python
        assert "input_data[f'E{0}']" in back_to_task(python)

    def test_names_become_identifiers(self) -> None:
        text = task_to_python(task_of(FIXTURES["no_answer"], "3d-class"))
        assert "def task_3d_class(" in text
        assert 'name="no_answer"' in text

    def test_unusable_tasks_say_why(self) -> None:
        with pytest.raises(ConvertError, match="no task"):
            task_to_python(task_of("impl: return E0\n"))
        with pytest.raises(ConvertError, match="parse"):
            task_to_python(task_of(FIXTURES["own_sizes"].replace("return [input[0]", "return [[input[0]")))
        with pytest.raises(ConvertError, match="assert is forbidden in the function language"):
            task_to_python(task_of(FIXTURES["own_sizes"].replace("result = input_data", "assert input_data")))


class TestPythonToTask:
    def test_what_python_files_may_say(self) -> None:
        task = task_of(back_to_task(SMALL.replace("BODY", "s.Copy().apply(E1)")))
        assert task.diagnostics == []
        spec = task.spec
        assert spec is not None
        assert task.test_name == "both sums"
        assert dict(spec.fixed) == {"M": 4}
        assert spec.scope.prelude is not None
        assert spec.scope.prelude.source.text.split("\n") == [
            "M_value = 4",
            "ctx[M] = M_value",
            "SCALE = 2.0",
            "gelu = torch.nn.GELU()",
            "",
        ]
        bodies = {fn.func_name: (fn.init, fn.body.arguments, fn.body.source.text.strip()) for fn in spec.fns}
        assert bodies["add"] == (
            (0.0,),
            ("state", "input"),
            "return [state[0] + torch.nn.functional.relu(gelu(input[0])) * SCALE]",
        )
        assert bodies["Most"] == ((float("-inf"),), ("state", "input"), "return [torch.maximum(state[0], input[0])]")
        assert bodies["scale"] == (None, ("input",), "return [input[0] * input_data['W'].shape[0]]")
        first, second = (block.source.text for out in spec.outputs or () for block in out.transforms)
        assert first == (
            "x = input_data['E0']\nx = x * input_data['W'].shape[0]\n"
            "total = (torch.nn.functional.relu(gelu(x)) * SCALE).sum(1)\n"
        )
        assert second == "x.max(1).values\n"
        assert own_findings(back_to_task(SMALL.replace("BODY", "s.Copy().apply(E1)")), "a.step.yaml") == []

    def test_what_tasks_cannot_say_is_printed_from_the_graph(self) -> None:
        task = task_of(back_to_task(SMALL.replace("BODY", "twice(E1)")))
        assert task.impl is not None
        assert task.impl.source.text == (
            "E1 = step.Map(fn=scale).apply(E0)\n"
            "E2, E3 = step.Copy().apply(E1)\n"
            "E4 = step.Accum(fn=add, b=1).apply(E2)\n"
            "E5 = step.Accum(fn=Most, b=1).apply(E3)\n"
            "return E4, E5"
        )

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (
                "    return total, x.max(1).values",
                "    if True:\n        return total, x\n    return x, x",
                "only return",
            ),
            ("    return total, x.max(1).values", "    return total", "1 value, not 2"),
            ("reference=sums", "reference=print", "no function of this file"),
            ("import torch.nn.functional as F", "import numpy as F", "torch only"),
            ('torch.full((), float("-inf"))', "torch.full((), 3)", "none of the constants"),
            (
                ") -> tuple[Annotated[s.Stream, s.f32, (N,)], Annotated[s.Stream, s.f32, (N,)]]:",
                "):",
                "declares no outputs",
            ),
        ],
    )
    def test_what_has_no_counterpart_says_so(self, old: str, new: str, message: str) -> None:
        text = SMALL.replace("BODY", "s.Copy().apply(E1)")
        assert old in text
        with pytest.raises(ConvertError, match=message):
            back_to_task(text.replace(old, new))

    def test_a_reference_that_writes_into_its_arguments_is_told_as_no_task(self) -> None:
        text = BY_NAME["LinearOffChipStore"].example
        old = "    return 2 * x\n"
        assert back_to_task(text), "as it stands it is one"
        assert old in text
        with pytest.raises(ConvertError, match=r"a task file does not take it: STEP310 "):
            back_to_task(text.replace(old, "    y.copy_(2 * x)\n    return y\n"))

    def test_line_ends_and_marks_of_the_file_do_not_matter(self) -> None:
        text = SMALL.replace("BODY", "s.Copy().apply(E1)").replace("over M", "über M 🎉")
        assert back_to_task("\ufeff" + text.replace("\n", "\r\n")) == back_to_task(text)


class TestGraphs:
    @pytest.mark.parametrize("name", TASKS)
    def test_printed_graphs_are_the_same_program(self, name: str) -> None:
        task = task_of(TASKS[name], name)
        assert task.impl is not None
        first = check_impl(task, task.impl.source.text)
        text = graph_to_impl(first.graph)
        second = check_impl(task, text)
        assert [d for d in second.diagnostics if d.severity.value == "error"] == []
        assert canonical_key(second.graph) == canonical_key(first.graph)
        assert graph_to_impl(second.graph) == text
        assert len(text.split("\n")) == len(first.graph.nodes) + 1

    def test_the_key_sees_programs_and_not_their_spelling(self) -> None:
        task = task_of(FIXTURES["two_components"])
        same = [
            "a, b = step.Copy().apply(E0)\nc = step.Identity().apply(a)\nd = step.Promote(b=0).apply(b)\nreturn c, d",
            "q, p = step.Copy().apply(E0)\nd = step.Promote(b=0).apply(q)\nreturn step.Identity().apply(p), d",
        ]
        others = [
            "a, b = step.Copy().apply(E0)\nc = step.Identity().apply(a)\nd = step.Promote(b=0).apply(b)\nreturn d, c",
            "a, b = step.Copy().apply(E0)\nc = step.Identity().apply(a)\nd = step.Promote(b=1).apply(b)\nreturn c, d",
            "a, b = step.Copy().apply(E0)\nc = step.Identity().apply(a)\nd = step.Promote(b=0).apply(a)\nreturn c, d",
            "a, b = step.Copy().apply(E1)\nc = step.Identity().apply(a)\nd = step.Promote(b=0).apply(b)\nreturn c, d",
            "c = step.Identity().apply(E0)\nd = step.Promote(b=0).apply(E0)\nreturn c, d",
            "x, y = step.Copy().apply(E0)\na, b = step.Copy().apply(x)\nc = step.Identity().apply(a)\n"
            "d = step.Promote(b=0).apply(b)\nreturn c, d",
        ]
        keys = [canonical_key(check_impl(task, text).graph) for text in (*same, *others)]
        assert keys[0] == keys[1]
        assert len(set(keys)) == len(keys) - 1

    def test_an_operator_has_one_key_and_keeps_the_name_that_the_program_has(self) -> None:
        task = task_of(FIXTURES["two_components"])
        texts = [f"E2 = step.{name}(n=2).apply(E0)\nreturn E2" for name in ("Repeat", "RepeatLast")]
        graphs = [check_impl(task, text).graph for text in texts]
        assert [graph.nodes[0].op_name for graph in graphs] == ["Repeat", "Repeat"]
        assert canonical_key(graphs[0]) == canonical_key(graphs[1])
        assert list(map(graph_to_impl, graphs)) == texts

    def test_lists_and_selectors_are_printed(self) -> None:
        task = task_of(FIXTURES["two_components"].replace("Buffer(Multihot(fp32, E), [K])", "Multihot(fp32, 1)"))
        text = "[E2] = step.Partition(N=1).apply((E0, E1))\nE3 = step.Merge(fn=fn_both).apply(([E2], E1))\nreturn E3"
        assert graph_to_impl(check_impl(task, text).graph) == text

    def test_incomplete_graphs_are_refused(self) -> None:
        checked = check_impl(task_of(FIXTURES["two_components"]), "a = step.Nothing().apply(E0)\nreturn a")
        with pytest.raises(ValueError, match="not complete"):
            graph_to_impl(checked.graph)


class TestYamlText:
    @pytest.mark.parametrize(
        "text",
        [
            "plain words",
            "yes",
            "a: b",
            "x # y",
            "",
            " led by a space",
            "trailing ",
            "tab\tinside",
            "q\"uo'te",
            "- dash",
            "12",
            "é 🎉",
            "line\nline",
            "a\n\n b\n",
            "\n\nlate",
            "bell\x07",
            "nel\x85 ls\u2028",
            "back\\slash",
            "~",
        ],
    )
    def test_any_text_survives(self, text: str) -> None:
        task = task_of(FIXTURES["own_sizes"])
        assert task.spec is not None
        again = task_of(task_to_yaml(task.spec, "return E0", {"test_name": text or "x", "constraints": text}))
        assert again.diagnostics == []
        assert (again.test_name, again.constraints) == (text or "x", text)

    @pytest.mark.parametrize(
        "code", ["return E0", "return E0\n", "a = 1\n\n\nreturn E0", "# é 🎉\nreturn E0\n\n", "  odd", "\ta"]
    )
    def test_any_code_survives(self, code: str) -> None:
        task = task_of(FIXTURES["own_sizes"])
        assert task.spec is not None
        again = task_of(task_to_yaml(task.spec, code, {}))
        assert again.impl is not None
        assert again.impl.source.text == code
        assert re.match(r"[\w ]+\Z", again.test_name)


def test_python_specs_keep_their_functions() -> None:
    """What the checker says of a converted file and what the task says of itself agree."""
    task = task_of(FIXTURES["two_components"], "two_components")
    module = read_module(task_to_python(task), "a.step.py")
    checked: Checked = check_program(module.programs[0], module.fn_scope)
    spec: ProgramSpec | None = task.spec
    assert spec is not None
    assert [(fn.func_name, fn.input, fn.output, fn.init) for fn in checked.spec.fns] == [
        (fn.func_name, fn.input, fn.output, fn.init) for fn in spec.fns
    ]
    assert checked.spec.bindings() == {**spec.bindings(), "D": 16}
