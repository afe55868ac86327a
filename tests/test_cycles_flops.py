"""FLOPs of a call on a chip: the table of the timing chapter."""

from __future__ import annotations

import pytest
import torch

from stepcore.cycles.flops import CallCost, call_cost
from stepcore.dims import D, K, M
from stepcore.fn.decl import CodeBlock, FnDecl, FnScope
from stepcore.sizes.dim import Dim
from stepcore.text.span import Embedded, Span
from stepcore.types import Buffer, Scalar, STuple

F32 = Scalar("fp32")
VEC = Buffer(F32, [D])
# [columns] of [rows]: a product takes (M, K) and (K, D)
LEFT, RIGHT, PRODUCT = Buffer(F32, [K, M]), Buffer(F32, [D, K]), Buffer(F32, [D, M])
SIZES = {"D": 8, "K": 4, "M": 2}


def cost(body: str, given: object = VEC, result: object = VEC, **prices: int) -> CallCost:
    source = CodeBlock(Embedded.whole(body), ("state", "input"))
    decl = FnDecl("fn_x", "X", given, result, source, [0], span=Span(0, 1))  # type: ignore[arg-type]
    return call_cost(decl, FnScope(prelude=CodeBlock(Embedded.whole(""), ())), {}, SIZES, prices)


@pytest.mark.parametrize(
    ("body", "flops"),
    [
        ("return [input[0]]\n", 0),
        ("return [input[0] * 2 + 1]\n", 2 * 8),
        ("return [torch.where(input[0] > 0, input[0], -input[0])]\n", 3 * 8),
        ("return [torch.exp(input[0])]\n", 4 * 8),
        ("return [torch.rsqrt(input[0]) * torch.sigmoid(input[0])]\n", (4 + 7 + 1) * 8),
        ("return [torch.nn.functional.silu(input[0])]\n", 8 * 8),
        ("return [torch.softmax(input[0], 0)]\n", 8 * 8),
        ("return [input[0] - torch.sum(input[0])]\n", 2 * 8),
        ("return [torch.flip(input[0], [0])]\n", 0),
        ("return [torch.exp(input[0]) if D_value > 4 else input[0] + 1]\n", 4 * 8),
    ],
)
def test_prices(body: str, flops: int) -> None:
    assert cost(body) == CallCost(flops, ())


@pytest.mark.parametrize(
    ("method", "flops"),
    [
        ("exp_()", 4 * 8),
        ("add_(1)", 8),
        ("mul_(input[0])", 8),
        ("clamp_(0, 1)", 8),
        ("cumsum_(0)", 8),
        ("fill_(1)", 0),
        ("zero_()", 0),
        ("copy_(input[0])", 0),
    ],
)
def test_a_method_that_changes_its_tensor_costs_what_its_pure_form_costs(method: str, flops: int) -> None:
    assert cost(f"y = input[0].clone()\ny.{method}\nreturn [y]\n") == CallCost(flops, ())
    assert cost("y = input[0].clone()\ny.exp_()\nreturn [y]\n", exp=7).flops == 7 * 8
    assert cost("y = input[0].clone()\ny.index_put_((), input[0])\nreturn [y]\n").unknown == ("index_put",)


def test_a_product_includes_an_addition_of_its_result() -> None:
    given, product = STuple([LEFT, RIGHT]), 2 * 2 * 4 * 8
    assert cost("return [input[0] @ input[1]]\n", given, PRODUCT).flops == product
    assert cost("return [state[0] + input[0] @ input[1]]\n", given, PRODUCT).flops == product
    assert cost("p = input[0] @ input[1]\nreturn [p + state[0]]\n", given, PRODUCT).flops == product
    assert cost("return [state[0] * 2 + input[0] @ input[1] + state[0]]\n", given, PRODUCT).flops == product + 2 * 16


