"""A verified program as a Python file beside the user's function, or as a task file. Loads no torch by itself."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from textwrap import fill, indent
from typing import TYPE_CHECKING, Final

from stepagents.lower.emit import Emitted
from stepagents.lower.layouts import sources, written_out
from stepagents.torchfn.target import HEAD, Target
from stepagents.torchfn.transform import Unwritable, transform_blocks
from stepagents.traced.graph import FIXED, ModuleState, TracedFunction, TracedInput, alias_of
from stepcore import gate
from stepcore.conversion.to_python import spec_to_python
from stepcore.conversion.to_task import python_to_task
from stepcore.fn.decl import CodeBlock
from stepcore.frontend.python import read_module
from stepcore.graph.ir import ProgramSpec
from stepcore.printing.code_lines import WIDTH, broken, from_import, literal, spaced
from stepcore.printing.python import OwnReference
from stepcore.sizes.dim import is_name
from stepcore.text.span import Embedded
from stepcore.types import tensor_shapes
from stepcore.version import VERSION

if TYPE_CHECKING:
    from torch import Tensor

_LINE: Final = re.compile(r"# line (\d+).*")
_SHOWN_SIZES: Final = 6  # of all at which a program was verified
_LARGEST_RUN: Final = 1 << 23  # elements of all input streams at the sizes that a file is verified with


def python_text(traced: TracedFunction, target: Target, emitted: Emitted, folder: Path) -> str:
    """Return the program as a Python file in ``folder``, with ``reference=`` pointing at the user's function.

    The file passes the gate (:mod:`stepcore.gate`), whoever wrote the program.

    Raises:
        TooLarge: a constant of the function cannot be written out.
        ConvertError: the file cannot be certified.
    """
    spec = _delivered(traced, emitted)
    reference = own_reference(traced, target, sources(emitted.spec, constants_of(traced, emitted)), folder)
    impl = commented(target, emitted, margin=4)
    return spec_to_python(spec, impl, own=reference)


def task_text(traced: TracedFunction, target: Target, emitted: Emitted, folder: Path) -> str:
    """Return the program as a task file in ``folder``; ``source`` names the user's function.

    Its references are the function's own operations, so the file can be verified without the function; where the
    language of task files lacks one of them, ``constraints`` says so instead.

    Raises:
        TooLarge: a constant of the function cannot be written out.
    """
    spec = _delivered(traced, emitted)
    keys = {}
    try:
        spec = with_references(spec, traced, emitted)
    except Unwritable as error:
        keys["constraints"] = f"There is no data_transform: {error}. Verify it against the function in source."
    text = _task(spec, commented(target, emitted, margin=2))
    place = os.path.relpath(Path(target.path).absolute(), folder.absolute())
    keys["source"] = f"{place}::{target.qualifier}"
    comment = "".join(f"# {line}\n" for line in fill(_verified(traced), WIDTH - 2).split("\n"))
    return comment + text + "".join(f"{key}: {_quoted(value)}\n" for key, value in keys.items())


def question_text(traced: TracedFunction, emitted: Emitted) -> str:
    """Return the task of a program without the program: what somebody else is asked to write.

    Raises:
        TooLarge: a constant of the function cannot be written out.
        Unwritable: the function's operations are not in the language of task files.
    """
    spec = with_references(_delivered(traced, emitted), traced, emitted)
    return _task(spec, "...")


def _task(spec: ProgramSpec, impl: str) -> str:
    module = read_module(spec_to_python(spec, impl), "program.py")
    return python_to_task(module, module.programs[0])


def with_references(spec: ProgramSpec, traced: TracedFunction, emitted: Emitted) -> ProgramSpec:
    """Return ``spec`` with the function's own operations as its references.

    Raises:
        Unwritable: the language of task files lacks one of them.
    """
    available = set(sources(emitted.spec, constants_of(traced, emitted)))
    taken = {*spec.scope.symbols, *(fn.func_name for fn in spec.fns)}
    blocks = transform_blocks(traced, available, taken)
    outputs = tuple(
        replace(port, transforms=(CodeBlock(Embedded.whole(block)),))
        for port, block in zip(spec.outputs or (), blocks, strict=True)
    )
    return replace(spec, outputs=outputs)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in escaped) + '"'


def _delivered(traced: TracedFunction, emitted: Emitted) -> ProgramSpec:
    spec = written_out(emitted.spec, constants_of(traced, emitted))
    sizes = file_sizes(traced, spec)
    used = {name for name, _ in spec.defaults}
    return replace(spec, defaults=tuple((name, size) for name, size in sizes.items() if name in used))


def file_sizes(traced: TracedFunction, spec: ProgramSpec) -> Mapping[str, int]:
    """Return the sizes that a file has: those that the user gave, unless a run at these would take seconds.

    Then they are the largest that the program was verified at and that are none of them larger than the user's; where
    there are none, the largest that a run is quick at, or at last the smallest.
    """
    asked = {**traced.dims, **traced.bound}
    if elements(spec, asked) <= _LARGEST_RUN:
        return asked
    quick = [sizes for sizes in traced.verified if elements(spec, sizes) <= _LARGEST_RUN]
    within = [sizes for sizes in quick if all(sizes[name] <= size for name, size in traced.bound.items())]
    if not quick:
        return min(traced.verified, key=lambda sizes: elements(spec, sizes), default=traced.dims)
    return max(within or quick, key=lambda sizes: elements(spec, sizes))


def elements(spec: ProgramSpec, sizes: Mapping[str, int]) -> int:
    """Return how many elements all input streams have."""
    shapes = [shape for port in spec.inputs for shape in tensor_shapes(port.type)]
    return sum(prod(size.bind(sizes) for size in shape) for shape in shapes)


def constants_of(traced: TracedFunction, emitted: Emitted) -> dict[str, Tensor]:
    """Return the tensors that the function holds itself, as far as the program reads them."""
    known: dict[str, Tensor] = {
        item.name: item.value for item in traced.inputs if item.kind == "constant" and item.value is not None
    }
    users = {item.name for item in traced.inputs}
    for node in traced.graph.graph.nodes:
        if FIXED in node.meta and node.name not in users:
            known[node.name] = node.meta[FIXED]
    read = {layout.source for layout in emitted.inputs if not layout.is_generated}
    return {name: tensor for name, tensor in known.items() if name in read}


def commented(target: Target, emitted: Emitted, margin: int) -> str:
    """Return ``impl`` with the text of the source line in the comment above each group of operators from there."""
    source = target.text.splitlines()
    result: list[str] = []
    impl = gate.printed(emitted.impl.strip("\n"))  # a model may have written it
    for text in impl.split("\n"):
        match = _LINE.fullmatch(text)
        if match is None:
            code = text.lstrip(" ")
            own = len(text) - len(code)
            result.append(indent(broken(spaced(code), margin + own), " " * own))
            continue
        result.append(line_comment(source, int(match[1]), margin))
    laid_out = "\n".join(result)
    return laid_out if gate.same_code(laid_out, impl) else impl


def line_comment(source: Sequence[str], number: int, margin: int) -> str:
    """Return a comment with the code of a line of the user's file, cut to what fits behind ``margin``."""
    code = source[number - 1].split("#")[0].strip() if number <= len(source) else ""
    comment = f"# line {number}: {code}"
    return comment if len(comment) + margin <= WIDTH else f"{comment[: WIDTH - margin - 4]} ..."


