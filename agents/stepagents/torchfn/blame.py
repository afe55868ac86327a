"""What an exception of PyTorch means for the user, and at which line of the user's file. No torch here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from stepagents.torchfn.refusals import NO_TRACE, Refused
from stepcore.jobdata.failures import Finding
from stepcore.sim.fnvec.words import plain
from stepcore.sim.worker.imports import line_of
from stepcore.text.raised import is_a, words
from stepcore.text.wording import class_name

# Name of the exception's class or words of its text -> what it means, and what to do.
_MEANINGS: Final[tuple[tuple[str, str, str], ...]] = (
    (
        r"DataDependentOutputException|GuardOnDataDependent|data-dependent|_local_scalar_dense",
        "what happens next depends on the values of a tensor",
        "choose with torch.where, which computes both sides",
    ),
    (
        r"DynamicOutputShapeException|PickedSizeError|aten\.nonzero|aten\.unique|aten\._unique|aten\.masked_select",
        "the size of a result depends on the values of a tensor",
        "keep all elements and mask them with torch.where",
    ),
    (
        r"(?i)not compiled with CUDA|NVIDIA driver|No (?:CUDA|HIP) GPUs|MPS backend|cuda is not available"
        r"|linked with support for \w+ devices|Triton",
        "the function needs a GPU",
        "leave tensors on the device where they are, or take the device from an argument",
    ),
    (
        r"(?i)\.?numpy\(\)? (?:is not supported|cannot)|convert.*numpy|'FakeTensor'.*numpy|numpy is not supported",
        "the function leaves PyTorch for NumPy",
        "write this step with torch operations",
    ),
    (
        r"new\(\): invalid data type 'str'",
        "the function reads a part of an argument by name, and its arguments are tensors and numbers",
        "pass each tensor as an argument of its own, or write a torch.nn.Module that holds them",
    ),
    (r"RecursionError", "the function calls itself without end", "write a loop with a fixed number of rounds"),
    (
        r"(?i)autograd|requires_grad|does not require grad",
        "the function computes gradients",
        "take the forward function alone",
    ),
    (
        r"(?i)fake[ _]?(?:tensor|mode)|functional[ _]?tensor",
        "the function keeps tensors of one call for the next",
        "compute them in each call, or register them as buffers of a module",
    ),
)
_LEAK: Final = _MEANINGS[-1]
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+|0x[0-9a-fA-F]{6,}")
_OPERATION: Final = re.compile(r"aten\.(\w+)")


def explained(error: BaseException, path: str, shown: str, line: int, sizes: str) -> Finding:
    """Return what to tell the user about ``error``.

    ``path`` is the user's file as frames name it and ``shown`` as the user wrote it, ``line`` the function's line for
    errors that went through no line of the file, ``sizes`` at which sizes it ran.
    """
    causes = list(_causes(error))
    place = next((found for cause in causes if (found := line_of(cause, path)) is not None), line)
    for pattern, meaning, advice in _MEANINGS:
        for cause in causes:
            text = f"{class_name(cause)}: {_in_users_terms(cause)}"
            if re.search(pattern, text):
                operation = _OPERATION.search(text)
                return Finding(NO_TRACE, meaning, shown, place, 1, advice, operation[1] if operation else "")
    cause = causes[-1]
    if is_a(cause, SystemExit):
        return Finding(NO_TRACE, "the function ends the process", shown, place, 1, "return its result", "")
    said = plain(_ADDRESS.sub("", _in_users_terms(cause).strip()))
    text = f"{class_name(cause)}: {said}" if said else class_name(cause)
    at = f" (tried with {sizes})" if sizes else ""
    return Finding(NO_TRACE, f"the function fails: {text}{at}", shown, place, 1, _size_advice(text), "")


_OF_CALLS: Final = (AttributeError, IndexError, TypeError)
_STAND_IN: Final = re.compile(r"\b(?:Fake|Functional)Tensor\b")


def _in_users_terms(error: BaseException) -> str:
    """Return what an error says; one about a wrong call calls those tensors that stand in while tracing tensors."""
    text = words(error)
    if not is_a(error, *_OF_CALLS) or "numpy" in text.lower():
        return text
    return _STAND_IN.sub("Tensor", text)


def is_leak(error: BaseException) -> bool:
    """Whether ``error`` comes of tensors that an earlier call left behind: in a cache, in a variable of the file."""
    if isinstance(error, Refused):
        return any(finding.message == _LEAK[1] for finding in error.findings)
    return any(re.search(_LEAK[0], f"{class_name(cause)}: {_in_users_terms(cause)}") for cause in _causes(error))


def is_at_all_sizes(error: Refused) -> bool:
    """Whether ``error`` tells what no other sizes of the arguments would mend."""
    meanings = {meaning for _pattern, meaning, _advice in _MEANINGS}
    return error.findings[0].message in meanings


def _size_advice(text: str) -> str:
    words = ("shape", "size", "dimension", "broadcast", "index")
    return "check the sizes given for its arguments" if any(word in text.lower() for word in words) else ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what caused it, the outermost first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
