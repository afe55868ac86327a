"""What a search asks of candidates: where they can be rewritten, what they cost. Worked out here, or by workers.

One :class:`Trier` works for one program; a worker keeps that of the program that it was asked about last. No torch.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from stepagents.executors.executor import Executor
from stepagents.experience.optimizations import Bottleneck
from stepagents.optimize.candidates import OptimizeTarget, estimate, figures_of, timed_subject
from stepagents.optimize.features import bottleneck_of
from stepcore.chips.keys import described
from stepcore.chips.reader import read_hardware
from stepcore.jobdata.choices import AffineRule
from stepcore.jobdata.kinds import JobKind
from stepcore.jobdata.optimizing import (
    SITES,
    TRIAL,
    Figures,
    SitesRequest,
    SitesResult,
    TrialRequest,
    TrialResult,
    TrialSubject,
)
from stepcore.jobdata.plain import from_plain, shared
from stepcore.jobs import Job, JobError
from stepcore.records import Record
from stepcore.rewrites import REWRITES, Rewrite, RewriteSite, RewriteSubject, rewritten, subject_of
from stepcore.rewrites.rows import row_of, site_of

_KEPT: Final = 64  # programs that were read last
_UNKNOWN: Final = Bottleneck("waiting", "")  # of a program without figures
_Result = TypeVar("_Result")
_Request = TypeVar("_Request")


class Trial(Record):
    """A text that a rewrite made of another one; ``retiles``: what it returns may be cut into other tiles."""

    before: str
    text: str
    retiles: bool


class LookedAt(Record):
    """A program that is rewritten: the sites of each rewrite, and what holds it up."""

    sites: Sequence[Sequence[RewriteSite]]
    bottleneck: Bottleneck


class Lost(Record):
    """Comes in place of an answer where whoever worked on it took too long or is gone: nothing is known then."""


LOST: Final = Lost()


class CandidateTrials(Protocol):
    """Answers come in the order of the questions.

    ``problem`` says why some candidates have no answer although nothing may be wrong with them, "" where all have.
    """

    problem: str

    def look(self, texts: Sequence[str], rewrites: Sequence[Rewrite]) -> Iterator[LookedAt | Lost]:
        """Yield, for each text, the sites of each rewrite in it, and what holds its program up."""

    def estimates(self, trials: Sequence[Trial]) -> Iterator[int | Lost | None]:
        """Yield about how many cycles each takes; None where it has errors, stops, or cannot be timed."""

    def figures(self, trials: Sequence[Trial]) -> Iterator[Figures | Lost | None]:
        """Yield what each costs; None as for estimates."""

    def cancel(self) -> None:
        """Give up questions that nobody waits for any more."""


class Trier:
    """Answers in this process, one question after the other."""

    problem = ""

    def __init__(self, path: str, program: str, target: OptimizeTarget, affine: AffineRule = "strict") -> None:
        self._path, self._program, self._affine = path, program, affine
        self._target = target
        self._subjects: _Texts = OrderedDict()
        self._timed: _Texts = OrderedDict()

    @classmethod
    def of(cls, subject: RewriteSubject, target: OptimizeTarget) -> Trier:
        """Return one for a program that was read already."""
        found = cls(subject.path, subject.name, target, subject.affine)
        _kept(found._subjects, subject.text, lambda: subject)
        return found

    def look(self, texts: Sequence[str], rewrites: Sequence[Rewrite]) -> Iterator[LookedAt]:
        """See :class:`CandidateTrials`."""
        for text in texts:
            subject = self.timed(text)
            if subject is None or subject.timed is None:
                yield LookedAt([() for _ in rewrites], _UNKNOWN)
            else:
                sites = [self._target.sites(rewrite, subject) for rewrite in rewrites]
                yield LookedAt(sites, bottleneck_of(subject.timed, self._target))

    def estimates(self, trials: Sequence[Trial]) -> Iterator[int | None]:
        """See :class:`CandidateTrials`."""
        for trial in trials:
            subject = self._applied(trial)
            yield None if subject is None else estimate(subject, self._target)

    def figures(self, trials: Sequence[Trial]) -> Iterator[Figures | None]:
        """See :class:`CandidateTrials`."""
        for trial in trials:
            yield None if self._applied(trial) is None else self.measured(trial.text)

    def cancel(self) -> None:
        """Nothing: a question is worked on when its answer is taken."""

    def timed(self, text: str) -> RewriteSubject | None:
        """Return the program as a text has it, with its exact timing; None where it has errors or cannot be timed."""

        def time() -> RewriteSubject | None:
            subject = self._subject(text)
            return None if subject is None else timed_subject(subject, self._target)

        return _kept(self._timed, text, time)

    def measured(self, text: str) -> Figures | None:
        """Return what the program costs as a text has it; None where it has errors, stops, or cannot be timed."""
        subject = self.timed(text)
        return None if subject is None or subject.timed is None else figures_of(subject.timed, self._target)

    def _subject(self, text: str) -> RewriteSubject | None:
        return _kept(self._subjects, text, lambda: subject_of(text, self._path, self._program, self._affine))

    def _applied(self, trial: Trial) -> RewriteSubject | None:
        before = self._subject(trial.before)
        if before is None:
            return None
        return _kept(self._subjects, trial.text, lambda: rewritten(before, trial.text, retiles=trial.retiles))


_Texts: TypeAlias = "OrderedDict[str, RewriteSubject | None]"


def _kept(held: _Texts, text: str, make: Callable[[], RewriteSubject | None]) -> RewriteSubject | None:
    """Return what is held for a text, made where it is not; what was asked for longest ago is given up."""
    if text not in held:
        held[text] = make()
        if len(held) > _KEPT:
            held.popitem(last=False)
    held.move_to_end(text)
    return held[text]


class SpreadTrials:
    """Answers of workers: all questions are asked at once, as many are worked on as there are workers.

    Who waits for an answer hears ``JobCancelled`` once ``is_stopped``: what nobody worked out is no cost.
    """

    def __init__(
        self,
        executor: Executor,
        subject: RewriteSubject,
        target: OptimizeTarget,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        chip = target.chip
        about = TrialSubject(
            path=subject.path, program=subject.name, affine=subject.affine,
            chip_name=chip.name, chip=described(chip), compute=target.compute, capacity=target.capacity,
            only_impl=target.only_impl,
        )  # fmt: skip
        self.problem = ""
        self._executor = executor
        self._is_stopped = is_stopped
        self._about = shared(TrialSubject, about)
        self._jobs: list[Job[Any]] = []

    def look(self, texts: Sequence[str], rewrites: Sequence[Rewrite]) -> Iterator[LookedAt | Lost]:
        """See :class:`CandidateTrials`."""
        names = tuple(rewrite.name for rewrite in rewrites)
        asked = [SitesRequest(**self._about, text=text, rewrites=names) for text in texts]
        for result in self._answers(SITES, asked):
            if isinstance(result, Lost):
                yield result
                continue
            plain = result.bottleneck
            bottleneck = _UNKNOWN if plain is None else from_plain(Bottleneck, plain)
            yield LookedAt([tuple(map(site_of, rows)) for rows in result.found], bottleneck)

    def estimates(self, trials: Sequence[Trial]) -> Iterator[int | Lost | None]:
        """See :class:`CandidateTrials`."""
        answers = self._answers(TRIAL, self._orders(trials, exact=False))
        return (each if isinstance(each, Lost) else each.estimate for each in answers)

    def figures(self, trials: Sequence[Trial]) -> Iterator[Figures | Lost | None]:
        """See :class:`CandidateTrials`."""
        answers = self._answers(TRIAL, self._orders(trials, exact=True))
        return (each if isinstance(each, Lost) else each.figures for each in answers)

    def _orders(self, trials: Sequence[Trial], *, exact: bool) -> list[TrialRequest]:
        return [TrialRequest(**self._about, **shared(Trial, trial), exact=exact) for trial in trials]

    def _answers(self, kind: JobKind[_Request, None, _Result], asked: Sequence[_Request]) -> Iterator[_Result | Lost]:
        """Ask at once, and return an iterator of the answers."""
        self._jobs = [job for job in self._jobs if not job.future.done()]
        jobs = [self._executor.submit(kind, request) for request in asked]
        self._jobs += jobs
        return self._results(jobs)

    def _results(self, jobs: Sequence[Job[_Result]]) -> Iterator[_Result | Lost]:
        for job in jobs:
            try:
                result = job.result_unless(self._is_stopped)
            except JobError as error:
                self.problem = self.problem or f"{error.code} {error.message}"
                yield LOST
            else:
                yield result

    def cancel(self) -> None:
        """See :class:`CandidateTrials`."""
        for job in self._jobs:
            job.cancel()
        self._jobs = []


class TrialService:
    """The worker's side: keeps the :class:`Trier` of the program that it was asked about last."""

    def __init__(self) -> None:
        self._of: dict[str, Any] = {}
        self._trier: Trier | None = None

    def sites(self, request: SitesRequest) -> SitesResult:
        """Return the sites of rewrites in a text.

        Raises:
            HardwareError: the chip's description cannot be used.
        """
        rewrites = [rewrite for name in request.rewrites for rewrite in REWRITES if rewrite.name == name]
        (found,) = self._trials(request).look([request.text], rewrites)
        return SitesResult(tuple(tuple(map(row_of, sites)) for sites in found.sites), asdict(found.bottleneck))

    def trial(self, request: TrialRequest) -> TrialResult:
        """Return what a text costs.

        Raises:
            HardwareError: the chip's description cannot be used.
        """
        trials = self._trials(request)
        asked = [Trial(request.before, request.text, request.retiles)]
        if request.exact:
            return TrialResult(figures=next(trials.figures(asked)))
        return TrialResult(next(trials.estimates(asked)))

    def _trials(self, request: TrialSubject) -> Trier:
        about = shared(TrialSubject, request)
        if self._trier is None or about != self._of:
            chip = read_hardware(request.chip, request.chip_name)
            target = OptimizeTarget(chip, request.compute, request.capacity, only_impl=request.only_impl)
            self._of, self._trier = about, Trier(request.path, request.program, target, request.affine)
        return self._trier
