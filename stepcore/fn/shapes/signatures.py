"""Calls that no signature of torch takes: too many or too few arguments, unknown keywords, a text for a number.

The signatures come from torch's schemas and from those of its functions in Python (``torch_signatures``). A run hands
calls to torch, which raises TypeError for all of them. Only what is certain counts: of an argument of which nothing is
known only the place or the keyword is looked at.

Kinds: T tensor, L list of tensors, S number, i whole number, f number, b truth value, s text, d dtype and its kin,
D device, n what a function of Python calls a number (which some of them take lists for), i0 and f0 lists of numbers, i1
and f1 such lists or one number, ? anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from stepcore.fn.shapes.rules import CASTS
from stepcore.fn.shapes.values import AbstractTensor, Comparer, Components, Number, Pair, ShapeMismatch
from stepcore.sizes.dim import Dim

METHODS: Final = "torch.Tensor"
_DTYPES: Final = frozenset(CASTS.values())  # which are texts among the values that are known
# Names that torch takes besides, as numpy has them; rules know them by torch's, which no function of torch has else.
NUMPY: Final = {"axis": "dim", "keepdims": "keepdim"}
_ALIASES: Final = {**NUMPY, "x": "input", "a": "input", "x1": "input", "x2": "other"}
_MOST_ITEMS: Final = 16  # of a list that are looked at: lists are long, and of few kinds
_OF_NUMBERS: Final = frozenset({"i0", "i1", "f0", "f1"})
# By the kind of what is given, the kinds of parameters that certainly do not take it.
_NOT_TEXT: Final = frozenset("TLSifbdn") | _OF_NUMBERS
_NOT_FRACTION: Final = frozenset("TLibsD") | {"i0", "i1"}  # as dtypes are, other constants of torch are numbers here
_NOT_WHOLE: Final = frozenset("TLbsd") | {"i0", "f0"}
_NOT_TRUTH: Final = frozenset("TLsdD") | _OF_NUMBERS
_NOT_TENSOR: Final = frozenset("sd")
_NOT_LIST: Final = frozenset("TSifbsdD")
_NOT_DTYPE: Final = frozenset("TLSifb") | _OF_NUMBERS


class Parameter(NamedTuple):
    """One parameter; ``keyword`` where it is given by keyword only."""

    name: str
    kind: str
    optional: bool
    keyword: bool


Signature: TypeAlias = "tuple[Parameter, ...]"


def fitting(space: str, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Look at the arguments of ``space.name``; those of methods begin with the tensor.

    Raises:
        ShapeMismatch: no signature takes them.
    """
    known = _signatures(space, name)
    if known and not any(_takes(signature, args, kwargs, space == METHODS) for signature in known):
        shown = " or ".join(dict.fromkeys(_shown(name, signature, space == METHODS) for signature in known[:2]))
        raise ShapeMismatch(f"{name} takes no such arguments; it is {shown}")


