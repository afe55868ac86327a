"""What a rewrite is: a module of this package that finds places in a program, and says what it would do there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from stepcore.records import Record
from stepcore.rewrites.subject import RewritePlace, RewriteSite, RewriteSubject


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

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield the same places, and those that it is about where its side condition does not hold, with the reason."""
        ...


class ExplainedRewrite(Record):
    """A rewrite that also says of each place that it is about why it does not apply there."""

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield the places where it applies, and those where its side condition does not hold."""
        raise NotImplementedError

    def sites(self, subject: RewriteSubject) -> Iterator[RewriteSite]:
        """Yield the places where it applies."""
        return (each for each in self.places(subject) if isinstance(each, RewriteSite))
