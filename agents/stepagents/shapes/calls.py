"""Calls of a function in its file, in other files of the workspace and in tests: what they pass. Nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from stepagents.shapes.spelled import size_of
from stepagents.shapes.tensors import Name, Plain, Scope, Several, TensorShape, Value, WrittenSize, result_of, value_of
from stepagents.shapes.told import UNNAMED, TextPlace, Told
from stepagents.shapes.workspace import texts_with
from stepagents.torchfn.target import Argument, Target, last_name
from stepcore.records import Record

_MOST: Final = 50  # calls that are looked at
_MOST_FILES: Final = 40  # that are parsed
_COMPOUND: Final = (ast.With, ast.If, ast.Try, ast.For, ast.While)
_WRAPPERS: Final = frozenset({"compile", "script", "jit", "vmap", "checkpoint", "no_grad"})


@dataclass(slots=True)
class _Scope:
    """The values of names where a call stands; those of an inner function are its own."""

    values: dict[str, Value]
    objects: set[str] = field(default_factory=set)  # names of instances of the target's class


def calls_of(target: Target, root: Path | None) -> list[dict[str, Told]]:
    """Return what each call passes, by argument; those in the function's file come first, then those of tests."""
    found = [_told(target, call) for call in _calls(target, target.path, target.tree)]
    if root is not None:
        name = target.class_name or target.qualifier
        stem = Path(target.path).stem
        others: list[dict[str, Told]] = []
        for count, (path, text) in enumerate(texts_with(name, Path(target.path), root)):
            if count >= _MOST_FILES or len(others) >= _MOST:
                break
            if stem not in text and path.parent != Path(target.path).absolute().parent:
                continue
            try:
                tree = ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            names = _imported(tree, target, stem)
            if names or stem in text:
                others += [_told(target, call) for call in _calls(target, str(path), tree, names or {name})]
        found += others
    return [item for item in found[:_MOST] if item]


def joined(calls: Sequence[Mapping[str, Told]]) -> dict[str, Told]:
    """Return what all calls together tell: the rank that most agree on, names where they have one, examples."""
    result: dict[str, Told] = {}
    for name in dict.fromkeys(name for call in calls for name in call):
        given = [call[name] for call in calls if name in call]
        tensors = [item for item in given if item.sizes is not None]
        if not tensors:
            result[name] = given[0]
            continue
        ranks = [len(item.sizes or ()) for item in tensors]
        rank = max(dict.fromkeys(ranks), key=ranks.count)
        same = [item for item in tensors if len(item.sizes or ()) == rank]
        best = max(same, key=lambda item: sum(not size.isdigit() and size != UNNAMED for size in item.sizes or ()))
        sizes = list(best.sizes or ())
        for axis, size in enumerate(sizes):
            if size == "1" and any((item.sizes or ())[axis] != "1" for item in same):
                sizes[axis] = UNNAMED
        dtype = next((item.dtype for item in same if item.dtype), "")
        result[name] = Told(name, best.place, tuple(sizes), dtype=dtype, examples=best.examples)
    return _with_batches(result)


def alike(calls: Sequence[Mapping[str, Told]]) -> list[tuple[tuple[str, int], tuple[str, int]]]:
    """Return pairs of dimensions, as (argument, dimension), that were equal wherever calls tell both.

    Two names for a number mean two sizes, and a number that stands at three or more places may do so by chance: of
    these only the first dimensions of arguments count, which are mostly a batch.
    """
    equal: dict[tuple[tuple[str, int], tuple[str, int]], bool] = {}
    for call in calls:
        sizes = [
            ((name, axis), number, (item.sizes or ())[axis])
            for name, item in call.items()
            for axis, number in enumerate(item.examples)
            if number is not None
        ]
        numbers = [number for _, number, _ in sizes]
        for index, (one, number, called) in enumerate(sizes):
            for other, second, name in sizes[index + 1 :]:
                if one[0] == other[0]:
                    continue
                is_chance = numbers.count(number) > 2 and (one[1] or other[1])
                same = number == second > 1 and not is_chance and (called == name or UNNAMED in {called, name})
                equal[one, other] = equal.get((one, other), True) and same
    return [pair for pair, same in equal.items() if same]