def own_reference(
    traced: TracedFunction,
    target: Target,
    given: Sequence[str],
    folder: Path,
    reshaped: Mapping[str, str] | None = None,
    shaped: str = "",
) -> OwnReference:
    """Return how the file reaches the user's function; ``given`` are the tensors that a reference gets, in order.

    Those of ``reshaped`` have other sizes in memory than the function wants: a matrix of one row for a vector, by such
    as ``.reshape(-1)``; ``shaped`` is what the program wants
    of the function's result, such as ``.reshape(1, -1)``, where that has another shape.
    """
    module = UserModule(target, folder)
    users = [item for item in traced.inputs if item.kind == "user"]
    weights = [item for item in traced.inputs if item.kind == "weight"]
    owner = target.qualifier.partition(".")[0]
    head = head_text(target, traced)
    literals = literal_arguments(traced, target)
    direct = are_first(target, users) and not literals
    if target.kind == "function" and direct and list(given) == [item.name for item in users]:
        alias = f"{traced.name}_reference"  # the program itself has the name of the function
        imports, code = module.objects(owner, alias)
        return OwnReference(alias, imports, code, head)
    alias = alias_of(owner, traced.name, traced.dims)
    needs_object = target.kind != "function" and not target.is_static
    imports, code = module.objects(owner, alias, with_init=needs_object)
    missing = [item for item in (*users, *weights) if item.name not in given]
    lines = [f"    {name} = {name}{method}" for name, method in (reshaped or {}).items()]
    lines += [f"    {item.name} = {_stand_in(item, traced, given)}  # the program does not read it" for item in missing]
    if not needs_object:
        lines.append(called(target, alias, users, literals, by_name=traced.state.by_name))
    else:
        state = traced.state
        code += instance_text(target, alias, module.has_init, traced.evaluated, weights, state)
        lines += _method_call(target, weights, users, literals, is_kept=state.kept, by_name=state.by_name)
        imports = ["from copy import deepcopy", *imports] if state.kept else imports
    if shaped:
        margin, _, call = lines[-1].partition("return ")
        lines[-1:] = [f"{margin}found = {call}", f"    return found{shaped}"]
    signature = ", ".join(f"{name}: torch.Tensor" for name in given)
    definition = broken(f"def {traced.name}_reference({signature}) -> {result_type(traced)}:")
    text = "\n".join([definition, *lines])
    return OwnReference(f"{traced.name}_reference", imports, f"{code.rstrip()}\n\n\n{text}".strip("\n"), head)


