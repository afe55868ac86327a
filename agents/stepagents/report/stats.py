"""The two statistics of a benchmark: pass@k, and an interval for a share of tasks."""

from __future__ import annotations

from math import comb, sqrt
from typing import Final

_Z95: Final = 1.959963984540054  # two-sided 95 % quantile of the normal distribution


def pass_at_k(answers: int, right: int, k: int) -> float:
    """Return the probability that one of ``k`` answers is right, estimated without bias from more of them.

    Of ``answers`` independent ones ``right`` were right; the estimate is the share of subsets of size ``k`` that hold a
    right one: 1 - C(n - c, k) / C(n, k) (Chen et al., "Evaluating Large Language Models Trained on Code", 2021, eq. 1).

    Raises:
        ValueError: unless 0 <= right <= answers and 1 <= k <= answers.
    """
    if not (0 <= right <= answers and 1 <= k <= answers):
        raise ValueError(f"pass@{k} cannot be estimated from {right} of {answers}")
    return 1.0 - comb(answers - right, k) / comb(answers, k)


def wilson(share: float, tasks: int) -> tuple[float, float]:
    """Return the 95 % Wilson score interval (Wilson, 1927) for a mean over ``tasks`` of values between 0 and 1.

    Tasks count as the independent units. For values that are 0 or 1 this is the interval of a binomial share; others
    vary less than that around the same mean, so that the interval is, if anything, too wide. It does not shrink to a
    point where all tasks are solved, as resampling them would.
    """
    if tasks < 1:
        return 0.0, 1.0
    share = min(max(share, 0.0), 1.0)
    weight = _Z95**2 / tasks
    middle = (share + weight / 2) / (1 + weight)
    half = _Z95 / (1 + weight) * sqrt(share * (1 - share) / tasks + weight / (4 * tasks))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def powers(most: int) -> list[int]:
    """Return 1, 2, 4 ... and ``most`` itself: the values of k that are worth a row."""
    found = [1 << i for i in range(most.bit_length()) if 1 << i <= most]
    return found if not found or found[-1] == most else [*found, most]
