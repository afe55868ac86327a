# A shell that hears no hang-up beats on, away from its parent, session and group.
# text: refused
# user: refused
import subprocess
import time
from pathlib import Path


def attempt(outside: Path) -> object:
    beat = 'i=0; while [ $i -lt 250 ]; do echo x >> "$ESCAPE_RUN/heartbeat"; sleep 0.1; i=$((i+1)); done'
    subprocess.Popen(["nohup", "setsid", "sh", "-c", f"({beat}) & disown 2>/dev/null; ({beat}) &"], start_new_session=True)
    time.sleep(0.7)
