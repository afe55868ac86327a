"""Sizes and dtypes of arguments, from annotations, comments, docstrings and options."""

from __future__ import annotations

import pytest

from stepagents.torchfn.dims import Described, Description, describe
from stepagents.torchfn.refusals import Refused
from stepagents.torchfn.target import find_target


def described(text: str, inputs: tuple[str, ...] = (), dims: dict[str, int] | None = None) -> Description:
    return describe(find_target("f.py", text, "f"), inputs, dims)


def shapes(text: str, inputs: tuple[str, ...] = ()) -> dict[str, str]:
    found = described(text, inputs).arguments
    assert found is not None
    return {item.name: shown(item) for item in found}


def shown(item: Described) -> str:
    if item.dims is None:
        return repr(item.value)
    return f"{', '.join(map(str, item.dims))} {item.dtype}"


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ('x: Float[Tensor, "m k"]', {"x": "m, k fp32"}),
        ('x: jt.Float16[torch.Tensor, "m 4"]', {"x": "m, 4 fp16"}),
        ("x: \"BFloat16[Tensor, 'm k']\"", {"x": "m, k bf16"}),
        ("x: 'Int[Tensor, \"n\"]'", {"x": "n int64"}),
        ('x: Int32[Tensor, "n"], y: Bool[Tensor, "n"]', {"x": "n int32", "y": "n bool"}),
        ('x: Float[Tensor, "*batch #m 2*k rows=3"]', {"x": "batch, m, 2*k, 3 fp32"}),
        ('x: Float[Tensor, ""]', {"x": " fp32"}),
        ('x: Optional[Float[Tensor, "m"]], y: Float[Tensor, "m"] | None', {"x": "m fp32", "y": "m fp32"}),
        ("x: Rows, eps: float = 1e-5, mask=None", {"x": "a, b fp32", "eps": "1e-05", "mask": "None"}),
        ("x: Tensor):  # stepsmith: x[m, k] bf16\n    #", {"x": "m, k bf16"}),
        ("x: Tensor):  # x: (N, M)\n    #", {"x": "N, M fp32"}),
        ("x, ids):\n    # stepsmith: x[m, k], ids[m] int64\n    pass\n    #", {"x": "m, k fp32", "ids": "m int64"}),
        ('x, y):\n    """Do.\n\n    stepsmith: x[m k], y[]\n    """\n    #', {"x": "m, k fp32", "y": " fp32"}),
    ],
)
def test_shapes_are_read(signature: str, expected: dict[str, str]) -> None:
    text = f'Rows = Float[Tensor, "a b"]\ndef f({signature}): return 0\n'
    if "stepsmith:" in signature or "# x" in signature:
        text = f"def f({signature}\n    return 0\n"
    assert shapes(text) == expected


def test_options_are_stronger_than_comments_and_these_than_annotations() -> None:
    head = 'def f(x: Float[Tensor, "a"], y: Float[Tensor, "a"], z: Float[Tensor, "a"]):'
    text = f"{head}\n    # stepsmith: y[b], z[b]\n    return x\n"
    assert shapes(text, ("z=c 4 bf16",)) == {"x": "a fp32", "y": "b fp32", "z": "c, 4 bf16"}


def test_numbers_are_given_by_value() -> None:
    text = "def f(x, n: int, eps=0.1):  # stepsmith: x[m]\n    return x\n"
    assert shapes(text, ("n=3", "eps=1e-6")) == {"x": "m fp32", "n": "3", "eps": "1e-06"}


def test_a_symbol_with_the_name_of_an_argument_is_written_in_capitals() -> None:
    found = described("def f(q, k):  # stepsmith: q[m, k], k[k, n]\n    return q @ k\n", dims={"k": 64})
    assert [shown(item) for item in found.arguments or ()] == ["m, K fp32", "K, n fp32"]
    assert found.bindings == {"K": 64}


