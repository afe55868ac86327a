"""The command ``python -m tests.mutation``."""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import json
import os
import random
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path

from .config import Config
from .mutators import Mutant, mutants_of
from .pool import BaselineError, Pool, Verdict, baseline
from .report import as_json, share, table

PROGRESS_EVERY = 25
UNUSABLE, INTERRUPTED = 2, 130


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description="Break the code; see who notices.")
    parser.add_argument("--sample", type=int, metavar="N", help="try only N mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the draw (default: 0)")
    parser.add_argument("--only", action="append", metavar="PATH", help="a file, directory or pattern to mutate")
    parser.add_argument(
        "--at-least", type=float, default=95.0, metavar="PERCENT", help="killed, or exit 1 (default: 95)"
    )
    parser.add_argument("--jobs", type=int, default=Config.jobs, help=f"processes (default: {Config.jobs})")
    parser.add_argument(
        "--timeout", type=float, default=Config.timeout_least, metavar="SECONDS", help="least time for a mutant"
    )
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the project (default: here)")
    parser.add_argument("--target", action="append", metavar="PATTERN", help="instead of the configured files")
    parser.add_argument("--tests", action="append", metavar="PATH", help="instead of the configured tests")
    return parser.parse_args()


def matches(path: str, wanted: list[str] | None) -> bool:
    """Whether a file is among those named; all are when none is."""
    return not wanted or any(
        path == name or path.startswith(name.rstrip("/") + "/") or fnmatch(path, name)
        for name in (Path(name).as_posix() for name in wanted)
    )


def find(config: Config, only: list[str] | None) -> list[Mutant]:
    """All mutants of the target files, in order."""
    paths = sorted({path for target in config.targets for path in config.root.glob(target)})
    made: list[Mutant] = []
    for path in paths:
        name = path.relative_to(config.root).as_posix()
        if matches(name, only):
            made += mutants_of(path.read_text(encoding="utf-8"), name)
    return made


def preload(config: Config) -> None:
    """Import what every mutant's process needs, so that it is forked with it."""
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.path.insert(0, str(config.root))
    for name in config.preload:
        if importlib.util.find_spec(name.partition(".")[0]) is not None:
            importlib.import_module(name)
    targets = {path for target in config.targets for path in config.root.glob(target)}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is not None and Path(file) in targets:
            raise RuntimeError(f"{name} is imported before it is mutated")
    # What is here stays: no collection in a mutant's process has to look at it, nor to copy its pages.
    gc.freeze()


def try_all(config: Config, mutants: list[Mutant]) -> list[Verdict]:
    """Try mutants and show how far it got."""
    files = sorted({mutant.path for mutant in mutants})
    pool = Pool(config, baseline(config, files))
    verdicts: list[Verdict] = []
    for verdict in pool.run(mutants):
        verdicts.append(verdict)
        if len(verdicts) % PROGRESS_EVERY == 0:
            print(f"{len(verdicts)} of {len(mutants)}, {share(verdicts):.1f}% killed", file=sys.stderr, flush=True)
    return verdicts


def save(config: Config, options: argparse.Namespace, verdicts: list[Verdict], seconds: float) -> Path:
    """Write the result; that of a part of the mutants does not replace a full one."""
    date = datetime.now(UTC).date().isoformat()
    part = "-part" if options.sample is not None or options.only else ""
    path = config.root / "benchmarks" / "results" / f"mutation-{date}{part}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    facts = {
        "date": date,
        "seconds": round(seconds),
        "sample": options.sample,
        "seed": options.seed,
        "only": options.only,
    }
    path.write_text(json.dumps(as_json(verdicts, **facts), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def main() -> int:
    """Run; 0 when enough mutants are killed, 1 when not, 2 when the tests fail without any, 130 when interrupted."""
    options = arguments()
    config = Config(root=options.root.resolve(), jobs=options.jobs, timeout_least=options.timeout)
    if options.target:
        config = replace(config, targets=tuple(options.target))
    if options.tests:
        config = replace(config, tests=tuple(options.tests))

    mutants = find(config, options.only)
    if options.sample is not None and options.sample < len(mutants):
        drawn = random.Random(options.seed).sample(range(len(mutants)), options.sample)
        mutants = [mutants[index] for index in sorted(drawn)]
    if options.list:
        print("\n".join(map(str, mutants)))
        return 0
    if not mutants:
        print("nothing to mutate", file=sys.stderr)
        return UNUSABLE

    started = time.monotonic()
    try:
        preload(config)
        verdicts = try_all(config, mutants)
    except BaselineError as error:
        print(f"the tests must pass before anything is mutated: {error}", file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        return INTERRUPTED
    print(table(verdicts))
    path = save(config, options, verdicts, time.monotonic() - started)
    killed = share(verdicts)
    print(f"{killed:.1f}% killed, {options.at_least:g}% asked for; see {path.relative_to(config.root).as_posix()}")
    return 0 if killed >= options.at_least else 1


if __name__ == "__main__":
    sys.exit(main())
