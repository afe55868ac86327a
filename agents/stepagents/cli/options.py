"""Options that the commands of the agents share: ``synth``, ``bench`` and ``improve`` take the same words for the same.

Each name is a parameter's annotation. Defaults stand here, too, so that the commands agree on them.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated, Final

import typer

SEARCH_CANDIDATES: Final = 200_000  # that the search may try for each task, unless --samples says otherwise
MODEL_ANSWERS: Final = 64  # that a model is asked for; the number of the published system
BUDGET_SECONDS: Final = 60.0  # for each task
MODEL_SECONDS: Final = 600.0  # the same where a model has to be waited for
_MOST_SAMPLES: Final = 10_000_000
_MOST_SECONDS: Final = 7 * 86400.0


class Format(StrEnum):
    """Output formats."""

    TEXT = "text"
    JSON = "json"


class Proposer(StrEnum):
    """Who writes the programs."""

    SEARCH = "search"
    LLM = "llm"


class ExecutorName(StrEnum):
    """Where jobs run."""

    LOCAL = "local"
    RAY = "ray"


class Guardian(StrEnum):
    """Who makes a model's program affine; the names are those of :class:`stepagents.llm.options.Guardian`."""

    DETERMINISTIC = "deterministic"
    LLM = "llm"
    NONE = "none"


class Learned(StrEnum):
    """Whether earlier successes take part."""

    AUTO = "auto"
    NONE = "none"


def _finite(value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is no number of seconds")
    return value


TasksArgument = Annotated[list[str], typer.Argument(help="Task files, or folders that hold some.", metavar="TASK...")]
ProposerOption = Annotated[
    Proposer, typer.Option("--proposer", help="Who writes: the built-in search (no key, no network), or a model.")
]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="M", help="With --proposer llm: a preset or the model's name at its provider."),
]
BaseUrlOption = Annotated[
    str | None,
    typer.Option("--base-url", metavar="URL", help="With --proposer llm: an OpenAI-compatible endpoint."),
]
SamplesOption = Annotated[
    int | None,
    typer.Option(
        "--samples",
        min=1,
        max=_MOST_SAMPLES,
        metavar="N",
        help="For each task: candidates that the search may try, or answers that a model is asked for.",
        show_default=f"{SEARCH_CANDIDATES} candidates, {MODEL_ANSWERS} answers",
    ),
]
SecondsOption = Annotated[
    float | None,
    typer.Option(
        "--budget-seconds", min=0.1, max=_MOST_SECONDS, metavar="S", callback=_finite, help="Time for each task.",
        show_default=f"{BUDGET_SECONDS:g} with the search, {MODEL_SECONDS:g} with a model",
    ),
]  # fmt: skip
RepairOption = Annotated[
    int,
    typer.Option(
        "--repair", min=0, max=20, metavar="N",
        help="With --proposer llm: rounds in which a wrong answer goes back to the model with its verdict.",
    ),
]  # fmt: skip
GuardianOption = Annotated[
    Guardian,
    typer.Option(
        "--guardian",
        help="With --proposer llm, who inserts missing copies: the checker's own fixes, the model, or nobody.",
    ),
]
SendOption = Annotated[
    bool | None,
    typer.Option(
        "--send-to-provider/--no-send-to-provider",
        help="With --proposer llm: agree that tasks and earlier solutions are sent to the provider. Asked once, kept.",
        show_default=False,
    ),
]
KeyVariableOption = Annotated[
    str | None,
    typer.Option(
        "--key-variable", metavar="NAME", help="With --proposer llm: the environment variable that holds the key."
    ),
]
TokensOption = Annotated[
    int | None,
    typer.Option("--budget-tokens", min=1, metavar="N", help="With --proposer llm: tokens of the whole run, at most."),
]
CostOption = Annotated[
    float | None,
    typer.Option(
        "--budget-cost",
        min=0.0,
        max=1e6,
        metavar="USD",
        help="With --proposer llm: US dollars of the whole run, at most.",
    ),
]
SeedOption = Annotated[
    int, typer.Option("--seed", min=0, max=2**31 - 1, help="Seed: the same options give the same candidates.")
]
ExecutorOption = Annotated[
    ExecutorName, typer.Option("--executor", help="Where jobs run: processes of this machine, or a Ray cluster.")
]
RayAddressOption = Annotated[
    str | None,
    typer.Option(
        "--ray-address", metavar="HOST:PORT",
        help="With --executor ray: the cluster (`auto` finds a running one); without it, Ray is started here.",
    ),
]  # fmt: skip
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", min=1, max=4096, metavar="N", help="Jobs at the same time.", show_default="one per CPU"),
]
ExperienceOption = Annotated[
    Learned,
    typer.Option("--experience", help="auto: use what earlier successes taught, and record new ones; none: neither."),
]
FormatOption = Annotated[Format, typer.Option("--format", help="Output format.")]


def samples_for(proposer: Proposer, samples: int | None) -> int:
    """Return the number of samples for each task: what was asked for, or the proposer's default."""
    if samples is not None:
        return samples
    return SEARCH_CANDIDATES if proposer is Proposer.SEARCH else MODEL_ANSWERS


def seconds_for(proposer: Proposer, seconds: float | None) -> float:
    """Return the time for each task: what was asked for, or the proposer's default."""
    if seconds is not None:
        return seconds
    return BUDGET_SECONDS if proposer is Proposer.SEARCH else MODEL_SECONDS
