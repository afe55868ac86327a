"""Running moves on all data sets of the search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch

from stepagents.search.items import SearchStep, SearchStream, joined
from stepcore.findings.errors import SimError
from stepcore.ops.base import Operand, Operator, RuleError, TypingContext
from stepcore.ops.dialect import Dialect
from stepcore.ops.partition import Partition
from stepcore.sim.fnvec import FnRuntimeError
from stepcore.sim.world import World
from stepcore.sizes.dim import DimError
from stepcore.types import StreamType

# What a move may fail with: it breaks a typing rule, or a function fails on its data.
FAILURES: Final = (SimError, FnRuntimeError, RuleError, DimError, RuntimeError, IndexError, ValueError)
_MAX_NUMBERS: Final = 100_000  # in one stream of one data set, at the search's sizes


class MoveRunner:
    """Carries moves out: types first, then the same runtime that the simulator uses, once per data set.

    All methods raise one of :data:`FAILURES` where a move is impossible, because its operators are none of the task's
    dialect, too, and return the types of the new streams with their values, one list over data sets each.
    """

    def __init__(self, worlds: Sequence[World], bindings: dict[str, int], dialect: Dialect) -> None:
        self.worlds = worlds
        self._ctx = TypingContext(dict(bindings))
        self._dialect = dialect

    def apply(self, step: SearchStep) -> tuple[tuple[StreamType, ...], list[list[Any]]]:
        """Run operators in a row on streams that are zipped first, or on none: a load begins with memory off chip."""
        types: tuple[StreamType, ...] = (_zipped_type(step.args),) if step.args else ()
        for op in step.ops:
            types = self._types(op, [Operand(kind) for kind in types[:1]])
        columns: list[list[Any]] = [[] for _ in types]
        for number, world in enumerate(self.worlds):
            runtime: Any = world.runtime
            with torch.inference_mode(), world.env.default_dtype():
                values: Any = (_zipped(runtime, step.args, number),) if step.args else ()
                for op in step.ops:
                    values = op.run(runtime, list(values[:1]))
                _note(columns, values)
        return types, columns

    def partition(
        self, args: Sequence[SearchStream], selector: SearchStream, count: int
    ) -> tuple[Any, list[list[Any]]]:
        """Route streams, zipped, by a selector."""
        op = Partition(N=count)
        types = self._types(op, [Operand(_zipped_type(args)), Operand(selector.type)])
        columns: list[list[Any]] = [[] for _ in types]
        for number, world in enumerate(self.worlds):
            runtime: Any = world.runtime
            with torch.inference_mode(), world.env.default_dtype():
                _note(columns, op.run(runtime, [_zipped(runtime, args, number), selector.data[number]]))
        return types, columns

    def join(self, step: SearchStep) -> tuple[Any, list[list[Any]]]:
        """Run an operator that takes several streams as they are (Merge, RepeatRef), then others on its result."""
        types = self._types(step.ops[0], [Operand(item.type) for item in step.args])
        for op in step.ops[1:]:
            types = self._types(op, [Operand(types[0])])
        columns: list[list[Any]] = [[] for _ in types]
        for number, world in enumerate(self.worlds):
            runtime: Any = world.runtime
            with torch.inference_mode(), world.env.default_dtype():
                values = step.ops[0].run(runtime, [item.data[number] for item in step.args])
                for op in step.ops[1:]:
                    values = op.run(runtime, [values[0]])
                _note(columns, values)
        return types, columns

    def _types(self, op: Operator, operands: Sequence[Operand]) -> tuple[StreamType, ...]:
        if not self._dialect.sees(type(op)):
            raise RuleError("STEP201", f"{type(op).__name__} is no operator of this task's dialect")
        return op.infer(operands, self._ctx)


def _zipped_type(args: Sequence[SearchStream]) -> StreamType:
    return StreamType(joined(arg.element for arg in args), args[0].shape)


def _zipped(runtime: Any, args: Sequence[SearchStream], number: int) -> Any:
    data = [arg.data[number] for arg in args]
    return runtime.zip(data) if len(data) > 1 else data[0]


def _note(columns: list[list[Any]], values: Any) -> None:
    """Add one data set; refuse streams that grow beyond what small sizes should give."""
    for column, value in zip(columns, values, strict=True):
        data = value.force()
        if sum(tensor.numel() for tensor in data.dense()) > _MAX_NUMBERS:
            raise SimError("STEP406", "this stream is too large to be worth keeping")
        column.append(data)
