"""Calls that ask much of sizes and types: check refuses what torch refuses, and nothing that torch computes."""

from __future__ import annotations

from random import Random

import pytest

from drawn_calls import Known

F = "torch.nn.functional."
TAKEN = [
    "torch.margin_ranking_loss(torch.ones(2), torch.ones(2), torch.ones(()))",
    "torch.binary_cross_entropy_with_logits(torch.ones(1), torch.ones(1, 4))",
    "torch.conv_transpose1d(torch.ones(2, 2, 4), torch.ones(2, 2, 1), groups=2, dilation=0)",
    F + "nll_loss(torch.ones(5), torch.tensor([1]), reduction='none')",
    F + "cross_entropy(torch.ones(2, 3), torch.ones(2, 3))",
    "torch.einsum('...i,...i->...', torch.ones(2, 3), torch.ones(1, 3))",
    "torch.einsum('b...,b...->...b', torch.ones(2, 3, 4), torch.ones(2, 1, 4)) + torch.ones(3, 4, 2)",
    F + "ctc_loss(torch.zeros(5, 1, 4).log_softmax(2), torch.tensor([[1, 2]]), (5,), [2])",
    F + "gaussian_nll_loss(torch.ones(2, 3), 0.5, torch.ones(2, 3))",
    F + "multilabel_soft_margin_loss(torch.ones(2, 3), 1)",
    F + "normalize(torch.ones(2, 3), 'fro')",
    F + "mse_loss(torch.ones(3), torch.ones(3), size_average=False, reduction='other')",
    F + "multi_margin_loss(torch.ones(3), torch.tensor(1), reduce=True, reduction='other')",
    "torch.nn.MSELoss(reduce=False, reduction='other')(torch.ones(3), torch.ones(3))",
    "torch.nn.MSELoss(False, reduction='other')(torch.ones(3), torch.ones(3))",
    F + "max_pool2d(torch.ones(2, 4, 4), 2, 2, 0, 1, False, True)[1].shape[2]",
    F + "scaled_dot_product_attention(torch.ones(2, 3), torch.ones(4, 3), torch.ones(0, 5))",
    "torch.zeros(0, 3).cummax(2)[0]",
    "torch.zeros(0).roll(1, 4)",
    F + "local_response_norm(torch.ones(1, 2, 3).half(), 2)",
    F + "max_pool1d(torch.ones(1, 2, 6).long(), 2, return_indices=True)[1]",
    "torch.inner(torch.ones(()), torch.ones(2).long())",
    "torch.linalg.det(torch.zeros(0, 3, 3).half())",
    "torch.cdist(torch.ones(4, 1).half(), torch.ones(0, 1))",
    "torch.ones(3).long().mean(dtype=torch.float32)",
    "torch.conv1d(torch.ones(0, 4), torch.ones(2, 0, 1))",
]
REFUSED = [
    F + "scaled_dot_product_attention(torch.ones(3), torch.ones(4, 3), torch.ones(4, 3))",
    F + "scaled_dot_product_attention(torch.ones(2, 3), torch.ones(4, 3), torch.ones(4, 3), torch.ones(3, 4))",
    "torch.conv_transpose1d(torch.ones(2, 4), torch.ones(3, 2, 3))",
    "torch.conv_transpose2d(torch.ones(2, 4), torch.ones(2, 2, 3, 3))",
    F + "conv_transpose2d(torch.ones(1, 2, 4, 4), torch.ones(2, 2, 3, 3), output_padding=1)",
    F + "conv_transpose1d(torch.ones(1, 2, 4), torch.ones(2, 2, 3), torch.ones(3))",
    F + "max_unpool2d(torch.ones(1, 2, 2), torch.zeros(2, 1, 2).long(), 2)",
    F + "max_unpool1d(torch.ones(1, 2), torch.zeros(1, 2), 2)",
    F + "max_unpool1d(torch.ones(1, 2), torch.zeros(1, 2).long(), 2, output_size=[1, 4])",
    F + "grid_sample(torch.ones(1, 2, 3, 3), torch.ones(1, 2, 2, 3))",
    F + "grid_sample(torch.ones(1, 2, 3, 3), torch.ones(2, 2, 2, 2))",
    F + "grid_sample(torch.ones(1, 2, 3, 3), torch.ones(1, 2, 2, 2), padding_mode='edge')",
    F + "affine_grid(torch.ones(1, 2, 3), (2, 1, 2, 2))",
    F + "affine_grid(torch.ones(2, 2, 3), (2, 1, 2, 2, 2))",
    F + "interpolate(torch.ones(1, 2, 3, 3), size=4, mode='linear')",
    F + "interpolate(torch.ones(1, 2, 3), size=(4, 4))",
    F + "interpolate(torch.ones(1, 2, 3), size=4, align_corners=True)",
    F + "interpolate(torch.ones(1, 2, 3), size=4, scale_factor=2)",
    F + "interpolate(torch.ones(1, 2, 3), 4, recompute_scale_factor=True)",
    F + "cross_entropy(torch.ones(2, 3), torch.ones(2))",
    F + "cross_entropy(torch.ones(2, 3), torch.zeros(3).long())",
    F + "cross_entropy(torch.ones(2, 3, 4), torch.ones(2, 3).long())",
    F + "nll_loss(torch.ones(2, 3), torch.ones(2, 3).long())",
    F + "multi_margin_loss(torch.ones(2, 3), torch.zeros(1).long())",
    F + "multi_margin_loss(torch.ones(2, 3), torch.tensor([0, 1]), p=3)",
    F + "multilabel_margin_loss(torch.ones(2, 3), torch.ones(2, 2).long())",
    F + "binary_cross_entropy(torch.ones(2, 3), torch.ones(2, 1))",
    F + "kl_div(torch.ones(2, 3), torch.ones(2))",
    F + "triplet_margin_loss(torch.ones(2, 3), torch.ones(2, 3), torch.ones(3))",
    F + "margin_ranking_loss(torch.ones(2), torch.ones(2), torch.ones(()))",
    "torch.einsum('...i,...i->...', torch.ones(2, 3), torch.ones(4, 3))",
    "torch.einsum('ij,jk->il', torch.ones(2, 3), torch.ones(3, 4))",
    "torch.einsum('ij->ii', torch.ones(3, 3))",
    "torch.einsum('ij,jk', [torch.ones(2, 3), torch.ones(4, 4)])",
    "torch.einsum('ij,->ij', torch.ones(2, 3), 2.0)",
    "torch.einsum('ij,jk', torch.ones(2, 3), torch.ones(3, 4)) + torch.ones(5)",
    F + "interpolate(torch.ones(1, 2, 3), size=4) + torch.ones(5)",
    F + "mse_loss(torch.ones(3), torch.ones(3), reduction='other')",
    F + "scaled_dot_product_attention(torch.ones(2, 3), torch.ones(4, 3), torch.ones(5, 3))",
    "torch.ones(2, 3) @ torch.ones(3, 4).double()",
    "torch.ones(2, 3).long() @ torch.ones(3, 4)",
    "torch.ones(3).long().mean()",
    F + "softmax(torch.ones(3).long(), 0)",
    F + "layer_norm(torch.ones(2, 3).long(), (3,))",
    F + "linear(torch.ones(2, 3), torch.ones(4, 3), bias=torch.ones(4).double())",
    F + "grid_sample(torch.ones(1, 2, 3, 3), grid=torch.ones(1, 2, 2, 2).half())",
    F + "multi_margin_loss(torch.ones(2, 3).bfloat16(), torch.tensor([0, 1]))",
    "torch.linalg.det(torch.ones(2, 3, 3).half())",
    "torch.linalg.solve(torch.ones(3, 3), torch.ones(3, 2).double())",
]


def verdicts(text: str) -> tuple[bool, str]:
    """Return whether torch computes a text, and what is wrong with what check says: nothing, if it is right."""
    found = Known(Random(1), {}).compared(f"y = {text}", is_asked=True)
    return found.ran, found.wrong or found.passed


@pytest.mark.parametrize("text", TAKEN)
def test_what_torch_computes_is_taken(text: str) -> None:
    assert verdicts(text) == (True, "")


@pytest.mark.parametrize("text", REFUSED)
def test_what_torch_refuses_is_refused(text: str) -> None:
    assert verdicts(text) == (False, "")
