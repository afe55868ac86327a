# The own limits are raised again: memory, file size.
# text: refused
# user: refused
import resource
from pathlib import Path


def attempt(outside: Path) -> object:
    for limit in (resource.RLIMIT_DATA, resource.RLIMIT_FSIZE):
        try:
            resource.setrlimit(limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            return limit
        except (OSError, ValueError):
            continue
