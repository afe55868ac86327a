"""Optimization memory as text, one JSON object a line: export, and import that believes nothing.

A line holds ``stepsmith_optimization`` (the version of this format), the fields of an item, and ``seen`` in seconds
since 1970. Code leaves, and comes in, only where its user asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final

from stepagents.experience.database import HoldsSecret
from stepagents.experience.lines import RefusedLine, need_object
from stepagents.experience.optimizations import (
    MOST_ITEMS,
    OptimizationItem,
    StoredItem,
    add_items,
    item_as_json,
    read_item,
    without_code,
)
from stepagents.experience.store import Store
from stepagents.experience.transfer import Imported
from stepagents.validated import Moment, read_json
from stepcore.records import Record

ITEM_FORMAT: Final = 1
_KEY: Final = "stepsmith_optimization"
_MOST_LINE: Final = 20_000  # characters
_MOST_LINES: Final = 10 * MOST_ITEMS


class _Seen(Record):
    seen: Moment


def export_items(stored: Iterable[StoredItem], *, with_code: bool = False) -> Iterator[str]:
    """Yield one line for each item, without its end; workspaces stay here, and code unless ``with_code``."""
    for each in stored:
        item = each.item if with_code else without_code(each.item)
        yield json.dumps({_KEY: ITEM_FORMAT, **item_as_json(item), "seen": each.seen})


def import_items(store: Store, lines: Iterable[str], *, with_code: bool = False) -> Imported:
    """Add what the lines hold to the store; what is no item is refused with the number of its line.

    Raises:
        StoreError: the store cannot be used.
    """
    done = Imported()
    for number, line in enumerate(lines, start=1):
        if number > _MOST_LINES:
            done.refused.append((number, f"too many lines: over {_MOST_LINES:,}; the rest is not read"))
            break
        if not line.strip():
            continue
        try:
            item, seen = _read(line)
            if add_items(store, [item if with_code else without_code(item)], seen, are_new=False):
                done.added += 1
            else:
                done.known += 1
        except RefusedLine as error:
            done.refused.append((number, str(error)))
        except HoldsSecret as error:
            done.refused.append((number, f"credential: {error}"))
    return done


def _read(line: str) -> tuple[OptimizationItem, float]:
    """Return the item of a line, and when it was seen.

    Raises:
        RefusedLine: it holds none.
    """
    need_object(line, _KEY, ITEM_FORMAT, "item", _MOST_LINE)
    try:
        return read_item(line), read_json(_Seen, line).seen
    except ValueError as error:
        raise RefusedLine(f"wrong value: {error}") from None
