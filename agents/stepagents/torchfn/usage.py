"""How the body of a function uses its arguments: which are numbers, which only scale or shift. No torch here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from stepagents.torchfn.target import Argument, Target, last_name

CONVOLUTIONS: Final = frozenset({"conv1d", "conv2d", "conv3d"})
BETWEEN: Final = frozenset({"cdist", "pairwise_distance", "cosine_similarity"})  # tensors of as many dimensions each
_NUMBERS: Final = re.compile(
    r"^(?:dim|dims|axis|axes|eps|epsilon|tau|temperature|temp|lr|momentum|decay|weight_decay|dropout|dropout_p|stride|padding|dilation"
    r"|groups|heads|(?:num|n)_\w+|kernel_size|pool_size|window|window_size|patch_size|block_size|chunk_size|upscale|upscale_factor"
    r"|scale_factor|factor|num|count|steps|order|degree|power|exponent|margin|threshold|alpha|lam|lambda_|lmbda|slope|negative_slope"
    r"|head_dim|hidden_dim|num_heads|head_size|reduction|mode|causal|is_causal|training|keepdim|base|ratio|nhead|topk|top_k|rank|clip"
    r"|clip_value|max_norm|smoothing|label_smoothing|delta|beta1|beta2|radius|sigma|bandwidth)$"
)
_TAKES_NUMBERS: Final = frozenset(
    {"range", "view", "reshape", "chunk", "topk", "arange", "one_hot", "sqrt", "repeat", "unflatten", "roll", "split",
     "zeros", "ones", "full", "eye", "int", "float", "transpose", "sum", "mean", "softmax", "log_softmax", "unsqueeze",
     "squeeze", "cumsum", "dropout", "expand", "log", "pixel_shuffle", "repeat_interleave", "max_pool2d", "avg_pool2d",
     "adaptive_avg_pool2d", "clamp", "flatten", "kthvalue", "narrow", "select", "diagonal", "tril", "triu",
     "group_norm"}
)  # fmt: skip
_WHOLE: Final = frozenset(
    {"range", "view", "reshape", "chunk", "arange", "one_hot", "unflatten", "eye", "pixel_shuffle"}
)
_TRANSPOSED: Final = frozenset({"t", "T", "mT", "transpose", "permute", "matmul", "mm", "bmm"})
_PRODUCTS: Final = frozenset(
    {"matmul", "mm", "bmm", "linear", "einsum", "conv1d", "conv2d", "conv3d", "addmm", "mv", "tensordot"}
)
_ADDED: Final = frozenset({("addmm", 0), ("linear", 2), ("conv1d", 2), ("conv2d", 2), ("conv3d", 2)})  # biases
_SELECTING: Final = frozenset({"index_add", "index_add_", "index_select", "index_copy", "index_copy_"})
_GATHERING: Final = frozenset(
    {"gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_"}
)
_RESHAPING: Final = frozenset(
    {
        "view",
        "reshape",
        "unsqueeze",
        "expand",
        "to",
        "float",
        "expand_as",
        "view_as",
        "type_as",
        "[]",
        "abs",
        "exp",
        "sqrt",
        "rsqrt",
        "shape",
        "size",
        "dim",
        "ndim",
    }
)
_POINTWISE: Final = frozenset({"exp", "clamp", "log", "softplus", "sigmoid", "abs", "sqrt", "square", "pow"})
_WEIGHT: Final = re.compile(
    r"^(?:[A-Z]\w{0,2}|w\w{0,3}|w_\w+|(?:fc|lin)\w*|(?i:\w*(?:weight|proj|kernel|basis|matrix|table|emb|codebook)\w*|k|keys?))$"
)
_SYMBOL: Final = re.compile(r"^(?:[a-z]\d?|[a-z]_\w{1,4}|mu|nu|xi|rho|phi|psi|theta|eta|lam)$")
_NEXT: Final = re.compile(r"_?(?:new|next|t1)$|^(?:new|next)_")
_ACTIVATIONS: Final = frozenset({"tanh", "relu", "gelu", "sigmoid", "elu", "silu", "selu", "leaky_relu", "softplus"})
_STATE: Final = re.compile(r"^(?:h|c|s|hx|cx|state|hidden|cell|memory|mem|carry)(?:_prev|_t|0)?$")
# Weights that slide over what they meet: functions, and the place of the weight among their arguments.
KERNELS: Final = frozenset((name, place) for name in CONVOLUTIONS for place in (1, "weight"))
_JOINING: Final = frozenset(
    {"cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "meshgrid", "block_diag"}
)
_ROWS: Final = frozenset({"linear", "mm", "addmm", "bmm", "baddbmm"})  # products in which samples are rows
_MODULES: Final = frozenset({"torch", "F", "nn"})
_MATH: Final = frozenset({"math", "np", "numpy"})
_AXES: Final = re.compile(r"^(?:dim|dims|axis|axes)$")
_FRACTIONS: Final = re.compile(
    r"^(?:eps|epsilon|tau|temperature|temp|lr|momentum|\w*decay|dropout\w*|p|alpha|lam|lambda_|lmbda|\w*slope|margin|threshold|ratio"
    r"|\w*smoothing|delta|beta1|beta2|sigma|bandwidth|scale_factor|clip\w*|max_norm|gamma)$"
)


@dataclass(slots=True)
class Usage:
    """What the body does with one argument; names are those of functions that it is passed to, in their position."""

    as_number: bool = False
    multiplied: bool = False  # it is a factor or a term of an elementwise operation
    term: bool = False  # it is a term of one
    otherwise: bool = False  # anything else is done with it
    passed: set[tuple[str, int | str]] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)
    indices: set[str] = field(default_factory=set)  # names that alone stand in its brackets
    rank: int | None = None  # that the body demands
    whole: bool = False  # it is the index of a gather or scatter
    as_index: bool = False  # it stands in the brackets of another tensor, alone
    compared: bool = False  # it is compared for equality
    weight: bool = False  # an activation is multiplied by it: ``tanh(h) @ v``
    squeezed: bool = False  # the last size of its product is dropped
    shift: bool = False  # it is added to a product: ``x @ w + b``
    similar: bool = False  # it scales or shifts the product of one thing with the transpose of another: ``a @ b.t()``
    channel: bool = False  # one number of its second dimension is taken: ``x[:, 0]``
    joined: bool = False  # it is put beside something else
    pooled: bool = False  # the largest along dimension 1 is taken in the body
    looked_up: bool = False  # what an index reads from it is a factor or passed on
    looked_up_term: bool = False  # what an index reads from it is added to something that another table made
    alike: set[str] = field(default_factory=set)  # arguments that a function of the file takes at the same place
    twins: set[str] = field(default_factory=set)  # of these, those that it takes together with the same others
    trailing: int = 0  # of how many last dimensions its subscripts speak: ``x[..., :-1, :]``
    steps: set[str] = field(default_factory=set)  # variables of loops that stand first in its brackets
    indexed: int | None = None  # of how many dimensions its subscripts speak

    @property
    def in_product(self) -> bool:
        """Whether it takes part in a product of matrices."""
        return (
            "@" in self.methods
            or bool(self.methods & _TRANSPOSED)
            or any(name in _PRODUCTS and (name, place) not in _ADDED for name, place in self.passed)
        )


def usages(target: Target) -> dict[str, Usage]:
    """Return how each argument is used."""
    names = {item.name for item in target.arguments}
    found = {name: Usage() for name in names}
    parents = {child: node for node in ast.walk(_function(target)) for child in ast.iter_child_nodes(node)}
    for node, parent in parents.items():
        if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load):
            _note(found[node.id], node, parent, parents)
    for name, rank in _demanded(target):
        if name in found and found[name].rank is None:
            found[name].rank = rank
    for name, rank in _outer_layers(target):
        if name in found and found[name].indexed is None:
            found[name].indexed = rank
    _compare_tables(found)
    _compare_steps(target, found)
    _compare_helped(target, found)
    _compare_distances(target, found)
    pooled = any(_is_pooling(node) for node in parents)
    for usage in found.values():
        usage.pooled = pooled
        if usage.rank is None and usage.methods & {"t", "T"}:  # both are for matrices
            usage.rank = 2
    return found


def _outer_layers(target: Target) -> Iterator[tuple[str, int]]:
    """Yield arguments of layers whose results meet in pairs, ``f(x).unsqueeze(2) + g(y).unsqueeze(1)``."""
    for node in ast.walk(_function(target)):
        if isinstance(node, ast.BinOp):
            sides = [_layer_of(side) for side in (node.left, node.right)]
            axes = {axis for _, axis in sides}
            if len(axes) == 2 and min(axes) > 0:
                yield from ((name, max(axes) + 1) for name, _ in sides)


def _layer_of(node: ast.expr) -> tuple[str, int]:
    """Return the name and the axis of ``self.f(name).unsqueeze(axis)``, no name and -1 for all else."""
    match node:
        case ast.Call(
            func=ast.Attribute(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id="self")), args=[ast.Name(id=name)]),
                attr="unsqueeze",
            ),
            args=[ast.Constant(value=int(axis))],
        ):
            return name, axis
    return "", -1


def _is_pooling(node: ast.AST) -> bool:
    """Whether an expression takes the largest along dimension 1."""
    if not isinstance(node, ast.Call) or last_name(node.func) not in {"max", "amax"}:
        return False
    axes = [item.value for item in node.keywords if item.arg == "dim"] or node.args[-1:]
    return any(isinstance(axis, ast.Constant) and axis.value == 1 for axis in axes)


def _compare_distances(target: Target, found: Mapping[str, Usage]) -> None:
    """Sets between which distances are taken have as many dimensions: both are batches, or none is."""
    for node in ast.walk(_function(target)):
        if isinstance(node, ast.Call) and last_name(node.func) in BETWEEN:
            usages_of = [found[item.id] for item in node.args if isinstance(item, ast.Name) and item.id in found]
            ranks = {usage.rank for usage in usages_of if usage.rank is not None}
            for usage in usages_of:
                if usage.rank is None and len(ranks) == 1:
                    usage.rank = next(iter(ranks))


def _compare_helped(target: Target, found: Mapping[str, Usage]) -> None:
    """What a function of the file takes at the same place, ``rotate(q, cos)`` and ``rotate(k, cos)``, is alike."""
    own = {node.name for node in ast.walk(target.tree) if isinstance(node, ast.FunctionDef)}
    taken: dict[tuple[str, int], list[tuple[str, set[str]]]] = {}
    for node in ast.walk(_function(target)):
        if isinstance(node, ast.Call) and last_name(node.func) in own:
            names = {item.id for item in node.args if isinstance(item, ast.Name)}
            for place, item in enumerate(node.args):
                if isinstance(item, ast.Name) and item.id in found:
                    taken.setdefault((last_name(node.func), place), []).append((item.id, names))
    for (name, beside), *others in taken.values():
        first = found[name]
        for other, also in others:
            usage = found[other]
            if other != name:
                usage.rank, first.rank = usage.rank or first.rank, first.rank or usage.rank
                first.alike.add(other)
                if (beside & also) - {name, other}:  # area(boxes1) and area(boxes2) may be of sets of two sizes
                    first.twins.add(other)


def _compare_tables(found: Mapping[str, Usage]) -> None:
    """Of tables with one index, ``P[i]`` and ``b[i]``, those only added to what another gave are vectors."""
    for usage in found.values():
        others = [each for each in found.values() if each.indices and each.looked_up]
        usage.looked_up_term = usage.looked_up_term and any(each.indices & usage.indices for each in others)


def _compare_steps(target: Target, found: Mapping[str, Usage]) -> None:
    """Sequences of which one loop takes a step, ``rewards[t]`` and ``dones[t]``, have as many dimensions.

    They are no tables: ``values[t + 1]`` has one step more.
    """
    nodes = (node for node in ast.walk(_function(target)) if isinstance(node, (ast.For, ast.comprehension)))
    loops = {node.target.id for node in nodes if isinstance(node.target, ast.Name)}
    for usage in found.values():
        same = {each.rank for each in found.values() if each.rank is not None and each.steps & usage.steps & loops}
        if usage.rank is None and usage.indexed is None and len(same) == 1:
            usage.rank = same.pop()
    for usage in found.values():
        usage.indices -= loops


def _demanded(target: Target) -> Iterator[tuple[str, int]]:
    """Yield the numbers of dimensions that unpacked shapes and assertions name, until an argument is bound anew."""
    rebound: set[str] = set()
    nodes = [node for node in ast.walk(_function(target)) if isinstance(node, (ast.Assign, ast.Assert, ast.If))]
    for node in sorted(nodes, key=lambda node: node.lineno):
        found: list[tuple[str, int]] = []
        if isinstance(node, ast.Assign):
            unpacked, count = _shape_of(node.value), _count(node.targets[0])
            found += [(unpacked, count)] if unpacked and count else []
        elif isinstance(node, ast.Assert):
            found += _compared(node.test, ast.Eq)
        elif _raises(node):
            found += _compared(node.test, ast.NotEq)
        yield from (item for item in found if item[0] not in rebound)
        if isinstance(node, ast.Assign):
            rebound |= {
                each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
            }


def _raises(node: ast.If) -> bool:
    return any(isinstance(item, ast.Raise) for item in node.body)


def _compared(test: ast.expr, wanted: type[ast.cmpop]) -> list[tuple[str, int]]:
    found = []
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], wanted):
            left, right = node.left, node.comparators[0]
            name = _ranked(left)
            if name and isinstance(right, ast.Constant) and type(right.value) is int:
                found.append((name, right.value))
            elif _shape_of(left) and isinstance(right, ast.Tuple):
                found.append((_shape_of(left), len(right.elts)))
    return found


def _ranked(node: ast.expr) -> str:
    """Return the name of which an expression is the number of dimensions."""
    match node:
        case (
            ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="dim" | "ndimension"))
            | ast.Attribute(value=ast.Name(id=name), attr="ndim")
        ):
            return name
        case ast.Call(func=ast.Name(id="len"), args=[inner]):
            return _shape_of(inner)
    return ""


def _shape_of(node: ast.expr) -> str:
    """Return the name of which an expression is the shape."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr="shape"):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[], keywords=[]):
            return name
    return ""


