"""What hovers say about names of the language that are no operators: types, markers, names in scope of code."""

from __future__ import annotations

from typing import Final

from stepcore.ide.model import LANGUAGE
from stepcore.ops.base import Operator
from stepcore.text.wording import anchor
from stepcore.types import DTYPE_BYTES

_DTYPES: Final = {
    "fp32": "32-bit floating point", "fp16": "16-bit floating point", "bf16": "bfloat16, 16 bits",
    "int32": "32-bit integer", "int64": "64-bit integer", "bool": "truth value",
}  # fmt: skip
# step.NAME -> (how it is written, what it is). In task files the types are written alike, without ``step.``.
STEP_NAMES: Final[dict[str, tuple[str, str]]] = {
    "Scalar": ('step.Scalar("float")', "One number; `step.f32` is the same, shorter. Its data: a tensor `()`."),
    "Buffer": (
        "step.Buffer(step.f32, [K, D])",
        "A tensor that stays on the chip, its sizes innermost first: the data of `[K, D]` is a tensor `(D, K)`.",
    ),
    "Multihot": (
        "step.Multihot(step.f32, E)",
        "A selector over `E` branches for `Partition` and `Merge`: a tensor `(E,)` of zeros and ones.",
    ),
    "Tile": ('step.Tile("float", [r, c])', "A tile of rows and columns (generation 2)."),
    "STuple": ("step.STuple((a, b))", "A tuple of element types: one tensor for each component."),
    "Symbol": ('step.Symbol("M")', "A symbolic size. `from stepcore.dims import M` gives one too."),
    "dyn": (
        'step.dyn("L")',
        "A dynamic size: one value in each run, which the data decide. `sizes=` says how large it gets.",
    ),
    "ragged": (
        'step.ragged("L")',
        "A ragged size: one value for each position of the dimensions outside; never outermost. `sizes=` says how "
        "large it gets.",
    ),
    "any_size": (
        'step.any_size("R")',
        "Any size, in the types of functions: bound where it stands first in each use, equal where it stands again.",
    ),
    "Stream": (
        "Annotated[step.Stream, step.f32, (M, N)]",
        "An input or output of a program: element type and shape, innermost size first. A stream is consumed at most "
        "once.",
    ),
    "Param": (
        "Annotated[step.Param, step.f32, (K, D)]",
        "A weight, as a keyword-only parameter of a program; element functions read it by its name.",
    ),
    "fn": (
        "@step.fn(input=..., output=..., init=[0])",
        "Makes an element function. With `init` it folds: `f(state, input)`. It gets and returns lists of tensors, one "
        "for each component of the type.",
    ),
    "Fn": (
        "class Sum(step.Fn)",
        "An element function as a class: `__init__` calls `super().__init__(name, input, output)`; `apply` computes.",
    ),
    "program": (
        "@step.program(reference=..., dims={M: 5})",
        "Makes a program of a function over streams; `reference` is the PyTorch function that it is compared with.",
    ),
    "composition": (
        "@step.composition(reference=..., weights=MODEL, dims={M: 5})",
        "Makes a composition of a function over tensors that applies programs, one a line: `h = layer.apply(x)`.",
    ),
    "dims": ("from stepcore.dims import M, N", "Symbols for sizes; any name can be imported."),
    "Program": ("step.Program", "What `@step.program` makes."),
    "Composition": ("step.Composition", "What `@step.composition` makes."),
    "fns": (
        "step.fns.matmul(X, W)",
        "Ready-made element functions for given types: `matmul`, `add`, `silu`, `row_sum` ...",
    ),
    "count": (
        "step.FlatMap(fn=step.count)",
        "Makes of a whole number `n` the list `0, 1, ..., n-1`.",
    ),
    "StepError": ("step.StepError", "Raised by operators that run at once, with the code of the finding."),
    "Annotated": ("Annotated[step.Stream, element, shape]", "Ties the type of a stream to a parameter."),
}
# Which section of the language page tells more of a name.
SECTIONS: Final[dict[str, str]] = {
    **dict.fromkeys(("Scalar", "Buffer", "Multihot", "Tile", "STuple"), "Element types"),
    **dict.fromkeys(("Symbol", "dims"), "Sizes"),
    **dict.fromkeys(("dyn", "ragged", "any_size"), "Dynamic and ragged sizes"),
    **dict.fromkeys(("Param", "program", "Program", "Annotated"), "Python form"),
    **dict.fromkeys(("fn", "Fn"), "Element functions"),
    **dict.fromkeys(("composition", "Composition"), "Compositions"),
    "Stream": "Affine rule",
    "StepError": "Scripts",
    **dict.fromkeys(("fns", "count"), "Ready-made functions"),
}
# Names in scope of the code in task files.
IN_SCOPE: Final[dict[str, str]] = {
    "input_data": "The data of this run by name: `input_data['W']` is a tensor, its sizes reversed.",
    "ctx": "The value of each symbol in this run; `global` binds one by `ctx[E] = 3`.",
    "step": "The operators: `step.NAME(parameters).apply(streams)`.",
}


def rule(text: str, title: str) -> str:
    """Return Markdown with a link to the section ``title`` of the language page."""
    return f"{text}\n\nRule: [{title}]({LANGUAGE}{anchor(title)})"


def dtype_text(dtype: str) -> str:
    """Return what a scalar type is."""
    text = f"```python\n{dtype}\n```\n{_DTYPES[dtype]}: {DTYPE_BYTES[dtype]} bytes. Its data: a tensor of shape `()`."
    return rule(text, "Element types")


def step_text(name: str) -> str | None:
    """Return what ``step.NAME`` is, None where that is no type or marker."""
    if name not in STEP_NAMES:
        return None
    how, what = STEP_NAMES[name]
    return rule(f"```python\n{how}\n```\n{what}", SECTIONS[name])


def task_type_text(name: str) -> str | None:
    """Return what a type is, as task files write it; None where it is none."""
    if name not in ("Buffer", "Multihot", "Tile"):
        return None
    how, what = STEP_NAMES[name]
    text = f"```python\n{how.replace('step.f32', 'fp32').replace('step.', '')}\n```\n{what}"
    return rule(text, SECTIONS[name])


def call_text(operator: type[Operator]) -> str:
    """Return how an operator is written: ``step.Accum(fn=..., b=...).apply(stream)``."""
    calling = operator.calling
    parameters = ", ".join(map(calling.label, calling.own))
    return f"step.{operator.__name__}({parameters}).apply({calling.inputs.sketch('stream')})"


def operator_text(operator: type[Operator], here: str = "") -> str:
    """Return the documentation of an operator; ``here`` says what it does at this place."""
    calling = operator.calling
    lines = [f"```python\n{call_text(operator)}\n```", operator.summary]
    if here:
        lines += ["", here]
    lines += ["", f"Rule: `{operator.rule}`"]
    lines += ["", f"Takes {operator.inputs.text}; gives {operator.outputs.text}."]
    if calling.params:
        lines += ["", *(f"- `{param.name}` ({calling.kind_text(param)}): {param.doc}" for param in calling.params)]
    if operator.details:
        lines += ["", operator.details]
    lines += ["", f"```python\n{_program(operator.example)}\n```"]
    return "\n".join(lines)


def _program(example: str) -> str:
    """Return the program of an example without its imports and reference."""
    at = example.find("@step.program")
    return example[max(at, 0) :].rstrip()
