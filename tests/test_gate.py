"""The gate: what becomes a Python file is checked, printed and certified, and what it made starts and opens nothing."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from gate_cases import placed, python, task
from soak_generated import run
from stepcore.conversion.to_python import ConvertError, task_to_python
from stepcore.conversion.to_task import python_to_task
from stepcore.frontend.python import read_module
from stepcore.frontend.yaml.tasks import read_task
from stepcore.gate import Refusal, Unclean, certify, printed
from stepcore.printing.python import OwnReference

ROOT = Path(__file__).parents[1]
TASKS = sorted((ROOT / "tests" / "hostile" / "inputs" / "task").glob("*.step.yaml"))
OURS = [path for path in TASKS if path.name.startswith("m_gate_")]
FOREIGN = "__import__('os').system('true')"


def converted(text: str) -> str:
    return task_to_python(read_task(text, "gated.step.yaml"))


class TestCleanCheck:
    @pytest.mark.parametrize("comment", ["", "  # stepsmith: ignore", "  # stepsmith: ignore[STEP220]"])
    def test_errors_refuse_whatever_comments_say(self, comment: str) -> None:
        with pytest.raises(Unclean) as raised:
            converted(placed("impl", f"def h(x=open('a')):{comment}\n    return x"))
        assert raised.value.found.code == "STEP220"
        assert (raised.value.line, raised.value.column) == (21, 11)
        assert "21:11: STEP220 open of Python" in str(raised.value)

    def test_a_python_file_is_checked_too(self) -> None:
        for code in ({"impl": f"x = False and {FOREIGN}"}, {"apply": f"x: {FOREIGN} = 1"}):
            module = read_module(python(**code), "gated.py")
            with pytest.raises(Unclean, match=r"STEP(220|302)"):
                python_to_task(module, module.programs[0])
        module = read_module(python(), "gated.py")
        assert "impl" in python_to_task(module, module.programs[0])

    def test_decorators_of_a_nested_definition_belong_to_the_body(self) -> None:
        module = read_module(python(apply="@open\ndef h(x):\n    return x"), "gated.py")
        with pytest.raises(Unclean, match="decorators are forbidden"):
            python_to_task(module, module.programs[0])


class TestPieces:
    @pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x0b", "\x1c", "\u202e", "\u200b", "\ufeff"])
    def test_comments_stay_comments(self, mark: str) -> None:
        text = f"# a{mark}{FOREIGN}\nx = 1  # b{mark}"
        result = printed(text)
        assert ast.dump(ast.parse(result)) == ast.dump(ast.parse("x = 1"))
        assert all(len(line.splitlines()) <= 1 for line in result.split("\n"))
        assert result.split("\n")[1].startswith("x = 1  # b")
        assert mark not in result

    @pytest.mark.parametrize(
        "text",
        ['x = """a\n  b"""', "x = 'a\\\nb'", "x = 'a\u2028b'", "x = b'''a\n'''", "x = u'''a\n'''", "x = '\u202e'"],
    )
    def test_strings_stand_in_one_line(self, text: str) -> None:
        result = printed(text)
        assert "\n" not in result
        assert result.isprintable()
        names: list[object] = [ast.literal_eval(ast.parse(each).body[0].value) for each in (text, result)]  # type: ignore[attr-defined]
        assert names[0] == names[1]

    def test_what_cannot_stay_the_same_is_refused(self) -> None:
        for text in ('x = f"""{1}\n{2}"""', "x = 1\x0c\ny = 2"):
            with pytest.raises(ConvertError):
                printed(text)

    def test_a_type_in_a_comment_is_none(self) -> None:
        assert printed("x = 1  # type: ignore") == "x = 1  # type - ignore"
        assert "# type:" not in printed("#type:int\nx = 1  #  type :int")

    def test_layout_and_comments_survive(self) -> None:
        text = "# über M 🎉\nx = [\n    1,  # one\n    2,\n]  ;  y = 1\n\nif x:\n\tz = 3  # a\ttab"
        assert printed(text) == text
        assert printed(text.replace("\n", "\r\n")) == text

    def test_names_get_their_normal_form(self) -> None:
        assert printed("\ufb01lter_ = 1\n\u2115 = filter_") == "filter_ = 1\nN = filter_"

    def test_a_long_line_below_a_comment_is_broken_without_waking_it(self) -> None:
        body = f"# x\u2028{FOREIGN}\ny = " + " + ".join(["scale"] * 40)
        text = task().replace("  apply: |\n    return [input[0] * scale]", f"  apply: {json.dumps(body + chr(10))}")
        text = text.replace('scale\\n"', 'scale\\nreturn [input[0] * scale]"')
        result = converted(text)
        assert not [n for n in ast.walk(ast.parse(result)) if isinstance(n, ast.Name) and n.id == "__import__"]


class TestCertificate:
    FILE = converted(task())

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("import torch\n", "import torch\nimport os\n"),
            ("import torch\n", "import torch as step\n"),
            ("import torch\n", "from torch import load\n"),
            ("import Annotated\n", "import Annotated, Any\n"),
            ("from typing", "from .typing"),
            ("import M, N", "import M, N, __import__"),
            ("import M, N", "import *"),
            ("scale = 2.0", f"scale = {FOREIGN}"),
            ("scale = 2.0", f"scale: {FOREIGN} = 2.0"),
            ("scale = 2.0", "__builtins__ = {}"),
            ("scale = 2.0", "class A:\n    pass"),
            ("(input=step.f32", f"(input={FOREIGN}"),
            ("(input=step.f32", f"({FOREIGN}, input=step.f32"),
            ("def fn_a(input):", f"def fn_a(input={FOREIGN}):"),
            ("def fn_a(input):", f"def fn_a(input: {FOREIGN}):"),
            ("def fn_a(input):", f"def fn_a(input) -> {FOREIGN}:"),
            ("def fn_a(input):", "def fn_a(input, *rest):"),
            ("def fn_a(input):", f"def fn_a(input, x: {FOREIGN}):"),
            ("@step.fn", "@torch.jit.script\n@step.fn"),
            ("(E0: torch.Tensor)", f"(E0: {FOREIGN})"),
            ("(E0: torch.Tensor)", f"(E0: torch.Tensor = {FOREIGN})"),
            ("return E0 * scale", f"return {FOREIGN}"),
            ("return E0 * scale", "torch.save(E0, 'x')\n    return E0 * scale"),
            ("dims={M: 5", f"dims={{M: {FOREIGN}"),
            ("dims={M: 5", "dims={**{}, M: 5"),
            ("reference=gated_reference", f"reference={FOREIGN}"),
            ("reference=gated_reference", "reference=print"),
            ("(M, N)]:", "(M, N)]:\n    if M == 1:\n        torch.save(E0, 'x')"),
            ("(M, N)]:", f"(M, N)]:\n    def h(x={FOREIGN}):\n        return x"),
            ("    return E1", f"    return E1\n    {FOREIGN}"),
            ("from typing", "# coding: latin-1\nfrom typing"),
            ("from typing", "#\u202e\nfrom typing"),
            ("return E1", "return E1  # \u2028"),
            ("return E1", "return E1\n\x0c"),
        ],
    )
    def test_what_is_not_ours_is_refused_with_its_place(self, old: str, new: str) -> None:
        certify(self.FILE)
        assert old in self.FILE
        with pytest.raises(Refusal) as raised:
            certify(self.FILE.replace(old, new, 1))
        assert 1 <= raised.value.line <= self.FILE.count("\n") + 4
        assert "line" in str(raised.value)

    @pytest.mark.parametrize(
        "code",
        [
            f"MODEL = {FOREIGN}",
            "MODEL = Model(**{})",
            "MODEL = Model().__class__",
            "MODEL = torch.load('x')",
            "MODEL = import_module(Model)",
            f"assert {FOREIGN}",
            "for name in []:\n    Model(name)",
            f"def own(x: {FOREIGN}):\n    return x",
            "def own(x):\n    import os\n    return x",
            "def own(x):\n    return x if x else os",
            "SPEC = eval('1')",
        ],
    )
    def test_the_way_to_a_users_function_has_few_forms(self, code: str) -> None:
        imports = ["from kernels import Model, own"]
        file = self.FILE.replace("import torch\n", f"import torch\n{imports[0]}\n")
        good = "MODEL = Model().eval()"
        certify(file.replace("scale = 2.0\n", f"scale = 2.0\n{good}\n"), OwnReference("own", imports, good))
        with pytest.raises(Refusal):
            certify(file.replace("scale = 2.0\n", f"scale = 2.0\n{code}\n"), OwnReference("own", imports, code))

    def test_a_file_name_in_the_head_is_a_text(self) -> None:
        from stepcore.conversion.to_python import spec_to_python

        spec = read_task(task(), "gated.step.yaml").spec
        assert spec is not None
        own = OwnReference("f", ["from kernels import f"], "", f'A file "\\ a"""\n{FOREIGN}\n# coding: utf-7\u2028.')
        text = spec_to_python(spec, "return step.Map(fn=fn_a).apply(E0)", own=own)
        assert len(text.splitlines()) == text.count("\n")
        assert isinstance(ast.parse(text).body[0], ast.Expr)


