"""Whole networks: layers that are planned once, one file with a program for each, and the composition of them."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
import torch

from job_records import verify
from quiet import Quiet
from stepagents.lower.search import lower
from stepagents.torchfn import network
from stepagents.torchfn.dims import describe
from stepagents.torchfn.layer import GraphReference, layer_function, layer_key
from stepagents.torchfn.loop_ops import END
from stepagents.torchfn.partition import MOST_FOLDS, folds, layers_of
from stepagents.torchfn.target import find_target
from stepagents.torchfn.trace import trace
from stepagents.traced.graph import TracedFunction
from stepcore import gate
from stepcore.frontend.composed import Applied, NotComposed, Weight, composed
from stepcore.jobs.effort import Effort

NETWORK = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        return torch.relu(x + self.mix(self.norm(x)))


class Model(nn.Module):
    def __init__(self, depth, *, width):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(depth)])
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        first = x
        for block in self.blocks:
            x = block(x)
        return self.head(torch.cat((x, first), 0))


def get_inputs():
    return [torch.randn(5, 4)]


def get_init_inputs():
    return [[5], {"width": 4}]
"""
LOOPS = """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(4, 4)
        self.cell = nn.GRUCell(4, 4)
        self.mixes = nn.ModuleList([nn.Linear(4, 4) for _ in range(6)])
        self.W = nn.Parameter(torch.randn(4, 4))  # a name that the graph would write in another way

    def forward(self, x):
        x = self.rnn(x)[0] @ self.W
        for mix in self.mixes:
            x = torch.relu(mix(x))
        state, found = torch.zeros_like(x[0]), []
        for item in x:
            state = self.cell(item, state * torch.softmax(self.mixes[0].weight, 0).sum())
            found.append(state)
        return torch.stack(found)


steps, batch = 8, 3


def get_inputs():
    return [torch.randn(steps, batch, 4)]
"""
FILE = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import K, M

torch.manual_seed(0)
MODEL = torch.nn.ParameterDict({{"a": torch.zeros(4), "b": torch.ones(4)}})


@step.fn(input=step.STuple((step.f32, step.f32)), output=step.f32)
def fn_add(input):
    return [input[0] + input[1]]


