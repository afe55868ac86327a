"""``stepsmith synth FILE.py::FUNCTION``: functions to programs on the command line. No torch in this process.

The job runs in a worker; what comes back is shown, written, and turned into an exit code.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stepagents.cli.rows import unwritten
from stepagents.shapes.workspace import project_of
from stepagents.spending import spending
from stepagents.torchfn.target import HEAD, split_argument
from stepcore.cli.terminal import (
    EXIT_CLEAN,
    EXIT_FINDINGS,
    EXIT_INTERRUPTED,
    EXIT_UNUSABLE,
    awaited,
    complain,
    waiting,
    write_program,
)
from stepcore.findings.codes import Outcome, Phase, about
from stepcore.isolation import Isolation, isolation_for
from stepcore.jobdata.choices import SUFFIXES, Emit
from stepcore.jobdata.failures import Finding
from stepcore.jobdata.plain import to_plain
from stepcore.jobdata.writing import FUNCTION, Experience, FunctionRequest, FunctionResult, Solution
from stepcore.jobs import Job, JobError, Limits, Pool
from stepcore.jobs.proposers import AUTO, LOWER
from stepcore.records import Record
from stepcore.reports.text import clean
from stepcore.settings.config import ConfigError
from stepcore.settings.limits import user_wishes
from stepcore.system.scarce import reason_of
from stepcore.text.files import Unusable, read_file
from stepcore.text.places import WritingPlace, place_of
from stepcore.text.wording import one_line

if TYPE_CHECKING:
    from stepcore.cli.beside import Beside

COMMAND: Final = (sys.executable, "-P", "-m", "stepagents.worker")
BUDGET_SECONDS: Final = 120.0  # for one function or one layer of a network, imports of PyTorch included
MOST_PARTS: Final = 2000  # layers of a network, for each of which the time counts anew
# Where a job ends here, the function itself cannot be used, as against: nothing was found for it.
_BEFORE: Final = frozenset({Phase.FILE, Phase.SYNTAX, Phase.SET_UP, Phase.SUBJECT})
_ROUNDED_FROM: Final = 100
# What is told of the best program.
_COSTS: Final = (
    "operators", "layers", "distinct_layers", "streaming_degree", "compulsory_bytes", "traffic_ratio", "on_chip_bytes",
    "off_chip_bytes",
)  # fmt: skip
_SOURCE: Final = re.compile(r'^source: ".*\.py::', re.MULTILINE)  # the key of a delivered task


class FunctionOptions(Record):
    """What the options of the same names say; ``dims`` binds sizes, ``inputs`` are texts such as ``x=m k``.

    ``seconds`` is for the whole job, ``budget`` for a search in it, which learns from ``experiences``; ``samples`` are
    the answers that a model is asked for.
    """

    inputs: Sequence[str] = ()
    dims: Mapping[str, int] = field(default_factory=dict)
    emit: Emit = "python"
    output: Path | None = None
    explain: bool = False
    as_json: bool = False
    seconds: float = BUDGET_SECONDS
    seed: int = 42
    proposer: str = AUTO
    budget: float | None = None
    samples: int = 1
    experiences: Sequence[Experience] = ()


class _Output(Record):
    """Where programs go, as the paths led before any function ran; ``file`` None: into the folder."""

    folder: WritingPlace
    file: WritingPlace | None


class Answers(Record):
    """Programs that a model wrote for a function's task; what its answers took: tokens, US dollars where known."""

    writer: str = ""
    impls: Sequence[str] = ()
    tokens: int = 0
    cost: float | None = None
    tokens_counted: bool = True

    @property
    def spent(self) -> str:
        """What they took, in words; empty where no model was asked."""
        return spending(self.tokens, self.cost, is_counted=self.tokens_counted) if self.tokens else ""