def typed(compare: Comparer, space: str, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Look at the element types of what ``space.name`` is called with, as far as they and the sizes are known.

    Raises:
        ShapeMismatch: torch has no kernel for such tensors.
    """
    found = _types("torch" if space == METHODS else space).get(name)
    first = args[0] if found is not None and args else None
    if found is None or not isinstance(first, AbstractTensor) or "dtype" in kwargs:
        return
    refused, places = found
    # Of empty tensors torch mostly computes nothing, and asks nothing of the types of those beside them.
    given = (*args, *kwargs.values()) if first.dtype in refused else ()
    if given and all(_is_filled(each, compare) for each in given if isinstance(each, AbstractTensor)):
        if any(isinstance(each, str) and each in _DTYPES for each in args):
            return
        way_out = ".long()" if "fp32" in refused else ".float()"
        raise ShapeMismatch(f"{name} takes no tensor of {first.dtype}; write {way_out}")
    for place in places:
        other = args[place] if len(args) > place else kwargs.get(_word(space, name, place)) if kwargs else None
        if not isinstance(other, AbstractTensor) or None in (other.dtype, first.dtype) or other.dtype == first.dtype:
            continue
        # Tensors without dimensions are as numbers, which have the type of whatever is beside them.
        if other.shape and first.shape and _is_filled(first, compare) and _is_filled(other, compare):
            both = f"{first.dtype} and {other.dtype}"
            raise ShapeMismatch(f"{name} takes tensors of one element type, and these are {both}")


def _word(space: str, name: str, place: int) -> str:
    """Return the name of a parameter; none where nobody says."""
    known = _signatures(space, name)
    return known[0][place].name if known and len(known[0]) > place else ""


def _is_filled(value: AbstractTensor, compare: Comparer) -> bool:
    """Return whether a tensor certainly has elements."""
    if value.shape is None:
        return False
    return all(size is not None and (compare.bound(size) or 0) > 0 for size in value.shape)


@lru_cache(maxsize=8)
def _types(space: str) -> dict[str, tuple[frozenset[str], tuple[int, ...]]]:
    from stepcore.fn.torch_signatures import TYPES  # only what calls a function of torch needs it

    found: dict[str, tuple[frozenset[str], tuple[int, ...]]] = {}
    for entry in TYPES.get(space, "").split():
        name, _, told = entry.partition("|")
        refused, _, places = told.partition(":")
        found[name] = frozenset(refused.split(",")), tuple(map(int, filter(None, places.split(","))))
    return found


def chosen(args: list[Any], kwargs: dict[str, Any], is_method: bool) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of ``where`` by place, the condition first: as a method it has its tensor before that."""
    order = ("condition", "input", "other")
    names = ("input", "condition", "other") if is_method else order
    given = dict(zip(names, args, strict=False))
    given |= {"input" if name == "self" else _ALIASES.get(name, name): value for name, value in kwargs.items()}
    return ([given[name] for name in order], {}) if given.keys() == {*order} else (args, kwargs)


@lru_cache(maxsize=8)
def _texts(space: str) -> dict[str, str]:
    from stepcore.fn.torch_signatures import SIGNATURES  # only what calls a function of torch needs it

    parted = (entry.partition("|") for entry in SIGNATURES.get(space, "").split())
    return {name: text for name, _, text in parted}


@lru_cache(maxsize=1024)
def _signatures(space: str, name: str) -> tuple[Signature, ...]:
    text = _texts(space).get(name, "")
    return tuple(tuple(map(_parameter, each.split(","))) for each in text.split("|")) if text else ()


def _parameter(text: str) -> Parameter:
    name, _, kind = text.partition(":")
    return Parameter(name.removeprefix("*"), kind.removesuffix("="), kind.endswith("="), name.startswith("*"))


def _takes(signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any], is_method: bool) -> bool:
    places = [parameter for parameter in signature if not parameter.keyword]
    named = [parameter for parameter in signature if parameter.keyword]
    given = args[is_method:]
    own = places[is_method:]
    # Numbers stand for a list of them where that is the only thing by position: x.view(2, 3), torch.zeros(2, 3).
    if given and len(own) == 1 and own[0].kind in _OF_NUMBERS and all(_fits("i", each) for each in given):
        return _names_fit(named, kwargs)
    if len(args) > len(places) or not all(map(_fits, [each.kind for each in places], args)):
        return False
    return _names_fit((*places[len(args) :], *named), kwargs)


def _names_fit(left: Sequence[Parameter], kwargs: Mapping[str, Any]) -> bool:
    """Whether ``kwargs`` give what is ``left`` of the parameters, and nothing else."""
    open_ = {parameter.name: parameter for parameter in left}
    for name, value in kwargs.items():
        found = open_.pop(name, None) or open_.pop(_ALIASES.get(name, ""), None)
        if found is None or not _fits(found.kind, value):
            return False
    return all(parameter.optional for parameter in open_.values())


def _fits(kind: str, value: Any) -> bool:
    """Whether a parameter may take a value, of which perhaps nothing is known."""
    if kind == "?" or value is None:
        return True
    if isinstance(value, bool):
        return kind not in _NOT_TRUTH
    if isinstance(value, AbstractTensor):
        return kind not in _NOT_TENSOR
    if isinstance(value, Dim):
        return kind not in _NOT_WHOLE
    if isinstance(value, str):
        return kind not in (_NOT_DTYPE if value in _DTYPES else _NOT_TEXT)
    if isinstance(value, Number):
        unlike = {"float": _NOT_FRACTION, "int": _NOT_WHOLE, "bool": _NOT_TRUTH}.get(value.kind, frozenset())
        return kind not in unlike
    if isinstance(value, Components | Pair) or not isinstance(value, list | tuple):
        return True
    if kind in _NOT_LIST:
        return False
    inner = "T" if kind == "L" else kind[0] if kind in _OF_NUMBERS else "?"
    return all(_fits(inner, each) for each in value[:_MOST_ITEMS])


def _shown(name: str, signature: Signature, is_method: bool) -> str:
    parts: list[str] = []
    for parameter in signature[1:] if is_method else signature:
        if parameter.keyword and "*" not in parts:
            parts.append("*")
        parts.append(f"{parameter.name}=..." if parameter.optional else parameter.name)
    return f"{'.' if is_method else ''}{name}({', '.join(parts)})"
