"""Configuration: ``[tool.stepsmith]`` of pyproject.toml, or ``stepsmith.toml``, found upward from a file.

Command line, language server and agents read the same table; options and editor settings go on top.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

from stepcore.findings.codes import CODES, is_beginning
from stepcore.findings.diagnostics import Diagnostic, Severity
from stepcore.findings.near import nearest
from stepcore.jobdata.choices import AffineRule
from stepcore.records import Record
from stepcore.text.wording import clipped

FILE_NAME: Final = "stepsmith.toml"
_MAX_BYTES: Final = 1_000_000  # of a file with settings
_LIMITS: Final[tuple[str, ...]] = ("time_limit", "memory_limit", "answers_without_program")
_MAX_SECONDS: Final = 7 * 86400
_LONGEST: Final = 4096  # characters of a path that a file system holds
_MAX_MESSAGE: Final = 1000  # characters
_MAX_MIB: Final = 1 << 24
_MAX_ANSWERS: Final = 10_000


class ConfigError(ValueError):
    """A configuration file that cannot be used; the message names the file, the line where one is known, and the key.

    ``reason`` is the message without its place; ``line`` counts from 1, and is 0 where none is known. ``key`` is the
    path of the key that is wrong, for callers that know the text and so the line.
    """

    def __init__(self, path: Path, reason: str, key: tuple[str, ...] = (), line: int = 0, column: int = 0) -> None:
        at = "".join(f":{number}" for number in (line, column) if number)
        super().__init__(clipped(f"{path}{at}: {reason}", _MAX_MESSAGE))
        self.path = path
        self.reason = clipped(reason, _MAX_MESSAGE)
        self.key = key
        self.line = line


class _WrongPart(ValueError):
    """What is wrong with one key of a table that is a value itself."""

    def __init__(self, part: str, message: str) -> None:
        super().__init__(message)
        self.part = part


class Config(Record):
    """Settings with their defaults.

    ``ignore`` are codes (or beginnings of codes, such as ``STEP1``) that are not reported; ``severity`` overrides
    severities. ``time_limit`` is in seconds for each program that is run, ``memory_limit`` in MiB for each worker;
    ``answers_without_program`` is how many answers of a language model to a task may come to nothing before it is asked
    no further, as long as none held a program. None of the three is ever above its default, because a project's file
    may only tighten. ``asked`` has what the file says of them, see :mod:`stepcore.settings.limits`.
    ``exclude`` are names or patterns of folders and files that a search in folders leaves out.
    ``send_to_provider`` false forbids to send tasks and programs to the provider of a language model; otherwise the
    user is asked.
    ``hw`` is the chip that programs are timed on (``[timing] hw``): see :mod:`stepcore.chips.chosen`.
    ``path`` is the file that this was read from.
    """

    affine: AffineRule = "strict"
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    time_limit: float = 60.0
    memory_limit: int = 4096
    exclude: tuple[str, ...] = ()
    path: Path | None = None
    send_to_provider: bool | None = None
    answers_without_program: int = 4
    hw: str | None = None
    asked: Mapping[str, float] = field(default_factory=dict, compare=False)

    def apply(self, diagnostics: list[Diagnostic]) -> list[Diagnostic]:
        """Return the findings without the ignored ones, with the severities that are configured."""
        if not self.ignore and not self.severity:
            return diagnostics
        from dataclasses import replace

        kept = (
            [found for found in diagnostics if not found.code.startswith(self.ignore)] if self.ignore else diagnostics
        )
        return [replace(d, severity=self.severity[d.code]) if d.code in self.severity else d for d in kept]

    def excludes(self, file: Path) -> bool:
        """Return whether ``exclude`` names ``file`` or a folder between it and the configuration file."""
        if self.path is None or not self.exclude:
            return False
        root, file = self.path.absolute().parent, file.absolute()
        if not file.is_relative_to(root):
            return False
        around = (folder for folder in _with_parents(file.parent) if folder != root and folder.is_relative_to(root))
        return any(matches(path, root, self.exclude) for path in (file, *around))


def matches(path: Path, folder: Path, patterns: Sequence[str]) -> bool:
    """Return whether a pattern of ``exclude`` fits the name of ``path``, or its path below ``folder``."""
    relative = path.relative_to(folder).as_posix()
    return any(fnmatch(path.name, pattern) or fnmatch(relative, pattern) for pattern in patterns)


class Configs:
    """Finds the configuration of files; each folder is looked at once."""

    def __init__(self) -> None:
        self._found: dict[Path, Config | ConfigError] = {}

    def for_file(self, path: Path) -> Config:
        """Return the configuration for ``path``, a file or a folder.

        Raises:
            ConfigError: the nearest configuration file cannot be used.
        """
        folder = path.absolute()
        found = self._for_folder(folder if is_there(folder.is_dir) else folder.parent)
        if isinstance(found, ConfigError):
            raise found
        return found

    def excluded(self, folder: Path) -> tuple[str, ...]:
        """Return what is left out below ``folder``. A configuration that cannot be used is told for each file."""
        try:
            return self.for_file(folder).exclude
        except ConfigError:
            return ()

    def _for_folder(self, folder: Path) -> Config | ConfigError:
        passed: list[Path] = []  # a path may have more folders than Python lets calls be nested
        for each in _with_parents(folder):
            found = self._found.get(each) or _found_in(each)
            passed.append(each)
            if found is not None:
                break
        else:
            found = Config()
        self._found.update(dict.fromkeys(passed, found))
        return found


def _with_parents(folder: Path) -> Iterator[Path]:
    """Yield a folder and those around it; of a path that no file system holds, those that one could hold.

    The parents of a path of 100 kB, as an editor may name one, would take gigabytes together.
    """
    text = str(folder)
    if len(text) > _LONGEST:
        folder = Path(text[:_LONGEST]).parent
    yield folder
    yield from folder.parents


def is_there(question: Callable[[], bool]) -> bool:
    """Ask ``path.is_file`` or ``path.is_dir``, which fail for a path that no file system can hold: that is a no."""
    try:
        return question()
    except OSError:
        return False


def _found_in(folder: Path) -> Config | ConfigError | None:
    try:
        return _read_folder(folder)
    except ConfigError as error:
        return error


def _read_folder(folder: Path) -> Config | None:
    own = folder / FILE_NAME
    if os.path.lexists(own):  # a folder or a pipe of that name is no file without settings: it is told
        return _read(own)
    shared = folder / "pyproject.toml"
    if is_there(shared.is_file):
        text = _text_of(shared)
        tool = {} if _is_other(shared, text) else _parsed(text, shared).get("tool", {})
        if isinstance(tool, dict) and "stepsmith" in tool:
            return _placed(tool["stepsmith"], shared, text)
    return None


def _read(path: Path) -> Config:
    """Read a file of our own; a mistake in it is told with its line."""
    return read_text(_text_of(path), path)


def read_text(text: str, path: Path) -> Config:
    """Return the configuration of a ``stepsmith.toml``.

    Raises:
        ConfigError: no TOML, an unknown key or a value that the key does not take, each with its line.
    """
    return _placed(_parsed(text, path), path, text)


def _placed(table: object, path: Path, text: str) -> Config:
    """Return the configuration of a table of a text; a mistake in it is told with its line."""
    try:
        return read_config(table, path)
    except ConfigError as error:
        raise ConfigError(path, error.reason, error.key, key_line(path, text, error.key)) from error


def key_line(path: Path, text: str, key: tuple[str, ...]) -> int:
    """Return the line, from 1, that gives a key of ours a value or opens its table; 0 where none does.

    ``path`` says whether ``text`` is a file of our own or one with a table of ours.
    """
    from stepcore.text.toml import key_lines  # most files have no mistakes

    above = () if path.name == FILE_NAME else ("tool", "stepsmith")
    return key_lines(text).get((*above, *key), 0)


def read_table(path: Path) -> dict[str, Any]:
    """Return a TOML file as data; an empty table where a shared one does not name us. ``ConfigError`` if it is none."""
    text = _text_of(path)
    return {} if _is_other(path, text) else _parsed(text, path)


def _is_other(path: Path, text: str) -> bool:
    """Whether a shared file does not name us, which spares most projects the import of a TOML parser."""
    return path.name == "pyproject.toml" and "stepsmith" not in text


def _text_of(path: Path) -> str:
    from stepcore.text.files import NoRegularFile, read_at_most  # most files need no configuration

    try:
        data = read_at_most(path, _MAX_BYTES)
        if data is None:  # its end may be half a character
            raise ConfigError(path, f"is larger than {_MAX_BYTES // 1_000_000} MB, and is not read")
        text = data.decode("utf-8-sig")
    except (NoRegularFile, IsADirectoryError) as error:
        kind = "a folder" if isinstance(error, IsADirectoryError) else "no regular file"
        reason = f"is {kind}, and settings are read from files; remove it or give it another name"
        raise ConfigError(path, reason) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(path, f"cannot be read: {error}") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _parsed(text: str, path: Path) -> dict[str, Any]:
    from stepcore.text.toml import NoToml, parse_toml  # most files need no configuration

    try:
        return parse_toml(text)
    except NoToml as error:
        raise ConfigError(path, f"not valid TOML: {error}", (), error.line, error.column) from error


def read_config(table: object, path: Path) -> Config:
    """Return the configuration of a parsed table.

    Raises:
        ConfigError: an unknown key (the nearest is suggested) or a value that the key does not take.
    """
    if not isinstance(table, dict):
        raise ConfigError(path, "[tool.stepsmith] must be a table")
    values: dict[str, Any] = {}
    for key, value in table.items():
        reader = _READERS.get(key)
        if reader is None:
            raise ConfigError(path, f"unknown key {key!r}{_way_out(key, value, path)}", (key,))
        try:
            values[key] = reader(value)
        except _WrongPart as error:
            raise ConfigError(path, f"{key}: {error}", (key, error.part)) from error
        except ValueError as error:
            raise ConfigError(path, f"{key}: {error}", (key,)) from error
    values.update(values.pop("timing", {}))
    asked: dict[str, float] = {key: values[key] for key in _LIMITS if key in values}
    values.update({key: min(value, getattr(Config(), key)) for key, value in asked.items()})
    return Config(**values, path=path, asked=asked)


# What other tools call our keys.
_SYNONYMS: Final = {
    "timeout": "time_limit", "memory": "memory_limit", "disable": "ignore", "rule": "affine", "extend-ignore": "ignore",
}  # fmt: skip


def _way_out(key: str, value: object, path: Path) -> str:
    if isinstance(value, dict) and key in ("tool", "stepsmith") and path.name == FILE_NAME:
        return f"; in {FILE_NAME} the keys stand by themselves, without [tool.stepsmith]"
    if key in _TIMING:
        return "; write it under [timing]"
    meant = _SYNONYMS.get(key) or next(iter(nearest(key, _READERS, closed=True)), "")
    return f"; did you mean {meant!r}?" if meant else f"; known keys: {', '.join(_READERS)}"


def _shown(value: object) -> str:
    """Return a value as TOML writes it; its tables may be nested, and its numbers be long, beyond what Python shows."""
    try:
        return str(value).lower() if isinstance(value, bool) else repr(value)
    except (RecursionError, ValueError):
        return "a number of thousands of digits" if isinstance(value, int) else "tables inside each other"


def _affine(value: object) -> str:
    if value not in ("strict", "paper"):
        raise ValueError(f"expected 'strict' or 'paper', found {_shown(value)}")
    return str(value)


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ValueError(f"expected a list of texts, found {_shown(value)}")
    return tuple(value)


def _code(text: str) -> str:
    if text not in CODES:
        close = nearest(text, CODES, closed=True)
        raise ValueError(f"there is no code {text!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
    return text


def _ignore(value: object) -> tuple[str, ...]:
    codes = _texts(value)
    for code in codes:
        if not is_beginning(code):
            _code(code)
    return codes


def _severity(value: object) -> dict[str, Severity]:
    if not isinstance(value, dict):
        raise ValueError(f"expected a table such as {{ STEP103 = 'warning' }}, found {_shown(value)}")
    known = [severity.value for severity in Severity]
    for code, name in value.items():
        try:
            _code(code)
        except ValueError as error:
            raise _WrongPart(code, str(error)) from error
        if name not in known:
            close = nearest(name, known) if isinstance(name, str) else []
            advice = f"; did you mean {close[0]!r}?" if close else ""
            raise _WrongPart(code, f"{code}: expected one of {', '.join(known)}, found {_shown(name)}{advice}")
    return {code: Severity(name) for code, name in value.items()}


def read_time_limit(value: object) -> float:
    """Return a number of seconds; ``ValueError`` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _MAX_SECONDS:
        raise ValueError(f"expected a number of seconds above 0 and up to {_MAX_SECONDS:,}, found {_shown(value)}")
    return float(value)


