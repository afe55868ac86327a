"""Symbolic sizes: polynomials over symbols, with floor division where it cannot be carried out.

A :class:`Dim` is kept in normal form (sums of products, sorted), so that equality of sizes is equality of
normal forms: ``N*K == K*N``. A floor division that may leave a remainder stays as it is written: ``2*(D//2)``
is not ``D``. ``Reshape`` asserts divisibility; a :class:`Facts` collects such assertions and compares under
them. Sizes that only a run knows are named ``?L`` (dynamic: one value) and ``~L`` (ragged: one for each position
of the dimensions outside), or :class:`Derived` from others; :mod:`stepcore.sizes.kinds` makes and compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from keyword import iskeyword
from math import floor
from typing import TYPE_CHECKING, Final, TypeAlias

from stepcore.findings.budget import spend

if TYPE_CHECKING:
    from fractions import Fraction

# What a size is bound to unless a file or a run says otherwise (the published tasks' sizes).
DEFAULT_SIZES: Final[Mapping[str, int]] = {"M": 5, "N": 7, "K": 9, "D": 16}

# Larger sizes are slips of the keyboard: no memory holds such a stream. One bound for sizes wherever they are written.
LARGEST_SIZE: Final = 2**31
SIZE_RULE: Final = "a size is an integer from 1 to 2**31"

# What the names of dynamic and of ragged sizes begin with, and those of sizes that functions take whatever they are.
DYNAMIC: Final = "?"
RAGGED: Final = "~"
OPEN: Final = DYNAMIC + RAGGED
ANY: Final = "_"
MARKS: Final = {"dyn": DYNAMIC, "ragged": RAGGED, "any_size": ANY}  # what writes them in Python

Coefficient: TypeAlias = "int | Fraction"

# Products of sums grow exponentially when multiplied out, and divisions of divisions when written down.
MAX_TERMS: Final = 1000
MAX_QUOTIENT_TEXT: Final = 1000
MAX_DEGREE: Final = 64  # of one product: M*M*... is written out
MAX_COEFFICIENT: Final = 1 << 1024
_FREE: Final = 16  # terms of a result up to which nothing is counted


class DimError(ValueError):
    """A size that cannot be computed: a division by zero, a remainder, a symbol without a value."""


def is_size(value: object) -> bool:
    """Return whether ``value`` is an integer that a size may have: from 1 to :data:`LARGEST_SIZE`."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST_SIZE


def is_name(text: str) -> bool:
    """Return whether a size, a stream or a function may have this name in a Python file: an identifier as Python keeps
    it (compatibility characters stand for others there), no keyword, and none of the names that belong to Python.
    """
    return text.isidentifier() and not iskeyword(text) and _is_kept(text) and not text.startswith("__")


def _is_kept(text: str) -> bool:
    """Whether Python keeps an identifier as it is written."""
    if text.isascii():
        return True
    from unicodedata import is_normalized  # nearly all names are ASCII

    return is_normalized("NFKC", text)


class Quotient:
    """The atom ``numerator // divisor`` of a division that may leave a remainder."""

    __slots__ = ("divisor", "numerator", "text")

    def __init__(self, numerator: Dim, divisor: Dim) -> None:
        self.numerator = numerator
        self.divisor = divisor
        self.text = f"{_factor_text(numerator)}//{_factor_text(divisor)}"


class Derived:
    """The atom of a size that only a run knows, named by where it comes from: ``#(route, 0)``.

    ``most`` is a size that is never less, ``origin`` says to people what it is. Where it is ``ragged``, ``home`` is for
    how many positions it has values, as far as that is known. ``operator`` and ``operands`` are what it is made of
    (:mod:`stepcore.sizes.kinds`).
    """

    __slots__ = ("home", "most", "operands", "operator", "origin", "ragged", "text")

    def __init__(
        self,
        text: str,
        operator: str,
        operands: tuple[Dim | str | int, ...],
        *,
        most: Dim,
        origin: str,
        ragged: bool = False,
        home: Dim | None = None,
    ) -> None:
        self.text = text
        self.operator = operator
        self.operands = operands
        self.most = most
        self.origin = origin
        self.ragged = ragged
        self.home = home


