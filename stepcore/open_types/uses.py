"""Functions of any size: what ``_R`` in their types is in one use."""

from __future__ import annotations

from stepcore.open_types.rules import with_sizes
from stepcore.sizes.dim import ANY, Dim, Facts
from stepcore.sizes.kinds import SizeKind, kind_of
from stepcore.types import Element, same_element


class _Binding(Facts):
    """Compares the types of a function (left) with those of a stream: each any size is bound where it stands first."""

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self.absorb(facts)
        self.bound: dict[str, Dim] = {}

    def equal(self, left: Dim, right: Dim) -> bool:
        """Return whether a size of the function is one of the stream; any size is, unless it was bound before."""
        if super().equal(left.substitute(self.bound.get), right):
            return True
        name = str(left)
        if name[0] != ANY or not left.is_symbol or name in self.bound or kind_of(right) is SizeKind.RAGGED:
            return False
        self.bound[name] = right
        return True


def bound_types(input: Element, output: Element, found: Element, facts: Facts) -> tuple[Element, Element] | None:
    """Return the types of a function in a use where it gets ``found``, None where it does not take that."""
    binding = _Binding(facts)
    if not same_element(input, found, binding):
        return None
    return with_sizes(input, binding.bound.get), with_sizes(output, binding.bound.get)
