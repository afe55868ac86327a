"""The environment of a file's functions: what ``global`` binds, sizes, weights, and blocks without batch."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any

import torch

from stepcore.fn.allow import NAMESPACES, PREDECLARED_SYMBOLS
from stepcore.fn.decl import CodeBlock, FnScope
from stepcore.fn.prelude import SymbolRef, assigned_names
from stepcore.fn.source import BodySyntaxError, statements
from stepcore.sim.dtypes import torch_dtype
from stepcore.sim.fnvec.errors import EvaluationLimits, FnRuntimeError
from stepcore.sim.fnvec.interp import SYMBOL_MAKER, Interpreter
from stepcore.sim.fnvec.kept import changeable, reached
from stepcore.sim.fnvec.machine import Machine, pointer
from stepcore.sim.fnvec.names import Namespace
from stepcore.sim.fnvec.scopes import Scope, ScopeNames
from stepcore.sim.fnvec.tape import Tensor
from stepcore.sizes.dim import Dim
from stepcore.system.unwarned import unwarned

if TYPE_CHECKING:
    from stepcore.sim.conditions import Noting


class Notes:
    """Who is told where in a text a run is (:class:`stepcore.sim.conditions.Noting`); mostly nobody.

    ``work`` grows by what calls of functions count, as in :mod:`stepcore.sim.flow`, roughly.
    """

    __slots__ = ("now", "work")

    def __init__(self) -> None:
        self.now: Noting | None = None
        self.work = 0


class FnEnv:
    """Names and tensors that bodies see, with every size bound.

    Args:
        scope: what the file declares. Its prelude is evaluated here, once, in fp32; the caller seeds.
        bindings: the value of every size (``{"M": 5}``); the prelude may add more, see :attr:`bindings`.
        parameters: weights by name; more tensors may follow through :meth:`add_tensors`.
        dtype: what fp32 stands for. ``torch.float64`` runs everything in double precision.
        limits: bounds of one evaluation.

    ``watched`` are the addresses of memory that its owner looks at after each run (:meth:`World.watch`). ``notes`` is
    shared by all copies.

    Raises:
        FnRuntimeError: the prelude fails; the span points into its file.
    """

    def __init__(
        self,
        scope: FnScope,
        bindings: Mapping[str, int],
        parameters: Mapping[str, Tensor] | None = None,
        dtype: torch.dtype = torch.float32,
        limits: EvaluationLimits | None = None,
    ) -> None:
        self.scope = scope
        self.limits = limits or EvaluationLimits()
        self.dtype = torch.float32
        self.input_data: dict[str, Any] = {}
        self.context: dict[SymbolRef, int] = {SymbolRef(name): value for name, value in bindings.items()}
        self.version = 0
        self.watched: set[int] = set()
        self.notes = Notes()
        self.globals: dict[str, Any] = self._base_names(bindings)
        self._protected: set[int] | None = None
        self._kept: set[int] | None = None
        self._compiled: dict[int, Any] = {}
        if scope.prelude is not None:
            self._run_prelude(scope.prelude)
        self.add_tensors(parameters or {})
        if dtype != torch.float32:
            self._convert(dtype)

    def _base_names(self, bindings: Mapping[str, int]) -> dict[str, Any]:
        symbols = (*PREDECLARED_SYMBOLS, *self.scope.symbols, *bindings)
        names: dict[str, Any] = {name: SymbolRef(name) for name in symbols}
        names |= {f"{name}_value": value for name, value in bindings.items()}
        names |= {local: Namespace(path) for local, path in self.scope.modules if path in NAMESPACES}
        return names | {"input_data": self.input_data, "ctx": self.context, "Symbol": SYMBOL_MAKER}

    def _run_prelude(self, prelude: CodeBlock) -> None:
        body = parsed(prelude)
        interpreter = Interpreter(Machine(self.limits, random=True), prelude.source, self.globals)
        with self.default_dtype():
            interpreter.run(body, self.globals)
        # The names of the environment itself cannot be taken away by the prelude; what a module binds to the name of a
        # size's number is what its functions read (of a task that is the number, see :mod:`stepcore.fn.size_numbers`).
        self.globals |= {"input_data": self.input_data, "ctx": self.context}

    @property
    def bindings(self) -> dict[str, int]:
        """The value of every bound size, those that the prelude bound included."""
        return {symbol.name: value for symbol, value in self.context.items()}

    def with_sizes(self, sizes: Mapping[str, int]) -> FnEnv:
        """Return the same environment with further sizes bound: those that only a run knows."""
        other = copy.copy(self)
        other.context = {**self.context, **{SymbolRef(name): value for name, value in sizes.items()}}
        other._compiled = {}
        return other

    def size(self, size: Dim | int) -> int:
        """Return the integer that a size is bound to.

        Raises:
            DimError: a symbol has no value.
        """
        return size if isinstance(size, int) else size.bind(self.bindings)

    def torch_dtype(self, name: str) -> torch.dtype:
        """Return the torch type of an element type: ``"fp32"`` follows :attr:`dtype`, in fp64 all fractions do."""
        return torch_dtype(name, self.dtype)

    def add_tensors(self, tensors: Mapping[str, Any]) -> None:
        """Add entries of ``input_data``: weights, or (for references) inputs. Compiled functions start afresh."""
        self.input_data.update(tensors)
        if self.scope.bare_parameters:
            self.globals.update({name: value for name, value in tensors.items() if name in self.scope.parameters})
        self.version += 1
        self._protected = self._kept = None

    def astype(self, dtype: torch.dtype) -> FnEnv:
        """Return a copy whose floating-point tensors and helper objects are ``dtype``; same values as here."""
        other = copy.copy(self)
        other.watched = set()  # of other tensors, which nobody looks at
        other.input_data = dict(self.input_data)
        other.context = dict(self.context)
        other.globals = {**self.globals, "input_data": other.input_data, "ctx": other.context}
        other._compiled = {}
        other._convert(dtype)
        return other

    def _convert(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        done: dict[int, Any] = {id(kept): kept for kept in (self.input_data, self.context)}
        for names in (self.globals, self.input_data):
            for name, value in list(names.items()):
                names[name] = _converted(value, dtype, done)
        self.version += 1
        self._protected = self._kept = None

    def protected(self) -> set[int]:
        """Return the memory that no body may change: weights and whatever the prelude made."""
        if self._protected is None:
            found: set[int] = set()
            found.update(pointer(tensor) for tensor in self.tensors())
            self._protected = found
        return self._protected

    def kept(self) -> set[int]:
        """Return the identities of the lists, dictionaries and iterators that the prelude made."""
        if self._kept is None:
            self._kept = changeable(self.globals.values())
        return self._kept

    def tensors(self) -> list[Tensor]:
        """Return the weights and whatever the prelude made, the tensors inside helper objects included."""
        return list(_tensors((*self.input_data.values(), *self.globals.values())))

    def dtype_map(self) -> dict[Any, Any]:
        """Return what floating-point types of a body become: all of them follow :attr:`dtype` when it is fp64."""
        if self.dtype == torch.float32:
            return {}
        return {torch.float32: self.dtype, torch.float64: self.dtype}

    def default_dtype(self) -> AbstractContextManager[None]:
        """Create tensors without a given type in :attr:`dtype`, and keep the warnings of torch to ourselves."""
        return _DefaultDtype(self.dtype)


class _DefaultDtype(AbstractContextManager[None]):
    """See :meth:`FnEnv.default_dtype`. Each run enters one: a generator would take as long as a small operator."""

    __slots__ = ("_before", "_dtype", "_quiet")

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype
        self._quiet = unwarned()

    def __enter__(self) -> None:
        self._quiet.__enter__()
        self._before = torch.get_default_dtype()
        if self._dtype != self._before:  # setting it takes longer than many an operator
            torch.set_default_dtype(self._dtype)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._dtype != self._before:
            torch.set_default_dtype(self._before)
        self._quiet.__exit__()


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in reached(values):
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, torch.nn.Module):
            yield from value.parameters()
            yield from value.buffers()


def _converted(value: Any, dtype: torch.dtype, done: dict[int, Any]) -> Any:
    """Return a value in another precision; ``done`` keeps what stands in several places one thing."""
    if not isinstance(value, torch.Tensor | torch.nn.Module) and type(value) not in (list, tuple, dict):
        return value
    if id(value) not in done:
        done[id(value)] = _made_anew(value, dtype, done)
    return done[id(value)]


def _made_anew(value: Any, dtype: torch.dtype, done: dict[int, Any]) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, torch.nn.Module):
        return copy.deepcopy(value).to(dtype)
    if isinstance(value, tuple):
        return tuple(_converted(item, dtype, done) for item in value)
    made: Any = type(value)()
    done[id(value)] = made  # which may hold itself
    if isinstance(value, dict):
        made.update({key: _converted(item, dtype, done) for key, item in value.items()})
    else:
        made.extend(_converted(item, dtype, done) for item in value)
    return made


def parsed(block: CodeBlock) -> tuple[ast.stmt, ...]:
    """Return the statements of a block.

    Raises:
        FnRuntimeError: a syntax error (STEP301).
    """
    try:
        return statements(block)
    except BodySyntaxError as error:
        raise FnRuntimeError(error.message, block.source.span_to_outer(error.span), "STEP301") from error


def block_names(blocks: Iterable[CodeBlock]) -> ScopeNames:
    """Return the scope, empty yet, that the reference blocks of a file share: that of one function in Python.

    Raises:
        FnRuntimeError: a syntax error (STEP301).
    """
    return ScopeNames(own=frozenset().union(*(assigned_names(parsed(block)) for block in blocks)))


def evaluate_block(block: CodeBlock, env: FnEnv, names: Scope) -> Any:
    """Run a reference block in the scope ``names`` (shared by all blocks of a file) and return its value.

    The value is that of the last statement: an expression, an assigned value, or what a ``return`` returns.

    Raises:
        FnRuntimeError: it fails; the span points into its file.
    """
    body = parsed(block)
    machine = Machine(env.limits, noting=env.notes.now)
    machine.protected = env.protected()
    interpreter = Interpreter(machine, block.source, env.globals, env.dtype_map())
    interpreter.kept = env.kept()
    with env.default_dtype():
        if not body:
            raise FnRuntimeError("this block has no value", block.source.outer)
        last = body[-1]
        if isinstance(last, ast.Expr):
            interpreter.run(body[:-1], names)
            return interpreter.eval(last.value, names)
        outcome = interpreter.run(body, names)
        if interpreter.returned is not None:
            return outcome
        return interpreter.eval(_assigned(last, block), names)


def _assigned(last: ast.stmt, block: CodeBlock) -> ast.expr:
    target: ast.expr | None = None
    if isinstance(last, ast.Assign):
        target = last.targets[-1]
    elif isinstance(last, ast.AugAssign | ast.AnnAssign):
        target = last.target
    if target is None:
        raise FnRuntimeError("the last line of this block has no value", block.source.outer)
    loaded = copy.deepcopy(target)
    for node in ast.walk(loaded):
        if hasattr(node, "ctx"):
            node.ctx = ast.Load()
    return loaded
