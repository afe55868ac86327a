"""Writes ``tests/published``: each benchmark task as a script in the spelling of published Python programs.

``.venv/bin/python tests/published_scripts.py`` writes them anew. The spelling: sizes are sympy's symbols with a value
each, ``ctx`` maps one to the other, streams are made by ``step.Stream`` and get ``ctx`` and ``data``, functions are
classes with ``getInit`` and ``apply``, and the script compares its results itself.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from textwrap import indent

from stepcore.fn.decl import FnDecl
from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.ir import OutputPort, Port, ProgramSpec
from stepcore.sizes.dim import DEFAULT_SIZES, Dim
from stepcore.types import Buffer, Element, Multihot, Single, STuple, components, element_shape, tensor_shapes

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "published"
TASKS = ROOT / "benchmarks" / "tasks"
_SELECTORS = """
def selectors(shape, least, most):
    rows = torch.zeros(shape)
    for row in rows.view(-1, shape[-1]):
        count = int(torch.randint(least, most + 1, ()))
        row[torch.randperm(shape[-1])[:count]] = 1.0
    return rows
"""


def script(path: Path) -> str:
    """Return the script for one task file."""
    task = read_task(path.read_text(encoding="utf-8"), str(path))
    assert task.spec is not None and task.impl is not None
    spec = task.spec
    names = sorted({*DEFAULT_SIZES, *dict(spec.defaults), *dict(spec.fixed)})
    values = {**DEFAULT_SIZES, **dict(spec.defaults)}
    prelude = spec.scope.prelude
    parts = [
        "import torch",
        "import stepcore as step",
        "from sympy import Symbol",
        "",
        *(f'{name} = Symbol("{name}")' for name in names),
        *(f"{name}_value = {values[name]}" for name in names if name in values),
        "ctx = {" + ", ".join(f"{name}: {name}_value" for name in names if name in values) + "}",
        "torch.manual_seed(42)",
        "" if prelude is None else prelude.source.text.rstrip(),
    ]
    if any(_selects(item) for port in spec.inputs for item in components(port.type.element)):
        parts.append(_SELECTORS)
    parts += ["", "input_data = {"]
    parts += [f'    "{port.name}": {_drawn(port)},' for port in (*spec.inputs, *spec.parameters)]
    parts += ["}", ""]
    labels = Counter(fn.label for fn in spec.fns)
    for fn in spec.fns:
        parts.append(_function(fn, fn.label if labels[fn.label] == 1 else fn.func_name.title().replace("_", "")))
    parts += [_prepare(spec), f"def prog({', '.join(port.name for port in spec.inputs)}):"]
    parts += [indent(task.impl.source.text.rstrip(), "    "), "", "", _check(spec), "", "check()", ""]
    return "\n".join(parts)


def _values(sizes: tuple[Dim, ...]) -> str:
    inner = ", ".join(re.sub(r"\b([A-Z]\w*)\b", r"\1_value", str(size)) for size in sizes)
    return f"({inner},)" if len(sizes) == 1 else f"({inner})"


def _drawn(port: Port) -> str:
    (item,), (shape,) = components(port.type.element), tensor_shapes(port.type)
    if port.data_gen == "binary":
        return f"torch.randint(0, 2, {_values(shape)}).float()"
    if port.data_gen is not None:
        return f"{port.data_gen}({_values(shape)})"
    if _selects(item):
        most = _values((shape[-1],))[1:-2] if port.maximum is None else port.maximum
        return f"selectors({_values(shape)}, {port.minimum or 0}, {most})"
    return f"torch.randn({_values(shape)})"


def _selects(item: Single) -> bool:
    return isinstance(item, Multihot) or isinstance(getattr(item, "element", None), Multihot)


def _type(element: Element) -> str:
    match element:
        case STuple():
            return f"step.STuple(({', '.join(_type(item) for item in element.items)}))"
        case Buffer():
            return f"step.Buffer({_type(element.element)}, [{', '.join(map(str, element.shape))}])"
        case Multihot():
            return f"step.Multihot({_type(element.scalar)}, {element.length})"
        case _:
            dtype = {"fp32": "float"}.get(str(element), str(element))
            return f'step.Scalar("{dtype}")'


def _function(fn: FnDecl, label: str) -> str:
    lines = [f"class {label}(step.Fn):", "    def __init__(self, input, output):"]
    lines += [f'        super().__init__("{label}", input, output)', ""]
    if fn.init is not None:
        filled = zip(fn.init, components(fn.output), strict=True)
        tensors = ", ".join(_filled(value, item) for value, item in filled)
        lines += ["    def getInit(self):", f"        return [{tensors}]", ""]
    lines += [f"    def apply(self, {', '.join(fn.body.arguments)}):", indent(fn.body.source.text.rstrip(), " " * 8)]
    made = f"{fn.func_name} = {label}({_type(fn.input)}, {_type(fn.output)})"
    return "\n".join([*lines, "", "", made, "", ""])


def _filled(value: float, item: Single) -> str:
    sizes = element_shape(item)
    shape = _values(sizes) if sizes else "()"
    if value == 0:
        return f"torch.zeros({shape})"
    return f"torch.ones({shape})" if value == 1 else f'torch.full({shape}, float("{value}"))'


def _prepare(spec: ProgramSpec) -> str:
    lines = ["def prepare():"]
    for port in spec.inputs:
        sizes = ", ".join(map(str, port.type.shape))
        lines.append(
            f'    {port.name} = step.Stream("{port.name}", {_type(port.type.element)}, {port.type.rank}, [{sizes}])'
        )
        lines += [f"    {port.name}.ctx = ctx", f'    {port.name}.data = [input_data["{port.name}"]]']
    names = ", ".join(port.name for port in spec.inputs)
    return "\n".join([*lines, f"    return {names}", "", ""])


def _check(spec: ProgramSpec) -> str:
    outputs = spec.outputs or ()
    lines = ["def check():", f"    {', '.join(p.name for p in spec.inputs)} = prepare()"]
    got = ", ".join(port.name for port in outputs)
    lines.append(f"    {got} = prog({', '.join(port.name for port in spec.inputs)})")
    for port in outputs:
        sizes = ", ".join(map(str, port.type.shape))
        lines.append(f"    assert {port.name}.shape == [{sizes}]")
        lines.append(f"    assert {port.name}.dtype == {_type(port.type.element)}")
        lines.append(f"    assert {port.name}.rank == {port.type.rank}")
        lines += _compared(port)
    return "\n".join([*lines, ""])


def _compared(port: OutputPort) -> list[str]:
    lines: list[str] = []
    for number, block in enumerate(port.transforms):
        tree = ast.parse(block.source.text)
        last = tree.body[-1]
        if isinstance(last, ast.Expr):
            name = f"{port.name}_{number}"
            tree.body[-1] = ast.Assign([ast.Name(name, ast.Store())], last.value)
        else:
            assert isinstance(last, ast.Assign) and isinstance(last.targets[-1], ast.Name)
            name = last.targets[-1].id
        lines.append(indent(ast.unparse(ast.fix_missing_locations(tree)), "    "))
        lines.append(f"    torch.testing.assert_close({port.name}.data[{number}], {name})")
    return lines


def main() -> None:
    """Write all scripts."""
    FOLDER.mkdir(exist_ok=True)
    for path in sorted(TASKS.glob("*.step.yaml")):
        (FOLDER / f"{path.name.split('.')[0]}.py").write_text(script(path), encoding="utf-8")


if __name__ == "__main__":
    main()
