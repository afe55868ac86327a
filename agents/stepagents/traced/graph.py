"""What a trace of a PyTorch function delivers: its graph, its sizes as symbols, and where every operation came from.

The graph is traced at concrete sizes several times, each time with other sizes; an integer that follows the sizes is
written as an expression of them. So no symbolic shape of PyTorch (with its constraints on 0, 1 and remainders) is in
the graph, and yet every size is known as an expression. Loads torch only for type checkers.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import field
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Literal

from stepcore.records import Record
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from torch import Tensor
    from torch.fx import Graph, GraphModule, Node

Kind = Literal["user", "weight", "constant"]

# Keys of ``node.meta``. Every call node has DIMS and LINES; the others only where there is something to tell.
# DIMS: tuple[Dim, ...] outermost first; a tuple of such tuples for an operation with several results.
DIMS: Final = "step_dims"
LINES: Final = "step_lines"  # (path, line) in the user's source, or None where PyTorch does not know it
SIZES: Final = "step_sizes"  # dict[argument path, Dim]: integers among the arguments that follow the sizes
SCALARS: Final = "step_scalars"  # dict[argument path, str]: floats that follow the sizes, such as "1 / K_value"
FIXED: Final = "step_fixed"  # Tensor at the trace sizes: the node depends on no input (a mask, positions, zeros)
# An argument path holds indices into ``node.args``, or first a string where it is a keyword: (1,), (2, 0), ("dim",).
Path = tuple[int | str, ...]


class TracedInput(Record):
    """One placeholder of the graph; ``name`` is the placeholder's name, a valid identifier, unique in the graph.

    ``dims`` are outermost first, as PyTorch writes shapes; ``dtype`` is spelled as in task files (``fp32``).
    ``value`` is what a weight or a constant holds at the trace sizes, None for what the user passes. ``origin`` is the
    user's own name: of the argument, or the attribute of the module (``layers.0.weight``), which ``from:`` writes.
    ``data_gen`` is how test data are drawn (as in task files), ``below`` the bound of whole numbers that are drawn, and
    ``least`` the smallest of them.
    """

    name: str
    dims: tuple[Dim, ...]
    dtype: str
    kind: Kind = "user"
    value: Tensor | None = None
    origin: str = ""
    data_gen: str = "torch.randn"
    below: int | None = None
    least: int | None = None


class TracedOutput(Record):
    """One result: the name of its node in the graph (or of a placeholder), its sizes outermost first, its dtype."""

    node: str
    dims: tuple[Dim, ...]
    dtype: str


class ModuleState(Record):
    """What a module holds besides the weights that are passed; ``plain`` are attributes that became buffers.

    ``kept``: a call may change the module, or runs on tensors that nobody passes. ``named``: ``get_init_inputs()``
    gives a list and a dictionary, not the arguments themselves. ``by_name``: it is no PyTorch module, so that its
    method ``forward`` is called by name.
    """

    plain: tuple[str, ...] = ()
    kept: bool = False
    named: bool = False
    by_name: bool = False


class TracedFunction(Record):
    """A user's function as core ATen operations.

    Attributes:
        name: an identifier for the program (the function's or the class' name).
        path: the user's file; ``line`` is the function's first line, counted from 1.
        inputs: the placeholders of ``graph``, in their order: weights and constants first or last as traced.
        outputs: the results, in order. A tensor may be returned twice.
        graph: core ATen after decomposition, functional (nothing is updated in place). ``meta['val']`` of a node is a
            fake tensor at the trace sizes; the keys above say the rest. Attention is decomposed into
            products and a softmax before anything else.
        dims: symbol -> its size in ``graph``. Sizes are distinct, and no small number is among them.
        bound: symbol -> the size that the user asked for (``--dims``, ``get_inputs()``), for the program's ``dims=``.
        multiples: symbol -> the number that divides every size that it may have (absent where that is 1).
        reference: ``reference(*user_inputs, **{name: tensor of each weight and constant})`` runs the user's own
            code and returns a tuple of tensors. Weights that are left out keep the values of the module.
        fixed: size as written by the user -> why it is no symbol, for sizes that had to stay numbers.
        literals: arguments that are no tensors, with the values that the trace is for.
        evaluated: the module is in evaluation mode, although it was made in training mode.
        state: what the module holds besides weights.
        verified: the sizes at which its programs were verified.
        seed: the seed of the data that they were verified on.
        notes: what a user should know about the trace (evaluation mode, statistics that are not updated).
    """

    name: str
    path: str
    line: int
    inputs: tuple[TracedInput, ...]
    outputs: tuple[TracedOutput, ...]
    graph: GraphModule
    dims: Mapping[str, int]
    reference: Callable[..., tuple[Tensor, ...]]
    bound: Mapping[str, int] = field(default_factory=dict)
    multiples: Mapping[str, int] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    literals: Mapping[str, object] = field(default_factory=dict)
    evaluated: bool = False
    state: ModuleState = field(default_factory=ModuleState)
    verified: tuple[Mapping[str, int], ...] = ()
    seed: int = 42


def numbered(base: str) -> Iterator[str]:
    """Yield ``base``, ``base_2``, ``base_3``, ..."""
    yield base
    yield from (f"{base}_{number}" for number in count(2))


def free_name(base: str, taken: Container[str]) -> str:
    """Return the first of the numbered names of ``base`` that is not in ``taken``."""
    return next(name for name in numbered(base) if name not in taken)


_OF_FILES: Final = frozenset({"step", "torch", "Annotated"})
_OF_MODULES: Final = frozenset({"MODEL", "model", "weights", "deepcopy"})  # what the reference of a module reads


def is_free_in_files(name: str, dims: Container[str]) -> bool:
    """Whether a delivered file may call something of the user's ``name``: it has no such size, import or function."""
    return not (name in _OF_FILES or name in dims or name.startswith("fn_") or not name.strip("_"))