def _count(target: ast.expr) -> int:
    is_tuple = isinstance(target, (ast.Tuple, ast.List)) and not any(
        isinstance(each, ast.Starred) for each in target.elts
    )
    return len(target.elts) if is_tuple and isinstance(target, (ast.Tuple, ast.List)) else 0


def _function(target: Target) -> ast.AST:
    inside: Iterator[ast.AST] = ast.walk(target.tree)
    kinds = (ast.FunctionDef, ast.Lambda)
    return next((node for node in inside if isinstance(node, kinds) and node.lineno == target.line), target.tree)


def _note(usage: Usage, node: ast.Name, parent: ast.AST, parents: dict[ast.AST, ast.AST]) -> None:
    above = parents.get(parent)
    is_joined = isinstance(parent, (ast.Tuple, ast.List)) and isinstance(above, ast.Call)
    usage.joined |= is_joined and isinstance(above, ast.Call) and last_name(above.func) in {"cat", "concat"}
    is_listed = isinstance(parent, ast.Tuple) and isinstance(above, ast.Call) and last_name(above.func) not in _JOINING
    if isinstance(parent, ast.BinOp):
        _note_operand(usage, node, parent, above)
    elif isinstance(parent, (ast.Call, ast.keyword)):
        _note_passed(usage, node, parent, parents.get(parent))
    elif isinstance(parent, ast.Attribute):
        usage.methods.add(parent.attr)
        usage.otherwise = True
        factor = parents.get(parents.get(parent, parent))
        usage.similar |= parent.attr == "exp" and isinstance(factor, ast.BinOp) and _is_similarity(factor)
    elif isinstance(parent, ast.Subscript) and parent.value is node:
        usage.methods.add("[]")
        usage.otherwise = True
        _note_index(usage, parent.slice)
        _note_step(usage, parent.slice)
        around = parents.get(above) if isinstance(above, ast.Tuple) else above
        if isinstance(around, ast.Subscript) and above in {around.slice, parent} and around.value is not parent:
            usage.whole = True  # table[x[0]], table[:, x[t]]
            usage.as_index |= isinstance(parent.slice, ast.Name)
        if isinstance(parent.slice, ast.Name):
            usage.indices.add(parent.slice.id)
            is_term = isinstance(above, ast.BinOp) and isinstance(above.op, (ast.Add, ast.Sub))
            usage.looked_up_term |= is_term
            usage.looked_up |= not is_term
    elif isinstance(parent, ast.Subscript):
        usage.as_index = usage.otherwise = True
    elif isinstance(parent, ast.Compare) and isinstance(parent.ops[0], (ast.Eq, ast.NotEq)) and not _is_text(parent):
        usage.compared = usage.otherwise = True
    elif isinstance(parent, (ast.Slice, ast.JoinedStr, ast.FormattedValue)) or _is_text(parent) or is_listed:
        usage.as_number = True
    else:
        usage.otherwise = True


