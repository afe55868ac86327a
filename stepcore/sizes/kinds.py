"""Sizes of three kinds, and how those that only a run knows are derived from each other.

*Static* sizes are numbers and symbols that are bound before a run. *Dynamic* ones have one value in a run, which the
data decide. *Ragged* ones have one for each position of the dimensions outside: the outermost dimension never is.
What accepts a kind accepts those before it: ``kind_of(size) <= kind``.

All of them are a :class:`~stepcore.sizes.dim.Dim`. Named ones are symbols (``?L``, ``~L``); derived ones are atoms that
are named by where they come from, and equal by that name, so streams that were cut in the same way fit:

==================  =======  ==============================================================================
``#(s, i)``         dynamic  how often the selector ``s`` names branch ``i`` (:func:`routed`)
``#(s)``            ragged   how many branches ``s`` names at a position (:func:`chosen`)
``one(X)``          as X     1 where there is something, else 0; ``one(X)*X`` is ``X`` (:func:`one`)
``ceil(X/S)``       as X     how many chunks of ``S`` hold ``X`` (:func:`ceil_div`)
``X@(s, i)``        as X     those values of a ragged ``X`` that branch ``i`` gets (:func:`at`)
``join(X, Y)``      ragged   those of the sizes of branches, as their chunks come (:func:`in_turn`)
``len(e)``          either   how long a list of FlatMap is (:func:`length`)
``sum(~L)``         dynamic  the sum over all positions outside; ``sum(~L, N)`` over the innermost ``N`` of them, ragged
                             (:func:`merged`)
==================  =======  ==============================================================================

Sums and products of them are those of :class:`~stepcore.sizes.dim.Dim`, taken position by position. The rules are those
of the language page of generation 2 ("Types").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Final

from stepcore.sizes.dim import ANY, DYNAMIC, RAGGED, Coefficient, Derived, Dim, Monomial, exact_quotient, product

_ONE: Final = Dim.of(1)
_RAGGED_SAID: Final = "a value for each position of the dimensions outside, which the data decide"


class SizeKind(IntEnum):
    """How much is known of a size before a run."""

    STATIC = 0
    DYNAMIC = 1
    RAGGED = 2


def kind_of(size: Dim) -> SizeKind:
    """Return the kind of a size: that of the part of which least is known."""
    if size.is_ragged:
        return SizeKind.RAGGED
    return SizeKind.DYNAMIC if size.is_open else SizeKind.STATIC


def dynamic(name: str) -> Dim:
    """Return the dynamic size ``?name``."""
    return Dim.symbol(DYNAMIC + name)


def ragged(name: str) -> Dim:
    """Return the ragged size ``~name``."""
    return Dim.symbol(RAGGED + name)


def any_size(name: str) -> Dim:
    """Return the size ``_name`` of a function's types, which is bound at its first occurrence in each use."""
    return Dim.symbol(ANY + name)


def routed(selector: str, branch: int, positions: Dim) -> Dim:
    """Return how often ``selector``, which has so many positions, names a branch: ``#(s, i)``."""
    text = f"#({selector}, {branch})"
    return Dim.derived(
        Derived(
            text,
            "routed",
            (selector, branch),
            most=positions,
            origin=f"how often {selector} names branch {branch}",
        )
    )


def chosen(selector: str, branches: int, positions: Dim) -> Dim:
    """Return how many of the branches ``selector`` names at each of its positions: ``#(s)``, ragged."""
    origin = f"how many branches {selector} names at a position"
    return Dim.derived(
        Derived(
            f"#({selector})", "chosen", (selector,), most=Dim.of(branches), origin=origin, ragged=True, home=positions
        )
    )


def one(size: Dim) -> Dim:
    """Return ``one(X)``: 1 where ``X`` is more than 0, else 0. A static size is more than 0."""
    if not size.is_open:
        return _ONE
    made = _alone(size)
    if made is not None and made.operator == "one":
        return size
    origin = f"1 where there is something ({size if made is None else made.origin}), else 0"
    return Dim.derived(_like(size, f"one({size})", "one", (size,), _ONE, origin))


def ceil_div(size: Dim, chunk: Dim) -> Dim:
    """Return how many chunks of size ``chunk`` hold ``size``, the last of them perhaps in part: ``ceil(X/S)``."""
    if chunk == 1:
        return size
    exact = exact_quotient(size, chunk)
    if exact is not None and exact.is_integral:
        return exact
    if not size.is_open:
        return (size + chunk - 1) // chunk
    origin = f"the chunks of {chunk} that hold {size} ({_said(size)})"
    most = (bound(size) + chunk - 1) // chunk
    return Dim.derived(_like(size, f"ceil({_factor(size)}/{_factor(chunk)})", "ceil", (size, chunk), most, origin))


