"""The user's function, imported and ready to be called: the only place that runs the user's code. Loads torch.

The module is imported in the worker only, after its owner said that the workspace is trusted. A class is
instantiated as ``get_init_inputs()`` of its file says (or without arguments), with a fixed seed, in training mode as
its constructor leaves it.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from stepagents.torchfn.blame import explained
from stepagents.torchfn.dims import Described, Description
from stepagents.torchfn.guards import Guard
from stepagents.torchfn.refusals import NO_FUNCTION, NO_SIZES, NO_TYPE, Refused, refuse
from stepagents.torchfn.state import may_keep
from stepagents.torchfn.target import Target
from stepagents.traced.graph import ModuleState
from stepcore.records import Record
from stepcore.sim.worker.imports import import_module
from stepcore.sizes.dim import Dim
from stepcore.text.raised import told
from stepcore.text.wording import counted

SEED: Final = 42
DTYPES: Final[Mapping[torch.dtype, str]] = {
    torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16", torch.int32: "int32", torch.int64: "int64",
    torch.bool: "bool",
}  # fmt: skip
TORCH_DTYPES: Final[Mapping[str, torch.dtype]] = {name: dtype for dtype, name in DTYPES.items()}


def dtype_text(dtype: torch.dtype) -> str:
    """Return the spelling of a dtype in task files, PyTorch's own where these have none."""
    return DTYPES.get(dtype, str(dtype).removeprefix("torch."))


class Example(Record):
    """One argument of ``get_inputs()``: a tensor, or a value that is passed as it is."""

    name: str
    value: Any


_PLAIN: Final = ModuleState()
_HOLDERS: Final = (list, dict, set, Tensor, type(None))


class TracedSubject:
    """The function with its arguments described: call it with the tensors among them, in order.

    ``module`` holds the weights, None for a plain function. ``arguments`` describes every argument. Whoever calls it
    takes a :meth:`fresh` one, because a call may change what the module keeps.
    """

    def __init__(
        self,
        target: Target,
        function: Callable[..., Any],
        module: nn.Module | None,
        arguments: Sequence[Described],
        made: ModuleState = _PLAIN,
    ) -> None:
        self.target = target
        self.function = function
        self.module = module
        self.arguments = tuple(arguments)
        self._evaluated = False
        self._made = made
        self._file_keeps = may_keep(target.tree, target.path)
        self._by_name = target.by_name

    @property
    def tensors(self) -> list[Described]:
        """The arguments that are tensors."""
        return [item for item in self.arguments if item.is_tensor]

    def call(self, *tensors: Tensor) -> Any:
        """Call the user's function."""
        given = iter(tensors)
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for item in self.arguments:
            value = next(given) if item.is_tensor else item.value
            if item.name in self._by_name:
                named[item.name] = value
            else:
                positional.append(value)
        return self.function(*positional, **named)

    def with_arguments(self, arguments: Sequence[Described]) -> TracedSubject:
        """Return the subject with its arguments described in another way."""
        return self._with(self.function, self.module, arguments)

    def state(self, passed: Container[str]) -> ModuleState:
        """Return what the module holds besides the weights ``passed``, by their paths."""
        if self.module is None:
            return replace(self._made, by_name=self.target.kind == "module")
        unpassed = any(name not in passed for name, _ in self.module.named_parameters())
        return replace(self._made, kept=unpassed or _keeps(self.module))

    def evaluate(self) -> None:
        """Put the module into evaluation mode, for all calls from here on."""
        self._evaluated = True
        if self.module is not None:
            self.module.eval()

    def fresh(self) -> TracedSubject:
        """Return the subject as it was loaded, for one call: parameters and buffers are shared, the rest is a copy.

        It is made again from the file where that may keep something itself, and where a part cannot be copied (a
        tensor that was computed from a parameter, a lock).
        """
        if self._file_keeps:
            return self.reloaded()
        owned = () if self.module is None else (*self.module.parameters(), *self.module.buffers())
        memo: dict[int, Any] = {id(tensor): tensor for tensor in owned}
        try:
            function = copy.deepcopy(self.function, memo)
        except Exception:  # noqa: BLE001  whatever the user's objects raise when they are copied
            return self.reloaded()
        return self._with(function, None if self.module is None else copy.deepcopy(self.module, memo), self.arguments)

    def reloaded(self) -> TracedSubject:
        """Return the subject of a new import of its file, without anything that earlier calls left in the module."""
        torch.manual_seed(SEED)
        function, module, _ = _resolve(self.target, import_module(self.target.path, self.target.text))
        if self._evaluated and module is not None:
            module.eval()
        return self._with(function, module, self.arguments)

    def _with(
        self, function: Callable[..., Any], module: nn.Module | None, arguments: Sequence[Described]
    ) -> TracedSubject:
        found = copy.copy(self)  # what the text of the file tells holds for it, too
        found.function, found.module, found.arguments = function, module, tuple(arguments)
        return found


