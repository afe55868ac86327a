"""Optimization memory: what rewrites brought at which bottleneck, as the experience store keeps it.

An item names units, terms and parameters by words of the language, and sizes as ratios: nothing of a user's code is in
it. The segment that changed is kept beside it only where its user asked for that.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from math import isfinite
from typing import Annotated, Any, Final, Literal, TypeAlias

from stepagents.experience.database import OTHER_STORE, StoreError
from stepagents.experience.store import Store, refuse_secrets
from stepagents.validated import Count, Holds, at_least, at_most, no_longer, read_json
from stepcore.records import Record
from stepcore.text.wording import one_line

MOST_ITEMS: Final = 2_000  # of a workspace; the ones that were seen longest ago are given up
MOST_SEGMENT: Final = 4_000  # characters
_WORD: Final = 64
_WORDS: Final = 16

Power: TypeAlias = Annotated[int, at_least(-64), at_most(64)]
Word: TypeAlias = Annotated[
    str, no_longer(_WORD), Holds("plain text", lambda text: text.isascii() and text.isprintable())
]
_NO_NUL: Final = Holds("a text without NUL", lambda text: "\0" not in text)
Segment: TypeAlias = Annotated[str, no_longer(MOST_SEGMENT), _NO_NUL]
Rules: TypeAlias = Literal["compute", "memory", "on-chip reads", "on-chip writes", "waiting", "stopped"]


class Bottleneck(Record):
    """What holds a program up: the busiest unit, what rules its calls, and what is around it.

    ``around`` are kinds of units whose results it reads (``< Map``) or that read its own (``> Accum``). The rest are
    powers of two, rounded: ``busy`` is the share of the cycles, ``reuse`` bytes moved by those that must be, ``room``
    the capacity by the bytes on chip (64: no limit), ``spare`` the compute that there is by what is used, ``above`` the
    cycles by their bound.
    """

    rules: Rules
    unit: Word
    around: Annotated[tuple[Word, ...], no_longer(_WORDS)] = ()
    busy: Power = 0
    reuse: Power = 0
    room: Power = 64
    spare: Power = 0
    above: Power = 0


class Change(Record):
    """A rewrite with its parameters, in words that know no program: ``("N=2",)``, ``("x2",)``."""

    rewrite: Word
    parameters: Annotated[tuple[Word, ...], no_longer(_WORDS)] = ()

    @property
    def text(self) -> str:
        """The change on a line."""
        return f"{self.rewrite} {' '.join(self.parameters)}".rstrip()


class OptimizationItem(Record):
    """What a change brought where a bottleneck was: a slow-fast pair, or a fast-slow one.

    ``before`` and ``after`` are cycles of the strongest of ``count`` such pairs; ``after`` is None where the program
    then did not run to its end. ``strategy`` is what to do, in words; ``old`` and ``new`` are the segment that changed,
    empty where its user did not ask for it to be kept. ``proposer`` is who proposed it.
    """

    bottleneck: Bottleneck
    change: Change
    before: Annotated[Count, at_least(1)]
    after: Annotated[Count, at_least(1)] | None
    count: Annotated[Count, at_least(1)] = 1
    strategy: Annotated[str, no_longer(500), _NO_NUL] = ""
    old: Segment = ""
    new: Segment = ""
    proposer: Word = "search"

    @property
    def is_faster(self) -> bool:
        """Whether it is a slow-fast pair."""
        return self.after is not None and self.after < self.before

    @property
    def key(self) -> str:
        """The name that items of equal bottleneck, change and direction share."""
        content = [asdict(self.bottleneck), asdict(self.change), self.is_faster]
        return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def words(self) -> str:
        """The item in words that tell nothing of a program."""
        at = self.bottleneck
        if self.after is None:
            brought = "it stopped"
        else:
            times = max(self.before, self.after) / min(self.before, self.after)
            brought = f"{times:.3g}x {'faster' if self.is_faster else 'slower'}" if times > 1 else "nothing"
        around = f" ({', '.join(at.around)})" if at.around else ""
        return f"{at.unit or 'no unit'}{around}, ruled by {at.rules}: {self.change.text}: {brought}"


class StoredItem(Record):
    """An item as the store holds it; ``seen`` is when it was last met, in seconds since 1970."""

    number: int
    workspace: str
    item: OptimizationItem
    seen: float

    def as_json(self) -> dict[str, Any]:
        """Return the object that ``experience list`` prints."""
        return {"number": self.number, "workspace": self.workspace, "seen": self.seen, **item_as_json(self.item)}


def item_as_json(item: OptimizationItem) -> dict[str, Any]:
    """Return the fields of an item."""
    return asdict(item)


def read_item(text: str) -> OptimizationItem:
    """Return the item that a JSON text holds; keys that it does not have are passed over.

    Raises:
        ValueError: it holds none; the message names the place.
    """
    item = read_json(OptimizationItem, text)
    words = [item.bottleneck.unit, item.change.rewrite, *item.change.parameters, *item.bottleneck.around]
    if item.change.rewrite == "" or any(word != word.strip() for word in words):
        raise ValueError("change: words are not empty, and have no blanks around them")
    return item


def merged(one: OptimizationItem, other: OptimizationItem) -> OptimizationItem:
    """Return the stronger of two items of one key, which counts for both."""
    stronger = max(one, other, key=_strength)
    return replace(stronger, count=min(one.count + other.count, 10**9))


def merged_by_key(items: Iterable[OptimizationItem]) -> dict[str, OptimizationItem]:
    """Return items by their keys, those of one key as one."""
    found: dict[str, OptimizationItem] = {}
    for item in items:
        found[item.key] = merged(found[item.key], item) if item.key in found else item
    return found


def _strength(item: OptimizationItem) -> float:
    if item.after is None:
        return float("inf")
    return max(item.before, item.after) / min(item.before, item.after)


def add_items(
    store: Store, items: Iterable[OptimizationItem], seen: float | None = None, *, are_new: bool = True
) -> int:
    """Store items, those of one key as one; return how many keys are new. The oldest beyond the bound go.

    ``seen`` is when they were met, now by default and at the latest. ``are_new``: their pairs were not counted yet;
    else the greater count holds, so that what comes again counts once.

    Raises:
        StoreError: the file cannot be used.
        HoldsSecret: an item holds the value of a credential; none of them is stored then.
        ValueError: the store was opened for all workspaces.
    """
    if store.workspace is None:
        raise ValueError("a store of all workspaces is for reading")
    found = merged_by_key(items)
    for item in found.values():
        refuse_secrets([item.strategy, item.old, item.new, item.proposer])
    now = time.time()
    when = now if seen is None else min(seen, now)  # what comes from the future would never be given up
    added = 0
    with store.writing():
        for key, item in found.items():
            added += _put(store, key, item, when, are_new=are_new)
        store.connection.execute(
            "DELETE FROM optimizations WHERE workspace = ? AND id NOT IN "
            "(SELECT id FROM optimizations WHERE workspace = ? ORDER BY seen DESC, id DESC LIMIT ?)",
            (store.workspace, store.workspace, MOST_ITEMS),
        )
    return added


def _put(store: Store, key: str, item: OptimizationItem, seen: float, *, are_new: bool) -> int:
    known = store.connection.execute(
        "SELECT id, item FROM optimizations WHERE workspace = ? AND key = ?", (store.workspace, key)
    ).fetchone()
    if known is None:
        row = (store.workspace, key, json.dumps(item_as_json(item)), seen)
        store.connection.execute("INSERT INTO optimizations (workspace, key, item, seen) VALUES (?, ?, ?, ?)", row)
        return 1
    mine = _item_of(store, known[1])
    both = merged(mine, item)
    if not are_new:
        both = replace(both, count=max(mine.count, item.count))
    values = (json.dumps(item_as_json(both)), seen, known[0])
    store.connection.execute("UPDATE optimizations SET item = ?, seen = max(seen, ?) WHERE id = ?", values)
    return 0


def stored_items(store: Store) -> list[StoredItem]:
    """Return the items of a store's workspace, in the order in which they came.

    Raises:
        StoreError: the file cannot be used.
    """
    where, values = ("", ()) if store.workspace is None else ("WHERE workspace = ?", (store.workspace,))
    query = f"SELECT id, workspace, item, seen FROM optimizations {where} ORDER BY id"
    with store.usable():
        rows: Sequence[tuple[int, Any, object, Any]] = store.connection.execute(query, values).fetchall()
    if any(not isinstance(seen, float) or not isfinite(seen) for *_, seen in rows):
        raise _unreadable(store, "`seen` is no finite number")
    if any(not isinstance(workspace, str) for _, workspace, *_ in rows):
        raise _unreadable(store, "`workspace` is no text")
    return [StoredItem(number, workspace, _item_of(store, text), seen) for number, workspace, text, seen in rows]


def _item_of(store: Store, text: object) -> OptimizationItem:
    """Return the item that a row holds; columns have types in SQLite's tables, but their values may be of any."""
    if not isinstance(text, str):
        raise _unreadable(store, "it is no text")
    try:
        return read_item(text)
    except ValueError as error:
        raise _unreadable(store, one_line(error)) from None


def _unreadable(store: Store, why: str) -> StoreError:
    text = f"an item of the store cannot be read: {why}; {OTHER_STORE}"
    return StoreError(f"{one_line(store.path)}: {text}")


def remove_items(store: Store, numbers: Sequence[int]) -> int:
    """Remove items by number, and return how many there were.

    Raises:
        StoreError: the file cannot be used.
    """
    where, values = ("", ()) if store.workspace is None else (" AND workspace = ?", (store.workspace,))
    with store.writing():
        return sum(
            store.connection.execute(f"DELETE FROM optimizations WHERE id = ?{where}", (number, *values)).rowcount
            for number in numbers
        )


def without_code(item: OptimizationItem) -> OptimizationItem:
    """Return an item without what a user's code could be read from."""
    return replace(item, strategy="", old="", new="")
