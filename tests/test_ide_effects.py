"""The editor, which checks a file program by program, finds what ``check`` finds in the whole of it.

What the statements of a module change in place binds no name, so it is drawn here: modules around several programs that
read different parts of them, and edits of these.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from drawn_modules import BASE as DRAWN
from drawn_modules import HEAD, TAIL, Modules, errors_of, file_of
from stepcore.check import check_text
from stepcore.check.files import CheckResult, check_part
from stepcore.ide.analysis import Analysis, analyze
from stepcore.ide.cut import Cut
from test_drawn_modules import BASE, REFUSED

FUNCTION, REFERENCE, PROGRAM = (part.strip("\n") for part in TAIL.split("\n\n\n"))
STAYING = frozenset(line for line in DRAWN if not line.startswith("class"))
LOOP = "    for _ in range(len(l)):\n        e = step.Map(fn=scaled).apply(e)\n"
READS = "c ¦ n ¦ fi ¦ r ¦ len(l) ¦ l[0] ¦ k[-1] ¦ d[1] ¦ c + n ¦ sum(l)"


def findings(result: Analysis | CheckResult) -> list[tuple[str, int, int, str]]:
    return sorted((found.code, found.span.start, found.span.end, found.message) for found in result.diagnostics)


class Files:
    """Draws files: a module, as blocks of lines, with programs and their functions among its statements."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.modules = Modules(seed)
        self.blocks: list[str] = [HEAD + REFERENCE + "\n"]
        self.blocks += _statements(self.modules.text())
        for number in range(self.draw.randint(1, 3)):
            at = self.draw.choice([len(self.blocks), self.draw.randrange(1, len(self.blocks) + 1)])
            self.blocks[at:at] = self.program(number)

    def program(self, number: int) -> Iterator[str]:
        """Yield an element function and a program, which read something of the module."""
        used = self.modules.one(READS if self.draw.random() < 0.5 else "2 ¦ 3")
        yield "\n" + FUNCTION.format(used=used).replace("scaled", f"scaled{number}") + "\n"
        loop = LOOP.replace("len(l)", f"{self.modules.one(READS)} % 3 + 1")
        body = PROGRAM.format(steps=loop if self.draw.random() < 0.7 else "")
        yield "\n" + body.replace("scaled)", f"scaled{number})").replace("def p(", f"def p{number}(") + "\n"

    def text(self) -> str:
        return "\n".join(self.blocks) + "\n"

    def edit(self) -> None:
        """Take a statement away, put one in, or put one in the place of another; what the others start from stays."""
        first = 1 + max(index for index, block in enumerate(self.blocks) if block in STAYING)
        at = self.draw.randrange(first, len(self.blocks) + 1)
        kind = self.draw.randrange(3)
        if kind < 2:
            del self.blocks[at : at + 1]
        if kind > 0:
            self.blocks[at:at] = _statements("\n".join(self.modules.statement()))


def _statements(text: str) -> list[str]:
    """Return the statements of a text: lines, each with what belongs to it."""
    return re.split(r"\n(?!\s|else:|except|finally:|$)", text)


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_drawn_files_show_what_the_whole_text_shows(first: int) -> None:
    shown = 0
    for seed in range(first, first + 10):
        file, state = Files(seed), None
        for _ in range(4):
            text = file.text()
            state = analyze(text, "a.py", previous=state)
            whole = check_text(text, "a.py")
            assert findings(state) == findings(whole), text
            shown += len(whole.diagnostics)
            file.edit()
    assert shown > 20


@pytest.mark.parametrize("reader", ["function", "program"])
@pytest.mark.parametrize("body", REFUSED)
def test_what_check_refuses_the_editor_refuses(body: str, reader: str) -> None:
    text = file_of(BASE, reader)
    state = analyze(text, "a.py")
    changed = file_of(BASE + body, reader)
    whole = check_text(changed, "a.py")
    assert errors_of(changed)
    assert findings(analyze(changed, "a.py", previous=state)) == findings(whole)
    assert findings(analyze(changed, "a.py")) == findings(whole)


def tangled(count: int) -> str:
    """Return a file of so many programs, all of which read a list that many statements change."""
    pairs = (
        f"\n{FUNCTION.format(used=number)}\n\n\n{PROGRAM.format(steps=LOOP)}\n".replace(
            "scaled", f"scaled{number}"
        ).replace("def p(", f"def p{number}(")
        for number in range(count)
    )
    return f"{HEAD}{REFERENCE}\n\nl = [1]\n" + "".join(f"l.append({i})\n" for i in range(25 * count)) + "".join(pairs)


def test_programs_that_need_all_of_a_long_file_are_checked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[int] = []

    def counting(part: str, *given: Any, **how: Any) -> CheckResult:
        checked.append(len(part))
        return check_part(part, *given, **how)

    monkeypatch.setattr("stepcore.ide.analysis.check_part", counting)
    text = tangled(40)
    assert Cut(text).is_tangled and not Cut(tangled(4)).is_tangled
    state = analyze(text, "a.py")
    assert findings(state) == findings(check_text(text, "a.py"))
    assert len(state.diagnostics) == 40 and checked == [len(text)]
    for number in (0, 39):
        unit = state.program(f"p{number}")
        assert unit is not None and text[unit.focus.start :].startswith("@step.program")
        assert unit is state.unit_at(text.index(f"def p{number}("))
        assert [program.name for program in unit.result.programs] == [f"p{number}"]
    changed = text.replace("l.append(7)\n", "l.append(7)\n" + "\n", 1).replace("scaled3).apply", "scaled3).aply", 1)
    after = analyze(changed, "a.py", previous=state)
    assert findings(after) == findings(check_text(changed, "a.py")) != findings(state)


@pytest.mark.parametrize("line", ["l.append({0})\n", "x{1} = f(x{0})\n", "l = l + [{0}]\n", "def f{0}(): f{1}(l)\n"])
def test_a_long_script_is_cut_in_time_that_grows_with_it(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def counting(words: frozenset[str], names: frozenset[str]) -> frozenset[str]:
        looked[-1] += 1
        return words & names

    monkeypatch.setattr("stepcore.ide.cut.common", counting)
    for count in (200, 800):
        looked.append(0)
        lines = "".join(line.format(number, number + 1) for number in range(count))
        cut = Cut(f"{HEAD}{REFERENCE}\n\nl = [1]\n{lines}l.append(x3)\n\n\n{PROGRAM.format(steps=LOOP)}")
        assert len(cut.members) <= 2
    assert looked[1] < 5 * looked[0]
