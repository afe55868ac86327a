"""The typing rule of every operator, and every way to break it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from stepcore.dims import D, E, K, M, N
from stepcore.ops import (
    BY_NAME,
    OPERATORS,
    Accum,
    Bufferize,
    Copy,
    Flatten,
    Identity,
    Map,
    Merge,
    Operator,
    Partition,
    Promote,
    Repeat,
    RepeatRef,
    Reshape,
    Retile,
    Scan,
    Streamify,
    Zip,
)
from stepcore.ops.base import Operand, RuleError, RuleSubject, TypingContext
from stepcore.ops.selectors import can_be
from stepcore.sizes.dim import Dim
from stepcore.sizes.kinds import dynamic, ragged
from stepcore.types import Buffer, Element, Multihot, Scalar, StreamType, STuple, Tile, as_shape

F32 = Scalar("fp32")
ROW = Buffer(F32, [K])
NAMES = ("A", "B", "C", "S")


@dataclass(frozen=True)
class Fn:
    """An element function as far as typing needs it."""

    input: Element
    output: Element
    has_state: bool = False
    func_name: str = "f"
    is_count: bool = False


def stream(element: Element, *shape: Dim | int) -> StreamType:
    return StreamType(element, as_shape(shape))


def at_input(index: int) -> RuleSubject:
    return RuleSubject("input", index=index)


def at_param(name: str) -> RuleSubject:
    return RuleSubject("param", name)


def infer(op: Operator, *types: StreamType, **bindings: int) -> tuple[StreamType, ...]:
    operands = [Operand(type_, name) for type_, name in zip(types, NAMES, strict=False)]
    return op.infer(operands, TypingContext(bindings))


def check(op: Operator, types: list[StreamType], *expected: StreamType) -> None:
    assert infer(op, *types) == expected


def fails(
    code: str, op: Operator, *types: StreamType, words: str = "", subject: RuleSubject | None = None, **sizes: int
) -> str:
    with pytest.raises(RuleError) as caught:
        infer(op, *types, **sizes)
    error = caught.value
    assert error.code == code, error
    assert str(error) == f"{code}: {error.message}"
    assert words in error.message
    if subject is not None:
        assert error.subject == subject
    return error.message


FN = at_param("fn")
SQUARE = Fn(F32, ROW)
ADD = Fn(F32, ROW, has_state=True)


# -- registry ------------------------------------------------------------------------------------------


def test_registry_lists_all_operators_once() -> None:
    names = [operator.__name__ for operator in OPERATORS]
    assert names == [
        "Map", "Accum", "Scan", "Zip", "Promote", "Flatten", "Reshape", "Repeat", "RepeatRef", "Bufferize", "Streamify",
        "Copy", "Partition", "Merge", "Identity", "LinearOffChipLoad", "LinearOffChipStore",
        "RandomOffChipLoad", "RandomOffChipStore", "Expand", "FlatMap", "Reassemble",
        "EagerMerge", "Parallelize", "Feedback", "Retile", "RetileStreamify",
    ]  # fmt: skip
    published = {name for operator in OPERATORS for name in operator.published}
    assert published >= {"OffChipLoad", "DynOffChipLoad", "OffChipStore", "ExpandRef", "RepeatStatic", "Broadcast"}
    assert BY_NAME.keys() == {*names, "RepeatLast", *published}
    assert BY_NAME["RepeatLast"] is Repeat
    assert all(BY_NAME[name].__name__ == name for name in names)
    others = {name: operator for name, operator in BY_NAME.items() if name not in names}
    assert all(name in (*operator.aliases, *operator.published) for name, operator in others.items())


# -- parameters ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operator", "arguments", "params", "code", "message"),
    [
        (Accum, (ADD,), {"b": 1}, "STEP203", "Accum takes its parameters by name only; write Accum(fn=f)"),
        (Zip, (1,), {}, "STEP203", "Zip has no parameters of its own, and this is 1; write Zip()"),
        (Accum, (), {"fn": ADD, "a": 1}, "STEP203", "Accum has no parameter a; did you mean b?"),
        (Copy, (), {"b": 1}, "STEP203", "Copy has no parameter b; it takes n (how many streams it gives)"),
        (Accum, (), {}, "STEP203", "Accum lacks fn, b; write Accum(fn=..., b=...)"),
        (Accum, (), {"fn": ADD}, "STEP203", "Accum lacks b; write Accum(fn=..., b=...)"),
        (Map, (), {"fn": 3}, "STEP204", "Map needs an element function as fn, and 3 is an integer; fn: the"),
        (Promote, (), {"b": "0"}, "STEP204", "Promote needs an integer as b, and '0' is a text; write b=0"),
        (Promote, (), {"b": True}, "STEP204", "Promote needs an integer as b, and True is a truth value; b: index"),
        (Promote, (), {"b": M}, "STEP204", "Promote needs an integer as b, and M is a size; b: index"),
        (Repeat, (), {"n": 1.5}, "STEP204", "Repeat needs a size as n, and 1.5 is a float; n: how often"),
        (Repeat, (), {"n": False}, "STEP204", "Repeat needs a size as n, and False is a truth value; n: how"),
        (Flatten, (), {"L": 1}, "STEP204", "Flatten needs a list of integers as L, and 1 is an integer; write L=[1]"),
        (
            Flatten,
            (),
            {"L": [1, "2"]},
            "STEP204",
            "Flatten needs a list of integers as L, and [1, '2'] is a list",
        ),
    ],
)
def test_wrong_parameters(
    operator: Any, arguments: tuple[Any, ...], params: dict[str, Any], code: str, message: str
) -> None:
    with pytest.raises(RuleError) as caught:
        operator(*arguments, **params)
    assert caught.value.code == code
    assert caught.value.message.startswith(message)


def test_wrong_parameters_name_their_subject() -> None:
    with pytest.raises(RuleError) as caught:
        Repeat(n="x")  # type: ignore[arg-type]
    assert caught.value.subject == at_param("n")
    with pytest.raises(RuleError) as caught:
        Repeat(n=1, m=2)  # type: ignore[call-arg]
    assert caught.value.subject == at_param("m")


def test_operators_are_values() -> None:
    assert Flatten(L=[1, 2]) == Flatten(L=(1, 2)) == Flatten(L=range(1, 3))
    assert hash(Reshape(S=4, L=[0])) == hash(Reshape(S=4, L=(0,)))
    assert Reshape(S=4, L=[0, 1]).written_params() == {"S": 4, "L": (0, 1)}
    assert Repeat(n=3) != Repeat(n=4) and Repeat(n=3) != Repeat(n=3, depth=4)


@pytest.mark.parametrize("op", [Zip(), Copy(), Identity(), Streamify(), Repeat(n=2), Retile(axis=0), RepeatRef()])
def test_wrong_number_of_inputs(op: Operator) -> None:
    three = [stream(F32, M)] * 3
    name = type(op).__name__
    assert fails("STEP205", op, *three) == f"{name} takes {op.inputs.text}, found 3 streams"
    assert fails("STEP205", op).endswith("found none")


@pytest.mark.parametrize("op", [Accum(fn=ADD, b=1), Scan(fn=ADD, b=1)])
def test_folds_zip_a_tuple_of_streams(op: Operator) -> None:
    two = Fn(STuple((F32, ROW)), F32, has_state=True)
    joined = type(op)(fn=two, b=1)  # type: ignore[call-arg]
    inputs = [stream(F32, M, N), stream(ROW, M, N)]
    assert infer(joined, *inputs) == infer(joined, stream(two.input, M, N))
    assert fails("STEP205", op).endswith("found none")
    fails("STEP207", joined, stream(F32, M, N), stream(ROW, N, M), subject=at_input(1))
    fails("STEP208", joined, *inputs[::-1], words="the zip of the inputs")


@pytest.mark.parametrize(
    "op",
    [Promote(b=0), Flatten(L=[1]), Reshape(S=1, L=[0]), Retile(axis=0), Bufferize(a=1)],
)
def test_two_inputs_where_one_is_taken(op: Operator) -> None:
    assert fails("STEP205", op, stream(F32, M, N), stream(F32, M, N)).endswith("takes one stream, found 2 streams")


def test_one_input_where_two_are_taken() -> None:
    for op in (Zip(), RepeatRef(), Partition(N=2)):
        assert fails("STEP205", op, stream(F32, M)).endswith("takes a tuple of two streams, found one stream")
    assert fails("STEP205", Map(fn=SQUARE)) == "Map takes one stream, or a tuple of streams, found none"
    assert "at least one stream" in fails("STEP205", Merge(fn=ADD), stream(Multihot(F32, 0), M))


# -- Map -----------------------------------------------------------------------------------------------


def test_map() -> None:
    check(Map(fn=SQUARE), [stream(F32, M, N)], stream(ROW, M, N))


def test_map_of_several_zips_flat() -> None:
    pair = STuple((F32, ROW))
    fn = Fn(STuple((F32, ROW, F32)), F32)
    check(Map(fn=fn), [stream(pair, M), stream(F32, M)], stream(F32, M))
    check(Map(fn=Fn(STuple((F32, F32, F32)), ROW)), [stream(F32, M)] * 3, stream(ROW, M))


def test_map_refuses() -> None:
    fails("STEP216", Map(fn=ADD), stream(F32, M), words="Map needs a function without a state", subject=FN)
    text = fails("STEP208", Map(fn=SQUARE), stream(ROW, M), subject=at_input(0))
    assert text == (
        "f takes other elements than A delivers\n  expected fp32\n  found    Buffer(fp32, [K])"
        "\n  Streamify makes a stream of what buffers hold"
    )
    fails("STEP208", Map(fn=SQUARE), stream(STuple((F32,)), M))
    fails("STEP208", Map(fn=SQUARE), stream(F32, M), stream(F32, M), words="the zip of the inputs")
    text = fails("STEP207", Map(fn=SQUARE), stream(F32, M, N), stream(F32, M, K), subject=at_input(1))
    assert text.splitlines()[1:] == ["  expected [M, N]", "  found    [M, K]", "               ^ size 1"]
    fails("STEP207", Map(fn=SQUARE), stream(F32, M), stream(F32, M), stream(F32, N), subject=at_input(2))


# -- Accum, Scan ---------------------------------------------------------------------------------------


def test_accum() -> None:
    check(Accum(fn=ADD, b=1), [stream(F32, M, N)], stream(ROW, N))
    check(Accum(fn=ADD, b=2), [stream(F32, M, N, K)], stream(ROW, K))


def test_scan() -> None:
    check(Scan(fn=ADD, b=1), [stream(F32, M, N)], stream(ROW, M, N))
    check(Scan(fn=ADD, b=2), [stream(F32, M, N, K)], stream(ROW, M, N, K))


@pytest.mark.parametrize("operator", [Accum, Scan])
def test_folds_refuse(operator: Any) -> None:
    b = at_param("b")
    name = operator.__name__
    text = fails("STEP206", operator(fn=ADD, b=1), stream(F32, M), subject=b)
    assert text == (
        f"{name} with b=1 needs rank 1 or more, because one dimension must stay, but A has rank 0 (shape [M]); "
        "Promote(b=1) before it adds an outermost dimension of size 1, which stays"
    )
    text = fails("STEP206", operator(fn=ADD, b=2), stream(F32, M), subject=b)
    assert text == f"{name} with b=2 needs rank 2 or more, but A has rank 0 (shape [M])"
    fails("STEP206", operator(fn=ADD, b=2), stream(F32, M, N), words="Promote(b=2)", subject=b)
    text = fails("STEP206", operator(fn=ADD, b=0), stream(F32, M, N), subject=b)
    assert text == f"b of {name} must be at least 1, found 0"
    fails("STEP206", operator(fn=ADD, b=-1), stream(F32, M, N), words="found -1")
    text = fails("STEP216", operator(fn=SQUARE, b=1), stream(F32, M, N), subject=FN)
    assert text == f"{name} needs a function with a state, but f has no init; give it one, or use Map"
    fails("STEP208", operator(fn=ADD, b=1), stream(ROW, M, N), words="f takes other elements than A delivers")


# -- Zip -----------------------------------------------------------------------------------------------


def test_zip_joins_flat() -> None:
    check(Zip(), [stream(F32, M, N), stream(ROW, M, N)], stream(STuple((F32, ROW)), M, N))
    pair = STuple((F32, ROW))
    check(Zip(), [stream(pair, M), stream(F32, M)], stream(STuple((F32, ROW, F32)), M))
    check(Zip(), [stream(F32, M), stream(pair, M)], stream(STuple((F32, F32, ROW)), M))


def test_zip_compares_sizes_as_expressions() -> None:
    check(Zip(), [stream(F32, N * K), stream(F32, K * N)], stream(STuple((F32, F32)), N * K))
    fails("STEP207", Zip(), stream(F32, M), stream(F32, 5), M=5)


def test_a_longer_shape_is_marked_where_it_goes_on() -> None:
    text = fails("STEP207", Zip(), stream(F32, M), stream(F32, M, N * K))
    assert text.splitlines()[1:] == ["  expected [M]", "  found    [M, K*N]", "               ^^^ size 1"]


def test_zip_refuses_other_shapes() -> None:
    text = fails("STEP207", Zip(), stream(F32, M, N), stream(F32, M), subject=at_input(1))
    assert text.splitlines() == [
        "Zip needs equal shapes, but B differs from A",
        "  expected [M, N]",
        "  found    [M]",
        "               ^ size 1",
    ]


# -- Promote, Flatten, Reshape -------------------------------------------------------------------------


@pytest.mark.parametrize(("b", "shape"), [(0, (1, M, N)), (1, (M, 1, N)), (2, (M, N, 1))])
def test_promote(b: int, shape: tuple[Dim | int, ...]) -> None:
    check(Promote(b=b), [stream(ROW, M, N)], stream(ROW, *shape))


@pytest.mark.parametrize("b", [-1, 3])
def test_promote_refuses(b: int) -> None:
    text = fails("STEP206", Promote(b=b), stream(F32, M, N), subject=at_param("b"))
    assert text == f"b of Promote must be from 0 to 2 (the rank of A plus one, shape [M, N]), found {b}"


@pytest.mark.parametrize(
    ("indices", "shape"),
    [
        ([1], (M * N, K, D)),
        ([2], (M, N * K, D)),
        ([3], (M, N, K * D)),
        ([1, 2], (M * N * K, D)),
        ([2, 3], (M, N * K * D)),
        ([1, 2, 3], (M * N * K * D,)),
    ],
)
def test_flatten(indices: list[int], shape: tuple[Dim, ...]) -> None:
    check(Flatten(L=indices), [stream(ROW, M, N, K, D)], stream(ROW, *shape))


@pytest.mark.parametrize(
    ("indices", "words"),
    [
        ([], "L of Flatten names no dimension"),
        ([2, 1], "consecutive, ascending indices such as [1, 2], found [2, 1]"),
        ([1, 3], "consecutive"),
        ([1, 1], "consecutive"),
        ([0], "found [0], but A has rank 2 (shape [M, N, K]); index i merges dimension i with i-1"),
        ([0, 1], "from 1 to the rank"),
        ([3], "found [3], but A has rank 2 (shape [M, N, K])"),
        ([2, 3], "found [2, 3]"),
        ([-1], "found [-1]"),
    ],
)
def test_flatten_refuses(indices: list[int], words: str) -> None:
    fails("STEP218", Flatten(L=indices), stream(F32, M, N, K), words=words, subject=at_param("L"))


def test_flatten_hints_only_where_it_helps() -> None:
    assert "merges dimension" not in fails("STEP218", Flatten(L=[3]), stream(F32, M, N, K))


@pytest.mark.parametrize(
    ("op", "shape"),
    [
        (Reshape(S=4, L=[0]), (4, D // 4, 8, M)),
        (Reshape(S=4, L=[1]), (D, 4, 2, M)),
        (Reshape(S=2, L=[1, 0]), (2, D // 2, 2, 4, M)),
        (Reshape(S=K, L=[2]), (D, 8, K, M // K)),
        (Reshape(S=D, L=[0]), (D, 1, 8, M)),
    ],
)
def test_reshape(op: Reshape, shape: tuple[Dim | int, ...]) -> None:
    check(op, [stream(F32, D, 8, M)], stream(F32, *shape))


def test_reshape_asserts_divisibility() -> None:
    ctx = TypingContext()
    (split,) = Reshape(S=M, L=[0]).infer([Operand(stream(F32, K))], ctx)
    (whole,) = Flatten(L=[1]).infer([Operand(split)], ctx)
    assert ctx.facts.equal(whole.shape[0], K)
    assert not TypingContext().facts.equal(whole.shape[0], K)
    (zipped,) = Zip().infer([Operand(whole), Operand(stream(F32, K))], ctx)
    assert zipped.element == STuple((F32, F32))


@pytest.mark.parametrize(
    ("indices", "words"),
    [
        ([], "L of Reshape names no dimension"),
        ([0, 0], "L of Reshape names a dimension twice: [0, 0]"),
        ([-1], "from 0 to the rank, found [-1], but A has rank 1 (shape [M, N])"),
        ([2], "found [2]"),
    ],
)
def test_reshape_refuses_indices(indices: list[int], words: str) -> None:
    fails("STEP218", Reshape(S=2, L=indices), stream(F32, M, N), words=words, subject=at_param("L"))


def test_reshape_refuses_sizes() -> None:
    size = at_param("S")
    text = fails("STEP211", Reshape(S=3, L=[0]), stream(F32, 8), subject=size)
    assert text == "S of Reshape must divide the size of dimension 0, but 3 does not divide 8"
    text = fails("STEP211", Reshape(S=2, L=[1]), stream(F32, M, N), M=4, N=7, subject=size)
    assert text == "S of Reshape must divide the size of dimension 1, but 2 does not divide N = 7"
    fails("STEP211", Reshape(S=K, L=[0]), stream(F32, 8), K=3, words="K = 3 does not divide 8")
    text = fails("STEP217", Reshape(S=0, L=[0]), stream(F32, M), subject=size)
    assert text == "S of Reshape is 0; a size is an integer from 1 to 2**31"
    fails("STEP217", Reshape(S=-2, L=[0]), stream(F32, M))
    fails("STEP217", Reshape(S=K - 3, L=[0]), stream(F32, M), K=3)
    fails("STEP211", Reshape(S=2, L=[0]), stream(F32, D // K), D=4, K=0, words="divides by zero")
    assert infer(Reshape(S=2, L=[0]), stream(F32, M), M=6) == (stream(F32, 2, M // 2),)


@pytest.mark.parametrize(
    ("size", "chunks"),
    [
        (Dim.of(5), 2), (Dim.of(8), 2), (D, (D + 3) // 4), (4 * K, K), (dynamic("L"), "ceil(?L/4)"),
        (ragged("L"), "ceil(~L/4)"), (4 * ragged("L"), "~L"),
    ],
)  # fmt: skip
def test_reshape_fills_the_innermost_lists(size: Dim, chunks: Dim | int | str) -> None:
    data, padding = infer(Reshape(S=4, L=[0], pad="-inf"), stream(F32, size, M))
    assert data.shape == padding.shape
    assert [str(item) for item in data.shape] == ["4", str(chunks), "M"]
    assert (data.element, padding.element) == (F32, Scalar("bool"))


def test_reshape_refuses_what_it_cannot_fill() -> None:
    text = fails("STEP218", Reshape(S=4, L=[1], pad=0), stream(F32, M, N), subject=at_param("L"))
    assert text == "Reshape fills the innermost dimension alone: with pad, L is [0], found [1]"
    text = fails("STEP206", Reshape(S=4, L=[0], pad=2), stream(F32, M), subject=at_param("pad"))
    assert text == 'pad of Reshape is 0, 1, -1 or "-inf", found 2'
    fails("STEP206", Reshape(S=4, L=[0], pad="inf"), stream(F32, M), words='found "inf"')
    indices = stream(Scalar("int64"), M)
    assert "int64" in fails("STEP206", Reshape(S=4, L=[0], pad="-inf"), indices, subject=at_param("pad"))
    selector = stream(Multihot(Scalar("bool"), 2), M)
    assert "truth values" in fails("STEP206", Reshape(S=4, L=[0], pad=-1), selector, subject=at_param("pad"))
    fails("STEP217", Reshape(S=0, L=[0], pad=0), stream(F32, M), subject=at_param("S"))


# -- Repeat, RepeatRef ---------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 3, M, N * K, 2**31])
def test_repeat(times: Dim | int) -> None:
    check(Repeat(n=times), [stream(ROW, M, N)], stream(ROW, times, M, N))


@pytest.mark.parametrize("times", [0, -1, 2**31 + 1])
def test_repeat_refuses(times: int) -> None:
    text = fails("STEP217", Repeat(n=times), stream(F32, M), subject=at_param("n"))
    assert text == f"n of Repeat is {times}; a size is an integer from 1 to 2**31"


def test_repeat_refuses_bound_size() -> None:
    fails("STEP217", Repeat(n=M - N), stream(F32, M), M=3, N=3)
    fails("STEP217", Repeat(n=M), stream(F32, N), M=2**31 + 1)


def test_repeat_ref() -> None:
    check(RepeatRef(), [stream(ROW, N), stream(F32, M, N)], stream(ROW, M, N))
    check(RepeatRef(), [stream(F32, N, K), stream(ROW, M, N, K)], stream(F32, M, N, K))


def test_repeat_ref_refuses() -> None:
    ref = at_input(1)
    text = fails("STEP207", RepeatRef(), stream(F32, M, N), stream(F32, M, N), subject=ref)
    assert text.splitlines()[0] == (
        "RepeatRef takes (data, ref), and B (shape [M, N]) without its innermost dimension must have the shape of A"
    )
    assert text.splitlines()[1:3] == ["  expected [M, N]", "  found    [N]"]
    fails("STEP207", RepeatRef(), stream(F32, N), stream(F32, M, K), subject=ref)
    fails("STEP207", RepeatRef(), stream(F32, M, N), stream(F32, N), subject=ref)


# -- Bufferize, Streamify ------------------------------------------------------------------------------


def test_bufferize() -> None:
    check(Bufferize(a=1), [stream(F32, M, N)], stream(Buffer(F32, [M]), N))
    check(Bufferize(a=2), [stream(F32, M, N, K)], stream(Buffer(F32, [M, N]), K))
    check(Bufferize(a=1), [stream(ROW, M, N)], stream(Buffer(F32, [K, M]), N))
    selector = Multihot(F32, E)
    check(Bufferize(a=1), [stream(selector, M, N)], stream(Buffer(selector, [M]), N))


def test_bufferize_refuses() -> None:
    a = at_param("a")
    text = fails("STEP206", Bufferize(a=1), stream(F32, M), subject=a)
    assert text.startswith("Bufferize with a=1 needs rank 1 or more, because one dimension must stay, but A has rank 0")
    fails("STEP206", Bufferize(a=0), stream(F32, M, N), words="a of Bufferize must be at least 1, found 0", subject=a)
    pair = stream(STuple((F32, F32)), M, N)
    text = fails("STEP212", Bufferize(a=1), pair, subject=at_input(0))
    assert text.endswith("found [fp32, fp32]; apply Bufferize to each stream before the Zip")
    tile = Tile(F32, [2, 2])
    check(Bufferize(a=1), [stream(tile, M, N)], stream(Buffer(tile, [M]), N))
    check(Bufferize(a=1), [stream(Buffer(tile, [K]), M, N)], stream(Buffer(tile, [K, M]), N))


def test_streamify() -> None:
    check(Streamify(), [stream(Buffer(F32, [K, D]), M, N)], stream(F32, K, D, M, N))
    selector = Multihot(F32, E)
    check(Streamify(), [stream(Buffer(selector, [M]), N)], stream(selector, M, N))


def test_streamify_refuses() -> None:
    text = fails("STEP209", Streamify(), stream(F32, M), subject=at_input(0))
    assert text == "Streamify needs a stream of buffers, but A holds fp32; Bufferize it before, or leave Streamify out"
    text = fails("STEP209", Streamify(), stream(STuple((ROW, ROW)), M))
    assert text.endswith("; apply Streamify to each stream before the Zip")


# -- Copy, Identity ------------------------------------------------------------------------------------


@pytest.mark.parametrize("element", [F32, ROW, Multihot(F32, E), STuple((F32, ROW)), Tile(F32, [2, 2])])
def test_copy_and_identity_keep_the_type(element: Element) -> None:
    one = stream(element, M, N)
    check(Copy(), [one], one, one)
    check(Identity(), [one], one)


# -- Partition, Merge ----------------------------------------------------------------------------------


def named(branch: int) -> Dim:
    return Dim.symbol(f"#(B, {branch})")


def test_partition() -> None:
    selector = Multihot(F32, 2)
    expected = stream(ROW, named(0)), stream(ROW, named(1))
    check(Partition(N=2), [stream(ROW, M), stream(selector, M)], *expected)
    inner = stream(F32, K, named(0)), stream(F32, K, named(1))
    check(Partition(N=2), [stream(F32, K, M), stream(selector, M)], *inner)
    check(Partition(N=2), [stream(F32, K, N, M), stream(selector, N, M)], *inner)
    check(Partition(N=1), [stream(F32, M), stream(Multihot(F32, 1), M)], stream(F32, named(0)))


def test_partition_outputs_share_a_size_where_they_have_one_selector() -> None:
    ctx = TypingContext()
    data, selector, other = (Operand(stream(e, M)) for e in (F32, Multihot(F32, 2), Multihot(F32, 2)))
    first, again, apart = (Partition(N=2).infer([data, by], ctx) for by in (selector, selector, other))
    assert first == again
    assert len({type_.shape for type_ in (*first, *again, *apart)}) == 4


def test_partition_counts_branches_by_bound_value() -> None:
    by_size = [stream(F32, M), stream(Multihot(F32, E), M)]
    assert len(infer(Partition(N=3), *by_size)) == 3
    assert len(infer(Partition(N=3), *by_size, E=3)) == 3
    text = fails("STEP210", Partition(N=3), *by_size, E=4, subject=at_input(1))
    assert text == "B selects among E = 4 branches, but there are 3; the two must agree"
    text = fails("STEP210", Partition(N=3), stream(F32, M), stream(Multihot(F32, 2), M))
    assert text == "B selects among 2 branches, but there are 3; the two must agree"
    text = fails("STEP210", Partition(N=3), stream(F32, M), stream(Multihot(F32, 2 * E), M))
    assert text == "B selects among 2*E branches, but there are 3; the two must agree"


@pytest.mark.parametrize(
    ("size", "value", "possible"),
    [
        (E, 1, True), (E, 0, False), (E + 1, 1, False), (E + 1, 2, True), (2 * E, 3, False), (2 * E, 4, True),
        (2 * E + 1, 3, True), (2 * E + 1, 4, False), (E + M, 1, False), (E + M, 2, True), (E - M, -5, True),
        (E - M, 0, True), (E // 2, 0, True), (E * M, 7, True), (4 * E - 2 * M, 3, False), (Dim.of(3), 3, True),
        (Dim.of(3), 2, False),
    ],
)  # fmt: skip
def test_what_a_size_can_be(size: Dim, value: int, possible: bool) -> None:
    assert can_be(size, value) is possible


def test_partition_refuses() -> None:
    selector = stream(Multihot(F32, 2), M)
    text = fails("STEP210", Partition(N=2), stream(F32, M), stream(F32, M), subject=at_input(1))
    assert text == "B must select among 2 branches: expected Multihot elements, found fp32"
    fails("STEP210", Partition(N=2), stream(F32, M), stream(Buffer(Multihot(F32, 2), [K]), M))
    text = fails("STEP207", Partition(N=2), stream(F32, M, N), selector, subject=at_input(1))
    assert text.splitlines() == [
        "B must have the shape of the outermost dimensions of A",
        "  expected [N]",
        "  found    [M]",
        "            ^ size 0",
    ]
    text = fails("STEP207", Partition(N=2), stream(F32, M, N), stream(Multihot(F32, 2), M, N, K))
    assert text.splitlines()[1:3] == ["  expected [M, N]", "  found    [M, N, K]"]
    fails("STEP217", Partition(N=0), stream(F32, M), selector, subject=at_param("N"))


def test_merge() -> None:
    two = Multihot(F32, 2)
    branches = [stream(F32, named(7)), stream(F32, named(8))]
    check(Merge(fn=ADD), [*branches, stream(two, M)], stream(ROW, M))
    branches = [stream(F32, K, named(7)), stream(F32, K, N)]
    check(Merge(fn=ADD), [*branches, stream(two, M, D)], stream(ROW, K, M, D))
    check(Merge(fn=ADD), [stream(F32, N), stream(Multihot(F32, E), M)], stream(ROW, M))


def test_merge_refuses() -> None:
    selector = stream(Multihot(F32, 2), M)
    fails("STEP216", Merge(fn=SQUARE), stream(F32, N), stream(F32, N), selector, subject=FN)
    text = fails("STEP208", Merge(fn=ADD), stream(F32, N), stream(ROW, N), selector, subject=at_input(1))
    assert text.startswith("branch B differs in its elements from A")
    text = fails("STEP207", Merge(fn=ADD), stream(F32, K, N), stream(F32, D, N), selector, subject=at_input(1))
    assert text.startswith("branch B differs from A in other than the outermost dimension")
    fails("STEP207", Merge(fn=ADD), stream(F32, K, N), stream(F32, N), selector)
    fails("STEP208", Merge(fn=ADD), stream(ROW, N), stream(ROW, N), selector, words="f takes other elements than A")
    text = fails("STEP210", Merge(fn=ADD), stream(F32, N), selector, subject=at_input(1))
    assert text == "B selects among 2 branches, but there are 1; the two must agree"
    fails("STEP210", Merge(fn=ADD), stream(F32, N), stream(F32, N), stream(F32, M), subject=at_input(2))


# -- on-chip memory ------------------------------------------------------------------------------------


def on_chip(op: Operator, *types: StreamType) -> Dim:
    return op.on_chip_bytes(types, infer(op, *types))


def test_on_chip_memory() -> None:
    assert on_chip(Accum(fn=ADD, b=1), stream(F32, M, N)) == 4 * K
    assert on_chip(Scan(fn=ADD, b=1), stream(F32, M, N)) == 4 * K
    assert on_chip(Bufferize(a=2), stream(F32, M, N, K)) == 4 + 8 * M * N
    assert on_chip(Bufferize(a=1), stream(ROW, M, N)) == 4 * K + 8 * M * K
    for op in (Map(fn=SQUARE), Promote(b=0), Flatten(L=[1]), Repeat(n=2), Copy(), Identity()):
        assert on_chip(op, stream(F32, M, N)) == 0


@pytest.mark.parametrize(
    ("operator", "index", "count", "name"),
    [
        (Map(fn=SQUARE), 0, 1, "the input"),
        (Zip(), 0, 2, "the first input"),
        (Zip(), 1, 2, "the second input"),
        (Map(fn=SQUARE), 2, 4, "the third input"),
        (Map(fn=SQUARE), 3, 4, "input 4"),
        (Merge(fn=ADD), 0, 3, "number 0"),
        (Merge(fn=ADD), 1, 3, "number 1"),
        (Merge(fn=ADD), 2, 3, "the selector"),
    ],
)
def test_inputs_without_a_name_are_called_by_their_place(operator: Operator, index: int, count: int, name: str) -> None:
    assert operator.inputs.ordinal(index, count) == name
