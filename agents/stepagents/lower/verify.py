"""The proof of a candidate: the user's tensors, laid out, through the simulator, against the user's own function."""

from __future__ import annotations

import torch
from torch import Tensor

from stepagents.traced.data import CheckData
from stepcore.check.programs import Checked
from stepcore.findings.errors import SimError
from stepcore.findings.verdict import Verdict
from stepcore.sim.functional import Session
from stepcore.text.raised import told


def verify(checked: Checked, data: CheckData, limit: int = 4 << 30) -> Verdict:
    """Run a checked program on ``data``, laid out as its specification says, and compare with the function's results.

    Raises:
        SimError: the inputs alone exceed ``limit``, a layout does not fit the sizes (STEP907), or the function itself
            fails on the data.
    """

    def tensors(dtype: torch.dtype) -> dict[str, Tensor]:
        """The data of a run in ``dtype``: fp64 stands in for every floating-point type, fp32 for itself alone."""
        wide = dtype == torch.float64
        return {
            name: t.to(dtype) if t.is_floating_point() and (wide or t.dtype == torch.float32) else t
            for name, t in data.tensors.items()
        }

    def expected(*_tensors: Tensor, **_parameters: Tensor) -> list[Tensor]:
        # The type that runs is that of torch's default while the reference is called.
        try:
            return list(data.results(tensors(torch.get_default_dtype())))
        except Exception as error:
            raise SimError("STEP408", f"the function failed: {told(error)}") from error

    def given(dtype: torch.dtype) -> dict[str, list[Tensor]]:
        return {name: [tensor] for name, tensor in tensors(dtype).items()}

    # What a verdict is worth is seen once for all programs: in the file that is delivered.
    session = Session(checked.spec, dict(data.sizes), 0, expected, limit=limit, examine=False, given=given)
    return session.verify(checked)