@dataclass(slots=True)
class FunctionRow:
    """What came of one function: the result of its job, or ``problem`` with its findings.

    ``answers`` are those of a model that was asked for it. A program that cannot be written is shown.
    """

    argument: str
    path: str
    answers: Answers = field(default_factory=Answers)
    found: FunctionResult | None = None
    problem: str = ""
    findings: Sequence[Finding] = ()
    unusable: bool = False
    unwritten: str = ""  # why its program is in no file
    timings: Sequence[Beside] = ()  # of its programs

    @property
    def programs(self) -> tuple[Solution, ...]:
        """The programs, best first."""
        return () if self.found is None else self.found.programs

    @property
    def best(self) -> Solution | None:
        """The best program, None where there is none."""
        return self.programs[0] if self.programs else None

    def as_json(self) -> dict[str, Any]:
        """Return the keys of ``synth`` for tasks, and those for functions."""
        found, best = self.found, self.best
        return {
            "task": getattr(found, "name", "") or self.argument.rpartition("::")[2],
            "path": self.path,
            "solved": best is not None,
            "impl": getattr(best, "impl", ""),
            "proposer": getattr(best, "proposer", LOWER),
            "candidates": getattr(found, "candidates", 0),
            "seconds": round(getattr(found, "seconds", 0.0), 6),
            "tokens": self.answers.tokens,
            "cost": self.answers.cost,
            "solutions": [item.impl for item in self.programs],
            "accepted": len(self.programs),
            "outcomes": {},
            "reason": self.problem or self.unwritten or getattr(found, "reason", ""),
            "form": getattr(best, "form", None),
            **{name: getattr(best, name, None) for name in _COSTS},
            "peak_bytes": getattr(found, "peak_bytes", None),
            "cpu_seconds": getattr(found, "cpu_seconds", None),
            "timing": self.timings[0].as_json() if self.timings else None,
            "programs": [self._program_json(number) for number in range(len(self.programs))],
            "unsupported": to_plain(getattr(found, "unsupported", ()) or tuple(self.findings)),
            "program": getattr(best, "text", ""),
            "notes": list(getattr(found, "notes", ())),
            "sizes": getattr(found, "sizes", {}),
            "inferred": to_plain(getattr(found, "inferred", None)),
        }

    def _program_json(self, number: int) -> dict[str, Any]:
        """Return one of the programs with what it costs, and its cycles where they are known."""
        program = self.programs[number]
        return {
            "program": program.text or "",
            "form": program.form,
            "layout": program.layout,
            **{name: getattr(program, name) for name in _COSTS},
            "timing": self.timings[number].as_json() if number < len(self.timings) else None,
        }


def run_functions(
    arguments: Sequence[str],
    options: FunctionOptions,
    answers: Mapping[str, Answers] | None = None,
    learn: Callable[[FunctionRow], None] = lambda _row: None,
) -> int:
    """Synthesize a program for each ``FILE.py::FUNCTION``, show or write it, and return the exit code.

    0 all are solved, 1 some are not, 2 an argument cannot be used, 130 interrupted (what was found is shown).
    ``answers`` are tried, too; ``learn`` hears of each row.
    """
    rows: list[FunctionRow] = []
    taken: set[Path] = set()
    interrupted = False
    try:
        output = _prepared(options.output)
    except OSError as error:
        complain(f"{one_line(error.filename)} cannot be made: {reason_of(error)}")
        return EXIT_UNUSABLE
    try:
        with waiting("synthesizing") as tell:
            for row in function_rows(arguments, options, tell, answers):
                rows.append(row)
                learn(row)
                _rank(row, options)
                if row.best and output is not None:
                    place = _place(row, output, options.emit, len(arguments), taken)
                    taken.add(place.path)
                    _write(place, row)
                if not options.as_json:
                    _show(row, options)
    except KeyboardInterrupt:
        interrupted = True
    if options.as_json:
        print(json.dumps([row.as_json() for row in rows], indent=2))
    elif len(arguments) > 1:
        print(f"{sum(bool(row.best) for row in rows)} of {len(arguments)} solved")
    if interrupted:
        return EXIT_INTERRUPTED
    if any(row.unusable for row in rows):
        return EXIT_UNUSABLE
    return EXIT_CLEAN if all(row.best for row in rows) else EXIT_FINDINGS


def _rank(row: FunctionRow, options: FunctionOptions) -> None:
    """Put the programs with the fewest cycles first."""
    found = row.found
    if found is None or not found.programs:
        return
    from stepagents.cli.cycles import ranked, timed_text  # the checker, which the worker need not wait for
    from stepcore.cli.beside import TimingWishes

    name = f"{found.name}{SUFFIXES[options.emit]}"
    near = _destination(row.path, options).absolute()
    wishes = TimingWishes()
    pairs = ranked(
        found.programs,
        lambda program: timed_text(program.text or "", name, near / name, wishes=wishes),
        lambda program: program.cycles,
    )
    row.found = replace(found, programs=tuple(program for program, _timing in pairs))
    row.timings = [timing for _program, timing in pairs]


