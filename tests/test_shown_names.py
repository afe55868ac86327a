"""Names of files, tasks and runs reach a terminal as text on a line: they forge no lines and steer no terminal."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from html import escape
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest

import stepcore as step
import warm
from cli_inputs import GOOD, ILL_TYPED, PYTHON, TASK
from stepagents.optimize.outcome import Optimized
from stepagents.optimize.page import optimize_page
from stepagents.report.page import report_page
from stepcore.cli import doctor, main
from stepcore.cli.terminal import complain
from stepcore.text.wording import one_line
from test_report import attempt, run

FORGED = "forged.step.yaml:1:1: error[STEP101] not there"
NAMES = {
    "line break": f"a\n{FORGED}\nb",
    "carriage return": f"a\r{FORGED}\rb",
    "form feed and separators": f"a\f{FORGED}\u2028b\u2029c\x85d\vb",
    "colours": "a\x1b[2J\x1b[31mred\x1b[0m",
    "title of the window": "a\x1b]0;mine\x07b",
    "link": "a\x1b]8;;x:y\x1b\\b",
    "one-byte control": "a\x9b31mb",
    "direction": "a\u202elmay.pets\u202c\u2066b\u2069",
    "bytes that are no text": os.fsdecode(b"a\xff\xfeb"),
    "markup": "a[bold red]b",
    "backspaces": "abc\b\b\bdef",
    "nothing to see": "a\u200b\u200d\ufeffb",
}
# For commands that start processes: all at once.
WORST = f"a\n{FORGED}\r\x1b[2J\u202e\x9b31m\u2028{os.fsdecode(bytes([0xFF]))}[red]b"


def shown_right(text: str) -> None:
    """Refuse output that steers a terminal or holds the forged line."""
    for line in text.split("\n"):
        assert not line.lstrip().startswith("forged.step.yaml"), text
    wrong = {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert not wrong, (wrong, text)


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A strange name; the current folder has it, too."""
    return in_folder(NAMES[request.param], tmp_path, monkeypatch)


@pytest.fixture
def worst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The strangest name of all; the current folder has it, too."""
    return in_folder(WORST, tmp_path, monkeypatch)


def in_folder(strange: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / strange
    try:
        folder.mkdir()
    except OSError:  # this file system has names of text only
        pytest.skip("this file system does not take the name")
    warm.lend(monkeypatch)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "1000")
    return strange


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command and return what it wrote, which must be harmless."""
    code = main(arguments)
    found = capsys.readouterr()
    shown_right(found.out)
    shown_right(found.err)
    assert code in (0, 1, 2)
    assert "internal error" not in found.out + found.err and "Traceback" not in found.err
    return found.out + found.err


def test_one_line() -> None:
    assert one_line("plain ä 字 🙂") == "plain ä 字 🙂"
    assert one_line("a\nb\r\x1b[0m\u202e\udcff\U000e0001") == "a\\nb\\r\\x1b[0m\\u202e\\udcff\\U000e0001"
    for strange in NAMES.values():
        assert one_line(strange).isprintable()


def test_a_complaint_of_many_lines_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    complain("expected\nstepsmith: accepted\x1b[2J")
    assert capsys.readouterr().err == "stepsmith: expected\n    stepsmith: accepted\ufffd[2J\n"