def plus_reference(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


@step.program(reference=plus_reference, dims={{M: 3, K: 4}}, layouts={{"b": "y[K]: read [i1]"}})
def plus(
    a: Annotated[step.Stream, step.f32, (K, M)], b: Annotated[step.Stream, step.f32, (K, M)]
) -> Annotated[step.Stream, step.f32, (K, M)]:
    return step.Map(fn=fn_add).apply((a, b))


def both_reference(x: torch.Tensor, weights: dict[str, torch.Tensor]) -> torch.Tensor:
    return x + weights["a"] + 2 * weights["b"]


@step.composition(reference=both_reference, weights=MODEL, dims={{M: 3, K: 4}})
def both(x, weights):
{body}
"""
RIGHT = """\
    h = plus.apply(x, weights["a"])
    y = plus.apply(h, weights["b"])
    z = plus.apply(y, weights["b"])
    return z
"""


def traced_network(tmp_path: Path) -> TracedFunction:
    path = tmp_path / "network.py"
    path.write_text(NETWORK)
    target = find_target(str(path), NETWORK, "Model")
    return trace(target, describe(target, (), {}))


def row_of(tmp_path: Path, body: str) -> dict[str, Any]:
    path = tmp_path / "file.py"
    path.write_text(FILE.format(body=body))
    rows = verify({"path": str(path), "text": path.read_text()}, Quiet())
    assert rows[0]["task"] == "plus"
    assert rows[0]["accepted"]
    assert [row["task"] for row in rows] == ["plus", "both"]
    return rows[1]


def test_equal_layers_have_one_key_and_layers_give_what_the_function_gives(tmp_path: Path) -> None:
    traced = traced_network(tmp_path)
    assert folds(traced) > MOST_FOLDS
    layers = layers_of(traced)
    keys = [layer_key(layer, traced) for layer in layers]
    assert len(layers) == 12  # a norm and a product in each block, the concatenation, the head
    assert len(set(keys)) == 4
    values: dict[Any, torch.Tensor] = {}
    generator = torch.Generator().manual_seed(1)
    for node in traced.graph.graph.nodes:
        if node.op == "placeholder":
            values[node] = torch.randn(node.meta["val"].shape, generator=generator)
    for layer in layers:
        function = layer_function(layer, traced, "layer")
        assert [item.name for item in function.inputs if item.kind != "constant"]
        found = function.reference(*(values[node] for node in layer.inputs))
        values.update(zip(layer.outputs, found, strict=True))
    names = {node.name: node for node in traced.graph.graph.nodes}
    users = [values[names[item.name]] for item in traced.inputs if item.kind == "user"]
    weights = {item.name: values[names[item.name]] for item in traced.inputs if item.kind == "weight"}
    for output, expected in zip(traced.outputs, traced.reference(*users, **weights), strict=True):
        torch.testing.assert_close(values[names[output.node]], expected)


def test_an_operation_that_is_taken_apart_is_a_layer_of_its_own(tmp_path: Path) -> None:
    traced = traced_network(tmp_path)
    layers = layers_of(traced)
    apart = layers_of(traced, set(layers[1].nodes))
    assert len(apart) > len(layers)


def test_a_layer_runs_at_other_sizes(tmp_path: Path) -> None:
    traced = traced_network(tmp_path)
    (symbol,) = traced.dims
    layer = layers_of(traced)[-1]
    function = layer_function(layer, traced, "head")
    assert isinstance(function.reference, GraphReference)
    shapes = [[size.bind({symbol: 2}) for size in item.dims] for item in function.inputs]
    (found,) = function.reference.at({symbol: 2})(*(torch.ones(shape) for shape in shapes))
    assert found.shape == (4, 3)


def test_a_network_is_delivered_as_one_file_that_verifies(tmp_path: Path) -> None:
    from job_records import function

    path = tmp_path / "network.py"
    path.write_text(NETWORK)
    payload = {"path": str(path), "text": NETWORK, "selector": "Model", "trusted": True}
    found = function(payload, Quiet())
    assert found["solved"], found["reason"]
    (program,) = found["programs"]
    assert (program["layers"], program["distinct_layers"]) == (12, 4)
    text = program["text"]
    assert text.count("@step.program(") == 4
    assert text.count("@step.composition(") == 1
    assert text.count(".apply(h") > 5  # tensors between layers have names
    assert "MODEL = torch_Model(*INIT[0], **INIT[1])" in text
    changed = text.replace('weights["blocks.1.norm.weight"]', 'weights["blocks.2.norm.weight"]')
    assert changed != text
    rows = verify({"path": str(tmp_path / "changed.step.py"), "text": changed}, Quiet())
    assert [row["accepted"] for row in rows] == [True] * 4 + [False]
    assert rows[-1]["functional"]["code"] == "STEP401"


def test_layers_that_a_defect_took_apart_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from job_records import function

    def failing(traced: TracedFunction, *rest: Any) -> Any:
        called = {str(node.target) for node in traced.graph.graph.nodes if node.op == "call_function"}
        if {"aten.addmm.default", "aten.relu.default"} <= called:  # a layer of several operations
            raise KeyError("round")
        return lower(traced, *rest)

    monkeypatch.setattr(network, "lower", failing)
    path = tmp_path / "network.py"
    path.write_text(NETWORK)
    found = function({"path": str(path), "text": NETWORK, "selector": "Model", "trusted": True}, Quiet())
    assert found["solved"], found["reason"]
    said = [note for note in found["notes"] if "a defect of Stepsmith: KeyError: 'round'" in note]
    assert said and all(note.startswith("line ") for note in said)
    assert len(said) == len(set(said))
    (program,) = found["programs"]
    assert program["off_chip_bytes"] >= program["compulsory_bytes"]


def test_a_task_file_holds_no_network(tmp_path: Path) -> None:
    from job_records import function

    path = tmp_path / "network.py"
    path.write_text(NETWORK)
    payload = {"path": str(path), "text": NETWORK, "selector": "Model", "trusted": True, "emit": "task"}
    found = function(payload, Quiet())
    assert not found["solved"]
    assert "a task file holds one program" in found["reason"]


def test_a_composition_is_judged_as_a_whole(tmp_path: Path) -> None:
    row = row_of(tmp_path, RIGHT)
    assert row["accepted"], row
    assert row["functional"]["max_abs_error"] < 1e-5


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ("    return x\n", "no program reads the argument x"),
        ('    y = plus.apply(x, weights["c"])\n    return y\n', "there is no weight c"),
        ("    y = plus.apply(x)\n    return y\n", "plus reads 2 tensors, and is given 1"),
        ("    y = plus.apply(x, z)\n    return y\n", "there is no tensor z before this line"),
        ('    y = minus.apply(x, weights["a"])\n    return y\n', "minus is no program of this file"),
        ('    y, z = plus.apply(x, weights["a"])\n    return y\n', "plus gives 1 tensor, and the line names 2"),
        ("    return both_reference(x, weights)\n", 'or is weights["NAME"]'),
        ("    y = both_reference(x, weights)\n    return y\n", "applies programs, one a line"),
        ('    y = plus.apply(x, weights["a"])\n', "ends with return"),
    ],
)
def test_what_is_no_composition_is_rejected_with_its_reason(tmp_path: Path, body: str, detail: str) -> None:
    row = row_of(tmp_path, body)
    assert not row["accepted"]
    assert detail in row["shape"]["detail"]


def test_a_program_without_a_reference_is_judged_by_the_composition(tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    text = FILE.format(body=RIGHT).replace("reference=plus_reference, ", "")
    wrong = text.replace('(h, weights["b"])', '(h, weights["a"])')
    right = verify({"path": str(path), "text": text}, Quiet())
    assert [row["accepted"] for row in right] == [True, True]
    assert right[0]["functional"]["detail"] == "judged by the composition both"
    rows = verify({"path": str(path), "text": wrong}, Quiet())
    assert [row["accepted"] for row in rows] == [False, False]
    assert rows[0]["functional"]["code"] == "STEP411"


def test_a_weight_with_two_names_is_one_weight(tmp_path: Path) -> None:
    body = RIGHT.replace('(h, weights["b"])', '(h, weights["c.a"])')
    tied = """
class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.zeros(4))
        self.b = torch.nn.Parameter(torch.ones(4))
        self.c = torch.nn.Module()
        self.c.a = self.a


