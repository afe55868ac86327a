"""Draws products of tensors, matrices, transforms and norms, and plain operations on empty tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from drawn_arguments import FUNCTIONAL, Draw

_LETTERS = "ijkl"


def _attention(draw: Draw) -> str:
    lead, rows, keys, wide, out = draw.sizes(draw.random.choice((0, 1, 1, 2, 2))), *draw.sizes(4)
    key_lead, rest = list(lead), ""
    if len(lead) == 2 and draw.often(0.2):
        lead = [lead[0], key_lead[1] * 2]
        rest = ", enable_gqa=True" if draw.often(0.8) else ""
    q, k = draw.tensor(*lead, rows, wide), draw.tensor(*key_lead, keys, wide)
    v = draw.tensor(*key_lead, keys, out)
    if len(lead) == 2:
        draw.kept |= {k, v}  # torch's kernel for these reads as many values as there are keys, wherever they lie
    if draw.often(0.5):
        ones = [size if draw.often(0.7) else 1 for size in (*lead, rows, keys)]
        mask = draw.tensor(*ones[draw.random.randrange(len(lead) + 1) :], dtype=draw.one("bool", "bool", draw.usual))
        rest = f", {mask}{rest}" if draw.often() else f", attn_mask={mask}{rest}"
    elif draw.often(0.3):
        rest += ", is_causal=True"
    rest += draw.options(("scale", [0.5, 1.0, None]), only=True)
    return f"{FUNCTIONAL}.scaled_dot_product_attention({q}, {k}, {v}{rest})"


def _einsum(draw: Draw) -> str:
    sizes = {letter: draw.size() for letter in _LETTERS}
    count = draw.random.choice((1, 2, 2, 3))
    terms = ["".join(draw.random.sample(_LETTERS, draw.random.randint(1, 3))) for _ in range(count)]
    if draw.often(0.15):
        terms[0] += terms[0][:1]  # a diagonal
    ellipsis, lead = draw.often(0.3), draw.sizes(draw.random.randint(0, 2))
    given, written = [], []
    for term in terms:
        has = ellipsis and draw.often(0.7)
        given.append(draw.tensor(*(lead if has else ()), *(sizes[letter] for letter in term)))
        written.append(f"...{term}" if has else term)
    used = sorted({*"".join(terms)})
    out = "".join(draw.random.sample(used, draw.random.randint(0, len(used))))
    arrow = f"->{'...' * any('...' in term for term in written)}{out}" if draw.often(0.7) else ""
    equation = draw.one(",", ", ").join(written) + arrow
    operands = f"[{', '.join(given)}]" if draw.often(0.15) else ", ".join(given)
    return f"torch.einsum('{equation}', {operands})"


def _matrix(draw: Draw) -> str:
    """A function of ``torch.linalg`` of one tensor: matrices behind dimensions of batches."""
    lead, n, m = draw.sizes(draw.random.choice((0, 0, 1, 2)), 1, 3), draw.size(), draw.size()
    one = draw.one("cholesky", "cholesky_ex", "inv", "inv_ex", "det", "eigh", "eigvalsh", "lu_factor", "matrix_exp",
                   "slogdet", "qr", "svd", "svdvals", "pinv", "matrix_rank", "cond", "matrix_power", "norm", "norm",
                   "vector_norm", "matrix_norm", "diagonal", "vander", "tensorinv", "lu")  # fmt: skip
    rest = ""
    if one == "vander":
        x, rest = draw.tensor(*lead, n), draw.options(("N", [3, 1, None]), only=True)
    elif one == "tensorinv":
        x = draw.tensor(n, m, n * m)
    elif one in ("qr", "svd", "svdvals", "pinv", "matrix_rank", "lu_factor", "lu", "diagonal") or "norm" in one:
        x = draw.tensor(*lead, n, m)
    else:
        x = draw.tensor(*lead, n, n)
        if one in ("cholesky", "cholesky_ex", "inv") and draw.often(0.9):
            x = f"{x} @ {x}.mT + torch.eye({n})"  # which has an inverse, and a root
    if one == "matrix_power":
        rest = f", {draw.one(0, 1, 2, -1)}"
    elif "norm" in one:
        orders = {"vector_norm": [1, 2, 0.5, "float('inf')", 0], "matrix_norm": ["'fro'", "'nuc'", 1, -1, 2]}
        dims = ("dim", [(-2, -1), (0, 1), (1, 0)] + ([None, 0, -1, (0,)] if one != "matrix_norm" else []))
        told = ("ord", orders.get(one, [2, "'fro'", "'nuc'", 1, None, -1]))
        rest = draw.options(told, dims, ("keepdim", [True, False]))
    elif one == "qr":
        rest = draw.options(("mode", ["'reduced'", "'complete'", "'r'"]), only=True)
    elif one == "svd":
        rest = draw.options(("full_matrices", [False, True]), only=True)
    several = ("eigh", "inv_ex", "lu_factor", "slogdet", "qr", "svd", "lu", "cholesky_ex")
    return f"torch.linalg.{one}({x}{rest})" + f"[{draw.one(0, 1)}]" * (one in several)


def _matrices(draw: Draw) -> str:
    """A function of ``torch.linalg`` of several tensors."""
    lead, n, m = draw.sizes(draw.random.choice((0, 0, 1, 2)), 1, 3), draw.size(), draw.size()
    one = draw.one("solve", "solve", "solve_triangular", "lstsq", "matmul", "multi_dot", "vecdot", "cross",
                   "tensorsolve")  # fmt: skip
    if one == "multi_dot":
        return f"torch.linalg.multi_dot([{draw.tensor(n, m)}, {draw.tensor(m, n)}, {draw.tensor(n, 2)}])"
    if one == "tensorsolve":
        return f"torch.linalg.tensorsolve({draw.tensor(n, m, n * m)}, {draw.tensor(n, m)})"
    if one in ("vecdot", "cross"):
        sizes = [*lead, n, 3 if one == "cross" else m]
        dim = draw.options(("dim", [-1]), only=True)
        return f"torch.linalg.{one}({draw.tensor(*sizes)}, {draw.tensor(*sizes)}{dim})"
    if one == "lstsq":
        return f"torch.linalg.lstsq({draw.tensor(*lead, m, n)}, {draw.tensor(*lead, m, draw.size())})[{draw.one(0, 1)}]"
    a, b = draw.tensor(*lead, n, n), draw.tensor(*lead, n, m)
    if one == "solve":
        b = draw.tensor(*draw.random.choice(([*lead, n, m], [*lead, n], [n], [n, m])))
        a = f"{a} @ {a}.mT + torch.eye({n})"  # which has an inverse
    rest = f", upper={draw.one(True, False)}" if one == "solve_triangular" else ""
    return f"torch.linalg.{one}({a}, {b}{rest})"


def _transform(draw: Draw) -> str:
    name = draw.one("hfft", "irfft", "hfft2", "irfft2", "hfftn", "irfftn", "fftshift", "ifftshift")
    x = draw.tensor(*draw.sizes(draw.random.choice((1, 2, 3)), 2, 5), dtype=draw.one("fp32", "fp64", "int64"))
    norm = ("norm", ["'ortho'", "'forward'", "'backward'", None, "'other'"])
    if name in ("hfft", "irfft"):
        return f"torch.fft.{name}({x}{draw.options(('n', [4, 5, 8, None]), ('dim', [-1, 0, 1]), norm)})"
    dims = ("dim", [(-2, -1), (0, 1), (0,), -1, 0] if "shift" in name else [(-2, -1), (0, 1), (0,)])
    sizes = ("s", [(4, 4), (3, 5), None, (4,)])
    return f"torch.fft.{name}({x}{draw.options(dims) if 'shift' in name else draw.options(sizes, dims, norm)})"


def _normed(draw: Draw) -> str:
    name = draw.one("batch_norm", "instance_norm", "group_norm", "layer_norm", "rms_norm", "normalize",
                    "local_response_norm")  # fmt: skip
    groups, planes = draw.random.choice((1, 2)), draw.sizes(draw.random.choice((0, 1, 2)), 1, 4)
    channels = draw.size(1, 3) * groups
    sizes = [draw.size(1, 3), channels, *planes]
    x = draw.tensor(*sizes)
    weight = f", weight={draw.tensor(channels)}, bias={draw.tensor(channels)}" if draw.often(0.4) else ""
    if name == "batch_norm":
        stats = f"{draw.tensor(channels)}, {draw.tensor(channels)}" if draw.often(0.7) else "None, None"
        return f"{FUNCTIONAL}.{name}({x}, {stats}{weight}{', training=True' if 'None' in stats else ''})"
    if name == "instance_norm":
        return f"{FUNCTIONAL}.{name}({x}{weight})"
    if name == "group_norm":
        return f"{FUNCTIONAL}.{name}({x}, {groups}{weight})"
    if name in ("layer_norm", "rms_norm"):
        last = sizes[draw.random.randrange(1, len(sizes)) :]
        weight = f", {draw.tensor(*last)}" if draw.often(0.4) else ""
        weight += draw.options(("eps", [1e-5]), only=True)
        return f"{FUNCTIONAL}.{name}({x}, {draw.one(tuple(last), list(last))}{weight})"
    if name == "normalize":
        orders, dims = [2.0, 1, 2, "'fro'", "'nuc'"], [1, -1, 0, (0, 1), [1]]
        return f"{FUNCTIONAL}.{name}({x}{draw.options(('p', orders), ('dim', dims), ('eps', [1e-12]))})"
    return f"{FUNCTIONAL}.{name}({x}, {draw.one(1, 2, 3)})"


def _looked_up(draw: Draw) -> str:
    rows, wide = draw.size(2, 5), draw.size(1, 4)
    indices = draw.tensor(*draw.sizes(draw.random.choice((0, 1, 2, 3))), below=rows, dtype=draw.one("int64", "int32"))
    options = draw.options(("padding_idx", [0, -1, None, 9]), only=True)
    name = draw.one("f", "torch", "Embedding", "EmbeddingBag", "one_hot")
    if name == "f":
        return f"{FUNCTIONAL}.embedding({indices}, {draw.tensor(rows, wide)}{options})"
    if name == "torch":
        return f"torch.embedding({draw.tensor(rows, wide)}, {indices})"
    if name == "one_hot":
        return f"{FUNCTIONAL}.one_hot({indices}, {draw.one(rows, -1, rows + 1)})"
    if name == "EmbeddingBag":
        rest = draw.options(("mode", ["'sum'", "'mean'", "'max'"]), only=True)
        flat = draw.tensor(draw.size(1, 4), below=rows)
        given = draw.one(indices, f"{flat}, torch.tensor([0])", f"{flat}, torch.tensor([0, 1])")
        return f"torch.nn.EmbeddingBag({rows}, {wide}{rest})({given})"
    return f"torch.nn.Embedding({rows}, {wide}{options})({indices})"


def _distances(draw: Draw) -> str:
    name, sizes = (
        draw.one("cosine_similarity", "pairwise_distance", "pdist", "cdist", "bilinear", "linear", "prelu"),
        draw.sizes(draw.random.choice((1, 2, 2, 3))),
    )
    other = [size if draw.often(0.8) else 1 for size in sizes]
    a = draw.tensor(*sizes)
    if name == "pdist":
        return f"{FUNCTIONAL}.pdist({draw.tensor(draw.size(), draw.size())}{draw.options(('p', [2.0, 1.0]))})"
    if name == "cdist":
        lead, wide = draw.sizes(draw.random.choice((0, 1))), draw.size()
        first, second = draw.tensor(*lead, draw.size(), wide), draw.tensor(*lead, draw.size(), wide)
        return f"torch.cdist({first}, {second}{draw.options(('p', [2.0, 1.0, 2]))})"
    if name == "bilinear":
        one, two, out = draw.sizes(3)
        first, second = draw.tensor(*sizes[:-1], one), draw.tensor(*sizes[:-1], two)
        bias = f", {draw.tensor(out)}" if draw.often(0.4) else ""
        return f"{FUNCTIONAL}.bilinear({first}, {second}, {draw.tensor(out, one, two)}{bias})"
    if name == "linear":
        out = draw.size()
        bias = f", {draw.one(draw.tensor(out), None)}" if draw.often(0.4) else ""
        return f"{FUNCTIONAL}.linear({a}, {draw.tensor(out, sizes[-1])}{bias})"
    if name == "prelu":
        return f"{FUNCTIONAL}.prelu({a}, {draw.tensor(*draw.random.choice(((), (1,), tuple(sizes[1:2]))))})"
    b = draw.tensor(*other)
    rest = (
        draw.options(("dim", [1, -1, 0]), ("eps", [1e-8]))
        if name == "cosine_similarity"
        else draw.options(("p", [2.0, 1]), ("eps", [1e-6]), ("keepdim", [True, False]))
    )
    return f"{FUNCTIONAL}.{name}({a}, {b}{rest})"


def _as_it_was(draw: Draw) -> str:
    """Orders of arguments that torch takes still, with a warning."""
    n, m, k = draw.sizes(3)
    name = draw.one("add", "sub", "addmm", "addmv", "addr", "baddbmm", "addbmm", "addcmul", "addcdiv")
    if name in ("add", "sub"):
        sizes = draw.sizes(2)
        return f"torch.{name}({draw.tensor(*sizes)}, {draw.one(2, 0.5)}, {draw.tensor(*sizes)})"
    if name in ("addcmul", "addcdiv"):
        a, b, c = (draw.tensor(n, m) for _ in range(3))
        return draw.one(
            f"torch.{name}({a}, 0.5, {b}, {c})", f"{a}.{name}(0.5, {b}, {c})", f"torch.{name}({a}, {b}, {c})"
        )
    shapes = {"addmm": ((n, k), (n, m), (m, k)), "addmv": ((n,), (n, m), (m,)), "addr": ((n, m), (n,), (m,))}
    batches = ((2, n, m), (2, m, k))
    shapes |= {"baddbmm": ((2, n, k), *batches), "addbmm": ((n, k), *batches)}
    a, b, c = (draw.tensor(*sizes) for sizes in shapes[name])
    return draw.one(
        f"torch.{name}(0.5, {a}, {b}, {c})", f"torch.{name}(0.5, {a}, 2.0, {b}, {c})", f"{a}.{name}(0.5, {b}, {c})",
        f"{a}.{name}(0.5, 2.0, {b}, {c})", f"torch.{name}({a}, {b}, {c}, beta=0.5, alpha=2)", f"{a}.{name}({b}, {c})",
    )  # fmt: skip


def _empty(draw: Draw) -> str:
    """Plain operations on tensors of which a size is 0, and on some beside them."""
    sizes = [draw.random.choice((0, 0, 1, 2, 3)) for _ in range(draw.random.choice((1, 2, 2, 3)))]
    a, b = draw.tensor(*sizes), draw.tensor(*sizes)
    flat, d = draw.tensor(0), draw.one(0, -1, 1)
    return draw.one(
        f"{a}.sum()", f"{a}.sum({d})", f"{a}.mean({d})", f"{a}.max({d})", f"{a}.max()", f"{a}.argmax({d})",
        f"{a}.amax({d})", f"{a}.prod()", f"{a}.all({d})", f"{a}.std({d})", f"{a}.softmax({d})", f"{a}.cumsum({d})",
        f"torch.cat([{a}, {flat}], {d})", f"torch.cat([{flat}, {a}])", f"torch.stack([{a}, {b}], {d})",
        f"{a} @ {b}.mT", f"{a}.T @ {b}", f"{a}.view(-1)", f"{a}.view(0, -1)", f"{a}.reshape(0)", f"{a}.reshape(2, 0)",
        f"{a}.topk(1, {d})", f"{a}.sort({d})", f"{a}.flatten()", f"{a}.chunk(2, {d})", f"{a}.split(1, {d})",
        f"{a}.split(0, {d})", f"{a}.unbind({d})", f"{a}.norm()", f"{a}.norm(2, {d})", f"{a}.logsumexp({d})",
        f"{a}.median({d})", f"{a}.median()", f"{a}.unfold({d}, 1, 1)", f"{a}.repeat(2, 2, 2)", f"{a}.expand(2, -1, -1)",
        f"{a}[0]", f"{a}[:, 0]", f"{a}[-1:]", f"{a}.index_select({d}, torch.tensor([0]))", f"{a}.cummax({d})",
        f"{a}.gather({d}, {b}.long())", f"torch.nn.functional.pad({a}, (1, 1))", f"{a}.roll(1, {d})", f"{a}.tile(2)",
        f"torch.einsum('ij,kj->ik', {a}, {b})", f"torch.tensordot({a}, {b}, 1)", f"{a}.squeeze({d})",
        f"torch.nn.functional.layer_norm({a}, {sizes[-1:]})", f"{a}.quantile(0.5, {d})", f"{a}.kthvalue(1, {d})",
        f"{a}.var()", f"{a}.aminmax(dim={d})", f"{a}.any()", f"{a}.item()", f"{a}.unflatten({d}, (1, -1))",
        f"{a}.unflatten({d}, (0, 2))",
        f"torch.outer({flat}, {a})", f"torch.linalg.det({a})", f"torch.linalg.norm({a})", f"{a}.narrow({d}, 0, 0)",
        f"torch.cdist({a}, {b})", f"{a}.diagonal()", f"{a}.argsort({d})", f"{a}.nanmean({d})",
        f"{a}.tensor_split(2, {d})",
    )  # fmt: skip


FAMILIES: Sequence[Callable[[Draw], str]] = (
    _attention, _attention, _einsum, _einsum, _matrix, _matrix, _matrices, _transform, _normed, _looked_up, _distances,
    _as_it_was, _empty, _empty,
)  # fmt: skip
