"""Random bodies that keep tensors in lists and change them, and what a run of one changes."""

from __future__ import annotations

import contextlib
import random

import torch

_OF_INPUT = ("input[0]", "input[0] * 2", "input[0].view(-1)", "input[0][0]", "input[0].clone()", "input[0].sort()[0]")
_OF_TENSOR = ("{0}", "{0}", "{0} * 2", "{0}.view(-1)", "({0} + {0})")
_OF_LIST = (
    "{0}[0]",
    "{0}[-1]",
    "{0}[1]",
    "{0}.copy()[0]",
    "list({0})[0]",
    "({0} + {0})[0]",
    "[{0}[0] * 1][0]",
    "{0}[:1][0]",
    "({0} * 2)[1]",
    "sorted({0}, key=lambda q: q.sum())[0]",
    "max({0}, key=lambda q: float(q.sum()))",
    "{{'k': {0}[0]}}['k']",
)
_LISTS = (
    "{0}",
    "{0}.copy()",
    "{0} + [{1}]",
    "[*{0}]",
    "[q for q in {0}]",
    "[q * 1 for q in {0}]",
    "{0}[:2]",
    "list(reversed({0}))",
    "[p for p, q in zip({0}, {0})]",
    "sum([{0}, {0}], [])",
    "[q for _, q in enumerate({0})]",
)
_CHANGES = ("{0}.reverse()", "{0}.pop()", "{0}.insert(0, {1})", "{0}.extend({2})", "{0} += [{1}]", "{0}.append({1})")
# Ways to call a helper: by its name, out of a list or dictionary, by another helper.
_CALLS = (
    "{0}({1}, {2})",
    "{0}({1}, {2})",
    "[{0}][0]({1}, {2})",
    "{{'k': {0}}}['k']({1}, {2})",
    "({0} if M_value > 3 else abs)({1}, {2})",
    "handed_on({0}, {1}, {2})",
    "[f({1}, {2}) for f in [{0}]][0]",
)
_HANDED_ON = ("def handed_on(f, p, q):", "  r = f(p, q)", "  return [r, f][0]")


class Bodies:
    """Draws bodies of a function over ``input``, a list of one matrix, and the number ``M_value``."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def draw(self) -> str:
        """Return one body."""
        self._lines: list[str] = [*_HANDED_ON] if self._random.random() < 0.5 else []
        self._lists: list[str] = []
        self._tensors: list[str] = []
        self._statements(self._random.randint(3, 8), "")
        return "\n".join(self._lines)

    def _tensor(self) -> str:
        kind = self._random.random()
        if self._tensors and 0.3 <= kind < 0.65:
            return self._random.choice(_OF_TENSOR).format(self._random.choice(self._tensors))
        if self._lists and kind >= 0.3:
            return self._random.choice(_OF_LIST).format(self._random.choice(self._lists))
        return self._random.choice(_OF_INPUT)

    def _list(self) -> str:
        if not self._lists or self._random.random() < 0.4:
            return f"[{self._tensor()}, {self._tensor()}]"
        return self._random.choice(_LISTS).format(self._random.choice(self._lists), self._tensor())

    def _statements(self, count: int, indent: str) -> None:
        for _ in range(count):
            kind = self._random.random()
            if kind < 0.2:
                self._bind(indent, self._tensors, "t", self._tensor())
            elif kind < 0.4:
                self._bind(indent, self._lists, "l", self._list())
            elif kind < 0.55 and self._lists:
                self._change_list(indent)
            elif kind < 0.7:
                self._lines.append(f"{indent}({self._tensor()}).zero_()")
            elif kind < 0.82:
                self._augment(indent)
            elif kind < 0.9 and len(indent) < 4:
                header = self._random.choice(["for i in range(2):", "if M_value > 3:"])
                self._lines.append(f"{indent}{header}")
                self._statements(2, f"{indent}  ")
                self._lines.append(f"{indent}  pass")
            elif not indent and self._lists:
                self._random.choice([self._helper, self._unpack])()

    def _bind(self, indent: str, names: list[str], letter: str, value: str) -> None:
        is_bound_anew = names and self._random.random() < 0.3
        name = self._random.choice(names) if is_bound_anew else f"{letter}{len(self._lines)}"
        self._lines.append(f"{indent}{name} = {value}")
        if name not in names and not indent:
            names.append(name)

    def _change_list(self, indent: str) -> None:
        name, tensor = self._random.choice(self._lists), self._tensor()
        form = self._random.choice([*_CHANGES, "{0}[0] = {1}", "{0}[-1] = {1}", "{0}[1] = {1}"])
        self._lines.append(indent + form.format(name, tensor, self._list()))

    def _augment(self, indent: str) -> None:
        if self._tensors and self._random.random() < 0.5:
            self._lines.append(f"{indent}{self._random.choice(self._tensors)} += 1")
        elif self._lists:
            self._lines.append(f"{indent}{self._random.choice(self._lists)}[{self._random.choice([0, 1])}] += 1")

    def _unpack(self) -> None:
        first, second = f"a{len(self._lines)}", f"b{len(self._lines)}"
        self._lines.append(f"{first}, {second} = {self._random.choice(self._lists)}[:2]")
        self._tensors += [first, second]

    def _helper(self) -> None:
        """Define a helper of a list and a tensor, and call it."""
        name, outside = f"h{len(self._lines)}", (self._lists, self._tensors)
        self._lists, self._tensors = ["given"], ["one"]
        self._lines.append(f"def {name}(given, one):")
        self._statements(self._random.randint(1, 3), "  ")
        gives_list = self._random.random() < 0.5
        self._lines.append(f"  return {self._list() if gives_list else self._tensor()}")
        self._lists, self._tensors = outside
        calls = _CALLS if self._lines[0] == _HANDED_ON[0] else [call for call in _CALLS if "handed_on" not in call]
        call = self._random.choice(calls).format(name, self._list(), self._tensor())
        self._bind("", self._lists if gives_list else self._tensors, "l" if gives_list else "t", call)


def changes_input(body: str) -> bool | None:
    """Return whether a run of a body changes the matrix or the list that it gets; None if it fails."""
    matrix = torch.arange(16, dtype=torch.float32).reshape(4, 4) + 1
    given, before = [matrix], matrix.clone()
    finished = False
    with contextlib.suppress(IndexError, RuntimeError, TypeError, ValueError, NameError, AttributeError):
        exec(body, {"input": given, "M_value": 5, "torch": torch})
        finished = True
    if not torch.equal(matrix, before) or len(given) != 1 or given[0] is not matrix:
        return True
    return False if finished else None