MODEL = Tied()
"""
    path = tmp_path / "file.py"
    text = FILE.format(body=body)
    first, _, rest = text.partition("MODEL = ")
    text = first + tied + rest.partition("\n")[2]
    text = text.replace('weights["a"] + 2 * weights["b"]', '2 * weights["a"] + weights["b"]')
    rows = verify({"path": str(path), "text": text}, Quiet())
    assert [row["accepted"] for row in rows] == [True, True], rows


def test_a_composition_that_gives_other_numbers_or_shapes_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swapped = row_of(tmp_path, RIGHT.replace('(h, weights["b"])', '(h, weights["a"])'))
    assert (swapped["accepted"], swapped["functional"]["code"]) == (False, "STEP401")
    shape = row_of(tmp_path, '    h = plus.apply(x, weights["a"])\n    y = plus.apply(h, x)\n    return y\n')
    assert (shape["accepted"], shape["functional"]["code"]) == (False, "STEP207")
    # What a module holds only a run sees.
    wide = FILE.replace("torch.ones(4)", "torch.ones(5)").replace('["b"]\n', '["b"][:4]\n', 1)
    monkeypatch.setitem(globals(), "FILE", wide)
    shape = row_of(tmp_path, RIGHT)
    line = (tmp_path / "file.py").read_text().splitlines().index('    y = plus.apply(h, weights["b"])') + 1
    assert (shape["accepted"], shape["functional"]["code"]) == (False, "STEP402")
    assert f"line {line}: plus: it reads y of the shape (4,), and is given (5,)" in shape["functional"]["detail"]


def test_a_size_that_is_a_quotient_is_bound_by_no_tensor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "FILE", FILE.replace("(K, M)", "(K, M // 2)").replace("{M: 3", "{M: 6"))
    row = row_of(tmp_path, RIGHT)
    assert row["accepted"], row


def test_a_script_applies_programs_to_tensors(tmp_path: Path) -> None:
    from stepcore.sim.worker.imports import import_module

    module = import_module(str(tmp_path / "file.py"), FILE.format(body=RIGHT))
    torch.testing.assert_close(module.both(torch.zeros(3, 4)), torch.full((3, 4), 2.0))
    with pytest.raises(Exception, match=r"plus reads y of the shape \(4,\), found \(5,\)"):
        module.plus.apply(torch.zeros(3, 4), torch.zeros(5))
    with pytest.raises(Exception, match=r"plus reads 2 tensors \(a, y\), found 1"):
        module.plus.apply(torch.zeros(3, 4))


def test_the_text_of_a_composition_is_read_and_not_run() -> None:
    (node,) = ast.parse('def f(x, w):\n    a, b = p.apply(x, w["k"])\n    return b, w["k"]\n').body
    assert isinstance(node, ast.FunctionDef)
    found = composed(node, weighted=True)
    assert found.arguments == ("x",)
    assert found.calls == (Applied("p", ("x", Weight("k")), ("a", "b"), 2),)
    assert found.results == ("b", Weight("k"))
    with pytest.raises(NotComposed, match="there is no tensor w before"):
        composed(ast.parse("def f(x):\n    return w\n").body[0], weighted=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "body",
    [
        RIGHT.replace("plus.apply(x,", "torch.load.apply(x,"),
        RIGHT.replace("    return z", "    import os\n    return z"),
        RIGHT.replace('weights["a"]', "weights[print(1)]"),
        RIGHT.replace("plus.apply(h", "__import__.apply(h"),
    ],
)
def test_the_gate_lets_no_other_composition_pass(body: str) -> None:
    head, _, rest = FILE.format(body=body).partition("torch.manual_seed(0)\n")
    module = 'MODEL = torch.nn.ParameterDict({"a": torch.zeros(4), "b": torch.ones(4)})\n'
    own = gate_own(module)
    text = head + rest
    with pytest.raises(gate.Refusal):
        gate.certify(text, own)


def gate_own(_module: str) -> Any:
    from stepcore.printing.python import OwnReference

    return OwnReference("both_reference", (), "MODEL = SOURCE\n")


def test_each_part_of_a_job_has_its_own_time() -> None:
    used = iter([0.0, 5.0, 5.0, 9.0])
    clock = iter([0.0, 5.0, 5.0, 9.0])
    effort = Effort(4.5, lambda: (next(used), True), lambda: next(clock))
    assert effort.over()
    effort.renew()
    assert not effort.over()


BROKEN = """

