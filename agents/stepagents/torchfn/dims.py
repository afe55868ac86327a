"""Sizes and dtypes of a function's arguments, as far as its file and the command line tell them. No torch here.

Where they come from, the strongest first:

1. ``--input "x=m k"`` (``"x=m k int64"`` with a dtype, ``"eps=1e-5"`` for a plain number) and ``--dims m=64``;
2. a comment or a line of the docstring, ``stepsmith: x[m, k], w[k, n] bf16, bias[n]``, inside the function, on its
   signature or right above it. Sizes are written as PyTorch writes shapes, outermost first; fp32 unless a dtype is
   given;
3. annotations in the manner of jaxtyping, ``Float[Tensor, "m k"]``, read as text; jaxtyping need not be installed;
4. ``get_inputs()`` in the file, which the worker calls, unless it contradicts the function's own text
   (:mod:`stepagents.shapes.particular`);
5. a comment of the signature that is not addressed to us, ``# x: (rows, width)``. Beside a ``get_inputs()`` that agrees
   it tells no more than how sizes are called.

A name stands for a size (a symbol), a number for itself. What none of them tells is inferred by the worker
(:mod:`stepagents.shapes.proposal`).
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from stepagents.torchfn.refusals import NO_SIZES, NO_TYPE, Refused, refuse
from stepagents.torchfn.target import Argument, Target, last_name
from stepagents.torchfn.usage import is_number, usages
from stepcore.records import Record
from stepcore.sizes.dim import SIZE_RULE, Dim, DimError, is_size
from stepcore.sizes.expressions import dim_of
from stepcore.types import DTYPE_ALIASES, DTYPE_BYTES

# Names of jaxtyping's types; one that leaves the width open means the usual one.
_JAXTYPES: Final[Mapping[str, str]] = {
    "Float": "fp32", "Float32": "fp32", "Float16": "fp16", "BFloat16": "bf16", "Inexact": "fp32", "Num": "fp32",
    "Real": "fp32", "Shaped": "fp32", "Int": "int64", "Int64": "int64", "Int32": "int32", "Integer": "int64",
    "Bool": "bool",
}  # fmt: skip
_UNSUPPORTED: Final = frozenset(
    {"Float64", "Complex", "Complex64", "Complex128", "UInt8", "Int8", "Int16", "UInt", "Key", "float64", "double"}
    | {"fp64", "complex64", "complex128", "uint8", "int8", "int16"}
)
_MARK: Final = re.compile(r"stepsmith:\s*(?!ignore)(.*)")
_ITEM: Final = re.compile(  # (H*K) x D is no shape of one size: it goes on
    r"\s*,?\s*([A-Za-z_]\w*)\s*(?::\s*)?(?:\[([^\[\]]*)\]|\(([^()]*)\))(?!\s*(?:[x×]|by)\s)\s*([a-z]+\d+|bool|float|long|int)?"
)
_TOKEN: Final = re.compile(r"[^\s,]+")
_NUMBER: Final = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*=\s*([^\s,;=]+)")
# Names that programs use themselves: no size and no input may have one.
RESERVED: Final = frozenset({"step", "torch", "input", "state", "input_data", "ctx", "Annotated"})
_SCALARS: Final = frozenset({"int", "float", "bool", "str", "None"})

# Guesses for arguments that nothing describes, by the names that people give them.
_GUESSES: Final[Mapping[str, str]] = {
    "q": "s d", "query": "s d", "k": "t d", "key": "t d", "keys": "t d", "v": "t d", "value": "t d", "values": "t d",
    "w": "k n", "weight": "k n", "b": "n", "bias": "n", "gamma": "k", "beta": "k", "scale": "k", "mask": "s t",
    "scores": "m n", "logits": "m n", "target": "m n", "targets": "m n", "img": "c h w", "image": "c h w",
}  # fmt: skip


class Described(Record):
    """One argument: sizes (outermost first) and dtype of a tensor, or the value of a plain argument.

    ``is_typed``: somebody wrote the dtype, or it is known; otherwise a run may show that it is another one.
    """

    name: str
    dims: tuple[Dim, ...] | None = None
    dtype: str = "fp32"
    value: object = None
    is_typed: bool = True

    @property
    def is_tensor(self) -> bool:
        """True for a tensor."""
        return self.dims is not None


class Description(Record):
    """All arguments, in order, or None where only ``get_inputs()`` can tell; sizes that were asked for by name."""

    arguments: tuple[Described, ...] | None
    bindings: Mapping[str, int] = field(default_factory=dict)


class Partial(Record):
    """What is known of some arguments, by name; ``has_examples`` if ``get_inputs()`` tells of all.

    ``variadic``: the function takes more than its arguments say. ``loose`` are those of the arguments that a comment
    tells which is not addressed to us: it is evidence, and a run may show that it means something else.
    """

    found: Mapping[str, Described]
    missing: tuple[Argument, ...]
    bindings: Mapping[str, int]
    has_examples: bool
    variadic: bool
    loose: Mapping[str, Argument] = field(default_factory=dict)

    @property
    def can_be_inferred(self) -> bool:
        """Whether some are missing, and are all that :func:`stepagents.shapes.proposal.propose` has to find."""
        return bool(self.missing) and not self.has_examples and not self.variadic

    @property
    def needs_examples(self) -> bool:
        """Whether ``get_inputs()`` is there, and has to tell of the arguments."""
        told = any(item.is_tensor for item in self.found.values())
        return self.has_examples and (bool(self.missing) or not told or self.variadic)

    @property
    def loosened(self) -> Partial:
        """The same without what only comments in passing tell."""
        found = {name: item for name, item in self.found.items() if name not in self.loose}
        return replace(self, found=found, missing=(*self.missing, *self.loose.values()), loose={})


def describe(target: Target, inputs: Sequence[str] = (), dims: Mapping[str, int] | None = None) -> Description:
    """Return what is known of the arguments of ``target``.

    Args:
        target: the function.
        inputs: the values of ``--input``, such as ``"x=m k"``.
        dims: the values of ``--dims``.

    Raises:
        Refused: STEP602 for sizes that nothing tells (with a guess), STEP605 for sizes and types that cannot be.
    """
    return completed(target, partly(target, inputs, dims))


def completed(target: Target, partial: Partial, more: Mapping[str, Described] | None = None) -> Description:
    """Return the description of all arguments from what is known of some, and ``more`` for those that are missing.

    Raises:
        Refused: see :func:`describe`.
    """
    known = {**partial.found, **(more or {})}
    missing = [argument for argument in partial.missing if argument.name not in known]
    found = [known[argument.name] for argument in target.arguments if argument.name in known]
    told = any(item.is_tensor for item in found)
    if partial.needs_examples:
        return Description(None, partial.bindings)
    if missing:
        raise _missing(target, missing)
    if target.variadic or not told:
        what = (
            f"{target.qualifier} takes any number of arguments"
            if target.variadic
            else f"{target.qualifier} takes no tensor"
        )
        raise refuse(NO_SIZES, what, target.path, target.line, target.column, advice="add get_inputs() to the file")
    _check_symbols(target, found, partial.bindings)
    return _renamed(target, Description(tuple(found), partial.bindings))


def partly(
    target: Target, inputs: Sequence[str] = (), dims: Mapping[str, int] | None = None, *, with_examples: bool = True
) -> Partial:
    """Return what is known of some arguments of ``target``, and which are missing; see :func:`describe`.

    Without ``with_examples`` it is as if the file had no ``get_inputs()``.

    Raises:
        Refused: as there, but not for what is missing.
    """
    bindings = dict(dims or {})
    for name, size in bindings.items():
        if not is_size(size):
            raise refuse(NO_TYPE, f"--dims {name}={size}: {SIZE_RULE}", target.path, target.line)
    asked = _asked(target, inputs)
    makers = (node for node in target.tree.body if isinstance(node, ast.FunctionDef) and node.name == "get_inputs")
    has_examples = with_examples and any(makers)
    noted = _noted(target)
    passing = {} if has_examples else noted_in_passing(target)
    found: dict[str, Described] = {}
    missing: list[Argument] = []
    loose: dict[str, Argument] = {}
    for argument in target.arguments:
        name = argument.name
        known = asked.get(name) or noted.get(name)
        if known is None and name in passing:
            known, _ = passing[name]
            if argument.default is None:
                loose[name] = argument
        known = known or _annotated(target, argument) or _plain(argument)
        if known is not None:
            found[name] = known
        elif argument.default is None:
            missing.append(argument)
    return Partial(found, tuple(missing), bindings, has_examples, target.variadic, loose)


def _renamed(target: Target, description: Description) -> Description:
    """Write symbols in capitals where their name is taken: by an argument, or by a name that programs use."""
    arguments = description.arguments or ()
    symbols = {name for item in arguments for size in item.dims or () for name in size.symbols()}
    taken = {argument.name for argument in target.arguments} | RESERVED
    names = {name: _free(name, symbols | taken) for name in symbols if name in taken or keyword.iskeyword(name)}
    if not names:
        return description

    def put(name: str) -> Dim | None:
        return Dim.symbol(names[name]) if name in names else None

    renamed = tuple(
        item if item.dims is None else replace(item, dims=tuple(size.substitute(put) for size in item.dims))
        for item in arguments
    )
    return Description(renamed, {names.get(name, name): size for name, size in description.bindings.items()})


def _free(name: str, taken: Container[str]) -> str:
    candidates = (name.upper(), *(f"{name.upper()}{number}" for number in range(2, 1000)))
    return next(text for text in candidates if text not in taken)


def _missing(target: Target, missing: Sequence[Argument]) -> Refused:
    number = next((item for item in missing if _is_plain_number(target, item)), None)
    if number is not None:
        advice = f'give its value: --input "{number.name}=2"'
        what = f"the value of {number.name} is not known"
        return refuse(NO_SIZES, what, target.path, number.line, number.column, advice=advice)
    guess = {item.name: _GUESSES.get(item.name, "m k") for item in missing}
    return unknown_sizes(target, guess, missing[0])


def unknown_sizes(target: Target, guess: Mapping[str, str], first: Argument, why: str = "") -> Refused:
    """Return the refusal of a function whose sizes are not known, with a guess as :attr:`Refused.guess` holds it."""
    names = ", ".join(guess)
    note = ", ".join(noted(name, text) for name, text in guess.items())
    option = " ".join(f'--input "{name}={text}"' for name, text in guess.items())
    what = f"the shapes of {names} are" if len(guess) > 1 else f"the shape of {names} is"
    advice = f"add the comment `# stepsmith: {note}`, annotate with jaxtyping, or pass {option}"
    refused = refuse(NO_SIZES, f"{what} not known{why}", target.path, first.line, first.column, advice=advice)
    refused.guess.update(guess)
    return refused


def noted(name: str, text: str) -> str:
    """Return what ``--input`` says of an argument as a comment says it: ``m k int64`` becomes ``x[m, k] int64``."""
    if _is_literal(text):
        return f"{name}={text}"
    tokens = _TOKEN.findall(text.strip("[]()"))
    dtype = tokens.pop() if tokens and (tokens[-1] in DTYPE_BYTES or tokens[-1] in DTYPE_ALIASES) else ""
    return f"{name}[{', '.join(tokens)}] {dtype}".rstrip()


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return not text.strip().startswith(("[", "("))


def _check_symbols(target: Target, found: Sequence[Described], bindings: Mapping[str, int]) -> None:
    used = {name for item in found for size in item.dims or () for name in size.symbols()}
    for name in bindings:
        if name not in used:
            known = f"it uses {', '.join(sorted(used))}" if used else "it has only fixed sizes"
            raise refuse(NO_SIZES, f"{target.qualifier} has no size {name}", target.path, target.line, advice=known)


def _asked(target: Target, inputs: Sequence[str]) -> dict[str, Described]:
    known = {argument.name: argument for argument in target.arguments}
    result: dict[str, Described] = {}
    for text in inputs:
        name, mark, value = (part.strip() for part in text.partition("="))
        if not mark or name not in known:
            what = f"--input {text}: {target.qualifier} takes {', '.join(known) or 'nothing'}"
            advice = f'write its sizes, too: --input "{name}=m k"' if name in known else ""
            raise refuse(NO_SIZES, what, target.path, target.line, advice=advice)
        argument = known[name]
        if _is_number(argument) or (_is_literal(value) and is_number(argument, usages(target)[name])):
            try:
                result[name] = Described(name, value=ast.literal_eval(value))
            except (ValueError, SyntaxError) as error:
                raise refuse(NO_SIZES, f"--input {text}: a number is expected", target.path, target.line) from error
        else:
            result[name] = _tokens(target, name, value.strip("[]()"), target.line, 1)
    return result


def _is_plain_number(target: Target, argument: Argument) -> bool:
    annotation = resolved(target, argument.annotation)
    return isinstance(annotation, ast.Name) and annotation.id in _SCALARS - {"None"}


def _is_number(argument: Argument) -> bool:
    if isinstance(argument.annotation, ast.Name):
        return argument.annotation.id in _SCALARS
    return isinstance(argument.default, ast.Constant) and argument.default.value is not None


def _plain(argument: Argument) -> Described | None:
    """Return an argument whose default is kept: it is no tensor."""
    if argument.default is None:
        return None
    try:
        return Described(argument.name, value=ast.literal_eval(argument.default))
    except (ValueError, SyntaxError, TypeError):
        return None


def _noted(target: Target) -> dict[str, Described]:
    """Return what comments and the docstring say that are addressed to us.

    Raises:
        Refused: they cannot be read.
    """
    result: dict[str, Described] = {}
    for line, text, is_marked in _notes(target):
        if not is_marked:
            continue
        result |= _noted_numbers(target, text)
        for name, sizes, dtype in _items(target, text):
            if dtype and dtype not in {*DTYPE_BYTES, *DTYPE_ALIASES, *_UNSUPPORTED}:
                what = f"{dtype} of {name} is no element type"
                known = f"use one of {', '.join(DTYPE_BYTES)}"
                raise refuse(NO_TYPE, what, target.path, line, advice=known)
            result[name] = _tokens(target, name, f"{sizes} {dtype}", line, 1)
    return result


def noted_in_passing(target: Target) -> dict[str, tuple[Described, int]]:
    """Return what other comments of the signature say, with their lines. What cannot be read there is no evidence."""
    result: dict[str, tuple[Described, int]] = {}
    for line, text, is_marked in _notes(target):
        for name, sizes, dtype in () if is_marked else _items(target, text):
            known = dtype if dtype in DTYPE_BYTES or dtype in DTYPE_ALIASES else ""
            try:
                found = _tokens(target, name, f"{sizes} {known}", line, 1)
            except Refused:
                continue
            if found.dims or not sizes.strip():  # ``actions (int64)`` tells no sizes
                result[name] = found, line
    return result


def _items(target: Target, text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the arguments that a comment names, with the text of their sizes and of their element type."""
    names = {argument.name for argument in target.arguments}
    for match in _ITEM.finditer(text):
        if match[1] in names:
            yield match[1], match[2] if match[2] is not None else match[3], match[4] or ""


