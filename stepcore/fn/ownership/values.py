"""Where the values of expressions may come from."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from stepcore.fn import allow
from stepcore.fn.nodes import slice_of
from stepcore.fn.ownership.effects import VIEWS, result, torch_result
from stepcore.fn.ownership.heap import MOST_KEYS, Content
from stepcore.fn.ownership.held import (
    NEW,
    OWN,
    TENSOR,
    Called,
    Held,
    any_of,
    constant_index,
    key_of,
)
from stepcore.fn.ownership.names import BodyNames

_VIEW_ATTRIBUTES: Final = allow.names("T mT H mH real values indices")
_NUMBERS: Final = allow.names("item size dim numel nelement ndimension stride tolist")
# What may give a single number: torch takes it as an index of Python, and gives a view.
_ONE_PLACE: Final = allow.names(
    """all amax amin any argmax argmin count_nonzero det dot kthvalue logdet logsumexp max mean median min mode nanmean
    nansum norm prod scalar_tensor select squeeze std sum trace var vector_norm"""
)
# What gives a single number of a single number.
_ALIKE: Final = allow.POINTWISE | allow.names("clone contiguous detach int long to type type_as")
_FIELDS: Final = allow.names("values indices")
# Python's functions whose result holds the items of their arguments, and those that give one of them.
_COLLECT: Final = allow.names("list tuple sorted reversed")
_PICK: Final = allow.names("max min")
# Those that give a number, a text or a new tensor.
_SINGLE: Final = allow.names("abs all any bool float int len pow round str")


class BodyValues(BodyNames):
    """Follows expressions."""

    def held(self, node: ast.expr) -> Held:
        """Return where the value of an expression may come from."""
        match node:
            case ast.Name(id=name):
                return self.named(name)
            case ast.Subscript():
                return self._part(node)
            case ast.Attribute() | ast.Lambda():
                return self._attribute(node) if isinstance(node, ast.Attribute) else self._lambda(node)
            case ast.Call():
                return self._called(node)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return self._listed(node, parts)
            case ast.Dict(keys=keys, values=values):
                return self._keyed(node, keys, values)
            case ast.BoolOp(values=values):
                return any_of(map(self.held, values))
            case ast.IfExp(body=body, orelse=orelse):
                return self.held(body) | self.held(orelse)
            case ast.NamedExpr(value=value) | ast.UnaryOp(op=ast.UAdd(), operand=value):  # +x of a tensor is x
                return self.held(value)
            case ast.BinOp():
                return self._joined(node)
            case ast.Compare() | ast.Constant() | ast.JoinedStr() | ast.UnaryOp():
                return NEW
            case (
                ast.ListComp(elt=item, generators=rounds)
                | ast.GeneratorExp(elt=item, generators=rounds)
                | ast.DictComp(value=item, generators=rounds)
            ):
                return self._collected(node, item, rounds)
        return OWN

    def bind(self, target: ast.expr, held: Held) -> None:
        """Record that a target of a loop or comprehension, or what is unpacked, holds ``held``."""
        match target:
            case ast.Name(id=name):
                self.names[name] = self.heap.few(held)
            case ast.Tuple() | ast.List():
                for part, inner in self.parts(target, held):
                    self.bind(part, inner)

    def parts(self, target: ast.Tuple | ast.List, held: Held) -> Iterator[tuple[ast.expr, Held]]:
        """Yield the targets inside of one, and what each holds of what is unpacked there."""
        is_counted = True  # up to the first with a star
        for place, part in enumerate(target.elts):
            is_counted = is_counted and not isinstance(part, ast.Starred)
            item = self.heap.at(held, place if is_counted else None)
            if isinstance(part, ast.Starred):
                yield part.value, self.heap.make(part, [item])
            else:
                yield part, item

    # Displays ---------------------------------------------------------------------------------------------------

    def _listed(self, node: ast.expr, parts: list[ast.expr]) -> Held:
        """Return a list of these, in their order where none of them stands for an unknown number."""
        items: list[Held] = []
        for part in parts:
            inner = self.heap.sequence(self.held(part.value)) if isinstance(part, ast.Starred) else [self.held(part)]
            if inner is None:
                return self.heap.make(node, map(self._items, parts))
            items += inner
        return self.heap.make_sequence(node, items)

    def _copied(self, node: ast.expr, source: Held, items: Held) -> Held:
        """Return a list of what another holds, in its order where that is known, else of ``items``."""
        sequence = self.heap.sequence(source)
        return self.heap.make(node, [items]) if sequence is None else self.heap.make_sequence(node, sequence)

    def _items(self, part: ast.expr) -> Held:
        return self.heap.at(self.held(part.value)) if isinstance(part, ast.Starred) else self.held(part)

    def _keyed(self, node: ast.expr, keys: list[ast.expr | None], values: list[ast.expr]) -> Held:
        content = Content()
        for key, value in zip(keys, values, strict=True):
            known = None if key is None or len(keys) > MOST_KEYS else key_of(key)
            content.put(known, self.held(value), instead=False)
        return self.heap.make_known(node, content)

    def _collected(self, node: ast.expr, item: ast.expr, rounds: list[ast.comprehension]) -> Held:
        before = dict(self.names)
        for generator in rounds:
            self.bind(generator.target, self.heap.at(self.held(generator.iter)))
        held = self.held(item)
        self.names = before
        return self.heap.make(node, [held])

    def _joined(self, node: ast.BinOp) -> Held:
        """Return what an operator gives: a new tensor, a new list of the items of both, or one dictionary of both."""
        sides = [self.held(node.left), self.held(node.right)]
        if isinstance(node.op, ast.Mult):
            sides = [held for held in sides if not held.is_closed]  # a list, so many times
        elif not isinstance(node.op, ast.Add | ast.BitOr) or any(held.is_closed for held in sides):
            return NEW
        if not any(held.lists for held in sides):
            return OWN if sides else NEW
        sequences = list(map(self.heap.sequence, sides))
        if isinstance(node.op, ast.Add) and all(each is not None for each in sequences):
            return self.heap.make_sequence(node, [held for each in sequences for held in each or ()])
        return self.heap.make(node, map(self.heap.item, sides))

    # Parts ------------------------------------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute) -> Held:
        base, name = node.value, node.attr
        if (function := self.torch_function(node)) is not None:
            return Held.function(function)
        if name in ("weight", "bias"):
            return TENSOR  # PyTorch refuses to change them in place where gradients are kept, as in a Python file
        if name in _VIEW_ATTRIBUTES:
            return self.held(base).as_tensor()
        if name not in allow.CONTAINER_METHODS and name not in VIEWS["torch.Tensor"] and not allow.is_inplace(name):
            return OWN
        of = self.held(base)  # a method that is called later, and may give this
        return self.heap.make(node, [of.as_tensor(), self.heap.item(of)]) if of.places else OWN

    def _part(self, node: ast.Subscript) -> Held:
        base, index = self.held(node.value), node.slice
        if isinstance(index, ast.Slice):
            return self._slice(node, base, index) | base.as_tensor() if base.lists else base
        if self._is_advanced(index):
            return self.heap.item(base) if base.lists else NEW
        return self.heap.at(base, key_of(index))

    def _slice(self, node: ast.expr, base: Held, index: ast.Slice) -> Held:
        sequence = self.heap.sequence(base)
        found = None if sequence is None else slice_of(index, constant_index)
        if sequence is None or found is None:
            return self.heap.make(node, [self.heap.item(base)])
        return self.heap.make_sequence(node, sequence[found])

    def _is_advanced(self, index: ast.expr) -> bool:
        """Return whether an index certainly is a list, a mask or a tensor of places: torch copies what it reads so."""
        match index:
            case ast.List() | ast.Compare():
                return True
            case ast.Tuple(elts=parts):
                return any(map(self._is_advanced, parts))
            case ast.Call(func=ast.Attribute(attr="tensor" | "as_tensor"), args=[ast.Constant(), *_]):
                return False
            case ast.Call(func=ast.Attribute(attr=name)):
                if name in _ALIKE and (operand := self._computed(index)) is not None:
                    return self._is_advanced(operand)
                if any(map(_is_nothing, index.args)):  # ones(()), view([])
                    return False
                return name not in _NUMBERS and (name not in _ONE_PLACE or _leaves_dimensions(index))
            case ast.Attribute(value=ast.Call() as base, attr=name):
                return name in _FIELDS and self._is_advanced(base)
            case ast.Subscript(value=base):
                return self.heap.reaches_others(self.held(base))
        return False

    def _computed(self, node: ast.Call) -> ast.expr | None:
        """Return the operand of a call of torch, or of a method, where that is another call or a field of one."""
        function = node.func
        operands = node.args if self.torch_function(function) is not None else [function]
        operand = operands[0] if operands else None
        if isinstance(operand, ast.Attribute) and operand is function:
            operand = operand.value
        field = operand.value if isinstance(operand, ast.Attribute) and operand.attr in _FIELDS else operand
        return operand if isinstance(field, ast.Call) else None

    def _lambda(self, node: ast.Lambda) -> Held:
        """Return a lambda, which holds what it may give of what it found where it was made."""
        before = self.names
        self.names = {**before, **dict.fromkeys((argument.arg for argument in node.args.args), OWN)}
        given = [self.held(node.body), *map(self.held, node.args.defaults)]
        self.names = before
        return self.heap.make(node, map(self.heap.reach, given))

    # Calls ------------------------------------------------------------------------------------------------------

    def _called(self, node: ast.Call) -> Held:
        function = node.func
        torch_function = self.torch_function(function)
        if torch_function is not None:
            found = torch_result(torch_function, node, any_of(map(self.heap.reach, self._arguments(node))))
            # Called once, a module of torch is made, which may be called.
            is_module = torch_function.space == "torch.nn" and isinstance(self.function(function), ast.Attribute)
            return found | Held.function(torch_function) if is_module else found
        if isinstance(function, ast.Attribute):
            return self._method(node, function)
        if self.is_builtin(function):
            return self._builtin(node, function.id)
        return result(self.heap, self.held(function), self.call(node))

    def _builtin(self, node: ast.Call, name: str) -> Held:
        heap = self.heap
        arguments = list(self._arguments(node))
        if name == "dict":  # of a dictionary, of pairs, or of keywords
            return heap.make(node, map(heap.reach, arguments))
        if name in ("list", "tuple") and len(arguments) == 1:
            return self._copied(node, arguments[0], heap.at(arguments[0]))
        if name in _COLLECT:
            return heap.make(node, map(heap.at, arguments))
        if name == "enumerate":
            return heap.make(node, [heap.make_known((node, 0), Content({0: NEW, 1: any_of(map(heap.at, arguments))}))])
        if name == "zip":
            return heap.make(node, [self._row(node, list(map(heap.at, arguments)))])
        if name in _PICK:
            return any_of(heap.at(held) | held for held in arguments)
        if name == "sum":
            return self._sum(node, arguments)
        return NEW if name in _SINGLE else OWN

    def _row(self, node: ast.Call, items: list[Held]) -> Held:
        """Return what ``zip`` gives in a round: what stands where is known unless an argument has a star."""
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            return self.heap.make((node, 0), items)
        return self.heap.make_known((node, 0), Content(dict(enumerate(items))))

    def _sum(self, node: ast.Call, arguments: list[Held]) -> Held:
        """Return a sum: of lists one list, of tensors a new one, and of nothing what it begins with."""
        heap, (added, *begin) = self.heap, arguments or [OWN]
        items = [heap.item(heap.item(added)), *map(heap.item, begin)]
        return any_of([heap.make(node, items), *begin])

    def _method(self, node: ast.Call, function: ast.Attribute) -> Held:
        base, name = self.held(function.value), function.attr
        if base.lists and name in allow.CONTAINER_METHODS:
            return self._container_method(node, base, name)
        is_view = name in VIEWS["torch.Tensor"] or allow.is_inplace(name)
        if name == "tolist":
            return self.heap.make(node, [NEW])
        return base.as_tensor() if is_view else NEW

    def _container_method(self, node: ast.Call, base: Held, name: str) -> Held:
        heap, items = self.heap, self.heap.item(base)
        match name:
            case "copy":
                return self._copied(node, base, items)
            case "values":
                return heap.make(node, [items])
            case "items":
                return heap.make(node, [heap.make_known((node, 0), Content({0: NEW, 1: items}))])
            case "pop" | "get":
                return any_of([items, *self._arguments(node)])
            case "sort":
                return OWN  # of a tensor a new one
        return NEW if name in ("keys", "count", "index") else OWN

    def _arguments(self, node: ast.Call) -> Iterator[Held]:
        yield from map(self._items, node.args)
        for keyword in node.keywords:
            yield self.held(keyword.value)

    def call(self, node: ast.Call) -> Called:
        """Return a call with what its arguments hold."""
        keywords = tuple((each.arg, self.held(each.value)) for each in node.keywords if each.arg is not None)
        is_counted = not any(isinstance(argument, ast.Starred) for argument in node.args)
        return Called(node, tuple(map(self._items, node.args)), keywords, is_counted)


def _is_nothing(node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple | ast.List) and not node.elts


def _leaves_dimensions(reduction: ast.Call) -> bool:
    """Return whether a reduction certainly is no single number: it is along one of two dimensions or more."""
    given = (*reduction.args, *(keyword.value for keyword in reduction.keywords if keyword.arg == "dim"))
    dim = next((number for number in map(constant_index, given) if number is not None), None)
    return dim is not None and (dim >= 1 or dim <= -2)
