"""Build the sdist and, from it, the wheel; install the wheel in a bare environment and run the command it brings.

The environment gets this one's dependencies through a ``.pth`` file, so nothing is downloaded and the working tree is
not importable: what the wheel forgot is missing.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("stepagents", "stepcore", "stepserver")


def run(*arguments: str | Path, cwd: Path) -> str:
    """Run a command that must end well, and return what it printed."""
    done = subprocess.run(
        [str(argument) for argument in arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(done.args)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check_contents(wheel: Path) -> None:
    """The wheel holds every package, each with its ``py.typed``, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    if tops != set(PACKAGES):
        sys.exit(f"the wheel holds {sorted(tops)} where {sorted(PACKAGES)} belong")
    missing = [package for package in PACKAGES if f"{package}/py.typed" not in names]
    if missing:
        sys.exit(f"without py.typed: {missing}")


def install(wheel: Path, home: Path) -> Path:
    """Install the wheel without dependencies; return the directory of its commands."""
    venv.create(home, with_pip=False)
    paths = sysconfig.get_paths(scheme="venv", vars={"base": str(home), "platbase": str(home)})
    site, scripts = Path(paths["purelib"]), Path(paths["scripts"])
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        scripts / "python",
        "install",
        "--no-deps",
        "--no-index",
        wheel,
        cwd=home,
    )
    (site / "dependencies-of-the-test.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return scripts


def main() -> None:
    """Build, install, run."""
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", work / "dist", ROOT, cwd=work)
        (wheel,) = (work / "dist").glob("*.whl")
        check_contents(wheel)
        scripts = install(wheel, work / "env")
        where = run(scripts / "python", "-c", "import stepcore; print(stepcore.__file__)", cwd=work).strip()
        if not Path(where).is_relative_to(work.resolve()):
            sys.exit(f"stepcore was imported from {where}, not from the wheel")
        print(run(scripts / "stepsmith", "--version", cwd=work).strip())
        print(f"{len(run(scripts / 'stepsmith', 'ops', cwd=work).splitlines())} lines from `stepsmith ops`")


if __name__ == "__main__":
    main()
