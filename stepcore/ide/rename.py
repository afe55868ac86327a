"""Rename: all places of a name at once, or one clear reason why not."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from keyword import iskeyword
from typing import Final

from stepcore.findings.diagnostics import Edit
from stepcore.fn.allow import PREDECLARED_SYMBOLS
from stepcore.frontend.yaml.fields import RESERVED
from stepcore.ide.analysis import Analysis
from stepcore.ide.meaning import is_size, stepcore_member
from stepcore.ide.model import IdeError
from stepcore.ide.names.document import ROOT, Binding, Form, Names, NameSpace, Reference, TaskNames, names_of
from stepcore.ide.names.python import PythonNames
from stepcore.ops.dialect import Dialect
from stepcore.sizes.dim import ANY, MARKS, OPEN
from stepcore.text.span import Span

_OUTER: Final = {
    NameSpace.MODULE: "of this file",
    NameSpace.IMPL: "of this task",
    NameSpace.GLOBAL: "of the global block",
    NameSpace.REFERENCES: "of the references",
    NameSpace.WEIGHT: "of a parameter",
    NameSpace.SIZE: "of a size",
    NameSpace.OUTPUT: "of an output",
}
_MAKERS: Final = {mark: f"step.{name}" for name, mark in MARKS.items()}
# Which names the code of each space can see, besides its own local ones.
_SEEN_FROM: Final = {
    NameSpace.MODULE: {NameSpace.MODULE, NameSpace.WEIGHT},
    NameSpace.IMPL: {NameSpace.IMPL, NameSpace.SIZE},
    NameSpace.GLOBAL: {NameSpace.GLOBAL, NameSpace.SIZE},
    NameSpace.REFERENCES: {NameSpace.REFERENCES, NameSpace.GLOBAL, NameSpace.SIZE},
    NameSpace.LOCAL: {NameSpace.GLOBAL, NameSpace.SIZE},
}


def prepare_rename(analysis: Analysis, offset: int) -> Span | None:
    """Return the name at ``offset`` if it can be renamed, None if there is no name.

    Raises:
        IdeError: there is a name, but not one that the document may change.
    """
    reference = None if analysis.kind == "none" else names_of(analysis).at(offset)
    if reference is None:
        if analysis.kind != "none" and names_of(analysis).member_at(offset) is not None:
            raise IdeError("this name belongs to a module; only names that this document defines can be renamed")
        return None
    names = names_of(analysis)
    for binding in _together(names, reference.binding):
        _places(analysis, names, binding)
    if offset > reference.span.end:
        name = reference.binding.name
        raise IdeError(f"{name}_value follows the size {name}; rename that")
    return reference.span


def rename(analysis: Analysis, offset: int, new_name: str) -> list[Edit]:
    """Return the edits that give the name at ``offset`` another name everywhere.

    Raises:
        IdeError: the new name is no name or is taken, or the old one cannot be renamed.
    """
    if prepare_rename(analysis, offset) is None:
        raise IdeError("there is no name here")
    names = names_of(analysis)
    reference = names.at(offset)
    assert reference is not None
    new_name = _marked(reference.binding, unicodedata.normalize("NFKC", new_name.strip()))
    if new_name == reference.binding.name:
        return []
    _check_name(analysis, new_name[1:] if _is_marked(reference.binding) else new_name)
    edits: list[Edit] = []
    for binding in _together(names, reference.binding):
        places = _places(analysis, names, binding)
        _check_free(names, binding, places, new_name)
        edits += [Edit(item.span, _as_written(analysis, item, new_name)) for item in places]
    return sorted(edits, key=lambda edit: edit.span)


def _marked(binding: Binding, new_name: str) -> str:
    """Return the new name of a dynamic, ragged or any size with the mark of the old one, which says what it is."""
    mark = binding.name[0]
    return mark + new_name.removeprefix(mark) if _is_marked(binding) else new_name


def _as_written(analysis: Analysis, item: Reference, new_name: str) -> str:
    """Return the new name without the mark where that stands elsewhere: ``step.dyn("L")``, ``sizes={"?L": ...}``."""
    return new_name if analysis.source.slice(item.span) != _bare(item.binding) else new_name[1:]


def _is_marked(binding: Binding) -> bool:
    """Return whether a mark before the name says what the size is; nothing else binds such a name."""
    return binding.space is NameSpace.SIZE and binding.name[0] in OPEN + ANY


def _bare(binding: Binding) -> str:
    return binding.name[1:] if _is_marked(binding) else ""


# -- what can be renamed -----------------------------------------------------------------------------------


def _together(names: Names, binding: Binding) -> list[Binding]:
    """Return what gets the new name: references are given the weights of their programs by name.

    Raises:
        IdeError: a reference takes the weight, and nothing here says where.
    """
    if not isinstance(names, PythonNames):
        return [binding]
    name = binding.name
    programs = [program for program in names.programs_with(name) if program.reference is not None]
    found = {program.name: names.functions(program.reference or "") for program in programs}
    scopes = {at: names.parts[at[0]].table.scopes[at[1]] for functions in found.values() for at in functions}
    taking = [Binding(NameSpace.LOCAL, name, *at) for at, scope in scopes.items() if name in scope.parameters]
    if binding.space is not NameSpace.WEIGHT and binding not in taking:
        return [binding]
    for program, functions in found.items():
        if not functions or any(scopes[at].takes_any and name not in scopes[at].parameters for at in functions):
            raise IdeError(f"the reference of {program} is given {name} by this name, at a place that cannot be found; "
                           "rename both by hand")  # fmt: skip
    return [Binding(NameSpace.WEIGHT, name), *taking]


def _places(analysis: Analysis, names: Names, binding: Binding) -> list[Reference]:
    """Return all places of the name, or raise IdeError where they cannot all be changed."""
    name = binding.name
    if binding.space is NameSpace.FREE:
        raise IdeError(f"{name} is not defined in this document, so it cannot be renamed here")
    if binding.space is NameSpace.SIZE and name in PREDECLARED_SYMBOLS:
        raise IdeError(f"{name} is one of the sizes that every task has; bind a size of your own in global instead")
    places = names.of(binding)
    if (
        not _is_marked(binding)
        and not any(item.is_store or item.form is Form.SIZE for item in places)
        and not _is_parameter(names, binding)
    ):
        raise IdeError(f"{name} is not defined in this document, so it cannot be renamed here")
    if _is_imported(names, binding, analysis.dialect):
        raise IdeError(f"{name} is imported; give it another name in the import: {name} as NEW_NAME")
    if name.startswith("__") and name.endswith("__"):
        raise IdeError(f"{name} has a meaning of its own in Python")
    _check_arguments(analysis, names, binding)
    _check_patterns(names, binding)
    _check_unread(analysis, names, binding)
    if _is_marked(binding):
        places = [item for item in places if is_size(analysis, item)]
    for item in places:
        if unicodedata.normalize("NFKC", analysis.source.slice(item.span)) not in (name, _bare(binding)):
            raise IdeError(f"{name} is written in a way that cannot be changed; rename it by hand")
    return places


def _is_parameter(names: Names, binding: Binding) -> bool:
    return binding.part >= 0 and binding.name in names.parts[binding.part].table.scopes[binding.scope].parameters


def _is_imported(names: Names, binding: Binding, dialect: Dialect) -> bool:
    if binding.space is not NameSpace.MODULE:
        return False
    imported = {name for part in names.parts for name in part.table.imported}
    return binding.name in imported or ("*" in imported and stepcore_member(binding.name, dialect) is not None)


def _check_arguments(analysis: Analysis, names: Names, binding: Binding) -> None:
    """``input`` and ``state`` of a task's functions are given by the format."""
    if analysis.kind != "python" and binding.scope == ROOT and _is_parameter(names, binding):
        raise IdeError(f"{binding.name} is what task files call the argument of a function; it has no other name")


