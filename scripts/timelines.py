"""Write the pictures of the tutorial into ``docs/timelines/``; ``--check`` only says whether that would change one.

Each is what `stepsmith simulate --timing` finds: a row for each unit that works or waits for memory, a bar for what it
does when. Data and routes are those of a run with the default seed.
"""

from __future__ import annotations

import argparse
import re
import sys
from html import escape
from pathlib import Path
from typing import Final

from stepcore.check.files import check_text
from stepcore.cycles.timed import Timed, busy, time_program
from stepcore.sim.decided import decided_by_data
from stepcore.sim.functional import Session
from stepcore.timing.hardware import PRESETS
from stepcore.timing.recorder import RunRecorder, Span

ROOT: Final = Path(__file__).resolve().parent.parent
TUTORIAL: Final = ROOT / "docs" / "tutorial.md"
FOLDER: Final = ROOT / "docs" / "timelines"
EXAMPLES: Final = ("moe_static_tiles", "moe_dynamic_tiles", "moe_shared_region")
_BLOCK: Final = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COLORS: Final = {"work": "#2a7f3f", "memory": "#2f6fb5", "blocked": "#c98a1b"}  # starved: nothing is drawn
_LABEL, _WIDTH, _ROW = 190, 600, 15
_LEAST: Final = 0.4  # units of length that a bar takes at least; shorter ones become one


def blocks() -> list[str]:
    """Return the blocks of Python of the tutorial, in order."""
    return _BLOCK.findall(TUTORIAL.read_text(encoding="utf-8"))


def programs() -> dict[str, str]:
    """Return the texts of the programs that are shown, by the names of their pictures."""
    examples = {name: (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8") for name in EXAMPLES}
    return {"dense": blocks()[0], **examples}


def recorded(text: str) -> tuple[Timed, RunRecorder]:
    """Run the one program of a text on its data and time it. Raises ``ValueError`` where lists are too long."""
    (checked,) = check_text(text, "program.py").programs
    routes = decided_by_data(checked.typed, Session(checked.spec).run(checked.typed, keep=True))
    if routes is None:
        raise ValueError(f"{checked.name} has more data than timing follows")
    recorder = RunRecorder()
    return time_program(checked, PRESETS["default"], recorder=recorder, routes=routes), recorder


def picture(timed: Timed, recorder: RunRecorder) -> str:
    """Return the timeline of a run as SVG."""
    units = [unit for unit, time in enumerate(timed.timing.units) if busy(time)]
    total, height = timed.timing.cycles, (len(units) + 2) * _ROW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LABEL + _WIDTH + 10}" height="{height}" '
        'font-family="sans-serif" font-size="10">',
        f'<rect width="{_LABEL + _WIDTH + 10}" height="{height}" fill="#ffffff"/>',
    ]
    for row, unit in enumerate(units):
        top = row * _ROW + 3
        parts.append(f'<text x="2" y="{top + 9}">{escape(timed.timing.units[unit].name)}</text>')
        for kind, left, width in _bars(recorder.spans[unit], total):
            parts.append(f'<path fill="{_COLORS[kind]}" d="M{left:g} {top}h{width:g}v10h-{width:g}z"/>')
    legend = ", ".join(("green: working", "blue: waiting for memory", "orange: without room"))
    parts.append(f'<text x="{_LABEL}" y="{height - _ROW}">0 to {total:,} cycles; {legend}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _bars(spans: list[Span], total: int) -> list[tuple[str, float, float]]:
    """Return kind, left and width of bars; neighbours too close to be seen apart have the kind of the first."""
    found: list[tuple[str, float, float]] = []
    clock, scale = 0, _WIDTH / max(total, 1)
    for kind, cycles in spans:
        left, width = round(_LABEL + clock * scale, 1), round(max(cycles * scale, _LEAST), 1)
        clock += cycles
        if kind not in _COLORS:
            continue
        if found and left <= found[-1][1] + found[-1][2] and (kind == found[-1][0] or width <= 2 * _LEAST):
            last = found[-1]
            found[-1] = (last[0], last[1], round(max(last[2], left + width - last[1]), 1))
        else:
            found.append((kind, left, width))
    return found


def pictures() -> dict[Path, str]:
    """Return the pictures of today by the files that hold them."""
    return {FOLDER / f"{name}.svg": picture(*recorded(text)) for name, text in programs().items()}


def main() -> int:
    """Write, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a picture is out of date")
    checks = parser.parse_args().check
    stale = [file for file, text in pictures().items() if not file.exists() or file.read_text("utf-8") != text]
    if checks:
        for file in stale:
            print(f"{file.relative_to(ROOT)} is out of date: run scripts/timelines.py")
        return int(bool(stale))
    FOLDER.mkdir(exist_ok=True)
    for file, text in pictures().items():
        file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
