"""What is wrong with a body where values decide, found without running it.

That are names which it reads before they have a value, and lists that it writes into texts.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import lru_cache

from stepcore.findings import budget
from stepcore.fn import allow
from stepcore.fn.decl import CodeBlock, FnScope
from stepcore.fn.early.paths import SOME_LIST, BodyFrame, HeldName, HelperValue, KnownItems, Path
from stepcore.fn.early.statements import Follower
from stepcore.fn.members import no_value_yet
from stepcore.fn.prelude import assigned_names, constant_bindings, names_bound_by, prelude_names
from stepcore.fn.source import BodySyntaxError, statements
from stepcore.records import Record
from stepcore.sizes.dim import DEFAULT_SIZES


class EarlyFault(Record):
    """What is wrong at a place of a body, with the way out."""

    node: ast.expr
    code: str
    message: str


def faults_in_body(block: CodeBlock, scope: FnScope) -> list[EarlyFault]:
    """Return what is wrong with a function's body, which parses, in the order of the text.

    A read that finds no value is told where Python certainly comes to it, and where no way to it gives it one.
    """
    own = names_bound_by(block)
    if not own and not _may_have_faults(block.source.text, scope):
        return []  # most: one line that returns
    around, known = _globals(scope)
    frame = BodyFrame(own | frozenset(block.arguments), around)
    path = Path({**known, **{(frame, name): HeldName(SOME_LIST) for name in block.arguments}})
    return _found(Follower(frame, path, _sizes(scope), _known_outside(scope)), statements(block))


def faults_in_blocks(blocks: Sequence[CodeBlock], scope: FnScope) -> list[list[EarlyFault]]:
    """Return the same for blocks that share one scope, as references do: of each its own."""
    own = frozenset[str]().union(*map(names_bound_by, blocks))
    if not own and not any(_may_have_faults(block.source.text, scope) for block in blocks):
        return [[] for _ in blocks]  # most: one expression each
    around, known = _globals(scope)
    follower = Follower(BodyFrame(own, around), Path(dict(known)), _sizes(scope), _known_outside(scope))
    return [_found(follower, statements(block)) for block in blocks]


def faults_in_prelude(body: Sequence[ast.stmt], scope: FnScope) -> list[EarlyFault]:
    """Return the same for a ``global`` block."""
    frame = BodyFrame(assigned_names(list(body)), is_global=True)
    return _found(Follower(frame, Path(), _sizes(scope), _known_outside(scope)), body)


def _found(follower: Follower, body: Sequence[ast.stmt]) -> list[EarlyFault]:
    before = follower.too_early().keys() | follower.texts.keys()
    follower.block(body)
    found = {key: _early(*read) for key, read in follower.too_early().items()}
    found |= {
        key: EarlyFault(node, "STEP302", _IN_A_TEXT.format(ast.unparse(node))) for key, node in follower.texts.items()
    }
    new = [fault for key, fault in found.items() if key not in before]
    return sorted(new, key=lambda fault: (fault.node.lineno, fault.node.col_offset))


_IN_A_TEXT = "{} is a list, tuple or dictionary, and is not written into a text; write numbers and texts"


def _early(node: ast.expr, name: str, helper: str) -> EarlyFault:
    if helper:
        text = f"{helper} reads {name} in this call before it has a value; bind it before"
        return EarlyFault(node, "STEP303", text)
    return EarlyFault(node, "STEP303", no_value_yet(name))


def _may_have_faults(text: str, scope: FnScope) -> bool:
    """Whether a body that binds no name may have faults: in a comprehension, a text, or by a helper of ``global``."""
    if text.count("for") > 1 or "{" in text or "str(" in text:
        return True
    return any(name in text for name in prelude_names(scope.prelude))


def _sizes(scope: FnScope) -> dict[str, int]:
    sizes = dict(scope.sizes) or dict(DEFAULT_SIZES)
    sizes |= constant_bindings(scope.prelude, sizes)
    return {f"{name}_value": value for name, value in sizes.items()}


def _known_outside(scope: FnScope) -> Callable[[str], bool]:
    symbols = {*allow.PREDECLARED_SYMBOLS, *scope.symbols}
    modules = dict(scope.modules)
    sizes = _sizes(scope)

    def known(name: str) -> bool:
        return name in allow.BUILTINS or name in symbols or name in modules or name in sizes

    return known


def _globals(scope: FnScope) -> tuple[BodyFrame | None, dict[tuple[BodyFrame, str], HeldName]]:
    """Return the scope that ``global`` makes, and what its names hold at its end."""
    if scope.prelude is None:
        return None, {}
    return _of_prelude(scope)


@lru_cache(maxsize=256)
def _of_prelude(scope: FnScope) -> tuple[BodyFrame | None, dict[tuple[BodyFrame, str], HeldName]]:
    assert scope.prelude is not None
    try:
        body = statements(scope.prelude)
    except BodySyntaxError:
        return None, {}  # reported where the block is checked
    frame = BodyFrame(assigned_names(list(body)), is_global=True)
    follower = Follower(frame, Path(), _sizes(scope), _known_outside(scope))
    # Once for each block, whoever asks first: so it is no step of a document.
    with budget.using(budget.Budget.for_text(len(scope.prelude.source.text))):
        try:
            follower.block(body)
        except (budget.OutOfBudget, RecursionError):
            follower.ended = False
    if not follower.ended or follower.too_early():  # reported there
        return frame, {(frame, name): HeldName() for name in frame.own}
    lists_stay = not follower.may_change_lists()
    return frame, {key: _foreign(held, lists_stay) for key, held in follower.path.names.items()}


def _foreign(held: HeldName, lists_stay: bool) -> HeldName:
    """Return what another block sees of a name of ``global``."""
    match held.value:
        case HelperValue(node=node, around=around):
            return HeldName(HelperValue(node, around, is_foreign=True), held.sure)
        case KnownItems(is_list=True) if not lists_stay:
            return HeldName(SOME_LIST, held.sure)
    return held


__all__ = ["EarlyFault", "faults_in_blocks", "faults_in_body", "faults_in_prelude"]
