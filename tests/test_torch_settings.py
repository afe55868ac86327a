"""What a user's file sets in PyTorch ends with it: in imports, references, scripts and traced functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from stepcore.sim.torch_settings import settings_kept
from stepcore.sim.worker.imports import guarded_reference, import_module

SETTINGS = {
    "the default dtype": "torch.set_default_dtype(torch.float64)",
    "the default device": "torch.set_default_device('meta')",
    "gradients": "torch.set_grad_enabled(False)",
    "deterministic algorithms": "torch.use_deterministic_algorithms(True)",
    "only warnings": "torch.use_deterministic_algorithms(True, warn_only=True)",
    "what fills empty tensors": "torch.utils.deterministic.fill_uninitialized_memory = False",
    "threads": "torch.set_num_threads(3)",
    "the precision of products": "torch.set_float32_matmul_precision('medium')",
    "oneDNN": "torch.backends.mkldnn.set_flags(False)",
    "automatic casts": "torch.set_autocast_enabled('cpu', True)",
    "anomaly detection": "torch.autograd.set_detect_anomaly(True)",
    "denormals": "torch.set_flush_denormal(True)",
    "the seed": "torch.manual_seed(7)",
}


def seen() -> list[object]:
    deterministic: Any = torch.utils.deterministic
    tiny = torch.tensor(1e-320, dtype=torch.float64, device="cpu")
    return [
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.is_grad_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        deterministic.fill_uninitialized_memory,
        torch.get_num_threads(),
        torch.get_float32_matmul_precision(),
        torch._C._get_mkldnn_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.is_anomaly_enabled(),
        bool(tiny * 1 == 0),
        torch.get_rng_state().tolist(),
    ]


@pytest.mark.parametrize("setting", SETTINGS)
def test_an_import_leaves_pytorch_as_it_was(setting: str) -> None:
    before = seen()
    module = import_module("a.py", f"import torch\n{SETTINGS[setting]}\nVALUE = torch.ones(2)\n")
    assert seen() == before
    assert module.VALUE.shape == (2,)


def test_a_reference_leaves_pytorch_as_it_was() -> None:
    before = seen()
    module = import_module(
        "a.py", "import torch\ndef f(x):\n    torch.set_default_dtype(torch.float64)\n    return x\n"
    )
    guarded_reference(module.f, "a.py")(torch.ones(1))
    assert seen() == before


def test_each_of_the_settings_is_one() -> None:
    """What the table sets is seen: else the tests above could not fail."""
    for text in SETTINGS.values():
        before = seen()
        with settings_kept():
            exec(text, {"torch": torch})
            assert seen() != before, text


def test_a_traced_function_leaves_pytorch_as_it_was(tmp_path: Path) -> None:
    from stepagents.torchfn.dims import describe
    from stepagents.torchfn.target import find_target
    from stepagents.torchfn.trace import trace

    text = (
        "import torch\ntorch.set_default_dtype(torch.float64)\n# stepsmith: x[4, 3]\n"
        "def f(x):\n    torch.set_num_threads(3)\n    return x + 1\n"
    )
    path = tmp_path / "f.py"
    path.write_text(text)
    before = seen()
    target = find_target(str(path), text, "f")
    traced = trace(target, describe(target, (), {}))
    (found,) = traced.reference(torch.ones(4, 3))
    assert found.dtype == torch.float32
    assert seen() == before
