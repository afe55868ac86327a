"""The table as text of Python."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterator

import torch
from torch import Tensor

from scripts.torch_schemas.examples import view_calls, wrapper_examples
from scripts.torch_schemas.modules import modules, viewing_modules
from scripts.torch_schemas.runs import may_alias
from scripts.torch_schemas.schemas import python_parameters
from scripts.torch_schemas.table import Table, functions, methods, operators, spaces


def derive() -> str:
    """Return the text of the table for the installed torch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = Table()
        functions(table)
        inplace = methods(table)
        owners = {space: module for space, module, _prefix in spaces()} | {"torch.Tensor": Tensor}
        table.part_complex(owners, wrapper_examples())
        table.find_views(owners, {space: prefix for space, _module, prefix in spaces()})
        for name, kind in modules():
            table.add("torch.nn", name, kind, [python_parameters(getattr(torch.nn, name))])
        table.viewing["torch.nn"] = set(viewing_modules(table.pure["torch.nn"]))
        aten = operators(table)
        viewing = {
            name
            for name in aten
            if may_alias(name, getattr(torch.ops.aten, name), view_calls(wrapper_examples().get(name, [])))
        }
        table.viewing["torch.ops.aten"] = viewing
    lines = [
        '"""What the schemas of torch admit. Written by ``scripts/torch_schemas``: do not edit."""',
        "",
        "from typing import Final",
        "",
        f'VERSION: Final = "{torch.__version__.split("+")[0]}"',
        "# namespace -> functions that write nowhere and draw nothing, then those that draw.",
        "PURE: Final = {",
        *_spelled(table.pure),
        "}",
        "RANDOM: Final = {",
        *_spelled(table.random),
        "}",
        "# Those that are as pure, and give complex numbers.",
        "COMPLEX: Final = {",
        *_spelled(table.complex),
        "}",
        "# Those whose result may lie in the memory of an argument.",
        "VIEWS: Final = {",
        *_spelled(table.viewing),
        "}",
        "# ... but of no argument where there are several operands.",
        f"VIEWS_OF_ONE: Final = {_wrapped(sorted(table.viewing_one), 0)[0]}",
        "# Methods that change their tensor and nothing else.",
        "INPLACE: Final = (",
        *_wrapped(sorted(inplace), 1),
        ")",
        "# Terms under which a call writes nowhere: NAME@POSITION:HARMLESS=DEFAULT, see stepcore/fn/terms.py.",
        "WRITES_UNLESS: Final = {",
        *_told(table.writing),
        "}",
        "# ... and draws nothing.",
        "DRAWS_UNLESS: Final = {",
        *_told(table.drawing),
        "}",
        "# NAME:OVERLOADS of torch.ops.aten.",
        "ATEN: Final = (",
        *_wrapped([f"{name}:{','.join(overloads)}" for name, overloads in sorted(aten.items())], 1),
        ")",
    ]
    return "\n".join(lines) + "\n"


def _told(found: dict[str, list[str]]) -> Iterator[str]:
    for name, texts in sorted(found.items()):
        line = f'    "{name}": "{" ".join(texts)}",'
        if len(line) <= 120:
            yield line
        else:
            yield from (f'    "{name}": (', f'        "{" ".join(texts)}"', "    ),")


def _spelled(names: dict[str, set[str]]) -> Iterator[str]:
    for space, found in sorted(names.items()):
        lines = _wrapped(sorted(found), 2)
        if len(lines) == 1:
            yield f'    "{space}": {lines[0].strip()},'
            continue
        yield f'    "{space}": ('
        yield from lines
        yield "    ),"


def _wrapped(words: list[str], level: int) -> list[str]:
    indent = "    " * level
    lines = textwrap.wrap(" ".join(words), 116 - len(indent), break_long_words=False, break_on_hyphens=False)
    return [f'{indent}"{line}{" " if number < len(lines) - 1 else ""}"' for number, line in enumerate(lines)]
