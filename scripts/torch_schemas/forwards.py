"""What modules of ``torch.nn`` compute: the third table, ``forwards.py``, from the source of their ``forward``.

A module whose ``forward`` is one expression is written as a function of its constructor's parameters, which gives a
function of what the module is called with. What is no parameter stands as ``...``; weights whose sizes are numbers that
the constructor takes stand as tensors of these.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any, Final

from torch import nn

from scripts.torch_schemas.modules import module_examples
from stepcore.fn import torch_table

_WIDTH: Final = 105
_LONGEST: Final = 120
_PRIMES: Final = (5, 7, 11, 13)
_ROOTS: Final = {"F": "torch.nn.functional", "torch": "torch"}


def forwards() -> str:
    """Return the table as text of Python."""
    lines = [
        '"""What modules of torch.nn compute. Written by ``scripts/torch_schemas``: do not edit.',
        "",
        "A function of the constructor's parameters gives a function of what the module is called with.",
        '"""',
        "",
        "from typing import Final",
        "",
        f'VERSION: Final = "{torch_table.VERSION}"',
        "FORWARDS: Final = {",
    ]
    names = f"{torch_table.PURE['torch.nn']} {torch_table.RANDOM['torch.nn']}".split()
    for name in sorted(names):
        text = _forward(name)
        if text:
            parts = textwrap.wrap(text.replace('"', "'"), _WIDTH, drop_whitespace=False)
            whole = f'    "{name}": ("{parts[0]}"),'
            is_short = len(parts) == 1 and len(whole) <= _LONGEST
            lines += [whole] if is_short else [f'    "{name}": (', *(f'        "{part}"' for part in parts), "    ),"]
    told = {name: tuple(_listed(name)) for name in sorted(names)}
    lines += ["}", "# Parameters of which a number stands for a list of it.", "LISTS: Final = {"]
    lines += [f'    "{name}": ({", ".join(_quoted(each) for each in of)},),' for name, of in told.items() if of]
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    return f'"{text}"'


def _listed(name: str) -> Iterator[str]:
    """Yield the parameters of which a constructor makes a list where it is given a number."""
    init, _ = module_examples().get(name, ((), ()))
    made = getattr(nn, name)(*init)
    for parameter, value in zip(_own(type(made)), init, strict=False):
        if isinstance(value, int) and getattr(made, parameter.name, None) == (value,):
            yield parameter.name


def _forward(name: str) -> str:
    """Return a module as a function of functions, nothing where it is no single expression."""
    made = getattr(nn, name)
    own = _own(made)
    called = list(inspect.signature(made.forward).parameters.values())[1:]
    if any(map(_takes_more, called)) or {each.name for each in own} & {each.name for each in called}:
        return ""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(made.forward))).body
    assert isinstance(tree, ast.FunctionDef)
    body = [each for each in tree.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return ""
    spelled = _Spelled({each.name for each in own}, {each.name for each in called}, _attributes(name))
    inner = ast.unparse(spelled.visit(body[0].value))
    if re.search(r"\.\.\.[.(]", inner):
        return ""  # what it calls is no function of torch
    outer = f"lambda {', '.join(_parameters(own))}" if own else "lambda"
    return f"{outer}: lambda {', '.join(_parameters(called))}: {inner}"


def _own(made: type[nn.Module]) -> list[inspect.Parameter]:
    """Return the parameters of a constructor, without those that take whatever is given."""
    if made.__init__ is nn.Module.__init__:
        return []
    return [each for each in inspect.signature(made).parameters.values() if not _takes_more(each)]


def _takes_more(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)


def _parameters(given: list[inspect.Parameter]) -> Iterator[str]:
    has_star = False
    for each in given:
        if each.kind == each.KEYWORD_ONLY and not has_star:
            has_star = True
            yield "*"
        plain = isinstance(each.default, int | float | str | None)
        default = "" if each.default is each.empty else f"={each.default!r}" if plain else "=..."
        yield f"{each.name}{default}"


def _attributes(name: str) -> dict[str, str]:
    """Return what stands for attributes of a module that are no parameters: numbers, and weights by their sizes."""
    init, _ = module_examples().get(name, ((), ()))
    made = getattr(nn, name)(*init)
    given = {each.name for each in _own(type(made))}
    found = {key: repr(value) for key, value in vars(made).items() if isinstance(value, float) and key not in given}
    found |= {key: "..." for key, _ in made.named_parameters()}
    wanted = [each.name for each in _own(type(made)) if each.default is each.empty]
    if wanted and len(wanted) <= len(_PRIMES) and all(isinstance(value, int) for value in init):
        by_size = dict(zip(_PRIMES, wanted, strict=False))
        weights = dict(_made(name, len(wanted)).named_parameters())
        if all(size in by_size for weight in weights.values() for size in weight.shape):
            found |= {
                key: f"torch.empty({', '.join(by_size[size] for size in weight.shape)})"
                for key, weight in weights.items()
            }
    return found


def _made(name: str, count: int) -> Any:
    try:
        return getattr(nn, name)(*_PRIMES[:count])
    except ValueError:  # numbers that have to divide each other
        return nn.Identity()


class _Spelled(ast.NodeTransformer):
    """Writes ``self.name`` as the parameter that it holds, and names of torch in full."""

    def __init__(self, own: set[str], called: set[str], attributes: dict[str, str]) -> None:
        self.own = own
        self.called = called
        self.attributes = attributes

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Replace an attribute of the module."""
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            text = self.attributes.get(node.attr, node.attr if node.attr in self.own else "...")
            return ast.parse(text, mode="eval").body
        return ast.Attribute(self.visit(node.value), node.attr, ast.Load())

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Replace a name of torch; what is neither that nor an argument is not known."""
        if node.id in _ROOTS:
            return ast.parse(_ROOTS[node.id], mode="eval").body
        return node if node.id in self.called else ast.Constant(...)
