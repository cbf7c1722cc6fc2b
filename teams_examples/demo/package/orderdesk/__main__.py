"""`python3 -m orderdesk`."""

import sys

from orderdesk.cli import main

sys.exit(main(sys.argv[1:]))
