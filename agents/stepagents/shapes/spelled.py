"""Shapes as people spell them: ``(B, T, C)``, ``[batch x seq]``, ``N-by-3``, ``R^{n \\times d}``. No torch here."""

from __future__ import annotations

import ast
import re
from typing import Final

from stepagents.shapes.told import ANY, UNNAMED
from stepcore.sizes.dim import DimError, is_size
from stepcore.sizes.expressions import dim_of

_LONGEST: Final = 200  # characters of one shape
_MOST: Final = 8  # dimensions
_TIMES: Final = re.compile(r"\s+[xX]\s+|\s*[×✕]\s*|\s*\\times\s*|\s+by\s+|-by-|(?<=[A-Z0-9])x(?=[A-Z0-9])")
_MARKUP: Final = re.compile(r"[`$]|\\text\w*|\\mathrm|\\mathit|\\(?=[_{}])")
_SUBSCRIPT: Final = re.compile(r"_?\{(\w+(?:[ ,]\w+)*)\}")
_WORDS: Final = re.compile(r"(?<=[A-Za-z])[ -](?=[A-Za-z])")
_FACTOR: Final = re.compile(r"(?<![\w.])(\d+)\s*(?=[A-Za-z_(])")  # 2T - 1 is 2*T - 1
_PROSE: Final = frozenset(  # words of sentences, which are no parts of the name of a size
    [
        *("as", "it", "is", "are", "be", "was", "we", "you", "not", "with", "but", "only", "one", "which", "where"),
        *("when", "than", "if", "see", "first", "wants", "all", "each", "every"),
    ]
)
_OPERATORS: Final = re.compile(r"[-+*/()]")
# Coordinates and the like: their number is a size, and they are none.
_COMPONENTS: Final = frozenset(
    [
        *("x y", "x y z", "x y z w", "w x y z", "x y w h", "x y r", "cx cy", "cx cy w h", "x1 y1 x2 y2", "x0 y0 x1 y1"),
        *("xmin ymin xmax ymax", "x_min y_min x_max y_max", "x_c y_c w h", "xc yc w h", "left top right bottom"),
        *("l t r b", "top left bottom right", "dx dy", "dx dy dz", "dx dy dw dh", "tx ty tw th", "tx ty tz", "vx vy"),
        *("vx vy vz", "wx wy wz", "x y vx vy", "x y z vx vy vz", "x vx y vy", "qw qx qy qz", "qx qy qz qw", "u v"),
        *("r g b", "r g b a", "red green blue", "lat lon", "lat lng", "lon lat", "lat lon alt", "fx fy cx cy"),
        *("fx fy", "x y theta", "x y yaw", "x y heading", "roll pitch yaw", "yaw pitch roll", "sin cos", "cos sin"),
        *("theta phi", "rho theta", "real imag", "re im", "mean std", "mu sigma", "start end", "start stop"),
        *("x y z r", "x y z intensity", "x y z l w h yaw", "x y z w l h yaw", "x y theta v", "x y v theta"),
        *("nx ny nz", "px py pz", "tx ty"),
        *("open high low close", "open high low close volume", "ax ay az", "gx gy gz"),
        *("position velocity", "pos vel", "theta theta_dot", "x x_dot theta theta_dot", "s i r", "y x"),
    ]
)
_OPEN: Final = frozenset({"*", "...", "…", "Ellipsis", "*batch", "*dims", "*shape", "*batch_dims", "*leading"})
_VARIES: Final = frozenset({"?", "-1", "None", "_", ":", "any"})
# Words that stand in parentheses behind a name and are no sizes.
_NO_SIZES: Final = frozenset(
    [
        "tensor",
        "tensors",
        "optional",
        "default",
        "int",
        "float",
        "bool",
        "str",
        "string",
        "list",
        "tuple",
        "dict",
        "long",
        "required",
        "input",
        "output",
        "inputs",
        "outputs",
        "longtensor",
        "floattensor",
        "booltensor",
        "inttensor",
        "scalar",
        "number",
        "array",
        "ndarray",
        "module",
        "callable",
        "function",
        "sequence",
        "query",
        "key",
        "value",
        "weights",
        "mask",
        "true",
        "false",
        "none",
        "torch",
        "float32",
        "float16",
        "bfloat16",
        "int64",
        "int32",
        "double",
        "half",
        "fp32",
        "logits",
        "labels",
        "probabilities",
        "same",
        "broadcastable",
        "learnable",
        "trainable",
        "see",
        "if",
        "for",
        "of",
        "the",
        "an",
        "and",
        "or",
        "is",
        "in",
        "to",
        "with",
        "per",
        "from",
        "that",
        "matrix",
        "vector",
        "image",
        "images",
        "bias",
        "gradient",
        "gradients",
        "dtype",
        "shape",
        "size",
    ]
)


