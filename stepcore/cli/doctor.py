"""``stepsmith doctor``: what is installed, what is missing, what to do. Imports nothing of what it looks at."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Final

from stepcore.cli.terminal import EXIT_CLEAN, EXIT_FINDINGS, colours_wanted
from stepcore.records import Record
from stepcore.reports.text import Paint
from stepcore.settings.config import ConfigError, Configs
from stepcore.settings.limits import in_force, user_file, user_wishes
from stepcore.text.wording import one_line
from stepcore.version import VERSION

_PACKAGES: Final = (
    # name, needed for everything, what for
    ("ruamel.yaml", True, "reading task files"),
    ("typer", True, "the command line"),
    ("rich", True, "tables and help"),
    ("platformdirs", True, "the place of the experience store"),
    ("torch", False, "verify and simulate"),
    ("numpy", False, "reading tensors of torch"),
)


class DoctorRow(Record):
    """One line: what was looked at, whether it is well, what was found, and what to do if it is not."""

    name: str
    ok: bool
    found: str
    advice: str = ""
    needed: bool = True


def run(output: str) -> int:
    """Print the state of the installation; 1 if something that everything needs is not well."""
    items = [
        _python(),
        _self(),
        *(_package(*entry) for entry in _PACKAGES),
        _worker(),
        *_isolation(),
        _configuration(),
        *_limits(),
        *_plugins(),
    ]
    if output == "json":
        print(json.dumps([asdict(item) for item in items], indent=2))
    else:
        paint = Paint(colours_wanted(sys.stdout))
        for item in items:
            mark = paint("ok", "32") if item.ok else paint("no", "31;1" if item.needed else "33;1")
            advice = "" if item.ok else f"\n    -> {one_line(item.advice)}"
            print(f"{mark}  {one_line(item.name):<14} {one_line(item.found)}{advice}")
    return EXIT_FINDINGS if any(item.needed and not item.ok for item in items) else EXIT_CLEAN


def _python() -> DoctorRow:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {sys.executable}"
    return DoctorRow("Python", sys.version_info >= (3, 11), found, "install Python 3.11 or newer")


def _self() -> DoctorRow:
    try:
        installed = version("stepsmith")
    except PackageNotFoundError:
        return DoctorRow("stepsmith", False, f"{VERSION}, running from source", "pip install stepsmith", needed=False)
    return DoctorRow("stepsmith", installed == VERSION, installed, f"the code is {VERSION}: pip install -U stepsmith")


def _package(name: str, needed: bool, purpose: str) -> DoctorRow:
    try:
        return DoctorRow(name, True, version(name), needed=needed)
    except PackageNotFoundError:
        wanted = name if needed else "torch numpy"
        return DoctorRow(name, False, f"missing; needed for {purpose}", f"pip install {wanted}", needed)


def _worker() -> DoctorRow:
    """Start a worker of the simulator and let it answer."""
    from importlib.util import find_spec

    if find_spec("torch") is None:
        return DoctorRow("simulator", False, "not available without torch", "pip install torch numpy", needed=False)
    from stepcore.jobdata.programs import ABOUT
    from stepcore.jobs import JobError, Limits, Pool

    with Pool(size=1, limits=Limits(seconds=30)) as pool:
        try:
            facts = pool.submit(ABOUT, None).result()
        except JobError as error:
            return DoctorRow(
                "simulator", False, f"{error.code} {error.message}", "stepsmith --debug doctor", needed=False
            )
    limited = "memory is limited" if facts.memory_limited else "memory cannot be limited on this system"
    return DoctorRow("simulator", True, f"torch {facts.torch} with {facts.threads} threads; {limited}", needed=False)


def _isolation() -> list[DoctorRow]:
    """One line for each layer that keeps workers in: what handles text first, then a user's functions."""
    from stepcore.isolation import LAYERS, TEXT, Isolation
    from stepcore.jobs import JobError
    from stepcore.jobs.probe import isolation_in_force

    try:
        text, user = isolation_in_force(TEXT), isolation_in_force(Isolation())
    except JobError as error:
        return [
            DoctorRow("isolation", False, f"{error.code} {error.message}", "stepsmith --debug doctor", needed=False)
        ]
    items = []
    for name, purpose in LAYERS.items():
        strict, loose = text.layers[name], user.layers[name]
        means = ", ".join(strict.by) or "nothing"
        if strict.by != loose.by:
            means += f"; for functions of users: {', '.join(loose.by) or 'nothing'}"
        gap = "; ".join(dict.fromkeys(part for layer in (strict, loose) for part in layer.gap.split("; ") if part))
        found = f"{purpose}: {means}" + (f" ({gap})" if gap else "")
        advice = "limits on time and memory remain; docs/security.md says what each system offers"
        items.append(DoctorRow(name, bool(strict.by), found, advice, needed=False))
    return items


def _configuration() -> DoctorRow:
    try:
        config = Configs().for_file(Path.cwd())
    except ConfigError as error:
        return DoctorRow("configuration", False, str(error), "mend the file")
    return DoctorRow("configuration", True, str(config.path) if config.path else "defaults (no file found)")


def _limits() -> list[DoctorRow]:
    """What holds for runs in this folder, and who said so."""
    try:
        config, user = Configs().for_file(Path.cwd()), user_wishes()
    except ConfigError as error:
        return [DoctorRow("limits", False, str(error), "mend the file", needed=False)]
    held = in_force(config, user=user)
    origins = held.origins
    found = (
        f"{held.seconds:g} s for each program ({origins['time_limit']}), {held.memory} MiB for each worker "
        f"({origins['memory_limit']}), {'with' if held.network else 'no'} network ({origins['network']}); "
        f"the user's own are in {user_file()}"
    )
    return [
        DoctorRow("limits", True, found),
        *(DoctorRow("limits", False, note, "", needed=False) for note in held.notes),
    ]


def _plugins() -> list[DoctorRow]:
    """The further commands, and whether the terminal hides colours."""
    names = sorted(point.name for point in entry_points(group="stepsmith.commands"))
    items = [DoctorRow("commands", True, "added by other packages: " + (", ".join(names) or "none"))]
    if os.environ.get("NO_COLOR"):
        items.append(DoctorRow("NO_COLOR", True, "set: no colours"))
    return items
