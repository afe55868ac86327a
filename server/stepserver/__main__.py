"""``python -m stepserver [--tcp PORT]``."""

from __future__ import annotations

import sys


def main() -> int:
    """Parse the arguments and serve until the client leaves."""
    if not sys.argv[1:]:
        return _serve(None)
    import argparse  # it takes a while, and an editor seldom needs it

    parser = argparse.ArgumentParser(prog="stepserver", description="The language server of Stepsmith.")
    parser.add_argument("--stdio", action="store_true", help="speak over standard input and output (the default)")
    parser.add_argument("--tcp", type=int, metavar="PORT", help="wait for one client on 127.0.0.1 instead")
    return _serve(parser.parse_args().tcp)


def _serve(port: int | None) -> int:
    from stepserver.start import serve

    return serve(port)


if __name__ == "__main__":
    sys.exit(main())
