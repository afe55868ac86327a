"""One proposal of completion, and where in the list it stands."""

from __future__ import annotations

from typing import Final, NamedTuple

from stepcore.ide.model import Kind

# The order of the list: fits and is free; may fit; is free but of another type; consumed already; the rest.
FITS, FREE, MISFITS, SPENT, REST = range(5)
_FN: Final = {
    "input": "element type of one input",
    "output": "element type of the result, and of the state",
    "init": "what the state begins with: 0, 1, -1 or '-inf', one per component",
    "name": "label for people",
}
_PROGRAM: Final = {
    "reference": "PyTorch function of the input tensors that the program is compared with",
    "dims": "sizes for a run, for example {M: 5, N: 7}",
    "name": "label of the program",
    "data": "how test data are drawn, by input",
    "sizes": 'how large dynamic and ragged sizes get: {"?L": (0, 64)}, or values',
    "layouts": "which elements of which tensor an input holds, and how results are put together",
    "constraints": "what the sizes have to satisfy, for people",
}
# What the decorators of stepcore take, by their names.
DECORATORS: Final[dict[str, dict[str, str]]] = {
    "fn": _FN,
    "program": _PROGRAM,
    "composition": {
        "reference": "PyTorch function of the same tensors that the composition is compared with",
        "weights": "PyTorch module, or dictionary of tensors, that the last argument stands for",
        "dims": "sizes for a run, for example {M: 5, N: 7}",
        "name": "label of the composition",
    },
}
# What types are made of: the arguments of step.NAME, each with what it says.
TYPE_ARGUMENTS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "Scalar": (("dtype", 'name of the type of one number: "float", "fp16", "int64", "bool" ...'),),
    "Buffer": (
        ("element", "type of one value: `step.f32`, or a selector"),
        ("sizes", "sizes of the tensor, the innermost first: `[K, D]` holds a tensor `(D, K)`"),
    ),
    "Multihot": (("scalar", "type of one entry: `step.f32`"), ("length", "number of branches")),
    "Tile": (("dtype", 'name of the type of one number: "float"'), ("shape", "rows and columns")),
    "STuple": (("components", "element types in a tuple: `(step.f32, ROW)`"),),
    "Symbol": (("name", 'name of the size: "M"'),),
    "dyn": (("name", 'name of the dynamic size: "L"'),),
    "ragged": (("name", 'name of the ragged size: "L"'),),
    "any_size": (("name", 'name of the size: "R"'),),
}


class CompletionProposal(NamedTuple):  # a tuple, because each list holds a hundred of them
    """One entry of the list before it is placed. ``asks`` says that the first thing to fill in has proposals, too."""

    label: str
    kind: Kind
    rank: int
    detail: str = ""
    documentation: str = ""
    insert: str = ""
    is_snippet: bool = False
    asks: bool = False


__all__ = [
    "DECORATORS", "FITS", "FREE", "MISFITS", "REST", "SPENT", "TYPE_ARGUMENTS", "CompletionProposal",
]  # fmt: skip
