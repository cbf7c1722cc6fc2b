"""`python -m swarm` is the `swarm` command."""

import sys

from swarm.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
