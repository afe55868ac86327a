"""`stepsmith check`: findings, fixes, formats, exit codes, unusable input."""

from __future__ import annotations

import errno
import io
import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli_inputs import GOOD, ILL_TYPED, PYTHON, TASK, TWICE
from processes import PATIENCE
from stepcore.cli import main
from stepcore.cli.quick import CheckOptions, parse_check
from stepcore.text.files import read_beginning


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


def write(name: str, text: str) -> str:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_bytes(text.encode())
    return name


def check_json(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[dict[str, Any]]]:
    code = main(["check", "--format", "json", *words])
    files: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["files"]
    return code, files


def test_clean_files_exit_0(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK + GOOD)
    write("b.py", PYTHON)
    assert main(["check", "a.step.yaml", "b.py"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "2 files checked, no findings\n"
    assert captured.err == ""


@pytest.mark.parametrize("words", [["doctor"], ["check", "."], ["verify", "a.py"]])
def test_a_folder_that_was_removed_is_told(words: list[str], tmp_path: Path) -> None:
    command = f'cd "{tmp_path}" && rmdir "{tmp_path}" && exec "{sys.executable}" -m stepcore.cli {" ".join(words)}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 2
    assert "STEP901" in done.stdout + done.stderr
    assert "was removed" in done.stdout + done.stderr


def test_findings_exit_1_and_show_the_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK + TWICE)
    assert main(["check", "a.step.yaml"]) == 1
    out = capsys.readouterr().out
    lines = out.split("\n")
    row = (TASK + TWICE).split("\n").index("  E4 = step.Zip().apply((E3, E0))   # the second use") + 1
    assert lines[0].startswith(f"a.step.yaml:{row}:30: error[STEP101] ")
    assert lines[1].endswith("E4 = step.Zip().apply((E3, E0))   # the second use")
    assert lines[2].index("^^") == lines[1].index("E0)")
    assert f"note: a.step.yaml:{row - 1}:" in out
    assert "fix: " in out
    assert "1 file checked: 1 error; 1 can be fixed with --fix" in out


def test_json_counts_utf16_units(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = PYTHON.replace(
        "    return step.Accum(fn=add, b=1).apply(E0)", '    x = "\U0001f600\U0001f600"; E9 = step.Nonesuch().apply(E0)'
    )
    write("b.py", text)
    code, files = check_json(capsys, "b.py")
    found = [d for d in files[0]["diagnostics"] if d["code"] == "STEP201"]
    line = next(number for number, line in enumerate(text.split("\n")) if "Nonesuch" in line)
    before = text.split("\n")[line].index("Nonesuch")
    start, end = found[0]["range"]["start"], found[0]["range"]["end"]
    assert code == 1
    assert start["line"] == end["line"] == line
    # Both emoji before it count twice; the span may begin at `step` or at the operator's name.
    assert start["character"] in (before + 2, before + 2 - len("step."))
    assert set(found[0]) == {"code", "severity", "message", "range", "related", "fix"}


def test_json_fix_edits_mend_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = TASK + TWICE
    write("a.step.yaml", text)
    _, files = check_json(capsys, "a.step.yaml")
    finding = files[0]["diagnostics"][0]
    lines = text.split("\n")
    starts = [sum(len(line.encode("utf-16-le")) // 2 + 1 for line in lines[:n]) for n in range(len(lines))]
    units = text.encode("utf-16-le")
    edits = sorted(finding["fix"]["edits"], key=lambda e: e["range"]["start"]["line"] * 10**6, reverse=True)
    for edit in sorted(edits, key=lambda e: (e["range"]["start"]["line"], e["range"]["start"]["character"]))[::-1]:
        start, end = (starts[p["line"]] + p["character"] for p in (edit["range"]["start"], edit["range"]["end"]))
        units = units[: 2 * start] + edit["newText"].encode("utf-16-le") + units[2 * end :]
    write("b.step.yaml", units.decode("utf-16-le"))
    assert main(["check", "b.step.yaml"]) == 0


def test_hints_do_not_fail(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unused = GOOD.replace("  return E5", "  return E5").replace(
        "E3 = step.Map(fn=fn_double).apply(E1)", "E3, E9 = step.Copy().apply(step.Map(fn=fn_double).apply(E1))"
    )
    write("a.step.yaml", TASK + unused)
    assert main(["check", "a.step.yaml"]) == 0
    assert "hint[STEP103]" in capsys.readouterr().out


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_fix_keeps_everything_else(folder: Path, capsys: pytest.CaptureFixture[str], ending: str, bom: str) -> None:
    original = bom + (TASK + TWICE).replace("\n", ending)
    write("a.step.yaml", original)
    Path("a.step.yaml").chmod(0o640)
    assert main(["check", "--fix", "a.step.yaml"]) == 0
    assert "fixed a.step.yaml" in capsys.readouterr().out
    data = Path("a.step.yaml").read_bytes()
    fixed = data.decode()
    assert fixed.startswith(bom + "test_name")
    assert fixed.count("\ufeff") == len(bom)
    assert fixed.count("\r\n") == (fixed.count("\n") if ending == "\r\n" else 0)
    assert "# a comment that stays, with an emoji: \U0001f600" in fixed
    assert "# the second use" in fixed
    assert "step.Copy()" in fixed
    if os.name == "posix":
        assert stat.S_IMODE(Path("a.step.yaml").stat().st_mode) == 0o640
    assert [path.name for path in folder.iterdir()] == ["a.step.yaml"]
    assert main(["check", "--fix", "a.step.yaml"]) == 0
    assert Path("a.step.yaml").read_bytes() == data


def test_fix_keeps_the_declared_encoding(folder: Path) -> None:
    text = "# -*- coding: latin-1 -*-\n# \xe9\n" + PYTHON.replace(
        "    return step.Accum(fn=add, b=1).apply(E0)",
        "    E1 = step.Accum(fn=add, b=1).apply(E0)\n    E2 = step.Accum(fn=add, b=1).apply(E0)\n    return E1",
    )
    Path("a.py").write_bytes(text.encode("latin-1"))
    assert main(["check", "--fix", "a.py"]) == 0
    assert b"# \xe9\n" in Path("a.py").read_bytes()
    assert b"Copy()" in Path("a.py").read_bytes()


def test_fix_follows_links(folder: Path) -> None:
    write("real.step.yaml", TASK + TWICE)
    Path("link.step.yaml").symlink_to("real.step.yaml")
    assert main(["check", "--fix", "link.step.yaml"]) == 0
    assert Path("link.step.yaml").is_symlink()
    assert "Copy" in Path("real.step.yaml").read_text()


def test_fix_that_cannot_be_written_loses_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write("a.step.yaml", TASK + TWICE)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert main(["check", "--fix", "a.step.yaml"]) == 2
    assert "no space left" in capsys.readouterr().out
    assert Path("a.step.yaml").read_text() == TASK + TWICE
    assert [path.name for path in folder.iterdir()] == ["a.step.yaml"]


def test_standard_input(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((TASK + TWICE).encode())))
    assert main(["check", "--fix", "-"]) == 0
    captured = capsys.readouterr()
    assert "step.Copy()" in captured.out
    assert captured.out.startswith("test_name")
    assert "no findings" in captured.err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PYTHON.encode())))
    assert main(["check", "-", "--stdin-name", "x.py"]) == 0


def test_affine_rules(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK + TWICE)
    code, files = check_json(capsys, "a.step.yaml", "--affine", "paper")
    assert code == 1
    assert [d["code"] for d in files[0]["diagnostics"]] == ["STEP104"]
    write("stepsmith.toml", 'affine = "paper"\n')
    _, files = check_json(capsys, "a.step.yaml")
    assert [d["code"] for d in files[0]["diagnostics"]] == ["STEP104"]
    _, files = check_json(capsys, "a.step.yaml", "--affine", "strict")
    assert [d["code"] for d in files[0]["diagnostics"]] == ["STEP101"]


def test_folders_are_searched(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in (
        "p/a.step.yaml",
        "p/q/b.step.yml",
        ".venv/c.step.yaml",
        "node_modules/d.step.yaml",
        "p/skip/e.step.yaml",
    ):
        write(name, TASK + GOOD)
    write("p/f.py", PYTHON)
    write("p/other.py", "import os\n")
    write("p/other.yaml", "a: 1\n")
    write("stepsmith.toml", 'exclude = ["skip"]\n')
    code, files = check_json(capsys, ".", "p/f.py")
    assert code == 0
    assert [Path(f["path"]).as_posix() for f in files] == ["p/a.step.yaml", "p/f.py", "p/q/b.step.yml"]


def test_unusable_input_is_one_message_each(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("binary.step.yaml").write_bytes(bytes(range(256)))
    Path("nul.step.yaml").write_bytes(b"a\0b")
    Path("huge.step.yaml").write_bytes(b"#" * 10_000_000)
    Path("empty_folder").mkdir()
    write("empty.step.yaml", "")
    write("nothing.py", "x = 1\n")
    write("good.step.yaml", TASK + TWICE)
    names = ["missing.step.yaml", "binary.step.yaml", "nul.step.yaml", "huge.step.yaml", "empty_folder"]
    names += ["empty.step.yaml", "nothing.py"]
    code, files = check_json(capsys, *names, "good.step.yaml")
    assert code == 2
    assert {f["path"]: [d["code"] for d in f["diagnostics"]] for f in files} == {
        "missing.step.yaml": ["STEP901"],
        "binary.step.yaml": ["STEP901"],
        "nul.step.yaml": ["STEP901"],
        "huge.step.yaml": ["STEP908"],
        "empty_folder": ["STEP901"],
        "empty.step.yaml": ["STEP910"],
        "nothing.py": ["STEP910"],
        "good.step.yaml": ["STEP101"],
    }


def test_paths_that_are_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK + GOOD)
    for path, message in (("", "this path is empty"), ("a.step.yaml::a", "whole files are checked; leave ::a out")):
        assert main(["check", path]) == 2
        assert message in capsys.readouterr().out
    Path("loop.step.yaml").symlink_to("loop.step.yaml")
    Path("folder").symlink_to(".")
    assert main(["check", "loop.step.yaml"]) == 2
    assert "too many levels of symbolic links" in capsys.readouterr().out
    Path("loop.step.yaml").unlink()
    assert main(["check", "."]) == 0
    assert capsys.readouterr().out == "1 file checked, no findings\n"


def test_a_folder_ends_with_a_line_for_each_code(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.step.yaml", "b.step.yaml"):
        write(name, TASK + TWICE)
    write("c.step.yaml", TASK + TWICE.replace("Zip", "Zap"))
    assert main(["check", "--quiet", "."]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "STEP101  3 in 3 files: stream consumed more than once",
        "STEP201  1 in 1 file: unknown operator",
        "3 files checked: 4 errors; 3 can be fixed with --fix",
    ]
    assert main(["check", "."]) == 1
    full = capsys.readouterr().out
    assert full.count("error[STEP101]") == 3
    assert "STEP101  3 in 3 files" in full
    assert main(["check", "a.step.yaml"]) == 1
    assert "in 1 file:" not in capsys.readouterr().out  # one file needs no overview


def test_a_file_with_many_findings_is_cut_short(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK + "impl: |-\n" + "".join(f"  A{i} = step.Zap{i}().apply(E0)\n" for i in range(60)))
    found = len(check_json(capsys, "a.step.yaml")[1][0]["diagnostics"])
    assert found >= 60
    for words, shown in (([], 50), (["--max-findings", "3"], 3), (["--max-findings", "0"], found)):
        assert main(["check", "a.step.yaml", *words]) == 1
        out = capsys.readouterr().out
        assert sum(line.startswith("a.step.yaml:") and "[STEP" in line for line in out.splitlines()) == shown
        left = f"a.step.yaml: {found - shown} more findings; --max-findings 0 shows all\n"
        assert (left in out) == (shown < found)


def test_a_folder_is_searched_without_reading_large_files_whole(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    real = Path.open

    class Counting(io.FileIO):
        def read(self, size: int | None = -1) -> bytes:
            asked.append(-1 if size is None else size)
            return super().read(-1 if size is None else size)

    def counting(self: Path, *how: Any, **named: Any) -> Any:
        return Counting(self) if how == ("rb",) else real(self, *how, **named)

    write("ours.py", "import stepcore as step\n" + "# a line of it\n" * 400_000)
    write("other.py", "x = 1\n" + "# é of it\n" * 600_000)
    write("binary.py", "# stepcore\n" + "\0" * 6_000_000)
    monkeypatch.setattr(Path, "open", counting)
    assert main(["check", "."]) == 2
    out = capsys.readouterr().out
    assert "ours.py:1:1: error[STEP908]" in out and "other.py" not in out
    assert "skipped: binary.py (the file is no text: it holds a NUL character)" in out
    assert len(asked) >= 3 and all(0 <= size <= 5_000_001 for size in asked)


def test_what_a_folder_leaves_out_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("good.step.yaml", TASK + GOOD)
    for number in range(7):
        write(f"old/{number}.step.yaml", TASK + GOOD)
        write(f"{number}.old.step.yaml", TASK + GOOD)
    Path("latin.py").write_bytes(b"import stepcore\n# caf\xe9\n")
    Path("other.py").write_bytes(b"# caf\xe9\n")
    write("stepsmith.toml", 'exclude = ["old", "*.old.step.yaml"]\n')
    assert main(["check", "."]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "skipped: 0.old.step.yaml, 1.old.step.yaml, 2.old.step.yaml, 3.old.step.yaml, 4.old.step.yaml and 3 more "
        "(excluded by the configuration)",
        "skipped: latin.py (the file is no text in the encoding utf-8 (byte 21); save it as UTF-8)",
        "1 file checked, no findings",
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [["check", "a.step.yaml"], ["ops"]], ids=str)
def test_output_that_cannot_be_written(words: list[str], folder: Path) -> None:
    write("a.step.yaml", TASK + GOOD)
    command = [sys.executable, "-m", "stepcore.cli", *words]
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    variables = {**os.environ, "PYTHONPATH": path}
    with Path("/dev/full").open("w") as full:
        full_disk = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=variables)
    assert (full_disk.returncode, full_disk.stderr.count("\n")) == (2, 1)
    assert "no space left" in full_disk.stderr
    closed = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True, check=False, env=variables
    )
    assert (closed.returncode, closed.stderr) == (0, "")
    reader, writer = os.pipe()
    os.close(reader)  # as `| true` does
    piped = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, env=variables)
    os.close(writer)
    assert (piped.returncode, piped.stderr) == (2, "")


def test_standard_input_that_is_closed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["check", "-"]) == 2
    assert "standard input is closed; pipe a file into it" in capsys.readouterr().out


