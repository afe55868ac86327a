"""The gate: the only way by which text becomes part of a generated Python file.

1. :func:`require_clean` lets only files pass in which checking finds no error (comments that suppress findings count
   for nothing here).
2. :func:`printed` prints a piece of code from its tokens: comments without characters that nobody sees, strings in
   one line, names in their normal form. What is printed has the same syntax tree, or it is refused.
3. :func:`module` lays the pieces out as one file, compares their trees once more and certifies the file: every
   statement and expression of it is one that Stepsmith writes (:mod:`stepcore.gate.certificate`). :func:`network`
   does so for several programs and a composition of them.

A file that is not certified is never returned.
"""

from stepcore.gate.certificate import certify
from stepcore.gate.clean import Unclean, require_clean, within_budget
from stepcore.gate.module import module, network
from stepcore.gate.refusal import Refusal
from stepcore.gate.suite import printed, same_code

__all__ = [
    "Refusal", "Unclean", "certify", "module", "network", "printed", "require_clean", "same_code", "within_budget",
]  # fmt: skip
