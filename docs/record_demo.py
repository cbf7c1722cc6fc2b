"""Record `swarm demo` as it is seen in a terminal.

Run it with `make picture`. The demo is really run; what stands in the picture is what the terminal showed.
"""

from __future__ import annotations

import tempfile

from picture import SWARM, Terminal, environ_in, target, write

COLUMNS, ROWS = 100, 30


def main() -> None:
    """Record the demo into the file named on the command line."""
    with tempfile.TemporaryDirectory(prefix="swarm-picture-") as home:
        terminal = Terminal((COLUMNS, ROWS), [SWARM, "demo"], home, environ_in(home))
        terminal.to_the_end()
    title = "swarm demo: three teammates carry a refactor through a task graph"
    write(target(), terminal.frames, title, COLUMNS, {home: "~"})


if __name__ == "__main__":
    main()
