"""Sizes for a function that nobody described: proposed with sources, and run before anybody sees them. Loads torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from stepagents.shapes.annotations import annotated
from stepagents.shapes.calls import alike, calls_of, joined, squares
from stepagents.shapes.documents import FunctionDocuments
from stepagents.shapes.naming import renamed, written_out
from stepagents.shapes.refining import refined
from stepagents.shapes.running import SubjectRunner
from stepagents.shapes.solving import Solved, solve
from stepagents.shapes.starting import StartingPoint, first_state, parameters_of, peers_of
from stepagents.shapes.told import TextPlace, Told
from stepagents.torchfn.blame import is_at_all_sizes
from stepagents.torchfn.dims import Described, Description, Partial, completed, noted, noted_in_passing
from stepagents.torchfn.examples import symbolic_arguments
from stepagents.torchfn.guards import Guard
from stepagents.torchfn.refusals import Refused
from stepagents.torchfn.subject import TracedSubject, load
from stepagents.torchfn.target import Argument, Target
from stepagents.torchfn.trace import sizing_of
from stepagents.torchfn.usage import usages
from stepcore.jobdata.writing import ProposedArgument, ProposedSizes
from stepcore.records import Record
from stepcore.sizes.dim import Dim

_NAMES: Final = "its name and use"


class SizedArgument(Record):
    """One argument: ``text`` as ``--input`` takes it behind ``=``, where it comes from, and whether that is open."""

    name: str
    text: str
    source: str
    is_open: bool
    described: Described


class SizesProposal(Record):
    """Sizes of all arguments that were missing. ``problem`` says why the function does not run at them.

    ``cause`` is that problem where sizes have nothing to do with it.
    """

    arguments: Sequence[SizedArgument]
    problem: str = ""
    line: int = 0
    cause: Refused | None = None

    @property
    def is_settled(self) -> bool:
        """Whether the function runs, and no size is only a guess."""
        return not self.problem and not any(item.is_open for item in self.arguments)

    @property
    def guess(self) -> dict[str, str]:
        """The texts by argument."""
        return {item.name: item.text for item in self.arguments}

    @property
    def described(self) -> dict[str, Described]:
        """The descriptions by argument."""
        return {item.name: item.described for item in self.arguments}

    @property
    def note(self) -> str:
        """The comment that says the same in the source."""
        return ", ".join(noted(item.name, item.text) for item in self.arguments)

    @property
    def sources(self) -> str:
        """Where the sizes of each argument come from, in one line."""
        places: dict[str, list[str]] = {}
        for item in self.arguments:
            places.setdefault(item.source, []).append(noted(item.name, item.text))
        return "; ".join(f"{', '.join(items)} from {source}" for source, items in places.items())

    def record(self, name: str = "", line: int | None = None) -> ProposedSizes:
        """Return what owners are told; ``name`` and ``line`` are the function's."""
        arguments = (
            ProposedArgument(item.name, item.text, item.source, item.is_open, item.described.is_tensor)
            for item in self.arguments
        )
        return ProposedSizes(tuple(arguments), self.note, self.problem, self.is_settled, name, line)


def propose(target: Target, partial: Partial, guard: Guard, root: Path | None) -> SizesProposal:
    """Return sizes for the arguments that ``partial`` misses.

    Args:
        target: the function.
        partial: what is described already.
        guard: watches the user's code.
        root: folder of the workspace, whose calls of the function are read; None reads those of its own file.

    Raises:
        JobError: the file cannot be imported.
        Refused: the function cannot be run at any sizes.
    """
    calls = calls_of(target, root)
    told = _told(target, calls)
    uses = usages(target)
    start = first_state(target, partial.found, told, uses)
    twins = sorted({frozenset({name, other}) for name, usage in uses.items() for other in usage.alike}, key=sorted)
    same_sizes = {frozenset({name, other}) for name, usage in uses.items() for other in usage.twins}
    arguments = [_first(partial, start, item.name) for item in target.arguments if not _keeps_default(partial, item)]
    subject, _ = load(target, Description(tuple(arguments), partial.bindings), guard)
    runner = SubjectRunner(subject, guard, peers_of(start), parameters_of(start))
    fixed = frozenset(partial.found) | frozenset(name for name in start.told if name not in start.guessed)
    examples = {name: item.examples for name, item in start.told.items()}
    same = alike(calls)
    solved = solve(runner, start.state, fixed, examples, same)
    if solved.is_found:
        better = refined(runner, solved, fixed, same, squares(calls), {pair: pair in same_sizes for pair in twins})
        if better is not solved:
            found = _tried(_Trial(target, partial, start, better, runner, subject, guard))
            if not found.problem:
                return found
    return _tried(_Trial(target, partial, start, solved, runner, subject, guard))


class _Trial(Record):
    """A solution, and what it takes to propose it and to try the proposal."""

    target: Target
    partial: Partial
    start: StartingPoint
    solved: Solved
    runner: SubjectRunner
    subject: TracedSubject
    guard: Guard

    def proposal(self, *, everywhere: bool = False) -> SizesProposal:
        """Return the solution with names for its sizes; ``everywhere`` writes out what they are multiples of."""
        return _proposal(self.target, self.partial, self.start, self.solved, self.runner, everywhere=everywhere)

    def checked(self, found: SizesProposal) -> SizesProposal:
        """Return a proposal with the problem that it has at other sizes."""
        return _checked(self.subject, self.partial, found, self.guard)


def _tried(trial: _Trial) -> SizesProposal:
    found = trial.proposal()
    checked = found if found.problem else trial.checked(found)
    if trial.solved.is_found and checked.problem and trial.solved.state.multiples:  # that it is a multiple was not seen
        again = trial.checked(trial.proposal(everywhere=True))
        return checked if again.problem else again
    return checked