Atoms: TypeAlias = Mapping[str, Quotient | Derived]  # by their texts; other texts are symbols
Monomial: TypeAlias = tuple[tuple[str, int], ...]  # (text of the atom, power), sorted by text


class Dim:
    """One size. Immutable; compares with integers and other sizes by value in normal form.

    >>> N, K = Dim.symbol("N"), Dim.symbol("K")
    >>> N * K == K * N
    True
    """

    __slots__ = ("_atoms", "_hash", "_text", "terms")

    terms: tuple[tuple[Monomial, Coefficient], ...]

    def __init__(self, terms: tuple[tuple[Monomial, Coefficient], ...], atoms: Atoms) -> None:
        self.terms = terms
        self._atoms: Atoms = atoms
        self._hash = _hash(terms)
        self._text: str | None = None

    @staticmethod
    def symbol(name: str) -> Dim:
        """Return the size named ``name``."""
        return Dim(((((name, 1),), 1),), _NO_ATOMS)

    @staticmethod
    def factor(value: Coefficient) -> Dim:
        """Return the size that is ``value`` alone, which may be a fraction that others make whole."""
        return Dim((((), value),) if value else (), _NO_ATOMS)

    @staticmethod
    def derived(atom: Derived) -> Dim:
        """Return the size that ``atom`` alone is."""
        return Dim(((((atom.text, 1),), 1),), {atom.text: atom})

    @staticmethod
    def of(value: Dim | int) -> Dim:
        """Return ``value`` as a size; expressions of sympy are read, TypeError for what is none."""
        if isinstance(value, Dim):
            return value
        given: object = value  # of any kind, in scripts
        if not isinstance(given, int):
            from stepcore.sizes import foreign

            if foreign.is_foreign(given):
                return _read_foreign(given)
            raise TypeError(f"{value!r} is no size")
        return _constant(value)

    @property
    def constant(self) -> int | None:
        """The integer that this size is, or None when it holds a symbol."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and not self.terms[0][0]:
            value = self.terms[0][1]
            return value if isinstance(value, int) else None
        return None

    @property
    def is_symbol(self) -> bool:
        """Whether this size is a symbol that stands alone, which the size of a tensor binds."""
        return self.symbols() == {str(self)}

    def symbols(self) -> frozenset[str]:
        """Return the names of all symbols, those inside floor divisions included, and of derived sizes."""
        names: set[str] = set()
        for monomial, _ in self.terms:
            for atom, _power in monomial:
                made = self._atoms.get(atom)
                if made is None:
                    names.add(atom)
                elif isinstance(made, Quotient):
                    names |= made.numerator.symbols() | made.divisor.symbols()
                else:
                    operand = _follows(made)
                    names |= {atom} if operand is None else operand.symbols()
        return frozenset(names)

    @property
    def is_open(self) -> bool:
        """Whether only a run knows this size: it holds a dynamic or a ragged one."""
        atoms = self._atoms
        for monomial, _ in self.terms:  # no generator: each size of each type is asked
            for atom, _power in monomial:
                if _is_open(atom, atoms) if atoms else atom[0] in OPEN:
                    return True
        return False

    @property
    def is_ragged(self) -> bool:
        """Whether this size has a value for each position of the dimensions outside."""
        atoms = self._atoms
        for monomial, _ in self.terms:
            for atom, _power in monomial:
                if _is_ragged(atom, atoms) if atoms else atom[0] == RAGGED:
                    return True
        return False

    def bind(self, values: Mapping[str, int]) -> int:
        """Return the integer under ``values``.

        Raises:
            DimError: a symbol has no value, or a division asserted to be exact leaves a remainder.
        """
        total: Coefficient = 0
        for monomial, coefficient in self.terms:
            product: Coefficient = coefficient
            for atom, power in monomial:
                product *= (
                    _fraction(self._atom_value(atom, values)) ** power
                    if power < 0
                    else (self._atom_value(atom, values) ** power)
                )
            total += product
        if total != int(total):
            raise DimError(f"{self} is not a whole number here: {total}")
        return int(total)

    def _atom_value(self, atom: str, values: Mapping[str, int]) -> int:
        made = self._atoms.get(atom)
        if made is None or atom in values:
            if atom not in values:
                raise DimError(f"the size {atom} has no value")
            return values[atom]
        if isinstance(made, Derived):
            operand = _follows(made)
            if operand is None:
                raise DimError(f"the size {atom} has no value")
            found = operand.bind(values)
            return min(found, 1) if made.operator == "one" else -(-found // _size(made.operands[1]).bind(values))
        divisor = made.divisor.bind(values)
        if divisor == 0:
            raise DimError(f"{made.text} divides by zero")
        return made.numerator.bind(values) // divisor

    def substitute(self, replace: Callable[[str], Dim | None]) -> Dim:
        """Return this size with each symbol ``s`` replaced by ``replace(s)`` where that is not None."""
        return self._rebuild(
            replace, lambda quotient: quotient.numerator.substitute(replace) // quotient.divisor.substitute(replace)
        )

    def _rebuild(self, on_symbol: Callable[[str], Dim | None], on_quotient: Callable[[Quotient], Dim]) -> Dim:
        result = _constant(0)
        for monomial, coefficient in self.terms:
            product = Dim.factor(coefficient)
            for atom, power in monomial:
                made = self._atoms.get(atom)
                value = on_quotient(made) if isinstance(made, Quotient) else on_symbol(atom)
                if value is None:
                    product = product * Dim((((((atom, power),)), 1),), self._atoms if made is not None else _NO_ATOMS)
                    continue
                for _ in range(abs(power)):
                    product = product * value if power > 0 else (exact_quotient(product, value) or product // value)
            result = result + product
        return result

    def __add__(self, other: Dim | int) -> Dim:
        other = other if type(other) is Dim else Dim.of(other)
        if not self.terms or not other.terms:  # sums begin with nothing
            return self if self.terms else other
        return _collect((*self.terms, *other.terms), _merge(self._atoms, other._atoms))

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return Dim(tuple((m, -c) for m, c in self.terms), self._atoms)

    def __pos__(self) -> Dim:
        return self

    def __sub__(self, other: Dim | int) -> Dim:
        return self + (-Dim.of(other))

    def __rsub__(self, other: Dim | int) -> Dim:
        return Dim.of(other) - self

    def __mul__(self, other: Dim | int) -> Dim:
        other = other if type(other) is Dim else Dim.of(other)
        count = len(self.terms) * len(other.terms)
        if count == 1:  # as nearly always
            ((left, by),), ((right, times),) = self.terms, other.terms
            return _term(_times(left, right), by * times, _merge(self._atoms, other._atoms))
        if count > MAX_TERMS:
            raise DimError(f"a size with more than {MAX_TERMS} terms cannot be handled")
        if count > _FREE:
            spend(count)
        products = ((_times(m1, m2), c1 * c2) for m1, c1 in self.terms for m2, c2 in other.terms)
        return _collect(products, _merge(self._atoms, other._atoms))

    __rmul__ = __mul__

    def __floordiv__(self, other: Dim | int) -> Dim:
        other = Dim.of(other)
        if other.constant == 0:
            raise DimError(f"{self}//0 divides by zero")
        left, right = self.constant, other.constant
        if left is not None and right is not None:
            return _constant(left // right)
        exact = exact_quotient(self, other)
        if exact is not None and exact.is_integral:
            return exact
        if max(len(self.terms), len(other.terms)) > MAX_QUOTIENT_TEXT // 4:  # each term takes four characters
            raise DimError("so long a division cannot be handled")
        quotient = Quotient(self, other)
        if len(quotient.text) > MAX_QUOTIENT_TEXT:
            raise DimError("so many divisions inside each other cannot be handled")
        return Dim(((((quotient.text, 1),), 1),), {quotient.text: quotient})

    def __rfloordiv__(self, other: Dim | int) -> Dim:
        return Dim.of(other) // self

    def floor(self) -> int:
        """Return the largest integer that is not above this size; ``DimError`` where it holds a symbol."""
        if any(monomial for monomial, _ in self.terms):
            raise DimError(f"{self} is no number")
        return floor(sum(_fraction(coefficient) for _, coefficient in self.terms))

    @property
    def is_integral(self) -> bool:
        """True when no coefficient is a fraction and no power negative: a whole number for all values."""
        return all(isinstance(c, int) and all(power > 0 for _, power in m) for m, c in self.terms)

    def bound_above(self) -> Dim:
        """Return a size that is never less: floor divisions by numbers are replaced by what bounds them.

        ``d * (n // d)`` lies between ``n - d + 1`` and ``n``. Coefficients of the result may be fractions; it is
        exact where no such division is left, and tells whether two sizes that grow alike stay close.
        """
        result = _constant(0)
        for monomial, coefficient in self.terms:
            quotient = self._atoms.get(monomial[0][0]) if len(monomial) == 1 and monomial[0][1] == 1 else None
            divisor = quotient.divisor.constant if isinstance(quotient, Quotient) else None
            if not isinstance(quotient, Quotient) or divisor is None or divisor < 1:
                result = result + _term(monomial, coefficient, self._atoms)
                continue
            numerator = quotient.numerator if coefficient > 0 else quotient.numerator - (divisor - 1)
            scaled = numerator * Dim((((), _fraction(coefficient) / divisor),), _NO_ATOMS)
            result = result + scaled.bound_above()
        return result

    def quotients(self) -> Iterable[Quotient]:
        """The floor divisions that this size holds directly."""
        return [atom for atom in self._atoms.values() if isinstance(atom, Quotient)] if self._atoms else ()

    def derivations(self) -> Iterable[Derived]:
        """The derived sizes that this one holds directly."""
        return [atom for atom in self._atoms.values() if isinstance(atom, Derived)] if self._atoms else ()

    def of_monomial(self, monomial: Monomial) -> Dim:
        """Return the product that ``monomial`` of this size stands for."""
        return _term(monomial, 1, self._atoms)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dim):
            return self.terms == other.terms
        if isinstance(other, int):
            return self.constant == other
        return _same_as_foreign(self, other)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        if self._text is None:
            self._text = _dim_text(self)
        return self._text

    def __repr__(self) -> str:
        return str(self)


def _hash(terms: tuple[tuple[Monomial, Coefficient], ...]) -> int:
    """Return the hash of a size: those that equal integers have, and sympy's symbols, which keys of scripts are."""
    if len(terms) != 1:
        return hash(terms) if terms else hash(0)
    monomial, coefficient = terms[0]
    if not monomial and isinstance(coefficient, int):
        return hash(coefficient)
    if coefficient == 1 and len(monomial) == 1 and monomial[0][1] == 1:
        return hash(("Symbol", monomial[0][0], ("commutative", True)))
    return hash(terms)


def _follows(atom: Derived) -> Dim | None:
    """Return the operand from whose value that of ``atom`` follows, None where only a run tells."""
    first = atom.operands[0]
    return first if atom.operator in ("one", "ceil") and isinstance(first, Dim) else None


def _size(operand: Dim | str | int) -> Dim:
    assert not isinstance(operand, str), "names of streams stand where the operator says"
    return Dim.of(operand)


def _is_open(atom: str, atoms: Atoms) -> bool:
    made = atoms.get(atom)
    if isinstance(made, Quotient):
        return made.numerator.is_open or made.divisor.is_open
    return made is not None or atom[0] in OPEN


def _is_ragged(atom: str, atoms: Atoms) -> bool:
    made = atoms.get(atom)
    if isinstance(made, Quotient):
        return made.numerator.is_ragged or made.divisor.is_ragged
    return atom[0] == RAGGED if made is None else made.ragged


def _read_foreign(value: object) -> Dim:
    from stepcore.sizes import foreign

    return foreign.read(value, foreign.Algebra(_constant, Dim.symbol, _whole_quotient, DimError))


def _whole_quotient(size: Dim, divisor: Dim) -> Dim | None:
    exact = exact_quotient(size, divisor)
    return exact if exact is not None and exact.is_integral else None


def _same_as_foreign(size: Dim, other: object) -> bool:
    """Compare with an expression of sympy, say; what is no size is NotImplemented."""
    from stepcore.sizes import foreign

    if not foreign.is_foreign(other):
        return NotImplemented  # type: ignore[no-any-return]  # what Python's own comparison goes on with
    try:
        return size == _read_foreign(other)
    except foreign.ForeignSizeError:
        return False


class Facts:
    """Divisibility that a program asserts with ``Reshape``: pairs (size, divisor) without a remainder."""

    def __init__(self) -> None:
        self._exact: dict[str, Dim] = {}

    def assert_divides(self, divisor: Dim, size: Dim) -> Dim:
        """Record that ``divisor`` divides ``size`` and return the quotient.

        Raises:
            DimError: both are integers and a remainder is left, or the divisor is zero.
        """
        cancelled = exact_quotient(size, divisor)
        if cancelled is not None and cancelled.is_integral:
            return cancelled  # (M//4)*(N//8) by N//8: what both are made of need not be known
        whole = self.normalise(size)
        quotient = whole // divisor
        if size.constant is not None and divisor.constant is not None:
            if size.constant % divisor.constant:
                raise DimError(f"{divisor} does not divide {size}")
            return quotient
        divisions = quotient.quotients()
        exact = exact_quotient(whole, divisor) if divisions else None
        if exact is not None:
            for atom in divisions:
                self._exact[atom.text] = exact
        return quotient

    def absorb(self, other: Facts) -> None:
        """Take over what ``other`` asserts."""
        self._exact.update(other._exact)

    def normalise(self, size: Dim) -> Dim:
        """Return ``size`` with every floor division that is known to be exact carried out."""
        if not self._exact or not any(True for _ in size.quotients()):
            return size
        return size._rebuild(lambda _symbol: None, self._carry_out)

    def _carry_out(self, quotient: Quotient) -> Dim:
        known = self._exact.get(quotient.text)
        if known is not None:
            return known
        numerator, divisor = self.normalise(quotient.numerator), self.normalise(quotient.divisor)
        if (exact := self._known(numerator, divisor)) is not None:
            return exact
        result = numerator // divisor
        # Facts are recorded about normalised sizes: (K//2)//2 is one about (K/2)//2.
        return result._rebuild(lambda _symbol: None, lambda q: self._exact.get(q.text) or q.numerator // q.divisor)

    def _known(self, numerator: Dim, divisor: Dim) -> Dim | None:
        """Return the quotient where a factor is asserted to be divisible: ``(D*K)//2`` where 2 divides ``K``."""
        wanted = exact_quotient(numerator, divisor) if len(numerator.terms) == 1 else None
        if wanted is None:
            return None
        facts = set(self._exact.values())
        spend(len(facts))
        divided = (fact * divisor for fact in facts)
        others = (exact_quotient(numerator, size) for size in divided if size.is_integral)
        return wanted if any(other is not None and other.is_integral for other in others) else None

    def equal(self, left: Dim, right: Dim) -> bool:
        """Return whether two sizes are equal as expressions under what is asserted."""
        return left == right or self.normalise(left) == self.normalise(right)


def exact_quotient(size: Dim, divisor: Dim) -> Dim | None:
    """Return ``size / divisor`` with fractions and negative powers, or None for a divisor with several terms."""
    if size.terms == divisor.terms:
        return _constant(1)
    if len(divisor.terms) != 1:
        return None
    monomial, coefficient = divisor.terms[0]
    inverse: Monomial = tuple([(atom, -power) for atom, power in monomial])
    if coefficient == 1 and len(size.terms) == 1:
        ((whole, by),) = size.terms
        return _term(_times(whole, inverse), by, _merge(size._atoms, divisor._atoms))
    terms = ((_times(m, inverse), _reduce(_fraction(c) / coefficient)) for m, c in size.terms)
    return _collect(terms, _merge(size._atoms, divisor._atoms))


def product(sizes: Iterable[Dim]) -> Dim:
    """Return the product of ``sizes`` (1 for none)."""
    result: Dim | None = None
    for size in sizes:
        result = size if result is None else result * size
    return _constant(1) if result is None else result


def _fraction(value: Coefficient) -> Fraction:
    from fractions import Fraction  # few sizes hold some, and it loads all of Python's kinds of numbers

    return Fraction(value)


def _reduce(value: Coefficient) -> Coefficient:
    if type(value) is int:  # isinstance() of Fraction, an abstract class, takes longer than all else here
        return value
    return value.numerator if value.denominator == 1 else value


def _constant(value: int) -> Dim:
    cached = _CONSTANTS.get(value)
    if cached is not None:
        return cached
    return Dim((((), value),) if value else (), _NO_ATOMS)


def _times(left: Monomial, right: Monomial) -> Monomial:
    if not left:
        return right
    if not right:
        return left
    powers = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) + power
        if not -MAX_DEGREE <= powers[atom] <= MAX_DEGREE:
            raise DimError(f"a product of more than {MAX_DEGREE} sizes cannot be handled")
    if len(powers) > MAX_DEGREE:
        raise DimError(f"a product of more than {MAX_DEGREE} sizes cannot be handled")
    return tuple(sorted([(atom, power) for atom, power in powers.items() if power]))


def _term(monomial: Monomial, coefficient: Coefficient, atoms: Atoms) -> Dim:
    """Return what :func:`_collect` makes of one term that is not zero."""
    if coefficient > MAX_COEFFICIENT or coefficient < -MAX_COEFFICIENT:
        raise DimError("a size with so large a factor cannot be handled")
    if atoms:
        used = [atom for atom, _ in monomial if atom in atoms]
        if len(used) < len(atoms):
            atoms = {text: atom for text, atom in atoms.items() if text in used} if used else _NO_ATOMS
    return Dim(((monomial, _reduce(coefficient)),), atoms)


def _collect(terms: Iterable[tuple[Monomial, Coefficient]], atoms: Atoms) -> Dim:
    sums: dict[Monomial, Coefficient] = {}
    for monomial, coefficient in terms:
        sums[monomial] = sums.get(monomial, 0) + coefficient
    if len(sums) > _FREE:
        spend(len(sums))
        if len(sums) > MAX_TERMS:
            raise DimError(f"a size with more than {MAX_TERMS} terms cannot be handled")
    kept = tuple(sorted((m, _reduce(c)) for m, c in sums.items() if c))
    if any(c > MAX_COEFFICIENT or c < -MAX_COEFFICIENT for _, c in kept):
        raise DimError("a size with so large a factor cannot be handled")
    if atoms:
        used = {atom for m, _ in kept for atom, _ in m}
        atoms = {text: atom for text, atom in atoms.items() if text in used}
    return Dim(kept, atoms)


def _merge(left: Atoms, right: Atoms) -> Atoms:
    if not left:
        return right
    return {**left, **right} if right else left


def _dim_text(size: Dim) -> str:
    if not size.terms:
        return "0"
    if len(size.terms) == 1:
        ((monomial, coefficient),) = size.terms
        if coefficient == 1 and len(monomial) == 1 and monomial[0][1] == 1:
            return monomial[0][0]  # an atom that stands alone, as most do
    pieces: list[str] = []
    # Symbols first, the constant last, as people write it.
    for monomial, coefficient in sorted(size.terms, key=lambda term: (not term[0], term[0])):
        text = _term_text(monomial, -coefficient if coefficient < 0 else coefficient)
        if pieces:
            pieces.append((" - " if coefficient < 0 else " + ") + text)
        else:
            # -K//2 would read as (-K)//2.
            negative = f"-({text})" if "//" in text else f"-{text}"
            pieces.append(negative if coefficient < 0 else text)
    return "".join(pieces)


def _term_text(monomial: Monomial, coefficient: Coefficient) -> str:
    over = [_power_text(a, p) for a, p in monomial if p > 0]
    under = [_power_text(a, -p) for a, p in monomial if p < 0]
    if coefficient.numerator != 1 or not over:
        over.insert(0, str(coefficient.numerator))
    if coefficient.denominator != 1:
        under.insert(0, str(coefficient.denominator))
    if len(over) == 1 and not under and over[0].startswith("(") and monomial[0][1] == 1:
        return over[0][1:-1]  # a quotient that stands alone
    text = "*".join(over)
    for factor in under:
        text += f"//{factor}"
    return text


def _power_text(atom: str, power: int) -> str:
    text = f"({atom})" if "//" in atom else atom
    return "*".join([text] * power)


def _factor_text(size: Dim) -> str:
    text = str(size)
    return text if text.isidentifier() or text.isdecimal() else f"({text})"


_NO_ATOMS: Final[Atoms] = {}
_CONSTANTS: Final[dict[int, Dim]] = {}
_CONSTANTS.update({value: Dim((((), value),) if value else (), _NO_ATOMS) for value in range(-1, 130)})
