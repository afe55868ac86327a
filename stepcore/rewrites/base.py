"""What a rewrite is: a module of this package that finds places in a program, and says what it would do there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from stepcore.rewrites.subject import RewriteSite, RewriteSubject


class Rewrite(Protocol):
    """One way to change a program that keeps what it computes.

    ``name`` is a word of ``docs/rewrites.md``, where a program before and after stands; ``timed`` says whether it looks
    at cycles. A site is offered only where the side condition of the rewrite holds; :func:`stepcore.rewrites.applied`
    then has the new text checked like any other.
    """

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def summary(self) -> str:
        """What it does, in a few words."""
        ...

    @property
    def timed(self) -> bool:
        """Whether it looks at cycles."""
        ...

    def sites(self, subject: RewriteSubject) -> Iterator[RewriteSite]:
        """Yield the places in ``subject``, in the order of the text; of a timed rewrite none where it is not timed."""
        ...