def size_names(target: Target) -> dict[str, tuple[str, ...]]:
    """Return what comments of the signature call the sizes of arguments, whatever they write, outermost first."""
    texts = (text for _, text, is_marked in _notes(target) if not is_marked)
    found = (item for text in texts for item in _items(target, text))
    return {name: tuple(_TOKEN.findall(sizes)) for name, sizes, _ in found}


def _noted_numbers(target: Target, text: str) -> dict[str, Described]:
    """Read ``heads=4`` in a comment of ours."""
    found: dict[str, Described] = {}
    for name, value in _NUMBER.findall(_ITEM.sub(" ", text)):
        if any(argument.name == name for argument in target.arguments) and _is_literal(value):
            found[name] = Described(name, value=ast.literal_eval(value))
    return found


def _notes(target: Target) -> Iterator[tuple[int, str, bool]]:
    """Yield comments and lines of the docstring with their lines, and whether they are marked as ours."""
    lines = target.text.splitlines()
    for number in range(target.above, min(target.last, len(lines)) + 1):
        comment = _comment(lines[number - 1])
        match = _MARK.search(comment)
        if match:
            yield number, match[1], True
        elif target.line <= number <= target.signature_end:
            yield number, comment, False
    for text in target.docstring.splitlines():
        match = _MARK.search(text)
        if match:
            yield target.line, match[1], True


