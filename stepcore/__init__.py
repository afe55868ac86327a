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
    BY_NAME,
    Accum,
    Bufferize,
    Copy,
    Flatten,
    Identity,
    Map,
    Merge,
    Operator,
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
    "Flatten",
    "Fn",
    "Identity",
    "Map",
    "Merge",
    "Multihot",
    "Param",
    "Partition",
    "Program",
    "Promote",
    "Repeat",
    "RepeatLast",
    "RepeatRef",
    "Reshape",
    "STuple",
    "Scalar",
    "Scan",
    "StepError",
    "Stream",
    "Streamify",
    "Symbol",
    "Tile",
    "Zip",
    "bf16",
    "bool_",
    "composition",
    "dims",
    "f16",
    "f32",
    "fn",
    "fp16",
    "fp32",
    "i32",
    "i64",
    "int32",
    "int64",
    "program",
]


if not TYPE_CHECKING:  # which know the operators by their imports

    def __getattr__(name: str) -> type[Operator]:
        """Return an operator that was added to the language later."""
        if name in BY_NAME:
            return BY_NAME[name]
        raise AttributeError(f"module 'stepcore' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Show what programs are written with, and not the modules that it comes from."""
    return [*__all__, *(name for name in globals() if name.startswith("__") and name != "__dir__")]