def _is_similarity(node: ast.expr) -> bool:
    """Whether an expression is ``a @ b.t()``, perhaps scaled: the second factor is data like the first, no weight."""
    match node:
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            return _is_transposed(right) and isinstance(left, ast.Name)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() | ast.Add(), right=right):
            return _is_similarity(left) or _is_similarity(right)
    return False


def _is_transposed(node: ast.expr) -> bool:
    """Whether an expression is the transpose of something that no weight is named."""
    match node:
        case (
            ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="t"))
            | ast.Attribute(value=ast.Name(id=name), attr="T")
        ):
            return not _WEIGHT.match(name)
    return False


def _note_step(usage: Usage, index: ast.expr) -> None:
    """Note the variable of ``x[t]`` and ``x[t + 1]``."""
    first = index.left if isinstance(index, ast.BinOp) else index
    if isinstance(first, ast.Name):
        usage.steps.add(first.id)


def _is_text(parent: ast.AST) -> bool:
    """Whether something is compared with a text."""
    others = parent.comparators if isinstance(parent, ast.Compare) else []
    return any(isinstance(item, ast.Constant) and isinstance(item.value, str) for item in others)


def _is_activation(node: ast.expr) -> bool:
    """Whether an expression is an activation, which a layer's weight is multiplied with."""
    return isinstance(node, ast.Call) and last_name(node.func) in _ACTIVATIONS


