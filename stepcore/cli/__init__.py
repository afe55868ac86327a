"""The command ``stepsmith``.

Start-up is paid at every call, so each command's module is imported when the command runs, and nothing here imports
torch, asyncio or the job machinery.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from stepcore.cli.quick import parse_check
from stepcore.cli.terminal import EXIT_CLEAN, EXIT_INTERRUPTED, EXIT_UNUSABLE, complain
from stepcore.system.scarce import reason_of, what_is_scarce
from stepcore.text.wording import one_line

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; with ``--debug`` an internal error is raised, else reported.

    Without ``arguments`` those of the process are taken, which is to end afterwards.
    """
    if arguments is not None:
        return _main(list(arguments))
    try:
        return _main(sys.argv[1:])
    finally:
        gc.freeze()  # Python would search all that is left for garbage several times: a tenth of a second


def _main(words: list[str]) -> int:
    # Closed output (`>&-`) is None: what is written goes nowhere then, and the exit code still tells.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115, PTH123
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # what a terminal cannot show becomes an escape instead of an error
            stream.reconfigure(errors="backslashreplace")
    try:
        return _run(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else EXIT_CLEAN if end.code is None else EXIT_UNUSABLE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        _close_output()
        return EXIT_UNUSABLE
    except OSError as error:
        if "--debug" in words:
            raise
        _close_output()
        where = f"{one_line(error.filename)}: " if error.filename else ""
        lacking = what_is_scarce(error) or _what_is_gone()
        code = "STEP407" if isinstance(error, BlockingIOError) else "STEP901"
        complain(f"{code} {where}{lacking or f'reading or writing failed: {reason_of(error)}'}")
        return EXIT_UNUSABLE
    except Exception as error:
        if "--debug" in words:
            raise
        if lacking := what_is_scarce(error):
            complain(f"{'STEP406' if isinstance(error, MemoryError) else 'STEP407'} {lacking}")
            return EXIT_UNUSABLE
        complain(f"STEP911 internal error: {type(error).__name__}: {error}; --debug shows where")
        return EXIT_UNUSABLE


def _what_is_gone() -> str:
    """Say that the folder in which the command runs was removed, if it was: the system names no file then."""
    try:
        os.getcwd()  # noqa: PTH109 -- pathlib asks the same
    except FileNotFoundError:
        return "the folder in which this runs was removed; change to one that is there"
    except OSError:  # something else is the matter, which the first error tells
        return ""
    return ""


def _close_output() -> None:
    """Send what is still buffered nowhere, so that Python does not fail once more when it ends."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # standard output is no file, as in tests
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _run(words: list[str]) -> int:
    quick = parse_check(words)
    if quick is not None:
        from stepcore.cli.check import run

        return run(*quick)
    from stepcore.cli.points import begun

    with begun(words):
        from stepcore.cli.app import app

        # typer turns an interruption into an exit code of its own unless it is told to leave errors alone.
        return _call_typer(app, words)


def _call_typer(app: object, words: list[str]) -> int:
    import typer

    command = typer.main.get_command(app)  # type: ignore[arg-type]
    try:
        code = command.main(words, prog_name="stepsmith", standalone_mode=False)
    except typer.Abort:
        return EXIT_INTERRUPTED
    except SystemExit as end:  # what typer makes of a closed pipe; its exit code would mean findings
        if isinstance(end.__context__, BrokenPipeError):
            raise end.__context__ from None
        raise
    except Exception as error:
        show = getattr(error, "show", None)  # usage errors know how to show themselves
        if show is None:
            raise
        if isinstance(message := getattr(error, "message", None), str):
            error.message = one_line(message.removeprefix("Value error, "))  # type: ignore[attr-defined]
        show()
        return EXIT_UNUSABLE
    return code if isinstance(code, int) else EXIT_CLEAN