def squares(calls: Sequence[Mapping[str, Told]]) -> frozenset[str]:
    """Return arguments whose last two sizes are the same number in all calls that tell both."""
    seen: dict[str, bool] = {}
    for call in calls:
        for name, item in call.items():
            if len(item.examples) > 1 and None not in item.examples[-2:]:
                seen[name] = seen.get(name, True) and item.examples[-1] == item.examples[-2]
    return frozenset(name for name, same in seen.items() if same)


def _with_batches(told: Mapping[str, Told]) -> dict[str, Told]:
    """Let a leading 1 vary where it is the batch of an example: no other argument has another one there."""
    leading = [item.sizes[0] for item in told.values() if item.sizes is not None and len(item.sizes) > 1]
    if "1" not in leading or any(size != "1" for size in leading):
        return dict(told)
    return {
        name: item
        if item.sizes is None or len(item.sizes) < 2
        else Told(name, item.place, (UNNAMED, *item.sizes[1:]), dtype=item.dtype, examples=item.examples)
        for name, item in told.items()
    }


class _Call(Record):
    path: str
    node: ast.Call
    scope: Scope


def _imported(tree: ast.Module, target: Target, stem: str) -> set[str]:
    """Return the names that a file gives the function or its class, or the modules that it is an attribute of."""
    wanted = target.class_name or target.qualifier
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").rpartition(".")[2] in {stem, "", Path(target.path).parent.name}
        for alias in node.names
        if alias.name == wanted
    }


def _calls(target: Target, path: str, tree: ast.Module, names: set[str] | None = None) -> Iterator[_Call]:
    wanted = names or {target.class_name or target.qualifier}
    top = _Scope({})
    _bind_all(tree.body, top, target, wanted)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            _bind_helper(node, top, target, wanted)
    yield from _in_body(tree.body, top, target, path, wanted)


def _in_body(body: Sequence[ast.stmt], outer: _Scope, target: Target, path: str, wanted: set[str]) -> Iterator[_Call]:
    scope = _Scope(dict(outer.values), set(outer.objects))
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inner = _Scope({**outer.values, **_parameters(node), **_fixtures(node, outer)}, set(outer.objects))
            yield from _in_body(node.body, inner, target, path, wanted)
            continue
        if isinstance(node, ast.ClassDef):
            yield from _in_body(node.body, _with_fixtures(node, outer, target, wanted), target, path, wanted)
            continue
        if not isinstance(node, _COMPOUND):
            yield from _in_statement(node, scope, target, path, wanted)
        elif isinstance(node, ast.For):
            _bind_loop(node, scope)
        for block in ("body", "orelse", "finalbody") if isinstance(node, _COMPOUND) else ():
            inside = getattr(node, block, None) or []
            yield from _in_body(inside, scope, target, path, wanted)
            _bind_all(inside, scope, target, wanted)
        _bind(node, scope, target, wanted)


def _in_statement(node: ast.stmt, scope: _Scope, target: Target, path: str, wanted: set[str]) -> Iterator[_Call]:
    for call in ast.walk(node):
        found = _meant(call, scope, target, wanted) if isinstance(call, ast.Call) else None
        if found is not None:
            yield _Call(path, found, dict(scope.values))


def _with_fixtures(node: ast.ClassDef, outer: _Scope, target: Target, wanted: set[str]) -> _Scope:
    """Return the scope of the methods of a class of tests: what ``setUp`` binds to ``self`` is seen by all."""
    scope = _Scope(dict(outer.values), set(outer.objects))
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name in {"setUp", "setup_method", "__init__"}:
            _bind_all(item.body, scope, target, wanted)
    return scope


def _bind_helper(node: ast.FunctionDef, scope: _Scope, target: Target, wanted: set[str]) -> None:
    """Bind what a function of the file returns, its parameters being names of sizes: ``x, y = make_batch()``."""
    inner = _Scope({**scope.values, **_parameters(node)}, set(scope.objects))
    _bind_all(node.body, inner, target, wanted)
    last = node.body[-1]
    value = value_of(last.value, inner.values) if isinstance(last, ast.Return) and last.value is not None else None
    if value is not None:
        scope.values[result_of(node.name)] = value


