"""What each rewrite could do in a program, and why it cannot where it is about an operator but does not apply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from stepcore.records import Record
from stepcore.rewrites.base import Rewrite
from stepcore.rewrites.subject import RewritePlace, RewriteSite, RewriteSubject, applied
from stepcore.text.span import Span

_UNCHECKED: Final = "what it would write does not check, or takes or gives something else"
_MORE: Final = "it changes more of the task than `impl`, which an answer in a file of its own cannot"
_DEFINES: Final = (
    "it defines a function, which an answer in a file of its own can where its task says answer_may_define_fns: true"
)
_NO_PLACE: Final = "the program has no place for it"
_UNTIMED: Final = "it looks at cycles, and the program was not timed"


class ExplainedPlace(Record):
    """One place of a program and a rewrite: whether it ``applies`` there, and what it does, or why it does not.

    ``span`` is the operator that it is about, ``line`` its line from 1, and ``operator`` how it is written; None, 0 and
    empty where that is the program as a whole.
    """

    rewrite: str
    applies: bool
    sentence: str
    line: int = 0
    operator: str = ""
    span: Span | None = None


def explained(
    subject: RewriteSubject, rewrites: Sequence[Rewrite], *, only_impl: bool = False
) -> Iterator[ExplainedPlace]:
    """Yield, for each rewrite in turn, each place that it is about once, in the order of its places; one for no place.

    Each site is applied and checked, as the search would do it. ``only_impl``: of a task only the program may change.
    """
    for rewrite in rewrites:
        if subject.unwritable:
            yield ExplainedPlace(rewrite.name, False, subject.unwritable)
            continue
        if rewrite.timed and subject.timed is None:
            yield ExplainedPlace(rewrite.name, False, _UNTIMED)
            continue
        found: dict[tuple[object, ...], ExplainedPlace] = {}
        allowed = sentences_with_functions(subject, rewrite) if only_impl else frozenset()
        for each in (_explained(subject, place, only_impl, allowed) for place in rewrite.places(subject)):
            found.setdefault((each.applies, each.sentence, each.line, each.operator), each)  # alike on one line: once
        yield from found.values() or [ExplainedPlace(rewrite.name, False, f"{_NO_PLACE} ({rewrite.summary})")]


def sentences_with_functions(subject: RewriteSubject, rewrite: Rewrite) -> frozenset[str]:
    """Return what a rewrite could do in the program alone if its task let that define functions, which it does not."""
    free = subject.defining_in_impl()
    if free is None:
        return frozenset()
    own = {site.sentence for site in rewrite.sites(subject) if subject.is_within_impl(site)}
    return frozenset(site.sentence for site in rewrite.sites(free) if free.is_within_impl(site)) - own


def _explained(
    subject: RewriteSubject, place: RewritePlace, only_impl: bool, allowed: frozenset[str]
) -> ExplainedPlace:
    if isinstance(place, RewriteSite):
        is_more = only_impl and not subject.is_within_impl(place)
        applies = not is_more and applied(subject, place) is not None
        why = "" if applies else _UNCHECKED if not is_more else _DEFINES if place.sentence in allowed else _MORE
        sentence = f"{place.sentence}: {why}" if why else place.sentence
        return ExplainedPlace(place.rewrite, applies, sentence, *_shown(subject, _edited(subject, place)))
    return ExplainedPlace(place.rewrite, False, place.sentence, *_shown(subject, place.place))


def _edited(subject: RewriteSubject, site: RewriteSite) -> Span | None:
    """Return the first operator that a site changes."""
    heads = sorted(subject.heads, key=lambda head: head.start)
    calls = [(head, call) for head in heads if (call := subject.call(subject.heads[head][0])) is not None]
    for head, call in calls:
        if any(
            edit.span.start < call.head.end and call.head.start < max(edit.span.end, edit.span.start + 1)
            for edit in site.edits
        ):
            return head
    return next((head for head, call in calls if any(call.whole.start == edit.span.start for edit in site.edits)), None)


def _shown(subject: RewriteSubject, place: Span | None) -> tuple[int, str, Span | None]:
    if place is None:
        return 0, "", None
    return subject.text.count("\n", 0, place.start) + 1, subject.text[place.start : place.end], place