def _note_operand(usage: Usage, node: ast.Name, parent: ast.BinOp, above: ast.AST | None) -> None:
    if isinstance(parent.op, (ast.Mult, ast.Add, ast.Sub, ast.Div)):
        usage.multiplied = True
        usage.term |= isinstance(parent.op, (ast.Add, ast.Sub))
        other = parent.left
        usage.shift |= (
            isinstance(parent.op, ast.Add) and isinstance(other, ast.BinOp) and isinstance(other.op, ast.MatMult)
        )
        usage.similar |= other is not node and _is_similarity(other)
    elif isinstance(parent.op, (ast.FloorDiv, ast.Mod, ast.Pow)) and parent.right is node:
        usage.as_number = True
    else:
        usage.otherwise = True
        if isinstance(parent.op, ast.MatMult):
            usage.methods.add("@")
            usage.weight |= parent.right is node and _is_activation(parent.left)
            usage.squeezed |= isinstance(above, ast.Attribute) and above.attr == "squeeze"


def _note_passed(usage: Usage, node: ast.Name, parent: ast.Call | ast.keyword, call: ast.AST | None) -> None:
    if isinstance(parent, ast.Call):
        place = next((index for index, item in enumerate(parent.args) if item is node), -1)
        name, owner = _callee(parent)
        usage.passed.add((name, place))
        usage.as_index |= name in _SELECTING and place == 1 + (owner in _MODULES)
        usage.whole |= name in _GATHERING and place == 1 + (owner in _MODULES)
        plain = place > 0 or owner not in _MODULES or name in {"range", "arange", "eye", "int"}
        usage.as_number |= owner in _MATH or (name in _TAKES_NUMBERS and plain)
        usage.otherwise |= owner not in _MATH and not (name in _TAKES_NUMBERS and plain)
        return
    name = _callee(call)[0] if isinstance(call, ast.Call) else ""
    usage.passed.add((name, parent.arg or ""))
    if parent.arg and _NUMBERS.match(parent.arg):
        usage.as_number = True
    else:
        usage.otherwise = True


