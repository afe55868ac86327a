"""What docstrings, comments, annotations and calls tell of the sizes of arguments. Nothing is run, no torch."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from stepagents.shapes.annotations import annotated
from stepagents.shapes.calls import calls_of, joined
from stepagents.shapes.documents import FunctionDocuments
from stepagents.shapes.promised import promises_of, spoken
from stepagents.shapes.spelled import sizes_in
from stepagents.shapes.workspace import project_of, texts_with
from stepagents.torchfn.target import find_target


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B, T, C", ("B", "T", "C")),
        ("batch x seq x 3", ("batch", "seq", "3")),
        ("batch size, hidden dim", ("batch_size", "hidden_dim")),
        ("N, 2D, H/2, C=3", ("N", "2*D", "H//2", "3")),
        ("2T - 1, 2T-1, 2 * T - 1, 2(T + 1)", ("2*T-1", "2*T-1", "2*T-1", "2*T+2")),
        ("..., d", ("...", "d")),
        ("n \\times d", ("n", "d")),
        ("N_{in}, -1", ("N_in", "")),
        ("N,", ("N",)),
        ("Tensor", None),
        ("optional", None),
        ("x > 0", None),
        ("0, 3", None),
        ("a, b, c, d, e, f, g, h, i", None),
        ("9" * 500 + ", 3", None),
    ],
)
def test_spelled_shapes(text: str, expected: tuple[str, ...] | None) -> None:
    assert sizes_in(text) == expected


def told(text: str, name: str = "f") -> dict[str, str]:
    found = FunctionDocuments(find_target("f.py", text, name)).read()
    return {
        key: f"{' '.join(item.sizes or ())} {item.dtype}".strip() for key, item in found.items() if not item.is_plain
    }


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("Args:\n        x: input of shape (B, T)\n        w (Tensor): weights, [T x D]", {"x": "B T", "w": "T D"}),
        (
            "Parameters\n    ----------\n    x : Tensor, shape (n, d)\n        points\n    w : (d,) tensor",
            {"x": "n d", "w": "d"},
        ),
        (":param x: of shape ``(N, C)``\n    :param w: ``(C,)``\n    :return: ``(M,)``", {"x": "N C", "w": "C"}),
        ("x has shape (n, k) and w is a [k, m] matrix.", {"x": "n k", "w": "k m"}),
        ("x and w, both of shape [B, C].", {"x": "B C", "w": "B C"}),
        ("Product: (i, j), (j, k) -> (i, k).", {"x": "i j", "w": "j k"}),
        ("Project the rows of x (n, d) by w (d, k).", {"x": "n d", "w": "d k"}),
        ("Scale an n-by-m matrix x.", {"x": "n m"}),
        ("x: LongTensor of shape (B,)\n    w: Tensor[V, 64]", {"x": "B int64", "w": "V 64"}),
        ("Returns:\n        x: (B, T)", {}),
        ("x: N, C, L    signal\n    w: O, C, 3 - kernels", {"x": "N C L", "w": "O C 3"}),
        ("x: b d\n    w: d 3", {"x": "b d", "w": "d 3"}),
        ("x: B x H x K   w: (H*K) x D", {"x": "B H K", "w": "H*K D"}),
        ("x: float tensor of shape [a, b]", {"x": "a b fp32"}),
        ("x: A, perhaps", {}),
        ("x is time x batch and ``w`` is a vector with their N weights.", {"x": "time batch", "w": "N"}),
        ("x: (time, states)\n    w has one entry per state.", {"x": "time states", "w": "states"}),
        ("x: (N, D)\n    w: weights, same shape as `x`.", {"x": "N D", "w": "N D"}),
        ("x: a matrix with n rows and d columns.\n    w: square matrix of size d", {"x": "n d", "w": "d d"}),
        ("``x`` is an N x 3 cloud and ``w`` a 3x3 rotation matrix.", {"x": "N 3", "w": "3 3"}),
        ("x: image, HxWx3\n    w: HxW weights of the 3x3 convolution", {"x": "H W 3", "w": "H W"}),
        ("x: 3D points\n    w: translation of length 3", {"x": "... 3", "w": "3"}),
        ("x - [T, A] scores\n    w - their weights", {"x": "T A"}),
        ("``x[i, j]`` is the cost from i to j; w[A, B] weights", {"x": "", "w": "A B"}),
        ("Do it.", {}),
        ("x: frames, (B, T)\n    w: number of frames of each, int64 (B,)", {"x": "B T", "w": "B int64"}),
        ("x: N x D data\n    w: K x D", {"x": "N D", "w": "K D"}),
        ("x: RGB, (B, 3, H, W)\n    w: albedo, same layout as the x", {"x": "B 3 H W", "w": "B 3 H W"}),
        ("x: (B, 3)\n    w: coefficients of each image's (grey) light", {"x": "B 3"}),
        ("x (float) and w (bool): (batch,)", {"x": "batch", "w": "batch bool"}),
        ("all inputs: (B, T)", {"x": "B T", "w": "B T"}),
        ("x: (N, D)\n    w: the same at the next step", {"x": "N D", "w": "N D"}),
        ("x: B C H W map, w: D x (2 C - 1) weights", {"x": "B C H W", "w": "D 2*C-1"}),
        ("x: genes x samples\n    w: one per sample", {"x": "genes samples", "w": "samples"}),
        ("x: log probabilities of the actions [batch]", {"x": "batch"}),
        ("x: [N, F]\n    w: shape [2 * in_dim + edge_dim, out]", {"x": "N F", "w": "edge_dim+2*in_dim out"}),
        ("x: tokens, [B, (T - 1) * K]\n    w: [T - S,]", {"x": "B K*T-K", "w": "T-S"}),
        ("x: positions in meters (x, y, z)\n    w: N boxes as (x1, y1, x2, y2)", {"x": "... 3", "w": "N 4"}),
        ("x: map (B, A * (5 + C), H, W)\n    w: sizes, one row per anchor", {"x": "B 5*A+A*C H W", "w": "A"}),
        ("x: (n_patients,)\n    w: log hazards, one per patient", {"x": "n_patients", "w": "n_patients"}),
        ("x/w   b x h x d    (batch, heads, channels)", {"x": "b h d", "w": "b h d"}),
        ("x, w     dynamics, (n, n) and (n, m)", {"x": "n n", "w": "n m"}),
        ("x, w: matrices, (n, n) and (n, m)", {"x": "n n", "w": "n m"}),
        ("x: T x B x V (time first, as others want it)\n    w: number of frames of each sample", {"x": "T B V"}),
        ("x: a scalar.\n    w: [M, N] one scalar per pair", {"x": "", "w": "M N"}),
        ("x: N boxes as (x1, y1, x2, y2)\n    w: M boxes, same format", {"x": "N 4", "w": "M 4"}),
        ("x: (r, g, b) of the light\n    w: decay rates, scalar tensors", {"x": "3", "w": ""}),
        ("w is 1x1", {}),
        ("x item: B, E  other items: B, L\n    the rest: (B, L)", {"x": "B E", "w": "B L"}),
    ],
)
def test_docstrings(docstring: str, expected: dict[str, str]) -> None:
    assert told(f'def f(x, w):\n    """{docstring}\n    """\n    return x @ w\n') == expected


def test_comments_belong_to_arguments_until_these_are_bound_anew() -> None:
    text = "def f(\n    x,  # (B, T)\n    w,\n):\n    w = w.T\n    # w: (T, D)\n    y = x @ w  # (B, D)\n    return y\n"
    assert told(text) == {"x": "B T"}
    assert told("# x: (m, k), w: (k, n)\ndef f(x, w):\n    return x @ w\n") == {"x": "m k", "w": "k n"}


def test_comments_are_read_within_a_bound() -> None:
    long = "x and w " + "all (a " * 200_000
    many = "".join(f"    # x, w, x and w (a, b{number}\n" for number in range(4_000))
    assert told(f"def f(x, w):\n    # x: (m, k)\n    # {long}\n{many}    return x @ w\n") == {"x": "m k"}


def test_errors_and_comments_behind_convolutions_tell_shapes() -> None:
    text = "def f(x, w):\n    if x.dim() != 4:\n        raise ValueError('x must be of shape (N, 3, H, W)')\n"
    assert told(text) == {"x": "N 3 H W"}
    assert told("def f(x, w):\n    return F.conv1d(x, w, padding=2)  # kernel size 5\n") == {"w": "5"}
    assert told("def f(x, w):\n    return F.conv2d(x, w)  # 3x3 conv\n") == {"w": "3 3"}


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("(B, T, C)", ([], None, "B T C")),
        ("B, L, 4E", ([], None, "B L 4*E")),
        ("q, k: B x T x C", (["q", "k"], None, "B T C")),
        ("[B, T, D] -> [B, T, F]", ([], "B T D", "B T F")),
        ("attention weights of all pairs (B, T, T)", ([], None, "B T T")),
        ("now torch.Size([B, 3])", ([], None, "B 3")),
        ("(n, k) @ (k, m) -> (n, m)", ([], None, "n m")),
        ("(n, k) @ (k, m)", None),
        ("softmax(a, b) in [0, 1]", None),
        ("(x, y, z)", None),
        ("objectness, then the classes", None),
    ],
)
def test_comments_on_values(comment: str, expected: tuple[list[str], str | None, str] | None) -> None:
    said = spoken(comment)
    assert (said and (said[0], said[1] and " ".join(said[1]), " ".join(said[2]))) == expected


def test_comments_promise_shapes_of_what_lines_bind_and_return() -> None:
    text = '''def f(x, w):
    """Do.

    Returns:
        (B, K)
    """
    # x: (B, T)
    # scores: (B, S)
    y = x.view(2)
    scores = torch.exp(
        y @ w
    )  # B, S
    q, r = y.chunk(2)  # (B, 1), (B, 2)
    # -> (B, K)
    z = q
    return z @ r  # [B, K]
'''
    found = promises_of(find_target("f.py", text, "f"))
    inside = [(item.line, item.first, item.last, item.names, " ".join(item.sizes)) for item in found.inside]
    assert inside == [
        (8, 10, 12, ("scores",), "B S"),
        (12, 10, 12, ("scores",), "B S"),
        (13, 13, 13, ("q",), "B 1"),
        (13, 13, 13, ("r",), "B 2"),
        (14, 15, 15, ("z",), "B K"),
        (16, 16, 16, (), "B K"),
    ]
    assert list(found.results) == [("B", "K")]


def test_the_docstring_of_a_class_tells_of_its_only_input() -> None:
    text = '''class A:
    """Attend.

    Shape:
        - Input: (N, L, 32)
        - Output: (N, L)
    """

    def forward(self, tokens):
        return tokens
'''
    assert told(text, "A") == {"tokens": "N L 32"}


def test_annotations_of_other_kinds_than_jaxtyping() -> None:
    text = "def f(a: TensorType['b', 't'], b: Annotated[Tensor, 'b 3'], c: torch.LongTensor, d: list[int]): return a\n"
    found = annotated(find_target("f.py", text, "f"))
    assert {name: (item.sizes, item.dtype) for name, item in found.items()} == {
        "a": (("b", "t"), ""),
        "b": (("b", "3"), ""),
        "c": (None, "int64"),
    }


CALLS = """
import pytest, torch
from layers import f
@pytest.mark.parametrize("m, k", [(3, 5), (7, 2)])
def test_f(m, k):
    index = torch.randint(0, m, (4,))
    assert f(torch.randn(m, k) * 2, index, heads=8).shape == (m,)
