"""SVG elements as text. Everything that comes from outside is escaped here and nowhere else."""

from __future__ import annotations

from html import escape

from stepcore.text.wording import one_line


def element(name: str, *children: str, **attributes: str | float | None) -> str:
    """Return an element; ``children`` are markup. ``text_anchor`` means ``text-anchor``, ``class_`` means ``class``."""
    parts = [name]
    for key, value in attributes.items():
        if value is None:
            continue
        shown = f"{value:.6g}" if isinstance(value, float) else str(value)
        parts.append(f'{key.rstrip("_").replace("_", "-")}="{words(shown)}"')
    opening = " ".join(parts)
    return f"<{opening}>{''.join(children)}</{name}>" if children else f"<{opening}/>"


def words(text: object) -> str:
    """Return text of somebody else as markup; what is not printable is written as in reports for terminals."""
    return escape(one_line(text))


def lines_of(text: str) -> str:
    """Return the lines of a text of somebody else as markup; line ends and tabs stay."""
    return "".join(sign if sign in "\n\t" else words(sign) for sign in text)


def label(x: float, y: float, text: str, class_: str = "label", anchor: str = "start") -> str:
    """Return a line of text; ``y`` is its middle."""
    return element("text", words(text), x=x, y=y, class_=class_, text_anchor=anchor, dominant_baseline="central")


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """Return a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def hint(text: str) -> str:
    """Return the text that shows when the pointer rests on the element around it."""
    return element("title", words(text))


def spot(text: str, *content: str) -> str:
    """Return a part of a drawing with parts (:func:`drawing`) that the tab key reaches and screen readers tell."""
    return element("g", hint(text), *content, class_="spot", tabindex="0", role="img", aria_label=text)


def drawing(
    identity: str, width: float, height: float, title: str, description: str, *content: str, has_parts: bool = False
) -> str:
    """Return a whole drawing that scales with its page and tells its content to screen readers.

    ``has_parts``: some of it can be reached by itself, see :func:`spot`; an image is read as one.
    """
    return element(
        "svg",
        element("title", words(title), id=f"{identity}-title"),
        element("desc", words(description), id=f"{identity}-desc"),
        *content,
        viewBox=f"0 0 {width:g} {height:g}",
        role="group" if has_parts else "img",
        aria_labelledby=f"{identity}-title {identity}-desc",
        xmlns="http://www.w3.org/2000/svg",
    )
