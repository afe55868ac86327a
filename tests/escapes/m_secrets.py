# Variables of the environment that hold secrets of the owner.
# text: refused
# user: refused
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    return [name for name in os.environ if any(part in name.upper() for part in ("TOKEN", "SECRET", "PASSWORD", "API_KEY", "SSH_AUTH"))]
