"""Names of a document: which place belongs to which binding.

``names_of(analysis)`` gives a :class:`Names`; :meth:`Names.at` the name at an offset, :meth:`Names.of` all places of
its binding, :meth:`Names.visible` what can be named at an offset. Scopes follow Python's rules (functions,
comprehensions, classes, ``global``); names of a module's top level are shared by all blocks of the file. In task files
the names in ``impl``, ``apply``, ``global`` and ``data_transform`` resolve to declarations in YAML: inputs, functions
(``func_name``), parameters (``input_data['W']``) and sizes (``M``, ``M_value``). Nothing here evaluates: what a name
stands for there is :mod:`stepcore.ide.meaning`.
"""

from __future__ import annotations

from stepcore.ide.analysis import Analysis
from stepcore.ide.names.base import Binding, Names, NameSpace, Reference, TextPart
from stepcore.ide.names.python import PythonNames
from stepcore.ide.names.task import TaskNames
from stepcore.ide.scopes import ROOT, Form, Member, NameScope, NameTable, Occurrence
from stepcore.ide.tasks.tree import task_tree


def names_of(analysis: Analysis) -> Names:
    """Return the names of a document, worked out once per analysis."""
    found = analysis.memo.get("names")
    if found is None:
        found = analysis.memo["names"] = _build(analysis)
    assert isinstance(found, Names)
    return found


def _build(analysis: Analysis) -> Names:
    if analysis.kind in ("task", "impl"):
        task = analysis.units[0].result.task
        spec = None if task is None or analysis.kind == "task" else task.spec
        return TaskNames(task_tree(analysis.source.text), spec)
    return PythonNames(analysis.blocks)


__all__ = [
    "ROOT",
    "Binding",
    "Form",
    "Member",
    "NameScope",
    "NameSpace",
    "NameTable",
    "Names",
    "Occurrence",
    "PythonNames",
    "Reference",
    "TaskNames",
    "TextPart",
    "names_of",
]  # fmt: skip
