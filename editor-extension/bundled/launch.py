"""Start the language server that came with the extension: ``python -I -S bundled/launch.py``.

``-I`` and ``-S`` keep PYTHONPATH, the current folder and the user's site packages out, so that what is imported is what
was packaged: ``stepsmith`` next to this file, and the pure-Python libraries in ``libs``.
"""

import sys
from pathlib import Path

OLDEST = (3, 11)


def main() -> int:
    """Put our folders in front and serve until the client leaves."""
    if sys.version_info < OLDEST:
        print(f"Stepsmith needs Python 3.11 or later; this is {sys.version.split()[0]}", file=sys.stderr)
        return 2
    here = Path(__file__).resolve().parent
    sys.path[:0] = [str(here / "stepsmith"), str(here / "libs")]
    from stepserver.__main__ import main as serve

    return serve()


if __name__ == "__main__":
    sys.exit(main())
