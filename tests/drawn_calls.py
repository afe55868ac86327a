"""Draws calls of torch and expressions over tensors, and compares what check knows of their values with torch's.

Three kinds of texts: calls by torch's own schemas, expressions as people write them, and blocks of statements. Where
torch computes a value, inference has no finding, and whatever it knows of shape, element type, number or list is so.
What torch refuses is nobody's affair here: whether check says so is asked elsewhere (``test_fn_agreement``).
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any, NamedTuple

import torch

from stepcore.fn import allow
from stepcore.fn.decl import FnScope
from stepcore.fn.shapes.rules import CASTS
from stepcore.fn.shapes.statements import BodyStatements
from stepcore.fn.shapes.values import AbstractTensor, LikeItems, Number, Pair
from stepcore.sizes.dim import Dim

SIZES = {"M": 2, "N": 3, "K": 4, "D": 1, "E": 6}
TEXTS = 12  # of a case
NAMES = "abcdefgh"  # of its tensors: ``f`` holds indices and ``h`` truth values
_DTYPES = {short: getattr(torch, name) for name, short in CASTS.items()}
_CALLED = ("torch", "torch.nn.functional", "torch.linalg", "torch.special")
_KINDS = {"float": (float,), "int": (int,), "bool": (bool,), "number": (int, float, bool)}
_PREFIX = {"torch.linalg": "linalg_", "torch.special": "special_"}
_NEVER = ("out", "layout", "device", "pin_memory", "memory_format", "generator", "names", "size_average", "reduce")

# ``$t`` a tensor, ``$l`` a list of some, ``$n`` a number, ``$s`` a size, ``$d`` a dimension, ``$h`` sizes, ``$x`` an
# index. Of statements ``/`` divides lines.
TENSORS = """
$t.T ¦ $t[$x] ¦ $t[$x, $x] ¦ $t[..., $x] ¦ $t[$x, ...] ¦ $t[$x, $x, $x] ¦ $t[None] ¦ $t[f] ¦ $t[h] ¦ $t[$t > 0]
$t[[0, 1]] ¦ $t[True] ¦ $t + $t ¦ $t * $n ¦ $n - $t ¦ $t / $n ¦ $t // $n ¦ $t % $n ¦ $t ** $n ¦ -$t ¦ ~$t ¦ abs($t)
$t & $t ¦ $t == $t ¦ $t < $n ¦ $t @ $t.T ¦ sum($l) ¦ max($l) ¦ min($t, $t) ¦ max($t.sum(), $n) ¦ $l[0] ¦ $l[-1]
($t if $c else $t) ¦ ($t if $c else $n) * $t ¦ $t @ $t ¦ $t.max($d)[0] ¦ $t.max($d).indices ¦ $t.topk(1, $d)[1]
$t.sort($d)[0] ¦ $t.aminmax()[0] ¦ $t.min(dim=$d, keepdim=True)[0] ¦ torch.stack($l) ¦ torch.stack($l, $d)
torch.cat($l, $d) ¦ torch.hstack($l) ¦ torch.vstack([$t, $t]) ¦ torch.stack($l, axis=$d) ¦ torch.zeros($s)
torch.ones($s, $s) ¦ torch.full($h, $n) ¦ torch.zeros($h) ¦ torch.arange($s) ¦ torch.arange($n, $n) ¦ torch.eye($s)
$t.view($h) ¦ $t.reshape($h) ¦ $t.reshape(-1, $s) ¦ $t.flatten($d) ¦ $t.expand($s, *$t.shape) ¦ $t.repeat($s, 1)
$t.repeat($h) ¦ $t.permute(1, 0) ¦ $t.transpose($d, $d) ¦ $t.unsqueeze($d) ¦ $t.squeeze() ¦ $t.squeeze($d)
$t.unfold($d, 2, 1) ¦ $t.movedim(0, -1) ¦ $t.sum() ¦ $t.sum($d) ¦ $t.sum($d, True) ¦ $t.sum((0, 1)) ¦ $t.sum(())
$t.any() ¦ $t.all($d) ¦ $t.norm(2, $d) ¦ $t.sum(axis=$d) ¦ $t.std($d) ¦ $t.var(unbiased=False)
$t.var($d, correction=0) ¦ $t.argmax(keepdim=True) ¦ $t.logsumexp($d) ¦ $t.cumsum($d) ¦ $t.mean(-1, keepdims=True)
torch.max($t, $t) ¦ torch.max($t, other=$t) ¦ torch.sum(input=$t, dim=$d) ¦ $t.prod($d) ¦ $t.mean()
torch.where($t > 0, $t, $n) ¦ torch.where($t > 0, $t, $t) ¦ $t.masked_fill($t > 0, $n) ¦ $t.clamp($n)
$t.clamp(max=$n) ¦ $t.float() ¦ $t.long() ¦ $t.to(torch.float64) ¦ $t.to($t) ¦ $t.to('cpu', torch.float32)
$t.view(torch.int32) ¦ $t.half() ¦ torch.pow($n, $t) ¦ $t.softmax($d) ¦ torch.add($t, $t, alpha=2)
torch.sub($n, $t) ¦ torch.lerp($t, $t, $t) ¦ torch.isclose($t, $t) ¦ $t.gather($d, $t.argsort($d))
$t.index_select($d, torch.tensor([0])) ¦ $t.flip(0) ¦ $t.roll(1, 0) ¦ $t.tril() ¦ $t.clone().add_($t)
torch.outer($t, $t) ¦ torch.einsum('ij,jk->ik', $t, $t) ¦ torch.tensordot($t, $t.T, 1) ¦ $t.matmul($t)
$t.diagonal() ¦ $t.tile($s) ¦ torch.nn.functional.linear($t, $t) ¦ torch.nn.functional.one_hot(f, $s)
torch.nn.functional.one_hot(f, -1) ¦ torch.nn.GELU()($t) ¦ torch.nn.functional.layer_norm($t, $t.shape[-1:])
torch.nn.functional.cosine_similarity($t, $t, dim=$d) ¦ torch.nn.Flatten()($t) ¦ torch.nn.functional.pad($t, (1, 1))
torch.nn.functional.conv2d($i, torch.ones(2, $s, 2, 2), None, $s) ¦ torch.nn.AvgPool2d(2, 1)($i)
torch.nn.functional.conv2d($i, torch.ones(4, 1, 2, 2), groups=$s) ¦ torch.nn.functional.max_pool2d($i, 2, $s, 1)
$t.new_zeros($h) ¦ torch.nn.functional.avg_pool1d($i[0], 2, $h) ¦ torch.nn.functional.unfold($i, $s)
torch.nn.functional.fold($t, (3, 3), 2) ¦ torch.nn.functional.interpolate($i, scale_factor=2)
torch.nn.functional.unfold($i, 2, padding=1, stride=2) ¦ torch.nn.MaxPool2d(2)($i) ¦ $t.chunk($s)[0]
$t.chunk(2, $d)[-1] ¦ $t.split($s, $d)[0] ¦ $t.split([1, 1])[0] ¦ $t.unbind($d)[0] ¦ $t.tensor_split(2, $d)[1]"""
OTHERS = {
    "l": """
    [$t, $t] ¦ ($a, $a) ¦ [$a] * 2 ¦ [$a, $a] + [$a] ¦ list($t) ¦ $t.unbind() ¦ $t.chunk(2) ¦ [q for q in $t]
    [*$t] ¦ $l[:1] ¦ [$a for _ in range($s)] ¦ [$t[i] for i in range(len($t))] ¦ [p + q for p, q in zip($t, $t)]
    [q for _, q in enumerate($t)]""",
    "n": """
    0 ¦ 1 ¦ 2 ¦ -1 ¦ 0.5 ¦ True ¦ M_value ¦ len($a) ¦ $a.shape[0] ¦ $a.ndim ¦ K_value // 2 ¦ ~M_value
    -(M_value > 1) ¦ 2 ** -1 ¦ $a.sum().item() ¦ int($a.sum()) ¦ float($a.max()) ¦ torch.inf ¦ max(M_value, 2)
    $a.any().item() ¦ M_value % 2 ¦ math.pi ¦ not M_value""",
    "s": """
    1 ¦ 2 ¦ 3 ¦ M_value ¦ N_value ¦ D_value ¦ $a.shape[-1] ¦ len($a) ¦ K_value // 2 ¦ $a.size(0) ¦ int(M_value / 1)""",
    "h": """
    ($s, $s) ¦ [$s] ¦ $a.shape ¦ $a.size() ¦ ($s, -1) ¦ $a.shape[1:] ¦ $a.shape[:-1] ¦ list($a.shape)
    [1, *$a.shape] ¦ $a.shape[::-1] ¦ [s for s in $a.shape] ¦ $a.shape[:1] + $a.shape[1:] ¦ () ¦ $s""",
    "x": """
    0 ¦ -1 ¦ : ¦ 1: ¦ :-1 ¦ ::2 ¦ None ¦ $s ¦ :$s ¦ f ¦ [0] ¦ M_value - 1 ¦ ... ¦ True ¦ h ¦ $a > 0 ¦ $a.argmax()
    ~1""",
    "c": "$a.sum() > 0 ¦ M_value > 1 ¦ $a.shape[0] > 1 ¦ $a.dim() == 2 ¦ not $a.any() ¦ len($a.shape) > 1",
    "d": "0 ¦ 1 ¦ -1 ¦ -2 ¦ 2",
    "i": "torch.ones(2, 4, 5) ¦ torch.ones(1, 2, 4, 4) ¦ torch.ones(M_value, 2, K_value, E_value)",
    "a": " ¦ ".join("a" + NAMES),
    "e": """
    $t ¦ $t ¦ $t ¦ $l ¦ $n ¦ $h ¦ $n + $n ¦ $n * $n ¦ -$n ¦ len($l) ¦ $t.max($d) ¦ torch.var_mean($t, $d) ¦ $t.shape
    $t.item()""",
}  # fmt: skip
STATEMENTS = """
y = y + $t ¦ y += $t ¦ y = y.sum($d) ¦ y[$x] = $n ¦ y @= $t ¦ p, q = $t.max($d)/y = p
p, q = $t.shape/y = torch.ones(q, p) ¦ *p, q = $t.shape/y = torch.zeros(*p, q) ¦ p = $l/y = sum(p)
s = $h/y = $t.new_zeros(s) ¦ k = $x/y = $t[k] ¦ n = $n/y = $t * n ¦ for q in $t:/    y = q
for i in range($s):/    y = y + $t ¦ p = []/for q in $t:/    p.append(q * 2)/y = torch.stack(p) ¦ if $c:/    y = $t
if $c:/    y = $t/else:/    y = y * 2 ¦ y = $t if $c else $n ¦ if not $c:/    y = $t.sum()
y = $t.clone()/y.copy_($t) ¦ g = lambda x: x.sum($d)/y = g($t) ¦ def g(x):/    return x * 2/y = g($t)
m = $t > 0/y = $t[m]"""


