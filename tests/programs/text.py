"""Programs as task files. The styles of `impl` vary: aliases, tuples, lists, stars, nested calls, loops of all kinds.

Whatever the style, streams are consumed in the order of the program's steps.
"""

from __future__ import annotations

import textwrap
from random import Random
from typing import Any

from .model import Fn, Input, Kind, Program, Step
from .sizes import Size


class Plain:
    """Chooses the first style everywhere, for small examples."""

    def choice(self, options: tuple[str, ...]) -> str:
        """The first one."""
        return options[0]


class ImplWriter:
    """Writes the body of one program; `expr` holds what stands for each stream at the moment."""

    def __init__(self, program: Program, rng: Random | Plain) -> None:
        self.program = program
        self.rng = rng
        self.lines: list[str] = []
        self.expr = {entry.stream.index: f"E{i}" for i, entry in enumerate(program.inputs)}
        self.lists: dict[str, list[int]] = {}
        self._uses = program.all_consumers()
        self._names = 0

    def write(self) -> str:
        """The text, which ends with a return."""
        steps, at = self.program.steps, 0
        while at < len(steps):
            length = self._group(at)
            if length > 1:
                self._stage(steps[at : at + length])
            elif (length := self._run(at)) > 1 and self.rng.choice(("plain", "loop")) == "loop":
                self._loop(steps[at : at + length])
            else:
                length = 1
                self._step(steps[at], steps[at + 1] if at + 1 < len(steps) else None)
            at += length
        returned = [self.expr[index] for index in self.program.returns]
        if len(returned) == 1:
            self.lines.append(f"return {returned[0]}")
        else:
            style = self.rng.choice(("{}", "({})", "[{}]"))
            self.lines.append("return " + style.format(", ".join(returned)))
        return "\n".join(self.lines)

    def name(self, base: str = "S") -> str:
        """A new name."""
        self._names += 1
        return f"{base}{self._names}"

    # -- single steps ------------------------------------------------------------------------------------

    def _step(self, step: Step, following: Step | None) -> None:
        operator = self._operator(step)
        call = f"{operator}.apply({self._argument(step)}{self._label()})"
        if step.op == "Copy":
            self._two(step, call)
        elif step.op == "Partition":
            self._branches(step, call)
        elif step.outputs[0] in self.program.dead:
            self.lines.append(call)
        elif self._nests(step, following):
            self.expr[step.outputs[0]] = call
        else:
            self._one(step.outputs[0], call)

    def _nests(self, step: Step, following: Step | None) -> bool:
        """Whether the call may stand right where its result is consumed."""
        index = step.outputs[0]
        if following is None or following.group or index not in following.inputs or len(self._uses[index]) > 1:
            return False
        return self.rng.choice(("name", "name", "nest")) == "nest"

    def _one(self, index: int, call: str) -> None:
        name = self.name()
        style = self.rng.choice(("name", "name", "name", "alias", "tuple", "typed"))
        if style == "alias":
            self.lines += [f"{name} = {call}", f"A{name} = {name}"]
            name = f"A{name}"
        elif style == "tuple":
            self.lines.append(f"{name} = ({call}, 1)")
            name = f"{name}[0]"
        elif style == "typed":
            self.lines.append(f"({name}) = {call}")
        else:
            self.lines.append(f"{name} = {call}")
        self.expr[index] = name

    def _two(self, step: Step, call: str) -> None:
        first, second = step.outputs
        style = self.rng.choice(("unpack", "unpack", "whole", "list"))
        if style == "unpack":
            a, b = self.name(), self.name()
            self.lines.append(f"{a}, {b} = {call}")
        elif style == "list":
            a, b = self.name(), self.name()
            self.lines.append(f"[{a}, {b}] = list({call})")
        else:
            whole = self.name("T")
            self.lines.append(f"{whole} = {call}")
            a, b = f"{whole}[0]", f"{whole}[-1]"
        self.expr[first], self.expr[second] = a, b

    def _branches(self, step: Step, call: str) -> None:
        names = [self.name("B") for _ in step.outputs]
        style = self.rng.choice(("list", "list", "unpack", "star"))
        if style == "unpack":
            self.lines.append(f"{', '.join(names)}{',' if len(names) == 1 else ''} = {call}")
        elif style == "star":
            rest = self.name("R")
            self.lines.append(f"{names[0]}, *{rest} = {call}")
            names[1:] = [f"{rest}[{i}]" for i in range(len(names) - 1)]
        else:
            names = self._listed(step.outputs, call)
        self.expr.update(zip(step.outputs, names, strict=True))

    def _listed(self, outputs: tuple[int, ...], value: str) -> list[str]:
        whole = self.name("P")
        self.lines.append(f"{whole} = {value}")
        self.lists[whole] = list(outputs)
        return [f"{whole}[{i}]" for i in range(len(outputs))]

    def _argument(self, step: Step) -> str:
        texts = [self.expr[index] for index in step.inputs]
        if step.op == "Merge":
            branches = self._list_text(step.inputs[:-1])
            return self.rng.choice((f"({branches}, {texts[-1]})", f"[{branches}, {texts[-1]}]"))
        if len(texts) == 1:
            return texts[0]
        listed = ", ".join(texts)
        style = self.rng.choice(("({})", "({})", "[{}]", "(*[{}],)", "variable"))
        if style != "variable":
            return style.format(listed)
        name = self.name("T")
        self.lines.append(f"{name} = ({listed})")
        return name

    def _list_text(self, indices: tuple[int, ...]) -> str:
        """A list of streams: the name that holds just them, or a display."""
        for name, held in self.lists.items():
            if held == list(indices) and all(self.expr[i] == f"{name}[{k}]" for k, i in enumerate(indices)):
                return name
        return f"[{', '.join(self.expr[index] for index in indices)}]"

    def _label(self) -> str:
        return self.rng.choice(("", "", "", "", ', "label"', ', name="label"'))

    def _operator(self, step: Step, fn: str | None = None) -> str:
        params = {name: _param(value, self.rng) for name, value in step.params.items()}
        if fn is not None:
            params["fn"] = fn
        if step.op == "Partition" and self.rng.choice(("number", "length")) == "length":
            bits = self.program.streams[step.inputs[1]].kind.parts[0].bits
            params["N"] = bits.values_text() if bits is not None and bits.atoms else params["N"]
        name = self.rng.choice(("Repeat", "RepeatLast")) if step.op == "Repeat" else step.op
        text = f"step.{name}({', '.join(f'{key}={value}' for key, value in params.items())})"
        if fn is None and self.rng.choice(("call", "call", "call", "call", "hold")) == "hold":
            held = self.name("op")
            self.lines.append(f"{held} = {text}")
            return held
        return text

    # -- several steps at once ---------------------------------------------------------------------------

    def _group(self, at: int) -> int:
        """How many steps from here form one stage on all branches."""
        steps = self.program.steps
        end = at
        while steps[at].group and end < len(steps) and steps[end].group == steps[at].group:
            end += 1
        return max(end - at, 1)

    def _stage(self, steps: list[Step]) -> None:
        style = self.rng.choice(("comprehension", "append", "index", "helper", "plain"))
        if style == "plain":
            for step in steps:
                self._step(step, None)
            return
        inputs = self._list_text(tuple(step.inputs[0] for step in steps))
        fns = [step.params["fn"] for step in steps if "fn" in step.params]
        listed = f"[{', '.join(fns)}]"
        outputs = tuple(step.outputs[0] for step in steps)
        if style == "append":
            names = self._append(steps[0], inputs, listed if fns else "", outputs)
        else:
            names = self._listed(outputs, self._comprehension(style, steps[0], inputs, listed if fns else ""))
        self.expr.update(zip(outputs, names, strict=True))

    def _comprehension(self, style: str, step: Step, inputs: str, fns: str) -> str:
        call = f"{self._operator(step, 'f' if fns else None)}.apply(x)"
        if style == "helper":
            helper = self.name("stage")
            self.lines += [f"def {helper}({'f, x' if fns else 'x'}):", f"    return {call}"]
            call = f"{helper}({'f, x' if fns else 'x'})"
        if style == "index":
            whole = self.name("P")
            self.lines.append(f"{whole} = {inputs}")
            call = call.replace("x)", f"{whole}[i])")
            return f"[{call.replace('fn=f', f'fn={fns}[i]')} for i in range(len({whole}))]"
        return f"[{call} for f, x in zip({fns}, {inputs})]" if fns else f"[{call} for x in {inputs}]"

    def _append(self, step: Step, inputs: str, fns: str, outputs: tuple[int, ...]) -> list[str]:
        call = f"{self._operator(step, 'f' if fns else None)}.apply(x)"
        whole = self.name("P")
        head = f"for f, x in zip({fns}, {inputs}):" if fns else f"for i, x in enumerate({inputs}):"
        self.lines += [f"{whole} = []", head, f"    {whole}.append({call})"]
        self.lists[whole] = list(outputs)
        return [f"{whole}[{i}]" for i in range(len(outputs))]

    def _run(self, at: int) -> int:
        """How many steps from here apply one operator again and again."""
        steps, end = self.program.steps, at + 1
        first = steps[at]
        if first.op not in ("Promote", "Repeat", "Identity", "Streamify") or first.outputs[0] in self.program.dead:
            return 1
        while (
            end < len(steps)
            and (steps[end].op, steps[end].params) == (first.op, first.params)
            and steps[end].inputs == steps[end - 1].outputs
            and len(self._uses[steps[end].inputs[0]]) == 1
            and steps[end].outputs[0] not in self.program.dead
        ):
            end += 1
        return end - at

    def _loop(self, steps: list[Step]) -> None:
        name = self.name()
        operator = self._operator(steps[0])
        self.lines += [
            f"{name} = {self.expr[steps[0].inputs[0]]}",
            f"for _ in range({len(steps)}):",
            f"    {name} = {operator}.apply({name})",
        ]
        self.expr[steps[-1].outputs[0]] = name