def check(target: Target, description: Description, guard: Guard) -> Refused | None:
    """Run a function at the sizes of its description, and return why it cannot run at any.

    Raises:
        JobError: the file cannot be imported.
    """
    try:
        subject, examples = load(target, description, guard)
        bound = dict(description.bindings)
        if examples is not None:
            subject, bound = symbolic_arguments(subject, bound, guard, symbolic=True)
        sizing_of(subject, bound, guard)
    except Refused as error:
        return error
    return None


def _checked(subject: TracedSubject, partial: Partial, found: SizesProposal, guard: Guard) -> SizesProposal:
    """Try a proposal as it will be taken: at other sizes than those that it was found with."""
    description = completed(subject.target, replace(partial, bindings={}), found.described)
    try:
        sizing_of(subject.with_arguments(description.arguments or ()), {}, guard)
    except Refused as refused:
        return replace(found, problem=str(refused), line=refused.findings[0].line, cause=_cause(refused))
    return found


def _cause(refused: Refused | None) -> Refused | None:
    return refused if refused is not None and is_at_all_sizes(refused) else None


def written_down(item: Described) -> SizedArgument:
    """Return a tensor that the file itself describes for us."""
    return SizedArgument(item.name, _text(item.dims or (), item.dtype), "what is written at the function", False, item)


def _text(dims: Sequence[Dim], dtype: str) -> str:
    """Return sizes and element type as ``--input`` takes them."""
    text = " ".join([*map(_spelled, dims), *([dtype] if dtype != "fp32" else [])])
    is_like_a_number = not dims or (len(dims) == 1 and dims[0].constant is not None)
    return f"[{text}]" if is_like_a_number else text


def _first(partial: Partial, start: StartingPoint, name: str) -> Described:
    known = partial.found.get(name)
    dims = start.state.dims.get(name)
    return known or Described(name, dims, start.state.dtypes.get(name, "fp32"), start.state.values.get(name))


def _keeps_default(partial: Partial, argument: Argument) -> bool:
    """Whether an argument is left to a default that cannot be read."""
    return argument.name not in partial.found and argument not in partial.missing


def _told(target: Target, calls: Sequence[Mapping[str, Told]]) -> dict[str, Told]:
    """Return what is told, the strongest first: annotations, comments of the signature, documents, calls."""
    found = annotated(target)
    for name, (passing, line) in noted_in_passing(target).items():
        if passing.dims is not None and (name not in found or found[name].told_rank is None):
            place, dtype = TextPlace("comment", target.path, line), passing.dtype if passing.is_typed else ""
            found[name] = Told(name, place, tuple(map(_spelled, passing.dims)), dtype=dtype)
    for name, item in FunctionDocuments(target).read().items():
        known = found.get(name)
        if known is None or known.told_rank is None:
            found[name] = item
        elif not known.dtype:
            found[name] = replace(known, dtype=item.dtype)
    for name, item in joined(calls).items():
        known = found.get(name)
        ranks = {None, None if item.sizes is None else len(item.sizes)}  # a call adds sizes to a rank that is told
        is_bare = known is None or (known.sizes is None and known.rank in ranks)
        if known is None or (is_bare and not known.is_plain and not item.is_plain):
            found[name] = item if known is None or not known.dtype else replace(item, dtype=known.dtype)
        elif known.is_plain and known.value is None and item.is_plain:
            found[name] = item
        elif known.sizes is not None and len(known.sizes) == len(item.examples):
            found[name] = replace(known, examples=item.examples, dtype=known.dtype or item.dtype)
    return found


def _proposal(
    target: Target,
    partial: Partial,
    start: StartingPoint,
    solved: Solved,
    runner: SubjectRunner,
    *,
    everywhere: bool = False,
) -> SizesProposal:
    state = written_out(solved.state, everywhere=everywhere) if solved.is_found else solved.state
    run = runner.run(state, variables=True) if solved.is_found else None
    lettered = {} if run is None else {letter: size for _, letter, size in run.letters}
    shapes = renamed(target, state, {} if run is None else {**lettered, **run.variables})
    found: list[SizedArgument] = []
    for argument in target.arguments:
        name = argument.name
        if name in partial.found or (name not in shapes and name not in state.values):
            continue
        source, is_open = _source(target, name, start, solved)
        if name in shapes:
            dtype = state.dtypes.get(name, "fp32")
            described = Described(name, shapes[name], dtype)
            text = _text(shapes[name], dtype)
        else:
            described = Described(name, value=state.values[name])
            text = repr(state.values[name])
        found.append(SizedArgument(name, text, source, is_open, described))
    failure = solved.run.failure
    if failure is None:
        return SizesProposal(found)
    problem = str(failure.refused) if failure.refused is not None else failure.message
    return SizesProposal(found, problem, failure.line or target.line, _cause(failure.refused))


def _source(target: Target, name: str, start: StartingPoint, solved: Solved) -> tuple[str, bool]:
    """Return where an argument's sizes come from, and whether they are only a guess."""
    reasons = list(dict.fromkeys(why for argument, why in solved.state.reasons if argument == name and why))
    natural = solved.run.natural.get(name)
    said = start.told.get(name)
    if said is None and name not in start.guessed:
        return "its shape in the body", False
    if said is not None and name not in start.guessed:
        changed = f", changed by {reasons[0]}" if reasons and said.place.kind != "call" else ""
        return said.place.text(target.path) + changed, False
    if natural is not None and name in solved.state.dims:
        return f"{natural[0]} in line {natural[1]}", False
    if reasons:
        return ", ".join(reasons[:2]), False
    return _NAMES, True


def _spelled(size: Dim) -> str:
    return str(size).replace(" ", "")
