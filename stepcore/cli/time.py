"""``stepsmith time`` and ``stepsmith hw``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from stepcore.check.files import CheckResult, check_text, program_faults
from stepcore.check.programs import Checked
from stepcore.cli.targets import FileTarget, find_targets, read_target
from stepcore.cli.terminal import EXIT_CLEAN, EXIT_FINDINGS, EXIT_UNUSABLE, complain
from stepcore.cycles.network_of import NotTimed, network_of
from stepcore.cycles.report import Timed, as_json, picture
from stepcore.findings.diagnostics import Severity
from stepcore.graph.ir import ProgramSpec
from stepcore.reports.text import clean
from stepcore.settings.config import Configs
from stepcore.text.files import Unusable, read_file
from stepcore.text.wording import one_line
from stepcore.timing.exact import TooLong
from stepcore.timing.exact import run as run_network
from stepcore.timing.hardware import PRESETS, Hardware
from stepcore.timing.hardware_file import MAX_TEXT, HardwareError, read_hardware, values_of
from stepcore.timing.stops import cure, ring

_STEPS: Final = 50_000_000  # of units, in one run


def run(texts: Sequence[str], hw: str, dims: dict[str, int], output: str, *, fluid: bool) -> int:
    """Time all programs of the targets, print what they take, and return the exit code: 1 where one stops."""
    try:
        chip = chip_of(hw)
    except HardwareError as error:
        complain(f"{one_line(hw)}{f':{error.line}' if error.line else ''}: {error}")
        return EXIT_UNUSABLE
    configs, found, code = Configs(), [], EXIT_CLEAN
    for target in find_targets(texts):
        try:
            for timed in _programs(target, configs, chip, dims, fluid=fluid):
                found.append(timed)
                if timed.timing.waiting:
                    code = max(code, EXIT_FINDINGS)
                if output == "text":
                    print("\n".join(map(clean, picture(timed))), end="\n\n")
        except Unusable as error:
            complain(f"{one_line(error.path)}: {error.code} {error.message}")
            code = EXIT_UNUSABLE
    if output == "json":
        print(json.dumps([as_json(timed) for timed in found], indent=2))
    return code


def chip_of(name: str) -> Hardware:
    """Return the preset of that name, or the chip that a file describes.

    Raises:
        HardwareError: there is neither, or the file cannot be used.
    """
    if name in PRESETS:
        return PRESETS[name]
    path = Path(name)
    if path.suffix != ".toml":
        raise HardwareError(f"this is no chip: name a preset ({', '.join(PRESETS)}) or a .toml file")
    try:
        text = read_file(path).text
    except Unusable as error:
        raise HardwareError(error.message) from error
    if len(text) > MAX_TEXT:
        raise HardwareError(f"a description of a chip has at most {MAX_TEXT:,} characters")
    return read_hardware(text, path.stem)


def show(hw: str | None, output: str) -> int:
    """Print the chips that are known, or all that is known of one."""
    try:
        chips = list(PRESETS.values()) if hw is None else [chip_of(hw)]
    except HardwareError as error:
        complain(f"{one_line(str(hw))}{f':{error.line}' if error.line else ''}: {error}")
        return EXIT_UNUSABLE
    rows = [{"name": chip.name, **values_of(chip), "flops": dict(chip.flops)} for chip in chips]
    if output == "json":
        print(json.dumps(rows, indent=2))
        return EXIT_CLEAN
    for chip in chips:
        print(f"{clean(chip.name)}: {chip.memory.bandwidth:,} bytes per cycle off chip")
        flops = {f"flops.{function}": cost for function, cost in chip.flops.items()}
        for key, value in {**values_of(chip), **flops}.items():
            print(f"  {key} = {value}")
        print()
    return EXIT_CLEAN


def _programs(
    target: FileTarget | Unusable, configs: Configs, chip: Hardware, dims: dict[str, int], *, fluid: bool
) -> Iterator[Timed]:
    if isinstance(target, Unusable):
        raise target
    file, config = read_target(target, configs)
    result = check_text(file.text, str(target.path), affine=config.affine)
    programs = [program for program in result.programs if target.program in (None, program.name)]
    if not programs:
        raise Unusable(target.path, "there is no such program here", "STEP910")
    for program in programs:
        yield _timed(target, result, program, chip, dims, fluid=fluid)


def _timed(
    target: FileTarget, result: CheckResult, checked: Checked, chip: Hardware, dims: dict[str, int], *, fluid: bool
) -> Timed:
    errors = [d for d in (*checked.diagnostics, *program_faults(result, checked)) if d.severity is Severity.ERROR]
    if errors or not checked.runnable:
        raise Unusable(target.path, f"{checked.name} has errors: run `stepsmith check`", "STEP910")
    graph = checked.typed
    try:
        program = network_of(checked.spec, graph, _sizes(target, checked.spec, dims), chip)
        timing = run_network(program.network, limit=_STEPS, fluid=fluid)
    except NotTimed as error:
        raise Unusable(target.path, f"{checked.name} cannot be timed: {error}", "STEP907") from error
    except TooLong as error:
        text = f"{checked.name} takes too long to time: {error}; give smaller sizes with --dims"
        raise Unusable(target.path, text, "STEP907") from error
    waiting = ring(program.network, timing)
    cures = cure(program.network, timing) if timing.waiting else {}
    engine = "fluid" if fluid else "exact"
    return Timed(str(target.path), checked.name, result.source, graph, program, timing, engine, waiting, cures)


def _sizes(target: FileTarget, spec: ProgramSpec, dims: dict[str, int]) -> dict[str, int]:
    fixed = dict(spec.fixed)
    for name, value in dims.items():
        if name in fixed:
            text = f"--dims cannot set {name}={value}: the file itself binds {name} = {fixed[name]}"
            raise Unusable(target.path, text, "STEP907")
    return spec.bindings(dims)
