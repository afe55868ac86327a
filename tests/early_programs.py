"""Bodies that bind and read a few names in every way, some before they have a value; and what Python makes of them."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from stepcore.records import Record

NAMES = "abcd"
_MOST_EVENTS = 5000


class Run(Record):
    """One call: what it returned or raised, and the lines of the text that Python came to (from 1)."""

    result: Any
    error: Exception | None
    lines: frozenset[int]

    @property
    def is_early(self) -> bool:
        """Whether a name had no value."""
        return isinstance(self.error, NameError)


class Bodies:
    """Draws bodies. ``data`` are conditions and sequences that hang on the argument ``u``, a number from 0 to 3."""

    def __init__(self, rng: random.Random, *, data: bool) -> None:
        self.rng = rng
        self.helpers: list[str] = []
        name = rng.choice(NAMES)
        self._conditions = ["True", "False", "1 < 2", "3 == 4", f"{name} > 2", f"{name} == 1"]
        self._sequences = ["range(2)", "range(0)", "[1, 2]", "[]", "range(3)", "(1,)", "range(1, 3)", "[0]"]
        if data:
            self._conditions += ["u", "u > 1", "not u", "True and u"]
            self._sequences.append("range(u)")

    def body(self) -> str:
        """Return a body that binds all names somewhere."""
        before = [f"{name} = {self.rng.randint(0, 3)}" for name in NAMES if self.rng.random() < 0.6]
        return "\n".join([*before, *self._block(0, "", in_loop=False), "a = b = c = d = 0"])

    def _name(self) -> str:
        return self.rng.choice(NAMES)

    def _expression(self, depth: int = 0) -> str:
        rng = self.rng

        def inner(depth: int) -> str:
            return self._expression(depth) if depth < 4 else self._name()

        forms: list[Callable[[], str]] = [
            self._name,
            self._name,
            lambda: str(rng.randint(0, 3)),
            lambda: f"({inner(depth + 1)} + {inner(depth + 1)})",
            lambda: f"({inner(depth + 1)} if {self._condition()} else {inner(depth + 1)})",
            lambda: f"sum([{inner(depth + 1)} for {self._name()} in {self._sequence()}])",
            lambda: (
                f"sum([{inner(depth + 1)} for {self._name()} in {self._sequence()} "
                f"for {self._name()} in [{inner(depth + 1)}] if {self._condition()}])"
            ),
            lambda: f"({self._name()} := {inner(depth + 1)})",
            lambda: f"max({inner(depth + 1)}, 1)",
            lambda: f"{rng.choice(self.helpers)}({inner(depth + 1)})" if self.helpers else "5",
        ]
        return rng.choice(forms)()

    def _condition(self) -> str:
        return self.rng.choice(self._conditions)

    def _sequence(self) -> str:
        return self.rng.choice(self._sequences)

    def _block(self, depth: int, indent: str, *, in_loop: bool) -> list[str]:
        return [
            line
            for _ in range(self.rng.randint(1, 2 if depth else 4))
            for line in self._statement(depth, indent, in_loop=in_loop)
        ]

    def _statement(self, depth: int, indent: str, *, in_loop: bool) -> list[str]:
        kind, further = self.rng.random(), f"{indent}    "
        if kind < 0.5:
            return [f"{indent}{self._name()} {self.rng.choice(['=', '=', '=', '+='])} {self._expression()}"]
        if kind < 0.55:
            return [f"{indent}{self._name()}, {self._name()} = {self._expression()}, {self._expression()}"]
        if kind < 0.7 and depth < 3:
            lines = [f"{indent}if {self._condition()}:", *self._block(depth + 1, further, in_loop=in_loop)]
            if self.rng.random() < 0.5:
                lines += [f"{indent}else:", *self._block(depth + 1, further, in_loop=in_loop)]
            return lines
        if kind < 0.8 and depth < 3:
            lines = [f"{indent}for {self._name()} in {self._sequence()}:"]
            lines += self._block(depth + 1, further, in_loop=True)
            if self.rng.random() < 0.2:
                lines += [f"{indent}else:", *self._block(depth + 1, further, in_loop=in_loop)]
            return lines
        if kind < 0.86 and in_loop:
            return [f"{indent}{self.rng.choice(['break', 'continue'])}"]
        if kind < 0.93 and depth < 2:
            return self._helper(depth, indent)
        if kind < 0.96:
            return [f"{indent}return {self._expression()}"]
        return [f"{indent}{self._expression()}"]

    def _helper(self, depth: int, indent: str) -> list[str]:
        name = f"h{len(self.helpers)}"
        if self.rng.random() < 0.7:
            self.helpers.append(name)  # it may call itself
        if self.rng.random() < 0.2:
            lines = [f"{indent}{name} = lambda p: {self._expression(1)}"]
        else:
            head = f"{indent}def {name}({self.rng.choice(['p', 'a', 'b'])}{self.rng.choice(['', ', q=1'])}):"
            lines = [head, *self._block(depth + 1, f"{indent}    ", in_loop=False)]
        if name not in self.helpers:
            self.helpers.append(name)
        return lines


def function_of(text: str) -> str:
    """Return a body as a function ``program(u)``; its lines are one further down."""
    return "def program(u):\n" + "".join(f"    {line}\n" for line in text.splitlines())


def drawn(seed: int, number: int, *, data: bool) -> str:
    """Return a body that Python compiles."""
    rng = random.Random(f"{seed} {number}")
    while True:
        text = Bodies(rng, data=data).body()
        try:
            compile(function_of(text), "<drawn>", "exec")
        except SyntaxError:
            continue
        return text


def run(text: str, argument: int) -> Run:
    """Let Python run a body."""
    names: dict[str, Any] = {}
    exec(compile(function_of(text), "<drawn>", "exec"), names)
    lines: set[int] = set()
    events = 0

    def trace(frame: FrameType, _event: str, _: Any) -> Any:
        nonlocal events
        events += 1
        if events > _MOST_EVENTS:
            raise TimeoutError
        if frame.f_code.co_filename == "<drawn>":
            lines.add(frame.f_lineno - 1)
        return trace

    before, result, error = sys.gettrace(), None, None
    sys.settrace(trace)
    try:
        result = names["program"](argument)
    except (NameError, TypeError, TimeoutError, RecursionError) as raised:
        error = raised
    finally:
        sys.settrace(before)
    return Run(result, error, frozenset(lines))