def _fixtures(node: ast.FunctionDef | ast.AsyncFunctionDef, outer: _Scope) -> dict[str, Value]:
    """Return the parameters of a test that are named as a function of the file: fixtures."""
    names = [item.arg for item in node.args.args] if node.name.startswith("test") else []
    return {name: outer.values[result_of(name)] for name in names if result_of(name) in outer.values}


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, Value]:
    """Return the parameters of a test as names of sizes, with a value of the first case of ``parametrize``."""
    found: dict[str, Value] = {}
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    for item in arguments:
        found[item.arg] = Name(item.arg)
    for item, default in zip(reversed(node.args.args), reversed(node.args.defaults), strict=False):
        value = value_of(default, {})
        if isinstance(value, Plain):
            found[item.arg] = Plain(value.value, item.arg if type(value.value) is int else "")
    for decorator in node.decorator_list:
        if (
            isinstance(decorator, ast.Call)
            and getattr(decorator.func, "attr", "") == "parametrize"
            and len(decorator.args) > 1
        ):
            _parametrized(decorator, found)
    return found


def _parametrized(decorator: ast.Call, found: dict[str, Value]) -> None:
    head, cases = value_of(decorator.args[0], {}), decorator.args[1]
    names: list[str] = []
    if isinstance(head, Plain) and isinstance(head.value, str):
        names = [name.strip() for name in head.value.split(",")]
    elif isinstance(head, Several):
        names = [str(item.value) for item in head.items if isinstance(item, Plain)]
    elements = cases.elts if isinstance(cases, (ast.List, ast.Tuple)) else []
    first = elements[0] if elements else None
    if isinstance(first, ast.Call) and getattr(first.func, "attr", "") == "param":
        values: list[Value | None] = [value_of(item, {}) for item in first.args]
    else:
        one = None if first is None else value_of(first, {})
        values = list(one.items) if isinstance(one, Several) and len(names) > 1 else [one]
    for name, value in zip(names, values, strict=False):
        if isinstance(value, Plain) and type(value.value) is int:
            found[name] = Plain(value.value, name)
        elif value is not None:
            found[name] = value


def _bind_all(body: Sequence[ast.stmt], scope: _Scope, target: Target, wanted: set[str]) -> None:
    for node in body:
        _bind(node, scope, target, wanted)


def _bind(node: ast.stmt, scope: _Scope, target: Target, wanted: set[str]) -> None:
    if isinstance(node, ast.Assign):
        for each in node.targets:
            _bind_to(each, node.value, scope, target, wanted)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        _bind_to(node.target, node.value, scope, target, wanted)


def _bind_to(place: ast.expr, expression: ast.expr, scope: _Scope, target: Target, wanted: set[str]) -> None:
    name = last_name(place)
    if name:
        if target.class_name and _makes(expression, wanted):
            scope.objects.add(name)
        value = value_of(expression, scope.values)
        if value is None:
            scope.values.pop(name, None)
        else:
            scope.values[name] = _called(value, name)
    elif isinstance(place, (ast.Tuple, ast.List)):
        if isinstance(expression, (ast.Tuple, ast.List)) and len(expression.elts) == len(place.elts):
            for inner, part in zip(place.elts, expression.elts, strict=True):
                _bind_to(inner, part, scope, target, wanted)
            return
        found = value_of(expression, scope.values)
        items: Sequence[Value | None] = found.items if isinstance(found, Several) else ()
        if isinstance(expression, (ast.GeneratorExp, ast.ListComp)):  # q, k, v = (torch.randn(n) for _ in range(3))
            items = [value_of(expression.elt, scope.values)] * len(place.elts)
        if len(items) == len(place.elts):
            for inner, item in zip(place.elts, items, strict=True):
                if isinstance(inner, ast.Name) and item is not None:
                    scope.values[inner.id] = _called(item, inner.id)


def _called(value: Value, name: str) -> Value:
    """Return a value with the name that it is bound to, if it may be a size."""
    return Plain(value.value, name) if isinstance(value, Plain) and type(value.value) is int else value


