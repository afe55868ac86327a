"""What a worker that waits for a user imports before the first program comes: all that programs need to be judged.

Each of these is imported where it is needed, since a command runs one program and needs few. In an editor somebody
would wait for them in the middle of a save.
"""

from __future__ import annotations

import fractions  # noqa: F401 - sizes that divide

import stepcore.check.copies
import stepcore.check.depths
import stepcore.check.fifos
import stepcore.check.references
import stepcore.check.rewriting
import stepcore.check.waiting  # streams that are used twice
import stepcore.fn.forwards
import stepcore.fn.shapes.references
import stepcore.fn.torch_signatures  # calls of torch in element functions
import stepcore.ops.origin_names
import stepcore.sim.open_sizes
import stepcore.sim.worker.simulate  # what checks and runs
import stepcore.sizes.kinds  # noqa: F401 - what selects
