"""The command ``stepsmith`` from its first line: the core takes a tenth of a second to import.

It stands here and not in :mod:`stepcore.cli` because nothing of the core is imported without the whole of it.
"""

from __future__ import annotations

import signal


def main() -> int:
    """Run :func:`stepcore.cli.main` and return its exit code.

    Who interrupts its import ends the process as the signal does, without a traceback.
    """
    is_ordinary = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else somebody has it ignored
    if is_ordinary:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from stepcore import cli

    if is_ordinary:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return cli.main()