class Drawn(NamedTuple):
    """One text, whose value is that of ``y``, with what it was drawn for: torch computed it, and what is wrong."""

    text: str
    ran: bool
    wrong: str = ""
    passed: str = ""  # what torch refuses and check does not: torch's words


class _Followed(BodyStatements):
    def returned(self, node: ast.expr, scope: dict[str, Any]) -> None:
        """A function within a block is not followed."""


def drawn(seed: int) -> Iterator[Drawn]:
    """Draw a few texts over the same tensors, and compare."""
    case = _Case(seed)
    for _ in range(TEXTS):
        yield case.compared(case.text())


class Known:
    """Tensors that are told by their sizes, and what check knows of texts over them."""

    def __init__(self, random: Random, given: Mapping[str, Any]) -> None:
        """Make tensors of what is ``given``: of each its ``sizes``, ``dtype``, and what its numbers are ``below``."""
        self.random = random
        self.tensors: dict[str, torch.Tensor] = {}
        self.known: dict[str, AbstractTensor] = {}
        generator = torch.Generator().manual_seed(random.getrandbits(32))
        for name, each in given.items():
            self._bind(name, [self._symbol(size) for size in each.sizes], each.dtype, each.below, generator)

    def _symbol(self, size: int) -> str:
        """Name a size by a symbol that is bound to it, now and then."""
        names = [name for name, bound in SIZES.items() if bound == size]
        return names[0] if names and self.random.random() < 0.5 else str(size)

    def _bind(self, name: str, sizes: Sequence[str], dtype: str, below: int, generator: torch.Generator) -> None:
        numbers = torch.rand([SIZES.get(size) or int(size) for size in sizes], generator=generator)
        # What is told no bound is -0.5 to 2.5, and 0 instead of what is less.
        numbers = (numbers * below).floor() if below else (numbers * 3 - 0.5).relu()
        self.tensors[name] = numbers.to(_DTYPES[dtype])
        dims = tuple(Dim.symbol(size) if size in SIZES else Dim.of(int(size)) for size in sizes)
        self.known[name] = AbstractTensor(dims, dtype)

    def compared(self, text: str, *, is_asked: bool = False) -> Drawn:
        """Return what differs between torch and inference; what torch refuses too, where that ``is_asked``."""
        try:
            tree = ast.parse(text)
            value = self._computed(tree)
        except Exception as error:  # noqa: BLE001 - torch and Python refuse calls with whatever error
            is_passed = is_asked and not self._followed(ast.parse(text), is_certain=True)[0].findings
            return Drawn(text, ran=False, passed=f"{error}\n{self.known}" if is_passed else "")
        for is_certain in (True, False):
            if not is_certain and any(isinstance(node, ast.If | ast.IfExp) for node in ast.walk(tree)):
                continue  # functions are looked at in both arms
            followed, names = self._followed(tree, is_certain=is_certain)
            if followed.findings:
                return Drawn(text, ran=True, wrong=f"refused: {followed.findings[0].message}\n{self.known}")
            if told := _unlike(followed, names.get("y"), value):
                return Drawn(text, ran=True, wrong=f"{told}\n{self.known}")
        return Drawn(text, ran=True)

    def _followed(self, tree: ast.Module, *, is_certain: bool) -> tuple[_Followed, dict[str, Any]]:
        followed = _Followed(_SCOPE, None)
        followed.certain_only, followed.body = is_certain, tree.body
        names = {**followed.names, **self.known}
        followed.block(tree.body, names)
        return followed, names

    def _computed(self, tree: ast.Module) -> Any:
        """Run a text that was drawn here, on copies of the tensors."""
        names: dict[str, Any] = {"torch": torch, "math": math} | {f"{name}_value": size for name, size in SIZES.items()}
        names |= {name: tensor.clone() for name, tensor in self.tensors.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(tree, "<drawn>", "exec"), names)
        return names["y"]


