"""One run of a function on shapes alone, and what it fails on: operation, its tensors, and whose sizes these are.

The user's code runs in the worker, watched as everywhere (:mod:`stepagents.torchfn.guards`). Loads torch.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from types import FrameType, TracebackType
from typing import Any, Final

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode

from stepagents.shapes.asserted import reached, statements, wanted_equal
from stepagents.shapes.keeping import Broken, Keeping
from stepagents.shapes.natural import (
    BETWEEN,
    CONVOLUTIONS,
    EXPANDING,
    GATHERED,
    INTERCEPT,
    RANKS,
    RESHAPES,
    TERMS,
    pairs,
    same_kernel,
)
from stepagents.shapes.pieces import Pieces
from stepagents.shapes.promised import promises_of
from stepagents.shapes.state import State
from stepagents.shapes.usage import kept_states
from stepagents.torchfn.dims import Described
from stepagents.torchfn.guards import Guard
from stepagents.torchfn.refusals import Refused
from stepagents.torchfn.stand_ins import STAND_INS
from stepagents.torchfn.subject import TORCH_DTYPES, Subject

_LOOKS: Final = frozenset({"__get__", "size", "dim", "__len__", "numel", "ndimension", "nelement", "stride"})
_MOST_LOOKED: Final = 12
COMMENT: Final = "the comment"  # in the place of an operation where a value has another shape than is written


# Operations whose tensors mostly have as many dimensions as each other.
_BROADCASTING: Final = frozenset(
    [
        "add",
        "sub",
        "mul",
        "div",
        "__add__",
        "__radd__",
        "__sub__",
        "__rsub__",
        "__mul__",
        "__rmul__",
        "__truediv__",
        "__rtruediv__",
        "matmul",
        "__matmul__",
        "maximum",
        "minimum",
        "where",
        "eq",
        "lt",
        "gt",
        "le",
        "ge",
    ]
)
_MATRIX_PRODUCTS: Final = frozenset({"matmul", "__matmul__"})
_PRODUCTS: Final = frozenset({"matmul", "__matmul__", "where"})
_SAME_KIND: Final = frozenset({"matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "mv", "linear", "addmm", "dot"})
_CHUNKS: Final = frozenset({"chunk", "tensor_split"})
_CONVOLVED: Final = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
_CUTS: Final = {"split": 1, "unbind": 0, "__iter__": 0}  # operation -> which of its numbers is the dimension


class Unusual(RuntimeError):
    """An operation got a tensor of another number of dimensions than is usual, or cuts one into unequal pieces."""


@dataclass(frozen=True, slots=True)
class Operand:
    """One tensor of an operation; ``origins`` are the arguments that its data come from."""

    shape: tuple[int, ...]
    origins: frozenset[str]
    is_argument: bool
    is_made: bool = False  # it came out of an operation: no weight
    is_spread: bool = False  # it came out of an operation on tensors that were placed
    is_placed: bool = False  # its dimensions were placed for what it meets: ``x.unsqueeze(1)``, ``x[:, None]``


@dataclass(slots=True)
class Failure:
    """Where and on what a run ended. ``name`` is the operation, empty for an error of the function itself."""

    name: str = ""
    message: str = ""
    error: str = ""
    line: int = 0
    operands: Sequence[Operand] = ()
    numbers: Sequence[int] = ()
    options: Mapping[str, int] = field(default_factory=dict)  # those of the numbers that are named
    text: str = ""
    cut: tuple[int, int] | None = None  # the size that the last operation cut into pieces, and that of each piece
    kernels: Mapping[str, int] = field(
        default_factory=dict
    )  # argument -> size of kernel that keeps what it slides over
    written: Sequence[int] = ()  # numbers of the failing line: literals and values of its variables
    asserted: Sequence[
        tuple[tuple[int, ...], tuple[int, ...]]
    ] = ()  # shapes that an assertion or a loop wants to be equal
    progress: int = 0
    promised: int = 0  # the line of a comment about a value that has another shape
    is_unusual: bool = False
    place: int = 0  # where dimensions are missing
    refused: Refused | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A tensor of which only parts were used; see :class:`stepagents.shapes.pieces.Piecemeal`."""

    operand: Operand
    covered: tuple[int, ...]
    heads: tuple[int, ...]