@step.composition(reference=both_reference, weights=MODEL, dims={M: 3, K: 4})
def broken(x, weights):
    y = minus.apply(x, weights["a"])
    return x + y


class Silent:
    def named_parameters(self, **_options):
        raise RuntimeError("no weights today")


@step.composition(reference=both_reference, weights=Silent(), dims={M: 3, K: 4})
def silent(x, weights):
    y = plus.apply(x, weights["a"])
    return y


@step.composition(reference=both_reference, weights=MODEL, dims={M: 0, K: 4})
def empty(x, weights):
    y = plus.apply(x, weights["a"])
    return y
"""


def test_a_broken_composition_is_its_own_affair(tmp_path: Path) -> None:
    from job_records import simulate

    path = tmp_path / "file.py"
    text = FILE.format(body=RIGHT) + BROKEN
    payload = {"path": str(path), "text": text}
    rows = {row["task"]: row for row in verify(payload, Quiet())}
    assert {name for name, row in rows.items() if row["accepted"]} == {"plus", "both"}
    assert "minus is no program of this file" in rows["broken"]["shape"]["detail"]
    assert "the weights of silent cannot be read: no weights today" in rows["silent"]["shape"]["detail"]
    assert rows["empty"]["functional"]["code"] == "STEP217"
    found = simulate({**payload, "program": "plus"}, Quiet())
    assert found["verdict"]["accepted"]


def test_programs_run_at_the_sizes_of_the_tensors_that_they_are_given(tmp_path: Path) -> None:
    """One program for layers of two widths: a symbol that stands alone is the size of the tensor."""
    text = FILE.format(
        body='    h = plus.apply(x, weights["a"])\n    y = plus.apply(z, weights["c"])\n    return h, y\n'
    )
    text = text.replace("def both(x, weights):", "def both(x, z, weights):")
    text = text.replace('"b": torch.ones(4)', '"c": torch.ones(6)')
    text = text.replace("def both_reference(x: torch.Tensor, ", "def both_reference(x: torch.Tensor, z: torch.Tensor, ")
    text = text.replace('return x + weights["a"] + 2 * weights["b"]', 'return x + weights["a"], z + weights["c"]')
    wide = """