class _Case(Known):
    def __init__(self, seed: int) -> None:
        super().__init__(Random(seed), {})
        generator = torch.Generator().manual_seed(seed)
        shape = [self._size() for _ in range(self.random.choice((0, 1, 2, 2, 2, 3, 3, 4)))]
        usual = self.random.choice(["fp32"] * 6 + [*_DTYPES])
        for name in NAMES:
            sizes = shape if name == "a" else self._like(shape)
            dtype = {"f": "int64", "h": "bool"}.get(name) or (
                usual if self.random.random() < 0.7 else self.random.choice([*_DTYPES])
            )
            self._bind(name, sizes, dtype, 0, generator)

    def _size(self) -> str:
        return self.random.choice("MNKD1234")

    def _like(self, shape: list[str]) -> list[str]:
        """Return a shape that has to do with another: equal, broadcast, turned round, or of its last sizes."""
        cut = self.random.randrange(len(shape) + 1)
        ones = [size if self.random.random() < 0.6 else "1" for size in shape]
        others = [self._size() for _ in range(self.random.choice((0, 1, 2, 2, 3)))]
        return self.random.choice([shape, shape, ones, shape[cut:], shape[::-1], [*shape[-1:], self._size()], others])

    def text(self) -> str:
        """Draw a text that binds ``y``."""
        kind = self.random.random()
        if kind < 0.4:
            return f"y = {self._call()}"
        if kind < 0.7:
            return f"y = {self._filled('$e', 2)}"
        lines = self._one(STATEMENTS).replace("/", "\n")
        return f"y = {self._filled('$t', 1)}\n{self._filled(lines, 1)}"

    def _one(self, table: str) -> str:
        return self.random.choice(_entries(table))

    def _filled(self, text: str, depth: int) -> str:
        return re.sub(r"\$([a-z])", lambda found: self._part(found[1], depth), text)

    def _part(self, kind: str, depth: int) -> str:
        if kind == "t":
            if depth <= 0 or self.random.random() < 0.5:
                return self.random.choice("aa" + NAMES)
            return f"({self._filled(self._one(TENSORS), depth - 1)})"
        if kind == "l" and depth < -2:
            return "[a, b]"
        inner = self._filled(self._one(OTHERS[kind]), depth - (kind in "lnh"))
        return f"({inner})" if kind in "nc" else inner

    def _call(self) -> str:
        """Draw a call by one of the schemas of a function or a method."""
        space, name = self.random.choice(_callables())
        params = self.random.choice(_schemas()[_PREFIX.get(space, "") + name])
        is_method = space == "torch.Tensor"
        given, words = [], []
        for parameter in params[is_method:]:
            if parameter.name in _NEVER or (parameter.has_default_value() and self.random.random() < 0.5):
                words.append("")  # what follows is given by name
                continue
            value = self._argument(parameter.name, str(parameter.type))
            if words or parameter.kwarg_only or self.random.random() < 0.15:
                names = {"self": ["input"], "dim": ["dim", "axis"]}.get(parameter.name, [parameter.name])
                words.append(f"{self.random.choice(names)}={value}")
            else:
                given.append(value)
        arguments = ", ".join([*given, *filter(None, words)])
        owner = f"{self.random.choice('aa' + NAMES)}.clone()" if is_method else space
        return f"{owner}.{name}({arguments})"

    def _argument(self, name: str, kind: str) -> str:
        """Draw an argument by the name and the type of its parameter."""
        if name == "dtype":
            return self.random.choice(("torch.float32", "torch.float64", "torch.int64", "torch.bool", "torch.float16"))
        if kind.endswith("?") or kind.startswith("Optional"):
            return "None" if self.random.random() < 0.3 else self._argument(name, _inner(kind))
        if kind.startswith("List[Tensor"):
            return self._filled("$l", 0)
        if kind == "Tensor":
            return {"index": "f", "mask": "h"}.get(name, self.random.choice("aa" + NAMES))
        if "dim" in name and "int" in kind:
            return self._filled(self._one("$d ¦ ($d,) ¦ [$d, $d] ¦ $d") if "List" in kind else "$d", 0)
        if kind.startswith("List"):
            return self._filled("$h", 0)
        if kind == "bool":
            return self.random.choice(("True", "False"))
        if kind == "str":
            return self.random.choice(("'mean'", "'floor'", "'fro'", "'amax'", "'sum'"))
        return self._filled("$s" if kind in ("int", "SymInt") else "$n", 0)