def _bind_loop(node: ast.For, scope: _Scope) -> None:
    """Bind the targets of a loop over written values to the first of them."""
    found = value_of(node.iter, scope.values)
    first = found.items[0] if isinstance(found, Several) and found.items else None
    if isinstance(node.target, ast.Name) and isinstance(first, Plain):
        scope.values[node.target.id] = _called(first, node.target.id)
    elif isinstance(node.target, ast.Tuple) and isinstance(first, Several):
        for place, item in zip(node.target.elts, first.items, strict=False):
            if isinstance(place, ast.Name):
                scope.values[place.id] = _called(item, place.id)


def _makes(node: ast.expr, wanted: set[str]) -> bool:
    """Whether an expression makes an instance of the class, perhaps with methods behind it (``.eval()``)."""
    while isinstance(node, ast.Call):
        name = last_name(node.func)
        if name in wanted:
            return True
        if isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif node.args:
            node = node.args[0]
        else:
            return False
    return False


def _meant(call: ast.Call, scope: _Scope, target: Target, wanted: set[str]) -> ast.Call | None:
    """Return the call with the function's arguments, if it is one of the function."""
    function = call.func
    name = last_name(function)
    if not target.class_name:
        if name in wanted:
            return call
        if name in _WRAPPERS or name in {"assert_close", "gradcheck", "timeit", "benchmark", "check"}:
            return None
        inner = call.args[0] if call.args else None  # run(f, torch.randn(3, 4)), torch.compile(f)(x)
        if isinstance(function, ast.Call) and function.args and getattr(function.args[0], "id", "") in wanted:
            return call
        if isinstance(inner, ast.Name) and inner.id in wanted and len(call.args) > 1:
            return ast.copy_location(ast.Call(inner, call.args[1:], call.keywords), call)
        return None
    method = target.qualifier.partition(".")[2]
    if method:
        is_own = isinstance(function, ast.Attribute) and name == method
        owner = function.value if isinstance(function, ast.Attribute) else None
        known = last_name(owner) in scope.objects | wanted or (owner is not None and _makes(owner, wanted))
        return call if is_own and known else None
    if name == "forward" and isinstance(function, ast.Attribute):
        function = function.value
        name = last_name(function)
    is_object = not isinstance(function, ast.Call) and name in scope.objects
    return call if is_object or (isinstance(function, ast.Call) and _makes(function, wanted)) else None


def _told(target: Target, call: _Call) -> dict[str, Told]:
    place = TextPlace("call", call.path, call.node.lineno)
    given: dict[str, ast.expr] = {}
    positional = [item for item in target.arguments if not item.by_name]
    for item, node in zip(positional, call.node.args, strict=False):
        if isinstance(node, ast.Starred):
            values = value_of(node.value, call.scope)
            return (
                _spread(positional, values, place) if isinstance(values, Several) and node is call.node.args[0] else {}
            )
        given[item.name] = node
    given |= {item.arg: item.value for item in call.node.keywords if item.arg}
    names = {item.name for item in target.arguments}
    result: dict[str, Told] = {}
    for name, node in given.items():
        value = value_of(node, call.scope)
        if name in names and value is not None:
            told = _value_told(name, value, place)
            if told is not None:
                result[name] = told
    return result


def _spread(arguments: Sequence[Argument], values: Several, place: TextPlace) -> dict[str, Told]:
    found = {}
    for item, value in zip(arguments, values.items, strict=False):
        told = _value_told(item.name, value, place)
        if told is not None:
            found[told.name] = told
    return found


def _value_told(name: str, value: Value, place: TextPlace) -> Told | None:
    if isinstance(value, TensorShape):
        sizes = tuple(_spelled(size) for size in value.sizes)
        return Told(name, place, sizes, dtype=value.dtype, examples=tuple(size.value for size in value.sizes))
    if isinstance(value, Plain):
        return Told(name, place, is_plain=True, value=value.value)
    if isinstance(value, Several):
        plain = [item.value for item in value.items if isinstance(item, Plain)]
        return Told(name, place, is_plain=True, value=tuple(plain)) if len(plain) == len(value.items) else None
    return None


def _spelled(size: WrittenSize) -> str:
    """Return the name of a size, its number only for 1: other numbers are examples."""
    if size.name:
        found = size_of(size.name.strip("()") if size.name.count("(") == 1 else size.name)
        return found if found is not None and found != "_" and not found.isdigit() else UNNAMED
    return "1" if size.value == 1 else UNNAMED
