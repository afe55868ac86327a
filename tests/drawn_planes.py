"""Draws calls that look at planes of channels: convolutions, windows, samples, and planes of other sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from drawn_arguments import FUNCTIONAL, Draw


def _windows(draw: Draw, rank: int, least: int = 1) -> tuple[list[int], list[int], list[int], list[int]]:
    """Draw windows: their sizes, strides, paddings by half of a window at most, and dilations."""
    taps = draw.sizes(rank, 1, 3)
    return taps, draw.sizes(rank, 1, 3), [draw.random.randint(0, tap // 2) for tap in taps], draw.sizes(rank, least, 2)


def _convolution(draw: Draw) -> str:
    rank = draw.random.choice((1, 1, 2, 2, 3))
    groups, taps = draw.random.choice((1, 1, 1, 2)), draw.sizes(rank, 1, 3)
    channels, depth = draw.size(1, 3) * groups, draw.size(1, 2)
    lead = draw.random.choice(([], [draw.size()], [draw.size()]))
    x = draw.tensor(*lead, depth * groups, *draw.sizes(rank, 3, 6))
    weight = draw.tensor(channels, depth, *taps)
    bias = draw.random.choice((draw.tensor(channels), "None")) if draw.often() else ""
    numbers = [draw.each(draw.sizes(rank, 1, 2)) for _ in range(3)]
    rest = draw.options(("stride", numbers[:1]), ("padding", [numbers[1], "'same'", "'valid'", 0]))
    rest = f", bias={bias}" * bool(bias and not rest) or (
        f", {bias}{rest}" if bias else f", None{rest}" if rest else ""
    )
    by_name = "=" in rest
    rest += f", groups={groups}" if groups > 1 else ""
    rest += draw.options(("dilation", [numbers[2]]), only=True)
    space = draw.one(FUNCTIONAL, "torch")
    return f"{space}.conv{rank}d({x}, {weight}{rest if by_name or rest else ''})"


def _transposed(draw: Draw) -> str:
    rank, groups = draw.random.choice((1, 1, 2, 2, 3)), draw.random.choice((1, 1, 1, 2))
    taps, strides, paddings, dilations = _windows(draw, rank)
    outs = draw.size(1, 3)
    lead = draw.random.choice(([], [draw.size()], [draw.size()]))
    channels = draw.size(1, 2) * groups
    x = draw.tensor(*lead, channels, *draw.sizes(rank, 1, 4))
    weight = draw.tensor(channels, outs, *taps)
    bias = f", {draw.tensor(outs * groups)}" if draw.often(0.3) else ", None"
    rest = f", stride={draw.each(strides)}" if draw.often(0.6) else ""
    rest += f", padding={draw.each(paddings)}" if draw.often(0.4) else ""
    rest += f", output_padding={draw.each([draw.random.randint(0, 1) for _ in range(rank)])}" if draw.often(0.3) else ""
    rest += f", groups={groups}" if groups > 1 else ""
    rest += f", dilation={draw.each(dilations)}" if draw.often(0.3) else ""
    return f"{draw.one(FUNCTIONAL, 'torch')}.conv_transpose{rank}d({x}, {weight}{bias}{rest})"


def _of_module(draw: Draw) -> str:
    rank, groups = draw.random.choice((1, 2, 3)), draw.random.choice((1, 1, 2))
    taps, strides, paddings, _ = _windows(draw, rank)
    inside, outs = draw.size(2, 2) * groups, draw.size(2, 3) * groups
    kind = draw.one("Conv", "ConvTranspose")
    lead = draw.random.choice(([], [draw.size()]))
    x = draw.tensor(*lead, inside, *draw.sizes(rank, 3, 6), dtype="fp32")
    rest = draw.options(
        ("stride", [draw.each(strides)]), ("padding", [draw.each(paddings)]), ("bias", [False]), only=True
    )
    rest += f", groups={groups}" if groups > 1 else ""
    return f"torch.nn.{kind}{rank}d({inside}, {outs}, {draw.each(taps)}{rest})({x})"


def _pool(draw: Draw) -> str:
    rank, kind = draw.random.choice((1, 2, 3)), draw.one("max", "avg", "lp")
    taps, strides, paddings, dilations = _windows(draw, rank)
    lead = draw.random.choice(([], [draw.size()], [draw.size()]))
    x = draw.tensor(*lead, draw.size(), *draw.sizes(rank, 3, 6))
    options: list[tuple[str, list[object]]] = [
        ("stride", [draw.each(strides)]),
        ("padding", [draw.each(paddings)]),
    ]
    ceil: tuple[str, list[object]] = ("ceil_mode", [True, False])
    if kind == "max":
        options += [("dilation", [draw.each(dilations)]), ceil, ("return_indices", [False, True])]
    elif kind == "avg":
        options += [ceil, ("count_include_pad", [True, False])]
    else:
        options = [("stride", [draw.each(strides)]), ceil]
    norm = ", 2" if kind == "lp" else ""
    return f"{FUNCTIONAL}.{kind}_pool{rank}d({x}{norm}, {draw.each(taps)}{draw.options(*options)})"


def _adaptive(draw: Draw) -> str:
    rank, kind = draw.random.choice((1, 2, 3)), draw.one("max", "avg")
    lead = draw.random.choice(([], [draw.size()]))
    x = draw.tensor(*lead, draw.size(), *draw.sizes(rank, 1, 6))
    target = draw.each(draw.sizes(rank))
    if rank > 1 and draw.often(0.2):
        target = draw.one((*[None] * (rank - 1), 2), [2, *[None] * (rank - 1)])
    rest = draw.options(("return_indices", [False, True])) if kind == "max" else ""
    return f"{FUNCTIONAL}.adaptive_{kind}_pool{rank}d({x}, {target}{rest})"


def _unpool(draw: Draw) -> str:
    rank = draw.random.choice((1, 2, 3))
    taps = [max(2, tap) for tap in draw.sizes(rank, 1, 3)]
    lead = draw.random.choice(([], [draw.size()]))
    sizes = [*lead, draw.size(), *draw.sizes(rank, 1, 3)]
    strides = taps if draw.often(0.7) else draw.sizes(rank, 1, 3)
    x, indices = draw.tensor(*sizes), draw.tensor(*sizes, below=1)
    rest = f", {draw.each(strides)}" if strides is not taps or draw.often(0.3) else ""
    rest += draw.options(("padding", [0, draw.each([0] * rank), 1]), only=True)
    wanted = [(size - 1) * stride + tap for size, stride, tap in zip(sizes[-rank:], strides, taps, strict=True)]
    if draw.often(0.3):
        wanted = [size + draw.random.choice((0, 0, 1, -1)) for size in wanted]
        rest += f", output_size={draw.one(wanted, tuple(wanted), [*sizes[:-rank], *wanted])}"
    return f"{FUNCTIONAL}.max_unpool{rank}d({x}, {indices}, {draw.each(taps)}{rest})"


def _pooled_and_back(draw: Draw) -> str:
    rank = draw.random.choice((1, 2, 3))
    x = draw.tensor(draw.size(), draw.size(), *(size * 2 for size in draw.sizes(rank, 2, 3)))
    found = f"{FUNCTIONAL}.max_pool{rank}d({x}, 2, return_indices=True)"
    return draw.one(f"{FUNCTIONAL}.max_unpool{rank}d(*{found}, 2)", f"{found}[{draw.one(0, 1)}]", f"{found}[0] * 2")


def _folded(draw: Draw) -> str:
    taps, strides, paddings, dilations = _windows(draw, 2)
    planes = draw.sizes(2, 3, 6)
    spelled = [
        f", {name}={draw.each(values)}" if draw.often(share) else ""
        for name, values, share in (("dilation", dilations, 0.2), ("padding", paddings, 0.3), ("stride", strides, 0.4))
    ]
    d, p, s = (
        values if text else [usual] * 2
        for text, values, usual in zip(spelled, (dilations, paddings, strides), (1, 0, 1), strict=True)
    )
    blocks = 1
    for i in range(2):
        blocks *= max((planes[i] + 2 * p[i] - d[i] * (taps[i] - 1) - 1) // max(s[i], 1) + 1, 0)
    lead = draw.random.choice(([], [draw.size()]))
    channels = draw.size()
    if draw.often():
        x = draw.tensor(*lead, channels, *planes)
        return f"{FUNCTIONAL}.unfold({x}, {draw.each(taps)}{''.join(spelled)})"
    x = draw.tensor(*lead, channels * taps[0] * taps[1], blocks)
    return f"{FUNCTIONAL}.fold({x}, {draw.each(planes)}, {draw.each(taps)}{''.join(spelled)})"


def _shuffled(draw: Draw) -> str:
    kind, factor = draw.one("pixel_shuffle", "pixel_unshuffle", "channel_shuffle"), draw.random.choice((1, 2, 2, 3))
    lead, planes, channels = draw.sizes(draw.random.choice((0, 1, 1, 2))), draw.sizes(2), draw.size(1, 3)
    if kind == "channel_shuffle":
        x = draw.tensor(*(lead or [2]), channels * factor, *planes)
    elif kind == "pixel_shuffle":
        x = draw.tensor(*lead, channels * factor**2, *planes)
    else:
        x = draw.tensor(*lead, channels, *(size * factor for size in planes))
    space = draw.one("torch", FUNCTIONAL)
    return f"{space if kind != 'channel_shuffle' else FUNCTIONAL}.{kind}({x}, {factor})"


def _sampled(draw: Draw) -> str:
    rank, lead, mode = draw.random.choice((2, 2, 3)), draw.size(1, 2), draw.one("'bilinear'", "'nearest'", "'bicubic'")
    x, grid = draw.tensor(lead, draw.size(), *draw.sizes(rank, 1, 4)), draw.tensor(lead, *draw.sizes(rank), rank)
    modes = ("padding_mode", ["'zeros'", "'border'", "'reflection'", "'other'"])
    rest = draw.options(("mode", [mode]), modes, ("align_corners", [True, False, None]))
    return f"{FUNCTIONAL}.grid_sample({x}, {grid}{rest})"


def _affine(draw: Draw) -> str:
    rank, lead = draw.random.choice((2, 2, 3)), draw.size(1, 2)
    theta, planes = draw.tensor(lead, rank, rank + 1), draw.sizes(rank)
    size = [lead, draw.size(), *planes]
    if draw.often(0.1):
        size[draw.random.randrange(len(size))] += 1
    spelled = draw.one(size, tuple(size), f"torch.Size({size})")
    return f"{FUNCTIONAL}.affine_grid({theta}, {spelled}{draw.options(('align_corners', [True, False]))})"


def _resized(draw: Draw) -> str:
    rank = draw.random.choice((1, 2, 2, 3))
    modes = {1: ["'nearest'", "'linear'", "'area'", "'nearest-exact'"], 3: ["'nearest'", "'trilinear'", "'area'"]}
    mode = draw.one(*modes.get(rank, ["'nearest'", "'bilinear'", "'bicubic'", "'area'", "'linear'"]))
    x = draw.tensor(draw.size(), draw.size(), *draw.sizes(rank, 1, 5))
    to = draw.each(draw.sizes(rank, 1, 6))
    factor = draw.one(2, 2.0, 0.5, 1.5, tuple([2] * rank), [0.5] * rank)
    by_size = draw.often()
    rest = f", {to}" if by_size and draw.often(0.3) else f", size={to}" if by_size else f", scale_factor={factor}"
    name = draw.one("interpolate", "interpolate", "interpolate", "upsample")
    rest += f", mode={mode}" if draw.often(0.7) else ""
    rest += draw.options(("align_corners", [True, False]), only=True) if "linear" in rest else ""
    if name == "interpolate":
        rest += draw.options(("recompute_scale_factor", [True, False]), ("antialias", [False, True]), only=True)
    return f"{FUNCTIONAL}.{name}({x}{rest})"


def _padded(draw: Draw) -> str:
    rank = draw.random.choice((1, 2, 3))
    x = draw.tensor(*draw.sizes(draw.random.choice((1, 2)), 1, 3), *draw.sizes(rank, 2, 5))
    sides = [draw.random.choice((0, 1, 1, 2, -1)) for _ in range(2 * rank)]
    rest = draw.options(("mode", ["'constant'", "'reflect'", "'replicate'", "'circular'"]), ("value", [0.5, 0]))
    return f"{FUNCTIONAL}.pad({x}, {draw.one(tuple(sides), sides)}{rest})"


FAMILIES: Sequence[Callable[[Draw], str]] = (
    _convolution, _transposed, _transposed, _of_module, _pool, _adaptive, _unpool, _pooled_and_back, _folded, _shuffled,
    _sampled, _affine, _resized, _resized, _padded,
)  # fmt: skip
