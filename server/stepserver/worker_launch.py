"""Start a worker in a user's Python with *our* libraries: ``python worker_launch.py MODULE FOLDER...``.

Run as a file, by whatever Python the user chose, so it imports nothing but the standard library and has to be readable
for old versions of Python. Only the packages named here come from the folders; everything else is the user's own, so
that the server's libraries (or those of another environment) never replace what torch was installed with.
"""

import importlib.machinery
import runpy
import sys

OURS = ("stepcore", "stepagents", "ruamel")
NEEDED = (3, 11)


class Finder:
    """Finds our packages, and only them, in ``folders``."""

    def __init__(self, folders):  # type: ignore[no-untyped-def]
        self.folders = folders

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        """Return where a package of ours is; None for all others."""
        if name in OURS:
            return importlib.machinery.PathFinder.find_spec(name, self.folders, target)
        return None


def main() -> None:
    """Check the version, then become the worker."""
    if sys.version_info < NEEDED:
        sys.exit("simulation needs Python {}.{} or newer, and this one is {}".format(*NEEDED, sys.version.split()[0]))
    del sys.path[0]  # the folder of this file
    module = sys.argv[1]
    sys.meta_path.insert(0, Finder(sys.argv[2:]))  # type: ignore[no-untyped-call]
    del sys.argv[1:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
