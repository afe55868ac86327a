"""``python -m stepcore.cli``."""

import sys

from stepcore.cli import main

sys.exit(main())
