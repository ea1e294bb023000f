"""``python -m tare.cli`` is ``tare``."""

import sys

from tare.cli import main

sys.exit(main())
