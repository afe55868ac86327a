"""What is done with one input, by its kind, inside the trapped process. Each function returns plain data."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .corpus import Input, task_file

SIZES = {"M": 6, "N": 3, "K": 4, "D": 8}  # other ones than the published, for the second opinion on accepted programs
LIMITS = "time_limit = 8\nmemory_limit = 1024\n"
HARMLESS = """\
inputs:
- {name: E0, dtype: fp32, dims: [M, N], data_gen: torch.randn}
fns:
- {name: F, func_name: fn_f, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0] * 2]"}
outputs:
- name: S0
  dtype: fp32
  dims: [M, N]
  data_transform: ["input_data['E0'] * 2"]
impl: |-
  E1 = step.Map(fn=fn_f).apply(E0)
  return E1
"""
_CODE = re.compile(r"STEP\d{3}")
# How values of ours look inside: in a message they say nothing to whoever reads it.
_OURS = "ModuleRef|Helper|OperatorRef|OperatorValue|Scope|StreamRef|FnDecl|FnClass|TypeMaker|ProgramBuiltin"
_INNER = re.compile(rf"<ast\.| object at 0x|\b(?:{_OURS})\(|<unknown>")


@dataclass
class Seen:
    """What became of one input: everything a verdict on the outcome needs besides what was trapped and used."""

    codes: list[str] = field(default_factory=list)
    exits: dict[str, int] = field(default_factory=dict)
    accepted: bool = False
    told: bool = False  # a verdict gave a reason, whether or not that has a code
    output: str = ""
    problems: list[str] = field(default_factory=list)


def run_case(item: Input, folder: Path) -> Seen:
    """Run one input in ``folder``, which is empty and the working directory."""
    seen = Seen()
    _KINDS[item.kind](item, folder, seen)
    seen.codes = sorted(set(seen.codes))
    return seen


# -- the command line --------------------------------------------------------------------------------------------------


def stepsmith(seen: Seen, label: str, *words: str) -> str:
    """Call the command line; its exit code and all that it writes are kept. Returns its standard output."""
    from stepcore.cli import main

    with _captured() as (out, err):
        code = main(words)
    seen.exits[label] = code
    told: str = out()
    seen.output += told + err()
    seen.codes += _CODE.findall(err())
    if code not in (0, 1, 2):
        seen.problems.append(f"{label} ended with {code}")
    return told


@contextlib.contextmanager
def _captured() -> Iterator[tuple[Any, Any]]:
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]

    def reader(stream: io.TextIOWrapper) -> Any:
        def read() -> str:
            stream.flush()
            buffer = stream.buffer
            assert isinstance(buffer, io.BytesIO)
            return buffer.getvalue().decode("utf-8", "surrogateescape")

        return read

    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        yield reader(streams[0]), reader(streams[1])


def check(seen: Seen, file: Path) -> bool:
    """Check a file; each finding needs a code, a place and a message for people. True where it has no error."""
    told = stepsmith(seen, "check", "check", "--format", "json", str(file))
    try:
        found = [item for entry in json.loads(told)["files"] for item in entry["diagnostics"]]
    except (ValueError, KeyError):
        seen.problems.append(f"check wrote no report: {told[:200]!r}")
        return False
    seen.codes += [item["code"] for item in found]
    errors = [item for item in found if item["severity"] == "error"]
    for item in errors:
        if len(item["message"]) > 2_000 or not item["message"].strip():
            seen.problems.append(f"{item['code']}: a message of {len(item['message'])} characters")
        if (inner := _INNER.search(item["message"])) is not None:
            seen.problems.append(f"{item['code']}: a message shows {inner[0]!r}, which is ours, and nobody wrote")
    # More are right only for a document of that many mistakes, of which then the first are listed or looked at.
    if len(errors) > 12 and not any(item["message"].startswith("and ") or item["code"] == "STEP912" for item in errors):
        seen.problems.append(f"{len(errors)} errors for one attack")
    if seen.exits["check"] and not any(item["severity"] in ("error", "warning") for item in found):
        seen.problems.append("check failed and gave no finding")
    return not errors and seen.exits["check"] == 0


def verify(seen: Seen, file: Path, *more: str, label: str = "verify") -> bool:
    """Verify a file; True where all of its programs are accepted."""
    told = stepsmith(seen, label, "verify", "--format", "json", str(file), *more)
    try:
        rows = json.loads(told)
    except ValueError:
        seen.problems.append(f"{label} wrote no report: {told[:200]!r}")
        return False
    for row in rows:
        seen.codes += [row["functional"]["code"]] if row["functional"]["code"] else []
        seen.codes += _CODE.findall(row["functional"]["detail"] + row["shape"]["detail"] + row["affine"]["detail"])
        seen.told |= any(not row[part]["ok"] and row[part]["detail"] for part in ("shape", "functional", "affine"))
    accepted = bool(rows) and all(row["accepted"] for row in rows)
    if accepted != (seen.exits[label] == 0):
        seen.problems.append(f"{label}: accepted is {accepted} and the exit code {seen.exits[label]}")
    return accepted


def convert(seen: Seen, file: Path, out: Path, clean: bool) -> bool:
    """Convert a file; True where that worked, which needs a clean check."""
    stepsmith(seen, "convert", "convert", str(file), "-o", str(out))
    made = out.exists()
    if made != (seen.exits["convert"] == 0):
        seen.problems.append(f"convert ended with {seen.exits['convert']} and the file exists: {made}")
    if made and not clean:
        seen.problems.append("convert wrote a file from what check refuses")
    return made


# -- kinds -------------------------------------------------------------------------------------------------------------


def _task(item: Input, folder: Path, seen: Seen) -> None:
    file = folder / "case.step.yaml"
    file.write_bytes(item.path.read_bytes())
    _whole_task(file, folder, seen)
    if seen.accepted:
        _second_opinion(file, None, seen)


def _impl(item: Input, folder: Path, seen: Seen) -> None:
    task, answer = folder / "case.step.yaml", folder / "answer.yaml"
    task.write_bytes(task_file(item.task).read_bytes())
    answer.write_bytes(item.path.read_bytes())
    seen.accepted = verify(seen, task, "--impl", str(answer))
    if not seen.accepted:
        return
    found = _read_yaml(item.path)
    if isinstance(found, dict) and isinstance(found.get("impl"), str):
        _second_opinion(task, found["impl"], seen)
    if isinstance(found, dict) and list(found) == ["impl"]:
        # What was accepted is delivered: into the task file, and from there as Python.
        merged = folder / "merged.step.yaml"
        merged.write_bytes(_without_impl(task.read_bytes()) + b"\n" + answer.read_bytes())
        _whole_task(merged, folder, seen)


def _whole_task(file: Path, folder: Path, seen: Seen) -> None:
    clean = check(seen, file)
    seen.accepted = verified = verify(seen, file)
    if verified and not clean:
        seen.problems.append("verify accepts what check refuses")
    out = folder / "converted.py"
    if convert(seen, file, out, clean):
        _call_everything(out, seen)
        again = verify(seen, out, label="verify of what convert wrote")
        if again != verified:
            seen.problems.append(f"the task is accepted: {verified}; what convert wrote: {again}")


def _python(item: Input, folder: Path, seen: Seen) -> None:
    file = folder / "case.py"
    file.write_bytes(item.path.read_bytes())
    clean = check(seen, file)
    convert(seen, file, folder / "converted.step.yaml", clean)
    seen.accepted = verify(seen, file)
    if seen.accepted and not clean:
        seen.problems.append("verify accepts what check refuses")


def _answer(item: Input, folder: Path, seen: Seen) -> None:
    from stepagents.judge import Judge
    from stepcore.frontend.yaml.tasks import read_task

    file = task_file(item.task)
    text = file.read_text(encoding="utf-8")
    answer = item.path.read_bytes().decode("utf-8", "replace").split("\n", 1)[1]
    judge = Judge(read_task(text, str(file)))
    judged = judge.judge(answer)
    seen.accepted = judged.accepted
    seen.codes += [judged.code] if judged.code else []
    seen.output += judged.message
    if judged.accepted:
        _second_opinion(file, judged.impl, seen)
    elif not judged.message.strip():
        seen.problems.append("an answer was refused without a message")
    if not _honest(judge):
        seen.problems.append("after this answer the judge takes the right one for wrong, or nothing for right")


def _honest(judge: Any) -> bool:
    """Whether the judge still knows a wrong program; a right one of the same task is judged by the tests of answers."""
    return not judge.judge("return step.Identity().apply(step.Identity().apply(E0)), E0").accepted


def _config(item: Input, folder: Path, seen: Seen) -> None:
    from stepcore.settings.config import Config, ConfigError, Configs

    text = item.path.read_bytes()
    name = "pyproject.toml" if b"[tool." in text else "stepsmith.toml"
    (folder / name).write_bytes(text)
    file = folder / "case.step.yaml"
    file.write_text(HARMLESS, encoding="utf-8")
    stepsmith(seen, "check", "check", str(file))
    seen.accepted = seen.exits["check"] == 0
    if not seen.accepted and name not in seen.output:
        seen.problems.append("the message does not name the configuration file")
    if not seen.accepted and len(seen.output) > 4_000:
        seen.problems.append(f"a message of {len(seen.output)} characters")
    with contextlib.suppress(ConfigError):
        found, plain = Configs().for_file(file), Config()
        names = ("time_limit", "memory_limit", "answers_without_program")
        if any(getattr(found, name) > getattr(plain, name) for name in names):
            seen.problems.append("a project's file lifted a limit")


def _chip(item: Input, folder: Path, seen: Seen) -> None:
    """Times a harmless program on a chip that an option names, and that the project names: both say the same."""
    chip = folder / "chip.toml"
    chip.write_bytes(item.path.read_bytes())
    (folder / "stepsmith.toml").write_text("[timing]\nhw = 'chip.toml'\n", encoding="utf-8")
    file = folder / "case.step.yaml"
    file.write_text(HARMLESS, encoding="utf-8")
    stepsmith(seen, "check", "check", str(file))
    if seen.exits["check"] != 0:
        seen.problems.append("a chip changes what check finds")
    for label, words in (("option", ("--hw", str(chip))), ("project", ()), ("traced", ("--trace", "out.json"))):
        stepsmith(seen, label, "time", str(file), *words)
    stepsmith(seen, "hw", "hw", "--hw", str(chip))
    exits = {seen.exits[label] for label in ("option", "project", "traced")}
    if len(exits) > 1:
        seen.problems.append(f"exit codes differ: {seen.exits}")
    seen.accepted = exits <= {0, 1}
    if len(seen.output) > 20_000:
        seen.problems.append(f"{len(seen.output)} characters")


def _name(item: Input, folder: Path, seen: Seen) -> None:
    """Each report about a file of this name has as many lines as about one with a plain name."""
    first = item.path.read_text(encoding="utf-8").split("\n")[0]
    named = (
        folder
        / "named"
        / first.encode("ascii")
        .decode("unicode_escape")
        .encode("utf-8", "surrogateescape")
        .decode("utf-8", "surrogateescape")
    )
    named.parent.mkdir()
    plain = folder / "plain" / ("plain" + ("".join(named.suffixes[-2:]) if named.name.endswith(".yaml") else ".py"))
    plain.parent.mkdir()
    for content in (HARMLESS, HARMLESS.replace("return E1", "return E9")):
        for file in (named, plain):
            file.write_text(content, encoding="utf-8")
        for command in ("check", "verify", "simulate", "convert"):
            told, code = _told(seen, command, named), seen.exits[command]
            wanted = _told(seen, command, plain)
            # A name of which no identifier can be made is refused: that is one line, and its hint another.
            lines = wanted.count("\n") if code == seen.exits[command] else min(told.count("\n"), 2)
            if told.count("\n") != lines:
                seen.problems.append(f"{command}: the name changes the number of lines: {told[:200]!r}")
            if any(not (char.isprintable() or char in "\n\t") for char in told):
                seen.problems.append(f"{command}: a raw control character: {told[:200]!r}")
    seen.accepted = False


def _told(seen: Seen, command: str, file: Path) -> str:
    before = len(seen.output)
    more = ["-o", str(file.parent / "converted.out.py")] if command == "convert" else []
    stepsmith(seen, command, command, str(file), *more)
    return seen.output[before:]


# -- second opinions ---------------------------------------------------------------------------------------------------


def _second_opinion(file: Path, impl: str | None, seen: Seen) -> None:
    """An accepted program has to be right by the slow interpreter, too, on another seed and other sizes."""
    from oracle import load_task, run_task

    read = _read_yaml(file)
    if not isinstance(read, dict) or not all(_is_drawn(entry) for entry in _drawn(read)):
        return  # a tag or a double key that the library passes over, data by its default: the oracle has no opinion
    task = load_task(file)
    for seed, sizes in ((7, {}), (8, SIZES)):
        try:
            found = run_task(task, impl, dims=dict(sizes), seed=seed)
        except Exception as error:  # noqa: BLE001 - the oracle executes what was accepted; nothing in there may raise
            seen.problems.append(f"accepted, but the slow interpreter says: {type(error).__name__}: {error}")
            return
        if not (found.matches and found.affine):
            seen.problems.append(f"accepted, but wrong with seed {seed} and {sizes or 'its own sizes'}")


def _call_everything(file: Path, seen: Seen) -> None:
    """Import a generated file and call what it defines: nothing foreign may be in there."""
    import torch

    module = types.ModuleType("generated")
    module.__dict__["__file__"] = str(file)
    sys.modules["generated"] = module
    try:
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), module.__dict__)
    except Exception as error:  # noqa: BLE001 - whatever the generated text raises is the outcome
        seen.problems.append(f"what convert wrote cannot be imported: {type(error).__name__}: {error}")
        return
    finally:
        del sys.modules["generated"]
    for value in list(module.__dict__.values()):
        function = getattr(value, "function", value)
        if isinstance(function, types.FunctionType) and function.__code__.co_filename == str(file):
            tensors = [[torch.ones(3, 3) for _ in range(3)] for _ in range(function.__code__.co_argcount)]
            with contextlib.suppress(BaseException):
                function(*(tensors if function is not value else [group[0] for group in tensors]))


def _drawn(task: dict[str, Any]) -> list[Any]:
    return [*(task.get("inputs") or []), *(task.get("parameters") or [])]


def _is_drawn(entry: Any) -> bool:
    return isinstance(entry, dict) and not {"data_gen", "min", "max"}.isdisjoint(entry)


def _read_yaml(file: Path) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8"))
    except (YAMLError, UnicodeDecodeError):
        return None


def _without_impl(text: bytes) -> bytes:
    return re.split(rb"^impl[ \t]*:", text, maxsplit=1, flags=re.MULTILINE)[0]


_KINDS = {
    "task": _task,
    "impl": _impl,
    "python": _python,
    "answer": _answer,
    "config": _config,
    "chip": _chip,
    "name": _name,
}