def at(size: Dim, selector: str, branch: int, positions: Dim) -> Dim:
    """Return those values of ``size`` that a branch gets of a selector with so many positions: ``X@(s, i)``.

    Static and dynamic sizes stay what they are: all chunks have them.
    """
    if not size.is_ragged:
        return size
    count = routed(selector, branch, positions)

    def part(atom: Derived | str) -> Dim:
        text = atom if isinstance(atom, str) else atom.text
        home = None if isinstance(atom, str) else atom.home
        kept = None if home is None else exact_quotient(home, positions)
        origin = f"those values of {text} that branch {branch} of {selector} gets"
        most = Dim.symbol(atom) if isinstance(atom, str) else Dim.derived(atom)
        made = Derived(
            f"{text}@({selector}, {branch})",
            "at",
            (most, selector, branch),
            most=most,
            origin=origin,
            ragged=True,
            home=None if kept is None or not kept.is_integral else kept * count,
        )
        return Dim.derived(made)

    return _each_ragged(size, part)


def rejoined(size: Dim, selector: str, branch: int) -> Dim:
    """Return the ``X`` of which :func:`at` made ``size``: each position gets its own value back."""

    def part(atom: Derived | str) -> Dim:
        if isinstance(atom, str):
            return Dim.symbol(atom)
        whole, *route = atom.operands
        is_part = atom.operator == "at" and route == [selector, branch]
        return whole if is_part and isinstance(whole, Dim) else Dim.derived(atom)

    return _each_ragged(size, part) if size.is_ragged else size


def in_turn(sizes: Sequence[Dim]) -> Dim:
    """Return the size whose values are those of ragged ``sizes``, one for each chunk that is taken: ``join(X, Y)``."""
    shown = ", ".join(map(str, sizes))
    most = sum(map(bound, sizes), Dim.of(0))
    return Dim.derived(
        Derived(
            f"join({shown})",
            "join",
            tuple(sizes),
            most=most,
            origin=f"those of {shown}, as their chunks come",
            ragged=True,
        )
    )


def length(name: str, most: Dim, home: Dim, *, varies: bool) -> Dim:
    """Return ``len(name)``, how long the lists of a FlatMap are: ragged where it ``varies``, with ``home`` values."""
    return Dim.derived(
        Derived(
            f"len({name})",
            "len",
            (name,),
            most=most,
            origin=f"how long the lists of {name} are",
            ragged=varies,
            home=home if varies else None,
        )
    )


def merged(sizes: Sequence[Dim], *, outermost: bool) -> Dim:
    """Return the size of neighbouring dimensions, innermost first, that become one; ``outermost``: the last is too.

    It is their product. A ragged one is absorbed: its sum over the positions of the others, dynamic if those are all.
    """
    if not any(size.is_ragged for size in sizes):
        return _shortened(product(sizes))
    total = sizes[-1]
    for size in reversed(sizes[:-1]):
        total = _over(size, total, outermost) if size.is_ragged else size * total
    return _shortened(total)


def bound(size: Dim) -> Dim:
    """Return a size that is never less, in which nothing is derived: named open sizes stand for their largest value."""
    if not any(True for _ in size.derivations()):
        return size
    result = Dim.of(0)
    for monomial, coefficient in size.terms:
        if coefficient < 0:
            continue  # what is taken away may be nothing
        factors = (_bound_of_atom(size.of_monomial(((atom, power),))) for atom, power in monomial)
        result = result + product(factors) * Dim.factor(coefficient)
    return result


def _bound_of_atom(size: Dim) -> Dim:
    made = next(iter(size.derivations()), None)
    if made is None:
        return size
    ((_, power),) = size.terms[0][0]
    return product([bound(made.most)] * abs(power)) if power > 0 else _ONE


def upper(size: Dim, most: Mapping[str, int]) -> int:
    """Return a number that ``size`` does not exceed, where ``most`` binds symbols and says how large open ones get.

    Raises:
        DimError: a symbol or a named open size is not in ``most``.
    """
    return bound(size).bind(most)


def origin_of(size: Dim) -> str:
    """Return in words what an open size is: ``#(route, 0): how often route names branch 0``; empty for a static one."""
    direct = {made.text for made in size.derivations()} or {name for name, _ in origins(size)}
    return "; ".join(f"{text}: {said}" for text, said in origins(size) if text in direct)


def origins(size: Dim) -> Iterator[tuple[str, str]]:
    """Yield each open part of a size, with what it is in words, those that others are derived from after them."""
    yield from dict(_origins(size)).items()


def _origins(size: Dim) -> Iterator[tuple[str, str]]:
    for made in size.derivations():
        yield made.text, made.origin
        for operand in made.operands:
            if isinstance(operand, Dim):
                yield from _origins(operand)
    derived = {made.text for made in size.derivations()}
    for name in sorted(size.symbols() - derived):
        if name.startswith(DYNAMIC):
            yield name, "one value in each run, which the data decide"
        elif name.startswith(RAGGED):
            yield name, _RAGGED_SAID


def _said(size: Dim) -> str:
    made = _alone(size)
    return f"{size}" if made is None else made.origin


