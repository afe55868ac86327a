# Files through /proc/self/root, /proc/self/cwd and /proc/1/root.
# text: refused
# user: refused
# needs: files
from pathlib import Path


def attempt(outside: Path) -> object:
    for root in ("/proc/self/root", "/proc/1/root", "/proc/self/task/self/root", "/proc/thread-self/root"):
        try:
            Path(root + str(outside / "mark")).write_text("out")
            return True
        except OSError:
            continue
