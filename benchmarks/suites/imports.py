"""How long ``import stepcore`` takes in a fresh process, and that it loads no torch."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.harness import ROOT, BenchReport, median_seconds, milliseconds

_NOTHING = "pass"
_IMPORT = "import stepcore, sys; sys.exit('torch' in sys.modules)"


def run() -> BenchReport:
    """Measure whole processes; what Python itself takes is subtracted."""
    report = BenchReport("import", "Import in a fresh process (medians)", ("what", "ms"))
    empty = median_seconds(lambda: _python(_NOTHING), 1.0)
    full = median_seconds(lambda: _python(_IMPORT), 1.0)
    report.rows += [
        ["python, nothing imported", milliseconds(empty)],
        ["python -c 'import stepcore'", milliseconds(full)],
        ["import stepcore alone", milliseconds(full - empty)],
    ]
    report.figures = {"python": empty, "import": full}
    report.goal("import stepcore", (full - empty) * 1e3, 150, " ms")
    return report


def _python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
