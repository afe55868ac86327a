"""Sizes as the generator sees them: products of symbols, with the quotients that `Reshape` makes.

It shares no code with the library's symbolic sizes, so that a mistake there cannot hide in the generated programs.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Atom:
    """A symbol, or `base//divisor`.  `value` is what a run binds it to; of a `fresh` one only an upper bound."""

    text: str
    value: int
    fresh: bool = False
    base: Size | None = None
    divisor: int = 1


@dataclass(frozen=True, order=True)
class Size:
    """`factor` times the atoms, which are sorted."""

    factor: int
    atoms: tuple[Atom, ...] = ()

    @property
    def value(self) -> int:
        """The bound size; an upper bound where it is not `known`."""
        result = self.factor
        for atom in self.atoms:
            result *= atom.value
        return result

    @property
    def known(self) -> bool:
        """False when the size depends on data, so that it can neither be declared nor divided."""
        return not any(atom.fresh for atom in self.atoms)

    def __mul__(self, other: Size) -> Size:
        return _normal(self.factor * other.factor, (*self.atoms, *other.atoms))

    def divided_by(self, divisor: Size) -> Size | None:
        """The exact quotient, or None where the generator had better not divide."""
        rest = list(self.atoms)
        for atom in divisor.atoms:
            if atom not in rest:
                return None
            rest.remove(atom)
        if self.factor % divisor.factor == 0:
            return Size(self.factor // divisor.factor, tuple(rest))
        quotient = Size(self.factor, tuple(rest))
        if divisor.atoms or not quotient.known or quotient.value % divisor.factor:
            return None
        text = f"({quotient})//{divisor.factor}"
        return Size(1, (Atom(text, quotient.value // divisor.factor, False, quotient, divisor.factor),))

    def __str__(self) -> str:
        parts = [f"({atom.text})" if atom.base else atom.text for atom in self.atoms]
        if self.factor != 1 or not parts:
            parts.insert(0, str(self.factor))
        return "*".join(parts)

    def values_text(self) -> str:
        """The size as element functions write it: with `M_value` for `M`."""
        parts = []
        for atom in self.atoms:
            inner = f"({atom.base.values_text()})//{atom.divisor}" if atom.base else f"{atom.text}_value"
            parts.append(f"({inner})")
        if self.factor != 1 or not parts:
            parts.insert(0, str(self.factor))
        return "*".join(parts)


def _normal(factor: int, atoms: tuple[Atom, ...]) -> Size:
    """Undo divisions: `2*(M//2)` is `M` once a `Reshape` has asserted that 2 divides M."""
    for atom in atoms:
        if atom.base is not None and factor % atom.divisor == 0:
            rest = list(atoms)
            rest.remove(atom)
            return _normal(factor // atom.divisor * atom.base.factor, (*rest, *atom.base.atoms))
    return Size(factor, tuple(sorted(atoms)))


def number(value: int) -> Size:
    """The size that is this integer."""
    return Size(value)


def symbol(name: str, value: int, *, fresh: bool = False) -> Size:
    """The size with this name."""
    return Size(1, (Atom(name, value, fresh),))


def product(sizes: tuple[Size, ...]) -> Size:
    """The product, 1 for none."""
    result = Size(1)
    for size in sizes:
        result = result * size
    return result
