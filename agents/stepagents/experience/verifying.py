"""Running the programs of foreign experience before they are believed: jobs for the judge. No torch here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from stepagents.executors.executor import Executor
from stepagents.experience.identity import without_impl
from stepcore.jobdata.judging import JUDGE, JudgeRequest
from stepcore.jobdata.writing import Experience
from stepcore.jobs import JobCancelled, JobError
from stepcore.printing.task import impl_to_yaml

_ACCEPTED: Final = "accepted"  # the value of stepagents.judge.Stage.ACCEPTED, which is not imported for its weight


def verified(
    executor: Executor, experiences: Sequence[Experience], is_over: Callable[[], bool] = lambda: False
) -> Iterator[str]:
    """Yield for each experience an empty text if its program is right on all data of the judge, else why not.

    Once ``is_over`` says that nobody waits for it, only those count whose verdicts are there.
    """
    jobs = [
        executor.submit(
            JUDGE,
            JudgeRequest(
                experience.task,
                without_impl(experience.task_text, experience.task),
                impl_to_yaml(experience.impl),  # under the key, so that the judge takes all of it
            ),
        )
        for experience in experiences
    ]
    for job in jobs:
        try:
            (found,) = job.result_unless(is_over)
        except JobCancelled:
            yield "interrupted"
        except JobError as error:
            yield f"{error.code} {error.message}"
        else:
            yield "" if found.stage == _ACCEPTED else f"{found.stage}: {found.message}"
