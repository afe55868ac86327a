"""``step.count``: ``n -> 0, 1, ..., n-1``, the one function whose lists are as long as the data say."""

from __future__ import annotations

from typing import Any, Final

from stepcore.types import Buffer, Element, Scalar


class CountFn:
    """The function of ``step.count``, as far as typing rules, printers and editors look at functions.

    It is neither one with a state nor one without: operators other than FlatMap refuse it.
    """

    func_name = "step.count"
    label = "count"
    is_count = True
    has_state: Any = None

    def __init__(self) -> None:
        self.input: Element = Scalar("int64")
        self.output: Element = Buffer(Scalar("int64"), (1,))


COUNT: Final = CountFn()
