"""Whether the references of a task fit: operands by the shapes of its inputs, results by those of its outputs.

Sizes are compared as a run binds them by default, as in functions.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepcore.findings.budget import OutOfBudget
from stepcore.findings.diagnostics import Diagnostic
from stepcore.fn.check import positioned, remembered_findings, scope_key
from stepcore.fn.decl import FnScope
from stepcore.fn.shapes.references import Given, ReferenceBlock, reference_findings
from stepcore.fn.shapes.values import AbstractTensor
from stepcore.graph.ir import OutputPort, ProgramSpec, reference_ports
from stepcore.graph.task import TaskFile
from stepcore.types import StreamType, STuple, components, dtype_of, tensor_shapes


def reference_shapes(task: TaskFile, spec: ProgramSpec, scope: FnScope) -> list[Diagnostic]:
    """Return what a run certainly refuses of the references of a task (STEP306), which have no other findings."""
    references = tuple(each for port in spec.outputs or () for each in _blocks(port, task.untyped))
    given = {port.name: _tensors(port.type) for port in (*spec.inputs, *reference_ports(spec))}  # whole tensors last
    given |= dict.fromkeys(task.untyped & given.keys())
    texts = tuple((each.block.source.text, each.output, each.shape, each.dtype) for each in references)
    key = (texts, tuple(given.items()), scope_key(scope))
    try:
        found = remembered_findings(key, lambda: reference_findings(references, scope, given))
    except OutOfBudget as error:
        raise error.at(references[0].block.source.outer) from None
    except RecursionError:
        return []  # what is nested so deeply is told where the blocks are checked
    pairs = zip(references, found, strict=True)
    return [item for each, findings in pairs for item in positioned(findings, each.block)]


def _blocks(port: OutputPort, untyped: frozenset[str]) -> Iterator[ReferenceBlock]:
    """Yield the references of an output. What the host puts together, or packs into lists, has no shape of its own."""
    parts = tuple(zip(tensor_shapes(port.type), components(port.type.element), strict=True))
    is_known = port.layout is None and port.name not in untyped and not _is_ragged(port.type)
    for place, block in enumerate(port.transforms):
        if is_known and len(parts) == len(port.transforms):
            shape, element = parts[place]
            yield ReferenceBlock(block, port.name, shape, dtype_of(element))
        else:
            yield ReferenceBlock(block, port.name)


def _tensors(stream: StreamType) -> Given:
    """Return what ``input_data`` holds for an input: a tensor, or one for each component; None for nested lists."""
    if _is_ragged(stream):
        return None
    parts = zip(tensor_shapes(stream), components(stream.element), strict=True)
    tensors = tuple(AbstractTensor(shape, dtype_of(element)) for shape, element in parts)
    return tensors if isinstance(stream.element, STuple) else tensors[0]


def _is_ragged(stream: StreamType) -> bool:
    return any(size.is_ragged for size in stream.shape)
