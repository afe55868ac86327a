# A process that left the session stays when whoever watches over the worker is killed, by each way to send a signal.
# text: refused
# user: refused
import fcntl
import os
import signal
import time
from pathlib import Path


def beat():
    for _ in range(300):
        with open(os.path.join(os.environ["ESCAPE_RUN"], "heartbeat"), "a") as file:
            file.write("x")
        time.sleep(0.1)
    os._exit(0)


def by_folder(guardian):
    signal.pidfd_send_signal(os.open(f"/proc/{guardian}", os.O_RDONLY | os.O_DIRECTORY), signal.SIGKILL)


def by_owner(guardian):
    reader, writer = os.pipe()
    fcntl.fcntl(reader, 10, signal.SIGKILL)
    fcntl.fcntl(reader, fcntl.F_SETOWN, guardian)
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC)
    os.write(writer, b"x")


def attempt(outside: Path) -> object:
    guardian = os.getppid()
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        time.sleep(0.5)
        beat()
    for way in (
        by_owner,
        by_folder,
        lambda pid: signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL),
        lambda pid: os.kill(pid, signal.SIGKILL),
        lambda pid: os.killpg(pid, signal.SIGKILL),
    ):
        try:
            way(guardian)
            time.sleep(0.2)
        except OSError:
            continue