def test_nobody_else_lays_out_modules() -> None:
    """``module_text`` is called in the gate alone; every other text is what the gate returned."""
    users = {
        str(path.relative_to(ROOT))
        for folder in ("stepcore", "agents", "server")
        for path in (ROOT / folder).rglob("*.py")
        if "module_text" in path.read_text(encoding="utf-8")
    }
    assert users == {"stepcore/gate/module.py", "stepcore/printing/python.py"}


def test_what_is_converted_starts_and_opens_nothing(tmp_path: Path) -> None:
    """Every hostile task that passes the gate is imported, called and verified under a trap."""
    files = [tmp_path / "first.py"]
    files[0].write_text(converted(task()), encoding="utf-8")
    refused = 0
    for path in OURS:  # the runner of the corpus traps all others
        try:
            text = task_to_python(read_task(path.read_bytes().decode("utf-8", "replace"), path.name))
        except ConvertError:
            refused += 1
            continue
        files.append(tmp_path / f"{path.name.split('.')[0]}.py")
        files[-1].write_text(text, encoding="utf-8")
    assert refused > 30
    words = [sys.executable, str(ROOT / "tests" / "gate_trap.py"), *map(str, files)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900, check=False, cwd=tmp_path)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["file"] for row in rows] == [file.name for file in files], done.stderr
    assert [row for row in rows if row["trapped"]] == []
    assert rows[0]["verdict"] == "accepted"


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_hostile_tasks_are_refused_or_harmless(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if "expect: accepted" in text.split("\n", 1)[0]:
        certify(task_to_python(read_task(text, path.name)))
        return
    with pytest.raises(Unclean) as raised:
        task_to_python(read_task(text, path.name))
    assert f"expect: {raised.value.found.code}" in text.split("\n", 1)[0]


def test_generated_files_are_read_back_and_verified() -> None:
    """A sample of what ``make soak`` does in numbers: tasks and random programs."""
    assert run(7, 62) == []