def _check_patterns(names: Names, binding: Binding) -> None:
    """A name that is put together at run time would be missed."""
    is_size = _is_marked(binding)
    is_data = binding.space is NameSpace.WEIGHT or (isinstance(names, TaskNames) and binding.name in names.inputs)
    if not is_size and not is_data:
        return
    mark, name = (binding.name[0], binding.name[1:]) if is_size else ("", binding.name)
    for part in names.parts:
        for pattern in part.table.patterns:
            if pattern.mark == mark and re.fullmatch(pattern.regex, name):
                text = part.table.text[pattern.span.start : pattern.span.end]
                made = f"{_MAKERS[mark]}({text})" if is_size else f"input_data[{text}]"
                raise IdeError(f"{made} may mean {binding.name}; write the name out, then rename it")


def _check_unread(analysis: Analysis, names: Names, binding: Binding) -> None:
    """Text that cannot be parsed at all may hold the name."""
    word = re.compile(rf"(?<!\w){re.escape(binding.name)}(?!\w)")
    for number, part in enumerate(names.parts):
        if part.table.is_unread and (binding.part in (-1, number)) and word.search(part.table.text):
            line, _ = analysis.source.line_col(part.span.start)
            raise IdeError(f"the code at line {line + 1} cannot be read, and may use {binding.name}; mend it first")


