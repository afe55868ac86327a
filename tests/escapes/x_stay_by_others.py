# Somebody else is asked to start it: a timer of the system, at, cron, a session's service.
# text: refused
# user: refused
import subprocess
from pathlib import Path


def attempt(outside: Path) -> object:
    beat = f"echo x >> {outside}/made"
    for command in (["systemd-run", "--user", "sh", "-c", beat], ["systemd-run", "sh", "-c", beat], ["at", "now"], ["crontab", "-"], ["dbus-send", "--session", "--dest=org.freedesktop.DBus", "/", "org.freedesktop.DBus.ListNames"]):
        try:
            if subprocess.run(command, input=f"* * * * * {beat}\n".encode(), capture_output=True, timeout=5).returncode == 0:
                return command
        except (OSError, subprocess.SubprocessError):
            continue
