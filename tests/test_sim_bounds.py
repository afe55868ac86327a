"""Memory bounds: what counts, what does not, and that the real runtime keeps to them."""

from __future__ import annotations

import pytest

from sim_helpers import policy
from sim_tasks import ROUTED, SUM, Bed, function, task_text
from stepcore.costs.bounds import Bounds, check_sizes
from stepcore.costs.sizes import AtMost, ByteCount, bytes_text
from stepcore.findings.errors import SimError
from stepcore.graph.typed import TypedGraph

BASE = task_text("input_data['E0'].sum(1)", SUM, function("fn_twice", "input[0] * 2"))
ENDS = 4 * (35 + 2 * 7)


def ledger(impl: str, text: str = BASE, limit: int = 1 << 40) -> ByteCount:
    bed = Bed(text)
    checked = bed.check(impl)
    return Bounds(checked.spec, checked.spec.bindings(), limit).check(checked.typed)


def test_inputs_once_outputs_twice() -> None:
    assert ledger("return step.Identity().apply(E0)").total == ENDS


def test_views_and_repetition_are_free() -> None:
    impl = """
E1 = step.Repeat(n=1000000).apply(E0)
E2 = step.Promote(b=1).apply(E1)
E3 = step.Bufferize(a=1).apply(E2)
return step.Streamify().apply(E3)
"""
    assert ledger(impl).total == ENDS


def test_map_counts_what_is_not_repeated() -> None:
    impl = "E1 = step.Repeat(n=1000).apply(E0)\nreturn step.Map(fn=fn_twice).apply(E1)"
    assert ledger(impl).total == ENDS + 4 * 35


def test_flattening_a_repetition_counts_in_full() -> None:
    impl = "E1 = step.Repeat(n=1000).apply(E0)\nreturn step.Flatten(L=[1]).apply(E1)"
    assert ledger(impl).total == ENDS + 4 * 35 * 1000


def test_a_lazy_map_counts_only_where_its_values_are_needed() -> None:
    folded = "E1 = step.Map(fn=fn_twice).apply(E0)\nreturn step.Accum(fn=fn_sum, b=1).apply(E1)"
    returned = "return step.Map(fn=fn_twice).apply(E0)"
    with policy(lazy=0):
        assert ledger(folded).total == ENDS + 4 * 7
        assert ledger(returned).total == ENDS + 4 * 35
    assert ledger(folded).total == ENDS + 4 * 7 + 4 * 35


def test_scan_counts_every_state() -> None:
    assert ledger("return step.Scan(fn=fn_sum, b=1).apply(E0)").total == ENDS + 4 * 35


def test_partition_counts_every_branch_in_full() -> None:
    impl = "A, B = step.Partition(N=2).apply((E0, E1))\nreturn A"
    assert ledger(impl, ROUTED).total >= 4 * 5 + 2 * 4 * 5


def test_unknown_sizes_divide() -> None:
    impl = "A, B = step.Partition(N=2).apply((E0, E1))\nreturn step.Reshape(S=2, L=[0]).apply(A)"
    assert ledger(impl, ROUTED).total > 0


def test_the_operator_that_passes_the_limit_is_named() -> None:
    impl = "E1 = step.Repeat(n=100000).apply(E0)\nreturn step.Flatten(L=[1]).apply(E1)"
    assert ledger(impl, limit=30 << 20).total == ENDS + 4 * 3_500_000
    with pytest.raises(SimError) as caught:
        ledger(impl.replace("100000", "1000000"), limit=30 << 20)
    error = caught.value
    assert (error.code, error.node, error.limit) == ("STEP406", 1, 30 << 20)
    assert error.needed is not None and error.needed > 4 * 35_000_000
    assert "Flatten" in error.message and "MiB" in error.message


def test_absurd_repetition() -> None:
    with pytest.raises(SimError) as caught:
        ledger("\n".join(["E1 = E0", *["E1 = step.Repeat(n=1000000000).apply(E1)"] * 3, "return E1"]))
    assert caught.value.code == "STEP406"


def test_endless_fold() -> None:
    impl = "E1 = step.Repeat(n=1000000000).apply(E0)\nreturn step.Accum(fn=fn_sum, b=2).apply(E1)"
    with pytest.raises(SimError) as caught:
        ledger(impl)
    assert (caught.value.code, caught.value.node) == ("STEP405", 1)


def test_fp64_takes_twice_as_much() -> None:
    bed = Bed(BASE)
    checked = bed.check("return step.Map(fn=fn_twice).apply(E0)")
    bounds = Bounds(checked.spec, checked.spec.bindings())
    assert bounds.check(checked.typed, 2).total == 2 * bounds.check(checked.typed).total


@pytest.mark.parametrize("size", [0, -3])
def test_sizes_below_one(size: int) -> None:
    spec = Bed(BASE).session.spec
    with pytest.raises(SimError) as caught:
        check_sizes(spec, {**spec.bindings(), "M": size})
    assert caught.value.code == "STEP217"
    assert "E0" in caught.value.message


def test_size_without_a_value() -> None:
    spec = Bed(BASE).session.spec
    with pytest.raises(SimError) as caught:
        check_sizes(spec, {"M": 3})
    assert caught.value.code == "STEP225"


def test_upper_bounds_stay_upper_bounds() -> None:
    size = AtMost(7)
    assert size % 2 == 0
    assert size // 2 == 4
    assert isinstance(3 * size, AtMost)
    assert 3 * size == 21


def test_bytes_for_people() -> None:
    assert bytes_text(12) == "12 bytes"
    assert bytes_text(3 << 20) == "3.0 MiB"
    assert bytes_text(1 << 62) == "4 EiB"


def test_a_program_is_held_against_its_bounds_once_for_all_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """A right program runs on many data of the same sizes; those in fp64 take twice as much, which is known by then."""
    bed = Bed(BASE)
    scales: list[int] = []
    check = Bounds.check

    def noted(self: Bounds, graph: TypedGraph, scale: int = 1) -> ByteCount:
        scales.append(scale)
        return check(self, graph, scale)

    monkeypatch.setattr(Bounds, "check", noted)
    graph = bed.check("return step.Accum(fn=fn_sum, b=1).apply(E0)").typed
    data = bed.session.world.drawn
    for precise in (False, True, False, True):
        bed.session.results(graph, data, precise=precise)
    assert scales == [1]
    same = bed.check("E1, E2 = step.Copy().apply(E0)\nreturn step.Accum(fn=fn_sum, b=1).apply(E2)").typed
    bed.session.run(same)
    assert scales == [1]
    other = bed.check("return step.Scan(fn=fn_sum, b=1).apply(E0)").typed
    bed.session.run(other)
    assert scales == [1, 1]
    needed = check(bed.session.bounds, graph)
    bed.session.bounds.limit = 2 * (needed.total + needed.working) - 1
    bed.session.results(graph, data)
    with pytest.raises(SimError, match="the limit is"):
        bed.session.results(graph, data, precise=True)
    bed.session.bounds.limit = 8
    for _ in range(2):
        with pytest.raises(SimError, match="the limit is 8 bytes"):
            bed.session.run(graph)
