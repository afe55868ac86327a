"""Options that the commands of the agents share: ``synth``, ``bench`` and ``improve`` take the same words for the same.

Each name is a parameter's annotation. Defaults stand here, too, so that the commands agree on them.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from stepagents.llm.options import Guardian
from stepcore.jobs.proposers import AUTO, BY_OPTION, LOWER, MODEL, PROPOSERS, SEARCH, ProposerEntry

MODEL_SECONDS: Final = 600.0  # for each task, where a model has to be waited for
_MOST_SECONDS: Final = 7 * 86400.0


class ResultFormat(StrEnum):
    """Output formats."""

    TEXT = "text"
    JSON = "json"


if TYPE_CHECKING:
    ProposerName: TypeAlias = str
    WriterName: TypeAlias = str
else:  # what --proposer takes: for tasks, and where functions are meant, too
    ProposerName = StrEnum("ProposerName", list(BY_OPTION))
    WriterName = StrEnum("WriterName", [AUTO, LOWER, *BY_OPTION])


class ExecutorName(StrEnum):
    """Where jobs run."""

    LOCAL = "local"
    RAY = "ray"


class Learned(StrEnum):
    """Whether earlier successes take part."""

    AUTO = "auto"
    NONE = "none"


def _at_most(limit: float) -> Callable[[float | None], float | None]:
    """Return the check of a number that must be finite and not above ``limit``, where typer's would fill the help."""

    def check(value: float | None) -> float | None:
        if value is not None and not value <= limit:  # not a number is not above it either
            raise typer.BadParameter(f"{value} is no number up to {limit:,.0f}")
        return value

    return check


_MODEL: Final = "With --proposer llm"
_JOBS: Final = "Where jobs run"

SubjectsArgument = Annotated[
    list[str],
    typer.Argument(
        help="Task files, or folders that hold some; or PyTorch functions: FILE.py::NAME (or CLASS, or LINE).",
        metavar="TASK...",
    ),
]
ProposerOption = Annotated[
    ProposerName,
    typer.Option(
        "--proposer",
        help=f"Who writes: {', or '.join(entry.summary for entry in PROPOSERS)}.",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="M", rich_help_panel=_MODEL,
        help="A preset (such as gpt-4o), PROVIDER/MODEL, or with --base-url what the endpoint calls it.",
    ),
]  # fmt: skip
BaseUrlOption = Annotated[
    str | None,
    typer.Option("--base-url", metavar="URL", rich_help_panel=_MODEL, help="An OpenAI-compatible endpoint."),
]
KeyVariableOption = Annotated[
    str | None,
    typer.Option(
        "--key-variable", metavar="NAME", rich_help_panel=_MODEL,
        help="The environment variable that holds the key.", show_default="that of the provider",
    ),
]  # fmt: skip
SendOption = Annotated[
    bool | None,
    typer.Option(
        "--send-to-provider/--no-send-to-provider", rich_help_panel=_MODEL, show_default=False,
        help="Agree, or not, that tasks, tried programs and earlier solutions are sent to the model. Kept, a yes for "
        "the model and its host, a no for the host; without it you are asked.",
    ),
]  # fmt: skip
ShowRequestOption = Annotated[
    bool,
    typer.Option(
        "--show-request", rich_help_panel=_MODEL, help="Show the first request of each task, and send nothing."
    ),
]
RepairOption = Annotated[
    int,
    typer.Option(
        "--repair", min=0, max=20, metavar="N", rich_help_panel=_MODEL,
        help="Rounds in which a wrong answer goes back to the model with its verdict.",
    ),
]  # fmt: skip
GuardianOption = Annotated[
    Guardian,
    typer.Option(
        "--guardian", metavar="WHO", rich_help_panel=_MODEL,
        help="Who inserts missing copies: the checker's own fixes (deterministic), the model (llm), or nobody (none).",
    ),
]  # fmt: skip
TokensOption = Annotated[
    int | None,
    typer.Option(
        "--budget-tokens", min=1, metavar="N", rich_help_panel=_MODEL, help="Tokens of the whole run, at most."
    ),
]
CostOption = Annotated[
    float | None,
    typer.Option(
        "--budget-cost", min=0.0, metavar="USD", rich_help_panel=_MODEL, callback=_at_most(1e6),
        help="US dollars of the whole run, at most.",
    ),
]  # fmt: skip
PriceOption = Annotated[
    str | None,
    typer.Option(
        "--price", metavar="IN,OUT", rich_help_panel=_MODEL,
        help="US dollars for a million tokens of prompts and of answers, where no preset and no model_prices of your "
        "configuration say what the model costs.",
    ),
]  # fmt: skip
WithoutProgramOption = Annotated[
    int | None,
    typer.Option(
        "--answers-without-program", min=1, max=10_000, metavar="N", rich_help_panel=_MODEL,
        help="Ask no further for a task where so many answers held no program, and none held one.",
        show_default="4, or what the configuration says",
    ),
]  # fmt: skip
AnswersOption = Annotated[
    Path | None,
    typer.Option(
        "--answers", metavar="DIR", rich_help_panel=_MODEL,
        help="Write each answer with its verdict into this folder, as NAME.answers.md for each task.",
    ),
]  # fmt: skip
SamplesOption = Annotated[
    int | None,
    typer.Option(
        "--samples", min=1, metavar="N", callback=_at_most(1e7),
        help="For each task: candidates that the search may try, or answers that a model is asked for.",
        show_default=f"{SEARCH.samples} candidates, {MODEL.samples} answers",
    ),
]  # fmt: skip
SecondsOption = Annotated[
    float | None,
    typer.Option(
        "--budget-seconds", min=0.1, metavar="S", callback=_at_most(_MOST_SECONDS),
        help="Time for each task.",
        show_default=f"{SEARCH.seconds:g} with the search, {MODEL_SECONDS:g} with a model",
    ),
]  # fmt: skip
SeedOption = Annotated[
    int,
    typer.Option(
        "--seed", min=0, metavar="N", callback=_at_most(2**31 - 1),
        help="Seed of the search: the same options give the same candidates.",
    ),
]  # fmt: skip
ExecutorOption = Annotated[
    ExecutorName,
    typer.Option("--executor", rich_help_panel=_JOBS, help="Processes of this machine, or a Ray cluster."),
]
RayAddressOption = Annotated[
    str | None,
    typer.Option(
        "--ray-address", metavar="HOST:PORT", rich_help_panel=_JOBS,
        help="The Ray cluster (`auto` finds a running one); without it, Ray is started on this machine.",
    ),
]  # fmt: skip
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, metavar="N", rich_help_panel=_JOBS, callback=_at_most(4096),
        help="Jobs at the same time.", show_default="one per CPU",
    ),
]  # fmt: skip
ExperienceOption = Annotated[
    Learned,
    typer.Option("--experience", help="auto: use what earlier successes taught, and record new ones; none: neither."),
]
FormatOption = Annotated[ResultFormat, typer.Option("--format", help="Output format.")]


def samples_for(proposer: ProposerEntry, samples: int | None) -> int:
    """Return the number of samples for each task: what was asked for, or the proposer's default."""
    return proposer.samples if samples is None else samples


def seconds_for(proposer: ProposerEntry, seconds: float | None) -> float:
    """Return the time for each task: what was asked for, or the proposer's default."""
    if seconds is not None:
        return seconds
    return MODEL_SECONDS if proposer.asks else proposer.seconds
