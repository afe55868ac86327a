"""Lists that hold lists twice, level by level, have more items than anybody can go through: each walk ends soon.

Forty-five doublings are 3.5e13 items in 46 lists. Whatever walks over such values remembers the lists that it was in,
or refuses them where what it does takes each item as often as it stands there.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from cli_inputs import TASK
from stepcore.check import check_text
from stepcore.findings.errors import SimError
from stepcore.fn.decl import FnScope
from stepcore.frontend.values import StreamRef, holds_stream
from stepcore.sim.fnvec.dispatch import tensors_in
from stepcore.sim.fnvec.env import FnEnv
from stepcore.sim.fnvec.errors import EvaluationLimits, EvaluationRefused, FnRuntimeError
from stepcore.sim.fnvec.machine import index_list
from stepcore.sim.fnvec.record import has_traced, probe_of
from stepcore.sim.fnvec.shared import leaves, unfolded
from stepcore.sim.fnvec.trace import Tracer
from stepcore.sim.nested import packed
from stepcore.sim.world import tensors_of
from test_function_semantics import interpreted

DOUBLED = "a = [[1.0]]\nfor i in range(45):\n    a = [a, a]\n"
AGAIN = DOUBLED.replace("a =", "b =").replace("[a, a]", "[b, b]")
LIMIT = 10  # seconds of processor time; what walks over all of it takes years


@pytest.fixture(autouse=True)
def _bounded() -> Iterator[None]:
    """End the test where a walk does not end: its default is the end of the process, also in one of C.

    A limit of processor time (RLIMIT_CPU) is compared with the ticks that a process was seen at work, and rusage tells
    the time that it worked: after minutes the two are further apart than the limit, and it ends what has just begun.
    """
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)


def doubled(leaf: Any, levels: int = 45, make: Callable[[Any], Any] = list) -> Any:
    """Return lists that hold ``leaf`` 2**levels times."""
    value = make((leaf,))
    for _ in range(levels):
        value = make((value, value))
    return value


FINE = {
    "made": "",
    "joined": "c = a + a\nc += a\nc.append(a)",
    "kept": "d = {'q': a}\nc = list(a)\ne = (a, a)",
    "asked": "c = [len(a), a is a[0], bool(a)]\nt = torch.ones(2) if a else a",
    "chosen": "c = a if M_value > 3 else [a]",
}
REFUSED = {
    "compared": f"{AGAIN}c = a == b",
    "ordered": f"{AGAIN}c = a < b",
    "looked for": f"{AGAIN}c = a in [b]",
    "counted": f"{AGAIN}c = [b].count(a)",
    "taken out": f"{AGAIN}c = [b]\nc.remove(a)",
    "sorted": f"{AGAIN}c = sorted([a, b])",
    "the largest": f"{AGAIN}c = max(a, b)",
    "a tensor of it": "c = torch.tensor(a)",
    "as one": "c = torch.as_tensor(a)",
    "an index": "c = torch.ones(3)[a]",
    "an index that is stored to": "c = torch.ones(3)\nc[a] = 1",
    "an argument": "c = torch.stack(a)",
    "an argument of what is not familiar": "c = torch.ones(3).tensor_split(a)",
    "a key": "t = (1,)\nfor i in range(45):\n    t = (t, t)\nd = {t: 1}",
    "a key that is looked for": "t = (1,)\nfor i in range(45):\n    t = (t, t)\nd = {}\nd[t] = 1",
    "a key in a dictionary": "t = (1,)\nfor i in range(45):\n    t = (t, t)\nd = {1: 2}\nc = t in d",
}


@pytest.mark.parametrize("name", FINE)
def test_a_block_keeps_them(name: str) -> None:
    names = interpreted(DOUBLED + FINE[name])
    assert unfolded(names["a"], 1 << 60) > 1 << 45


@pytest.mark.parametrize("name", REFUSED)
def test_a_block_refuses_what_takes_each_item(name: str) -> None:
    with pytest.raises(FnRuntimeError):
        interpreted(DOUBLED + REFUSED[name])


def test_other_precisions_keep_what_is_shared() -> None:
    names = interpreted(DOUBLED.replace("[1.0]", "[torch.ones(2)]"))
    env = FnEnv(FnScope(), {}, {})
    env.globals["a"] = names["a"]
    wide = env.astype(torch.float64)
    value = wide.globals["a"]
    assert value[0] is value[1]
    assert next(leaves(value)).dtype == torch.float64
    assert len(wide.tensors()) == 1


def test_what_looks_for_tensors_remembers() -> None:
    one = torch.ones(2)
    value = doubled(one)
    assert [id(leaf) for leaf in leaves(value)] == [id(one)]
    assert [id(leaf) for leaf in tensors_in({"x": value})] == [id(one)]
    assert not has_traced([value, doubled(1, make=tuple)])
    probe = probe_of(value)
    assert probe[0] is probe[1]


def test_a_choice_between_them_shares_as_they_do() -> None:
    tracer = Tracer(EvaluationLimits(), 1)
    condition = tracer.truth(tracer.argument(torch.tensor([1.0, 0.0, 2.0])))
    yes, no = tracer.argument(torch.ones(3, 2)), tracer.argument(torch.zeros(3, 2))
    chosen = tracer.choose(condition, doubled(yes), doubled(no))
    assert chosen[0] is chosen[1]
    assert len(list(leaves(chosen))) == 1
    plain = tracer.wrap(doubled(1), doubled(1))
    assert plain[0] is plain[1]


def test_a_choice_between_lists_that_hold_themselves_is_no_walk_without_end() -> None:
    tracer = Tracer(EvaluationLimits(), 1)
    condition = tracer.truth(tracer.argument(torch.tensor([1.0, 0.0])))
    yes: list[Any] = []
    no: list[Any] = []
    yes.append(yes)
    no.append(no)
    with pytest.raises(RecursionError, match="holds itself"):
        tracer.choose(condition, yes, no)


def test_the_search_for_a_stream_remembers() -> None:
    stream = StreamRef(0)
    assert not holds_stream(doubled(1))
    assert not holds_stream({"a": doubled(1), "b": doubled(1, make=tuple)})
    assert holds_stream([doubled(1), doubled(stream)])
    assert holds_stream({"a": [{"b": stream}]})
    itself: list[Any] = [1]
    itself.append(itself)
    assert not holds_stream(itself)


def test_what_takes_each_item_is_bounded() -> None:
    value = doubled(torch.ones(2))
    with pytest.raises(SimError, match="items"):
        tensors_of(value)
    assert isinstance(packed(value, 3), str)
    with pytest.raises(EvaluationRefused, match="items"):
        index_list(doubled(1))


def test_deep_values_are_no_recursion() -> None:
    value: Any = [torch.ones(1)]
    for _ in range(5000):
        value = [value]
    assert len(list(leaves(value))) == 1
    assert unfolded(value) > 1 << 20, "Python cannot compare them"


@pytest.mark.parametrize("place", ["apply", "global"])
def test_a_task_with_them_gets_a_finding_or_passes(place: str) -> None:
    lines = ["a = [input[0]]" if place == "apply" else "a = [1.0]", *["a = [a, a]"] * 45]
    if place == "apply":
        body = "".join(f"    {line}\n" for line in lines)
        text = TASK.replace("    return [input[0] * 2]", f"{body}    return [input[0] * 2]")
    else:
        text = "global: |-\n" + "".join(f"  {line}\n" for line in lines) + TASK
    assert check_text(text, "task.yaml") is not None


def test_a_list_of_global_that_holds_itself_is_kept_in_other_precisions() -> None:
    names = interpreted("d = {'q': torch.ones(2)}\na = [d]\na.append(a)")
    env = FnEnv(FnScope(), {}, {})
    env.globals["a"] = names["a"]
    wide = env.astype(torch.float64)
    value = wide.globals["a"]
    assert value[1] is value
    assert value[0]["q"].dtype == torch.float64
    assert len(wide.tensors()) == 1