def load(target: Target, description: Description, guard: Guard) -> tuple[TracedSubject, list[Example] | None]:
    """Import the file and return the function; the second value is what ``get_inputs()`` gave, if it was needed.

    Raises:
        JobError: STEP408 when the import fails.
        Refused: the class cannot be instantiated, ``get_inputs()`` fails or gives what is no tensor.
    """
    with guard.quiet():
        torch.manual_seed(SEED)
        module = import_module(target.path, target.text)
        function, owner, made = _resolve(target, module)
        examples = None
        arguments: Sequence[Described] | None = description.arguments
        if arguments is None:
            examples = _examples(target, module)
            arguments = [_described(target, item) for item in examples]
    return TracedSubject(target, function, owner, arguments, made), examples


def _resolve(target: Target, module: ModuleType) -> tuple[Callable[..., Any], nn.Module | None, ModuleState]:
    """Return the function, the module that it belongs to, and how that was made."""
    if target.kind == "function":
        found = getattr(module, target.qualifier, None)
        if not callable(found):
            what = f"{target.qualifier} is no function after the import of its file"
            raise refuse(NO_FUNCTION, what, target.path, target.line)
        return _unwrapped(found), None, _PLAIN
    class_ = getattr(module, target.class_name)
    method = target.qualifier.partition(".")[2]
    if isinstance(inspect.getattr_static(class_, method or "forward", None), (staticmethod, classmethod)):
        return getattr(class_, method or "forward"), None, _PLAIN
    torch.manual_seed(SEED)
    instance, named = _instance(target, module, class_)
    owner = instance if isinstance(instance, nn.Module) else None
    plain = () if owner is None else tuple(plain_state(owner))
    if owner is not None:
        _register(owner, plain)
        _average(owner)
    function = instance if not method and owner is not None else getattr(instance, method or "forward")
    return function, owner, ModuleState(plain, named=named)


def plain_state(module: nn.Module) -> list[str]:
    """Return the paths of floating-point tensors that are plain attributes of a module or of its parts.

    Single numbers are left out: code that branches on them needs their values.
    """
    return [
        f"{owner}.{name}".lstrip(".")
        for owner, part in module.named_modules()
        for name, value in vars(part).items()
        if isinstance(value, Tensor) and value.is_floating_point() and value.numel() > 1
    ]


def _register(module: nn.Module, paths: Sequence[str]) -> None:
    """Make buffers of plain attributes: what is random there has to be passed, like every other weight."""
    for path in paths:
        owner, _, name = path.rpartition(".")
        part = module.get_submodule(owner)
        part.register_buffer(name, vars(part).pop(name).detach(), persistent=False)


def _average(module: nn.Module) -> None:
    """Have batch norms average their statistics with a weight: a plain mean needs the number of batches, as a number.

    No program updates statistics, and what a norm returns does not depend on how that is done.
    """
    for part in module.modules():
        if isinstance(part, _NormBase) and part.momentum is None:
            part.momentum = 0.1


def _keeps(module: nn.Module) -> bool:
    """Whether calls may change a module: it has buffers, or its own classes have attributes that hold things."""
    parts = [part for part in module.modules() if not type(part).__module__.startswith("torch.nn.")]
    values = [value for part in parts for name, value in vars(part).items() if not name.startswith("_")]
    return any(True for _ in module.buffers()) or any(isinstance(each, _HOLDERS) for each in values)


def _unwrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Take the function inside ``torch.compile`` and ``torch.jit.script``: its text is what the user reads."""
    return getattr(function, "_torchdynamo_orig_callable", function)


def _instance(target: Target, module: ModuleType, class_: type) -> tuple[Any, bool]:
    """Return an object of a class, and whether its constructor's arguments were given as a list and a dictionary."""
    maker = getattr(module, "get_init_inputs", None)
    try:
        given = list(maker()) if callable(maker) else []
        positional, options = _split(given)
        return class_(*positional, **(options or {})), options is not None
    except Exception as error:
        advice = "" if callable(maker) else "; write get_init_inputs() that returns the arguments of its constructor"
        what = f"{target.class_name} cannot be instantiated: {told(error)}{advice}"
        raise refuse(NO_FUNCTION, what, target.path, target.line) from error


