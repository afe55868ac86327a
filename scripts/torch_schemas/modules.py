"""The modules of torch.nn that are admitted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import torch

from scripts.torch_schemas.examples import IMAGE, LABELS, POSITIVE, SIGNAL, SIGNS, VOLUME, X, pooled, wrapper_examples
from scripts.torch_schemas.reviewed import REVIEWED_MODULES
from scripts.torch_schemas.runs import shares, watched
from scripts.torch_schemas.schemas import takes_anything


def module_examples() -> dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Return for each module of torch.nn arguments of its constructor and of a call."""
    one: tuple[Any, ...] = (X,)
    pair: tuple[Any, ...] = (X, X * 0.5)
    found: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
        "Bilinear": ((4, 4, 2), (X, X)), "CosineSimilarity": ((), pair), "PairwiseDistance": ((), pair),
        "Embedding": ((4, 3), (LABELS,)), "EmbeddingBag": ((4, 3), (LABELS[None],)), "Flatten": ((), one),
        "Fold": (((4, 4), (2, 2)), (torch.ones(1, 8, 9),)), "Unfold": (((2, 2),), (IMAGE,)), "GLU": ((), one),
        "GroupNorm": ((2, 2), (IMAGE,)), "Identity": ((), one), "LayerNorm": ((4,), one), "RMSNorm": ((4,), one),
        "Linear": ((4, 3), one), "Sequential": ((torch.nn.ReLU(), torch.nn.Tanh()), one),
        "Softmax": ((1,), one), "Softmin": ((1,), one), "LogSoftmax": ((1,), one), "Softmax2d": ((), (IMAGE,)),
        "Threshold": ((0.1, 0.0), one), "Unflatten": ((1, (2, 2)), one), "PReLU": ((), one),
        "ChannelShuffle": ((2,), (IMAGE,)), "PixelShuffle": ((2,), (torch.ones(1, 4, 2, 2),)),
        "PixelUnshuffle": ((2,), (IMAGE,)), "LocalResponseNorm": ((2,), (IMAGE,)), "CrossMapLRN2d": ((2,), (IMAGE,)),
        "Upsample": ((None, 2), (IMAGE,)), "UpsamplingBilinear2d": ((None, 2), (IMAGE,)),
        "UpsamplingNearest2d": ((None, 2), (IMAGE,)), "ZeroPad1d": ((1,), (SIGNAL,)),
        "CrossEntropyLoss": ((), (X, LABELS)), "NLLLoss": ((), (X, LABELS)), "BCELoss": ((), (POSITIVE / 2,) * 2),
        "CosineEmbeddingLoss": ((), (X, X, SIGNS)), "CTCLoss": ((), wrapper_examples()["ctc_loss"][0]),
        "GaussianNLLLoss": ((), (X, X, POSITIVE)), "HingeEmbeddingLoss": ((), (X, X.sign())),
        "MarginRankingLoss": ((), (X[0], X[1], X[2].sign())), "MultiMarginLoss": ((), (X, LABELS)),
        "MultiLabelMarginLoss": ((), (X, torch.tensor([[0, 1, -1, 0]] * 3))), "SoftMarginLoss": ((), (X, X.sign())),
        "MultiLabelSoftMarginLoss": ((), (X, POSITIVE.round().clamp(0, 1))),
        "TripletMarginLoss": ((), (X, X + 1, X - 1)), "TripletMarginWithDistanceLoss": ((), (X, X + 1, X - 1)),
        "RNN": ((4, 3), (X,)), "GRU": ((4, 3), (X,)), "LSTM": ((4, 3), (X,)), "RNNCell": ((4, 3), (X,)),
        "GRUCell": ((4, 3), (X,)), "LSTMCell": ((4, 3), (X,)), "MultiheadAttention": ((4, 2), (X, X, X)),
        "BatchNorm1d": ((4, 1e-5, 0.1, True, False), one),
    }  # fmt: skip
    for name in (
        "BCEWithLogitsLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss", "PoissonNLLLoss", "SmoothL1Loss",
    ):  # fmt: skip
        found[name] = ((), pair)
    for dims, data in (("1d", SIGNAL), ("2d", IMAGE), ("3d", VOLUME)):
        found |= {f"{kind}Pool{dims}": ((2,), (data,)) for kind in ("Avg", "Max", "AdaptiveAvg", "AdaptiveMax")}
        found |= {f"{kind}Pad{dims}": ((1,), (data,)) for kind in ("Reflection", "Replication", "Zero", "Circular")}
        found |= {f"ConstantPad{dims}": ((1, 0.0), (data,)), f"LPPool{dims}": ((2.0, 2), (data,))}
        found |= {f"{kind}{dims}": ((2, 3, 2), (data,)) for kind in ("Conv", "ConvTranspose")}
        found |= {f"InstanceNorm{dims}": ((2,), (data,)), f"MaxUnpool{dims}": ((2,), pooled(int(dims[0])))}
        if dims != "1d":
            found[f"BatchNorm{dims}"] = ((2, 1e-5, 0.1, True, False), (data,))
    return found


_ACTIVATIONS: Final = """CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid Mish ReLU ReLU6
    SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink"""


def modules() -> Iterator[tuple[str, str]]:
    """Yield the admitted modules and whether their constructors draw."""
    examples = module_examples() | dict.fromkeys(_ACTIVATIONS.split(), ((), (X,)))
    for name, (init, call) in examples.items():
        make = getattr(torch.nn, name, None)
        if make is None or (takes_anything(make) and name not in REVIEWED_MODULES):
            continue
        made: list[torch.nn.Module] = []
        built = watched(lambda *args, make=make, made=made: made.append(make(*args)), init, {})
        ran = watched(made[0], call, {}) if built is not None else None
        # Drawing while it is called is not seeded: such a module has no place here.
        if built is not None and ran is not None and not any((*ran, built[1])):
            yield name, "random" if built[0] else "pure"


def viewing_modules(admitted: Iterable[str]) -> Iterator[str]:
    """Yield the modules that may give a view of their argument."""
    examples = module_examples() | dict.fromkeys(_ACTIVATIONS.split(), ((), (X,)))
    inits = {"PixelShuffle": (1,), "PixelUnshuffle": (1,), "ChannelShuffle": (1,), "Flatten": (1,)}
    for name in admitted:
        init, call = examples[name]
        makers = [getattr(torch.nn, name)(*init)]
        makers += [getattr(torch.nn, name)(*inits[name])] if name in inits else []
        if name == "Sequential" or any(shares(made, call) or shares(made, (IMAGE,)) for made in makers):
            yield name