def test_example_inputs_are_left_to_the_worker() -> None:
    text = "def f(x): return x\ndef get_inputs(): return []\n"
    assert described(text).arguments is None
    assert described(text, ("x=m",)).arguments is not None


def test_beside_example_inputs_a_comment_that_is_not_for_us_tells_no_shapes() -> None:
    examples = "def get_inputs(): return []\n"
    assert described(f"def f(x):  # x: (rows, 4)\n    return x\n{examples}").arguments is None
    assert described(f"def f(x):  # stepsmith: x[rows, 4]\n    return x\n{examples}").arguments is not None


def test_it_is_known_whether_an_element_type_is_written() -> None:
    text = 'def f(x, y, z: Float[Tensor, "m"]):  # stepsmith: x[m] int64, y[m]\n    return x\n'
    assert [item.is_typed for item in described(text).arguments or ()] == [True, False, True]


def refusal(text: str, inputs: tuple[str, ...] = (), dims: dict[str, int] | None = None) -> Refused:
    with pytest.raises(Refused) as caught:
        described(text, inputs, dims)
    return caught.value


def test_missing_shapes_come_with_a_guess() -> None:
    found = refusal("import torch\ndef f(x, w, eps=1e-5):\n    return x @ w\n")
    assert found.guess == {"x": "m k", "w": "k n"}
    assert (found.findings[0].code, found.findings[0].line, found.findings[0].column) == ("STEP602", 2, 7)
    assert '--input "x=m k" --input "w=k n"' in found.findings[0].text
    assert "`# stepsmith: x[m, k], w[k, n]`" in found.findings[0].text


@pytest.mark.parametrize(
    ("text", "inputs", "dims", "words"),
    [
        ("def f(*xs): return xs[0]\n", (), None, "any number of arguments"),
        ("def f(): return 1\n", (), None, "no tensor"),
        ("def f(x, n: int):  # stepsmith: x[m]\n    return x\n", (), None, "the value of n is not known"),
        ("def f(x):  # stepsmith: x[m]\n    return x\n", ("y=m",), None, "takes x"),
        ("def f(x):  # stepsmith: x[m]\n    return x\n", ("x",), None, "takes x"),
        ("def f(x):  # stepsmith: x[m]\n    return x\n", (), {"q": 3}, "no size q; it uses m"),
        ("def f(x, n: int):  # stepsmith: x[m]\n    return x\n", ("n=many",), None, "a number is expected"),
        ("def f(x):  # stepsmith: x[m**2]\n    return x\n", (), None, "cannot be read"),
    ],
)
def test_what_is_missing_or_unknown(
    text: str, inputs: tuple[str, ...], dims: dict[str, int] | None, words: str
) -> None:
    found = refusal(text, inputs, dims).findings[0]
    assert found.code == "STEP602"
    assert words in found.text


@pytest.mark.parametrize(
    ("text", "dims", "words"),
    [
        ('def f(x: Float64[Tensor, "m"]): return x\n', None, "Float64"),
        ("def f(x):  # stepsmith: x[m] float64\n    return x\n", None, "float64"),
        ("def f(x):  # stepsmith: x[m, 0]\n    return x\n", None, "a size of 0"),
        ("def f(x):  # stepsmith: x[m]\n    return x\n", {"m": 0}, "m=0"),
    ],
)
def test_types_and_sizes_that_no_program_holds(text: str, dims: dict[str, int] | None, words: str) -> None:
    found = refusal(text, dims=dims).findings[0]
    assert found.code == "STEP605"
    assert words in found.text


def test_get_inputs_also_tells_numbers() -> None:
    text = "def f(x, s: float): return x * s\ndef get_inputs(): return [torch.rand(2), 3.14]\n"
    assert described(text).arguments is None  # all of them come from the examples


def test_a_number_that_nothing_tells_is_asked_for() -> None:
    with pytest.raises(Refused, match="the value of s is not known"):
        described("def f(x, s: float): return x * s\n", ("x=m k",))
