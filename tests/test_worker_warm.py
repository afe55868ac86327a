"""A worker that waits for a user has imported what first saves need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_RUNS = """
import json, sys
from pathlib import Path
import stepcore.sim.worker.warm
from stepcore.jobdata.programs import Decided, SimulateRequest
from stepcore.sim.worker.simulate import simulate

class Context:
    def check(self):
        pass

    def progress(self, news):
        if isinstance(news, Decided):
            decided.append(set(sys.modules))

late = {}
for path in map(Path, sys.argv[1:]):
    before, decided = set(sys.modules), []
    simulate(SimulateRequest(str(path), path.read_text(encoding="utf-8")), Context())
    late[path.name] = sorted(name for name in decided[0] - before if name.startswith("stepcore."))
print(json.dumps(late))
"""


def test_the_first_save_of_a_published_task_imports_nothing_until_its_verdict() -> None:
    tasks = sorted((ROOT / "benchmarks" / "tasks").glob("*.step.yaml"))
    assert len(tasks) > 20
    done = subprocess.run([sys.executable, "-c", _RUNS, *map(str, tasks)], capture_output=True, text=True, check=True)
    late = json.loads(done.stdout)
    assert late == {path.name: [] for path in tasks}
