"""One element function by itself: its bound shapes, its plain run on one element, its initial state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Final, TypeAlias

import torch

from stepcore.fn.decl import CodeBlock, FnDecl
from stepcore.fn.prelude import assigned_names
from stepcore.fn.source import node_span
from stepcore.sim.fnvec.env import FnEnv, parsed
from stepcore.sim.fnvec.errors import FnRuntimeError
from stepcore.sim.fnvec.interp import Interpreter
from stepcore.sim.fnvec.machine import Machine, pointer
from stepcore.sim.fnvec.scopes import ScopeNames
from stepcore.sim.fnvec.statements import FELL_THROUGH
from stepcore.sim.fnvec.tape import TV, Registers, TapeStep, Tensor
from stepcore.sim.runs import OF_OPERATION
from stepcore.sizes.dim import DimError
from stepcore.text.wording import counted, what_is
from stepcore.types import Element, components, dtype_of, element_shape

_OF_BODY: Final = 8  # operations of a body that is interpreted, as a rule
Run: TypeAlias = Callable[[list[Any]], None]  # a recorded step, on registers


class Body:
    """A declared function with every size bound.

    ``input_shapes`` and ``output_shapes`` are element shapes, one per component; dtypes likewise.
    """

    def __init__(self, decl: FnDecl, env: FnEnv) -> None:
        self.decl = decl
        self.env = env
        self.body = parsed(decl.body)
        self.input_shapes = self._bound_shapes(decl.input)
        self.output_shapes = self._bound_shapes(decl.output)
        self.input_dtypes = [env.torch_dtype(dtype_of(item)) for item in components(decl.input)]
        self.output_dtypes = [env.torch_dtype(dtype_of(item)) for item in components(decl.output)]
        state = self.output_shapes if decl.has_state else []
        self._shapes = [*state, *self.input_shapes]
        self._init: tuple[int, list[Tensor]] | None = None

    def _bound_shapes(self, element: Element) -> list[tuple[int, ...]]:
        try:
            return [tuple(self.env.size(size) for size in element_shape(item)) for item in components(element)]
        except DimError as error:
            raise FnRuntimeError(f"{self.decl.func_name}: {error}", self.decl.span, "STEP225") from error

    def plain(self, arguments: Sequence[Tensor]) -> list[Tensor]:
        """Apply the function to one element by interpreting its body with plain torch."""
        noting = self.env.notes.now
        self.env.notes.work += _OF_BODY * OF_OPERATION
        machine = Machine(self.env.limits, noting=noting)
        machine.protected = self.env.protected() | {pointer(t) for t in arguments}
        interpreter = self._interpreter(machine)
        scope = self._scope(list(arguments), interpreter)
        with self.env.default_dtype(), nullcontext() if noting is None else noting.on(arguments):
            value = interpreter.run(self.body, scope)
        return [self._checked(v, i, interpreter) for i, v in enumerate(self._returned(value, interpreter))]

    def runs(self, steps: Sequence[TapeStep], runs: Sequence[Run], template: Registers) -> Sequence[Run]:
        """Return what carries out recorded ``steps``: ``runs``, or where conditions are noted each at its place."""
        noting = self.env.notes.now
        return runs if noting is None else noting.marked(steps, template, self.decl.body.source)

    def _interpreter(self, machine: Machine, block: CodeBlock | None = None) -> Interpreter:
        source = (block or self.decl.body).source
        interpreter = Interpreter(machine, source, self.env.globals, self.env.dtype_map())
        interpreter.frozen = {id(self.env.input_data), id(self.env.context)}
        interpreter.kept = self.env.kept()
        return interpreter

    def _scope(self, values: list[Any], interpreter: Interpreter) -> ScopeNames:
        states = len(self.output_shapes) if self.decl.has_state else 0
        groups = [values[:states], values[states:]] if states else [values]
        interpreter.frozen.update(id(group) for group in groups)
        return ScopeNames(zip(self.decl.body.arguments, groups, strict=True), assigned_names(self.body))

    def _returned(self, value: Any, interpreter: Interpreter) -> Sequence[Any]:
        span = self.decl.span
        if interpreter.returned is not None:
            span = node_span(self.decl.body.source, interpreter.returned)
        count = len(self.output_shapes)
        if value is FELL_THROUGH or value is None:
            raise FnRuntimeError(f"{self.decl.func_name} ended without returning a list", span, "STEP307")
        if not isinstance(value, list | tuple):
            what = "a tensor" if isinstance(value, TV | torch.Tensor) else what_is(value)
            text = f"{self.decl.func_name} returned {what}; write a list of {count}: one tensor per component"
            raise FnRuntimeError(text, span, "STEP305")
        if len(value) != count:
            text = f"{self.decl.func_name} returned {counted(len(value), 'component')}; a list of {count} is declared"
            raise FnRuntimeError(text, span, "STEP305")
        return value

    def _checked(self, value: Any, index: int, interpreter: Interpreter) -> Tensor:
        returned = interpreter.returned
        span = self.decl.span if returned is None else node_span(interpreter.source, returned)
        where = f"component {index} of what {self.decl.func_name} returned"
        if not isinstance(value, torch.Tensor):
            raise FnRuntimeError(f"{where} is {what_is(value)}, not a tensor", span, "STEP306")
        shape, dtype = self.output_shapes[index], self.output_dtypes[index]
        if value.shape != shape:
            raise FnRuntimeError(f"{where} has shape {tuple(value.shape)}; declared is {shape}", span, "STEP306")
        if value.dtype != dtype:
            if dtype == torch.float64 and value.dtype in (torch.float16, torch.bfloat16):
                return value.to(dtype)  # a body may round numbers to fewer bits in a run in fp64, too
            raise FnRuntimeError(f"{where} is {value.dtype}; declared is {dtype}", span, "STEP306")
        return value

    def init(self) -> list[Tensor]:
        """Return the initial state, one tensor of element shape per component.

        Raises:
            FnRuntimeError: there is none, or the body of ``getInit`` fails.
        """
        if self._init is None or self._init[0] != self.env.version:
            self._init = self.env.version, self._compute_init()
        return self._init[1]

    def _compute_init(self) -> list[Tensor]:
        decl = self.decl
        if decl.init is not None:
            if len(decl.init) != len(self.output_shapes):
                found, wanted = counted(len(decl.init), "value"), counted(len(self.output_shapes), "component")
                text = f"init of {decl.func_name} has {found}; its output has {wanted}"
                raise FnRuntimeError(text, decl.init_span or decl.span, "STEP309")
            triples = zip(self.output_shapes, decl.init, self.output_dtypes, strict=True)
            return [torch.full(shape, value, dtype=dtype) for shape, value, dtype in triples]
        if decl.init_body is None:
            raise FnRuntimeError(f"{decl.func_name} has no init", decl.span, "STEP309")
        machine = Machine(self.env.limits)
        machine.protected = self.env.protected()
        interpreter = self._interpreter(machine, decl.init_body)
        body = parsed(decl.init_body)
        scope = ScopeNames(dict.fromkeys(decl.init_body.arguments).items(), assigned_names(body))
        with self.env.default_dtype():
            value = interpreter.run(body, scope)
        return [self._checked(v, i, interpreter) for i, v in enumerate(self._returned(value, interpreter))]