_SCOPE = FnScope(symbols=tuple(SIZES), sizes=tuple(SIZES.items()))


@cache
def _entries(table: str) -> list[str]:
    return [entry for line in table.strip().splitlines() for entry in line.strip().split(" ¦ ")]


def _inner(kind: str) -> str:
    return kind.removesuffix("?").removeprefix("Optional[").removesuffix("]") if "List" not in kind else kind[9:-1]


@cache
def _schemas() -> dict[str, list[list[Any]]]:
    """Return the parameters of all overloads that write nowhere, by the name of their operation: those on tensors."""
    found: dict[str, list[list[Any]]] = {}
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        parameters = list(schema.arguments)
        is_of_text = [str(parameter.type) for parameter in parameters[:1]] == ["str"]  # of Python, for TorchScript
        if space == "aten" and not is_of_text and not any(parameter.is_out for parameter in parameters):
            found.setdefault(name, []).append(parameters)
    return found


@cache
def _callables() -> list[tuple[str, str]]:
    """Return the spaces and names of what the allow-list admits and torch has a schema of; nothing that draws."""
    pure = {space: allow.NAMESPACES[space][0] - allow.DRAWING.get(space, frozenset()) for space in _CALLED}
    pure["torch"] -= {"range"}  # ends the process where its step is less than 1 and its type is one of whole numbers
    pure["torch.Tensor"] = allow.TENSOR_METHODS - allow.RANDOM_METHODS
    known = _schemas()
    return [(space, name) for space in pure for name in sorted(pure[space]) if _PREFIX.get(space, "") + name in known]


