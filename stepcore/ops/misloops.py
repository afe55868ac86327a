"""What is said about wrong calls of loops, in the editor and in a script alike; ``name`` is what the file calls one.

A script does not know that name: there it is :data:`UNNAMED`.
"""

from __future__ import annotations

from typing import Final

from stepcore.ops.miscalls import Mistake

UNNAMED: Final = "this loop"


def applied_twice(name: str, copy: str) -> Mistake:
    """``copy`` is how Copy is written there."""
    way_out = f"apply it once, and give the stream to {copy}()"
    return Mistake("STEP229", f"{name} is applied twice, and what comes back is one stream", way_out)


def closed_twice(name: str, merge: str) -> Mistake:
    """``merge`` is how EagerMerge is written there."""
    way_out = f"close it once; {merge}() joins several streams"
    return Mistake("STEP229", f"{name} is closed twice, and one stream comes back", way_out)


def unread() -> Mistake:
    """It is closed, and its stream is not made."""
    return Mistake("STEP229", "nobody reads what comes back by this loop", "its stream is loop.apply()")


def from_elsewhere(closing: str) -> Mistake:
    """``closing`` is the name of the stream that closes it, if it has one."""
    text = f"{closing or 'what closes it'} does not come from this loop, so it is no cycle"
    return Mistake("STEP229", f"{text}: use {closing or 'what closes it'} where the loop is applied", "")


def closed_by(name: str, found: str) -> Mistake:
    """``found`` says what stands where one stream is expected."""
    called = "loop" if name == UNNAMED else name
    text = f"{called}.close takes the stream that comes back, {found}"
    return Mistake("STEP205", text, f"write {called}.close(STREAM)")
