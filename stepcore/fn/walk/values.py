"""Displays, comprehensions, operations and plain values in bodies."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from stepcore.fn.bulk import MAX_BITS
from stepcore.fn.members import no_tensor
from stepcore.fn.ownership.held import OWN
from stepcore.fn.placement import COMPLEX, PERCENT
from stepcore.fn.walk.targets import TargetWalk


class ValueWalk(TargetWalk):
    """Takes expressions that call nothing."""

    def _parts(self, node: ast.expr) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expression(child)

    def _constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, complex):
            self.report("STEP302", node, COMPLEX)
        elif isinstance(node.value, bytes):
            self.report("STEP302", node, "bytes are forbidden in the function language; write a text")
        elif isinstance(node.value, int) and node.value.bit_length() > MAX_BITS:
            self.report("STEP311", node, f"this number has more than {MAX_BITS:,} bits; write a smaller one")

    def _operation(self, node: ast.BinOp) -> None:
        if not self._too_large(node):
            if isinstance(node.op, ast.Mod) and is_text(node.left):
                self.report("STEP302", node, PERCENT)
            self.expression(node.left)
            self.expression(node.right)
            if not isinstance(node.op, ast.Add | ast.Mult):  # which lists know, too
                self._whole(node.left)
                self._whole(node.right)

    def _whole(self, node: ast.expr) -> None:
        """Report an argument that is used as a tensor: it is the list of the element's components."""
        if isinstance(node, ast.Name) and node.id in self.own.arguments:
            self.report("STEP308", node, no_tensor(node.id, self.own.arguments[node.id]))

    def _compared(self, node: ast.Compare) -> None:
        sides = (node.left, *node.comparators)
        for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if isinstance(op, ast.Is | ast.IsNot) and any(_has_no_identity(side) for side in (left, right)):
                text = "`is` of numbers, texts and tuples says how Python is built, not what they are; write =="
                self.report("STEP302", node, text)
        self._parts(node)

    def _display(self, node: ast.expr) -> None:
        if not self._too_large(node):
            self._parts(node)

    def _keyed(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self.report("STEP302", value, "** is forbidden in the function language; write {k: d[k] for k in d}")
        self._parts(node)

    def _either(self, node: ast.IfExp | ast.BoolOp) -> None:
        self._arms += 1
        self._parts(node)
        self._arms -= 1

    def _listed(self, node: ast.ListComp | ast.GeneratorExp) -> None:
        if self._too_large(node):
            return
        self._comprehension([node.elt], node.generators)

    def _generator(self, node: ast.GeneratorExp) -> None:
        text = "a generator is forbidden in the function language except where it is used up at once; write a list"
        self.report("STEP302", node, text)

    def _used_up(self, node: ast.expr) -> None:
        """Walk over an expression whose items are taken at once, so that a generator is as good as a list."""
        if isinstance(node, ast.GeneratorExp):
            self._listed(node)
        else:
            self.expression(node)

    def _star(self, node: ast.Starred) -> None:
        self._used_up(node.value)

    def _mapped(self, node: ast.DictComp) -> None:
        self._comprehension([node.key, node.value], node.generators)

    def _lambda(self, node: ast.Lambda) -> None:
        def body() -> None:
            for argument in node.args.args:  # nobody follows with what it is called
                self.own.names[argument.arg] = self.own.anything()
            self.expression(node.body)

        self._scoped(node.args, body)

    def _formatted(self, node: ast.FormattedValue) -> None:
        self.expression(node.value)
        if node.format_spec is not None and not _is_plain_format(node.format_spec):
            self.report("STEP302", node.format_spec, "this format is forbidden: plain widths and precisions only")

    def _named(self, node: ast.NamedExpr) -> None:
        self.expression(node.value)
        self._target(node.target, node.value)
        self._walrus.add(node.target.id)
        self._bulk.forget(node.target.id)

    def _comprehension(self, results: Sequence[ast.expr], generators: Sequence[ast.comprehension]) -> None:
        if not generators:
            for result in results:
                self.expression(result)
            return
        first = generators[0]
        if first.is_async:
            self.report("STEP302", first.iter, "async is forbidden in the function language; write for")
        self._used_up(first.iter)
        around = self.own.held(first.iter)

        def inner() -> None:
            self.own.bind(first.target, self.own.heap.at(around))
            for test in first.ifs:
                self.expression(test)
            self._arms += bool(first.ifs)
            self._comprehension(results, generators[1:])
            self._arms -= bool(first.ifs)

        bound: set[str] = set()
        self._item_names(first.target, bound)
        inside = self._inside(bound, inner)
        for name in self._walrus - bound:  # which := binds outside of the comprehension
            self.own.spread(ast.Name(name), inside.get(name, OWN))


def _has_no_identity(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float | str) and not isinstance(node.value, bool)
    return isinstance(node, ast.Tuple | ast.JoinedStr)


def _is_plain_format(spec: ast.expr) -> bool:
    if not isinstance(spec, ast.JoinedStr) or not all(isinstance(part, ast.Constant) for part in spec.values):
        return False
    text = "".join(str(part.value) for part in spec.values if isinstance(part, ast.Constant))
    return len(text) <= 4 and set(text) <= set("0123456789.,dfgex+ ")


def is_text(node: ast.expr) -> bool:
    """Return whether an expression is a text as it is written."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
