"""Element functions on whole streams: the torch half of the closed function language.

``FnEnv`` holds what bodies see, ``CompiledFn`` runs one function at all positions of a stream at once, and
``evaluate_block`` runs reference blocks. Nothing of a task file is ever executed as Python.
"""

from stepcore.sim.fnvec.compiled import CompiledFn
from stepcore.sim.fnvec.contract import LazyProduct
from stepcore.sim.fnvec.env import FnEnv, block_names, evaluate_block
from stepcore.sim.fnvec.errors import EvaluationLimits, FnRuntimeError
from stepcore.sim.fnvec.reduction import Reduction
from stepcore.sim.fnvec.stages import LONGEST, Stages

__all__ = [
    "LONGEST",
    "CompiledFn",
    "EvaluationLimits",
    "FnEnv",
    "FnRuntimeError",
    "LazyProduct",
    "Reduction",
    "Stages",
    "block_names",
    "evaluate_block",
]  # fmt: skip