def read_memory_limit(value: object) -> int:
    """Return a number of MiB; ``ValueError`` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not 64 <= value <= _MAX_MIB:
        raise ValueError(f"expected a whole number of MiB from 64 to {_MAX_MIB:,}, found {_shown(value)}")
    return value


def read_answers(value: object) -> int:
    """Return a number of a model's answers; ``ValueError`` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MAX_ANSWERS:
        raise ValueError(f"expected a whole number from 1 to {_MAX_ANSWERS:,}, found {value!r}")
    return value


def read_flag(value: object) -> bool:
    """Return a truth value; ``ValueError`` for anything else."""
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, found {_shown(value)}")
    return value


def _timing(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError(f"expected a table such as {{ hw = 'paper' }}, found {_shown(value)}")
    for key in value:
        if key not in _TIMING:
            raise _WrongPart(key, f"unknown key {clipped(repr(key), 80)}; there is {', '.join(_TIMING)}")
    hw = value.get("hw")
    if "hw" in value and (not isinstance(hw, str) or not hw.strip()):
        raise _WrongPart("hw", f"hw: expected the name of a chip or of a TOML file, found {clipped(_shown(hw), 80)}")
    return dict(value)


_READERS: Final[dict[str, Callable[[object], Any]]] = {
    "affine": _affine,
    "ignore": _ignore,
    "severity": _severity,
    "time_limit": read_time_limit,
    "memory_limit": read_memory_limit,
    "exclude": _texts,
    "send_to_provider": read_flag,
    "answers_without_program": read_answers,
    "timing": _timing,
}
_TIMING: Final = ("hw",)  # keys of [timing], which are settings like all others
assert {entry.name for entry in fields(Config)} == {*_READERS, *_TIMING, "path", "asked"} - {"timing"}
