"""Draws losses: of classes, of labels, of pairs and triples, and of sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from drawn_arguments import FUNCTIONAL, Draw


def _indexed_loss(draw: Draw) -> str:
    name, classes = draw.one("nll_loss", "cross_entropy", "cross_entropy", "multi_margin_loss"), draw.size(1, 5)
    lead = draw.random.choice(([], [draw.size()], [draw.size()]))
    planes = draw.sizes(draw.random.choice((0, 0, 1, 2))) if lead and name != "multi_margin_loss" else []
    x = draw.tensor(*lead, classes, *planes)
    if name == "cross_entropy" and draw.often(0.3):
        target = draw.tensor(*lead, classes, *planes)
    else:
        target = draw.tensor(*lead, *planes, below=max(classes, 1))
    weight = ("weight", [draw.tensor(classes)]) if draw.often(0.2) else ("weight", [None])
    more = [("label_smoothing", [0.1, 0.0])] if name == "cross_entropy" else []
    if name == "multi_margin_loss":
        rest = draw.reduced(("p", [1, 2, 1, 2, 3]), ("margin", [1.0, 0.5]), weight)
    else:
        rest = draw.reduced(weight) + draw.options(*more, ("ignore_index", [-100, 0]), only=True)
    return f"{FUNCTIONAL}.{name}({x}, {target}{rest})"


def _labelled_loss(draw: Draw) -> str:
    name, classes = draw.one("multilabel_margin_loss", "multilabel_soft_margin_loss"), draw.size(1, 5)
    sizes = [*draw.random.choice(([], [draw.size()])), classes]
    x = draw.tensor(*sizes)
    if name == "multilabel_margin_loss":
        return f"{FUNCTIONAL}.{name}({x}, {draw.tensor(*sizes, below=max(classes, 1))}{draw.reduced()})"
    weight = ("weight", [draw.tensor(classes)] if draw.often(0.2) else [None])
    return f"{FUNCTIONAL}.{name}({x}, {draw.tensor(*sizes)}{draw.reduced(weight)})"


def _pair_loss(draw: Draw) -> str:
    name = draw.one("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "soft_margin_loss",
                    "hinge_embedding_loss", "poisson_nll_loss", "binary_cross_entropy",
                    "binary_cross_entropy_with_logits", "gaussian_nll_loss")  # fmt: skip
    sizes = draw.sizes(draw.random.choice((0, 1, 2, 2, 3)))
    other = [size if draw.often(0.9) else 1 for size in sizes][(draw.random.random() < 0.1) :]
    x, target = draw.tensor(*sizes), draw.tensor(*other)
    if name == "binary_cross_entropy" and draw.often(0.9):
        x, target = f"{x}.sigmoid()", f"{draw.tensor(*sizes)}.sigmoid()"
    weight = ("weight", [draw.tensor(*sizes[-1:])] if draw.often(0.2) else [None])
    if name == "gaussian_nll_loss":
        var = draw.one(
            draw.tensor(*sizes), draw.tensor(*sizes[:-1], *[1] * bool(sizes)), draw.tensor(*sizes[:-1]), 1.0, 2
        )
        var = "1.0" if var == "2" and draw.often(0.7) else var
        return f"{FUNCTIONAL}.{name}({x}, {target}, {var}{draw.options(('full', [True, False]))}{draw.reduced()})"
    before = [weight] if "binary" in name else []
    rest = (
        draw.reduced(*before)
        if name not in ("huber_loss", "gaussian_nll_loss")
        else draw.options(("reduction", ["'mean'", "'none'", "'batchmean'"]))
    )
    rest += draw.options(weight, only=True) if name in ("mse_loss", "l1_loss", "huber_loss") else ""
    rest += (
        draw.options(("pos_weight", [draw.tensor(*sizes[-1:])]), only=True)
        if "logits" in name and draw.often(0.3)
        else ""
    )
    rest += draw.options(("log_target", [True, False]), only=True) if name == "kl_div" else ""
    rest += draw.options(("beta", [1.0, 0.0]), only=True) if name == "smooth_l1_loss" else ""
    rest += draw.options(("log_input", [True, False]), ("full", [True, False]), only=True) if "poisson" in name else ""
    if name == "kl_div" and draw.often(0.3):
        rest = ", reduction='batchmean'"
    return f"{FUNCTIONAL}.{name}({x}, {target}{rest})"


def _triple_loss(draw: Draw) -> str:
    name = draw.one("margin_ranking_loss", "cosine_embedding_loss", "triplet_margin_loss",
                    "triplet_margin_with_distance_loss")  # fmt: skip
    sizes = draw.sizes(draw.random.choice((1, 2, 2, 3)), 1, 4)
    if name == "cosine_embedding_loss":
        sizes = sizes[:2]
    a, b = draw.tensor(*sizes), draw.tensor(*sizes)
    third = draw.tensor(*(sizes[:-1] if name == "cosine_embedding_loss" else sizes))
    if name == "triplet_margin_with_distance_loss":
        rest = draw.options(
            ("margin", [1.0, 0.5]), ("swap", [True, False]), ("reduction", ["'mean'", "'none'"]), only=True
        )
        return f"{FUNCTIONAL}.{name}({a}, {b}, {third}{rest})"
    rest = draw.reduced(("margin", [0.0, 0.5, 1]))
    return f"{FUNCTIONAL}.{name}({a}, {b}, {third}{rest})"


def _ctc(draw: Draw) -> str:
    time, batch, classes = draw.size(2, 6), draw.size(1, 3), draw.size(2, 5)
    most = draw.size(1, 2)
    is_alone = draw.often(0.2)
    log = f"{draw.tensor(*([time, classes] if is_alone else [time, batch, classes]))}.log_softmax(-1)"
    lengths = [draw.random.randint(0, most) for _ in range(1 if is_alone else batch)]
    flat = draw.often(0.3)
    targets = draw.tensor(*([sum(lengths)] if flat else [most] if is_alone else [batch, most]), below=classes)
    if is_alone and not flat:
        lengths = [most]
    times = [time] * len(lengths)
    is_tensor, is_number = draw.often(), is_alone and draw.often()
    spelled = [
        f"torch.tensor({values[0] if is_number else values})" if is_tensor else draw.one(tuple(values), values)
        for values in (times, lengths)
    ]
    rest = draw.options(
        ("blank", [0, 1]), ("reduction", ["'mean'", "'sum'", "'none'"]), ("zero_infinity", [True, False])
    )
    return f"{FUNCTIONAL}.ctc_loss({log}, {targets}, {', '.join(spelled)}{rest})"


FAMILIES: Sequence[Callable[[Draw], str]] = (
    _indexed_loss, _indexed_loss, _labelled_loss, _pair_loss, _pair_loss, _triple_loss, _ctc,
)  # fmt: skip
