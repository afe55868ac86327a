# A file is made through /proc/self/root and /proc/self/cwd.
# text: refused
# user: refused
# needs: files
from pathlib import Path


def attempt(outside: Path) -> object:
    for base in ("/proc/self/root", "/proc/1/root", "/proc/thread-self/root", "/proc/self/task/self/../../root"):
        try:
            Path(base + str(outside), "made").write_text("out")
            return True
        except OSError:
            continue
    return False