def test_a_large_file_on_demand(folder: Path) -> None:
    write("long.py", PYTHON + "\n" * 100_001)
    assert main(["check", "long.py"]) == 2
    assert main(["check", "long.py", "--large"]) == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_does_not_hang(folder: Path) -> None:
    os.mkfifo("pipe.step.yaml")
    assert main(["check", "pipe.step.yaml"]) == 2


def test_terminal_steering_characters_are_not_passed_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK + GOOD.replace("return E5", "return E5_\x1b[2J\x1b]0;x\x07"))
    assert main(["check", "a.step.yaml"]) == 1
    assert "\x1b" not in capsys.readouterr().out


def test_ill_typed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK + ILL_TYPED)
    code, files = check_json(capsys, "a.step.yaml")
    assert code == 1
    assert [d["code"] for d in files[0]["diagnostics"]] == ["STEP206"]


def test_unusable_configuration(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("bad/stepsmith.toml", "afine = 'paper'\n")
    write("bad/a.step.yaml", TASK + GOOD)
    write("b.step.yaml", TASK + GOOD)
    code, files = check_json(capsys, "bad/a.step.yaml", "b.step.yaml")
    assert code == 2
    assert [len(f["diagnostics"]) for f in files] == [1, 0]
    assert "did you mean 'affine'" in files[0]["diagnostics"][0]["message"]


SPELLINGS = [
    ["check", "a.step.yaml"],
    ["check", "--fix", "a", "b"],
    ["check", "a", "--affine=paper", "--format", "json"],
    ["check", "--format=sarif", "-", "--large"],
    ["check", "--affine", "strict", "x"],
    ["check", "--quiet", "x"],
    ["check", "-q", "x"],
]


@pytest.mark.parametrize("words", SPELLINGS, ids=" ".join)
def test_the_short_cut_reads_as_typer_does(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import stepcore.cli.check as command
    from stepcore.cli.app import app

    seen: list[Any] = []

    def record(*arguments: Any) -> int:
        seen.append(arguments)
        return 0

    monkeypatch.setattr(command, "run", record)
    assert CliRunner().invoke(app, words).exit_code == 0
    assert main(words) == 0
    quick = parse_check(words)
    assert quick is not None
    assert [(list(paths), options) for paths, options in seen] == [quick, quick]


NOT_PLAIN = [
    [],
    ["verify"],
    ["check"],
    ["check", "--help"],
    ["check", "a", "--format", "xml"],
    ["check", "--fox", "a"],
    ["check", "a", "--stdin-name", "b"],
    ["check", "a", "--affine"],
]


@pytest.mark.parametrize("words", NOT_PLAIN, ids=" ".join)
def test_what_is_not_plain_goes_through_typer(words: list[str]) -> None:
    assert parse_check(words) is None


def test_usage_errors_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["check"], ["check", "--format", "xml", "a"], ["check", "--fox", "a"], ["chek"]):
        assert main(words) == 2
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        assert captured.err
    assert CheckOptions().format == "text"


def test_internal_errors_show_no_traceback(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import stepcore.cli.check as command

    def fail(*_: object) -> int:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(command, "run", fail)
    assert main(["check", "a"]) == 2
    assert capsys.readouterr().err.startswith("stepsmith: STEP911 internal error: ZeroDivisionError: a defect")
    with pytest.raises(ZeroDivisionError):
        main(["--debug", "check", "a"])


def test_interruption_exits_130(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import stepcore.cli.check as command

    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run", interrupt)
    assert main(["check", "a"]) == 130
    assert main(["--debug", "check", "a"]) == 130


def run_process(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    variables = {**os.environ, "PYTHONPATH": path, **(env or {})}
    command = [sys.executable, "-P", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, env=variables)


HEAVY = (
    "torch",
    "numpy",
    "asyncio",
    "typer",
    "rich",
    "pydantic",
    "sympy",
    "platformdirs",
    "subprocess",
    "stepcore.jobs",
)


def test_a_cold_check_imports_nothing_heavy(folder: Path) -> None:
    write("a.step.yaml", TASK + GOOD)
    write("b.py", PYTHON)
    script = (
        "import sys; from stepcore.cli import main; code = main(['check', 'a.step.yaml', 'b.py'])\n"
        f"print(code, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    result = run_process("-c", script)
    assert result.stdout.endswith("0 []\n"), result.stdout + result.stderr


def test_the_command_as_a_process(folder: Path) -> None:
    write("a.step.yaml", TASK + TWICE)
    result = run_process("-m", "stepcore.cli", "check", "a.step.yaml")
    assert result.returncode == 1
    assert "\033[" not in result.stdout
    assert "STEP101" in result.stdout
    assert result.stderr == ""
    result = run_process("-m", "stepcore.cli", "check", "a.step.yaml", env={"PYTHONIOENCODING": "ascii"})
    assert result.returncode == 1
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs pseudo-terminals")
@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_colours_on_a_terminal_only(folder: Path, no_color: str, coloured: bool) -> None:
    import pty

    write("a.step.yaml", TASK + TWICE)
    owner, terminal = pty.openpty()
    env = {**os.environ, "NO_COLOR": no_color, "TERM": "xterm"}
    env["PYTHONPATH"] = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    command = [sys.executable, "-P", "-m", "stepcore.cli", "check", "a.step.yaml"]
    process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=env)
    os.close(terminal)
    output = b""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            piece = os.read(owner, 4096)
        except OSError:  # Linux: the other side was closed
            break
        if not piece:
            break
        output += piece
    os.close(owner)
    assert process.wait(PATIENCE) == 1
    assert b"STEP101" in output
    assert (b"\033[31;1m" in output) == coloured


def test_what_cannot_be_looked_at_in_a_folder_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may read everything, so it is forbidden here below the calls of the system."""
    write("good.step.yaml", TASK + GOOD)
    write("secret/in.step.yaml", TASK + GOOD)
    write("closed.py", "import stepcore as step\n")
    listing, real = os.scandir, read_beginning

    def scandir(path: str) -> Any:
        if path.endswith("secret"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return listing(path)

    def beginning(path: Path) -> bytes:
        if path.name == "closed.py":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr("stepcore.cli.files.read_beginning", beginning)
    assert main(["check", "."]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "skipped: closed.py (the file cannot be read: permission denied)",
        "skipped: secret (the folder cannot be read: permission denied)",
        "1 file checked, no findings",
    ]
    assert main(["check", "secret"]) == 2
    out = capsys.readouterr().out
    assert "secret:1:1: error[STEP901] the folder cannot be read: permission denied" in out
    assert "no *.step.yaml" not in out and "skipped" not in out