"""


def called(folder: Path, own: str, **others: str) -> dict[str, str]:
    for name, text in others.items():
        (folder / f"{name}.py").write_text(text)
    path = folder / "layers.py"
    path.write_text(own)
    found = joined(calls_of(find_target(str(path), own, "f"), folder))
    return {
        name: repr(item.value) if item.is_plain else f"{','.join(item.sizes or ())} {item.dtype}".strip()
        for name, item in found.items()
    }


def test_calls_in_tests_name_sizes_and_tell_values(tmp_path: Path) -> None:
    own = "def f(x, index, heads):\n    return x\n"
    assert called(tmp_path, own, test_layers=CALLS) == {"x": "m,k", "index": "int64", "heads": "8"}


def test_numbers_of_calls_are_examples_and_a_leading_one_is_a_batch(tmp_path: Path) -> None:
    own = "def f(x, mask):\n    return x\ndef main():\n    f(torch.rand(1, 3, 8), torch.ones(1, 1, 8) > 0)\n"
    assert called(tmp_path, own) == {"x": ",,", "mask": ",1, bool"}


def test_names_in_the_plural_speak_of_the_argument() -> None:
    text = 'def f(image):\n    """The images are expected as :math:`(B, 3, H, W)`."""\n    return image\n'
    assert told(text) == {"image": "B 3 H W"}


def test_helpers_and_fixtures_pass_what_they_return(tmp_path: Path) -> None:
    own = (
        "def f(x, y):\n    return x\n"
        "def make(n=16):\n    c = 7\n    x = torch.randn(n, c)\n    return x, torch.randint(0, c, (n,))\n"
        "def main():\n    x, y = make()\n    f(x, y)\n"
    )
    assert called(tmp_path, own) == {"x": "n,c", "y": "n int64"}
    fixture = "@pytest.fixture\ndef x():\n    a, b = 2, 3\n    return torch.ones(a, b)\n"
    test = f"from layers import f\n{fixture}def test_f(x):\n    f(x, x)\n"
    assert called(tmp_path, "def f(x, y):\n    return x\n", test_x=test) == {"x": "a,b", "y": "a,b"}


@pytest.mark.parametrize(
    "call", ["f(", "f(*[1, 2], **{})", "f(torch.randn(10**400))", "f(torch.arange(0, 1e400, 1e-300))", "f(f(f(1)))"]
)
def test_no_call_is_too_odd(tmp_path: Path, call: str) -> None:
    called(tmp_path, "def f(x):\n    return x\n", other=f"from layers import f\n{call}\n")


def test_lists_that_double_with_each_line_are_no_shapes(tmp_path: Path) -> None:
    doubled = "a = [1]\n" + "a = a + a\n" * 60
    test = f"import torch\nfrom layers import f\n{doubled}f(torch.randn(a), torch.randn(2, 3))\n"
    found = called(tmp_path, "def f(x, w):\n    return x @ w\n", test_f=test)
    assert found == {"x": "", "w": ","}  # one size that nobody tells, and two examples


def test_the_walk_is_bounded_and_skips_environments(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    for folder in ("env", "node_modules", "src"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "use.py").write_text("wanted()")
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    (tmp_path / "src" / "huge.py").write_bytes(b"wanted " * (1 << 18))
    (tmp_path / "src" / "loop").symlink_to(tmp_path)
    own = tmp_path / "src" / "own.py"
    assert project_of(own) == tmp_path
    assert [path for path, _ in texts_with("wanted", own, tmp_path)] == [tmp_path / "src" / "use.py"]


@pytest.mark.parametrize("piece", [" ", "\n    x: (", "x y ", "same shape as ", "each x ", "a x "])
def test_no_text_takes_long(piece: str) -> None:
    long = piece * (19_000 // len(piece))
    line = long.replace("\n", " ")
    comments = "".join(f"    # x {line[at : at + 900]}|\n" for at in range(0, 18_000, 900))
    before = time.process_time()
    told(f'import torch\n\n\ndef f(x, y):\n    """Do.\n\n    x: {long}|\n    """\n{comments}    return x @ y\n')
    assert time.process_time() - before < 20  # seconds of work; runs of spaces took 140