def _comment(line: str) -> str:
    """Return what follows the first ``#`` outside quotes."""
    quote = ""
    for index, sign in enumerate(line):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign == "#":
            return line[index + 1 :]
    return ""


def _annotated(target: Target, argument: Argument) -> Described | None:
    annotation = resolved(target, argument.annotation)
    if not isinstance(annotation, ast.Subscript) or not isinstance(annotation.slice, ast.Tuple):
        return None
    kind = last_name(annotation.value)
    items = annotation.slice.elts
    if len(items) != 2 or not isinstance(items[1], ast.Constant) or not isinstance(items[1].value, str):
        return None
    if kind in _UNSUPPORTED:
        what = f"{argument.name} is {kind}, which no program holds"
        raise refuse(NO_TYPE, what, target.path, argument.line, argument.column, advice="use Float32, Int64 or Bool")
    if kind not in _JAXTYPES:
        return None
    return _tokens(target, argument.name, f"{items[1].value} {_JAXTYPES[kind]}", argument.line, argument.column)


def resolved(target: Target, annotation: ast.expr | None) -> ast.expr | None:
    """Return what an annotation means: without quotes and ``| None``, and what its names stand for."""
    for _ in range(10):
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value, mode="eval").body
            except SyntaxError:
                return None
        elif isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
            annotation = annotation.left
        elif isinstance(annotation, ast.Subscript) and getattr(annotation.value, "id", "") == "Optional":
            annotation = annotation.slice
        elif isinstance(annotation, ast.Name) and (alias := _assigned(target.tree, annotation.id)) is not None:
            annotation = alias
        else:
            break
    return annotation