@step.program(layouts={"b": "y[N]: read [i1]"})
def wide(
    a: Annotated[step.Stream, step.f32, (N, M)], b: Annotated[step.Stream, step.f32, (N, M)]
) -> Annotated[step.Stream, step.f32, (N, M)]:
    return step.Map(fn=fn_add).apply((a, b))


def both_reference("""
    text = text.replace("\n\ndef both_reference(", wide, 1).replace("import K, M", "import K, M, N")
    text = text.replace("plus.apply(z, ", 'wide.apply(z, weights["zero"])\n    y = plus.apply(y, ')
    text = text.replace('"c": torch', '"zero": torch.zeros(6), "c": torch')
    text = text.replace("K: 4}})\ndef both(", "K: 4, N: 6}})\ndef both(").replace(
        "K: 4})\ndef both(", "K: 4, N: 6})\ndef both("
    )
    text = text.replace('z + weights["c"]', 'z + weights["zero"] + weights["c"]')
    rows = verify({"path": str(tmp_path / "file.py"), "text": text}, Quiet())
    assert [(row["task"], row["accepted"]) for row in rows] == [("plus", True), ("wide", True), ("both", True)], rows


def test_commands_for_one_program_say_what_is_done_with_a_composition(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from job_records import simulate
    from stepcore.cli.convert import run
    from stepcore.jobs import JobError

    path = tmp_path / "file.py"
    path.write_text(FILE.format(body=RIGHT))
    payload = {"path": str(path), "text": path.read_text(), "program": "both"}
    (row,) = verify(payload, Quiet())
    assert (row["task"], row["accepted"]) == ("both", True)
    with pytest.raises(JobError, match=r"both is a composition, which runs as a whole by `stepsmith verify`.*: plus"):
        simulate(payload, Quiet())
    assert run(f"{path}::both", None, "yaml") == 2
    assert "both is a composition, and a task file holds one program" in capsys.readouterr().err
    assert run(str(path), None, "yaml") == 0
    output = capsys.readouterr()
    assert "outputs:" in output.out
    assert "the composition both cannot be converted: a task file holds one program" in output.err


def test_a_loop_over_time_is_one_layer_behind_all_that_its_rounds_read(tmp_path: Path) -> None:
    path = tmp_path / "loops.py"
    path.write_text(LOOPS)
    target = find_target(str(path), LOOPS, "Model")
    traced = trace(target, describe(target, (), {}))
    layers = layers_of(traced)
    loops = [layer for layer in layers if any(node.target is END for node in layer.nodes)]
    assert len(loops) == 2
    seen = {node for node in traced.graph.graph.nodes if node.op == "placeholder"}
    for layer in layers:
        assert seen.issuperset(layer.inputs)
        seen.update(layer.outputs)
    users = {item.name: torch.randn(5, 3, 4) for item in traced.inputs if item.kind == "user"}
    weights = {item.name: item.value for item in traced.inputs if item.kind == "weight" and item.value is not None}
    values: dict[Any, torch.Tensor] = {
        node: {**users, **weights}[node.name] for node in seen if node.op == "placeholder"
    }
    for layer in layers:
        function = layer_function(layer, traced, "layer")
        inputs = [node.name for node in function.graph.graph.nodes if node.op == "placeholder"]
        assert [item.name for item in function.inputs] == inputs
        assert isinstance(function.reference, GraphReference)
        run = function.reference.at({"steps": 5})
        values.update(zip(layer.outputs, run(*(values[node] for node in layer.inputs)), strict=True))
    names = {node.name: node for node in traced.graph.graph.nodes}
    (expected,) = traced.reference(*users.values(), **weights)
    torch.testing.assert_close(values[names[traced.outputs[0].node]], expected)