def inside(match: re.Match[str]) -> str:
    """Return what stands in the brackets of a match, which are its groups ``round`` and ``square``."""
    return match["round"] or match["square"] or ""


def sizes_in(text: str, *, alone: bool = False) -> tuple[str, ...] | None:
    """Return the sizes in the text between brackets, None where these are no sizes.

    A single word, as in ``x (Tensor)``, is a size only if it is ``alone`` known to be one, is short, or has a comma.
    """
    text = _MARKUP.sub("", text).strip()
    if len(text) > _LONGEST or "=" in text.replace("==", ""):
        text = re.sub(r"[A-Za-z_]\w*\s*=\s*(?=\d)", "", text)  # (N, C=3)
        if len(text) > _LONGEST or "=" in text:
            return None
    text = _SUBSCRIPT.sub(lambda match: "_" + re.sub(r"\W+", "", match[1]), text)
    if not text:
        return () if alone else None
    if components_in(text) is not None:
        return None
    has_comma = "," in text
    parts = [part for part in text.split(",") if part.strip()] if has_comma else _TIMES.split(text)
    if has_comma and any(_TIMES.search(part) for part in parts):
        parts = [piece for part in parts for piece in _TIMES.split(part)]
    if len(parts) > _MOST:
        return None
    sizes = [size_of(part) for part in parts]
    if any(size is None for size in sizes):
        return None
    found = tuple(size for size in sizes if size is not None)
    if len(found) == 1 and not (alone or has_comma) and (found[0] == ANY or len(text) > 2 or text == "a"):
        return None
    return found


def components_in(text: str) -> int | None:
    """Return how many coordinates the text between brackets lists: 3 for ``x, y, z``; None where these are none."""
    if len(text) > _LONGEST:
        return None
    parts = [part.strip(" `'\"$").lower() for part in text.replace("_{", "_").replace("}", "").split(",")]
    return len(parts) if " ".join(parts) in _COMPONENTS else None


def size_of(part: str) -> str | None:
    """Return one size in the spelling of a program, None where the text is none."""
    text = part.strip().strip("'\"").strip()
    if text in _OPEN or (text.startswith("*") and text[1:].isidentifier()):
        return ANY
    if text in _VARIES:
        return UNNAMED
    words = text.lower().replace("-", " ").split()
    longest = max((len(part.split()) for part in _OPERATORS.split(text)), default=0)  # a name may be of several words
    if not words or longest > 4 or any(word in _NO_SIZES for word in words[:1]) or len(text) > 60:
        return None
    if len(words) > 1 and (_PROSE & set(words) or all(word in _NO_SIZES for word in words)):
        return None
    text = text.replace("⋅", "*").replace("·", "*").replace("'", "_")
    text = _WORDS.sub("_", text)
    text = re.sub(r"(?<!/)/(?!/)", "//", _FACTOR.sub(r"\1*", text))
    try:
        size = dim_of(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, DimError):
        return None
    if size.constant is not None and not is_size(size.constant):
        return None
    return _readable(str(size).replace(" ", ""))


def _readable(size: str) -> str | None:
    """Return a sum that begins with a term that is added, as it is read again: ``B*T-B`` for ``-B+B*T``."""
    if not size.startswith("-"):
        return size
    terms = re.findall(r"[+-]?[^+-]+", size)
    added = [term for term in terms if not term.startswith("-")]
    if not added or "(" in size:
        return None
    return "".join([*added, *(term for term in terms if term.startswith("-"))]).removeprefix("+")