def _assigned(tree: ast.Module, name: str) -> ast.expr | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return node.value
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            return node.value
    return None


def _tokens(target: Target, name: str, text: str, line: int, column: int) -> Described:
    """Return the tensor that sizes and perhaps a dtype describe, such as ``m k int64`` or ``2*m, 4``."""
    sizes: list[Dim] = []
    dtype = ""
    for token in _TOKEN.findall(text):
        if token in _UNSUPPORTED:
            raise refuse(
                NO_TYPE, f"{name} is {token}, which no program holds", target.path, line, column, advice="use fp32"
            )
        if token in DTYPE_BYTES or token in DTYPE_ALIASES:
            dtype = DTYPE_ALIASES.get(token, token)
        elif token != "...":
            sizes.append(_size(target, name, token, line, column))
    return Described(name, tuple(sizes), dtype or "fp32", is_typed=bool(dtype))


def _size(target: Target, name: str, token: str, line: int, column: int) -> Dim:
    text = token.lstrip("*#?").rpartition("=")[2]  # jaxtyping: variadic, broadcasting, documented sizes
    try:
        whole = ast.parse(text, mode="eval").body
        if any(isinstance(part, ast.Name) and part.id == "_" for part in ast.walk(whole)):
            raise ValueError("a size without a name")
        size = dim_of(whole)
    except (SyntaxError, ValueError, DimError) as error:
        advice = "write names and numbers, outermost first, such as m k"
        raise refuse(
            NO_SIZES, f"the size {token} of {name} cannot be read", target.path, line, column, advice=advice
        ) from error
    if size.constant is not None and not is_size(size.constant):
        raise refuse(NO_TYPE, f"{name} has a size of {size}: {SIZE_RULE}", target.path, line, column)
    return size