# -- whether the new name is free -----------------------------------------------------------------------------


def _check_name(analysis: Analysis, new_name: str) -> None:
    if not new_name.isidentifier():
        raise IdeError(f"{new_name!r} is no name: letters, digits and _ only, and no digit first")
    if iskeyword(new_name):
        raise IdeError(f"{new_name} is a keyword of Python")
    if analysis.kind != "python" and new_name in RESERVED:
        raise IdeError(f"{new_name} has a meaning of its own in task files")


def _check_free(names: Names, binding: Binding, places: list[Reference], new_name: str) -> None:
    """Raise IdeError where the new name already means something at one of the places, or would hide something."""
    if isinstance(names, TaskNames):
        _check_task(names, binding, new_name)
    for item in places:
        if item.part < 0:
            continue
        table = names.parts[item.part].table
        for scope in table.visible(item.scope):
            if scope == binding.scope and item.part == binding.part:
                break
            is_local = scope != ROOT or names.parts[item.part].space is NameSpace.LOCAL
            if is_local and new_name in table.scopes[scope].bound:
                raise IdeError(f"{new_name} is taken: {_owner(names, item.part, scope)} uses that name")
    if isinstance(names, PythonNames) and _is_marked(binding) and names.of(Binding(NameSpace.SIZE, new_name)):
        raise IdeError(f"{new_name} is taken: it is a size of this file")
    for other in _others(names, binding, new_name):
        what = "is taken" if other.binding.space is not NameSpace.FREE else "means something else"
        raise IdeError(f"{new_name} {what} here: it is a name {_owner_of(names, other)}")


def _others(names: Names, binding: Binding, new_name: str) -> Iterator[Reference]:
    """Yield names that the renamed one would clash with: those of its own scope, and those that it would hide."""
    candidates = (
        found
        for number, part in enumerate(names.parts)
        if binding.part in (-1, number)
        for item in part.table.names
        if item.name == new_name and item.form is Form.NAME
        for found in (names.reference(number, item),)
    )
    for other in (*candidates, *(item for item in names.declared() if item.binding.name == new_name)):
        if _meets(names, binding, other):
            yield other


def _meets(names: Names, binding: Binding, other: Reference) -> bool:
    """Return whether ``other`` is looked up where ``binding`` would be found first, or beside it."""
    if binding.part >= 0:
        if other.part != binding.part:
            return False
        around = list(names.parts[other.part].table.around(other.scope))
        at = other.binding.scope if other.binding.part == binding.part else ROOT
        return binding.scope in around and (binding.scope == at or at not in around[: around.index(binding.scope)])
    if other.binding.part >= 0:
        return False  # it hides what is outside
    if other.part < 0:
        return binding.space is other.binding.space
    return binding.space in _SEEN_FROM[names.parts[other.part].space]


def _check_task(names: TaskNames, binding: Binding, new_name: str) -> None:
    """Inputs, functions and parameters of a task share their names, wherever they are used."""
    declared = names.inputs | names.functions | names.weights
    if binding.space in (NameSpace.IMPL, NameSpace.WEIGHT) and new_name in declared:
        raise IdeError(f"{new_name} is taken: the task declares it")
    sizes = {*names.sizes, *(f"{size}_value" for size in names.sizes)}
    if new_name in sizes:
        raise IdeError(f"{new_name} is taken: it is a size of this task")


def _owner(names: Names, part: int, scope: int) -> str:
    owner = names.parts[part].table.scopes[scope]
    return "a comprehension" if owner.kind == "comprehension" else owner.name or "this function"


def _owner_of(names: Names, other: Reference) -> str:
    binding = other.binding
    if binding.part >= 0:
        return f"of {_owner(names, binding.part, binding.scope)}"
    return _OUTER.get(binding.space, "that stands for something outside of it")
