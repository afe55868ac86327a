"""Element functions in scripts: ``@step.fn(...)`` and subclasses of ``step.Fn``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

from stepcore.findings.diagnostics import StepError
from stepcore.records import Record
from stepcore.surface.elements import as_element
from stepcore.types import Element, StreamType, components

if TYPE_CHECKING:
    from torch import Tensor


class ScriptNames(Record):
    """What functions may read besides their own globals while a program runs.

    ``parameters`` are the weights by name, which hide globals of the same name; ``sizes`` (``M_value``) do not.
    """

    parameters: Mapping[str, Any]
    sizes: Mapping[str, int]


NAMES: ContextVar[ScriptNames | None] = ContextVar("stepsmith_names", default=None)
# The parameters of the program that runs: tensor, name, declared type, whether stores may write it.
DECLARED: ContextVar[tuple[tuple[Any, str, StreamType, bool], ...]] = ContextVar("stepsmith_parameters", default=())

_CONSTANTS: Final = (0.0, 1.0, -1.0, float("-inf"))


class Fn:
    """A pure function of one element, or of a state and one element.

    Subclasses call ``super().__init__(name, input, output)`` and define ``apply(self, input)``, or ``getInit(self)``
    and ``apply(self, state, input)``. Inputs, states and results are lists of tensors, one per tuple component, in the
    shape of one stream position. ``getInit`` returns such a list.

    Raises:
        StepError: STEP222 for an unusable type.
    """

    is_count = False

    def __init__(self, name: str, input: Element | Sequence[Any], output: Element | Sequence[Any]) -> None:
        self.label = name
        self.func_name = type(self).__name__
        self.input: Element = as_element(input)
        self.output: Element = as_element(output)

    @property
    def has_state(self) -> bool:
        """True for functions of Accum, Scan and Merge: those with an init."""
        return callable(getattr(self, "getInit", None))

    @property
    def constants(self) -> tuple[float, ...] | None:
        """The init as one constant per output component, where it is given so."""
        return None

    def apply(self, *arguments: Any, **more: Any) -> Any:
        """Compute one element; subclasses define it."""
        raise StepError("STEP309", f"the function class {type(self).__name__} has no apply; define it as published")

    def bound(self) -> Callable[..., Any]:
        """Return ``apply`` with the names of the running program in reach."""
        return MethodType(with_names(type(self).apply), self)

    def bound_init(self) -> Callable[[], Any]:
        """Return ``getInit`` likewise; only of functions with a state and without constants."""
        return MethodType(with_names(type(self).getInit), self)  # type: ignore[attr-defined]

    def __call__(self, *arguments: Sequence[Tensor]) -> list[Tensor]:
        """Compute one element from lists of tensors, for example in a test of the function."""
        result: list[Tensor] = self.bound()(*arguments)
        return result

    def __repr__(self) -> str:
        return f"<step function {self.func_name}: {self.input} -> {self.output}>"


class DecoratedFn(Fn):
    """What ``@step.fn(...)`` makes of a Python function."""

    def __init__(
        self,
        function: Callable[..., Any],
        input: Element | Sequence[Any],
        output: Element | Sequence[Any],
        init: Sequence[float | str] | None,
        name: str | None,
    ) -> None:
        super().__init__(name or function.__name__, input, output)
        self.func_name = function.__name__
        self.function = function
        self._constants = None if init is None else _constants(self.func_name, init, self.output)
        self.__wrapped__ = function
        self.__doc__ = function.__doc__

    @property
    def has_state(self) -> bool:
        """True where an init is given."""
        return self._constants is not None

    @property
    def constants(self) -> tuple[float, ...] | None:
        """The init, one constant per output component."""
        return self._constants

    def apply(self, *arguments: Any, **more: Any) -> Any:
        """Call the Python function."""
        return self.function(*arguments, **more)

    def bound(self) -> Callable[..., Any]:
        """Return the Python function with the names of the running program in reach."""
        return with_names(self.function)


def fn(
    *given: object,
    input: Element | Sequence[Any] | None = None,
    output: Element | Sequence[Any] | None = None,
    init: Sequence[float | str] | None = None,
    name: str | None = None,
) -> Callable[[Callable[..., Any]], DecoratedFn]:
    """Declare an element function ``apply(input)``, or with an ``init`` ``apply(state, input)``.

    ``init`` holds one constant per output component (0, 1, -1 or -inf), which fills the component's whole shape. A
    list of types is a tuple type. ``name`` is for people; programs use the function's own name.

    Raises:
        StepError: STEP203 without the types, STEP222 for an unusable type, STEP309 for an unusable init.
    """
    if given or input is None or output is None:
        text = "step.fn needs the types of the function; write @step.fn(input=..., output=...)"
        raise StepError("STEP203", text)

    def decorate(function: Callable[..., Any]) -> DecoratedFn:
        return DecoratedFn(function, input, output, init, name)

    return decorate


def with_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function`` with the running program's parameters and sizes added to its globals."""
    names = NAMES.get()
    if names is None or not isinstance(function, FunctionType):
        return function
    both = {**names.sizes, **function.__globals__, **names.parameters}
    copy = FunctionType(function.__code__, both, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _constants(name: str, init: Sequence[float | str], output: Element) -> tuple[float, ...]:
    values: list[float] = []
    for item in init if isinstance(init, (list, tuple)) else [init]:
        value = float("-inf") if isinstance(item, str) and item.replace(" ", "") == "-inf" else item
        if isinstance(value, (str, bool)) or value not in _CONSTANTS:
            text = f"an init holds 0, 1, -1 or -inf for each component, and that of {name} holds {item!r}"
            raise StepError("STEP309", text)
        values.append(float(value))
    count = len(components(output))
    if len(values) != count:
        text = f"init of {name} needs one constant per output component: expected {count}, found {len(values)}"
        raise StepError("STEP309", text)
    return tuple(values)
