"""Put the language server and the libraries that it imports into ``editor-extension/bundled``, for the VSIX.

The libraries come from ``scripts/bundle_requirements.txt``, with fixed versions and hashes, and only as pure-Python
wheels. ``--lock`` writes that file anew from ``scripts/bundle_requirements.in``.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUNDLED = ROOT / "editor-extension" / "bundled"
WANTED = ROOT / "scripts" / "bundle_requirements.in"
LOCKED = ROOT / "scripts" / "bundle_requirements.txt"
PACKAGES = (ROOT / "stepcore", ROOT / "server" / "stepserver", ROOT / "agents" / "stepagents")
# Not needed at run time: caches, tests, command-line entry points, type stubs of others.
LEFT_OUT = ("__pycache__", "*.pyc", "tests", "test", "bin", "*.so", "*.pyd", "*.dylib")
PURE = (
    "--only-binary=:all:", "--implementation=py", "--abi=none", "--platform=any", "--python-version=3.11",
)  # fmt: skip
HEADER = "# Written by scripts/bundle_extension.py --lock. Every file is a pure-Python wheel.\n"


def pip(*arguments: str) -> None:
    """Run pip of this interpreter; its output is shown only when it fails."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def lock() -> None:
    """Write the versions and hashes that the wanted requirements resolve to."""
    with tempfile.TemporaryDirectory() as directory:
        pip("download", "--quiet", "--dest", directory, *PURE, "--requirement", str(WANTED))
        LOCKED.write_text(HEADER + "".join(sorted(map(_pinned, Path(directory).iterdir()))), encoding="utf-8")


def _pinned(wheel: Path) -> str:
    name, version, *_ = wheel.name.split("-")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return f"{name.lower().replace('_', '-')}=={version} --hash=sha256:{digest}\n"


def bundle() -> None:
    """Fill ``bundled/libs`` and ``bundled/stepsmith``; what was there before is removed."""
    libraries, own = BUNDLED / "libs", BUNDLED / "stepsmith"
    for folder in (libraries, own):
        shutil.rmtree(folder, ignore_errors=True)
    pip(
        "install", "--quiet", "--no-deps", "--no-compile", "--require-hashes", *PURE,
        "--target", str(libraries), "--requirement", str(LOCKED),
    )  # fmt: skip
    for path in _left_out(libraries):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    compiled = [path for path in libraries.rglob("*") if path.suffix in (".so", ".pyd", ".dylib")]
    if compiled:
        sys.exit(f"not pure Python: {', '.join(map(str, compiled))}")
    for package in PACKAGES:
        shutil.copytree(package, own / package.name, ignore=shutil.ignore_patterns(*LEFT_OUT))
    shutil.copy2(ROOT / "LICENSE", own / "LICENSE")


def _left_out(folder: Path) -> Iterable[Path]:
    """Return what is not to be packaged, folders before what is in them."""
    found = {path for pattern in LEFT_OUT for path in folder.rglob(pattern)}
    return [path for path in sorted(found) if not any(parent in found for parent in path.parents)]


def check() -> None:
    """Start the bundled server as the extension does, as far as its help text."""
    command = [sys.executable, "-I", "-S", str(BUNDLED / "launch.py"), "--help"]
    imports = "import sys; sys.path[:0] = sys.argv[1:]; import stepserver.app, stepcore.ide, stepcore.sim"
    folders = [str(BUNDLED / "stepsmith"), str(BUNDLED / "libs")]
    for run in (command, [sys.executable, "-I", "-S", "-B", "-c", imports, *folders]):
        done = subprocess.run(run, check=False, capture_output=True, text=True, cwd=tempfile.gettempdir())
        if done.returncode != 0:
            sys.exit(f"the bundled server does not start:\n{done.stdout}{done.stderr}")


def main() -> int:
    """Bundle, or lock."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lock", action="store_true", help="resolve the requirements anew and write their hashes")
    if parser.parse_args().lock:
        lock()
    bundle()
    check()
    size = sum(path.stat().st_size for path in BUNDLED.rglob("*") if path.is_file())
    print(f"bundled into {BUNDLED.relative_to(ROOT)}: {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
