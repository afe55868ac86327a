"""Expressions of element functions over whole rows: what each value carries, and how it is written then.

A value has dimensions of its own, and in front of them those of its stream that its element carries
(:class:`stepcore.rewrites.wide.values.WideValue`). Text is changed only where a value would not stand under what it
meets, or a function took all dimensions that there were.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Final

from stepcore.check.rewriting import inner_span
from stepcore.rewrites.wide.values import NUMBER, NotWide, WideValue, aligned, dims_text, spread
from stepcore.text.span import Embedded

_POINTS: Final = (
    "abs", "absolute", "add", "atan", "clamp", "clip", "cos", "cosh", "div", "divide", "elu", "eq", "erf", "erfc",
    "exp", "exp2", "expm1", "floor", "full_like", "ge", "gelu", "gt", "hardsigmoid", "hardswish", "hardtanh", "le",
    "leaky_relu", "log", "log10", "log1p", "log2", "logical_and", "logical_not", "logical_or", "logsigmoid", "lt",
    "maximum", "minimum", "mish", "mul", "multiply", "ne", "neg", "negative", "ones_like", "pow", "reciprocal",
    "relu", "relu6", "round", "rsqrt", "selu", "sigmoid", "sign", "silu", "sin", "sinh", "softplus", "sqrt",
    "square", "sub", "subtract", "tan", "tanh", "where", "zeros_like",
)  # fmt: skip
_REDUCED: Final = ("sum", "mean", "amax", "amin")
_ALONG: Final = ("softmax", "log_softmax", "cumsum")  # of one dimension, which stays
_SETTINGS: Final = ("alpha", "approximate", "beta", "max", "min", "negative_slope", "threshold", "dtype")
_PRODUCTS: Final = ("matmul", "mv", "mm")
_CASTS: Final = (("float", 1), ("to", 2))  # with how many arguments
_JOINING: Final = ("cat", "concat")
_ARITHMETIC: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.FloorDiv, ast.Mod)
_ATOMS: Final = (ast.Name, ast.Subscript, ast.Call, ast.Attribute, ast.Constant)
_Found = tuple[str, WideValue]


class WideExpressions:
    """What is known of the values of one function."""

    def __init__(
        self, name: str, code: Embedded, argument: str, inputs: Sequence[WideValue], known: Mapping[str, WideValue]
    ) -> None:
        self._name, self._code, self._argument, self._inputs = name, code, argument, inputs
        self._width = width = len(inputs[0].carried)
        self._known = {
            key: each if each.is_number else WideValue(each.rank, (False,) * width) for key, each in known.items()
        }

    def bind(self, name: str, value: WideValue) -> None:
        """Note what a name stands for from here on."""
        if name == self._argument:
            raise self._refused(f"binds {name} again")
        self._known[name] = value

    def unpacks(self, target: ast.expr, value: ast.expr) -> bool:
        """Note the names that a statement gives to the components, where that is what it does."""
        match target, value:
            case ast.Tuple(elts=names), ast.Name(id=given) if given == self._argument:
                if len(names) != len(self._inputs):
                    return False
                for each, found in zip(names, self._inputs, strict=True):
                    if not isinstance(each, ast.Name):
                        return False
                    self.bind(each.id, found)
                return True
        return False

    def value(self, node: ast.expr) -> _Found:
        """Return the text of an expression over whole rows, and what its value has.

        Raises:
            NotWide: nobody can say.
        """
        leaf = self._leaf(node)
        if leaf is not None:
            return self._shown(node), leaf
        match node:
            case ast.Subscript(value=inner, slice=where):
                return self._cut(node, inner, where)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                text, value = self.value(operand)
                return self.spliced(node, [(operand, text)]), value
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return self._product(node, left, right)
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _ARITHMETIC):
                return self._pointwise(node, [left, right])
            case ast.Compare(left=left, comparators=[right], ops=[ast.Lt() | ast.Gt() | ast.LtE() | ast.GtE()]):
                return self._pointwise(node, [left, right])
            case ast.Attribute(value=inner, attr="T" | "mT"):
                return self._turned(node, inner)
            case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args, keywords=named):
                root = _root(owner)
                is_method = root in self._known or root in (self._argument, "input_data", "")
                return self._called(node, name, [owner, *args] if is_method else args, named)
        raise self._refused(f"computes {self._shown(node)}, of which nobody knows what it does with whole rows")

    def _leaf(self, node: ast.expr) -> WideValue | None:
        """Return what a number, a name or a component has; None for other expressions."""
        match node:
            case ast.Constant(value=bool() | int() | float()):
                return NUMBER
            case ast.Attribute(value=ast.Name(), attr="inf" | "pi" | "e"):
                return NUMBER
            case ast.Name(id=name):
                return self._known.get(name)
            case ast.Subscript(value=ast.Name(id="input_data"), slice=ast.Constant(value=str(name))):
                return self._known.get(name)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(place))) if name == self._argument:
                return self._inputs[place] if 0 <= place < len(self._inputs) else None
        return None

    def spliced(self, node: ast.expr | None, parts: Sequence[tuple[ast.expr, str]]) -> str:
        """Return an expression, or the whole body, as it is written, with other texts in the place of parts of it."""
        text = self._code.text
        whole = (0, len(text)) if node is None else self._place(node)
        made, at = "", whole[0]
        for part, new in sorted(parts, key=lambda each: self._place(each[0])):
            start, end = self._place(part)
            made, at = made + text[at:start] + new, end
        return made + text[at : whole[1]]

    def changed(self, parts: Sequence[tuple[ast.expr, str]]) -> tuple[tuple[int, int, str], ...]:
        """Return the parts that are written otherwise now, by their places in the body."""
        return tuple((*self._place(part), new) for part, new in parts if new != self._shown(part))

    # Kinds of expressions -----------------------------------------------------------------------------------------

    def _pointwise(self, node: ast.expr, operands: Sequence[ast.expr]) -> _Found:
        found = [self.value(each) for each in operands]
        made = spread([value for _, value in found])
        parts = [(each, self._aligned(each, one, made)) for each, one in zip(operands, found, strict=True)]
        return self.spliced(node, parts), made

    def _called(self, node: ast.Call, name: str, args: Sequence[ast.expr], named: Sequence[ast.keyword]) -> _Found:
        values = {str(keyword.arg): keyword.value for keyword in named}
        if name in _POINTS and all(key in _SETTINGS and _is_setting(each) for key, each in values.items()):
            return self._pointwise(node, args)
        if name in (*_REDUCED, *_ALONG) and args:
            return self._reduced(node, name, args, values)
        if name == "arange" and set(values) <= {"dtype"} and all(self._is_number(each) for each in args):
            return self._shown(node), WideValue(1, (False,) * self._width)
        if (
            name in ("float", "to")
            and len(args) == 1 + (name == "to")
            and not named
            and all(map(_is_setting, args[1:]))
        ):
            text, value = self.value(args[0])
            return self.spliced(node, [(args[0], text)]), value
        if name in _JOINING and args and set(values) <= {"dim"}:
            return self._joined(node, args, values)
        if name == "dot" and len(args) == 2 and not named:
            return self._inner(args[0], self.value(args[0]), args[1], self.value(args[1]))
        if name == "outer" and len(args) == 2 and not named:
            return self._outer(*args)
        if name in _PRODUCTS and len(args) == 2 and not named:
            return self._product(node, *args)
        raise self._refused(f"calls {name}, of which nobody knows what it does with whole rows")

    def _reduced(self, node: ast.Call, name: str, args: Sequence[ast.expr], named: Mapping[str, ast.expr]) -> _Found:
        """Return a reduction of own dimensions, counted from the end."""
        text, value = self.value(args[0])
        over = [*args[1:], *([named["dim"]] if "dim" in named else [])]
        keeps = name in _ALONG or ("keepdim" in named and ast.unparse(named["keepdim"]) == "True")
        if set(named) - {"dim", "keepdim"} or len(over) > 1 or not value.rank:
            raise self._refused(f"writes {name} in a form of which nobody knows what it does with whole rows")
        if not over:
            if name in _ALONG or keeps or node.keywords:
                raise self._refused(f"does not write the dimension of {name}")
            dims = dims_text([place - value.rank for place in range(value.rank)])
            whole = self.spliced(node, [(args[0], text)])
            made = WideValue(0, value.carried)
            return (f"{whole[:-1]}{', ' if args[0] in node.args else ''}{dims})" if value.has_rows else whole), made
        place = _number(over[0])
        if place is None or not -value.rank <= place < value.rank:
            raise self._refused(f"does not write the dimension of {name} as a number")
        counted = str(place - value.rank if place >= 0 else place)
        parts = [(args[0], text), *([(over[0], counted)] if value.has_rows else [])]
        return self.spliced(node, parts), WideValue(value.rank - (not keeps), value.carried)

    def _joined(self, node: ast.Call, args: Sequence[ast.expr], named: Mapping[str, ast.expr]) -> _Found:
        """Return vectors that stand behind each other."""
        over = [*args[1:], *named.values()]
        parts = args[0].elts if isinstance(args[0], ast.List | ast.Tuple) else []
        found = [self.value(each) for each in parts]
        made = spread([value for _, value in found])
        is_alike = all(value == made for _, value in found)
        if (
            not found
            or made.rank != 1
            or not is_alike
            or len(over) > 1
            or any(_number(each) not in (0, -1) for each in over)
        ):
            raise self._refused(f"joins {self._shown(node)}, of which nobody knows what it does with whole rows")
        text = self.spliced(node, [
            *((part, text) for part, (text, _) in zip(parts, found, strict=True)), *((each, "-1") for each in over),
        ])  # fmt: skip
        return (text if over or not made.has_rows else f"{text[:-1]}, -1)"), made

    def _product(self, node: ast.expr, left: ast.expr, right: ast.expr) -> _Found:
        """Return a product of vectors and matrices."""
        one, other = self.value(left), self.value(right)
        ranks = one[1].rank, other[1].rank
        plain = self.spliced(node, [(left, one[0]), (right, other[0])])
        if ranks == (1, 1):
            return self._inner(left, one, right, other)
        if ranks == (1, 2) and not other[1].has_rows:
            return plain, WideValue(1, one[1].carried)
        if ranks == (2, 1) and not one[1].has_rows:
            if not other[1].has_rows:
                return plain, other[1]
            turned = f"{self._atom(right, other[0])} @ {self._atom(left, one[0])}.T"
            return f"({turned})" if isinstance(node, ast.Call) else turned, WideValue(1, other[1].carried)
        if ranks == (1, 2):
            column = f"{self._atom(left, one[0])}[..., None]", WideValue(2, one[1].carried)
            return self._summed(left, column, right, other, -2)
        if ranks == (2, 1):
            return self._summed(left, one, right, other, -1)
        if ranks == (2, 2):
            made = spread([one[1], other[1]])
            if one[1].has_rows and other[1].has_rows and one[1].carried != other[1].carried:
                parts = [(left, self._aligned(left, one, made)), (right, self._aligned(right, other, made))]
                return self.spliced(node, parts), made
            return plain, made
        raise self._refused(f"computes {self._shown(node)}, a product of neither vectors nor matrices")

    def _inner(self, left: ast.expr, one: _Found, right: ast.expr, other: _Found) -> _Found:
        """Return the inner products of vectors: a product of matrices where each of them carries one dimension."""
        if one[1].rank != 1 or other[1].rank != 1:
            raise self._refused("multiplies what are no vectors")
        carried = [pair for pair in zip(one[1].carried, other[1].carried, strict=True) if any(pair)]
        rows = [self._atom(node, text) for node, (text, _) in ((left, one), (right, other))]
        made = WideValue(0, spread([one[1], other[1]]).carried)
        match carried:  # innermost first
            case [(False, True), (True, False)]:
                return f"({rows[0]} @ {rows[1]}.T)", made
            case [(True, False), (False, True)]:
                return f"({rows[1]} @ {rows[0]}.T)", made
            case [(False, True)] | [(True, False)]:
                return f"({rows[carried[0][1]]} @ {rows[carried[0][0]]})", made
        return self._summed(left, one, right, other, -1)

    def contracted(self, left: ast.expr, right: ast.expr) -> _Found | None:
        """Return the products of two values, added up over the innermost dimension of the stream, as one of matrices.

        None where it is none: then the products are added up as they are.
        """
        (text, one), (shown, other) = self.value(left), self.value(right)
        if one.is_number or other.is_number or not (one.carried[:1] == other.carried[:1] == (True,)):
            return None
        first, second = (WideValue(each.rank + 1, each.carried[1:]) for each in (one, other))
        if (first.rank, second.rank) == (1, 1):
            return self._inner(left, (text, first), right, (shown, second))
        texts = [self._atom(left, text), self._atom(right, shown)]
        for vector, matrix, order in ((first, second, texts), (second, first, texts[::-1])):
            if (vector.rank, matrix.rank) == (1, 2) and not matrix.has_rows:
                return f"({' @ '.join(order)})", WideValue(1, vector.carried)
        return None

    def _outer(self, left: ast.expr, right: ast.expr) -> _Found:
        one, other = self.value(left), self.value(right)
        if one[1].rank != 1 or other[1].rank != 1:
            raise self._refused("multiplies what are no vectors")
        column = f"{self._atom(left, one[0])}[..., None]", WideValue(2, one[1].carried)
        made = spread([column[1], other[1]])
        return f"({self._multiplied(left, column, right, other, made)})", made

    def _summed(self, left: ast.expr, one: _Found, right: ast.expr, other: _Found, dim: int) -> _Found:
        """Return the sum of products along an own dimension, the last one or the one before it."""
        made = spread([one[1], other[1]])
        text = f"torch.sum({self._multiplied(left, one, right, other, made)}, {dim})"
        return text, WideValue(made.rank - 1, made.carried)

    def _multiplied(self, left: ast.expr, one: _Found, right: ast.expr, other: _Found, made: WideValue) -> str:
        texts = []
        for node, (text, value) in ((left, one), (right, other)):
            atom = text if text.endswith("[..., None]") else self._atom(node, text)
            texts.append(aligned(atom, value, made, is_atom=True))
        return " * ".join(texts)

    def _turned(self, node: ast.Attribute, inner: ast.expr) -> _Found:
        text, value = self.value(inner)
        if value.rank != 2:
            raise self._refused(f"turns {self._shown(inner)}, which is no matrix")
        return f"{text}.{'mT' if value.has_rows else node.attr}", value

    def _cut(self, node: ast.expr, inner: ast.expr, where: ast.expr) -> _Found:
        """Return a part of a vector: some of its numbers, or one."""
        text, value = self.value(inner)
        bounds = [where.lower, where.upper, where.step] if isinstance(where, ast.Slice) else [where]
        if value.rank != 1 or not all(each is None or self._is_number(each) for each in bounds):
            raise self._refused(f"takes {self._shown(node)} out of what may be whole rows")
        shown = self._shown(where)
        made = WideValue(int(isinstance(where, ast.Slice)), value.carried)
        return f"{self._atom(inner, text)}[{f'..., {shown}' if value.has_rows else shown}]", made

    # Text ---------------------------------------------------------------------------------------------------------

    def _is_number(self, node: ast.expr) -> bool:
        match node:
            case ast.Constant(value=int()):
                return True
            case ast.Name(id=name):
                return self._known.get(name) == NUMBER
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._is_number(operand)
            case ast.BinOp(left=left, right=right):
                return self._is_number(left) and self._is_number(right)
        return False

    def _aligned(self, node: ast.expr, found: _Found, made: WideValue) -> str:
        return aligned(*found, made, is_atom=isinstance(node, _ATOMS))

    @staticmethod
    def _atom(node: ast.expr, text: str) -> str:
        return text if isinstance(node, _ATOMS) else f"({text})"

    def _shown(self, node: ast.expr) -> str:
        start, end = self._place(node)
        return self._code.text[start:end]

    def _place(self, node: ast.expr) -> tuple[int, int]:
        span = inner_span(self._code, node)
        return span.start, span.end

    def _refused(self, what: str) -> NotWide:
        return NotWide(f"{self._name} {what}")


def _root(node: ast.expr) -> str:
    """Return the name that an expression begins with: a module, the argument or another name; else nothing."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _number(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    return value if type(value) is int else None


def _is_setting(node: ast.expr) -> bool:
    """Whether a parameter is a number or a type, which no row is part of."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError):
        return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return True
