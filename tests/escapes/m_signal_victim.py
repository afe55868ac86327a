# The victim is ended.
# text: refused
# user: refused
# needs: processes
import os
import signal
from pathlib import Path


def attempt(outside: Path) -> object:
    for send in (lambda pid: os.kill(pid, signal.SIGKILL), lambda pid: signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL)):
        try:
            send(int(os.environ["ESCAPE_VICTIM"]))
            return True
        except OSError:
            continue