def test_check(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(f"{name}.step.yaml")
    file.write_text(TASK + ILL_TYPED, encoding="utf-8")
    text = output(capsys, "check", str(file))
    assert f"{one_line(file)}:" in text
    output(capsys, "check", ".")
    output(capsys, "check", f"no-{name}.step.yaml")
    output(capsys, "check", f"{file}::{name}")


def test_reports_for_machines_have_the_exact_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(f"{name}.step.yaml")
    file.write_text(TASK + ILL_TYPED, encoding="utf-8")
    found = json.loads(output(capsys, "check", "--format", "json", str(file)))
    paths = [part["path"] for part in found["files"]] if isinstance(found, dict) else [part["path"] for part in found]
    assert str(file) in paths
    sarif = json.loads(output(capsys, "check", "--format", "sarif", str(file)))
    uri = sarif["runs"][0]["artifacts"][0]["location"]["uri"]
    assert unquote_to_bytes(uri) == os.fsencode(file) and uri.isascii() and uri.isprintable()


def test_verify_and_simulate(worst: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(f"{worst}.step.yaml")
    file.write_text(TASK + GOOD, encoding="utf-8")
    text = output(capsys, "verify", str(file))
    assert one_line(file) in text and "accepted" in text
    assert one_line(file) in output(capsys, "simulate", str(file))
    assert json.loads(output(capsys, "verify", "--format", "json", str(file)))[0]["path"] == str(file)
    file.write_text(TASK, encoding="utf-8")
    for arguments in (("verify",), ("simulate",), ("verify", "--impl", worst), ("verify", "--impl", ".")):
        output(capsys, *arguments, str(file))
    script = Path(f"{worst}.py")
    script.write_text(PYTHON.replace("return", "raise ValueError", 1), encoding="utf-8")
    for command in ("verify", "simulate"):
        output(capsys, command, str(script))
        output(capsys, command, f"{script}::{worst}")
        output(capsys, command, f"no-{worst}.py")


def test_convert(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(f"{name}.step.yaml")
    file.write_text(TASK + GOOD, encoding="utf-8")
    output(capsys, "convert", str(file), "--out", f"{name}.step.py")
    assert Path(f"{name}.step.py").exists()
    refused = ((f"{file}::{name}",), (f"no-{name}.step.yaml",), (str(file), "-o", str(file)), (str(file), "-o", name))
    for arguments in refused:
        output(capsys, "convert", *arguments)


def test_synth_bench_improve_and_experience(worst: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(f"{worst}.step.yaml")
    file.write_text(TASK, encoding="utf-8")
    broken = Path(f"broken-{worst}.step.yaml")
    broken.write_text("inputs: [\n", encoding="utf-8")
    few = ("--samples", "200", "--budget-seconds", "20")
    assert one_line(worst)[:3] in output(capsys, "synth", str(file), *few, "--experience", "auto")
    output(capsys, "synth", str(broken), f"no-{worst}.step.yaml", *few)
    output(capsys, "synth", str(file), "--output", str(broken), *few)
    output(capsys, "bench", str(file), "--label", worst, "--save", worst + "-run", *few)
    saved = next(Path(worst + "-run").glob("*.json"))
    output(capsys, "bench", "--compare", str(saved), str(saved))
    output(capsys, "bench", "--compare", f"no-{worst}.json")
    store = ("--store", str(Path(f"{worst}.db").absolute()))
    output(capsys, "improve", str(file), *store, "--samples", "200", "--budget-seconds", "20", "--rounds", "1")
    output(capsys, "experience", "list", *store, "--all-workspaces")
    output(capsys, "experience", "show", "1", *store)
    output(capsys, "experience", "export", f"{worst}.jsonl", *store)
    output(capsys, "experience", "import", f"{worst}.jsonl", "--no-verify", *store)
    Path(f"{worst}.jsonl").write_text('{"task": "\\u001b[2J\\n' + FORGED + '"}\n', encoding="utf-8")
    output(capsys, "experience", "import", f"{worst}.jsonl", "--no-verify", *store)
    output(capsys, "experience", "import", f"no-{worst}.jsonl", *store)


def test_synthesis_of_functions(worst: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = Path(f"{worst}.py")
    script.write_text("import torch\n\ndef f(x: torch.Tensor):\n    return x.sort()\n", encoding="utf-8")
    output(capsys, "synth", f"{script}::f", "--dims", "x=2")
    output(capsys, "synth", f"{script}::{worst}")
    output(capsys, "synth", f"no-{worst}.py::f")


def test_doctor_and_explanations(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("pyproject.toml").write_text("[tool.stepsmith]\n", encoding="utf-8")
    monkeypatch.setattr(sys, "executable", f"/bin/{name}")
    monkeypatch.setattr(doctor, "_worker", lambda: doctor.DoctorRow("simulator", False, name, name))
    assert one_line(name) in output(capsys, "doctor")
    Path("pyproject.toml").write_text(f"[tool.stepsmith]\n{json.dumps(NAMES['colours'])} = 1\n", encoding="utf-8")
    output(capsys, "doctor")
    output(capsys, "explain", name)
    output(capsys, "ops", name)
    output(capsys, name)
    output(capsys, "check", f"--{name}")


def test_time_and_hardware(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(f"{name}.step.yaml")
    file.write_text(TASK + GOOD, encoding="utf-8")
    assert f"{one_line(file)}::" in output(capsys, "time", str(file))
    assert json.loads(output(capsys, "time", "--format", "json", str(file)))[0]["path"] == str(file)
    output(capsys, "time", "--compare", str(file), str(file))
    output(capsys, "time", "--compare", "sn40l", "example", str(file))
    output(capsys, "simulate", "--timing", str(file))
    output(capsys, "verify", str(file))
    file.write_text(TASK + ILL_TYPED, encoding="utf-8")
    output(capsys, "time", str(file))
    output(capsys, "time", f"{file}::{name}", "--hw", f"{name}.toml")
    script = Path(f"{name}.py")
    script.write_text(PYTHON, encoding="utf-8")
    output(capsys, "time", str(script))
    output(capsys, "time", "--compare", str(script), name)
    chip = Path(f"{name}.toml")
    chip.write_text('base = "sn40l"\n', encoding="utf-8")
    output(capsys, "hw", "--hw", str(chip))
    output(capsys, "hw", name)
    output(capsys, "time", "--hw", str(chip), str(script))
    chip.write_text(f"base = 3\n{json.dumps(name)} = 1\n", encoding="utf-8")
    output(capsys, "hw", "--hw", str(chip))
    Path("pyproject.toml").write_text(f"[tool.stepsmith.timing]\nhw = {json.dumps(str(chip))}\n", "utf-8", "replace")
    output(capsys, "hw")


MARKUP = "<img src=x onerror=alert(1)></script><b>\"'&"


def test_pages_of_optimize(worst: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path("<img src=x onerror=alert(1)><")
    folder.mkdir()
    file = folder / f"script><b>{worst}.step.yaml"
    file.write_text(TASK + GOOD.replace("E1, E2", f"# {MARKUP}\n  E1, E2", 1), encoding="utf-8")
    text = output(capsys, "optimize", "--budget-seconds", "2", str(file))
    assert one_line(file) in text
    output(capsys, "optimize", "--budget-seconds", "2", str(file))
    page = output(capsys, "optimize", "--budget-seconds", "2", "--format", "html", str(file))
    assert escape(one_line(file)) in page
    assert "<img" not in page and "<b>" not in page and "</script" not in page


def test_pages_of_runs_and_streams_of_notebooks() -> None:
    strange = MARKUP + "".join(NAMES.values())
    failed = attempt(strange, reason=strange, impl=f"# {MARKUP}\x1b[2J\u202e\x85\n\treturn E0")
    pages = [
        report_page([run([failed], label=strange)]),
        optimize_page([Optimized(strange, strange, strange, strange, problem=strange)], [strange]),
    ]
    stream = step.Stream(strange, step.f32, 0, [2])
    pages.append(stream._repr_html_())
    for page in pages:
        shown_right(page.replace("\t", ""))
        assert "<img" not in page and "<b>" not in page and "</script" not in page
        assert escape(MARKUP) in page
    assert "\\x1b[2J\\u202e\\x85\n\treturn E0</pre>" in pages[0]
    assert one_line(strange) in repr(stream)
