"""``python -m stepserver [--tcp PORT]``."""

from __future__ import annotations

import gc
import sys


def main() -> int:
    """Parse the arguments and serve until the client leaves."""
    if not sys.argv[1:]:
        return serve()
    import argparse  # it takes a while, and an editor seldom needs it

    parser = argparse.ArgumentParser(prog="stepserver", description="The language server of Stepsmith.")
    parser.add_argument("--stdio", action="store_true", help="speak over standard input and output (the default)")
    parser.add_argument("--tcp", type=int, metavar="PORT", help="wait for one client on 127.0.0.1 instead")
    return serve(parser.parse_args().tcp)


def serve(port: int | None = None) -> int:
    """Serve one client, over standard input and output or on a local port; return the exit code."""
    # Imports make hundreds of thousands of objects that stay: looking through them takes a fifth of the start.
    # `stepserver.memory.settle` switches collection on again.
    gc.disable()
    from stepserver.quick_types import load_types

    load_types()
    from stepserver import start

    return start.serve(port)


if __name__ == "__main__":
    sys.exit(main())