def are_first(target: Target, users: Sequence[TracedInput]) -> bool:
    """Whether the tensors are the first arguments, in their order."""
    first = target.arguments[: len(users)]
    return [item.name for item in first] == [item.origin for item in users] and not any(item.by_name for item in first)


def _stand_in(item: TracedInput, traced: TracedFunction, given: Sequence[str]) -> str:
    """Return a tensor for an argument that no program reads: of its shape where that is known: it may be written."""
    read = [each for each in traced.inputs if each.name in given]
    alike = [each.name for each in read if (each.dims, each.dtype) == (item.dims, item.dtype)]
    if alike:
        return f"torch.zeros_like({alike[0]})"
    sizes = [size.constant for size in item.dims]
    return f"torch.zeros({'()' if None in sizes else tuple(sizes)})"


def result_type(traced: TracedFunction) -> str:
    """Return the annotation of what the function returns."""
    count = len(traced.outputs)
    return "torch.Tensor" if count == 1 else f"tuple[{', '.join(['torch.Tensor'] * count)}]"


def called(
    target: Target, owner: str, users: Sequence[TracedInput], literals: Sequence[str], *, by_name: bool = False
) -> str:
    """Return the statement that returns what the user's function, or its method of ``owner``, gives.

    With ``by_name`` a method ``forward`` is called, where no PyTorch module calls it.
    """
    named = target.by_name
    written = (f"{item.origin}={item.name}" if item.origin in named else item.name for item in users)
    given = ", ".join([*written, *literals])
    method = "" if target.kind == "function" else target.qualifier.partition(".")[2]
    method = method or ("forward" if by_name else "")
    return returned(f"{owner}{'.' if method else ''}{method}({given})")


def functional_arguments(target: Target, users: Sequence[TracedInput], literals: Sequence[str]) -> str:
    """Return the arguments of a call of the user's function as ``functional_call`` takes them: in order, by name."""
    by_name = target.by_name
    ordered = [item.name for item in users if item.origin not in by_name]
    named = [f"{literal(item.origin)}: {item.name}" for item in users if item.origin in by_name]
    named += map(_as_item, literals if by_name else ())
    given = f"({', '.join(ordered)},)" if ordered else "()"
    return f"{given}, {{{', '.join(named)}}}" if named or not ordered else given


def head_text(target: Target, traced: TracedFunction) -> str:
    """Return the docstring of a file: what it computes, and what was verified when it was written."""
    verified = fill(_verified(traced), WIDTH, break_long_words=False, break_on_hyphens=False)
    return f"{_origin(target).rstrip()}\n\n{verified}\n"


def _verified(traced: TracedFunction) -> str:
    """Say at which sizes the program of a file was compared with the function, on which data, and by what."""
    sizes = [", ".join(f"{name}={size}" for name, size in each.items()) for each in traced.verified if each]
    shown = list(dict.fromkeys(sizes))
    rest = len(shown) - _SHOWN_SIZES
    more = f"; and {rest} more" if rest > 0 else ""
    at = f" at {'; '.join(shown[:_SHOWN_SIZES])}{more}" if shown else " at its own sizes"
    return f"Verified by Stepsmith {VERSION} on random data (seed {traced.seed}){at}."


def _origin(target: Target) -> str:
    kind = "the forward method of" if target.kind == "module" else "the function"
    place = f"{kind} {target.qualifier} in {Path(target.path).name}, line {target.line}."
    head = f"{HEAD} {place}"
    if len(head) + len('""""""') <= WIDTH:
        return head
    paragraph = fill(f"It is {place}", WIDTH, break_long_words=False, break_on_hyphens=False)
    return f"{HEAD} a PyTorch function.\n\n{paragraph}\n"


