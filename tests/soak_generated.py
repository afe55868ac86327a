"""Generated Python files in numbers: from the benchmarks' tasks, from random programs, and from PyTorch functions.

Each is generated, certified once more as it stands on disk, read back, checked and verified; what is imported was
certified before. With every random program goes a hostile twin: foreign code in a drawn place, of which no text may be
in a file.
``python tests/soak_generated.py COUNT [SEED]`` runs it by itself.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from random import Random
from textwrap import indent

from job_records import candidates
from node_samples import SAMPLES, Inert, Since
from programs import generate, impl_text, task_text
from programs.running import assert_same_values, check, errors, run_library, run_oracle
from stepcore.check import check_text
from stepcore.conversion.to_python import ConvertError, task_to_python
from stepcore.findings.diagnostics import Severity
from stepcore.frontend.yaml.tasks import read_task
from stepcore.gate import certify, printed
from stepcore.gate.suite import same_code
from stepcore.printing.task import canonical_key

ROOT = Path(__file__).parents[1]
FOREIGN = "__import__('os').system('true FOREIGN')"
STEPS = 8


def run(seed: int, count: int) -> list[str]:
    """Try ``count`` files: tasks (each once), a function for each 40 files, random programs for the rest."""
    tasks = sorted(ROOT.glob("benchmarks/tasks*/*.step.yaml"))[: (count + 1) // 2]
    functions = _functions()[: (count - len(tasks)) // 40]
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for task in tasks:
            failures += _tried(str(task.relative_to(ROOT)), lambda task=task: of_task(task, folder))
        for source, function in functions:
            failures += _tried(function, lambda source=source, function=function: of_function(source, function, folder))
    for number in range(count - len(tasks) - len(functions)):
        failures += _tried(f"seed {seed}, program {number}", lambda number=number: of_program(seed, number))
    return failures


def of_task(task: Path, folder: Path) -> None:
    """A task of the benchmarks as Python, verified as ``stepsmith verify`` does."""
    text = task_to_python(read_task(task.read_text(encoding="utf-8"), str(task)))
    file = folder / f"{task.name.split('.')[0]}.step.py"
    _certified(text, file)
    _verified(file)


def of_function(source: Path, name: str, folder: Path) -> None:
    """A function of the benchmarks with the programs that are delivered for it, verified against it."""
    from test_torchfn_synth import job

    own = Path(shutil.copy(source, folder))
    answer = job(own, name)
    for program in answer["programs"]:
        file = folder / f"{name}.step.py"
        file.write_text(program["text"], encoding="utf-8")
        assert errors(check_text(program["text"], str(file)).diagnostics) == []
        _verified(file)


def of_program(seed: int, number: int) -> None:
    """A random program as Python: the same graph, the values of the slow interpreter; and its hostile twin."""
    rng = Random(seed * 1_000_003 + number)
    program = generate(rng, STEPS)
    text = task_text(program, impl_text(program, rng))
    python = task_to_python(read_task(text, "generated.step.yaml"))
    certify(python)
    result, checked = check(python, "generated.py")
    assert errors(result.diagnostics) == [], python
    assert canonical_key(checked.graph) == canonical_key(check(text)[1].graph)
    assert_same_values(run_library(checked), run_oracle(text).used)
    hostile(text, rng)


def hostile(text: str, rng: Random) -> None:
    """Foreign code at the start of a drawn block: refused, or not in the file."""
    samples = [each for found in SAMPLES.values() if not isinstance(found, Inert | Since)
               for each in ((found,) if isinstance(found, str) else found)]  # fmt: skip
    code = rng.choice(samples).replace("'P'", repr(FOREIGN)).replace("P", FOREIGN)
    lines = text.split("\n")
    blocks = [at for at, line in enumerate(lines) if line.rstrip().endswith(("|", "|-")) and lines[at + 1].strip()]
    at = rng.choice(blocks) + 1
    margin = len(lines[at]) - len(lines[at].lstrip())
    lines[at:at] = indent(code, " " * margin).split("\n")
    try:
        python = task_to_python(read_task("\n".join(lines), "hostile.step.yaml"))
    except ConvertError:
        return
    assert "FOREIGN" not in python, f"{code!r} passed the gate"


def _functions() -> list[tuple[Path, str]]:
    from benchmarks.suites.functions import functions_in

    found = sorted((ROOT / "benchmarks" / "functions").glob("*.py"))
    return [(path, name.rpartition("::")[2]) for path in found for name in functions_in(path)]


def _certified(text: str, file: Path) -> None:
    certify(text)
    assert same_code(printed(text), text)
    file.write_text(text, encoding="utf-8")
    found = check_text(file.read_text(encoding="utf-8"), str(file)).diagnostics
    assert [item for item in found if item.severity is Severity.ERROR] == []


def _verified(file: Path) -> None:
    (candidate,) = candidates({"path": str(file), "text": file.read_text(encoding="utf-8")})
    verdict = candidate.session.verify(candidate.checked)
    assert verdict.accepted, verdict.detail


def _tried(what: str, attempt: object) -> list[str]:
    try:
        attempt()  # type: ignore[operator]
    except Exception as error:  # noqa: BLE001  # all that goes wrong is a failure of this case, and none of the others'
        return [f"{what}: {type(error).__name__}: {error}"]
    return []


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "agents"), str(ROOT / "server")]
    wanted = run(int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[1]))
    print("\n".join(wanted) or "no failures")
    sys.exit(bool(wanted))
