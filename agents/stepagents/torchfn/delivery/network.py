"""A network as one Python file: a program for each different layer, and the composition of them.

The file names the tensors between layers, which lie in off-chip memory: each program reads them as its layouts say, as
often and as late as the network needs them. Loads no torch by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stepagents.lower.layouts import written_out
from stepagents.torchfn.delivery.program import (
    COPIED,
    UserModule,
    are_first,
    called,
    commented,
    constants_of,
    elements,
    functional_arguments,
    head_text,
    instance_text,
    line_comment,
    literal_arguments,
    result_type,
    returned,
    with_references,
)
from stepagents.torchfn.network import LayerProgram, LoweredNetwork
from stepagents.torchfn.partition import Layer
from stepagents.torchfn.target import Target
from stepagents.torchfn.transform import Unwritable
from stepagents.traced.graph import TracedFunction, alias_of, free_name, line_of, numbered
from stepcore.conversion.to_python import network_to_python
from stepcore.fn.decl import FnDecl
from stepcore.graph.ir import ProgramSpec, reference_ports
from stepcore.printing.code_lines import broken, literal
from stepcore.printing.python import OwnReference

if TYPE_CHECKING:
    from torch.fx import Node

_FUNCTION: Final = re.compile(r"\bfn=(\w+)")
_LARGEST_RUN: Final = 1 << 28  # numbers in the streams of all layers, at the sizes that a file is verified with
_TAKEN: Final = frozenset({
    "step", "torch", "Annotated", "INIT", "MODEL", "SPEC", "SOURCE", "Path", "deepcopy", "import_module", "model",
    "weights", "get_init_inputs", "spec_from_file_location", "module_from_spec", "tuple", "dict", "name", "owner",
    "part",
})  # fmt: skip


def network_text(traced: TracedFunction, target: Target, network: LoweredNetwork, folder: Path) -> str:
    """Return the file of a network in ``folder``; the reference of its composition is the user's function.

    The file passes the gate (:mod:`stepcore.gate`).

    Raises:
        TooLarge: a constant of a layer cannot be written out.
        ConvertError: the file cannot be certified.
    """
    return _Writer(traced, target, network, folder).text()


class _Writer:
    def __init__(self, traced: TracedFunction, target: Target, network: LoweredNetwork, folder: Path) -> None:
        self._traced = traced
        self._target = target
        self._network = network
        self._folder = folder
        self._sizes = network_sizes(traced, network)
        self._users = [item for item in traced.inputs if item.kind == "user"]
        self._weights = {item.name: item.origin for item in traced.inputs if item.kind == "weight"}
        owner = target.qualifier.partition(".")[0]
        arguments = {item.name for item in self._users}
        self._taken = {*_TAKEN, *traced.dims, traced.name, f"{traced.name}_reference", owner, *arguments}
        self._taken |= {f"torch_{owner}"}
        self._fns: dict[str, str] = {}  # what a function is -> its name in the file

    def text(self) -> str:
        names = [self._program_name(program.name) for program in self._network.programs]
        made = [self._program(each, name) for each, name in zip(self._network.programs, names, strict=True)]
        specs = [spec for spec, _ in made]
        return network_to_python(made, self._composition(names, specs), self._reference())

    def _free(self, base: str) -> str:
        name = free_name(base, self._taken)
        self._taken.add(name)
        return name

    def _program_name(self, base: str) -> str:
        name = next(each for each in numbered(base) if not {each, f"{each}_reference"} & self._taken)
        self._taken |= {name, f"{name}_reference"}
        return name

    def _program(self, program: LayerProgram, name: str) -> tuple[ProgramSpec, str]:
        function, emitted = program.function, program.candidate.emitted
        spec = written_out(emitted.spec, constants_of(function, emitted))
        with suppress(Unwritable):  # the composition alone judges such a program
            spec = with_references(spec, function, emitted)
        used = {symbol for symbol, _ in spec.defaults}
        sizes = tuple((symbol, size) for symbol, size in self._sizes.items() if symbol in used)
        renamed = {fn.func_name: self._fn_name(fn) for fn in spec.fns}
        fns = tuple(replace(fn, func_name=renamed[fn.func_name]) for fn in spec.fns)
        impl = commented(self._target, emitted, margin=4)
        impl = _FUNCTION.sub(lambda found: f"fn={renamed.get(found[1], found[1])}", impl)
        return replace(spec, name=name, defaults=sizes, fns=fns), impl

    def _fn_name(self, fn: FnDecl) -> str:
        """Return the name of a function in the file: equal functions are written once."""
        key = f"{fn.label} {fn.input} {fn.output} {fn.init} {fn.body.arguments} {fn.body.source.text}"
        if key not in self._fns:
            self._fns[key] = self._free(re.sub(r"_\d+$", "", fn.func_name))
        return self._fns[key]

    # -- the composition -----------------------------------------------------------------------------

    def _composition(self, names: Sequence[str], specs: Sequence[ProgramSpec]) -> str:
        tensors: dict[Node, str] = {}
        lines: list[str] = []
        source = self._target.text.splitlines()
        place = ""
        for layer, number in zip(self._network.layers, self._network.numbers, strict=True):
            given = self._given(layer, self._network.programs[number], specs[number], tensors)
            targets = [self._free(f"h{len(tensors) + shift}") for shift in range(1, len(layer.outputs) + 1)]
            tensors.update(zip(layer.outputs, targets, strict=True))
            above = self._line(layer, source)
            if above and above != place:
                lines.append(above)
                place = above
            lines.append(broken(f"{', '.join(targets)} = {names[number]}.apply({', '.join(given)})", 4))
        nodes = {node.name: node for node in self._traced.graph.graph.nodes}
        lines.append(f"return {', '.join(self._tensor(nodes[each.node], tensors) for each in self._traced.outputs)}")
        options = [f"reference={self._traced.name}_reference", *(["weights=MODEL"] if self._weights else [])]
        if self._sizes:
            options.append(f"dims={{{', '.join(f'{name}: {size}' for name, size in self._sizes.items())}}}")
        decorator = broken(f"@step.composition({', '.join(options)})")
        body = "\n".join(f"    {text}" for line in lines for text in line.split("\n"))
        return f"{decorator}\n{self._definition(self._traced.name)}\n{body}"

    def _given(self, layer: Layer, program: LayerProgram, spec: ProgramSpec, tensors: Mapping[Node, str]) -> list[str]:
        """Return the tensors that a layer gives to its program, in the order in which that reads them."""
        inputs = [item.name for item in program.function.inputs if item.kind != "constant"]
        by_name = dict(zip(inputs, layer.inputs, strict=True))
        return [self._tensor(by_name[port.name], tensors) for port in reference_ports(spec)]

    def _tensor(self, node: Node, tensors: Mapping[Node, str]) -> str:
        if node in tensors:
            return tensors[node]
        return f"weights[{literal(self._weights[node.name])}]" if node.name in self._weights else node.name

    @staticmethod
    def _line(layer: Layer, source: Sequence[str]) -> str:
        """Return a comment with the line of the user's file that the layer came from."""
        place = next((found for node in layer.nodes if (found := line_of(node)) is not None), None)
        return "" if place is None else line_comment(source, place[1], margin=4)

    def _definition(self, name: str) -> str:
        """Return the first line of a function of the network's tensors and weights."""
        arguments = [f"{item.name}: torch.Tensor" for item in self._users]
        arguments += ["weights: dict[str, torch.Tensor]"] if self._weights else []
        return broken(f"def {name}({', '.join(arguments)}) -> {result_type(self._traced)}:")

    # -- the reference -------------------------------------------------------------------------------

    def _reference(self) -> OwnReference:
        target, traced = self._target, self._traced
        module = UserModule(target, self._folder)
        owner = target.qualifier.partition(".")[0]
        alias = alias_of(owner, traced.name, traced.dims)
        literals = literal_arguments(traced, target)
        needs_object = target.kind != "function" and not target.is_static
        imports, code = module.objects(owner, alias, with_init=needs_object)
        lines: list[str] = []
        if needs_object:
            weights = [item for item in traced.inputs if item.kind == "weight"]
            code += instance_text(target, alias, module.has_init, traced.evaluated, weights, traced.state)
            if traced.state.kept:
                imports = ["from copy import deepcopy", *imports]
                lines.append(COPIED)
            lines.append(self._method(literals, "model" if traced.state.kept else "MODEL"))
        else:
            lines.append(called(target, alias, self._users, literals, by_name=traced.state.by_name))
        text = "\n".join([self._definition(f"{traced.name}_reference"), *lines])
        head = head_text(target, replace(traced, verified=(self._sizes,)))
        return OwnReference(f"{traced.name}_reference", imports, f"{code.rstrip()}\n\n\n{text}".strip("\n"), head)

    def _method(self, literals: Sequence[str], model: str) -> str:
        target = self._target
        if not self._weights:
            return called(target, model, self._users, literals, by_name=self._traced.state.by_name)
        arguments = f"({', '.join(item.name for item in self._users)}{',' if len(self._users) == 1 else ''})"
        if literals or not are_first(target, self._users):
            arguments = functional_arguments(target, self._users, literals)
        return returned(f"torch.func.functional_call({model}, weights, {arguments})")


def network_sizes(traced: TracedFunction, network: LoweredNetwork) -> dict[str, int]:
    """Return the sizes of the file: those that the user asked for, or the largest that a run does not take long at."""
    asked = {**traced.dims, **traced.bound}
    smaller = [{name: traced.multiples.get(name, 1) * few for name in asked} for few in (3, 2, 1)]
    for sizes in (asked, *smaller):
        bound = {name: min(size, asked[name]) for name, size in sizes.items()}
        if work_of(network, bound) <= _LARGEST_RUN:
            return bound
    return {name: min(size, asked[name]) for name, size in smaller[-1].items()} if asked else {}


def work_of(network: LoweredNetwork, sizes: Mapping[str, int]) -> int:
    """Return how many numbers stream through all layers of a network at ``sizes``."""
    each = [elements(program.candidate.emitted.spec, sizes) for program in network.programs]
    return sum(each[number] for number in network.numbers)
