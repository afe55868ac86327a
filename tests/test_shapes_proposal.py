"""Sizes of functions that nobody described: proposed, run, and never taken unchecked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import warm
from benchmarks.suites.sizes import FOLDER, Case, cases_in, is_same
from job_records import function, sizes
from stepagents.cli.synth_function import FunctionOptions, run_functions
from stepagents.shapes.reshaping import aligned, cut
from stepcore.jobs import JobError

CASES = {case.folder.name: case for case in cases_in([FOLDER / "own"])}
# One for each way to learn sizes; `python -m benchmarks sizes` measures all.
SOME = (
    "attention", "asserted", "bmm", "conv", "depthwise", "einsum", "heads", "linear", "lookup", "module",
    "parametrized", "signature_comments", "stale", "training_script",
)  # fmt: skip


class Owner:
    """What a job sees of the process that wants it."""

    cancelled = False

    def check(self) -> None:
        """Go on."""

    def progress(self, data: Any) -> None:
        """Hear nothing."""


def asked(path: Path, name: str, *inputs: str, **more: Any) -> dict[str, Any]:
    payload = {"path": str(path), "text": path.read_text(), "selector": name, "trusted": True, "inputs": inputs, **more}
    return sizes(payload, Owner())


@pytest.mark.parametrize("name", SOME)
def test_the_right_sizes_are_proposed(name: str) -> None:
    case: Case = CASES[name]
    found = asked(case.folder / case.file, case.function, root=str(case.folder))
    proposed = {item["name"]: item["text"].strip("[]") for item in found["arguments"] if item["tensor"]}
    assert found["problem"] == ""
    assert any(is_same(proposed, answer) for answer in case.accepted), proposed


def test_there_are_enough_cases_of_our_own() -> None:
    assert len(CASES) >= 30
    assert {case.evidence for case in CASES.values()} >= {"docstring", "comment", "annotation", "body", "calls"}


def test_answers_are_compared_up_to_the_names_of_sizes() -> None:
    assert is_same({"x": "m k", "w": "k n"}, {"x": "B C", "w": "C D"})
    assert not is_same({"x": "m k", "w": "k n"}, {"x": "B C", "w": "D C"})
    assert not is_same({"x": "m m"}, {"x": "m k"})
    assert is_same({"x": "m 2*k"}, {"x": "m d"})
    assert is_same({"W": "a+s", "x": "a", "y": "s"}, {"W": "s+a", "x": "s", "y": "a"})
    assert not is_same({"W": "a+s", "x": "a", "y": "s"}, {"W": "s+s", "x": "s", "y": "s"})
    assert not is_same({"x": "m 2*k", "y": "k"}, {"x": "m d", "y": "d"})
    assert not is_same({"x": "n int64"}, {"x": "n"})
    assert not is_same({"x": "n 3"}, {"x": "n c"})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "own.py"
    path.write_text(
        "import torch\n\n\ndef product(x, w):\n    return x @ w\n\n\n"
        "def free(x):\n    return x + 1\n\n\n"
        "def impossible(x):\n    assert False, 'never'\n    return x\n\n\n"
        "def heads(x, n_heads):\n    b, t, c = x.shape\n    return x.view(b, t, n_heads, c // n_heads).sum(-1)\n"
    )
    return path


def test_what_is_typed_is_run_before_it_is_taken(file: Path) -> None:
    assert asked(file, "product", "x=a b", "w=b c")["problem"] == ""
    wrong = asked(file, "product", "x=a b", "w=a c")
    assert "reduction dim" in wrong["problem"]
    assert wrong["settled"] is False


def test_open_sizes_are_asked_for_with_a_guess_that_runs(file: Path) -> None:
    found = asked(file, "free")
    assert (found["note"], found["problem"], found["settled"]) == ("x[m, k]", "", False)
    with pytest.raises(JobError, match="nothing tells x") as caught:
        function({"path": str(file), "text": file.read_text(), "selector": "free", "trusted": True}, Owner())
    assert caught.value.code == "STEP602"
    assert caught.value.detail["guess"] == {"x": "m k"}


@pytest.mark.parametrize("test", ["x.sum() > 0", "bool(x.abs().max() > 1)", "len(torch.nonzero(x)) > 3"])
def test_what_stands_in_the_way_at_any_sizes_is_told_without_asking_for_sizes(tmp_path: Path, test: str) -> None:
    path, text = (
        tmp_path / "own.py",
        f"import torch\n\n\ndef f(x):\n    if {test}:\n        return x * 2\n    return x\n",
    )
    path.write_text(text)
    with pytest.raises(JobError, match=r"depends on the values of a tensor; .* torch\.where") as caught:
        function({"path": str(path), "text": text, "selector": "f", "trusted": True}, Owner())
    assert (caught.value.code, caught.value.detail["line"]) == ("STEP603", 5)
    assert "stepsmith:" not in caught.value.message


def test_a_function_that_runs_at_no_sizes_says_so(file: Path) -> None:
    found = asked(file, "impossible")
    assert "never" in found["problem"]
    assert found["settled"] is False


def test_numbers_are_proposed_read_back_and_noted(file: Path) -> None:
    found = asked(file, "heads")
    assert found["note"] == "x[b, t, c], n_heads=2"
    assert [item["name"] for item in found["arguments"] if item["open"]] == ["n_heads"]
    again = asked(file, "heads", "x=b t c", "n_heads=2")
    assert again["problem"] == ""
    file.write_text(file.read_text().replace("def heads", "# stepsmith: x[b, t, c], n_heads=4\ndef heads"))
    assert asked(file, "heads")["problem"] == ""


def test_the_command_takes_what_the_body_tells_and_says_so(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    warm.lend(monkeypatch)
    assert run_functions([f"{file}::product"], FunctionOptions()) == 0
    out, err = capsys.readouterr()
    assert "@step.program" in out
    assert "sizes: x[m, k], w[k, n] from matmul in line 5" in err


def test_without_trust_nothing_runs(file: Path) -> None:
    with pytest.raises(JobError, match="not trusted"):
        asked(file, "product", trusted=False)


RESHAPED = {
    "a comment tells the shape of what two arguments give": (
        "def f(x, y, w):\n    h = x.unsqueeze(2) + y.unsqueeze(1)  # (B, T, U, H)\n    return h @ w  # (B, T, U, V)",
        {"x": "b t h", "y": "b u h", "w": "h v"},
    ),
    "a comment that cannot hold is doubted": (
        "def f(x, w):\n    h = x @ w  # (B, T, V, 1, 1, 1, 1, 1)\n    return h",
        {"x": "m k", "w": "k n"},
    ),
    "rays go through space": (
        "def f(depth, rays_d):\n    n, s = depth.shape\n    return depth * rays_d.norm(dim=-1, keepdim=True)",
        {"depth": "n s", "rays_d": "n 3"},
    ),
    "the written shape is that of the argument": (
        "def f(x, u):\n    n, d = x.shape\n    return x @ u.view(d, d)",
        {"x": "n d", "u": "d d"},
    ),
    "what is left is a new size": (
        "def f(x, u):\n    n, d = x.shape\n    return x @ u.reshape(d, -1)",
        {"x": "n d", "u": "d e"},
    ),
    "ones are for broadcasting": (
        "def f(x, mu):\n    b, c, h, w = x.size()\n    return x - mu.view(1, c, 1, 1)",
        {"x": "b c h w", "mu": "c"},
    ),
    "sums of sizes": (
        "def f(x, y, u):\n    a, p = x.shape\n    _, q = y.shape\n    return torch.cat((x, y), 1) @ u.view(p + q, a)",
        {"x": "a p", "y": "a q", "u": "p+q a"},
    ),
    "a half makes the whole even": (
        "def f(x, s):\n    t, d = x.shape\n    return x[:, : d // 2] * s.view(t, d // 2)",
        {"x": "t 2*r", "s": "t r"},
    ),
    "kernels": (
        "def f(x, k):\n    b, i, h, w = x.shape\n    o = k.size(0)\n"
        "    return torch.conv2d(x, k.view(o, i, 5, 5), padding=2)",
        {"x": "b i h w", "k": "o i 5 5"},
    ),
    "what was computed has products of neighbours": (
        "def f(h, u):\n    n, d = h.shape\n    a, b, c = (h @ u).view(n, 3, d).unbind(1)\n    return a * b + c",
        {"h": "n d", "u": "d 3*d"},
    ),
    "what was computed has the sizes that it is brought into": (
        "def f(x, u):\n    n, d = x.shape\n    return x * (x @ u).view(n, d)",
        {"x": "n d", "u": "d d"},
    ),
    "as many pieces as are unpacked": (
        "def f(x, wqkv):\n    b, t, d = x.shape\n    q, k, v = (x @ wqkv).split(d, dim=-1)\n    return q * k + v",
        {"x": "b t d", "wqkv": "d 3*d"},
    ),
    "several sizes cut into blocks": (
        "def f(x):\n    n, h, w = x.shape\n    return x.view(n, h // 8, 8, w // 4, 4).sum((2, 4))",
        {"x": "n h w"},
    ),
    "a dimension that is unpacked": (
        "def f(x):\n    assert x.dim() == 3\n    a, b = x.unbind(dim=1)\n    return a - b",
        {"x": "n 2 d"},
    ),
    "a module's number of groups": (
        "G = 8\ndef f(x, w):\n    n, c, t = x.shape\n    y = x.view(n, G, c // G, t)\n"
        "    return (y - y.mean(2, keepdim=True)).view(n, c, t) * w.view(c, 1)",
        {"x": "n 8*c t", "w": "8*c"},
    ),
    "labels made flat": (
        "def f(x, y):\n    b, t, c = x.shape\n"
        "    return torch.nn.functional.cross_entropy(x.view(b * t, c), y.view(b * t))",
        {"x": "b t c", "y": "b t int64"},
    ),
    "one number per sample": (
        "def f(x0, t, a):\n    return a[t].view(-1, 1, 1, 1) * x0",
        {"x0": "b c h w", "t": "b int64", "a": "s"},
    ),
    "a small number in an assertion": (
        "def f(p):\n    n, four = p.shape\n    assert four == 4\n    return p * 2",
        {"p": "n 4"},
    ),
}


@pytest.mark.parametrize("what", RESHAPED)
def test_reshaping_and_unpacking_tell_sizes(what: str, tmp_path: Path) -> None:
    source, expected = RESHAPED[what]
    file = tmp_path / "own.py"
    file.write_text(f"import torch\n\n\n{source}\n")
    found = asked(file, "f")
    proposed = {item["name"]: item["text"].strip("[]") for item in found["arguments"]}
    assert found["problem"] == ""
    assert is_same(proposed, expected), proposed


EVIDENCE = {
    "a default that is a constant of the module": (
        "M = (0.5, 0.5)\ndef f(x, mean=M):\n    return x - torch.tensor(mean).view(2, 1)",
        {"x": "2 n"},
    ),
    "margins of a grid": (
        "def f(u, k):\n    h, w = u.shape\n    out = torch.zeros(h, w)\n"
        "    out[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1]\n    out[1:-1, 1:-1] += k[1:-1, 1:-1]\n    return out",
        {"u": "h w", "k": "h w"},
    ),
    "parts of two cut sizes": (
        "def f(x, h, w, u):\n    a, b = (x @ w).chunk(2, 1)\n    c, d = (h @ u).chunk(2, 1)\n"
        "    z = torch.sigmoid(a + c)\n    return (1 - z) * torch.tanh(b + d) + z * h",
        {"x": "b i", "h": "b n", "w": "i 2*n", "u": "n 2*n"},
    ),
    "kernels that keep what they slide over": (
        "def f(x, w1, w2):\n    y = torch.conv2d(x, w1, padding=2)\n    return x + torch.conv2d(y.relu(), w2)",
        {"x": "b c h w", "w1": "d c 5 5", "w2": "c d 1 1"},
    ),
    "a state keeps its shape": (
        "def f(x, h, c, w):\n    i, o = (torch.cat([x, h], 1) @ w).chunk(2, 1)\n    c = c + i.tanh()\n"
        "    h = o.sigmoid() * c\n    return h, c",
        {"x": "b i", "h": "b n", "c": "b n", "w": "i+n 2*n"},
    ),
    "capitals are matrices": (
        "def f(x, P, z, H):\n    return x + P @ H.T @ (z - H @ x)",
        {"x": "n", "P": "n n", "z": "m", "H": "m n"},
    ),
    "an intercept": ("def f(x, w, b):\n    return torch.mv(x, w) + b", {"x": "n d", "w": "d", "b": ""}),
    "a learnt scale": (
        "def f(a, b, logit_scale):\n    return logit_scale.exp() * a @ b.t()",
        {"a": "n d", "b": "m d", "logit_scale": ""},
    ),
    "tables with one index": (
        "def f(emb, bias, users):\n    return emb[users].sum(-1) + bias[users]",
        {"emb": "u d", "bias": "u", "users": "n int64"},
    ),
    "actions that are gathered": (
        "def f(q, actions):\n    return q.gather(1, actions.unsqueeze(1)).squeeze(1)",
        {"q": "b a", "actions": "b int64"},
    ),
    "halves of a real transform": (
        "def f(x, filt):\n    return torch.fft.irfft(torch.fft.rfft(x) * filt, n=x.shape[-1])",
        {"x": "b n", "filt": "n//2+1"},
    ),
    "even and odd": ("def f(x):\n    return x[..., ::2] + x[..., 1::2]", {"x": "m 2*n"}),
    "two views stacked": (
        "def f(z1, z2):\n    n = z1.shape[0]\n    z = torch.nn.functional.normalize(torch.cat([z1, z2]), dim=1)\n"
        "    return (z @ z.t()).masked_fill(torch.eye(2 * n, dtype=torch.bool), 0.0)",
        {"z1": "n d", "z2": "n d"},
    ),
    "a matrix read by its elements": (
        "def f(p, R, t, K):\n    c = p @ R.T + t\n    u = K[0, 0] * c[:, 0] / c[:, 2] + K[0, 2]\n"
        "    return torch.stack([u, K[1, 1] * c[:, 1] / c[:, 2] + K[1, 2]])",
        {"p": "n 3", "R": "3 3", "t": "3", "K": "3 3"},
    ),
    "homogeneous points": (
        "def f(pts, H):\n    h = torch.cat([pts, torch.ones(pts.shape[0], 1)], dim=1) @ H.t()\n"
        "    return h[:, :2] / h[:, 2:3]",
        {"pts": "n 2", "H": "3 3"},
    ),
    "a pose": ("def f(T, p):\n    return p @ T[:3, :3].T + T[:3, 3]", {"T": "4 4", "p": "n 3"}),
    "an assertion with one step more": (
        "def f(r, v, dones):\n    n, k = r.shape\n    assert v.shape == (n + 1, k)\n    last = torch.zeros(k)\n"
        "    for t in reversed(range(n)):\n        last = r[t] + v[t + 1] * (1 - dones[t]) - v[t] + last\n"
        "    return last",
        {"r": "t n", "v": "t+1 n", "dones": "t n"},
    ),
    "steps of a loop": (
        "def f(u, C):\n    b, l, d = u.shape\n    return torch.stack([u[:, i] * C[:, i, :] for i in range(l)], 1)",
        {"u": "b l d", "C": "b l d"},
    ),
    "tables of vectors and of numbers": (
        "def f(users, items, P, Q, bu, bi):\n    return bu[users] + bi[items] + (P[users] * Q[items]).sum(dim=1)",
        {"users": "n int64", "items": "n int64", "P": "u d", "Q": "i d", "bu": "u", "bi": "i"},
    ),
    "sources and targets": (
        "def f(x, edge_index):\n    src, dst = edge_index[0], edge_index[1]\n"
        "    return torch.zeros_like(x).index_add(0, dst, x[src])",
        {"x": "n d", "edge_index": "2 e int64"},
    ),
    "what is counted is what is read": (
        "def f(q, p):\n    return p.gather(1, q.argmax(dim=1).unsqueeze(1))",
        {"q": "n a", "p": "n a"},
    ),
    "distances between batches": (
        "def f(x, y):\n    b, n, _ = x.shape\n    return torch.cdist(x, y).min(dim=2).values",
        {"x": "b n d", "y": "b m d"},
    ),
    "learnt numbers of a similarity": (
        "def f(a, c, t, b):\n    return torch.eye(a.shape[0]) * (a @ c.t() * t.exp() + b)",
        {"a": "n d", "c": "n d", "t": "", "b": ""},
    ),
    "a residual with dilation": (
        "def f(x, w, v):\n    return x + torch.conv1d(torch.conv1d(x, w, padding=2, dilation=2), v)",
        {"x": "b c t", "w": "d c 3", "v": "c d 1"},
    ),
    "two kernels with pools": (
        "def f(x, w, v):\n    p = torch.nn.functional.max_pool2d\n"
        "    return p(torch.conv2d(p(torch.conv2d(x, w), 2), v), 2)",
        {"x": "b c h w", "w": "d c i j", "v": "e d k l"},
    ),
    "an image by the name of a weight": (
        "def f(a, b):\n    n, c, h, w = a.shape\n    return a.reshape(n, c, -1) @ b.reshape(n, c, -1).transpose(1, 2)",
        {"a": "n c h w", "b": "n c h w"},
    ),
    "indices do not meet what they read": (
        "def f(x, lengths):\n    b, t, d = x.shape\n    return x[torch.arange(b), (lengths - 1).clamp(0, t - 1)]",
        {"x": "b t d", "lengths": "b int64"},
    ),
    "an affine grid": (
        "def f(x, theta):\n    b, c, h, w = x.shape\n    g = torch.nn.functional.affine_grid(theta, [b, c, h, w])\n"
        "    return torch.nn.functional.grid_sample(x, g)",
        {"x": "b c h w", "theta": "b 2 3"},
    ),
    "a state beside an action": (
        "def f(state, action, W):\n    return torch.cat((state, action), dim=-1) @ W",
        {"state": "b s", "action": "b a", "W": "s+a k"},
    ),
    "patches of an image": (
        "P = 16\nW = torch.zeros(768, 5)\ndef f(x):\n    b, c, h, w = x.shape\n"
        "    x = x.reshape(b, c, h // P, P, w // P, P).permute(0, 2, 4, 1, 3, 5)\n    return x.flatten(3) @ W",
        {"x": "b 3 16*h 16*w"},
    ),
    "elements that are indices": (
        "def f(v, faces):\n    a, b, c = v[faces[:, 0]], v[faces[:, 1]], v[faces[:, 2]]\n"
        "    return torch.linalg.cross(b - a, c - a)",
        {"v": "v 3", "faces": "f 3 int64"},
    ),
    "letters of several equations": (
        "def f(x, u, d):\n    h = torch.einsum('td,edh->teh', x, u).relu()\n"
        "    return torch.einsum('teh,ehd->td', h, d)",
        {"x": "t d", "u": "e d h", "d": "e h d"},
    ),
    "a vector behind an activation": (
        "def f(q, k, wq, wk, v):\n    s = torch.tanh((q @ wq).unsqueeze(1) + k @ wk) @ v\n"
        "    return torch.bmm(s.softmax(1).unsqueeze(1), k).squeeze(1)",
        {"q": "b d", "k": "b t e", "wq": "d a", "wk": "e a", "v": "a"},
    ),
    "what is placed has the other sizes that it is expanded to": (
        "def f(mu, y):\n    b, k, d = mu.shape\n    return y.unsqueeze(1).expand(b, k, d) - mu",
        {"mu": "b k d", "y": "b d"},
    ),
    "what a function of the file takes at the same place": (
        "def g(x, s):\n    return x * s\n\n\ndef f(q, k, s):\n    b, h, t, d = q.shape\n"
        "    s = s.view(1, 1, t, d)\n    return g(q, s), g(k, s)",
        {"q": "b h t d", "k": "b h t d", "s": "t d"},
    ),
    "a kernel that is named pointwise": (
        "def f(x, dw, pw):\n    b, c, h, w = x.shape\n    assert dw.shape == (c, 1, 3, 3)\n"
        "    return torch.conv2d(torch.conv2d(x, dw, padding=1, groups=c), pw)",
        {"x": "b c h w", "dw": "c 1 3 3", "pw": "o c 1 1"},
    ),
    "what runs on values only": (
        "def f(w, returns):\n    cov = torch.cov(returns.T)\n    return torch.dot(w, returns.mean(0)), w @ cov @ w",
        {"w": "n", "returns": "t n"},
    ),
    "a matrix that is square by its name": (
        "def f(rot, p):\n    return p @ rot.mT + p.shape[0]",
        {"rot": "n n", "p": "k n"},
    ),
    "tables that one index reads": (
        "def f(scores, tags, trans, start):\n    s = start[tags[:, 0]]\n"
        "    s = s + scores[:, 0].gather(1, tags[:, :1]).squeeze(1)\n"
        "    return s + trans[tags[:, :-1], tags[:, 1:]].sum(1)",
        {"scores": "b t k", "tags": "b s int64", "trans": "k k", "start": "k"},
    ),
    "numbers per sample": (
        "def f(logits, a, old, adv):\n    new = logits.log_softmax(-1).gather(1, a.unsqueeze(1)).squeeze(1)\n"
        "    return (new - old).exp() * adv",
        {"logits": "b k", "a": "b int64", "old": "b", "adv": "b"},
    ),
    "parts of data meet what has a size of one behind": (
        "def f(points, t):\n    a, b, c = points.unbind(dim=1)\n    t = t[:, None]\n    return a + b * t + c * t * t",
        {"points": "n 3 d", "t": "n"},
    ),
    "a size of -1 is a dimension": (
        "L, M = torch.nn.Linear(96, 96), torch.nn.Linear(64, 96)\ndef f(q, c):\n    b, n, d = q.shape\n"
        "    q, k = L(q).view(b, n, 4, d // 4), M(c).reshape(b, -1, 4, d // 4)\n"
        "    return torch.einsum('bnhd,bmhd->bhnm', q, k)",
        {"q": "b n 96", "c": "b m 64"},
    ),
    "pairs of data and a number for each": (
        "def f(x, mu, logvar):\n    return ((x[:, None, :] - mu[None]) ** 2 * torch.exp(-logvar)).sum(-1)",
        {"x": "n d", "mu": "k d", "logvar": "k d"},
    ),
    "a number beside a sequence": (
        "def f(r, v, last):\n    t, b = r.shape\n    return r + torch.cat([v[1:], last[None]], dim=0)",
        {"r": "t b", "v": "t b", "last": "b"},
    ),
    "channels of data": (
        "N = torch.nn.GroupNorm(4, 16)\nC = torch.nn.Conv2d(16, 16, 1)\ndef f(x):\n    return x + C(N(x))",
        {"x": "b 16 h w"},
    ),
    "parts of parameters are weights": (
        "W = torch.nn.Parameter(torch.zeros(3, 64))\ndef f(c):\n    return W[0] * c + W[1]",
        {"c": "b 64"},
    ),
    "kernels over things put side by side": (
        "def f(x, h, w, u):\n    y = torch.cat([x, h], dim=1)\n"
        "    z = torch.conv2d(y, w, padding=1).sigmoid()\n"
        "    return z * h + torch.conv2d(torch.cat([x, z * h], 1), u, padding=1)",
        {"x": "b c h w", "h": "b d h w", "w": "d c+d 3 3", "u": "d c+d 3 3"},
    ),
    "labels that are cut and made flat": (
        "def f(logits, tokens):\n    x, y = logits[..., :-1, :].contiguous(), tokens[..., 1:].contiguous()\n"
        "    return torch.nn.functional.cross_entropy(x.view(-1, x.size(-1)), y.view(-1))",
        {"logits": "b t v", "tokens": "b t int64"},
    ),
    "as many dimensions as what the same function takes": (
        "def g(x):\n    b, c = x.shape[:2]\n    return x.reshape(b, c, -1).mean(2).view(b, c, 1, 1)\n\n\n"
        "def f(x, y):\n    return x - g(x) + g(y)",
        {"x": "b c h w", "y": "b c i j"},
    ),
    "data less its mean": (
        "def f(a, z):\n    n, d = a.shape\n    return torch.diagonal((a - a.mean(0)).T @ (z - z.mean(0)))",
        {"a": "n d", "z": "n e"},
    ),
    "a product with a vector, and its dot": (
        "def f(X, y):\n    r = y - X @ (torch.linalg.inv(X.T @ X) @ X.T @ y)\n    return r.dot(r)",
        {"X": "n k", "y": "n"},
    ),
    "predictions and labels": (
        "def f(logits, targets):\n    return (logits.argmax(dim=1) == targets).float().mean()",
        {"logits": "n c", "targets": "n int64"},
    ),
}


@pytest.mark.parametrize("what", EVIDENCE)
def test_what_a_body_tells_of_sizes(what: str, tmp_path: Path) -> None:
    source, expected = EVIDENCE[what]
    file = tmp_path / "own.py"
    file.write_text(f"import torch\n\n\n{source}\n")
    found = asked(file, "f")
    proposed = {item["name"]: item["text"].strip("[]") for item in found["arguments"] if item["tensor"]}
    assert found["problem"] == ""
    assert is_same(proposed, expected), proposed


def test_sizes_have_the_letters_of_the_equations_that_they_stand_in(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("import torch\n\n\ndef f(x, w):\n    return torch.einsum('bhtd,hde->bhte', x, w)\n")
    assert asked(file, "f")["note"] == "x[b, h, t, d], w[h, d, e]"


def test_a_dictionary_of_tensors_is_told_with_a_way_out(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text('import torch\n\n\ndef f(x, p):\n    return torch.tanh(x @ p["w1"]) @ p["w2"]\n')
    found = asked(file, "f")
    assert "reads a part of an argument by name" in found["problem"]
    assert "pass each tensor as an argument of its own" in found["problem"]


def test_comments_in_passing_are_evidence_and_never_stop_anything(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        "def f(q, r):\n    # q: (B, H)\n    # r: (2H - 1, H), from distance -(H - 1) to H - 1\n    return q @ r.T\n\n\n"
        "def g(x, w):\n    # x (batch % 2), w: (in, etc.)\n    return x @ w\n\n\n"
        "def windows(x, size=7):\n    # x: (B, H, C), H is a multiple of the window\n    B, H, C = x.shape\n"
        "    return x.view(B, H // size, size, C).sum(2)\n\n\n"
        "def h(x):  # stepsmith: x[2 % n]\n    return x\n"
    )
    assert asked(file, "f")["note"] == "q[B, H], r[2*H-1, H]"
    assert asked(file, "g")["note"] == "x[m, k], w[k, n]"
    found = asked(file, "windows")
    assert (found["problem"], [item["text"].split()[1][:2] for item in found["arguments"]]) == ("", ["7*"])
    with pytest.raises(JobError, match="cannot be read"):  # somebody wrote it for us
        asked(file, "h")


def test_one_text_does_not_hide_what_the_body_tells_of_another_argument(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        'def f(x, y, w, u):\n    """x: (B, M, D)\n    y: (B, N, C)\n    u: drifts\n    """\n'
        "    k, v = (y @ w).chunk(2, dim=-1)\n    return (x @ u) @ k.transpose(1, 2) @ v\n"
    )
    assert asked(file, "f")["note"].startswith("x[B, M, D], y[B, N, C], w[C, 2*")


def test_equal_numbers_of_calls_are_one_size(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("def f(x, y):\n    return x.flip(0) + 1, y.flip(0) + 1\n")
    (tmp_path / "test_own.py").write_text(
        "import torch\nfrom own import f\n\n\ndef test():\n    f(torch.rand(8, 3, 32, 40), torch.rand(8, 10))\n"
    )
    found = asked(tmp_path / "own.py", "f", root=str(tmp_path))
    assert found["note"] == "x[b, c, h, w], y[b, k]"


def test_a_reshaped_argument_names_the_line_that_tells_it(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("def f(x, mu):\n    n, d = x.shape\n    return x - mu.view(1, d)\n")
    found = {item["name"]: item["source"] for item in asked(file, "f")["arguments"]}
    assert found == {"x": "its shape in the body", "mu": "view in line 3"}


@pytest.mark.parametrize(
    ("shape", "numbers", "expected"),
    [
        ((23, 29), (23, 1, 31), [[(29, 31)]]),
        ((23, 29), (23, 4, 31), [[(29, 124)]]),
        ((23, 29), (31, 37, 41), [[(23, 31), (29, 37 * 41)], [(23, 31 * 37), (29, 41)]]),
        ((23, 29, 31), (-1, 37), [[(31, 37)]]),
        ((23, 29, 31), (37, -1), [[(23, 37)]]),
        ((23,), (5, -1), [[]]),
        ((23, 29), (23, 29), []),
        ((), (23, 29), []),
    ],
)
def test_sizes_are_aligned_with_neighbours_multiplied(
    shape: tuple[int, ...], numbers: tuple[int, ...], expected: list[list[tuple[int, int]]]
) -> None:
    assert list(aligned(shape, numbers)) == expected


def test_sizes_are_cut_into_blocks() -> None:
    assert cut((2, 23, 29), (2, 23 // 8, 8, 29 // 4, 4), (8, 4)) == {23: 8, 29: 4}
    assert cut((23, 29), (5, 23 // 5, 29), (5,)) == {23: 5}
    assert cut((23, 29), (31, 29), ()) == {}
    assert cut((23,), (23, 3), (3,)) == {}


def test_a_comment_whose_shape_goes_on_behind_the_bracket_is_read_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    source = "def f(x, w):\n    # x: B x H x K   w: (H*K) x D\n    return x.flatten(1) @ w\n"
    file.write_text(source)
    assert asked(file, "f")["note"] == "x[B, H, K], w[H*K, D]"


def test_an_element_type_that_nobody_wrote_is_learnt_from_the_failure(tmp_path: Path) -> None:
    path = tmp_path / "lookup.py"
    path.write_text(
        "import torch\nimport torch.nn.functional as F\n\n\ndef f(words, table):  # stepsmith: words[n], table[v, k]\n"
        "    return F.embedding(words, table)\n\n\ndef g(words, table):  # stepsmith: words[n] fp32, table[v, k]\n"
        "    return F.embedding(words, table)\n"
    )
    assert [item["text"] for item in asked(path, "f")["arguments"]] == ["n int64", "v k"]
    payload = {"path": str(path), "text": path.read_text(), "selector": "f", "trusted": True, "solutions": 1}
    found = function(payload, Owner())
    assert found["solved"], found["reason"]
    assert "indices" in asked(path, "g")["problem"]  # somebody wrote it