def function_rows(
    arguments: Sequence[str],
    options: FunctionOptions,
    tell: Callable[[str], None] = lambda _text: None,
    answers: Mapping[str, Answers] | None = None,
) -> Iterator[FunctionRow]:
    """Yield a row for each argument, in their order; leaving the iterator early ends the workers.

    ``answers`` are tried, too, by argument.
    """
    answers = answers or {}
    with _BEGUN.pop() if _BEGUN else _pool(len(arguments)) as pool:
        orders = [_submit(pool, each, options, tell, answers.get(each, Answers())) for each in arguments]
        for row, job in orders:
            yield row if job is None else _finished(row, job)


@contextmanager
def begun(words: Sequence[str]) -> Iterator[None]:
    """Start the worker for those of ``words`` that name functions of a file; :func:`function_rows` inside uses it.

    It imports PyTorch, and runs nothing of the file before a job is sent.
    """
    splits = [split for word in words if (split := split_argument(word)) is not None and Path(split[0]).is_file()]
    try:
        isolation = _isolation(splits[0][0]) if splits else None
    except ConfigError:  # the job tells
        isolation = None
    if isolation is None:
        yield
        return
    with _pool(len(splits)) as pool:
        pool.start_worker(isolation)
        _BEGUN.append(pool)
        try:
            yield
        finally:
            _BEGUN.clear()


_BEGUN: Final[list[Pool]] = []


def _pool(count: int) -> Pool:
    """Return a pool for so many functions."""
    return Pool(COMMAND, size=min(2, max(count, 1)), limits=Limits(seconds=BUDGET_SECONDS, parts=MOST_PARTS))


def _isolation(path: str) -> Isolation:
    return isolation_for(Path(path), network=bool(user_wishes().network))


def _submit(
    pool: Pool, argument: str, options: FunctionOptions, tell: Callable[[str], None], answers: Answers
) -> tuple[FunctionRow, Job[FunctionResult] | None]:
    split = split_argument(argument)
    path, selector = split if split is not None else (argument, "")
    row = FunctionRow(argument, path, answers)
    try:
        text = read_file(Path(path)).text
    except Unusable as error:
        row.problem, row.unusable = f"{one_line(error.path)}: {error.code} {error.message}", True
        return row, None
    request = FunctionRequest(
        path=path,
        text=text,
        selector=selector,
        trusted=True,  # whoever names a function on the command line wants it to run
        inputs=tuple(options.inputs),
        dims=dict(options.dims),
        emit=options.emit,
        folder=str(_destination(path, options)),
        root=str(project_of(Path(path))),
        seed=options.seed,
        proposer=options.proposer,
        seconds=options.budget,
        experiences=tuple(options.experiences),
        impls=tuple(answers.impls),
        writer=answers.writer,
    )
    return row, pool.submit(
        FUNCTION,
        request,
        seconds=options.seconds,
        isolation=_isolation(path),
        on_progress=lambda data: tell(f"{selector}: {data.stage}"),
    )


def _finished(row: FunctionRow, job: Job[FunctionResult]) -> FunctionRow:
    try:
        row.found = awaited(job)
    except JobError as error:
        line, column = error.detail.get("line"), error.detail.get("column")
        place = one_line(row.path) + ("" if line is None else f":{line}" + (f":{column}" if column else ""))
        row.problem = f"{place}: {error.code} {error.message}"
        row.findings = error.detail.get("findings", ())
        info = about(error.code)
        row.unusable = info.phase in _BEFORE or info.outcome is Outcome.REFERENCE_FAILED
    return row


def _destination(path: str, options: FunctionOptions) -> Path:
    """Return the folder of the programs for functions of a file: beside it where nothing else is said."""
    return _folder(options.output) or Path(path).absolute().parent


def _folder(output: Path | None) -> Path | None:
    if output is None:
        return None
    return output if output.is_dir() or not output.suffix else output.parent


def _prepared(output: Path | None) -> _Output | None:
    """Make the folder in which programs are tried out before they are written, and see where they go.

    Raises:
        OSError: it cannot be made.
    """
    folder = _folder(output)
    if output is None or folder is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    return _Output(place_of(folder), None if output == folder else place_of(output))


def _write(place: WritingPlace, row: FunctionRow) -> None:
    """Write a program, unless that would replace a file that is none of ours; one that is not written is shown."""
    assert row.best is not None
    try:
        if place.path.exists() and not _is_ours(place.path):
            row.unwritten = f"{one_line(place.path)} exists and was not written by synth; give another --output"
        else:
            place.write((row.best.text or "").encode("utf-8"))
    except OSError as error:
        row.unwritten = unwritten(place.path, error)
    if row.unwritten:
        row.unusable = True
        complain(row.unwritten)


