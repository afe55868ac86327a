"""Watches a run of a function on shapes alone: what its operations work on, and which arguments that comes from.

Loads torch.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from stepagents.shapes.keeping import Broken, Keeping
from stepagents.shapes.natural import same_kernel
from stepagents.shapes.outcome import PartialUse, RunFailure, TensorOperand, Unusual
from stepagents.shapes.pieces import Pieces
from stepagents.shapes.state import State
from stepagents.shapes.usual import BROADCASTING, Usual, integers, leaves
from stepagents.torchfn.guards import Guard
from stepagents.torchfn.stand_ins import STAND_INS
from stepagents.torchfn.usage import CONVOLUTIONS
from stepcore.text.raised import words
from stepcore.text.wording import class_name

_LOOKS: Final = frozenset({"__get__", "size", "dim", "__len__", "numel", "ndimension", "nelement", "stride"})
_MOST_LOOKED: Final = 12
_COMMENT: Final = "the comment"  # in the place of an operation where a value has another shape than is written
_CONVOLVED: Final = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
_CUTS: Final = {"split": 1, "unbind": 0, "__iter__": 0}  # operation -> which of its numbers is the dimension


class OperationWatch(TorchFunctionMode):
    """Counts operations and remembers what the last ones worked on."""

    def __init__(
        self, guard: Guard, state: State, peers: frozenset[str], parameters: frozenset[str], keeping: Keeping
    ) -> None:
        super().__init__()
        self._keeping = keeping
        self.usual = Usual(guard, state, peers, parameters, keeping)
        self._origins: dict[int, tuple[Tensor, frozenset[str], bool]] = {}
        self.count = 0
        self.last: RunFailure | None = None
        self.operands: tuple[TensorOperand, ...] = ()
        self.cut: tuple[int, int] | None = None
        self.looked: list[TensorOperand] = []
        self.kernels: dict[str, int] = {}
        self.letters: list[tuple[TensorOperand, str, int]] = []
        self._placed: dict[int, Tensor] = {}
        self._spread: dict[int, Tensor] = {}
        self._pieces = Pieces()
        self._paddings: dict[int, int] = {}  # what was padded at the ends of the last dimension, by result

    @property
    def parts(self) -> list[PartialUse]:
        """The tensors of which only parts were used."""
        return [PartialUse(self.operand(item.tensor), item.covered, item.heads) for item in self._pieces.piecemeal()]

    @property
    def selected(self) -> list[tuple[TensorOperand, int, TensorOperand, int]]:
        """What indices were counted in, and what they read, where the sizes of both differ."""
        return [
            (self.operand(source), size, self.operand(read), other)
            for source, size, read, other in self._pieces.selected
        ]

    @property
    def read(self) -> list[tuple[tuple[TensorOperand, int], tuple[TensorOperand, int]]]:
        """Pairs of sizes, with the tensors that have them, that differ although one index reads both."""
        return [
            ((self.operand(one), size), (self.operand(two), other)) for (one, size), (two, other) in self._pieces.read()
        ]

    def give(self, name: str, tensor: Tensor) -> None:
        """Say that a tensor is an argument."""
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
                raise Unusual(self.last)
        self.count += 1
        tensors = [item for item in leaves([args, options]) if isinstance(item, Tensor)]
        operands = tuple(self.operand(tensor) for tensor in tensors)
        try:
            self.usual.check(name, tensors, operands, args, options)
        except Unusual as error:
            self.last = error.failure
            self.last.progress = self.count
            raise
        try:
            result = STAND_INS.get(name, func)(*args, **options)
        except Exception as error:
            numbers = integers([args, options])
            text = next((item for item in args if isinstance(item, str)), "")
            named = {key: value for key, value in options.items() if type(value) is int}
            self.last = RunFailure(
                name, operands=operands, numbers=numbers, options=named, text=text, progress=self.count
            )
            self.last.message, self.last.error = words(error), class_name(error)
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
            amounts = integers([args[1:], options.get("pad", ())])[:2]
            self._paddings[id(result)] = sum(amounts)
        return result

    def promise(self, broken: Broken) -> RunFailure:
        """Return the failure of a run in which a value has another shape than a comment says."""
        operand = self.operand(broken.value)
        rank = broken.rank
        message = f"expected {rank}D" if rank is not None else "sizes are others than is written"
        asserted = [] if rank is not None else [(operand.shape, broken.wanted)]
        return RunFailure(
            _COMMENT, message, "Unusual", operands=[operand], numbers=[] if rank is None else [rank], asserted=asserted,
            line=broken.line, progress=self.count, promised=broken.line, is_unusual=True,
        )  # fmt: skip

    def _note_letters(self, name: str, operands: Sequence[TensorOperand], args: Any) -> None:
        if name == "einsum" and isinstance(args[0], str):
            terms = args[0].partition("->")[0].replace(" ", "").split(",")
            for term, operand in zip(terms, operands, strict=False):
                if len(term) == len(operand.shape) and operand.is_argument:
                    self.letters += [(operand, *pair) for pair in zip(term, operand.shape, strict=True)]

    def _note_origins(
        self, name: str, tensors: Sequence[Tensor], operands: Sequence[TensorOperand], args: Any, result: Any
    ) -> None:
        origins = frozenset(origin for operand in operands for origin in operand.origins)
        if isinstance(result, Tensor) and (name == "unsqueeze" or (name == "__getitem__" and _has_none(args[1]))):
            self._placed[id(result)] = result
        if isinstance(result, Tensor) and any(
            (item.is_placed and name in BROADCASTING) or (item.is_spread and len(item.shape) == result.dim())
            for item in operands
        ):
            self._spread[id(result)] = result
        in_place = name == "__setitem__" or (name.endswith("_") and not name.startswith("_"))
        if in_place and operands and not operands[0].is_argument:
            self._origins[id(tensors[0])] = (tensors[0], origins, False)
        is_weight = bool(operands) and not origins and not any(item.is_made for item in operands)
        for item in leaves([result] if not is_weight else []):  # what is made of weights alone is one
            if isinstance(item, Tensor) and not (id(item) in self._origins and self._origins[id(item)][2]):
                self._origins[id(item)] = (item, origins, False)

    def operand(self, tensor: Tensor) -> TensorOperand:
        """Return a tensor with where its data come from."""
        known = self._origins.get(id(tensor))
        with torch._C.DisableTorchFunctionSubclass():
            shape = tuple(tensor.shape)
        origins = known[1] if known else frozenset()
        return TensorOperand(
            shape,
            origins,
            bool(known and known[2]),
            known is not None,
            id(tensor) in self._spread,
            id(tensor) in self._placed,
        )

    def _note_kernel(self, weight: TensorOperand, args: Sequence[Any], options: Mapping[str, Any], more: int) -> None:
        given = {name: args[index] for index, name in enumerate(_CONVOLVED) if index < len(args)} | dict(options)
        size = same_kernel(given.get("padding", 0), given.get("dilation", 1), given.get("stride", 1), more)
        if size is not None:
            (origin,) = weight.origins
            self.kernels[origin] = size


def _cut(name: str, operands: Sequence[TensorOperand], args: Any, options: Mapping[str, Any]) -> tuple[int, int] | None:
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
