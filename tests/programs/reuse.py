"""Programs that consume streams again and again, in every way that Python offers to write it.

Every stream holds fp32 of the shape `[M, N]`, so that any of them fits anywhere; only the affine rule is at stake.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from .model import NUMBER, Fn, Input, Kind, Part, Program, Stream
from .sizes import number, symbol

PAIR = Kind(NUMBER.parts * 2, True)
TRIPLE = Kind(NUMBER.parts * 3, True)
FNS = (
    Fn("fn_neg", NUMBER, NUMBER, "return [-0.5 * input[0]]"),
    Fn("fn_shift", NUMBER, NUMBER, "return [input[0] + 0.25]"),
    Fn("fn_add", PAIR, NUMBER, "return [input[0] + 0.5 * input[1]]"),
    Fn("fn_add3", TRIPLE, NUMBER, "return [input[0] - 0.5 * input[1] + 0.25 * input[2]]"),
    Fn("fn_sum", NUMBER, NUMBER, "return [state[0] + input[0]]", ("0",)),
)


class Reuser:
    """Writes the body line by line; `pool` holds the names of streams, consumed or not."""

    def __init__(self, rng: Random, inputs: int) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.pool = [f"E{i}" for i in range(inputs)]
        self._count = 0

    def name(self, base: str = "S") -> str:
        """A new name."""
        self._count += 1
        return f"{base}{self._count}"

    def pick(self) -> str:
        """A stream, often one that was picked before."""
        return self.rng.choice(self.pool[:2] if self.rng.randrange(3) == 0 else self.pool)

    def write(self, *lines: str) -> None:
        """Append lines."""
        self.lines += lines

    def add(self, call: str) -> None:
        """Name the result of a call."""
        name = self.name()
        self.write(f"{name} = {call}")
        self.pool.append(name)


Gadget = Callable[[Reuser], None]


def _pair(w: Reuser) -> None:
    w.add(f"step.Map(fn=fn_add).apply(({w.pick()}, {w.pick()}))")


def _same_twice(w: Reuser) -> None:
    x = w.pick()
    w.add(f"step.Map(fn=fn_add3).apply(({x}, {w.pick()}, {x}))")


def _zip(w: Reuser) -> None:
    style = w.rng.choice(("({}, {})", "[{}, {}]", "(*[{}, {}],)"))
    w.add(f"step.Map(fn=fn_add).apply(step.Zip().apply({style.format(w.pick(), w.pick())}))")


def _alias(w: Reuser) -> None:
    name = w.name("A")
    w.write(f"{name} = {w.pick()}")
    w.pool.append(name)
    w.add(f"step.Map(fn=fn_neg).apply({name})")


def _held_tuple(w: Reuser) -> None:
    held = w.name("T")
    w.write(f"{held} = ({w.pick()}, {w.pick()})")
    w.add(f"step.Map(fn=fn_add).apply({w.rng.choice((held, f'(*{held},)', f'({held}[1], {held}[0])'))})")
    w.add(f"step.Map(fn=fn_shift).apply({held}[{w.rng.choice((0, 1, -1))}])")


def _loop(w: Reuser) -> None:
    out, x = w.name("L"), w.pick()
    inner = w.rng.choice((f"({x}, {w.pick()})", f"({x}, {x})", f"({x}, {out}[-1])"))
    w.write(f"{out} = [step.Map(fn=fn_neg).apply({w.pick()})]", f"for i in range({w.rng.choice((1, 2, 3))}):")
    w.write(f"    {out}.append(step.Map(fn=fn_add).apply({inner}))")
    w.pool.append(f"{out}[{w.rng.choice((0, -1))}]")


def _rebinding(w: Reuser) -> None:
    name, x = w.name(), w.pick()
    w.write(f"{name} = {w.pick()}", f"for _ in range({w.rng.choice((1, 2, 3))}):")
    w.write(f"    {name} = step.Map(fn=fn_add).apply(({name}, {x}))")
    w.pool.append(name)


def _over_functions(w: Reuser) -> None:
    out = w.name("L")
    w.write(f"{out} = [step.Map(fn=f).apply({w.pick()}) for f in [fn_neg, fn_shift]]")
    w.pool += [f"{out}[0]", f"{out}[1]"]


def _over_streams(w: Reuser) -> None:
    out, x = w.name("L"), w.pick()
    listed = f"[{w.pick()}, {w.pick()}]"
    heads = (f"for s in {listed}", f"for i, s in enumerate({listed})", f"for s, f in zip({listed}, [fn_neg, fn_shift])")
    item = w.rng.choice(("(s, s)", f"(s, {x})", f"({x}, s)"))
    w.write(f"{out} = [step.Map(fn=fn_add).apply({item}) {w.rng.choice(heads)}]")
    w.pool += [f"{out}[0]", f"{out}[1]"]


def _nested(w: Reuser) -> None:
    out, x = w.name("L"), w.pick()
    w.write(f"{out} = []", "for i in range(2):", "    for f in [fn_neg, fn_shift]:")
    w.write(f"        {out}.append(step.Map(fn=f).apply({x}))")
    w.pool.append(f"{out}[{w.rng.choice((0, 3))}]")


def _nested_comprehension(w: Reuser) -> None:
    out = w.name("L")
    w.write(f"{out} = [step.Map(fn=f).apply({w.pick()}) for i in range(2) for f in [fn_neg, fn_shift]]")
    w.pool.append(f"{out}[{w.rng.choice((0, 3))}]")


def _helper(w: Reuser) -> None:
    name, x = w.name("helper"), w.pick()
    body = w.rng.choice(("(a, b)", "(a, a)", f"(a, {x})"))
    w.write(f"def {name}(a, b):", f"    return step.Map(fn=fn_add).apply({body})")
    for _ in range(w.rng.choice((1, 2))):
        w.add(f"{name}({w.pick()}, {w.rng.choice(('', 'b='))}{w.pick()})")


def _lambda(w: Reuser) -> None:
    name = w.name("f")
    w.write(f"{name} = lambda a: step.Map(fn=fn_neg).apply(a)")
    w.add(f"{name}({w.pick()})")
    w.add(f"{name}({w.pick()})")


def _star_helper(w: Reuser) -> None:
    name = w.name("helper")
    w.write(f"def {name}(*streams):", "    return step.Map(fn=fn_add).apply(streams)")
    w.add(f"{name}(*[{w.pick()}, {w.pick()}])")


def _repeated_list(w: Reuser) -> None:
    held = w.name("L")
    w.write(f"{held} = [{w.pick()}] * 2")
    w.add(f"step.Map(fn=fn_add).apply({held})")


def _known_branch(w: Reuser) -> None:
    name = w.name()
    w.write(f"if M_value > {w.rng.choice((0, 9))}:", f"    {name} = step.Map(fn=fn_neg).apply({w.pick()})")
    w.write("else:", f"    {name} = step.Map(fn=fn_shift).apply({w.pick()})")
    w.pool.append(name)


def _choice(w: Reuser) -> None:
    w.add(f"step.Map(fn=fn_neg).apply({w.pick()} if M_value > 9 else {w.pick()})")


def _branch(w: Reuser) -> None:
    """A branch that only a run decides; just one arm consumes."""
    name, x = w.name(), w.pick()
    w.write("if FLAG:", f"    {name} = step.Map(fn=fn_neg).apply({x})")
    w.write("else:", f"    {name} = step.Map(fn=fn_shift).apply({w.rng.choice((x, w.pick()))})")
    w.pool.append(name)


def _copy(w: Reuser) -> None:
    a, b = w.name(), w.name()
    w.write(f"{a}, {b} = step.Copy().apply({w.pick()})")
    w.pool += [a, b]


def _partition(w: Reuser) -> None:
    out = w.name("P")
    data = w.rng.choice((w.pick(), f"step.Map(fn=fn_neg).apply({w.pick()})"))
    w.write(f"{out} = step.Partition(N=2).apply(({data}, EX))")
    style = w.rng.choice(("[step.Map(fn=fn_neg).apply(b) for b in {}]", "{}", "[{0}[0], {0}[1]]"))
    w.add(f"step.Merge(fn=fn_sum).apply(({style.format(out)}, EX))")


STRAIGHT: tuple[Gadget, ...] = (_pair, _same_twice, _zip, _copy, _partition)
GADGETS: tuple[Gadget, ...] = (
    *STRAIGHT, _alias, _held_tuple, _loop, _rebinding, _over_functions, _over_streams, _nested,
    _nested_comprehension, _helper, _lambda, _star_helper, _repeated_list, _known_branch, _choice,
)  # fmt: skip
# With a branch that only a run decides nothing can be written out anew, so that every fix has to be made in place.
UNDECIDED: tuple[Gadget, ...] = (*STRAIGHT, _branch, _branch, _branch, _held_tuple, _over_functions, _nested, _lambda)
ANYTHING: tuple[Gadget, ...] = (*GADGETS, _branch, _branch)


def reusing(rng: Random, gadgets: tuple[Gadget, ...] = GADGETS, length: int = 4) -> tuple[Program, str]:
    """A program without steps (its inputs, functions and outputs), and a body for it that reuses streams.

    With `UNDECIDED` and `ANYTHING` a body may read the name `FLAG`, which the caller has to define or replace.
    """
    inputs = rng.choice((1, 2, 3))
    writer = Reuser(rng, inputs)
    for _ in range(length):
        rng.choice(gadgets)(writer)
    returned = [writer.pick() for _ in range(rng.choice((1, 2)))]
    writer.write(f"return {', '.join([writer.pool[-1], *returned[1:]])}")
    body = "\n".join(writer.lines).replace("EX", f"E{inputs}")
    return _frame(inputs, len(returned), routed="Partition" in body), body


def _frame(inputs: int, returned: int, *, routed: bool) -> Program:
    sizes = {"M": 2, "N": 3, "K": 1, "D": 1, "E": 1}
    shape = (symbol("M", 2), symbol("N", 3))
    program = Program(sizes, fns={fn.name: fn for fn in FNS})
    for index in range(inputs):
        program.streams[index] = Stream(index, shape, NUMBER, "input")
        program.inputs.append(Input(program.streams[index], "torch.randn"))
    if routed:
        bits = Kind((Part((), number(2)),))
        program.streams[inputs] = Stream(inputs, shape[1:], bits, "input", 1)
        program.inputs.append(Input(program.streams[inputs], None, (0, 2)))
    program.returns = [0] * returned
    return program
