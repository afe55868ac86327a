"""Streaming Tensor Programs in Python: ``import stepcore as step``.

Importing this loads no torch; operators run at once on streams that carry data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# A submodule that is imported binds its name here. Import it first, so that ``fn`` below stays the decorator.
import stepcore.fn  # noqa: F401
from stepcore import dims
from stepcore.findings.diagnostics import StepError
from stepcore.ops import (
    GENERATION_1,
    Accum,
    Bufferize,
    Copy,
    Flatten,
    Identity,
    Map,
    Merge,
    Partition,
    Promote,
    Repeat,
    RepeatRef,
    Reshape,
    Scan,
    Streamify,
    Zip,
)
from stepcore.sizes.dim import Dim
from stepcore.surface.composition import Composition, composition
from stepcore.surface.functions import Fn, fn
from stepcore.surface.program import Param, Program, program
from stepcore.surface.stream import Stream
from stepcore.types import Buffer, Multihot, Scalar, STuple, Tile

if TYPE_CHECKING:  # who asks for them at run time has them imported
    from stepcore.fn import factories as fns
    from stepcore.ops.counting import COUNT as count
    from stepcore.ops.eager_merge import EagerMerge
    from stepcore.ops.expand import Expand
    from stepcore.ops.feedback import Feedback
    from stepcore.ops.flat_map import FlatMap
    from stepcore.ops.linear_off_chip_load import LinearOffChipLoad
    from stepcore.ops.linear_off_chip_store import LinearOffChipStore
    from stepcore.ops.parallelize import Parallelize
    from stepcore.ops.random_off_chip_load import RandomOffChipLoad
    from stepcore.ops.random_off_chip_store import RandomOffChipStore
    from stepcore.ops.reassemble import Reassemble
    from stepcore.ops.retile import Retile
    from stepcore.ops.retile_streamify import RetileStreamify
    from stepcore.sizes.kinds import any_size, ragged
    from stepcore.sizes.kinds import dynamic as dyn

RepeatLast = Repeat
Symbol = Dim.symbol

f32 = fp32 = Scalar("fp32")
f16 = fp16 = Scalar("fp16")
bf16 = Scalar("bf16")
i32 = int32 = Scalar("int32")
i64 = int64 = Scalar("int64")
bool_ = Scalar("bool")

__all__ = [
    "Accum",
    "Buffer",
    "Bufferize",
    "Composition",
    "Copy",
    "Dim",
    "EagerMerge",
    "Expand",
    "Feedback",
    "FlatMap",
    "Flatten",
    "Fn",
    "Identity",
    "LinearOffChipLoad",
    "LinearOffChipStore",
    "Map",
    "Merge",
    "Multihot",
    "Parallelize",
    "Param",
    "Partition",
    "Program",
    "Promote",
    "RandomOffChipLoad",
    "RandomOffChipStore",
    "Reassemble",
    "Repeat",
    "RepeatLast",
    "RepeatRef",
    "Reshape",
    "Retile",
    "RetileStreamify",
    "STuple",
    "Scalar",
    "Scan",
    "StepError",
    "Stream",
    "Streamify",
    "Symbol",
    "Tile",
    "Zip",
    "any_size",
    "bf16",
    "bool_",
    "composition",
    "count",
    "dims",
    "dyn",
    "f16",
    "f32",
    "fn",
    "fns",
    "fp16",
    "fp32",
    "i32",
    "i64",
    "int32",
    "int64",
    "program",
    "ragged",
]


if not TYPE_CHECKING:  # which know the operators by their imports

    def __getattr__(name: str) -> object:
        """Return an operator that was added to the language later, or what makes sizes that only a run knows."""
        if name == "fns":
            from stepcore.fn import factories

            return factories
        if name == "count":
            from stepcore.ops.counting import COUNT

            return COUNT
        if name in GENERATION_1.by_name:
            return GENERATION_1.by_name[name]
        if name in ("dyn", "ragged", "any_size"):
            from stepcore.sizes import kinds

            return getattr(kinds, "dynamic" if name == "dyn" else name)
        raise AttributeError(f"module 'stepcore' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Show what programs are written with, and not the modules that it comes from."""
    return [*__all__, *(name for name in globals() if name.startswith("__") and name != "__dir__")]