def literal_arguments(traced: TracedFunction, target: Target) -> list[str]:
    """Return the arguments that are no tensors, as far as the file gives them another value than their default."""
    values = traced.literals
    found: list[str] = []
    for argument in target.arguments:
        if argument.name not in values:
            continue
        text = repr(values[argument.name])
        if argument.default is None or ast.unparse(argument.default) != text:
            found.append(f"{argument.name}={text}")
    return found


_REGISTERED: Final = """\
for name in [{names}]:  # what is passed like a weight has to be a buffer
    owner, _, attribute = name.rpartition(".")
    part = MODEL.get_submodule(owner)
    part.register_buffer(attribute, vars(part).pop(attribute).detach())"""
COPIED: Final = """\
    model = deepcopy(MODEL)  # each call starts with the same state
    if torch.get_default_dtype() == torch.float64:
        model = model.double()"""


def instance_text(
    target: Target,
    class_name: str,
    has_init: bool,
    evaluated: bool,
    weights: Sequence[TracedInput],
    state: ModuleState,
) -> str:
    """Return the statements that make the object whose method is taken."""
    evaluates = ".eval()" if evaluated else ""
    given = "" if not has_init else "*INIT[0], **INIT[1]" if state.named else "*get_init_inputs()"
    lines = ["INIT = get_init_inputs()"] if state.named else []
    lines.append(f"MODEL = {class_name}({given}){evaluates}")
    if state.plain:
        lines.append(broken(_REGISTERED.format(names=", ".join(map(literal, state.plain)))))
    method = target.qualifier.partition(".")[2]
    if method and weights:
        lines.append(f"MODEL.forward = MODEL.{method}  # what functional_call runs")
    return "\n".join(lines)


def _method_call(
    target: Target,
    weights: Sequence[TracedInput],
    users: Sequence[TracedInput],
    literals: Sequence[str],
    *,
    is_kept: bool,
    by_name: bool,
) -> list[str]:
    copied, model = ([COPIED], "model") if is_kept else ([], "MODEL")
    if not weights:
        return [*copied, called(target, model, users, literals, by_name=by_name)]
    pairs = "".join(f"        {literal(item.origin)}: {item.name},\n" for item in weights)
    arguments = functional_arguments(target, users, literals)
    call = returned(f"torch.func.functional_call({model}, weights, {arguments})")
    return [*copied, f"    weights = {{\n{pairs}    }}", call]


def returned(call: str) -> str:
    """Return the indented statement that returns ``call``."""
    return indent(broken(f"return {call}", 4), "    ")


def _as_item(text: str) -> str:
    """Return ``a=1`` as the item of a dictionary."""
    name, _, value = text.partition("=")
    return f'"{name}": {value}'


class UserModule:
    """How a file in ``folder`` imports what stands in the user's file."""

    def __init__(self, target: Target, folder: Path) -> None:
        path = Path(target.path).absolute()
        self._stem = path.stem
        self._beside = path.parent == folder.absolute()
        self._relative = os.path.relpath(path, folder.absolute())
        self.has_init = any(getattr(node, "name", "") == "get_init_inputs" for node in target.tree.body)

    def objects(self, name: str, alias: str, *, with_init: bool = False) -> tuple[list[str], str]:
        """Return imports, and code that binds ``alias`` to the object ``name`` (and ``get_init_inputs``)."""
        names = {alias: name}
        if with_init and self.has_init:
            names["get_init_inputs"] = "get_init_inputs"
        if self._beside and is_name(self._stem):
            return from_import(self._stem, names), ""
        lines = [f"{own} = SOURCE.{each}" for own, each in names.items()]
        if self._beside:
            head = [broken(f"SOURCE = import_module({literal(self._stem)})")]
            return ["from importlib import import_module"], "\n".join([*head, *lines, ""])
        relative = literal(self._relative)
        head = [
            broken(f"SPEC = spec_from_file_location({literal(self._stem)}, Path(__file__).parent / {relative})"),
            "assert SPEC is not None and SPEC.loader is not None",
            "SOURCE = module_from_spec(SPEC)",
            "SPEC.loader.exec_module(SOURCE)",
        ]
        imports = ["from importlib.util import module_from_spec, spec_from_file_location", "from pathlib import Path"]
        return imports, "\n".join([*head, *lines, ""])
