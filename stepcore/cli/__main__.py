"""``python -m stepcore.cli``."""

from __future__ import annotations

import sys

from stepcore.cli import main

sys.exit(main())
