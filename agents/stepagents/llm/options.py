"""How a model is sampled."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from stepcore.records import Record
from stepcore.settings.config import Config

_DEFAULTS: Final = Config()


class Guardian(StrEnum):
    """Who makes a program affine: the checker's own fixes, a language model with a prompt of its own, nobody."""

    DETERMINISTIC = "deterministic"
    LLM = "llm"
    NONE = "none"


class SamplingOptions(Record):
    """Parameters of :class:`stepagents.llm.sampler.LlmSampler`.

    ``temperatures`` are used in turns; none at all leaves the model's own. ``repair`` is how often the verdict on a
    wrong answer goes back to the model. ``early_stop`` leaves the rest of a task's samples out once it is solved (not
    for pass@k). ``at_once`` samples are worked on at the same time, each answer with up to ``output_tokens`` tokens
    (None: as the model's preset says). ``judge_seconds`` limits the judging of one answer. ``structured`` asks for JSON
    where the model offers it. ``answers_without_program``: where so many answers to a task hold no program, and none
    held one, no more are asked for, and until one did no more are open; counted with ``early_stop`` only.
    """

    temperatures: tuple[float, ...] = (0.4, 0.7, 1.0)
    repair: int = 0
    guardian: Guardian = Guardian.DETERMINISTIC
    early_stop: bool = True
    at_once: int = 16
    output_tokens: int | None = None
    judge_seconds: float = 30.0
    structured: bool = True
    answers_without_program: int = _DEFAULTS.answers_without_program