def with_home(size: Dim, home: Dim) -> Dim:
    """Return a declared size whose ragged names know that they have ``home`` values."""

    def part(atom: Derived | str) -> Dim:
        if isinstance(atom, Derived):
            return Dim.derived(atom)
        most = Dim.symbol(atom)
        return Dim.derived(Derived(atom, "named", (atom,), most=most, origin=_RAGGED_SAID, ragged=True, home=home))

    return _each_ragged(size, part)


# -- how sizes are put together ------------------------------------------------------------------------


def _over(size: Dim, positions: Dim, outermost: bool) -> Dim:
    """Return the sum of a ragged size over so many positions outside, all of them if they hold the ``outermost``."""
    total = Dim.of(0)
    for monomial, coefficient in size.terms:
        held = [size.of_monomial((factor,)) for factor in monomial]
        rest = product(factor for factor in held if not factor.is_ragged) * Dim.factor(coefficient)
        inside = [factor for factor in held if factor.is_ragged]
        total = total + rest * (_sum(product(inside), positions, outermost) if inside else positions)
    return total


def _sum(size: Dim, positions: Dim, outermost: bool) -> Dim:
    if positions == 1 and not outermost:
        return size
    made = _alone(size)
    if made is not None and made.operator == "sum":
        inner, counted = made.operands
        assert isinstance(inner, Dim) and isinstance(counted, Dim)
        size, positions = inner, _over(counted, positions, outermost)
    home = _home(size)
    is_all = outermost and home is not None and home == positions
    text = f"sum({size})" if is_all else f"sum({size}, {positions})"
    left = None if outermost or home is None else exact_quotient(home, positions)
    where = "all positions" if is_all else f"{positions} positions"
    return Dim.derived(
        Derived(
            text,
            "sum",
            (size, positions),
            most=bound(size) * bound(positions),
            origin=f"the sum of {size} over {where} outside",
            ragged=not outermost,
            home=left if left is not None and left.is_integral else None,
        )
    )


def _home(size: Dim) -> Dim | None:
    """Return for how many positions a ragged size has values, None where that is not known."""
    homes = [made.home for made in size.derivations() if made.ragged]
    return homes[0] if homes and all(home is not None and home == homes[0] for home in homes) else None


def _shortened(size: Dim) -> Dim:
    """Return ``size`` with ``one(X)*X`` as ``X``, and ``one(X)*one(X)`` as ``one(X)``."""
    ones = [made for made in size.derivations() if made.operator == "one"]
    if not ones:
        return size
    terms = [_shortened_term(size, *term, ones) for term in size.terms]
    return terms[0] if len(terms) == 1 else sum(terms, Dim.of(0))


def _shortened_term(size: Dim, monomial: Monomial, coefficient: Coefficient, ones: Sequence[Derived]) -> Dim:
    powers = dict(monomial)
    for made in ones:
        if powers.get(made.text, 0) < 1:
            continue
        (of,) = [operand for operand in made.operands if isinstance(operand, Dim)]
        needed = of.terms[0][0] if len(of.terms) == 1 else None
        if needed is not None and all(powers.get(atom, 0) >= power for atom, power in needed):
            del powers[made.text]
        else:
            powers[made.text] = 1
    term = size.of_monomial(tuple(sorted(powers.items())))
    return term if coefficient == 1 else term * Dim.factor(coefficient)


def _each_ragged(size: Dim, part: Callable[[Derived | str], Dim]) -> Dim:
    """Return ``size`` with each ragged atom replaced by what ``part`` makes of it; of ``one`` and ``ceil``, inside."""
    atoms = {made.text: made for made in size.derivations()}
    result = Dim.of(0)
    for monomial, coefficient in size.terms:
        term = Dim.factor(coefficient)
        for atom, power in monomial:
            factor = size.of_monomial(((atom, 1),))
            made = atoms.get(atom)
            if not factor.is_ragged or power < 1:
                term = term * size.of_monomial(((atom, power),))
                continue
            if made is not None and made.operator in ("one", "ceil"):
                inner, *rest = (operand for operand in made.operands if isinstance(operand, Dim))
                changed = _each_ragged(inner, part)
                new = ceil_div(changed, rest[0]) if rest else one(changed)
            else:
                new = part(made if made is not None else atom)
            term = term * product([new] * power)
        result = result + term
    return result


def _like(
    size: Dim, text: str, operator: str, operands: tuple[Dim | str | int, ...], most: Dim, origin: str
) -> Derived:
    """Return an atom of the kind of ``size``, which has values at the same positions."""
    is_ragged = size.is_ragged
    home = _home(size) if is_ragged else None
    return Derived(text, operator, operands, most=most, origin=origin, ragged=is_ragged, home=home)


def _alone(size: Dim) -> Derived | None:
    """Return the derived size that ``size`` is, and nothing else besides; None where it is none."""
    found = size.derivations()
    if not found:
        return None
    made = next(iter(found))
    return made if made.text == str(size) else None


def _factor(size: Dim) -> str:
    return str(size) if len(size.terms) == 1 and "//" not in str(size) else f"({size})"
