"""The plots of a report, drawn as SVG. Colours come from the page's style sheet, so that light and dark both work.

Series differ in dash and marker as well as in colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Final, TypeAlias

from stepagents.report.scales import Linear, Log, Scale, short
from stepagents.report.svg import drawing, element, hint, label, line, words
from stepcore.records import Record

Point: TypeAlias = tuple[float, float]

SERIES: Final = 8  # styles in the style sheet; further series start again
_WIDTH: Final = 760.0
_HEIGHT: Final = 360.0
_LEFT: Final = 60.0
_RIGHT: Final = 20.0
_TOP: Final = 16.0
_BOTTOM: Final = 52.0
_ROW: Final = 30.0
_NAMES: Final = 250.0  # width of the names beside bars
_SHOWN: Final = 130.0  # width of the numbers behind bars
_CHARACTER: Final = 7.2  # width of one, about


class ShareBar(Record):
    """A bar from 0 to ``value`` (a share) with an interval; ``reference`` marks what was not measured here."""

    name: str
    value: float
    low: float
    high: float
    shown: str
    reference: bool = False
    style: int = 0


class Series(Record):
    """A line (``steps``: with right angles) through ``points``, with a marker at the end or at each point."""

    name: str
    style: int
    points: Sequence[Point] = field(default_factory=list)
    steps: bool = False


def bar_chart(identity: str, title: str, bars: Sequence[ShareBar]) -> str:
    """Draw horizontal bars on an axis from 0 to 100 %, with whiskers for the intervals."""
    height = _TOP + _ROW * len(bars) + _BOTTOM
    scale = Linear(0.0, 100.0, _NAMES + 10, _WIDTH - _RIGHT - _SHOWN)
    bottom = _TOP + _ROW * len(bars)
    content = [line(scale(tick), _TOP, scale(tick), bottom, "grid") for tick in scale.ticks]
    content += [label(scale(tick), bottom + 14, f"{tick:.0f} %", "tick", "middle") for tick in scale.ticks]
    content.append(label((scale.start + scale.stop) / 2, bottom + 36, "share of tasks solved", "axis", "middle"))
    for number, bar in enumerate(bars):
        content.append(_bar(bar, scale, _TOP + _ROW * (number + 0.5)))
    said = "; ".join(f"{bar.name}: {bar.shown}" for bar in bars)
    return drawing(identity, _WIDTH, height, title, f"Bar chart. {said}.", *content)


def _bar(bar: ShareBar, scale: Scale, middle: float) -> str:
    low, high = scale(100 * bar.low), scale(100 * bar.high)
    start, stop = scale(0.0), scale(100 * bar.value)
    text = f"{bar.name}: {bar.shown}, 95 % interval {100 * bar.low:.0f} to {100 * bar.high:.0f} %"
    return element(
        "g",
        hint(text),
        label(_NAMES, middle, _cut(bar.name, int(_NAMES / _CHARACTER)), "label", "end"),
        element(
            "rect", x=start, y=middle - 9, width=max(stop - start, 1.0), height=18.0,
            class_="bar reference" if bar.reference else f"bar fill{bar.style % SERIES}",
        ),
        line(low, middle, high, middle, "whisker"),
        line(low, middle - 4, low, middle + 4, "whisker"),
        line(high, middle - 4, high, middle + 4, "whisker"),
        label(max(high, stop) + 6, middle, bar.shown, "value"),
    )  # fmt: skip


def line_chart(
    identity: str, title: str, series: Sequence[Series], x_name: str, y_name: str, y_most: float | None = None
) -> str:
    """Draw series over a logarithmic axis. Zero has a place of its own at its left end."""
    points = [point for item in series for point in item.points]
    across = Log.around([x for x, _y in points], _LEFT + 8, _WIDTH - _RIGHT)
    most = y_most or max((y for _x, y in points), default=1.0)
    up = Linear(0.0, 1.04 * max(most, 1.0), _HEIGHT - _BOTTOM, _TOP)
    content = [*_frame(across, up, x_name, y_name), *(_series(item, across, up) for item in series)]
    ends = "; ".join(f"{item.name} ends at {_say(item.points[-1])}" for item in series if item.points)
    said = f"Line chart of {y_name} over {x_name}, logarithmic. {ends or 'There are no data'}."
    return drawing(identity, _WIDTH, _HEIGHT, title, said, *content)


def _frame(across: Log, up: Linear, x_name: str, y_name: str) -> list[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    found = [line(_LEFT, bottom, right, bottom, "frame"), line(_LEFT, _TOP, _LEFT, bottom, "frame")]
    for tick in across.ticks:
        found.append(line(across(tick), _TOP, across(tick), bottom, "grid"))
        found.append(label(across(tick), bottom + 14, short(tick), "tick", "middle"))
    for tick in up.ticks:
        found.append(line(_LEFT, up(tick), right, up(tick), "grid"))
        found.append(label(_LEFT - 8, up(tick), short(tick), "tick", "end"))
    found.append(label((_LEFT + right) / 2, bottom + 38, x_name, "axis", "middle"))
    middle = (_TOP + bottom) / 2
    found.append(element("g", label(0, 0, y_name, "axis", "middle"), transform=f"translate(16 {middle:g}) rotate(-90)"))
    return found


def _series(series: Series, across: Log, up: Linear) -> str:
    if not series.points:
        return ""
    places = [(across(x), up(y)) for x, y in series.points]
    path = f"M{places[0][0]:.1f} {places[0][1]:.1f}"
    for x, y in places[1:]:
        path += f"H{x:.1f}V{y:.1f}" if series.steps else f"L{x:.1f} {y:.1f}"
    style = series.style % SERIES
    return element(
        "g",
        hint(f"{series.name}: {_say(series.points[-1])}"),
        element("path", d=path, class_=f"line stroke{style}"),
        marker(*places[-1], style),
    )


def marker(x: float, y: float, style: int) -> str:
    """Return the marker of a series: circle, square, triangle or diamond, filled or not."""
    class_ = f"stroke{style} mark" + (f" fill{style}" if style < SERIES // 2 else " hollow")
    size = 5.0
    match style % 4:
        case 0:
            return element("circle", cx=x, cy=y, r=size, class_=class_)
        case 1:
            return element("rect", x=x - size, y=y - size, width=2 * size, height=2 * size, class_=class_)
        case 2:
            return element("path", d=f"M{x:.1f} {y - size:.1f}l{size} {2 * size}h{-2 * size}z", class_=class_)
        case _:
            size = 6.0
            return element(
                "path", d=f"M{x:.1f} {y - size:.1f}l{size} {size}l{-size} {size}l{-size} {-size}z", class_=class_
            )


def legend(names: Sequence[tuple[str, int]]) -> str:
    """Return the names of series with their line and marker, as HTML."""
    items = []
    for name, number in names:
        style = number % SERIES
        sample = element(
            "svg", line(0, 8, 32, 8, f"line stroke{style}"), marker(16, 8, style),
            viewBox="0 0 32 16", width=32.0, height=16.0, aria_hidden="true",
        )  # fmt: skip
        items.append(element("li", sample, element("span", words(name))))
    return element("ul", *items, class_="legend")


def _say(point: Point) -> str:
    return f"{short(point[1])} at {short(point[0])}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
