"""From a target to a :class:`TracedFunction`: choose sizes, trace at several, write sizes as symbols. Loads torch.

Runs in the worker. The first trace is the graph; further ones, at other sizes, tell which of its numbers follow
which symbol (:mod:`fit`). A symbol that the structure of the graph depends on becomes a number.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import torch

from stepagents.torchfn.annotate import TraceMismatch, annotate, fold_fixed
from stepagents.torchfn.capture import Capture, calls, capture, flat, line_in, probe
from stepagents.torchfn.dims import Described, Description
from stepagents.torchfn.examples import data_of, symbolic_arguments
from stepagents.torchfn.guards import Guard
from stepagents.torchfn.loop_ops import END
from stepagents.torchfn.nodes import (
    default_gen,
    drop_unused,
    output_of,
    placeholder_name,
    random_node,
    set_lines,
    tensors_of,
)
from stepagents.torchfn.partition import MOST_FOLDS, count_folds
from stepagents.torchfn.reference import FunctionReference
from stepagents.torchfn.refusals import NO_TRACE, Refused, refuse
from stepagents.torchfn.sizing import Sizing, find_sizing
from stepagents.torchfn.subject import Example, TracedSubject, dtype_text, load
from stepagents.torchfn.target import Target
from stepagents.torchfn.trials import small_trials, trials
from stepagents.torchfn.usage import KERNELS, usages
from stepagents.traced.graph import (
    DIMS,
    TracedFunction,
    TracedInput,
    names_of_references,
    program_name,
)
from stepcore.jobdata.failures import Finding
from stepcore.sizes.dim import Dim
from stepcore.text.wording import what_is

_ASKED: Final = "asked for"
# Names that no argument may have; ``self`` is that of the graph's module.
_TAKEN: Final = frozenset({"self", "step", "torch", "input", "state", "input_data", "ctx"})


def trace(
    target: Target,
    description: Description,
    guard: Guard | None = None,
    *,
    symbolic: bool = True,
    rolled: bool = True,
    further: Sequence[Mapping[str, int]] = (),
) -> TracedFunction:
    """Trace the function of ``target`` with the arguments of ``description``.

    With ``symbolic=False`` the sizes of ``get_inputs()`` and of ``--dims`` stay numbers. With ``rolled=False`` loops
    over time are written out. ``further`` are bindings at which it is traced too, because the sizes that an earlier
    trace found do not hold there.

    Raises:
        JobError: STEP408 when the file cannot be imported.
        Refused: the function cannot be traced.
    """
    guard = guard or Guard(target.path, target.line)
    subject, examples = load(target, description, guard)
    bound = dict(description.bindings)
    if examples is not None:
        subject, bound = symbolic_arguments(subject, bound, guard, symbolic=symbolic)
    tracer = _Tracer(subject, guard, further, rolled=rolled)
    sizing = sizing_of(subject, bound, guard)
    if not symbolic:
        sizing = _as_numbers(sizing, {**sizing.base, **bound})
    elif tracer.is_deep(sizing):
        sizing = _batch_alone(sizing, subject.tensors, bound, tracer)
    found, sizing = tracer.best(sizing, bound)
    return tracer.finish(found, sizing, bound, examples)


def has_loops(traced: TracedFunction) -> bool:
    """Whether a loop over time stands in the graph as one round."""
    return any(node.target is END for node in traced.graph.graph.nodes)


def _as_numbers(sizing: Sizing, sizes: Mapping[str, int]) -> Sizing:
    fixed = dict.fromkeys(sizing.base, _ASKED)
    return Sizing({}, {}, {**sizing.numbers, **{name: sizes[name] for name in sizing.base}}, {**sizing.fixed, **fixed})


def _batch_alone(sizing: Sizing, tensors: Sequence[Described], bound: Mapping[str, int], tracer: _Tracer) -> Sizing:
    """Return the sizing of a network: only first sizes, a batch as a rule, stay symbols where the others are known.

    What layers do to the other sizes (halves of halves, windows) gives expressions that make every program harder to
    read, and every check larger. Nor is one a symbol whose loop is written out: each size has a graph of its own.
    """
    batches = {name for item in tensors if len(item.dims or ()) > 1 for name in (item.dims or ())[0].symbols()}
    batches -= tracer.written_out(sizing, batches & bound.keys())
    fixed = [name for name in sizing.base if name in bound and name not in batches]
    return replace(
        sizing,
        base={name: size for name, size in sizing.base.items() if name not in fixed},
        multiples={name: size for name, size in sizing.multiples.items() if name not in fixed},
        numbers={**sizing.numbers, **{name: bound[name] for name in fixed}},
        fixed={**sizing.fixed, **dict.fromkeys(fixed, _ASKED)},
    )


def sizing_of(subject: TracedSubject, bound: Mapping[str, int], guard: Guard) -> Sizing:
    """Return sizes at which the function runs, free of ``bound`` (what the user gave) where that is possible.

    Raises:
        Refused: it runs at no sizes.
    """
    symbols, known = _symbols_of(subject.tensors), _weight_sizes(subject)
    return find_sizing(symbols, bound, known, lambda sizes: probe(subject, sizes, guard), _kernels_of(subject))


def _kernels_of(subject: TracedSubject) -> list[str]:
    """Return the symbols that are nothing but sizes of kernels of convolutions."""
    uses = usages(subject.target)
    slid = [item.name for item in subject.tensors if item.name in uses and uses[item.name].passed & KERNELS]
    shapes = {item.name: item.dims or () for item in subject.tensors}
    others = {
        symbol
        for name, dims in shapes.items()
        for size in dims[: 2 if name in slid else None]
        for symbol in size.symbols()
    }
    found = (symbol for name in slid for size in shapes[name][2:] for symbol in sorted(size.symbols()))
    return list(dict.fromkeys(symbol for symbol in found if symbol not in others))


def _symbols_of(tensors: Sequence[Described]) -> list[str]:
    found = (name for item in tensors for size in item.dims or () for name in sorted(size.symbols()))
    return list(dict.fromkeys(found))


def _weight_sizes(subject: TracedSubject) -> list[int]:
    if subject.module is None:
        return []
    tensors = [*subject.module.parameters(), *subject.module.buffers()]
    return sorted({size for tensor in tensors for size in tensor.shape if size > 1})


class _Tracer:
    """Traces of one subject, each made once."""

    def __init__(
        self, subject: TracedSubject, guard: Guard, further: Sequence[Mapping[str, int]], *, rolled: bool
    ) -> None:
        self._further = further
        self._rolled = rolled
        self.subject = subject
        self.guard = guard
        self.notes: list[str] = []
        self._evaluated = False
        self._made: dict[tuple[tuple[str, int], ...], Capture] = {}

    def best(self, sizing: Sizing, bound: Mapping[str, int]) -> tuple[Capture, Sizing]:
        """Return an annotated trace with as many symbols as possible; others are numbers, those of ``bound`` first."""
        self._without_chance(self._capture({**sizing.numbers, **sizing.base}))
        for trial in trials(sizing, bound):
            try:
                return self._annotated(trial), trial
            except TraceMismatch as error:
                if isinstance(error.__cause__, Refused):
                    for small in small_trials(trial):
                        with suppress(TraceMismatch):
                            found = self._annotated(small)
                            names = " and ".join(sorted(small.kernels - trial.kernels))
                            self.notes.append(f"at large sizes of {names} the function does not run")
                            return found, small
        raise AssertionError("a trace without symbols always fits itself")

    def is_deep(self, sizing: Sizing) -> bool:
        """Whether the function is a network of layers rather than one program."""
        if not sizing.base:
            return False
        found = self._capture({**sizing.numbers, **sizing.base})
        nodes = found.graph.graph.nodes
        return count_folds(set(nodes), nodes) > MOST_FOLDS

    def written_out(self, sizing: Sizing, symbols: Container[str]) -> set[str]:
        """Return those of ``symbols`` along which a Python loop runs that stands in the trace round by round."""
        sizes = {**sizing.numbers, **sizing.base}
        rounds = _rounds(self._capture(sizes))
        asked = [name for name in sizing.base if name in symbols and not sizing.is_rounds(name, rounds)]
        if not asked:
            return set()
        count = calls(self.subject, sizes, self.guard)
        found: set[str] = set()
        for name in asked:
            more = {**sizes, name: sizes[name] + sizing.multiples.get(name, 1)}
            try:
                if calls(self.subject, more, self.guard) != count:
                    found.add(name)
            except Refused as error:
                if error.is_final:
                    raise
        return found

    def _annotated(self, sizing: Sizing) -> Capture:
        main = self._capture({**sizing.numbers, **sizing.base})
        further = [sizes for sizes in self._further if sizing.base and sizing.base.keys() <= sizes.keys()]
        variants = [
            *sizing.variants(_rounds(main)),
            *({name: sizes[name] for name in sizing.base} for sizes in further),
        ]
        try:
            others = [self._capture({**sizing.numbers, **sizes}) for sizes in variants]
        except Refused as error:
            if error.is_final:
                raise
            raise TraceMismatch(str(error)) from error
        dims = {item.name: _substituted(item.dims or (), sizing.numbers) for item in self.subject.tensors}
        annotate(main, others, [sizing.base, *variants], dims)
        return main

    def _capture(self, sizes: Mapping[str, int]) -> Capture:
        key = _key(sizes)
        if key not in self._made:
            self._made[key] = capture(self.subject, sizes, self.guard, rolled=self._rolled)
        return self._made[key]

    def _without_chance(self, found: Capture) -> None:
        """Refuse a function that draws random numbers; a module that does so in training is evaluated instead."""
        node = random_node(found)
        if node is None:
            return
        module = self.subject.module
        if module is not None and module.training:
            self.subject.evaluate()
            self._made.clear()
            again = random_node(self._capture(found.sizes))
            if again is None:
                self._evaluated = True
                norms = any("BatchNorm" in type(part).__name__ for part in module.modules())
                also = ", and batch norms use their running statistics" if norms else ""
                self.notes.append(f"taken in evaluation mode: in training mode it draws random numbers{also}")
                return
            node = again
        name = node.target.overloadpacket.__name__.removeprefix("native_")
        advice = "pass the random numbers as an argument, or leave them out"
        finding = Finding(NO_TRACE, f"{name} draws random numbers", self.guard.shown, self._line(node), 1, advice, name)
        raise Refused([finding])

    def _line(self, node: Any) -> int:
        return line_in(node) or self.guard.line

    def finish(
        self, found: Capture, sizing: Sizing, bound: Mapping[str, int], examples: Sequence[Example] | None
    ) -> TracedFunction:
        """Return what the contract says, with readable names and without what no result needs."""
        target = self.subject.target
        graph = found.graph.graph
        nodes = {node.name: node for node in graph.nodes}
        self._check_results(found, nodes)
        self._note_effects(found)
        for name, why in sizing.fixed.items():
            if why != _ASKED:
                self.notes.append(f"the program is for {name}={sizing.numbers[name]} only: {why}")
        output = next(iter(reversed(graph.nodes)))
        output.args = (tuple(nodes[name] for name in found.results if name),)
        drop_unused(graph)
        inputs = list(self._inputs(found, nodes, set(sizing.base), examples))
        outputs = tuple(output_of(nodes[name]) for name in found.results if name)
        fold_fixed(graph, {item.name: item.value for item in inputs if item.kind == "constant"})
        set_lines(graph, str(Path(target.path)), target.line)
        found.graph.recompile()
        return TracedFunction(
            name=program_name(target.name, sizing.base),
            path=target.path,
            line=target.line,
            inputs=tuple(inputs),
            outputs=outputs,
            graph=found.graph,
            dims=dict(sizing.base),
            reference=FunctionReference(
                self.subject, {item.name: item.origin for item in inputs if item.kind == "weight"}
            ),
            bound={name: size for name, size in bound.items() if name in sizing.base},
            multiples=dict(sizing.multiples),
            fixed=dict(sizing.fixed),
            notes=tuple(self.notes),
            evaluated=self._evaluated,
            state=self.subject.state({item.origin for item in inputs if item.kind == "weight"}),
            literals={item.name: item.value for item in self.subject.arguments if not item.is_tensor},
        )

    def _check_results(self, found: Capture, nodes: Mapping[str, Any]) -> None:
        target = self.subject.target
        if not any(found.results):
            overwritten = ", ".join(name for name, _ in found.mutated)
            advice = f"return what it writes into {overwritten}" if overwritten else "return its result"
            raise refuse(NO_TRACE, "the function returns no tensor", target.path, target.line, advice=advice)
        output = next(iter(reversed(found.graph.graph.nodes)))
        strange = [leaf for leaf in flat(output.args[0]) if leaf is not None and not isinstance(leaf, torch.fx.Node)]
        if strange:
            what = f"the function returns {what_is(strange[0])}, which is no tensor"
            raise refuse(NO_TRACE, what, target.path, target.line, advice="return tensors alone")
        for node in nodes.values():
            if not all(isinstance(size, int) for value in tensors_of(node.meta.get("val")) for size in value.shape):
                what = "the size of a result depends on the values of a tensor"
                raise refuse(NO_TRACE, what, target.path, self._line(node), advice="mask with torch.where")
            for value in tensors_of(node.meta.get("val")):
                if 0 in value.shape and node.name in found.results:
                    what = "a result has no element"
                    raise refuse(NO_TRACE, what, target.path, self._line(node), advice="a size is at least 1")

    def _note_effects(self, found: Capture) -> None:
        for name, line in found.mutated:
            place = f"line {line}: " if line else ""
            self.notes.append(f"{place}the function also overwrites its argument {name}; the program does not")
        if found.statistics:
            owners = sorted({name.rpartition(".")[0] or name for name in found.statistics})
            self.notes.append(f"the program does not update the statistics of {', '.join(owners)}")
        if self.guard.printed is not None:
            self.notes.append(f"line {self.guard.printed}: the function prints; the program does not")

    def _inputs(
        self,
        found: Capture,
        nodes: Mapping[str, Any],
        symbols: set[str],
        examples: Sequence[Example] | None,
    ) -> Iterator[TracedInput]:
        target = self.subject.target
        owner, program = target.qualifier.partition(".")[0], program_name(target.name, symbols)
        taken = {*symbols, *_TAKEN}
        taken |= names_of_references(owner, program, symbols, is_module=bool(target.class_name))
        taken |= {node.name for node in nodes.values() if node.op != "placeholder"}
        ranges = data_of(examples)
        for item in found.placeholders:
            node = nodes[item.node]
            if node.graph is None or getattr(node, "_erased", False):
                continue
            name = placeholder_name(item.origin, taken)
            taken.add(name)
            if node.name != name:
                node._rename(name)
            node.target = node.name
            gen, below = ranges.get(item.origin, (None, None))
            dtype = dtype_text(node.meta["val"].dtype)
            if gen is None:
                gen = default_gen(item.origin, dtype) if item.kind == "weight" else "torch.randn"
            yield TracedInput(
                name=node.name,
                dims=node.meta[DIMS],
                dtype=dtype,
                kind=item.kind,  # type: ignore[arg-type]
                value=None if item.value is None else item.value.detach(),
                origin=item.origin,
                data_gen=gen,
                below=below,
            )


def _rounds(found: Capture) -> set[int]:
    """Return how many rounds the loops over time of a trace have."""
    counts = (node.args[0] for node in found.graph.graph.nodes if node.target is END)
    return {count for count in counts if isinstance(count, int)}


def _key(sizes: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(sizes.items()))


def _substituted(dims: Sequence[Dim], numbers: Mapping[str, int]) -> tuple[Dim, ...]:
    def number(name: str) -> Dim | None:
        return Dim.of(numbers[name]) if name in numbers else None

    return tuple(size.substitute(number) for size in dims)
