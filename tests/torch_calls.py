"""Calls of everything that the allow-list admits of torch, in a process of their own with a bound on its memory.

A function whose kernel trusts its arguments ends the process that calls it. So the calls run in a worker (this module
as a program: names on its input, one line of JSON for each on its output), which says what it is about to call. The
owner (:func:`survey`) then knows which call was the end of a worker, and goes on with the next name in a new one.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from stepcore.findings.codes import CODES
from stepcore.fn import allow
from stepcore.fn.check import check_block
from stepcore.fn.decl import CodeBlock, FnDecl, FnScope
from stepcore.sim.fnvec import CompiledFn, EvaluationLimits, FnEnv, FnRuntimeError, evaluate_block
from stepcore.sim.fnvec.watch import MemoryWatch
from stepcore.text.span import Embedded, Span
from stepcore.types import Buffer, Scalar

SPACES: Final = sorted(space for space in allow.NAMESPACES if space.startswith("torch") and space != "torch.ops")
SCOPE: Final = FnScope()
VALUES: Final[dict[str, Any]] = {
    "x": torch.linspace(0.1, 0.9, 9).reshape(3, 3) + torch.eye(3),
    "v": torch.linspace(-0.9, 0.9, 4),
    "i": torch.tensor([0, 2, 1]),
    "b": torch.tensor([True, False, True]),
    "image": torch.linspace(0.0, 1.0, 72).reshape(1, 2, 6, 6),
    "far": torch.tensor([-7, 2**40, 5]),  # indices of nothing
}
ARGUMENTS: Final = (
    "x", "x, x", "v", "v, v", "x, 1", "x, x, x", "x, 0, i", "x, 0, i, x", "i", "image, 2", "image, (2, 2)", "3",
    "(2, 3)", "[x, x]", "x, 0, 1", "x, [3]", "x, None, None, True", "x, far", "x, 0, far, x", "x, x, far", "far, x",
    "x, 10 ** 9", "x, -1000", "image, 0", "image, 10 ** 6", "10 ** 10",
)  # fmt: skip
MEMORY: Final = 3 << 30  # bytes of data that a worker may have
GROWTH: Final = 256 << 10  # KB by which one call may enlarge it: no tensor has more than 8 MB here
SECONDS: Final = 20.0  # of processor time for one call
_NUMBERS: Final = 1 << 20  # in one tensor
_EXHAUSTED: Final = ("not enough memory", "allocate memory", "MemoryError", "bad_alloc")
_NEVER: Final = ("STEP302", "STEP303", "STEP304")  # where check said nothing


@dataclass
class Outcome:
    """What became of the calls of a name: how many ran, and were compared on a stream, and what was wrong."""

    name: str
    ran: int = 0
    compared: int = 0
    failures: list[str] = field(default_factory=list)


def block(text: str, *arguments: str) -> CodeBlock:
    """Return a body with this text."""
    return CodeBlock(Embedded.whole(text), arguments)


def environment() -> FnEnv:
    """Return an environment whose tensors have up to 1,048,576 numbers."""
    return FnEnv(SCOPE, {"D": 4, "K": 3}, limits=EvaluationLimits(numel=_NUMBERS))


ENVIRONMENT: Final = environment()
UNTOUCHED: Final = MemoryWatch(VALUES.values())


def spelled() -> Iterator[tuple[str, str]]:
    """Yield each admitted function, with the text that calls it: ``{}`` stands for the arguments."""
    for space in SPACES:
        if space != "torch.nn":
            for name in sorted(allow.NAMESPACES[space][0] - allow.DRAWING.get(space, frozenset())):
                yield f"{space}.{name}", f"{space}.{name}({{}})"
    for name, overloads in sorted(allow.ATEN.items()):
        for overload in overloads:
            yield f"torch.ops.aten.{name}.{overload}", f"torch.ops.aten.{name}.{overload}({{}})"
    for name in sorted(allow.TENSOR_METHODS - allow.RANDOM_METHODS):
        yield f"Tensor.{name}", name


def call_text(name: str, pattern: str, arguments: str) -> str:
    """Return the text of a call; empty where a method would have no tensor."""
    if not name.startswith("Tensor."):
        return pattern.format(arguments)
    first, _, rest = arguments.partition(", ")
    own = f"{first}.clone()" if allow.is_inplace(pattern) else first
    return f"{own}.{pattern}({rest})" if first in VALUES else ""


def evaluated(text: str) -> Any:
    """Return the value of an expression, or the finding."""
    with torch.inference_mode():
        try:
            result = evaluate_block(block(text), ENVIRONMENT, dict(VALUES))
        except FnRuntimeError as error:
            assert error.code in CODES and error.code != "STEP911", (text, error.code)
            assert error.message and "\n" not in error.message, text
            result = error
    assert UNTOUCHED.intact(), f"{text} changes its arguments"
    return result


# In the worker ----------------------------------------------------------------------------------------------------


def called(name: str, pattern: str) -> Outcome:
    """Call a name with all arguments, and say before each call what it is."""
    outcome = Outcome(name)
    for arguments in ARGUMENTS:
        text = call_text(name, pattern, arguments)
        if not text:
            continue
        print(f"> {text}", flush=True)
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)  # its default is the end of the process, also in a kernel
        try:
            outcome.ran += _one(text, outcome)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is what this property excludes
            outcome.failures.append(f"{text}: {type(problem).__name__}: {problem}"[:300])
    return outcome


def _one(text: str, outcome: Outcome) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    value = evaluated(text)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if grown > GROWTH:
        outcome.failures.append(f"{text}: takes {grown >> 10} MB")
    if isinstance(value, FnRuntimeError):
        if any(words in value.message for words in _EXHAUSTED):
            outcome.failures.append(f"{text}: is not bounded: {value.message}")
        if value.code in _NEVER and not _findings(text):
            outcome.failures.append(f"{text}: check passes it, the run says {value.code} {value.message}")
        return 0
    if not outcome.compared:
        outcome.compared = _compared(text, value)
    return 1


def _findings(text: str) -> bool:
    known = "".join(f"{name} = torch.eye(3)\n" for name in VALUES)
    return bool(check_block(block(known + text), SCOPE, "reference"))


def _compared(text: str, value: Any) -> int:
    """Compare a call on a stream with the call on each element; 0 where it cannot be compared.

    Batching rules are keyed by name: a name that came with the schemas must not meet the rule of another one.
    """
    if not isinstance(value, Tensor) or value.dtype != torch.float32 or value.numel() > 100:
        return 0
    argument = next((name for name in ("x", "v") if f"({name}" in text or f"{name}." in text), None)
    if argument is None or not bool(value.isfinite().all()) or "empty" in text:
        return 0
    others = ("image", "far", "v" if argument == "x" else "x")
    if any(f"{other}," in text or f"{other})" in text for other in others):
        return 0
    return _on_a_stream(text, argument, value)


def _on_a_stream(text: str, argument: str, value: Tensor) -> int:
    given = Buffer(Scalar("fp32"), VALUES[argument].shape[::-1])
    result = Buffer(Scalar("fp32"), value.shape[::-1]) if value.dim() else Scalar("fp32")
    head = "".join(f"{name} = torch.tensor({item.tolist()})\n" for name, item in VALUES.items() if name in ("i", "b"))
    body = f"{argument} = input[0]\n{head}return [{text}]\n"
    decl = FnDecl("fn_x", "X", given, result, block(body, "input"), span=Span(0, 1))
    stream = torch.stack([VALUES[argument], VALUES[argument] * 0.9, VALUES[argument] * 1.1])
    with torch.inference_mode():
        try:
            (batched,) = CompiledFn(decl, environment()).call(([stream],), 1)
            single = [CompiledFn(decl, environment()).call(([element],), 0)[0] for element in stream]
        except FnRuntimeError as error:
            assert error.code != "STEP911", (text, error)
            return 0
    torch.testing.assert_close(batched.expand(3, *batched.shape[1:]), torch.stack(single), equal_nan=True)
    return 1


def worker() -> None:
    """Call the names on the input, within the bound on memory."""
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    patterns = dict(spelled())
    for name in sys.stdin.read().split():
        print(json.dumps(asdict(called(name, patterns[name]))), flush=True)


# In the owner -----------------------------------------------------------------------------------------------------


def survey(names: Sequence[str]) -> list[Outcome]:
    """Call all ``names`` in workers; the end of a worker is a failure of the call that it was about."""
    left, found = list(names), []
    while left:
        lines, status = _work(left)
        outcomes = [Outcome(**json.loads(line)) for line in lines if line.startswith("{")]
        found += outcomes
        left = left[len(outcomes) :]
        if status:
            last = next((line for line in reversed(lines) if line.startswith("> ")), "> nothing")
            found.append(Outcome(left.pop(0) if left else "", failures=[f"{last[2:]}: ends the process ({status})"]))
    return found


def _work(names: Sequence[str]) -> tuple[list[str], int]:
    """Return the lines of a worker and its exit status."""
    here = Path(__file__)
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(
            [sys.executable, str(here)],
            input="\n".join(names),
            stdout=output,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
            timeout=3600,
            cwd=here.parents[1],
            env=os.environ | {"PYTHONPATH": os.pathsep.join((str(here.parents[1]), str(here.parent)))},
        )
        output.seek(0)
        return output.read().splitlines(), done.returncode


if __name__ == "__main__":
    worker()