def _callee(call: ast.Call) -> tuple[str, str]:
    """Return the name of a called function and that of what it is an attribute of."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return last_name(call.func), getattr(owner, "id", "?")


def _note_index(usage: Usage, index: ast.expr) -> None:
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    values = [item.value for item in items if isinstance(item, ast.Constant)]
    if Ellipsis in values and len(items) > 2 and None not in values:
        usage.trailing = max(usage.trailing, len(items) - 1)
    if Ellipsis in values or len(items) == 1:
        return
    count = sum(not (isinstance(item, ast.Constant) and item.value is None) for item in items)
    if len(items) == 2 and isinstance(items[0], ast.Slice) and isinstance(items[1], ast.Name):
        count = 3  # x[:, t] is a step of a sequence
    usage.channel |= len(items) == 2 and _is_all(items[0]) and isinstance(items[1], ast.Constant)
    usage.indexed = max(usage.indexed or 0, count)


def _is_all(index: ast.expr) -> bool:
    return isinstance(index, ast.Slice) and index.lower is index.upper is index.step is None


def is_number(argument: Argument, usage: Usage) -> bool:
    """Whether an argument is a number rather than a tensor, as far as its name and its use tell."""
    if usage.as_number and not usage.otherwise:
        return True
    named = _NUMBERS.match(argument.name) is not None
    return (
        named
        and not any(name in {"matmul", "linear", "einsum", "bmm"} for name, _ in usage.passed)
        and not any(place == "window" for _, place in usage.passed)  # of a Fourier transform
        and not usage.otherwise
    )


def first_value(argument: Argument, usage: Usage) -> object:
    """Return a value to begin with for a number that nothing tells."""
    if _AXES.match(argument.name):
        return -1
    if _FRACTIONS.match(argument.name) and not any(name in _WHOLE for name, _ in usage.passed):
        return 1e-5 if argument.name.startswith("eps") else 0.5
    return 2


def is_scalar_factor(usage: Usage) -> bool:
    """Whether an argument is nothing but a factor or a term, perhaps behind a function such as ``exp``."""
    called = {name for name, _ in usage.passed}
    return not usage.in_product and usage.methods <= _POINTWISE | {"to", "float"} and called <= _POINTWISE


def kept_states(target: Target) -> dict[str, int]:
    """Return arguments that are bound anew and returned, with others or as a state by name: a state keeps its shape.

    ``return h, c`` of a cell. Each has its place among what is returned, -1 where it is all.
    """
    names = {item.name for item in target.arguments}
    nodes = list(ast.walk(_function(target)))
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    returned = [node.value for node in nodes if isinstance(node, ast.Return) and node.value is not None]
    if len(returned) != 1:
        return {}
    is_tuple = isinstance(returned[0], ast.Tuple)
    items = returned[0].elts if isinstance(returned[0], ast.Tuple) else returned
    found: dict[str, int] = {}
    for place, item in enumerate(items):
        own = _NEXT.sub("", item.id) if isinstance(item, ast.Name) and item.id in bound else ""
        if own in names:
            found[own] = place if is_tuple else -1
    return found if len(found) > 1 else {name: place for name, place in found.items() if _STATE.match(name)}


def columns(target: Target, uses: Mapping[str, Usage]) -> frozenset[str]:
    """Return arguments that are vectors by the convention of formulas: capitals are matrices, ``z - H @ x``.

    That holds where several capitals stand and samples are nowhere rows of a product (``x @ W``). ``uses`` are the
    :func:`usages` of the function.
    """
    names = {item.name for item in target.arguments if not item.name[0].isupper()}
    nodes = list(ast.walk(_function(target)))
    products = [node for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)]
    rows = {node.left.id for node in products if isinstance(node.left, ast.Name)}
    called = {last_name(node.func) for node in nodes if isinstance(node, ast.Call)}
    if sum(item.name[0].isupper() for item in target.arguments) < 2 or rows & names or called & _ROWS:
        return frozenset()
    inner = [node.left for node in products]  # A @ h @ W: h has rows
    meant = {
        node.right.id
        for node in products
        if isinstance(node.right, ast.Name) and node not in inner and _root(node.left)[:1].isupper()
    } & names
    if not meant:
        return frozenset()
    terms = {name for name in names if _SYMBOL.match(name) and uses[name].multiplied and not uses[name].otherwise}
    return frozenset(meant | terms)


def _root(node: ast.expr) -> str:
    """Return the name that a product begins with: ``A`` of ``A.T @ P @ x``."""
    while True:
        match node:
            case ast.BinOp(left=inner) | ast.Attribute(value=inner) | ast.Call(func=ast.Attribute(value=inner)):
                node = inner
            case _:
                return last_name(node)


def only_scales(usage: Usage) -> bool:
    """Whether an argument is nothing but a factor or a term, perhaps brought into a shape for that."""
    return not usage.in_product and not usage.passed and usage.methods <= _RESHAPING | _POINTWISE