def _split(given: list[Any]) -> tuple[list[Any], dict[str, Any] | None]:
    """Collections write constructor arguments as a list, or as a list and a dictionary of named ones."""
    if len(given) == 2 and isinstance(given[0], (list, tuple)) and isinstance(given[1], dict):
        return list(given[0]), dict(given[1])
    return given, None


def given_examples(target: Target, guard: Guard) -> list[Any]:
    """Import the file and return what ``get_inputs()`` gives, whether or not it is meant for the function.

    Raises:
        JobError: STEP408 when the import fails.
        Refused: ``get_inputs()`` fails.
    """
    with guard.quiet():
        torch.manual_seed(SEED)
        return _values(target, import_module(target.path, target.text))


def _values(target: Target, module: ModuleType) -> list[Any]:
    torch.manual_seed(SEED)
    try:
        return list(module.get_inputs())
    except Exception as error:
        line = _line_of_function(target, "get_inputs")
        why = explained(error, target.path, target.path, line, "")
        known = why.message.replace("the function", "get_inputs()", 1)
        raise refuse(NO_SIZES, known, target.path, why.line, advice=why.advice or "it has to run by itself") from error


def _examples(target: Target, module: ModuleType) -> list[Example]:
    values = _values(target, module)
    names = [argument.name for argument in target.arguments]
    if not target.variadic and not fits(target, len(values)):
        line = _line_of_function(target, "get_inputs")
        given = counted(len(values), "value")
        what = f"get_inputs() gives {given}, and {target.qualifier} takes {', '.join(names) or 'none'}"
        raise refuse(NO_SIZES, what, target.path, line, advice=_way_out(names))
    names += [f"x{index}" for index in range(len(names), len(values))]
    return [Example(name, value) for name, value in zip(names, values, strict=False)]


def _way_out(names: Sequence[str]) -> str:
    if not names:
        return "take another function: this one has no argument"
    note = ", ".join(f"{name}[m, k]" for name in names)
    option = " ".join(f'--input "{name}=m k"' for name in names)
    return f"add the comment `# stepsmith: {note}` with its own sizes, or pass {option}"


def fits(target: Target, count: int) -> bool:
    """Whether a function can be called with so many values."""
    least = sum(argument.default is None for argument in target.arguments)
    return least <= count <= len(target.arguments)


def _line_of_function(target: Target, name: str) -> int:
    return next((node.lineno for node in target.tree.body if getattr(node, "name", "") == name), 1)


def _described(target: Target, item: Example) -> Described:
    if not isinstance(item.value, Tensor):
        if _holds_tensor(item.value):
            line = _line_of_function(target, "get_inputs")
            what = f"get_inputs() gives tensors inside a {type(item.value).__name__} for {item.name}"
            raise refuse(NO_TYPE, what, target.path, line, advice="pass each tensor as an argument of its own")
        return Described(item.name, value=item.value)
    return Described(item.name, tuple(Dim.of(size) for size in item.value.shape), dtype_name(target, item))


def _holds_tensor(value: object) -> bool:
    if isinstance(value, Mapping):
        value = list(value.values())
    return isinstance(value, Iterable) and not isinstance(value, str) and any(isinstance(v, Tensor) for v in value)


def dtype_name(target: Target, item: Example) -> str:
    """Return the spelling of a tensor's dtype.

    Raises:
        Refused: STEP605 for a dtype or a size that no program holds.
    """
    line = _line_of_function(target, "get_inputs")
    name = DTYPES.get(item.value.dtype)
    if name is None:
        what = f"{item.name} has the dtype {str(item.value.dtype).removeprefix('torch.')}, which no program holds"
        raise refuse(NO_TYPE, what, target.path, line, advice="use float32")
    if 0 in item.value.shape:
        what = f"{item.name} has the shape {tuple(item.value.shape)}: a size is an integer from 1 to 2**31"
        raise refuse(NO_TYPE, what, target.path, line)
    return name


__all__ = ["DTYPES", "SEED", "TORCH_DTYPES", "Example", "Refused", "TracedSubject", "dtype_text", "load"]
