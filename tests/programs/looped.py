"""Files of generation 2 with loops: ones that go round (``Feedback``), and lines of a body under ``for`` and ``if``."""

from __future__ import annotations

import re
from random import Random
from typing import Final

_LINE: Final = re.compile(r"^( +)(\w+(?:, \w+)*) = (step\..*|\w+\.apply\(.*\))$", re.MULTILINE)
_MOST: Final = 3  # lines of a file that are put under something
_ENDLESS: Final = 0.01  # of the heads: a loop that no round ends costs the whole budget of steps of its file


def under_loops(rng: Random, text: str) -> str:
    """Return a file some of whose calls stand under ``for``, under ``if``, in a comprehension or in a list.

    What comes out may be right or wrong (two rounds read one stream); a call of several lines stays.
    """
    is_python = "@step.program" in text
    places = [found for found in _LINE.finditer(text) if found[3].count("(") == found[3].count(")")]
    for found in sorted(rng.sample(places, min(len(places), rng.randint(1, _MOST))), key=lambda each: -each.start()):
        text = text[: found.start()] + "\n".join(_put(rng, *found.groups(), is_python=is_python)) + text[found.end() :]
    return text


def _put(rng: Random, indent: str, names: str, call: str, *, is_python: bool) -> list[str]:
    """Return the lines of one call under something."""
    one, line = names.split(", ", maxsplit=1)[0], f"{names} = {call}"
    words = re.findall(r"\b[A-Za-z_]\w*\b", call)
    read = rng.choice(words)
    # A size is a symbol: its number is M_value in a task, and in Python what a stream has of it in a run.
    number = f"{read}.ctx[M]" if is_python else "M_value"
    heads = (
        f"for k in range({rng.choice(('0', '1', '2', '3', '-1', '40', 'k', 'M', number, one))}):",
        f"for {one} in [{one}, {read}]:",
        f"for {read} in ({read},):",
        f"for k, {read} in enumerate([{read}, {one}]):",
        f"for {read}, {one} in zip([{read}], [{read}], strict=True):",
        f"for {read} in {read}:",
        "for k in []:",
        f"if {rng.choice(('True', 'False', f'{number} > 3', one, 'len(fns) == 2'))}:",
    )

    def head() -> str:
        return "while True:" if rng.random() < _ENDLESS else rng.choice(heads)

    match rng.randrange(6):
        case 0:
            lines = [f"{names} = [{call} for k in range({rng.randint(0, 3)})]"]
        case 1:
            lines = [f"rounds = [{call} for {read} in ({read}, {read})]", f"{names} = rounds[{rng.randint(-3, 3)}]"]
        case 2:
            lines = [head(), f"    {head()}", f"        {line}"]
        case 3:
            last = rng.choice(("break", "continue", f"return {one}", line))
            lines = [head(), f"    {line}", f"    {last}"]
        case _:
            lines = [head(), f"    {line}"]
    return [indent + each for each in lines]
