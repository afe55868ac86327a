"""Task files run literally: the program of `impl` beside the reference of `data_transform`.

Text of a task file is executed as Python here.  That is for our own files in tests and nothing else.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from ruamel.yaml import YAML

from .base import streams_in
from .elements import Buffer, Element, Free, Multihot, Scalar, STuple, Tile, components, dtype_of
from .lists import Size, Sizes, positions
from .loops import Loops
from .operators import OPERATORS
from .streams import Fn, OracleError, Stream, dense, literal_stream, nested_tensors, packed_shape, require

DEFAULT_SIZES = {"M": 5, "N": 7, "K": 9, "D": 16}


# The types that programs name: those of loops.
_TYPES: dict[str, Any] = {
    "f32": Scalar(), "i64": Scalar("int64"), "bool_": Scalar("bool"), "Buffer": Buffer, "Multihot": Multihot,
    "Tile": lambda dtype, sizes: Tile(Scalar(dtype) if isinstance(dtype, str) else dtype, sizes),
    "STuple": lambda items: STuple(tuple(items)), "dyn": lambda name: None, "ragged": lambda name: None,
}  # fmt: skip


@dataclass(frozen=True)
class Symbol:
    """A named size: the key of `ctx`."""

    name: str


@dataclass(frozen=True)
class OracleTask:
    """A task file as read: `spec` holds its keys."""

    name: str
    spec: dict[str, Any]


@dataclass(frozen=True)
class OracleResult:
    """What a program returned beside what it should have returned.

    `outputs[i][c]` and `references[i][c]` are component `c` of output `i`, of shape (reversed sizes) + element
    shape.  `matches` is true when types, sizes and values agree (`torch.testing.assert_close` defaults in the run's
    dtype).  `max_error` is the greatest absolute difference, infinite where shapes differ.  `affine` tells whether
    every stream was consumed at most once, being returned included.
    """

    outputs: list[list[torch.Tensor]]
    references: list[list[torch.Tensor]]
    shape_ok: bool
    matches: bool
    max_error: float
    affine: bool


def load_task(path: str | Path) -> OracleTask:
    """Read a task file; the name is the file name up to its first dot."""
    file = Path(path)
    return OracleTask(file.name.split(".")[0], YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8")))


def run_task(
    task: OracleTask,
    impl: str | None = None,
    dims: dict[str, int] | None = None,
    seed: int = 42,
    dtype: torch.dtype = torch.float32,
) -> OracleResult:
    """Run `impl` (the task's own by default) and the reference on the same data.

    `dims` binds sizes where `global` does not.  Data is drawn in fp32 whatever the dtype, so that a run in fp64
    sees the same numbers.  `OracleError` when the program breaks a rule.
    """
    return PreparedTask(task, dims, seed, dtype).judge(impl)


class PreparedTask:
    """A task whose data is drawn and whose references are computed once, for several programs."""

    def __init__(
        self,
        task: OracleTask,
        dims: dict[str, int] | None = None,
        seed: int = 42,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self._task = task
        self._dtype = dtype
        self._run = _prepared(task, dims or {}, seed, dtype)
        with _default_dtype(dtype):
            self._references = self._run.references()

    def judge(self, impl: str | None = None) -> OracleResult:
        """Run `impl` (the task's own by default) and compare; see `run_task`."""
        text = impl if impl is not None else self._task.spec["impl"]
        with _default_dtype(self._dtype):
            tape: list[Stream] = []
            returned = self._run.program(text, tape)
            tape.extend(returned)
            affine = len({id(stream) for stream in tape}) == len(tape)
            return _compare(returned, self._references, self._run.declared_outputs(), affine)


def run_streams(
    task: OracleTask,
    impl: str | None = None,
    seed: int = 42,
    dtype: torch.dtype = torch.float32,
    arrivals: list[tuple[int, ...]] | None = None,
) -> tuple[list[Stream], list[Stream]]:
    """Run `impl` (the task's own by default) without its reference; `arrivals` are what arrival decides, in turn.

    Gives the streams that operators consumed, in that order and each as often as it was consumed, and the returned
    ones. `OracleError` when the program breaks a rule.
    """
    run = _prepared(task, {}, seed, dtype)
    consumed: list[Stream] = []
    with _default_dtype(dtype):
        returned = run.program(impl if impl is not None else task.spec["impl"], consumed, arrivals)
    return consumed, returned


def _prepared(task: OracleTask, dims: dict[str, int], seed: int, dtype: torch.dtype) -> _Run:
    """A run with this seed; torch's own generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _Run(task.spec, dims, dtype)


class _Run:
    """A task with every size bound and all data drawn."""

    def __init__(self, spec: dict[str, Any], dims: dict[str, int], dtype: torch.dtype) -> None:
        self.spec = spec
        self.dtype = dtype
        self.data: dict[str, Any] = {}
        self.scope, self.sizes = _bind(spec.get("global") or "", dims, self.data)
        # The order of draws is fixed: global (above), sizes, inputs, parameters.
        self.open: dict[str, int | tuple[int, ...]] = {}
        for name in spec.get("sizes") or {}:
            self._open_size(name)
        self.packed: dict[str, Any] = {}
        for entry in [*spec["inputs"], *(spec.get("parameters") or [])]:
            self.packed[entry["name"]] = self._draw(entry)
            self.data[entry["name"]] = self._given(entry)
        for name, value in self.scope.items():
            if isinstance(value, torch.nn.Module) or (torch.is_tensor(value) and value.is_floating_point()):
                self.scope[name] = value.to(dtype)

    def program(self, text: str, tape: list[Stream], arrivals: list[tuple[int, ...]] | None = None) -> list[Stream]:
        """The streams that `impl` returns; every stream that an operator consumed is put on the tape."""
        if "Feedback(" in text:
            loops = Loops(arrivals)
            found: list[Stream] = loops.run(lambda: self._pass(text, tape, {"loops": loops}))
            return found
        return self._pass(text, tape, {"arrivals": arrivals})

    def _pass(self, text: str, tape: list[Stream], known: dict[str, Any]) -> list[Stream]:
        tape.clear()
        of_run = {"tape": tape, **known}
        recording = {name: type(name, (operator,), of_run) for name, operator in OPERATORS.items()}
        scope = {name: value for name, value in self.scope.items() if name.endswith("_value")} | self.sizes
        scope |= {"step": SimpleNamespace(**recording, count="count", **_TYPES)}
        memory = {entry["name"]: self.data[entry["name"]].clone() for entry in self.spec.get("parameters") or []}
        scope |= memory
        scope |= {entry["name"]: self._input(entry) for entry in self.spec["inputs"]}
        scope |= {entry["func_name"]: self._fn(entry) for entry in self.spec.get("fns") or []}
        given = _function((), text, scope)()
        streams = iter([] if given is None else streams_in(given))
        results = []
        for entry in self.spec["outputs"]:  # what is left in memory stands among them
            if "memory" in entry:
                results.append(literal_stream([memory[entry["memory"]]], self._sizes(entry), Scalar()))
            else:
                results += [stream for stream in [next(streams, None)] if stream is not None]
        return [*results, *streams]

    def references(self) -> list[list[torch.Tensor]]:
        """The values of all `data_transform` blocks, which share one scope."""
        scope = dict(self.scope)
        return [[_last_value(block, scope) for block in entry["data_transform"]] for entry in self.spec["outputs"]]

    def declared_outputs(self) -> list[tuple[tuple[Size | str, ...], Element]]:
        """Sizes and element type of each declared output; the name of a size that only the run knows."""
        return [(self._dims(entry), self._element(entry["dtype"])) for entry in self.spec["outputs"]]

    def _input(self, entry: dict[str, Any]) -> Stream:
        data = self.packed[entry["name"]]
        tensors = data if isinstance(data, list) else [data]
        stream = literal_stream(tensors, self._sizes(entry), self._element(entry["dtype"]))
        stream.later = bool(re.search(r"[?~]|Tile", f"{entry['dims']} {entry['dtype']}"))
        return stream

    def _given(self, entry: dict[str, Any]) -> Any:
        """What references get of an input: nested lists where a size is ragged."""
        if all(isinstance(size, int) for size in self._sizes(entry)):
            return self.packed[entry["name"]]
        found = nested_tensors(self._input(entry))
        return found if isinstance(self._element(entry["dtype"]), STuple) else found[0]

    def _open_size(self, name: str) -> int | tuple[int, ...]:
        """A dynamic or ragged size of this run, drawn at its first use; a ragged one for each list outside."""
        if name not in self.open:
            drawn = self.spec["sizes"][name]
            count = 1
            if name.startswith("~"):
                dims = next(entry["dims"] for entry in self.spec["inputs"] if name in map(str, entry["dims"]))
                outer = list(map(str, dims))
                count = positions([self._size(size) for size in outer[outer.index(name) + 1 :]])
            if "values" in drawn:
                values = tuple(drawn["values"])
            else:
                least, most = drawn.get("min", 0), drawn["max"]
                values = tuple(torch.randint(least, most + 1, (count,)).tolist())
            require(len(values) == count, f"{len(values)} values for the {count} lists of {name}")
            self.open[name] = values if name.startswith("~") else values[0]
        return self.open[name]

    def _fn(self, entry: dict[str, Any]) -> Fn:
        init = entry.get("init")
        arguments = ("input",) if init is None else ("state", "input")
        constants = None if init is None else tuple(float(constant) for constant in init)
        source, target = self._element(entry["input_dtype"]), self._element(entry["output_dtype"])
        return Fn(source, target, _function(arguments, entry["apply"], self.scope), constants, self.dtype)

    def _sizes(self, entry: dict[str, Any]) -> Sizes:
        return tuple(self._size(size) for size in entry["dims"])

    def _dims(self, entry: dict[str, Any]) -> tuple[Size | str, ...]:
        known = self.spec.get("sizes") or {}
        return tuple(
            str(size) if str(size)[0] in "?~" and str(size) not in known else self._size(size) for size in entry["dims"]
        )

    def _size(self, text: str | int) -> Size:
        if str(text) in (self.spec.get("sizes") or {}):
            return self._open_size(str(text))
        value = eval(str(text), {}, self.sizes)
        require(isinstance(value, int) and value >= 1, f"the size {text} is not a positive integer")
        return int(value)

    def _element(self, text: str | list[str]) -> Element:
        """A list is a tuple type, anything else is written like a Python call."""
        if isinstance(text, list):
            return STuple(tuple(part for item in text for part in components(self._element(item))))
        names: dict[str, Any] = {"fp32": Scalar(), "int64": Scalar("int64"), "bool": Scalar("bool")}
        names |= {"Buffer": Buffer, "Multihot": Multihot, "Tile": Tile}
        names |= {name: Free(name) for name in re.findall(r"\b_\w+", text)}
        for name in re.findall(r"\?\w+", text):  # of a dynamic tile
            names["dynamic" + name[1:]] = self._open_size(name)
        element: Element = eval(text.replace("?", "dynamic"), names, self.sizes)
        return element

    def _draw(self, entry: dict[str, Any]) -> Any:
        element = self._element(entry["dtype"])
        outer = packed_shape(self._sizes(entry))
        tensors = [self._tensor(entry, outer + part.shape, part) for part in components(element)]
        return tensors if isinstance(element, STuple) else tensors[0]

    def _tensor(self, entry: dict[str, Any], shape: tuple[int, ...], part: Any) -> torch.Tensor:
        generator = entry.get("data_gen")
        dtype = dtype_of(part, self.dtype)
        if generator == "binary":
            return torch.randint(0, 2, shape).to(dtype)
        if generator is not None:
            value: torch.Tensor = eval(generator, {"torch": torch})(shape)
            return value.to(dtype)
        require("min" in entry or "max" in entry, f"nothing says how to draw {entry['name']}")
        if not isinstance(part.inner if isinstance(part, Buffer) else part, Multihot):
            return torch.randint(entry.get("min", 0), entry["max"] + 1, shape).to(dtype)
        return _selectors(shape, entry.get("min", 0), entry.get("max", shape[-1])).to(dtype)


def _bind(text: str, dims: dict[str, int], data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
    """Run `global`; give the scope of all bodies, and the sizes by name.  What `global` binds stands."""
    ctx = {Symbol(name): value for name, value in (DEFAULT_SIZES | dims).items()}
    scope: dict[str, Any] = {"torch": torch, "input_data": data, "ctx": ctx, "Symbol": Symbol}
    scope |= {name: Symbol(name) for name in [*"MNKDE", *dims]}
    scope |= {f"{symbol.name}_value": value for symbol, value in ctx.items()}
    exec(text, scope)
    scope |= {f"{symbol.name}_value": value for symbol, value in ctx.items()}
    sizes = {name: ctx[value] for name, value in scope.items() if isinstance(value, Symbol) and value in ctx}
    return scope, sizes | {symbol.name: value for symbol, value in ctx.items()}


def _selectors(shape: tuple[int, ...], least: int, most: int) -> torch.Tensor:
    """Selectors with `least` to `most` ones each: per selector in row-major order a count, then a permutation."""
    result = torch.zeros(shape)
    for row in result.view(-1, shape[-1]):
        count = int(torch.randint(least, most + 1, ()))
        row[torch.randperm(shape[-1])[:count]] = 1.0
    return result


def _function(arguments: Sequence[str], body: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """A Python function of this body, which sees the names of `scope`."""
    found: dict[str, Any] = {}
    exec(f"def body({', '.join(arguments)}):\n" + textwrap.indent(body, "    "), scope, found)
    function: Callable[..., Any] = found["body"]
    return function


def _last_value(text: str, scope: dict[str, Any]) -> torch.Tensor:
    """Run a block in `scope`; the value of its last line, which is an expression or an assignment."""
    tree = ast.parse(text)
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        tree.body[-1] = ast.Assign([ast.Name("_value", ast.Store())], last.value)
    elif isinstance(last, ast.Assign):
        last.targets.append(ast.Name("_value", ast.Store()))
    else:
        raise OracleError("the last line of a data_transform is neither an expression nor an assignment")
    exec(compile(ast.fix_missing_locations(tree), "data_transform", "exec"), scope)
    value: torch.Tensor = scope.pop("_value")
    return value


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Let bodies that make tensors of their own make them in the run's dtype."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _compare(
    returned: list[Stream],
    references: list[list[torch.Tensor]],
    declared: list[tuple[tuple[Size | str, ...], Element]],
    affine: bool,
) -> OracleResult:
    outputs = [dense(stream) for stream in returned]
    shape_ok = _are_declared(returned, declared)
    actual = [tensor for stream in returned for part in nested_tensors(stream) for tensor in _leaves(part)]
    wanted = [tensor for reference in references for part in reference for tensor in _leaves(part)]
    same_count = len(actual) == len(wanted)
    close = same_count and all(_close(a, w) for a, w in zip(actual, wanted, strict=True))
    error = max((_error(a, w) for a, w in zip(actual, wanted, strict=True)), default=0.0) if same_count else torch.inf
    return OracleResult(outputs, references, shape_ok, shape_ok and close, error, affine)


def _are_declared(returned: list[Stream], declared: list[tuple[tuple[Size | str, ...], Element]]) -> bool:
    """Whether results have the declared types; a name that no input has is one size of the run in all of them."""
    names: dict[str, Size] = {}
    for stream, (sizes, element) in zip(returned, declared, strict=len(returned) == len(declared)):
        if stream.element != element or len(stream.sizes) != len(sizes):
            return False
        for size, wanted in zip(stream.sizes, sizes, strict=True):
            if size != (names.setdefault(wanted, size) if isinstance(wanted, str) else wanted):
                return False
    return len(returned) == len(declared)


def _leaves(value: Any) -> list[torch.Tensor]:
    """The tensors of nested lists, in their order."""
    return [leaf for part in value for leaf in _leaves(part)] if isinstance(value, (list, tuple)) else [value]


def _close(actual: torch.Tensor, wanted: torch.Tensor) -> bool:
    try:
        torch.testing.assert_close(actual, wanted)
    except AssertionError:
        return False
    return True


def _error(actual: torch.Tensor, wanted: torch.Tensor) -> float:
    if actual.shape != wanted.shape:
        return float("inf")
    if actual.dtype is torch.bool and wanted.dtype is torch.bool:
        actual, wanted = actual.double(), wanted.double()
    # Equal infinities differ by nothing, although their difference is no number.
    difference = torch.where(actual == wanted, 0.0, (actual - wanted).abs())
    return float(difference.max()) if difference.numel() else 0.0
