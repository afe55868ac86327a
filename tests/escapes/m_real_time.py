# The worker takes the processor for itself: real-time scheduling.
# text: refused
# user: refused
# needs: calls
import os
from pathlib import Path


def attempt(outside: Path) -> object:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    return True
