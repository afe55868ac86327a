"""The front of each optimized program as a plot beside the steps to it: one HTML file that stands by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stepagents.optimize.candidates import FasterText
from stepagents.optimize.outcome import Optimized, brought
from stepagents.report.document import html_document
from stepagents.report.scales import Log, short
from stepagents.report.svg import drawing, element, hint, label, line, words
from stepcore.text.wording import times_text

_WIDTH: Final = 760.0
_HEIGHT: Final = 320.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 70.0, 20.0, 16.0, 52.0


def optimize_page(outcomes: Sequence[Optimized]) -> str:
    """Return the page of some programs."""
    title = "Stepsmith optimize: " + ", ".join(outcome.program for outcome in outcomes)
    sections = (_section(number, outcome) for number, outcome in enumerate(outcomes))
    return html_document(title, element("h1", words(title)), *sections)


def _section(number: int, outcome: Optimized) -> str:
    heading = element("h2", words(f"{outcome.program} on {outcome.hw}"))
    if outcome.best is None:
        return element("section", heading, element("p", words(f"{outcome.path}: {outcome.problem}")))
    before = "it stopped" if outcome.old is None else f"{outcome.old.cycles:,} cycles"
    ratio = "" if outcome.ratio is None else f", {times_text(outcome.ratio)} of the bound ({outcome.bound_by})"
    text = (
        f"{outcome.path}: before {before}; now {outcome.best.figures.cycles:,} cycles{ratio}. All points are verified."
    )
    return element("section", heading, element("p", words(text)), _plot(number, outcome), _steps(outcome))


def _plot(number: int, outcome: Optimized) -> str:
    """Draw cycles over bytes on chip, both on logarithmic axes, with the program as it was and the bound."""
    points = list(outcome.front)
    olds = [] if outcome.old is None else [outcome.old]
    figures = [*(each.figures for each in points), *olds]
    bounds = [outcome.bound] if outcome.bound else []
    across = Log.around([float(each.on_chip) for each in figures], _LEFT, _WIDTH - _RIGHT)
    up = Log.around(
        [float(each.cycles) for each in figures] + [float(each) for each in bounds], _HEIGHT - _BOTTOM, _TOP
    )
    bottom = _HEIGHT - _BOTTOM
    content = [line(across(tick), _TOP, across(tick), bottom, "grid") for tick in across.ticks]
    content += [label(across(tick), bottom + 14, short(tick), "tick", "middle") for tick in across.ticks]
    content += [line(_LEFT, up(tick), _WIDTH - _RIGHT, up(tick), "grid") for tick in up.ticks]
    content += [label(_LEFT - 8, up(tick), short(tick), "tick", "end") for tick in up.ticks]
    content.append(label((_LEFT + _WIDTH) / 2, bottom + 36, "bytes on chip", "axis", "middle"))
    content += [
        element("g", hint(f"bound: {bound:,} cycles"), line(_LEFT, up(bound), _WIDTH - _RIGHT, up(bound), "whisker"))
        for bound in bounds
    ]
    content += [
        element(
            "g",
            hint(f"before: {old.cycles:,} cycles, {old.on_chip:,} bytes on chip"),
            element("circle", cx=across(old.on_chip), cy=up(old.cycles), r=5.0, class_="bar reference"),
        )
        for old in olds
    ]
    content += [
        element(
            "g",
            hint(_said(each)),
            element("circle", cx=across(each.figures.on_chip), cy=up(each.figures.cycles), r=6.0, class_="bar fill0"),
        )
        for each in points
    ]
    said = "; ".join(_said(each) for each in points)
    title = f"Cycles over bytes on chip: {outcome.program}"
    return drawing(f"front-{number}", _WIDTH, _HEIGHT, title, f"Scatter plot. {said}.", *content)


def _said(candidate: FasterText) -> str:
    figures = candidate.figures
    last = f": {'; '.join(step.sentence for step in candidate.steps)}" if candidate.steps else ", as it was"
    return f"{figures.cycles:,} cycles, {figures.on_chip:,} bytes on chip{last}"


def _steps(outcome: Optimized) -> str:
    assert outcome.best is not None
    rows = [
        element(
            "tr", *(element("td", words(text)) for text in (step.sentence, brought(step), f"{step.after.cycles:,}"))
        )
        for step in outcome.best.steps
    ]
    head = element("tr", *(element("th", text) for text in ("what was done", "what it brought", "cycles")))
    return element("table", element("thead", head), element("tbody", *rows)) if rows else element("p", "No step helps.")
