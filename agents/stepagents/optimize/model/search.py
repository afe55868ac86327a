"""The search with a model: plans, attempts at them, and what is learned from what they brought.

A planner proposes plans for the best programs, an executor tries each of them a few times, a summarizer turns the
strongest pairs into strategies for the next round. An attempt is a rewrite of the library or a whole program. Both are
timed like any candidate; a program that a model wrote is verified before it counts, not only when it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from stepagents.experience.optimizations import Change, OptimizationItem
from stepagents.optimize.candidates import FasterText, key_of
from stepagents.optimize.features import change_of, segment
from stepagents.optimize.model.asker import ModelAsker, Question
from stepagents.optimize.model.prompts import (
    MOST_ITEMS,
    executor_messages,
    misnamed,
    planner_messages,
    read_plans,
    read_rewrite,
    read_strategies,
    summarizer_messages,
)
from stepagents.optimize.model.text import NoProgram, NotAdmitted, admitted
from stepagents.optimize.pairs import MODEL, RewriteChild
from stepagents.optimize.prior import fitting
from stepagents.optimize.search import Search
from stepagents.optimize.trials import LookedAt
from stepcore.findings.diagnostics import apply_edits
from stepcore.jobdata.optimizing import ModelProposal
from stepcore.jobs import JobCancelled
from stepcore.rewrites import RewriteSubject
from stepcore.text.wording import clipped, one_line

PLANS: Final = 3
ATTEMPTS: Final = 2
_BEAM: Final = 2
_ROUNDS: Final = 3
_PAIRS: Final = 4  # that the summarizer gets of a round, half of them fast-slow ones
_SEGMENT: Final = 2_000  # characters
_PROPOSALS: Final = 100  # that are told
_WORDS: Final = 300  # characters of one, and of what became of it
_UNUSABLE: Final = "it has errors, stops or cannot be timed"


@dataclass
class ModelSearch(Search):
    """A search that asks a model. ``goes_on``: after the search without one. ``prove`` says why a text is wrong."""

    asker: ModelAsker | None = None
    prove: Callable[[str], str] = lambda _text: ""
    goes_on: bool = False
    memory: Sequence[OptimizationItem] = ()
    strategies: list[str] = field(default_factory=list, init=False)
    proved: dict[str, str] = field(default_factory=dict, init=False)
    proposals: dict[str, ModelProposal] = field(default_factory=dict, init=False)  # by what they make of a text

    def run(self) -> None:
        """Search to the end, until the model can be asked no more, or until its user has enough.

        Raises:
            Unimprovable: the program cannot be timed, or stops whatever its FIFOs hold.
            LedgerError: the ledger of paid answers cannot be used.
        """
        if self.goes_on:
            super().run()
            beam = list(self.archive.front[:_BEAM])
        else:
            beam = [self._begin()]
        try:
            self._rounds(beam)
        except JobCancelled:  # its user did not wait for the workers
            if not self.limits.is_over():
                raise
        finally:
            self.trials.cancel()

    def _rounds(self, beam: list[FasterText]) -> None:
        for number in range(_ROUNDS):
            if self._is_over() or self.asker is None or self.asker.problem:
                return
            children = [child for parent in beam for child in self._attempts(parent, number)]
            found = self._round(children)
            self._keep([each for each in found if self._is_right(each)])
            for child in children:
                self._tell_outcome(child, found)
            for child in children:  # nothing is learned from a program that is not known to be right
                if child.site.rewrite == MODEL and self.proved.get(child.key) != "":
                    self.pairs.found.pop(child.key, None)
            self._learn(children, number)
            beam = list(self.archive.front[:_BEAM])

    def _attempts(self, parent: FasterText, number: int) -> list[RewriteChild]:
        """Return what the model makes of one program in a round, as far as it is new.

        A round that found nothing leaves the prompts as they were, so each asks for further answers to them.
        """
        subject, asker = self._here.timed(parent.text), self.asker
        self._look_at([parent])
        known = self._known(parent)
        if asker is None or known is None or subject is None or subject.timed is None or subject.timed.cycles is None:
            return []
        sites = list(chain.from_iterable(known.sites))
        items = fitting(self.memory, known.bottleneck, MOST_ITEMS)
        asked = planner_messages(subject, self.target, sites, items, self.strategies, PLANS)
        question = Question("planner", tuple(asked), number)
        (answer,) = asker.ask([question], self.limits.is_over)
        plans = read_plans(answer, PLANS)
        if answer:
            asker.tell(question, answer, f"{len(plans)} plans")
        questions = [
            Question(
                "executor", tuple(executor_messages(subject, self.target, sites, plan)), ATTEMPTS * number + attempt
            )
            for plan in plans
            for attempt in range(ATTEMPTS)
        ]
        told = [plan for plan in plans for _ in range(ATTEMPTS)]
        found = []
        for question, plan, text in zip(questions, told, asker.ask(questions, self.limits.is_over), strict=True):
            child = self._child(parent, subject, known, plan, text, question) if text else None
            if child is not None:
                found.append(child)
        return found

    def _child(
        self, parent: FasterText, subject: RewriteSubject, known: LookedAt, plan: str, text: str, question: Question
    ) -> RewriteChild | None:  # fmt: skip
        assert self.asker is not None
        sites = list(chain.from_iterable(known.sites))
        index = read_rewrite(text, len(sites))
        try:
            site = admitted(subject, text, plan) if index is None else sites[index]
        except NotAdmitted as error:
            named = misnamed(text, len(sites)) if isinstance(error, NoProgram) else ""
            self._propose(f"{len(self.proposals)}", plan, f"not admitted: {named or error}")
            self.asker.tell(question, text, f"not admitted: {named or error}")
            return None
        made = apply_edits(parent.text, list(site.edits))
        key = key_of(made)
        is_new = key not in self.seen
        self.asker.tell(question, text, site.sentence if is_new else f"known already: {site.sentence}")
        if not is_new:
            if key not in self.proposals:
                self._propose(key, site.sentence, self._known_outcome(key))
            return None
        self.seen.add(key)
        self._propose(key, site.sentence, "not tried: the search ended")
        change = change_of(site) if index is not None else Change(MODEL)
        return RewriteChild(parent, site, made, key, known.bottleneck, change)

    def _known_outcome(self, key: str) -> str:
        """Say what is known of a text that was tried before the model proposed it."""
        tried = self.record.tried(key)
        if tried is None:
            return "known already"
        if tried.figures is not None:
            return f"{tried.figures.cycles:,} cycles, known already"
        if tried.estimate is None or tried.exact:
            return f"known already: {_UNUSABLE}"
        return f"about {tried.estimate:,} cycles, known already"

    def _propose(self, key: str, what: str, outcome: str, *, kept: bool = False) -> None:
        """Note what the model proposed and what became of it; what is too much is left out."""
        if key in self.proposals or len(self.proposals) < _PROPOSALS:
            self.proposals[key] = ModelProposal(
                clipped(one_line(what), _WORDS), clipped(one_line(outcome), _WORDS), kept
            )

    def _tell_outcome(self, child: RewriteChild, found: Sequence[FasterText]) -> None:
        """Note what became of a proposal that was tried; ``found`` were timed exactly."""
        noted = self.pairs.found.get(child.key)
        if noted is None:
            return
        cycles = noted[1]
        kept = any(each.key == child.key for each in self.archive.front)
        if self.proved.get(child.key):
            outcome = f"not right: {self.proved[child.key]}"
        elif cycles is None:
            outcome = _UNUSABLE
        elif all(each.key != child.key for each in found):
            outcome = f"left out: about {cycles:,} cycles, or more than the chip has"
        else:
            outcome = f"{cycles:,} cycles" if kept else f"{cycles:,} cycles, no better than what is known"
        self._propose(child.key, child.site.sentence, outcome, kept=kept)

    def _is_right(self, candidate: FasterText) -> bool:
        """Whether a candidate may count: rewrites keep what is computed, and what a model wrote is verified first."""
        if all(step.rewrite != MODEL for step in candidate.steps):
            return True
        if candidate.key not in self.proved:
            self.proved[candidate.key] = self.prove(candidate.text)
        return not self.proved[candidate.key]

    def _learn(self, children: Sequence[RewriteChild], number: int) -> None:
        """Have the strongest slow-fast and fast-slow pairs of a round summarized."""
        timed: list[tuple[float, RewriteChild, int | None]] = []
        for child in children:
            noted = self.pairs.found.get(child.key)
            if noted is not None:
                cycles = noted[1]
                timed.append(((cycles or 1 << 60) / child.cycles_before, child, cycles))
        timed.sort(key=lambda each: each[0])
        faster = [each for each in timed if each[0] < 1][: _PAIRS // 2]
        slower = [each for each in timed if each[0] > 1][-_PAIRS // 2 :]
        if self.asker is None or not (faster or slower):
            return
        pairs = []
        for _ratio, child, cycles in (*faster, *slower):
            old, new = segment(child.parent.text, child.text)
            pairs.append((old[:_SEGMENT], new[:_SEGMENT], child.cycles_before, cycles))
        question = Question("summarizer", tuple(summarizer_messages(pairs)), number)
        (answer,) = self.asker.ask([question], self.limits.is_over)
        found = read_strategies(answer)
        if answer:
            self.asker.tell(question, answer, f"{len(found)} strategies")
        self.strategies += [each for each in found if each not in self.strategies]