@dataclass(slots=True)
class Run:
    """What became of one run: ``failure`` None where it went to its end.

    ``natural`` are arguments that an operation took in its usual number of dimensions; ``variables`` the whole numbers
    of the function's variables at its end, by name; ``parts`` the tensors of which only parts were used; ``selected``
    what indices were counted in, and what they read, where the sizes of both differ.
    """

    failure: Failure | None
    natural: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    variables: Mapping[str, int] = field(default_factory=dict)
    parts: Sequence[Part] = ()
    selected: Sequence[tuple[Operand, int, Operand, int]] = ()
    read: Sequence[tuple[tuple[Operand, int], tuple[Operand, int]]] = ()  # pairs of sizes that one index reads
    kernels: Mapping[str, int] = field(default_factory=dict)  # see :class:`Failure`
    letters: Sequence[tuple[Operand, str, int]] = ()  # sizes that equations name: the tensor, the letter, the size


class _Watch(TorchFunctionMode):
    """Counts operations and remembers what the last ones worked on."""

    def __init__(
        self, guard: Guard, state: State, peers: frozenset[str], parameters: frozenset[str], keeping: Keeping
    ) -> None:
        super().__init__()
        self._keeping = keeping
        self._guard = guard
        self._peers = peers
        self._parameters = parameters
        self._state = state
        self._shapes = state.bound()
        self._origins: dict[int, tuple[Tensor, frozenset[str], bool]] = {}
        self.count = 0
        self.last: Failure | None = None
        self.operands: tuple[Operand, ...] = ()
        self.cut: tuple[int, int] | None = None
        self.looked: list[Operand] = []
        self.natural: dict[str, tuple[str, int]] = {}
        self.kernels: dict[str, int] = {}
        self.letters: list[tuple[Operand, str, int]] = []
        self._placed: dict[int, Tensor] = {}
        self._spread: dict[int, Tensor] = {}
        self._pieces = Pieces()
        self._paddings: dict[int, int] = {}  # what was padded at the ends of the last dimension, by result

    @property
    def parts(self) -> list[Part]:
        """The tensors of which only parts were used."""
        return [Part(self.operand(item.tensor), item.covered, item.heads) for item in self._pieces.piecemeal()]

    @property
    def selected(self) -> list[tuple[Operand, int, Operand, int]]:
        """What indices were counted in, and what they read, where the sizes of both differ."""
        return [
            (self.operand(source), size, self.operand(read), other)
            for source, size, read, other in self._pieces.selected
        ]

    @property
    def read(self) -> list[tuple[tuple[Operand, int], tuple[Operand, int]]]:
        """Pairs of sizes, with the tensors that have them, that differ although one index reads both."""
        return [
            ((self.operand(one), size), (self.operand(two), other)) for (one, size), (two, other) in self._pieces.read()
        ]

    def give(self, name: str, tensor: Tensor) -> None:
        self._origins[id(tensor)] = (tensor, frozenset({name}), True)
        self._pieces.give(tensor)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = kwargs or {}
        name = getattr(func, "__name__", "")
        if self._keeping.is_due(sys._getframe(1)):
            self.count += 1
            broken = self._keeping.broken
            if broken is not None:
                self.last = self.promise(broken)
                raise Unusual(self.last.message)
        self.count += 1
        tensors = [item for item in _leaves([args, options]) if isinstance(item, Tensor)]
        operands = tuple(self.operand(tensor) for tensor in tensors)
        self._check(name, operands)
        self._check_others(name, operands, args, options)
        self._check_kinds(name, tensors, operands)
        if name in GATHERED and len(operands) == 2 and operands[0].origins - self._state.tolerant:
            numbers = [item for item in [*args[1:], *options.values()] if type(item) is int]
            shapes = [item.shape for item in operands]
            if any(True for _ in pairs(name, shapes, numbers, {}, "")):
                self._refuse(name, operands, "sizes of the index differ", numbers)
        try:
            result = STAND_INS.get(name, func)(*args, **options)
        except Exception as error:
            numbers = [item for item in _leaves([args, options]) if type(item) is int]
            text = next((item for item in args if isinstance(item, str)), "")
            named = {key: value for key, value in options.items() if type(value) is int}
            self.last = Failure(name, operands=operands, numbers=numbers, options=named, text=text, progress=self.count)
            self.last.message, self.last.error = str(error), type(error).__name__
            raise
        if name in _LOOKS and not isinstance(result, Tensor):
            self.looked = [*self.looked, *operands][-_MOST_LOOKED:]
            return result
        self._pieces.note(name, tensors, args, options, result)
        self.operands, self.looked = operands, []
        self.cut = _cut(name, operands, args, options)
        self._note_letters(name, operands, args)
        if name in CONVOLUTIONS and len(operands) > 1 and operands[1].is_argument:
            self._note_kernel(operands[1], args, options, self._paddings.get(id(tensors[0]), 0))
        self._note_origins(name, tensors, operands, args, result)
        if name == "pad" and isinstance(result, Tensor):
            amounts = [item for item in _leaves([args[1:], options.get("pad", ())]) if type(item) is int][:2]
            self._paddings[id(result)] = sum(amounts)
        return result

    def promise(self, broken: Broken) -> Failure:
        """Return the failure of a run in which a value has another shape than a comment says."""
        operand = self.operand(broken.value)
        rank = broken.rank
        message = f"expected {rank}D" if rank is not None else "sizes are others than is written"
        asserted = [] if rank is not None else [(operand.shape, broken.wanted)]
        return Failure(
            COMMENT, message, "Unusual", operands=[operand], numbers=[] if rank is None else [rank], asserted=asserted,
            line=broken.line, progress=self.count, promised=broken.line, is_unusual=True,
        )  # fmt: skip

    def _note_letters(self, name: str, operands: Sequence[Operand], args: Any) -> None:
        if name == "einsum" and isinstance(args[0], str):
            terms = args[0].partition("->")[0].replace(" ", "").split(",")
            for term, operand in zip(terms, operands, strict=False):
                if len(term) == len(operand.shape) and operand.is_argument:
                    self.letters += [(operand, *pair) for pair in zip(term, operand.shape, strict=True)]

    def _note_origins(
        self, name: str, tensors: Sequence[Tensor], operands: Sequence[Operand], args: Any, result: Any
    ) -> None:
        origins = frozenset(origin for operand in operands for origin in operand.origins)
        if isinstance(result, Tensor) and (name == "unsqueeze" or (name == "__getitem__" and _has_none(args[1]))):
            self._placed[id(result)] = result
        if isinstance(result, Tensor) and any(
            (item.is_placed and name in _BROADCASTING) or (item.is_spread and len(item.shape) == result.dim())
            for item in operands
        ):
            self._spread[id(result)] = result
        in_place = name == "__setitem__" or (name.endswith("_") and not name.startswith("_"))
        if in_place and operands and not operands[0].is_argument:
            self._origins[id(tensors[0])] = (tensors[0], origins, False)
        is_weight = bool(operands) and not origins and not any(item.is_made for item in operands)
        for item in _leaves([result] if not is_weight else []):  # what is made of weights alone is one
            if isinstance(item, Tensor) and not (id(item) in self._origins and self._origins[id(item)][2]):
                self._origins[id(item)] = (item, origins, False)

    def operand(self, tensor: Tensor) -> Operand:
        known = self._origins.get(id(tensor))
        with torch._C.DisableTorchFunctionSubclass():
            shape = tuple(tensor.shape)
        origins = known[1] if known else frozenset()
        return Operand(
            shape,
            origins,
            bool(known and known[2]),
            known is not None,
            id(tensor) in self._spread,
            id(tensor) in self._placed,
        )

    def _check(self, name: str, operands: Sequence[Operand]) -> None:
        ranks = RANKS.get(name)
        if ranks is None and name in {"matmul", "__matmul__", "__rmatmul__"}:
            self._note(name, [item for item in operands if item.is_argument and len(item.shape) >= 2])
        if name in BETWEEN and len({len(item.shape) for item in operands}) == 1 and len(operands[0].shape) > 1:
            self._note(name, [item for item in operands if item.is_argument])
            return
        for index, (rank, operand) in enumerate(zip(ranks or (), operands, strict=False)):
            is_slid = name in CONVOLUTIONS and index == 0 and len(operand.origins) == 1 and self._is_whole(operand)
            if not (operand.is_argument or is_slid) or rank is None:
                continue
            (origin,) = operand.origins
            if len(operand.shape) == rank:
                self._note(name, [operand])
            elif origin not in self._state.tolerant:
                self._refuse(name, operands, f"expected {rank}D", [rank])

    def _check_others(self, name: str, operands: Sequence[Operand], args: Any, options: Mapping[str, Any]) -> None:
        is_said = self._keeping.speaks and name in _SAME_KIND  # what a comment tells of a product is stronger
        if name in _BROADCASTING and len(operands) > 1 and not is_said:
            rank = max(len(item.shape) for item in operands)
            for item in operands:
                small = 0 < len(item.shape) < rank and len(item.origins) == 1
                tolerant = item.origins <= self._state.tolerant or self._is_outer(operands, item)
                tolerant |= name in _MATRIX_PRODUCTS and item is operands[-1] and len(item.shape) == 1  # a vector
                if not small or tolerant or not (item.origins <= self._peers or item.is_placed):
                    continue
                if item.is_placed or self._is_whole(item):
                    self._refuse(name, [item], f"expected {rank}D", [rank])
                large = next(each for each in operands if len(each.shape) == rank)
                if (
                    len(large.origins) == 1
                    and large.origins != item.origins  # x - x.mean(0)
                    and large.origins <= self._peers - self._state.tolerant
                    and self._is_whole(large)
                ):
                    self._refuse(
                        name, [large], f"expected {len(item.shape)}D", [len(item.shape)]
                    )  # a step of x, a state
            self._check_parameters(name, operands)
            if name not in _PRODUCTS:
                self._check_samples(name, operands)
        if name == "__getitem__" and len(operands) > 2:
            self._check_indices(operands[1:])
        numbers = [item for item in _leaves([args[1:], *options.values()]) if type(item) is int]
        if operands and operands[0].origins - self._state.tolerant:
            self._check_reshaped(name, operands, numbers)
            self._check_chunks(name, operands[0], args, options)

    def _check_indices(self, indices: Sequence[Operand]) -> None:
        """Refuse an index of fewer dimensions than another that was placed for it: ``x[rows[:, None], found]``."""
        rank = max(len(item.shape) for item in indices)
        is_placed = any(item.is_placed and len(item.shape) == rank for item in indices)
        for item in indices if is_placed else ():
            if len(item.shape) < rank and item.origins - self._state.tolerant:
                self._refuse("__getitem__", [item], f"expected {rank}D", [rank])

    def _check_reshaped(self, name: str, operands: Sequence[Operand], numbers: Sequence[int]) -> None:
        first, shape = operands[0], operands[0].shape
        if name in RESHAPES:
            is_long = len(numbers) > 1 and numbers.count(1) == len(numbers) - 1 and len(shape) > 1
            if is_long and max(shape) > 1:
                self._refuse(name, [first], "expected 1D", [1])
            fills = -1 in numbers and prod(shape) == -prod(numbers) > 1 and 1 not in shape
            if (
                fills and len(numbers) > 2 and numbers[0] == shape[0] and first.origins - self._parameters
            ):  # -1 is a dimension
                self._refuse(name, [first], f"expected {len(shape) + 1}D", [len(shape) + 1], place=1)
        if name in EXPANDING and first.is_placed:
            wanted = len(operands[1].shape) if len(operands) > 1 else len(numbers)
            if len(shape) < wanted:  # a dimension was put in for each one that is expanded
                self._refuse(name, [first], f"expected {wanted}D", [wanted])

    def _check_chunks(self, name: str, first: Operand, args: Any, options: Mapping[str, Any]) -> None:
        if name in _CHUNKS:
            numbers = [item for item in [*args[1:], *options.values()] if type(item) is int]
            count = options.get("chunks", numbers[0] if numbers else 1)
            axis = options.get("dim", numbers[1] if len(numbers) > 1 else 0)
            shape = first.shape
            if type(count) is int and count > 1 and -len(shape) <= axis < len(shape) and shape[axis] % count:
                only = Operand((shape[axis],), first.origins, False)
                self._refuse(name, [only], f"{shape[axis]} is not divisible by {count}", [count])

    def _is_outer(self, operands: Sequence[Operand], small: Operand) -> bool:
        """Whether what an operand meets has more dimensions than all data that it was made of: ``x[:, None] - y``."""
        large = max(operands, key=lambda item: len(item.shape))
        ranks = [len(self._shapes[name]) for name in large.origins if name in self._shapes]
        return large.is_spread and not large.is_placed and max(ranks, default=0) < len(large.shape)

    def _check_samples(self, name: str, operands: Sequence[Operand]) -> None:
        """Refuse data of more dimensions than the numbers per sample that they meet; parts of data that lack some."""
        free = self._peers - self._state.tolerant
        for small, large in ((small, large) for small in operands for large in operands):
            ranks = len(small.shape), len(large.shape)
            if small.is_argument or small.is_placed or not 0 < ranks[0] < ranks[1]:
                continue
            if large.is_argument and large.origins <= free - small.origins and self._is_per_sample(small):
                self._refuse(name, [large], f"expected {ranks[0]}D", [ranks[0]])
            is_part = small.origins <= free - large.origins and len(small.origins) == 1 and not self._is_whole(small)
            if is_part and large.is_placed and large.shape[-1] == 1 and ranks[1] == ranks[0] + 1:  # t[:, None]
                self._refuse(name, [small], f"expected {ranks[1]}D", [ranks[1]], place=ranks[0])

    def _is_per_sample(self, item: Operand) -> bool:
        """Whether a computed tensor has the first sizes of the data it comes from, but not the last."""
        shapes = [self._shapes[name] for name in item.origins if name in self._shapes]
        data = [shape for shape in shapes if len(shape) > len(item.shape)]
        return bool(data) and all(
            shape[: len(item.shape)] == item.shape and shape[-1] != item.shape[-1] for shape in data
        )

    def _is_whole(self, item: Operand) -> bool:
        """Whether a tensor has all dimensions of the argument that it comes from."""
        return len(item.shape) == sum(len(self._state.dims.get(name, ())) for name in item.origins)

    def _check_parameters(self, name: str, operands: Sequence[Operand]) -> None:
        """Refuse a weight of more dimensions than the data that it is added to or multiplied with."""
        if name in _PRODUCTS:
            return
        data = [len(item.shape) for item in operands if item.origins - self._parameters]
        if name in TERMS and any(
            item.shape[-1:] == (1,) and not item.is_placed and len(item.shape) > 1 for item in operands
        ):
            for item in operands:  # (n, 1) + bias
                intercept = item.is_argument and len(item.shape) == 1 and INTERCEPT.match(next(iter(item.origins)))
                if intercept and item.shape != (1,) and not item.origins <= self._state.tolerant:
                    self._refuse(name, [item], "expected 0D", [0])
        for item in operands:
            own = item.is_argument and item.origins <= self._parameters - self._state.tolerant
            if own and data and 0 < max(data) < len(item.shape):
                self._refuse(name, [item], f"expected {max(data)}D", [max(data)])

    def _check_kinds(self, name: str, tensors: Sequence[Tensor], operands: Sequence[Operand]) -> None:
        """Refuse a product of whole and other numbers, which shapes alone do not show."""
        kinds = {tensor.is_floating_point() for tensor in tensors}
        if name in _SAME_KIND and len(kinds) > 1:
            whole = [item for item, tensor in zip(operands, tensors, strict=True) if not tensor.is_floating_point()]
            self.last = Failure(name, "expected the same dtype", "RuntimeError", operands=whole, progress=self.count)
            raise RuntimeError("expected the same dtype")

    def _note_kernel(self, weight: Operand, args: Sequence[Any], options: Mapping[str, Any], more: int) -> None:
        given = {name: args[index] for index, name in enumerate(_CONVOLVED) if index < len(args)} | dict(options)
        size = same_kernel(given.get("padding", 0), given.get("dilation", 1), given.get("stride", 1), more)
        if size is not None:
            (origin,) = weight.origins
            self.kernels[origin] = size

    def _refuse(
        self, name: str, operands: Sequence[Operand], message: str, numbers: Sequence[int], *, place: int = 0
    ) -> None:
        self.last = Failure(
            name, message, "Unusual", operands=operands, numbers=numbers, progress=self.count, is_unusual=True
        )
        self.last.place = place
        raise Unusual(message)

    def _note(self, name: str, operands: Sequence[Operand]) -> None:
        line = self._guard.user_line(sys._getframe(2)) or 0
        for operand in operands:
            for origin in operand.origins:
                self.natural.setdefault(origin, (name.strip("_"), line))