def _is_ours(place: Path) -> bool:
    """Whether a file was delivered: a program that says so, or a task that names the function that it was made from."""
    try:
        text = read_file(place).text
    except Unusable:
        return False
    return text.startswith(f'"""{HEAD}') or _SOURCE.search(text) is not None


def _place(row: FunctionRow, output: _Output, emit: Emit, count: int, taken: Container[Path]) -> WritingPlace:
    """Return where a program goes; of two with one name the later one is called after its file, too."""
    if count == 1 and output.file is not None:
        return output.file
    assert row.found is not None
    name, suffix = row.found.name, SUFFIXES[emit]
    longer = f"{Path(row.path).stem}_{name}"
    names = (name, longer, *(f"{longer}_{number}" for number in range(2, count + 2)))
    folder = output.folder if output.file is None else output.file
    places = (folder.below(f"{name}{suffix}") for name in names)
    return next(place for place in places if place.path not in taken)


def _show(row: FunctionRow, options: FunctionOptions) -> None:
    found, best = row.found, row.best
    if found is None or row.problem:
        complain(row.problem)
        return
    spent = f", {row.answers.spent}" if row.answers.spent else ""
    if best is None:
        took = f"{found.candidates} candidates, {found.seconds:.2f} s{spent}"
        print(f"not solved  {one_line(found.name)}  ({took})")
        for item in found.unsupported:
            print(f"  {one_line(item.path)}:{item.line}: {one_line(item.operation)}: {one_line(item.text)}")
        if not found.unsupported:
            print("\n".join(f"  {line}" for line in clean(found.reason).split("\n")))
    else:
        print(f"solved  {one_line(found.name)}  ({_costs(best)}, {found.seconds:.2f} s{spent})")
        print(f"  cycles: {row.timings[0].line}")
        if options.explain:
            _explain(found, row.timings)
        if options.output is None or row.unwritten:
            print()
            write_program(best.text or "")
    for note in found.notes:
        complain(f"{one_line(row.path)}: note: {note}")
    if best is not None and best.form == "tiled" and len(found.programs) > 1 and not options.explain:
        complain("--explain and --format json show all of them")
    sys.stdout.flush()


def _costs(program: Solution) -> str:
    degree = program.streaming_degree
    shown = "unknown" if degree is None else f"{degree:.3f}"
    return (
        f"{program.operators} operators, streaming degree {shown}, "
        f"{_bytes(program.on_chip_bytes)} on chip, {_bytes(program.off_chip_bytes)} off-chip traffic"
        f"{_times(program.traffic_ratio)}"
    )


def _times(ratio: float | None) -> str:
    """Say how many times the compulsory traffic it is."""
    if ratio is None:
        return ""
    return f" ({ratio:,.0f}x compulsory)" if ratio >= _ROUNDED_FROM else f" ({ratio:.3g}x compulsory)"


def _bytes(count: int | None) -> str:
    return "unknown bytes" if count is None else f"{count:,} B"


def _explain(found: FunctionResult, timings: Sequence[Beside]) -> None:
    from stepagents.cli.cycles import ORDER
    from stepcore.cycles.bounds import COMPUTE

    for name, reason in found.fixed.items():
        print(f"  the size {name} is a number: {one_line(reason)}")
    for sizes in found.checked_at:
        print(
            f"  equal to the function at {', '.join(f'{name}={size}' for name, size in sizes.items()) or 'its sizes'}"
        )
    best = found.programs[0]
    print(
        "  streaming degree: 1 less on-chip bytes over the program's own traffic, all free sizes at least 64; "
        "it does not see what is streamed again"
    )
    print(
        f"  compulsory traffic: each input and output once, {_bytes(best.compulsory_bytes)}; "
        "of equally fast ones first come few operators, little traffic over it, little memory, a high degree"
    )
    print(f"  {ORDER}")
    print(f"  the bound: compulsory traffic at the memory's peak, or the program's FLOPs at {COMPUTE:,} a cycle")
    if best.sizes:
        print(f"  bytes are counted at {', '.join(f'{name}={size}' for name, size in best.sizes.items())}")
    for number, (program, timing) in enumerate(zip(found.programs, timings, strict=True), start=1):
        print(f"  program {number}: {_costs(program)}; layout {one_line(program.layout or '')}")
        print(f"    cycles: {timing.line}")
