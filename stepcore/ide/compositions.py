"""The compositions of an edited Python file, checked again where one or a program that it may apply changed."""

from __future__ import annotations

from stepcore.check.compositions import Applicable, CheckedComposition, applicable, check_composition
from stepcore.findings import budget
from stepcore.ide.units import Checking, DocumentUnit
from stepcore.text.span import Span


def applicables(units: list[DocumentUnit]) -> dict[str, Applicable]:
    """Return what compositions may know of all programs, by their names; the last one of a name counts."""
    found: dict[Span, Applicable] = {}
    for unit in units:
        module = unit.result.module
        for number, program in enumerate(() if module is None else module.programs[: len(unit.result.programs)]):
            span = unit.to_document(program.spec.span)
            if span is not None:
                known = unit.checking.memo.setdefault("applicable", {})
                if number not in known:
                    known[number] = applicable(program)
                found[span] = known[number]
    return {each.name: each for _, each in sorted(found.items(), key=lambda item: item[0])}


def composition(checking: Checking, number: int, programs: dict[str, Applicable]) -> CheckedComposition:
    """Check a composition, or return what is known if neither its text nor a program that it may apply changed."""
    known: dict[int, tuple[list[Applicable], int, CheckedComposition]] = checking.memo.setdefault("compositions", {})
    current = list(programs.values())
    own = budget.current()
    assert own is not None
    if number in known and known[number][0] == current:
        _, cost, checked = known[number]
        own.spend(cost)
        return checked
    module = checking.result.module
    assert module is not None
    before = own.left
    checked = check_composition(module.compositions[number], programs, module.scope)
    known[number] = current, before - own.left, checked
    return checked
