"""What functions and methods from elsewhere do: those of Python, numpy, torch, and of modules not known here."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Final

from stepcore.fn import allow
from stepcore.fn.source import dotted

# In-place operators of Python, as methods (``__iadd__``) and as functions of ``operator``.
_OPERATORS: Final = allow.names("add and concat floordiv lshift matmul mod mul or pow rshift sub truediv xor")
# Methods of Python's lists and dictionaries that change them, and those of numpy's arrays, which share with tensors.
CHANGING_METHODS: Final = (
    allow.CONTAINER_CHANGES
    | allow.names("update setdefault popitem fill put itemset setfield byteswap partition")
    | allow.names("load_state_dict register_buffer register_parameter add_module")
    | allow.names("__setitem__ __delitem__ __setattr__ __delattr__")
    | {f"__i{name}__" for name in _OPERATORS}
)
# Functions of the standard library, numpy and torch that change an argument, or what is kept in one.
CHANGING_FUNCTIONS: Final = (
    allow.names("shuffle setattr delattr setitem delitem heapify heappush heappop insort insort_left insort_right")
    | allow.names("copyto put place putmask fill_diagonal put_along_axis vector_to_parameters")
    | {f"i{name}" for name in _OPERATORS}
)
_STAYS: Final = allow.names("requires_grad_ share_memory_ detach_")  # no number of the tensor changes
_CLASSES: Final = ("list.", "dict.", "bytearray.", "torch.Tensor.")
BACKENDS: Final = allow.names("backends _dynamo _inductor")  # settings of torch that change no value
SETS_ATTRIBUTES: Final = frozenset({"setattr", "delattr", "vars"})
# Settings that change what tensors are made of here, unless they set it to single precision.
SETTINGS: Final = frozenset(
    {
        "torch.set_default_dtype",
        "torch.set_default_tensor_type",
        "torch.set_default_device",
        "torch.set_autocast_enabled",
    }
)
# Modules whose functions change nothing that they are given, those of CHANGING_FUNCTIONS aside.
KEEPING_MODULES: Final = allow.names(
    "torch numpy math cmath step stepcore sympy typing typing_extensions collections itertools functools operator json"
    " pickle os sys pathlib logging warnings time datetime random copy dataclasses enum abc re string textwrap pprint"
    " argparse csv statistics fractions decimal numbers io contextlib types inspect platform subprocess queue threading"
    " asyncio unittest pytest hypothesis matplotlib pandas tqdm einops scipy builtins importlib tempfile shutil hashlib"
    " uuid traceback glob yaml networkx rich click __future__"
)
_NUMPY_UNARY: Final = allow.names(
    "abs absolute fabs negative positive sqrt cbrt square exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos"
    " arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil trunc rint sign reciprocal conjugate conj invert isnan"
    " isinf isfinite signbit logical_not bitwise_not deg2rad rad2deg degrees radians modf frexp spacing"
)
# Functions of numpy with three arguments or more, none of which is written.
_NUMPY_PURE: Final = allow.names(
    "where linspace arange interp full full_like zeros ones empty array asarray select insert append transpose swapaxes"
    " moveaxis rollaxis roll rot90 pad repeat tile reshape allclose isclose array_equal save savez savetxt einsum"
)
_REFLECTING_ATTRIBUTES: Final = allow.names(
    "modules __dict__ __globals__ __builtins__ f_globals f_locals _getframe currentframe import_module reload"
)
REFLECTING_NAMES: Final = _REFLECTING_ATTRIBUTES | allow.names(
    "exec eval globals locals vars builtins __import__ __main__"
)


def changes_its_own(method: str) -> bool:
    """Return whether a method of this name changes what it belongs to in place.

    Tensors name such methods by an underscore, those that the closed language has not among them (``uniform_``).
    """
    return method in CHANGING_METHODS or (method.endswith("_") and not method.endswith("__") and method not in _STAYS)


def changes_arguments(path: str) -> bool:
    """Return whether a function of this full name changes what it is given; of unknown modules nobody can tell."""
    top, _, _ = path.partition(".")
    name = path.rpartition(".")[2]
    if name in CHANGING_FUNCTIONS or name.endswith("_"):
        return name not in _STAYS
    if name in CHANGING_METHODS and path.startswith(_CLASSES):
        return True  # ``list.append(xs, 3)``
    return "." in path and top not in KEEPING_MODULES


def results_by_position(name: str, args: Sequence[ast.expr]) -> Sequence[ast.expr]:
    """Return the arguments of a function of numpy that may stand in the place of ``out``: ``np.add(a, 1, a)``."""
    if name in _NUMPY_PURE:
        return ()
    return args[1:] if name in _NUMPY_UNARY else args[2:]


def is_single(given: Sequence[ast.expr]) -> bool:
    """Return whether a setting is what it is anyway: ``torch.set_default_dtype(torch.float32)``."""
    path = dotted(given[0]) if len(given) == 1 else None
    return path is not None and path[-1] in ("float32", "float")


def reflects(statement: ast.stmt, modules: Mapping[str, str]) -> bool:
    """Return whether a statement may bind or change whatever a file binds: what it does so with is not looked at."""
    harmless: set[int] = set()
    for node in ast.walk(statement):
        match node:
            case ast.Call(func=ast.Name(id="vars") as func, args=[given]) if not _is_module(given, modules):
                harmless.add(id(func))  # of an object
            case ast.Call(func=ast.Attribute(attr="modules") as func):
                harmless.add(id(func))  # of a network
            case ast.Call(func=func, args=[ast.Constant(value=str(name))]) if (
                _imports(func, modules) and name != "__main__"
            ):
                harmless.update(map(id, ast.walk(func)))  # another file
            case _ if id(node) in harmless:
                pass
            case ast.Name(id=name) if modules.get(name, name).rpartition(".")[2] in REFLECTING_NAMES:
                return True
            case ast.Attribute(attr=attr) if attr in _REFLECTING_ATTRIBUTES:
                return True
    return False


def _imports(func: ast.expr, modules: Mapping[str, str]) -> bool:
    """Return whether a function is ``import_module``, by whatever name."""
    if isinstance(func, ast.Name):
        return modules.get(func.id, func.id).rpartition(".")[2] == "import_module"
    return isinstance(func, ast.Attribute) and func.attr == "import_module"


def may_name_a_change(given: Sequence[ast.expr]) -> bool:
    """Return whether ``getattr(t, name)``, or ``methodcaller(name)``, gives what changes a value."""
    match given:
        case [_, ast.Constant(value=str(name)), *_]:
            return changes_its_own(name)
    return True


def _is_module(node: ast.expr, modules: Mapping[str, str]) -> bool:
    return isinstance(node, ast.Name) and node.id in modules
