"""How ``stepsmith experience --kind optimization`` shows what the store holds."""

from __future__ import annotations

from collections.abc import Sequence

from stepagents.experience.optimizations import StoredItem
from stepcore.cli.terminal import console
from stepcore.reports.text import clean
from stepcore.text.wording import one_line


def print_items(found: Sequence[StoredItem]) -> None:
    """Print a line for each item."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("number", "pairs", "cycles", "after", "what"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for each in found:
        item = each.item
        after = "-" if item.after is None else f"{item.after:,}"
        cells = [str(each.number), str(item.count), f"{item.before:,}", after, item.words]
        table.add_row(*(escape(one_line(cell)) for cell in cells))
    console().print(table)


def show_item(found: StoredItem) -> None:
    """Print one item, with its strategy and the segment that changed where they were kept."""
    item = found.item
    print(f"# {one_line(item.words)} ({item.count} pairs, by {one_line(item.proposer)})")
    if item.strategy:
        print(clean(item.strategy))
    for mark, text in (("-", item.old), ("+", item.new)):
        print("".join(f"{mark} {clean(line)}\n" for line in text.splitlines()), end="")
