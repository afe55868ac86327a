"""The front of each optimized program as a plot beside the steps to it: one HTML file that stands by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stepagents.optimize.candidates import FasterText
from stepagents.optimize.outcome import Optimized, brought
from stepagents.report.document import html_document
from stepagents.report.scales import Log, short
from stepagents.report.svg import drawing, element, hint, label, line, spot, words
from stepcore.text.wording import counted, times_text

_WIDTH: Final = 760.0
_HEIGHT: Final = 320.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 70.0, 20.0, 16.0, 52.0
_UNDER_BOUND: Final = 24.0  # below its line, for its words


def optimize_page(outcomes: Sequence[Optimized], nothing: Sequence[str]) -> str:
    """Return the page of some programs; ``nothing`` is what to say of each if nothing made it better."""
    title = "Stepsmith optimize: " + ", ".join(outcome.program for outcome in outcomes)
    pairs = zip(outcomes, nothing, strict=True)
    sections = (_section(number, outcome, why) for number, (outcome, why) in enumerate(pairs))
    return html_document(title, element("h1", words(title)), *sections)


def _section(number: int, outcome: Optimized, nothing: str) -> str:
    heading = element("h2", words(f"{outcome.program} on {outcome.hw}"))
    if outcome.best is None:
        return element("section", heading, element("p", words(f"{outcome.path}: {outcome.problem}")))
    before = "it stopped" if outcome.old is None else f"{outcome.old.cycles:,} cycles"
    ratio = "" if outcome.ratio is None else f", {times_text(outcome.ratio)} of the bound{_rules(outcome)}"
    text = (
        f"{outcome.path}: before {before}; now {outcome.best.figures.cycles:,} cycles{ratio}. All points are verified."
    )
    parts = (_plot(number, outcome), _legend(outcome), _front(outcome), _steps(outcome, nothing))
    return element("section", heading, element("p", words(text)), *parts)


def _rules(outcome: Optimized) -> str:
    return f" ({outcome.bound_by})" if outcome.bound_by else ""


def _plot(number: int, outcome: Optimized) -> str:
    """Draw cycles over bytes on chip, both on logarithmic axes, with the program as it was and the bound."""
    points = list(outcome.front)
    olds = [] if outcome.old is None else [outcome.old]
    figures = [*(each.figures for each in points), *olds]
    bounds = [outcome.bound] if outcome.bound else []
    across = Log.around([float(each.on_chip) for each in figures], _LEFT, _WIDTH - _RIGHT)
    bottom = _HEIGHT - _BOTTOM
    floor = bottom - (_UNDER_BOUND if bounds else 0.0)
    up = Log.around([float(each.cycles) for each in figures] + [float(each) for each in bounds], floor, _TOP)
    content = _axes(across, up, bottom)
    content += [_bound(bound, up(bound), outcome) for bound in bounds]
    content += [
        spot(
            f"as it was: {old.cycles:,} cycles, {old.on_chip:,} bytes on chip",
            element("circle", cx=across(old.on_chip), cy=up(old.cycles), r=9.0, class_="before"),
        )
        for old in olds
    ]
    content += [
        spot(_said(each), _mark(across(each.figures.on_chip), up(each.figures.cycles), is_best=each is outcome.best))
        for each in points
    ]
    said = "; ".join(_said(each) for each in points)
    title = f"Cycles over bytes on chip: {outcome.program}"
    description = f"Scatter plot, the same as the table below. {said}."
    return drawing(f"front-{number}", _WIDTH, _HEIGHT, title, description, *content, has_parts=True)


def _axes(across: Log, up: Log, bottom: float) -> list[str]:
    content = [line(across(tick), _TOP, across(tick), bottom, "grid") for tick in across.ticks]
    content += [label(across(tick), bottom + 14, short(tick), "tick", "middle") for tick in across.ticks]
    content += [line(_LEFT, up(tick), _WIDTH - _RIGHT, up(tick), "grid") for tick in up.ticks]
    content += [label(_LEFT - 8, up(tick), short(tick), "tick", "end") for tick in up.ticks]
    content.append(label((_LEFT + _WIDTH) / 2, bottom + 36, "bytes on chip", "axis", "middle"))
    middle = (_TOP + bottom) / 2
    turned = f"rotate(-90 16 {middle:g})"
    content.append(
        element("text", "cycles", x=16.0, y=middle, class_="axis", text_anchor="middle", transform=turned)
    )  # fmt: skip
    return content


def _bound(bound: int, y: float, outcome: Optimized) -> str:
    """Draw the bound, and below its line what rules it; no point lies there."""
    return element(
        "g",
        hint(f"bound: {bound:,} cycles{_rules(outcome)}"),
        line(_LEFT, y, _WIDTH - _RIGHT, y, "bound"),
        label(
            _WIDTH - _RIGHT, y + _UNDER_BOUND - 7, f"bound{_rules(outcome)}: {counted(bound, 'cycle')}", "axis", "end"
        ),
    )


def _mark(x: float, y: float, *, is_best: bool) -> str:
    """Return a point: the best one is a diamond, so that it is told by more than its colour."""
    if not is_best:
        return element("circle", cx=x, cy=y, r=5.0, class_="bar fill0")
    return element("path", d=f"M{x:g} {y - 8:g}L{x + 8:g} {y:g}L{x:g} {y + 8:g}L{x - 8:g} {y:g}Z", class_="fill2")


def _legend(outcome: Optimized) -> str:
    marks = [(_mark(8.0, 8.0, is_best=True), "the best"), (_mark(8.0, 8.0, is_best=False), "others on the front")]
    if outcome.old is not None:
        marks.append((element("circle", cx=8.0, cy=8.0, r=6.5, class_="before"), "as it was"))
    if outcome.bound:
        marks.append((line(0.0, 8.0, 16.0, 8.0, "bound"), f"bound{_rules(outcome)}"))
    items = [
        element(
            "li", element("svg", mark, width=16.0, height=16.0, viewBox="0 0 16 16", aria_hidden="true"), words(text)
        )
        for mark, text in marks
    ]
    return element("ul", *items, class_="legend")


def _front(outcome: Optimized) -> str:
    """Return the points as a table, the fastest first: what was drawn, and what each was made by last."""
    rows = []
    for each in outcome.front:
        figures = each.figures
        last = each.steps[-1].sentence if each.steps else "as it was"
        best = " (the best)" if each is outcome.best else ""
        numbers = [element("td", f"{value:,}") for value in (figures.cycles, figures.on_chip, figures.off_chip)]
        rows.append(element("tr", *numbers, element("td", words(f"{last}{best}"), class_="text")))
    heads = [element("th", text, scope="col") for text in ("cycles", "bytes on chip", "bytes off chip")]
    head = element("tr", *heads, element("th", "last step", scope="col", class_="text"))
    caption = element("caption", "The front, all of it verified")
    table = element("table", caption, element("thead", head), element("tbody", *rows))
    return element("div", table, class_="wide")


def _said(candidate: FasterText) -> str:
    figures = candidate.figures
    last = f": {'; '.join(step.sentence for step in candidate.steps)}" if candidate.steps else ", as it was"
    return f"{figures.cycles:,} cycles, {figures.on_chip:,} bytes on chip{last}"


def _steps(outcome: Optimized, nothing: str) -> str:
    assert outcome.best is not None
    rows = [
        element(
            "tr",
            element("td", words(step.sentence), class_="text"),
            element("td", words(brought(step)), class_="text"),
            element("td", f"{step.after.cycles:,}"),
        )
        for step in outcome.best.steps
    ]
    if not rows:
        return element("p", words(nothing))
    heads = [element("th", text, scope="col", class_="text") for text in ("what was done", "what it brought")]
    head = element("tr", *heads, element("th", "cycles", scope="col"))
    return element(
        "table", element("caption", "The steps to the best"), element("thead", head), element("tbody", *rows)
    )