WINDOWED = [  # what is applied to (2, 8, 4), torch's result of which has as many numbers, and its FLOPs
    ("avg_pool2d({0}, 2)", 2 * 4 * 2 * 4),
    ("avg_pool2d({0}, (1, 4), (1, 2), count_include_pad=False)", 2 * 8 * 1 * 4),
    ("max_pool2d({0}, 3, stride=2, padding=1)", 2 * 4 * 2 * 9),
    ("max_pool2d({0}.reshape(1, 2, 8, 4), kernel_size=(3, 2), dilation=(2, 1))", 2 * 2 * 2 * 6),
    ("max_pool1d({0}, 2)", 2 * 8 * 2 * 2),
    ("unfold({0}, (3, 2), padding=(1, 0))", 0),
    ("unfold({0}.reshape(1, 2, 8, 4), kernel_size=2, stride=2)", 0),
    ("fold({0}, (10, 1), (4, 1), stride=(2, 1))", 2 * 8 * 4),
    ("fold({0}, output_size=(5, 1), kernel_size=(2, 1))", 2 * 8 * 4),
    ("conv1d({0}, torch.ones(3, 8, 2), padding=1)", 2 * (2 * 3 * 5) * 8 * 2),
    ("conv2d({0}, torch.ones(3, 2, 2, 3), None, (2, 1))", 2 * (3 * 4 * 2) * 2 * 2 * 3),
    ("conv2d({0}, torch.ones(2, 1, 3, 3), groups=2, dilation=1)", 2 * (2 * 6 * 2) * 9),
]


@pytest.mark.parametrize(("text", "flops"), WINDOWED)
def test_windows_have_the_shapes_that_they_have_in_torch(text: str, flops: int) -> None:
    given = text.format("input[0].reshape(2, 8, 4)")
    planes = Buffer(F32, [Dim.of(4), Dim.of(16)])
    result = eval(f"torch.nn.functional.{text.format('planes')}", {"torch": torch, "planes": torch.zeros(2, 8, 4)})
    dims = ", ".join(map(str, result.shape))
    found = cost(f"y = torch.nn.functional.{given} + torch.zeros({dims})\nreturn [input[0]]\n", planes, planes)
    assert found == CallCost(flops + result.numel(), ())


@pytest.mark.parametrize(
    "text",
    [
        "max_pool1d({0}, 2, ceil_mode=True)",
        "max_pool1d({0}, 2, return_indices=True)[0]",
        "avg_pool1d({0}, input[0].shape[0] if input[0].shape[1] > 8 else 2)",
    ],
)
def test_windows_that_are_not_followed_are_told(text: str) -> None:
    planes = Buffer(F32, [Dim.of(4), Dim.of(16)])
    given = text.format("input[0].reshape(2, 8, 4)")
    found = cost(f"y = torch.nn.functional.{given}\nreturn [input[0]]\n", planes, planes)
    assert found == CallCost(2 * 8 * 4, (text.partition("(")[0],))


def test_a_chip_has_prices_of_its_own() -> None:
    assert cost("return [torch.nn.functional.silu(input[0])]\n", silu=1).flops == 8


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("return [torch.exp(input[0])]\n", "exp"),
        ("return [input[0] - torch.sum(input[0])]\n", "sum"),
        ("return [torch.sort(input[0]).values]\n", "sort"),
        ("return [torch.cumsum(input[0], 0)]\n", "cumsum"),
        ("return [torch.outer(input[0], input[0])[0]]\n", "outer"),
        ("return [torch.flip(input[0], [0])]\n", "flip"),
    ],
)
def test_a_price_counts_for_each_kind_of_function(body: str, name: str) -> None:
    dear, cheap = (cost(body, **{name: price}).flops or 0 for price in (1001, 1))
    assert dear - cheap in (1000 * 8, 1000 * 64)


def test_of_two_arms_the_dearest_counts() -> None:
    body = "if D_value > 4:\n    y = torch.exp(input[0])\nelse:\n    y = input[0] + 1\nreturn [y]\n"
    assert cost(body).flops == 4 * 8


def test_what_nobody_knows_counts_one_for_each_element_and_is_named() -> None:
    found = cost("return [torch.diff(input[0])]\n")
    assert found.unknown == ("diff",)
    priced = cost("return [torch.diff(input[0])]\n", diff=3)
    assert priced.unknown == () and priced.flops == 3 * (found.flops or 0)
