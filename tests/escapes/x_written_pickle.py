# A pickle starts a program when it is loaded.
# text: refused
# user: allowed
# needs: calls
import os
import pickle
from pathlib import Path


class Loaded:
    def __reduce__(self):
        return (os.system, ("true",))


def attempt(outside: Path) -> object:
    return pickle.loads(pickle.dumps(Loaded())) == 0