def _param(value: Any, rng: Random | Plain) -> str:
    if isinstance(value, list):
        style = rng.choice(("[{}]", "[{}]", "({},)"))
        return style.format(", ".join(map(str, value)))
    return str(value)


def impl_text(program: Program, rng: Random | Plain | None = None) -> str:
    """The body of the program; plain style unless a source of choices is given."""
    return ImplWriter(program, rng or Plain()).write()


def task_text(program: Program, impl: str) -> str:
    """A complete task file around `impl`. Its references are placeholders: tests compare with the oracle."""
    lines = ["test_name: generated", "global: |"]
    for name, value in program.sizes.items():
        lines += [f"  {name}_value = {value}", f"  ctx[{name}] = {name}_value"]
    lines.append("inputs:")
    lines += [_input(f"E{i}", entry) for i, entry in enumerate(program.inputs)]
    if program.weights:
        lines.append("parameters:")
        for weight in program.weights:
            dims = _dims(weight.dims)
            lines.append(f"- {{name: {weight.name}, dtype: fp32, dims: {dims}, data_gen: torch.randn}}")
    if program.fns:
        lines.append("fns:")
        for fn in program.fns.values():
            lines += _fn(fn, program)
    lines.append("outputs:")
    for number, index in enumerate(program.returns):
        stream = program.streams[index]
        lines.append(f"- {{name: S{number}, dtype: {_kind(stream.kind)}, dims: {_dims(stream.shape)}, data_transform: ")
        lines[-1] += f"[{', '.join(['torch.zeros(1)'] * len(stream.kind.parts))}]}}"
    return "\n".join([*lines, "impl: |-", textwrap.indent(impl, "  "), ""])


def _input(name: str, entry: Input) -> str:
    drawn = f"data_gen: {entry.data_gen}" if entry.ones is None else f"min: {entry.ones[0]}, max: {entry.ones[1]}"
    return f"- {{name: {name}, dtype: {_kind(entry.stream.kind)}, dims: {_dims(entry.stream.shape)}, {drawn}}}"


def _fn(fn: Fn, program: Program) -> list[str]:
    names = {weight.name: f"input_data['{weight.name}']" for weight in program.weights}
    lines = [f"- name: {fn.name}", f"  func_name: {fn.name}"]
    if fn.init is not None:
        lines.append(f"  init: [{', '.join(fn.init)}]")
    lines += [f"  input_dtype: {_kind(fn.input)}", f"  output_dtype: {_kind(fn.output)}", "  apply: |"]
    return [*lines, textwrap.indent(fn.body.format(**names), "    ")]


def _kind(kind: Kind) -> str:
    listed = ", ".join(f'"{part}"' for part in kind.parts)
    return f"[{listed}]" if kind.is_tuple else listed


def _dims(shape: tuple[Size, ...]) -> str:
    return "[" + ", ".join(f'"{size}"' if size.atoms else str(size) for size in shape) + "]"