def program_name(name: str, dims: Container[str]) -> str:
    """Return what the program of the user's function ``name`` is called."""
    return name if is_free_in_files(name, dims) else f"{name}_program".lstrip("_")


def alias_of(owner: str, program: str, dims: Container[str]) -> str:
    """Return what a delivered file calls the user's function or class ``owner``, beside its own ``program``."""
    return owner if owner != program and is_free_in_files(owner, dims) else f"torch_{owner}"


def names_of_references(owner: str, program: str, dims: Container[str], *, is_module: bool) -> set[str]:
    """Return the names that the reference of a delivered file reads, so that no argument may have them."""
    own = {alias_of(owner, program, dims), program, f"{program}_reference"}
    return own | _OF_MODULES if is_module else own


def needed(graph: Graph) -> set[Node]:
    """Return the nodes that a result depends on, that of the results included."""
    found: set[Node] = set()
    for node in reversed(graph.nodes):
        if node.op == "output" or node in found:
            found |= {node, *node.all_input_nodes}
    return found


def opname(node: Node) -> str:
    """Return the operation of a call without its namespace and overload; empty where it is none of PyTorch's."""
    return str(getattr(node.target, "_opname", ""))


def first_dims(node: Node) -> tuple[Dim, ...]:
    """Return the sizes of a node's only or first result, outermost first."""
    dims = node.meta[DIMS]
    return tuple(dims[0]) if dims and isinstance(dims[0], tuple) else tuple(dims)


def node_dims(node: Node) -> tuple[Dim, ...]:
    """Return the sizes of a node's only result, outermost first.

    Raises:
        ValueError: the node has several results; ask the ``getitem`` node that takes one of them.
    """
    found = node.meta[DIMS]
    if any(isinstance(item, tuple) for item in found):
        raise ValueError(f"{node.name} has several results")
    return tuple(found)


def size_argument(node: Node, path: Path) -> Dim:
    """Return the integer argument of ``node`` at ``path`` as an expression of the symbols."""
    known = node.meta.get(SIZES, {}).get(path)
    return known if known is not None else Dim.of(argument(node, path))


def scalar_argument(node: Node, path: Path) -> str:
    """Return the number at ``path`` as text for an element function: a literal, or such as ``"D_value ** -0.5"``."""
    text = node.meta.get(SCALARS, {}).get(path)
    if text is not None:
        return str(text)
    size = node.meta.get(SIZES, {}).get(path)
    if size is not None:
        return f"({size_text(size)})"
    return repr(argument(node, path))


def argument(node: Node, path: Path) -> Any:
    """Return the argument of ``node`` at ``path`` as it stands in the graph.

    Raises:
        LookupError: the call has no such argument.
    """
    first, *rest = path
    value: Any = node.kwargs[first] if isinstance(first, str) else node.args[first]
    for index in rest:
        value = value[index]
    return value


def line_of(node: Node) -> tuple[str, int] | None:
    """Return the file and the line of the user's source that ``node`` came from."""
    found: tuple[str, int] | None = node.meta.get(LINES)
    return found


def size_text(size: Dim) -> str:
    """Return a size as text for a body: ``k_value * 2`` for ``2*k``."""
    return str(size.substitute(lambda name: Dim.symbol(f"{name}_value")))
