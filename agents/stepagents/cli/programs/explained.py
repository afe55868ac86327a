"""``stepsmith optimize --explain``: what each rewrite could do in a program, and why it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from stepagents.cli.programs.orders import ProgramOrder
from stepagents.optimize.candidates import timed_subject
from stepcore.cli.terminal import complain
from stepcore.reports.text import clean
from stepcore.rewrites import REWRITES
from stepcore.rewrites.explaining import ExplainedPlace, explained, sentences_with_functions
from stepcore.text.wording import one_line


def explained_order(order: ProgramOrder) -> list[ExplainedPlace] | None:
    """Return what rewrites could do in a program, timed on its chip where that can be; None where it has errors."""
    if order.subject is None:
        complain(clean(f"{_name(order)}: {order.erroneous.problem}"))
        return None
    subject = timed_subject(order.subject, order.target) or order.subject
    places = explained(subject, REWRITES, only_impl=order.target.only_impl)
    if order.answer is None:
        return list(places)
    line = order.answer.line
    return [replace(place, line=line(place.line)) if place.line else place for place in places]


def left_out(order: ProgramOrder) -> str:
    """Return what no rewrite may touch: a program that none can write, or functions of an answer; "" where nothing."""
    subject = order.subject
    if subject is not None and subject.unwritable:
        return f"{subject.unwritable}: write it as one, or as a Python program (`stepsmith convert`)"
    if subject is None or not order.target.only_impl:
        return ""
    names = [rewrite.name for rewrite in REWRITES if sentences_with_functions(subject, rewrite)]
    if not names:
        return ""
    return (
        f"left out: {', '.join(names)}. They define functions, which an answer in a file of its own can where its "
        "task says answer_may_define_fns: true"
    )


def show_explained(order: ProgramOrder, places: Sequence[ExplainedPlace]) -> None:
    """Print what rewrites could do, one line a place, and why others do not apply."""
    print(clean(f"{_name(order)} on {order.target.chip.name}"))
    width = max(len(place.rewrite) for place in places)
    for place in places:
        where = f"line {place.line} {place.operator}: " if place.line else ""
        answer = "can" if place.applies else "cannot"
        print(clean(one_line(f"  {place.rewrite:<{width}}  {answer:<6}  {where}{place.sentence}")))
    print(flush=True)


def explained_json(order: ProgramOrder, places: Sequence[ExplainedPlace] | None) -> dict[str, Any]:
    """Return the same as JSON; ``problem`` says why there is nothing."""
    rows = [
        {
            "rewrite": place.rewrite,
            "applies": place.applies,
            "line": place.line or None,
            "operator": place.operator or None,
            "sentence": place.sentence,
        }
        for place in places or ()
    ]
    problem = order.erroneous.problem if places is None else None
    hw = order.target.chip.name
    return {"path": str(order.path), "program": order.name, "hw": hw, "problem": problem, "places": rows}


def _name(order: ProgramOrder) -> str:
    where = "" if order.answer is None else f" in {one_line(order.answer.file.path)}"
    return f"{one_line(order.path)}::{one_line(order.name)}{where}"
