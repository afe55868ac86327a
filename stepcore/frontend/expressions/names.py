"""Constants and names."""

from __future__ import annotations

import ast
import builtins
from dataclasses import replace
from typing import TYPE_CHECKING

from stepcore.frontend import advice
from stepcore.frontend.bounds import bounded
from stepcore.frontend.state import MAX_MESSAGE
from stepcore.frontend.values import UNKNOWN, LosingStatement, ProgramBuiltin, Scope, Seen, Value
from stepcore.records import make
from stepcore.text.wording import clipped

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration


BUILTINS = frozenset(
    {"zip", "range", "enumerate", "len", "list", "tuple", "reversed", "min", "max", "int", "print", "sum", "abs"}
)


def evaluate_constant(el: Elaboration, node: ast.Constant) -> Value:
    """Return a number, text or None as the file writes it, within bounds."""
    value = node.value
    if value is ...:
        return UNKNOWN
    if isinstance(value, bytes | complex):
        what = "bytes" if isinstance(value, bytes) else "a complex number"
        el.report("STEP220", node, f"{what} is not part of the program language", "write numbers and texts")
        el.graph.complete = False
        return UNKNOWN
    return bounded(el, node, value) if type(value) is int else value


def evaluate_name(el: Elaboration, node: ast.Name) -> Value:
    """Return what a name is that no scope holds."""
    try:
        value = el.frame.scope.find(node.id)  # where anything may be lost, a scope knows more
        el.seen.append(make(Seen, (node, el.frame.code, value, False)))
        return value
    except KeyError:
        pass
    early = el.frame.scope.binding(node.id)
    unfollowed = el.frame.scope.outermost.unfollowed
    if unfollowed is not None and early is None and node.id in unfollowed:
        return _unfollowed(el, node, unfollowed[node.id])
    if early is not None and (node.id in BUILTINS or _is_known_around(early, node.id)):
        return _early(el, node, early)
    if node.id in BUILTINS:
        return ProgramBuiltin(node.id)
    el.graph.complete = False
    if hasattr(builtins, node.id):
        text = f"{node.id} of Python is not part of the program language"
        el.report("STEP220", node, text, advice.of_python(node.id))
        return UNKNOWN
    _unknown(el, node)
    # One mistake, one message: from here on the name is known to be unknown.
    el.frame.scope.names[node.id] = UNKNOWN
    return UNKNOWN


def _is_known_around(scope: Scope, name: str) -> bool:
    if scope.parent is None:
        return False
    try:
        scope.parent.find(name)
    except KeyError:
        return False
    return True


def _early(el: Elaboration, node: ast.Name, scope: Scope) -> Value:
    """Report a name that its own body reads before it binds it: whatever it is outside, Python has no value there."""
    text = f"{node.id} has no value here: the body binds it, so it is the body's own name from the beginning"
    el.report("STEP202", node, text, "bind it before, or give it another name")
    el.graph.complete = False
    scope.names[node.id] = UNKNOWN
    return UNKNOWN


def _unfollowed(el: Elaboration, node: ast.Name, statement: LosingStatement) -> Value:
    """Report a name whose value is not known; of all names that one statement loses there is one finding."""
    el.graph.complete = False
    el.frame.scope.names[node.id] = UNKNOWN
    said, names = el.unfollowed.get(statement, (None, []))
    index = next((place for place, item in enumerate(el.diagnostics) if item is said), None)
    if said is None or index is None:  # or what was said was taken back
        count = len(el.diagnostics)
        el.report("STEP220", node, *_lost_names([node.id], statement))
        if len(el.diagnostics) > count:
            el.unfollowed[statement] = (el.diagnostics[-1], [node.id])
    elif node.id not in names:
        names.append(node.id)
        text = "; ".join(_lost_names(names, statement))
        el.diagnostics[index] = said = replace(said, message=clipped(text, MAX_MESSAGE))
        el.unfollowed[statement] = (said, names)
    return UNKNOWN


def _lost_names(names: list[str], statement: LosingStatement) -> tuple[str, str]:
    """Return what is said of names that a statement loses, and the way out."""
    first, last = names[0], names[-1]
    which, them = (first, first) if len(names) == 1 else (f"{', '.join(names[:-1])} and {last}", "each of them")
    verb = "is" if len(names) == 1 else "are"
    text = f"what {which} {verb} after `{statement.shown}` is not followed in programs"
    if statement.imports_all:
        return text, "import by name what is needed of it"
    return text, f"bind {them} once, in a line of its own, above what reads it; {first} = 3, for example"


def _unknown(el: Elaboration, node: ast.Name) -> None:
    name = node.id
    if name in el.dialect.by_name and el.op_module:
        full = el.operator(name)
        el.report("STEP202", node, f"the name {name} is not known", f"write {full}", fix=el.replacing(node, full))
    elif name == "input_data" and el.is_task:
        el.report("STEP202", node, "a program does not see input_data", "its streams have the names of the inputs")
    else:
        el.unknown_name("STEP202", "the name", name, el.frame.scope.visible(), el.span(node), _declared(el, name))


def _declared(el: Elaboration, name: str) -> str:
    """Return how a name comes to be known; one in capitals is likely a size."""
    if not name.isupper() or any(letter.isdigit() for letter in name):
        return "assign it before"
    if el.is_task:
        return f'assign it before, or make a size of it in global: {name} = Symbol("{name}")'
    return f"assign it before, or import it as a size: from stepcore.dims import {name}"