def _unlike(followed: _Followed, known: Any, value: Any) -> str:
    """Return how what is known differs from a value, nothing where it does not."""

    def number(size: Dim | None) -> int | None:
        return None if size is None else followed.compare.bound(size)

    def differ(known: Any, value: Any) -> bool:
        match known:
            case None:
                return False
            case AbstractTensor(shape=shape, dtype=dtype):
                if not isinstance(value, torch.Tensor) or (dtype is not None and _DTYPES[dtype] != value.dtype):
                    return True
                sizes = [None] * value.dim() if shape is None else [number(size) for size in shape]
                return len(sizes) != value.dim() or any(
                    size not in (None, real) for size, real in zip(sizes, value.shape, strict=True)
                )
            case Dim():
                return type(value) is not int or number(known) not in (None, value)
            case Number(kind=kind):
                is_constant = kind == "float" and isinstance(value, torch.dtype | complex)
                return kind != "any" and not is_constant and type(value) not in _KINDS[kind]
            case Pair(values=first, indices=second):
                return len(value) != 2 or differ(first, value[0]) or differ(second, value[1])
            case LikeItems(item=item, count=count):
                return number(count) not in (None, len(value)) or any(differ(item, each) for each in value)
            case list() | tuple():
                return len(known) != len(value) or any(map(differ, known, value))
        return False

    return f"known is {known}, and torch gives {_shown(value)}" if differ(known, value) else ""


def _shown(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor of {tuple(value.shape)} and {value.dtype}"
    return f"{[_shown(each) for each in value]}" if isinstance(value, list | tuple) else repr(value)
