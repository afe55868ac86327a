"""The runtime's functions against the literal oracle, with and without lazy Maps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest
import torch
from torch import Tensor

from sim_helpers import F32, data, fn, one, policy, runtime, selector
from stepcore.costs.policy import blocks
from stepcore.findings.errors import SimError
from stepcore.sim.data import TensorData
from stepcore.sim.lazy import LazyData
from stepcore.types import Buffer, STuple

LIMITS: dict[str, dict[str, int]] = {
    "eager": {},
    "lazy": {"lazy": 0},
    "lazy in small pieces": {"lazy": 0, "chunk": 64},
    "lazy, one position at a time": {"lazy": 0, "chunk": 1, "reduce": 1},
    "short chains": {"lazy": 0, "chain": 1},
}
ROW = Buffer(F32, [4])


@pytest.fixture(params=list(LIMITS.values()), ids=list(LIMITS))
def limits(request: pytest.FixtureRequest) -> Iterator[None]:
    with policy(**request.param):
        yield


def folded(tensor: Tensor, dims: int, step: Callable[[Tensor, Tensor], Tensor], start: float) -> Tensor:
    """Fold the last ``dims`` axes of a tensor of scalars one by one."""
    flat = tensor.flatten(tensor.dim() - dims)
    state = torch.full(flat.shape[:-1], start)
    for index in range(flat.shape[-1]):
        state = step(state, flat[..., index])
    return state


SUM = fn("return [state[0] + input[0]]", init=(0,))
LATEST = fn("return [state[0] * 0.5 + input[0]]", init=(1,))
TOP = fn("return [torch.maximum(state[0], input[0])]", init=(float("-inf"),))
DOUBLE = fn("return [input[0] * 2]")
PRODUCT = fn("return [input[0] * input[1]]", STuple((F32, F32)))
BRANCHING = fn("return [input[0] if input[0] > 0 else -2 * input[0]]")
DOT = fn("return [torch.dot(input[0], input[1])]", STuple((ROW, ROW)))


@pytest.mark.usefixtures("limits")
class TestMap:
    @pytest.mark.parametrize("sizes", [(5,), (1,), (3, 4), (2, 1, 3), (0,), (0, 3)])
    def test_every_element(self, sizes: Sequence[int]) -> None:
        stream = data(sizes)
        result = runtime().map(DOUBLE, stream)
        assert result.sizes == tuple(sizes)
        assert torch.equal(one(result), one(stream) * 2)

    def test_branches_on_data(self) -> None:
        stream = data((3, 4))
        values = one(stream)
        assert torch.equal(one(runtime().map(BRANCHING, stream)), torch.where(values > 0, values, -2 * values))

    def test_repetition_is_computed_once(self) -> None:
        stream = data((3,)).insert_dim(0, 50)
        result = runtime().map(DOUBLE, stream)
        assert result.components[0].shape == (3, 1)
        assert torch.equal(one(result), (one(stream) * 2))

    def test_zip_joins_components(self) -> None:
        rt = runtime()
        left, right = data((3, 4), seed=1), data((4,), seed=2).insert_dim(0, 3)
        pair = rt.zip([left, right])
        assert pair.element == STuple((F32, F32))
        assert torch.equal(one(rt.map(PRODUCT, pair)), one(left) * one(right))

    def test_views_of_a_map(self) -> None:
        stream = data((2, 3, 4))
        result = runtime().map(DOUBLE, stream)
        wanted = one(stream) * 2
        assert torch.equal(one(result.merge_dims(0, 1)), wanted.reshape(4, 6))
        assert torch.equal(one(result.split_dim(2, (2, 2))), wanted.reshape(2, 2, 3, 2))
        assert torch.equal(one(result.insert_dim(0, 2)), wanted.unsqueeze(-1).expand(4, 3, 2, 2))
        assert torch.equal(one(result.into_element(1, Buffer(F32, [2]))), wanted)

    def test_map_of_buffers_streamified(self) -> None:
        stream = data((3,), ROW, (4,))
        result = runtime().map(fn("return [input[0] + 1]", ROW, ROW), stream).out_of_element(1, F32)
        assert result.sizes == (4, 3)
        assert torch.equal(one(result), one(stream) + 1)

    def test_merge_that_must_expand(self) -> None:
        rt = runtime()
        outer, inner = data((4,), seed=1).insert_dim(0, 3), data((3,), seed=2).insert_dim(1, 4)
        result = rt.map(PRODUCT, rt.zip([outer, inner])).merge_dims(0, 1)
        assert torch.equal(one(result), torch.outer(one(data((4,), seed=1)), one(data((3,), seed=2))).flatten())


@pytest.mark.usefixtures("limits")
class TestFold:
    @pytest.mark.parametrize("decl", [SUM, LATEST, TOP], ids=["sum", "latest", "top"])
    @pytest.mark.parametrize("sizes, dims", [((5, 2), 1), ((3, 4, 2), 2), ((1, 1), 1), ((2, 3, 4), 1), ((3, 0), 1)])
    def test_scalars(self, decl: object, sizes: Sequence[int], dims: int) -> None:
        steps: dict[int, tuple[Callable[[Tensor, Tensor], Tensor], float]] = {
            id(SUM): (torch.add, 0.0),
            id(LATEST): (lambda state, value: state * 0.5 + value, 1.0),
            id(TOP): (torch.maximum, float("-inf")),
        }
        step, start = steps[id(decl)]
        stream = data(sizes)
        rt = runtime()
        result = rt.fold(decl, stream, dims)
        assert result.sizes == tuple(sizes[dims:])
        torch.testing.assert_close(one(result), folded(one(stream), dims, step, start))
        lazy = rt.fold(decl, rt.map(DOUBLE, stream), dims)
        torch.testing.assert_close(one(lazy), folded(one(stream) * 2, dims, step, start))

    @pytest.mark.parametrize("decl, wanted", [(SUM, 0.0), (LATEST, 1.0), (TOP, float("-inf"))])
    def test_nothing_to_fold_gives_init(self, decl: object, wanted: float) -> None:
        result = runtime().fold(decl, data((0, 3)), 1)
        assert torch.equal(one(result), torch.full((3,), wanted))

    def test_repeated_elements_count_each_time(self) -> None:
        stream = data((3,))
        rt = runtime()
        repeated = stream.insert_dim(0, 6)
        torch.testing.assert_close(one(rt.fold(SUM, repeated, 1)), one(stream) * 6)
        torch.testing.assert_close(one(rt.fold(LATEST, repeated, 1)), folded(one(repeated), 1, latest_step, 1.0))
        both = data((3,)).insert_dim(0, 2).insert_dim(1, 5)
        torch.testing.assert_close(one(rt.fold(LATEST, both, 2)), folded(one(both), 2, latest_step, 1.0))

    def test_partly_repeated_folded_dims(self) -> None:
        stream = data((3, 4, 2)).insert_dim(1, 5)
        result = runtime().fold(LATEST, stream, 3)
        torch.testing.assert_close(one(result), folded(one(stream), 3, latest_step, 1.0))

    def test_tuple_state(self) -> None:
        decl = fn(
            "return [state[0] + input[0], torch.maximum(state[1], input[1])]",
            STuple((F32, ROW)), STuple((F32, ROW)), (0, float("-inf")),
        )  # fmt: skip
        scalars, rows = data((5, 3), seed=1), data((5, 3), ROW, (4,), seed=2)
        rt = runtime()
        first, second = rt.fold(decl, rt.zip([scalars, rows]), 1).dense()
        torch.testing.assert_close(first, one(scalars).sum(1))
        assert torch.equal(second, one(rows).amax(1))

    def test_product_of_matrices_through_a_map(self) -> None:
        left, right = data((5, 1, 3), seed=1), data((5, 4), seed=2)
        left = TensorData((5, 4, 3), F32, left.components)
        rt = runtime()
        products = rt.map(PRODUCT, rt.zip([left, right.insert_dim(2, 3)]))
        wanted = one(data((5, 3), seed=1).split_dim(1, (3,))) @ one(right).T
        torch.testing.assert_close(one(rt.fold(SUM, products, 1)), wanted)

    def test_two_dims_keep_their_order(self) -> None:
        stream = data((3, 4, 2))
        result = runtime().fold(LATEST, stream, 2)
        torch.testing.assert_close(one(result), folded(one(stream), 2, latest_step, 1.0))


def latest_step(state: Tensor, value: Tensor) -> Tensor:
    return state * 0.5 + value


@pytest.mark.usefixtures("limits")
class TestScan:
    @pytest.mark.parametrize("sizes, dims", [((5, 2), 1), ((3, 4, 2), 2), ((1, 3), 1), ((4, 3, 2), 1)])
    def test_every_state(self, sizes: Sequence[int], dims: int) -> None:
        stream = data(sizes)
        rt = runtime()
        for source in (stream, rt.map(DOUBLE, stream)):
            result = rt.scan(LATEST, source, dims)
            assert result.sizes == tuple(sizes)
            flat = one(source).flatten(len(sizes) - dims)
            columns = [folded(flat[..., : i + 1], 1, latest_step, 1.0) for i in range(flat.shape[-1])]
            torch.testing.assert_close(one(result), torch.stack(columns, -1).reshape(one(stream).shape))

    def test_restarts_for_each_outer_position(self) -> None:
        ones = TensorData((3,), F32, [torch.ones(3)]).insert_dim(1, 2)
        assert torch.equal(one(runtime().scan(SUM, ones, 1)), torch.tensor([[1.0, 2, 3], [1, 2, 3]]))

    @pytest.mark.parametrize("sizes", [(0, 3), (3, 0)])
    def test_nothing(self, sizes: Sequence[int]) -> None:
        assert one(runtime().scan(SUM, data(sizes), 1)).shape == tuple(reversed(sizes))

    def test_state_of_another_type(self) -> None:
        decl = fn("return [state[0] + input[0]]", F32, F32, (-1,))
        positions = TensorData((4, 2), F32, [torch.ones(2, 4)])
        assert torch.equal(one(runtime().scan(decl, positions, 1)), torch.arange(4.0).expand(2, 4))


@pytest.mark.usefixtures("limits")
class TestRouting:
    def test_select_keeps_chunks_in_order(self) -> None:
        stream, bits = data((2, 4)), selector([(1, 0), (1, 1), (0, 0), (0.5, -1)])  # type: ignore[list-item]
        rt = runtime()
        values = one(stream)
        first, second = (rt.select(stream, bits, branch) for branch in range(2))
        assert first.sizes == (2, 3)
        assert second.sizes == (2, 2)
        assert torch.equal(one(first), values[[0, 1, 3]])
        assert torch.equal(one(second), values[[1, 3]])

    def test_select_over_two_dims(self) -> None:
        stream = data((2, 3, 2))
        bits = selector([(1, 0)] * 5 + [(0, 1)], (3, 2))
        merged = stream.merge_dims(1, 2)
        result = runtime().select(merged, bits.merge_dims(0, 1), 1)
        assert result.sizes == (2, 1)
        assert torch.equal(one(result), one(stream)[1:, 2])

    def test_select_of_repeated_chunks_and_of_none(self) -> None:
        stream = data((3,)).insert_dim(1, 2)
        rt = runtime()
        result = rt.select(stream, selector([(1, 0), (1, 0)]), 0)
        assert torch.equal(one(result), one(stream))
        assert one(rt.select(stream, selector([(1, 0), (1, 0)]), 1)).shape == (0, 3)

    def test_select_from_a_lazy_map(self) -> None:
        rt = runtime()
        stream = data((2, 3))
        result = rt.select(rt.map(DOUBLE, stream), selector([(0, 1), (1, 0), (0, 1)]), 1)
        assert torch.equal(one(result), one(stream)[[0, 2]] * 2)

    def test_merge_undoes_partition(self) -> None:
        stream, bits = data((2, 4)), selector([(1, 0), (0, 1), (0, 1), (1, 0)])
        rt = runtime()
        branches = [rt.map(DOUBLE, rt.select(stream, bits, branch)) for branch in range(2)]
        assert torch.equal(one(rt.merge(SUM, branches, bits)), one(stream) * 2)

    def test_merge_folds_ascending_and_gives_zeros_where_nothing_is_selected(self) -> None:
        decl = fn("return [state[0] * 10 + input[0]]", init=(1,))
        bits = selector([(1, 1, 1), (0, 0, 0), (0, 1, 1), (1, 0, 0)])
        counts = (2, 2, 2)
        branches = [TensorData((n,), F32, [torch.tensor([1.0, 2]) + 2 * b]) for b, n in enumerate(counts)]
        wanted = torch.tensor([1135.0, 0, 146, 12])
        assert torch.equal(one(runtime().merge(decl, branches, bits)), wanted)

    def test_merge_starting_from_infinity_still_gives_zeros(self) -> None:
        bits = selector([(0,), (1,)])
        branch = TensorData((1,), F32, [torch.tensor([3.0])])
        assert torch.equal(one(runtime().merge(TOP, [branch], bits)), torch.tensor([0.0, 3.0]))

    def test_merge_of_empty_branches(self) -> None:
        bits = selector([(0, 0), (0, 0)])
        empty = TensorData((3, 0), F32, [torch.empty(0, 3)])
        result = runtime().merge(SUM, [empty, empty], bits)
        assert result.sizes == (3, 2)
        assert torch.equal(one(result), torch.zeros(2, 3))

    def test_merge_leaves_the_init_alone(self) -> None:
        rt = runtime()
        branch = TensorData((1,), F32, [torch.tensor([3.0])])
        for _ in range(2):
            assert torch.equal(one(rt.merge(SUM, [branch], selector([(1,)]))), torch.tensor([3.0]))
            assert torch.equal(one(rt.fold(SUM, data((0, 1)), 1)), torch.tensor([0.0]))

    def test_merge_of_repeated_chunks(self) -> None:
        branch = data((2,)).insert_dim(0, 3)
        other = data((3, 2), seed=5)
        bits = selector([(1, 1), (1, 1)])
        torch.testing.assert_close(one(runtime().merge(SUM, [branch, other], bits)), one(branch) + one(other))

    @pytest.mark.parametrize("size", [1, 3])
    def test_branch_of_another_size_is_an_error(self, size: int) -> None:
        bits = selector([(1,), (1,)])
        with pytest.raises(SimError) as caught:
            runtime().merge(SUM, [data((size,))], bits)
        assert caught.value.code == "STEP409"
        assert "2 bits" in caught.value.message

    def test_functions_on_empty_branches(self) -> None:
        rt = runtime()
        empty = TensorData((4, 0), F32, [torch.empty(0, 4)])
        buffers = empty.into_element(1, ROW)
        assert one(rt.map(BRANCHING, empty)).shape == (0, 4)
        assert one(rt.map(DOT, rt.zip([buffers, buffers]))).shape == (0,)
        assert one(rt.fold(LATEST, empty, 1)).shape == (0,)
        assert one(rt.fold(SUM, rt.map(DOUBLE, empty), 1)).shape == (0,)
        assert one(rt.scan(SUM, empty, 1)).shape == (0, 4)


class TestLaziness:
    def test_only_large_maps_are_lazy(self) -> None:
        rt = runtime()
        assert isinstance(rt.map(DOUBLE, data((10,))), TensorData)
        with policy(lazy=79):
            assert isinstance(rt.map(DOUBLE, data((10,))), LazyData)
        with policy(lazy=80):
            assert isinstance(rt.map(DOUBLE, data((10,))), TensorData)

    def test_repetition_does_not_make_a_map_large(self) -> None:
        with policy(lazy=80):
            assert isinstance(runtime().map(DOUBLE, data((2,)).insert_dim(0, 1000)), TensorData)

    def test_values_are_computed_once(self) -> None:
        with policy(lazy=0):
            result = runtime().map(DOUBLE, data((3,)))
        assert result.force() is result.force()
        assert isinstance(result.insert_dim(0, 2), TensorData)

    def test_chains_have_a_limit(self) -> None:
        rt = runtime()
        with policy(lazy=0, chain=3):
            stream = rt.map(DOUBLE, data((3,)))
            for _ in range(9):
                stream = rt.map(DOUBLE, stream)
                assert isinstance(stream, LazyData)
                assert stream.depth <= 3
        assert torch.equal(one(stream), one(data((3,))) * 1024)

    def test_copied_streams_are_computed_once_within_a_step(self) -> None:
        rt = runtime()
        with policy(lazy=0, chain=1000):
            stream = rt.map(DOUBLE, data((3,)))
            for _ in range(20):
                # Without sharing this would take 2 ** 20 applications.
                stream = rt.map(PRODUCT, rt.zip([rt.map(DOUBLE, stream), stream]))
                stream = rt.map(fn("return [torch.tanh(input[0])]"), stream)
            assert bool(torch.isfinite(one(stream)).all())


@pytest.mark.parametrize("sizes", [(), (4,), (3, 5), (2, 3, 4), (0, 3), (1, 7)])
@pytest.mark.parametrize("chunk", [1, 5, 16, 1000])
def test_blocks_cover_every_position_once(sizes: tuple[int, ...], chunk: int) -> None:
    seen = torch.zeros(sizes)
    pieces = list(blocks(sizes, 2, chunk))
    for piece in pieces:
        seen[piece] += 1
        assert seen[piece].numel() * 2 <= max(chunk, 2) or piece == ()
    assert bool((seen == 1).all())
