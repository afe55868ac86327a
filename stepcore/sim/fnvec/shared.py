"""Walks over values of bodies, whose lists may hold the same list in several places.

``a = [a, a]``, 45 times, makes 46 lists that hold 2**45 items: who looks for something goes into each list once, and
what takes each item as often as it stands there asks how many there are before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from stepcore.sim.fnvec.errors import EvaluationRefused

MANY: Final = 1 << 20  # items of all lists of a value together
Pairs = dict[tuple[int, int], Any]  # what became of two lists that were walked side by side, by their identities
_WALKING: Final = object()
_DEEP: Final = 200  # lists inside each other; Python's own comparison and torch's conversions recurse


def leaves(values: Iterable[Any], mappings: bool = False) -> Iterator[Any]:
    """Yield what stands in lists and tuples inside each other, from left to right, those in several places once.

    With ``mappings``, the values of dictionaries as well.
    """
    entered: set[int] = set()
    stack = [iter(values)]
    while stack:
        for value in stack[-1]:
            if isinstance(value, list | tuple) or (mappings and isinstance(value, dict)):
                if id(value) not in entered:
                    entered.add(id(value))
                    stack.append(iter(value.values() if isinstance(value, dict) else value))
                    break
            else:
                yield value
        else:
            stack.pop()


def once(value: Any, entered: dict[int, bool]) -> bool:
    """Return whether a list is gone through for the first time, and note that (True until its walk has ended).

    Raises:
        RecursionError: the list holds itself.
    """
    walking = entered.get(id(value))
    if walking:
        raise RecursionError("a list holds itself")
    if walking is None:
        entered[id(value)] = True
    return walking is None


def pairwise(
    each: Callable[[Any, Any, Pairs], Any],
    left: Sequence[Any],
    right: Sequence[Any],
    make: Callable[[list[Any]], Any],
    done: Pairs | None = None,
) -> Any:
    """Return ``make`` of what ``each`` says about the items of two lists of one length, the same two lists only once.

    ``each`` hands ``done`` on to the lists inside, so what two lists share side by side is shared in the result. Both
    live as long as the walk does.

    Raises:
        RecursionError: the lists hold themselves.
    """
    done = {} if done is None else done
    key = (id(left), id(right))
    if key not in done:
        done[key] = _WALKING
        done[key] = make([each(a, b, done) for a, b in zip(left, right, strict=True)])
    if done[key] is _WALKING:
        raise RecursionError("a list holds itself")
    return done[key]


def unfolded(value: Any, most: int = MANY) -> int:
    """Return how many items lists and tuples have where each counts as often as it stands there, at most ``most + 1``.

    Lists nested more deeply than Python can compare have more than that.
    """
    if not isinstance(value, list | tuple):
        return 1
    return _unfolded(value, most, {}, _DEEP)


def _unfolded(value: Any, most: int, known: dict[int, int], depth: int) -> int:
    count = known.get(id(value))
    if count is None:
        if not depth:
            return most + 1
        known[id(value)] = most + 1  # what a list that holds itself has
        count = 1 + len(value)
        for item in value:
            if isinstance(item, list | tuple):
                count += _unfolded(item, most, known, depth - 1)
            if count > most:
                break
        known[id(value)] = count = min(count, most + 1)
    return count


def countable(*values: Any) -> None:
    """Let pass values whose items can be gone through, each as often as it stands there.

    Raises:
        EvaluationRefused: they hold lists inside of each other that have too many.
    """
    for value in values:
        nested = isinstance(value, list | tuple) and any(isinstance(item, list | tuple) for item in value)
        if nested and unfolded(value) > MANY:
            text = f"lists in lists with more than {MANY:,} items, or nested more than {_DEEP} deep"
            raise EvaluationRefused(text, "STEP405")
