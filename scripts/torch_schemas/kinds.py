"""Which element types functions of torch take, by running them: the table ``TYPES`` of ``torch_signatures.py``."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from scripts.torch_schemas.examples import MATRICES, REAL, wrapper_examples
from scripts.torch_schemas.runs import REFUSALS
from scripts.torch_schemas.schemas import variants
from scripts.torch_schemas.table import spaces

_DTYPES: Final = {
    "bool": torch.bool, "int32": torch.int32, "int64": torch.int64, "fp16": torch.float16, "bf16": torch.bfloat16,
    "fp32": torch.float32, "fp64": torch.float64,
}  # fmt: skip
# Options with which functions take other types: a mean is one of fractions.
_WAYS: Final = {"reduction": "none", "return_indices": True}


def kinds(admitted: dict[str, Sequence[str]]) -> dict[str, dict[str, str]]:
    """Return by namespace and name what is ``admitted`` there and refuses some types: ``bool,fp16:1``.

    In front of the colon are types that the first argument certainly has not, behind it the places of arguments that
    have the type of the first one.
    """
    examples = wrapper_examples()
    found: dict[str, dict[str, str]] = {}
    for space, module, _ in spaces():
        for name in admitted.get(space, ()):
            function, calls = getattr(module, name), examples.get(name, [*REAL, *MATRICES])
            refused, bound = _of(function, calls)
            other = getattr(torch.nn.functional, name, None) if space == "torch" else None
            if inspect.isfunction(other):  # which calls this one, in more ways than its examples
                refused = [each for each in refused if each in _of(other, calls)[0]]
            if refused or bound:
                found.setdefault(space, {})[name] = f"{','.join(refused)}:{','.join(map(str, bound))}"
    return found


def _of(function: Any, examples: Sequence[tuple[Any, ...]]) -> tuple[list[str], list[int]]:
    run = [args for args in examples if args and isinstance(args[0], Tensor) and _computes(function, args)]
    refused = [name for name, dtype in _DTYPES.items() if run and not any(_takes(function, a, dtype) for a in run)]
    places = sorted({place for args in run for place in _alike(args)})
    bound = [place for place in places if all(_is_bound(function, args, place) for args in run if len(args) > place)]
    return refused, bound


def _takes(function: Any, args: tuple[Any, ...], dtype: torch.dtype) -> bool:
    """Return whether an example runs with its first tensor in another type, alone or together with its like."""
    alone = (args[0].to(dtype), *args[1:])
    return any(_computes(function, each) for each in (_cast(args, [0, *_alike(args)], dtype), alone))


def _alike(args: tuple[Any, ...]) -> list[int]:
    """Return the places of tensors that have the type of the first one."""
    return [i for i, each in enumerate(args) if i and isinstance(each, Tensor) and each.dtype == args[0].dtype]


def _is_bound(function: Any, args: tuple[Any, ...], place: int) -> bool:
    """Return whether the tensor at a place has to have the type of the first one."""
    others = [dtype for dtype in _DTYPES.values() if dtype != args[0].dtype]
    return place in _alike(args) and not any(
        _computes(function, _cast(args, places, dtype)) for places in _beside(args, place) for dtype in others
    )


def _beside(args: tuple[Any, ...], place: int) -> Iterator[list[int]]:
    """Yield the places that have another type: one alone, and all but the first."""
    yield [place]
    yield _alike(args)


def _cast(args: tuple[Any, ...], places: Sequence[int], dtype: torch.dtype) -> tuple[Any, ...]:
    return tuple(each.to(dtype) if place in places else each for place, each in enumerate(args))


def _computes(function: Any, args: tuple[Any, ...]) -> bool:
    """Return whether a function runs, in one of the ways in which it may be told to."""
    known = (
        {name for each in variants(function) for name in inspect.signature(each).parameters}
        if inspect.isfunction(function)
        else set()
    )
    ways: list[dict[str, Any]] = [{}, *({name: value} for name, value in _WAYS.items() if name in known)]
    return any(_ends(function, args, each) for each in ways)


def _ends(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*args, **kwargs)
    except REFUSALS:
        return False
    return True
