"""Arguments with which functions of torch run."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor

X: Final = torch.linspace(-1.0, 1.0, 12).reshape(3, 4)
POSITIVE: Final = X.abs() + 0.5
LABELS: Final = torch.tensor([0, 1, 3])
IMAGE: Final = torch.linspace(0.0, 1.0, 128).reshape(1, 2, 8, 8)
VOLUME: Final = torch.linspace(0.0, 1.0, 1024).reshape(1, 2, 8, 8, 8)
SIGNAL: Final = torch.linspace(0.0, 1.0, 16).reshape(1, 2, 8)
_SQUARE: Final = torch.eye(3) * 2 + 0.1
SIGNS: Final = torch.tensor([1.0, -1.0, 1.0])


def pooled(dims: int) -> tuple[Tensor, Tensor]:
    data = (SIGNAL, IMAGE, VOLUME)[dims - 1]
    pool: Any = getattr(torch.nn.functional, f"max_pool{dims}d")
    found: tuple[Tensor, Tensor] = pool(data, 2, return_indices=True)
    return found


def wrapper_examples() -> dict[str, list[tuple[Any, ...]]]:
    """Return arguments with which the Python wrappers of torch run; names are those of torch and nn.functional."""
    loss = [(X, X * 0.5)]
    data = {"1d": SIGNAL, "2d": IMAGE, "3d": VOLUME}
    found: dict[str, list[tuple[Any, ...]]] = {
        "atleast_1d": [(X,)], "atleast_2d": [(X,)], "atleast_3d": [(X,)], "block_diag": [(X, X)],
        "broadcast_shapes": [((1, 3), (4, 1))], "broadcast_tensors": [(X, X[0])], "cartesian_prod": [(X[0], X[1])],
        "cdist": [(X, X)], "chain_matmul": [(X, X.t())], "einsum": [("ij,kj->ik", X, X)], "lu": [(_SQUARE,)],
        "meshgrid": [(X[0], X[1])], "norm": [(X,)], "split": [(X, 2)],
        "stft": [(X.reshape(12), 4, None, None, None, True, "reflect", False, True, True)],
        "tensordot": [(X, X.t(), 1)], "unique": [(X,)], "unique_consecutive": [(X,)],
        "unravel_index": [(LABELS, (3, 4))], "pca_lowrank": [(X, 2)], "svd_lowrank": [(X, 2)],
        "affine_grid": [(torch.zeros(1, 2, 3), [1, 2, 4, 4], False)],
        "batch_norm": [(X, torch.zeros(4), torch.ones(4)), (X, None, None, None, None, True)],
        "instance_norm": [(SIGNAL,), (SIGNAL, torch.zeros(2), torch.ones(2), None, None, False)],
        "binary_cross_entropy": [(POSITIVE / 2, POSITIVE / 2)], "binary_cross_entropy_with_logits": loss,
        "cosine_embedding_loss": [(X, X, SIGNS)], "cross_entropy": [(X, LABELS)],
        "ctc_loss": [(torch.zeros(5, 1, 4).log_softmax(2), torch.tensor([[1, 2]]), (5,), (2,))],
        "embedding": [(LABELS, torch.ones(4, 4))], "embedding_bag": [(LABELS[None], torch.ones(4, 4))],
        "fold": [(torch.ones(1, 8, 9), (4, 4), (2, 2))], "unfold": [(IMAGE, (2, 2))],
        "gaussian_nll_loss": [(X, X, POSITIVE)], "grid_sample": [(IMAGE, torch.zeros(1, 2, 2, 2))],
        "group_norm": [(IMAGE, 2)], "layer_norm": [(X, (4,))], "rms_norm": [(X, (4,))],
        "hinge_embedding_loss": [(X, X.sign())],
        "interpolate": [(IMAGE, None, 2), (SIGNAL, 5), (IMAGE, None, 0.1, "area")],
        "local_response_norm": [(IMAGE, 2), (SIGNAL, 2)], "pdist": [(X,), (X[:1],)],
        "inner": [(X, X), (torch.ones(()), X)], "matrix_power": [(_SQUARE, 2), (_SQUARE, 1), (_SQUARE, 0)],
        "margin_ranking_loss": [(X[0], X[1], X[2].sign())],
        "multi_margin_loss": [(X, LABELS)], "multilabel_margin_loss": [(X, torch.tensor([[0, 1, -1, 0]] * 3))],
        "multilabel_soft_margin_loss": [(X, POSITIVE.round().clamp(0, 1))], "nll_loss": [(X, LABELS)],
        "pad": [(X, (1, 1)), (IMAGE, (1, 1, 1, 1), "reflect")], "poisson_nll_loss": loss,
        "soft_margin_loss": [(X, X.sign())], "triplet_margin_loss": [(X, X + 1, X - 1)],
        "triplet_margin_with_distance_loss": [(X, X + 1, X - 1)], "glu": [(X,)], "threshold": [(X, 0.1, 0.0)],
        "upsample": [(IMAGE, None, 2)], "upsample_bilinear": [(IMAGE, None, 2)],
        "upsample_nearest": [(IMAGE, None, 2)], "dropout": [(X, 0.5, False)], "alpha_dropout": [(X, 0.5, False)],
        "feature_alpha_dropout": [(IMAGE, 0.5, False)], "dropout1d": [(SIGNAL, 0.5, False)],
        "dropout2d": [(IMAGE, 0.5, False)], "dropout3d": [(VOLUME, 0.5, False)], "rrelu": [(X,)],
        "gumbel_softmax": [(X,)], "normalize": [(X,)], "log_softmax": [(X, 1)],
        "softmax": [(X, 1)], "softmin": [(X, 1)],
        "fractional_max_pool2d": [(IMAGE, 2, 3)], "fractional_max_pool3d": [(VOLUME, 2, 3)],
    }  # fmt: skip
    for name in ("huber_loss", "kl_div", "l1_loss", "mse_loss", "smooth_l1_loss"):
        found[name] = loss
    for dims, tensor in data.items():
        found |= {f"adaptive_avg_pool{dims}": [(tensor, 2)], f"adaptive_max_pool{dims}": [(tensor, 2)]}
        found |= {f"max_pool{dims}": [(tensor, 2)], f"lp_pool{dims}": [(tensor, 2.0, 2)]}
        found[f"max_unpool{dims}"] = [(*pooled(int(dims[0])), 2), (*pooled(int(dims[0])), 2, 2, 4)]
    return found


ONE: Final = [(X,)]
# Arguments of real numbers with which nearly all operators that can give complex numbers run.
REAL: Final[list[tuple[Any, ...]]] = [(X,), (X[0],), (_SQUARE,), (X, X), (X, X.t()), (torch.ones(3, 2),), (8,), (X, 2)]

# And arguments with which nearly all others of those run that ask for matrices, or for planes.
MATRICES: Final[list[tuple[Any, ...]]] = [
    (_SQUARE, _SQUARE), (_SQUARE, _SQUARE, _SQUARE), (X, X, X), (X, X[0], X[0]), (X, X, X.t()), (X[0], X[0]),
    (X[None], X.t()[None]), (IMAGE, 2), (IMAGE, IMAGE), (IMAGE, IMAGE, IMAGE), (SIGNAL, SIGNAL[:, :, :3], None),
    (IMAGE, IMAGE[:, :, :3, :3], None), (VOLUME, VOLUME[:, :, :3, :3, :3], None),
    (SIGNAL, SIGNAL[:, :, :3], SIGNAL[0, :1, 0]), (IMAGE, IMAGE[:, :, :3, :3], IMAGE[0, :1, 0, 0]),
    (SIGNAL, 2), (VOLUME, 2), (X, X[0]), (POSITIVE, X), (LABELS, 4), (X, 0, LABELS[:2]), (X, 1, LABELS[None]),
    (X, X, torch.ones(2, 4, 4)), (X, X, torch.ones(2, 4, 4), torch.ones(2)), (X, X[:, :1].t()[0, :1]),
    (SIGNAL.mT, SIGNAL[0, :, :3].mT[:, :, None], X[0, :1]),
]  # fmt: skip


_DTYPES: Final = (
    torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
    torch.bool,
)  # fmt: skip
# Arguments with which a function that need not copy may hand back a view: one operand, the size that is there already.
_VIEWING: Final[list[tuple[Any, ...]]] = [
    (X, 0), (X, 1), (X, 2), (X, -1), (X, 1.0), (X, 0, 1), (X, 4, 3), (X, 3, 4), (X, 0, 0, 1), (X, 0, 1, 1),
    (X, 0, 2, 1),
    *((X.to(kind),) for kind in _DTYPES), (X, (3, 4)), (X, (0, 1)), (X, 1, (2, 2)), (X, [2, 2]), (X, [1.0, 1.0]),
    (X, X.shape), (X, torch.float32), ([X],),
    ([X, X],), ("ij->ij", X), ("ij->ji", X), ("ii->i", _SQUARE), ("i->i", X[0]), (X[:1], 0), (X[0], (4,)),
    (LABELS,), (LABELS, LABELS), (IMAGE, 0), (IMAGE, 1), (IMAGE, 2, 2), (IMAGE, None, 1), (_SQUARE, 0),
    (_SQUARE, 1), (torch.ones(()),), (X, 0.5, False), (IMAGE, 0.5, False), (SIGNAL, 0.5, False),
    (VOLUME, 0.5, False), (X, (0, 0)), (X, (0, 0, 0, 0)),
]  # fmt: skip


def view_calls(examples: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return calls in which functions that may give a view of an argument do: most do where nothing is to be done."""
    others = [*REAL, *_VIEWING]
    return [*examples, *others, *((args[0], *args) for args in examples if args and isinstance(args[0], Tensor))]