def _cut(name: str, operands: Sequence[Operand], args: Any, options: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the size that an operation cuts into pieces, and that of a piece; None of all other operations."""
    if name not in _CUTS or not operands:
        return None
    place, shape = _CUTS[name], operands[0].shape
    numbers = [item for item in [*args[1:], options.get("split_size")] if type(item) is int]
    axis = options.get("dim", numbers[place] if len(numbers) > place else 0)
    piece = numbers[0] if name == "split" and numbers else 1
    whole = type(axis) is int and -len(shape) <= axis < len(shape) and (name != "split" or numbers)
    return (shape[axis], piece) if whole else None


def _has_none(index: Any) -> bool:
    return index is None or (isinstance(index, tuple) and any(item is None for item in index))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        yield from _leaves(list(value.values()))
    else:
        yield value


class Runner:
    """Runs one subject at many states; ``runs`` counts.

    ``peers`` are arguments that mostly have as many dimensions as what they meet, ``parameters`` those that have no
    more.
    """

    def __init__(
        self,
        subject: Subject,
        guard: Guard,
        peers: frozenset[str] = frozenset(),
        parameters: frozenset[str] = frozenset(),
    ) -> None:
        self._subject = subject
        self._peers = peers
        self._parameters = parameters
        self._guard = guard
        self._kept = kept_states(subject.target)
        self._promises = promises_of(subject.target)
        self.runs = 0
        self._tree = subject.target.tree
        self._lines: dict[int, list[ast.AST]] = {}

    def run(self, state: State, *, variables: bool = False) -> Run:
        """Run the function on the shapes of ``state``.

        Raises:
            Refused: it cannot be run at any sizes (its time is over, it starts programs).
        """
        self.runs += 1
        arguments = self._described(state)
        shapes = state.bound()
        named = {name: size for name, size in state.numbers.items() if "'" not in name}
        keeping = Keeping(self._promises, self._guard.path, named, state.doubted)
        watch = _Watch(self._guard, state, self._peers, self._parameters, keeping)
        recorder = _Recorder(self._guard.path) if variables else None
        try:
            one = self._subject.with_arguments(arguments).fresh()
            with self._guard.watch(), torch.no_grad(), FakeTensorMode(allow_non_fake_inputs=True):
                tensors = []
                for item in arguments:
                    if item.is_tensor:
                        tensor = torch.empty(shapes[item.name], dtype=TORCH_DTYPES[item.dtype])
                        watch.give(item.name, tensor)
                        tensors.append(tensor)
                with watch:
                    try:
                        if recorder is not None:
                            sys.setprofile(recorder)
                        outputs = one.call(*tensors)
                    finally:
                        if recorder is not None:
                            sys.setprofile(None)
        except Refused as error:
            if error.is_final:
                raise
            return Run(self._failed(watch, error), watch.natural)
        watch.count += 1
        broken = next(keeping.ended(outputs), None)
        changed = self._changed(state, outputs, watch) if broken is None else watch.promise(broken)
        if changed is not None:
            return Run(changed, watch.natural)
        found = recorder.found if recorder is not None else {}
        return Run(
            None, watch.natural, found, watch.parts, watch.selected, watch.read, dict(watch.kernels), watch.letters
        )

    def _changed(self, state: State, outputs: Any, watch: _Watch) -> Failure | None:
        """Return the failure of a function that returns a state in another shape than it took it in."""
        for name, place in self._kept.items():
            items = outputs if isinstance(outputs, (list, tuple)) else [outputs]
            output = items[place] if -1 <= place < len(items) else None
            if not isinstance(output, Tensor) or name not in state.dims or name in state.tolerant:
                continue
            taken = state.bound()[name]
            if len(taken) == output.dim() and taken != tuple(output.shape):
                operands = (Operand(taken, frozenset({name}), True), watch.operand(output))
                return Failure(
                    message=f"{name} is returned in another shape", operands=operands, progress=watch.count + 1,
                    is_unusual=True, line=self._subject.target.line,
                )  # fmt: skip
        return None

    def _described(self, state: State) -> list[Described]:
        found = []
        for item in self._subject.arguments:
            if item.name in state.dims:
                found.append(Described(item.name, state.dims[item.name], state.dtypes.get(item.name, "fp32")))
            elif item.name in state.values:
                found.append(Described(item.name, value=state.values[item.name]))
            else:
                found.append(item)
        return found

    def _failed(self, watch: _Watch, refused: Refused) -> Failure:
        error = refused.__cause__
        found = watch.last
        message = str(error) if error is not None else str(refused)
        frame, line = _place(error.__traceback__ if error is not None else None, self._guard.path)
        if found is None or (found.message not in message and message not in found.message):
            operands = watch.looked or watch.operands
            found = Failure("", message, type(error).__name__, operands=tuple(operands), progress=watch.count + 1)
            found.cut = watch.cut
        found.kernels = watch.kernels
        found.refused = refused
        if found.promised:
            return found
        found.line = line
        found.written = self._written(line, frame)
        nodes = self._statements
        found.asserted = reached(nodes, frame, line, message) if found.name else wanted_equal(nodes, frame, line)
        return found

    def _written(self, line: int, frame: FrameType | None) -> list[int]:
        """Return the integers of a line: what stands there, and values of the variables that are named there."""
        found: list[int] = []
        values = {**frame.f_globals, **frame.f_locals} if frame is not None else {}
        for node in self._nodes(line):
            if isinstance(node, ast.Constant) and type(node.value) is int:
                found.append(node.value)
            elif isinstance(node, ast.Name) and type(values.get(node.id)) is int:
                found.append(values[node.id])
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
                value = getattr(values.get("self"), node.attr, None)
                if type(value) is int:
                    found.append(value)
        return list(dict.fromkeys(found))

    @cached_property
    def _statements(self) -> list[ast.AST]:
        return statements(self._tree)

    def _nodes(self, line: int) -> list[ast.AST]:
        if not self._lines:
            for node in ast.walk(self._tree):
                number = getattr(node, "lineno", None)
                if number is not None:
                    self._lines.setdefault(number, []).append(node)
        return self._lines.get(line, [])


class _Recorder:
    """Notes the whole numbers among the variables of the functions of a file when they return."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.found: dict[str, int] = {}

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event == "return" and frame.f_code.co_filename == self._path:
            own = {name: value for name, value in frame.f_locals.items() if type(value) is int}
            self.found = {**self.found, **own}  # the function itself returns last


def _place(traceback: TracebackType | None, path: str) -> tuple[FrameType | None, int]:
    """Return the innermost frame of a file, and its line."""
    frame, line = None, 0
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == path:
            frame, line = traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next
    return frame, line
