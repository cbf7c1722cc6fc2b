"""What the leader of a run has to complain about, told to the person who watches it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from swarm.cli.render import local_time, printable
from swarm.cli.session import Io
from swarm.core.identity import LEADER
from swarm.core.times import format_time

_LEADER, _QUIET = "swarm.leader", "swarm.backends"


class _Notes(logging.Handler):
    def __init__(self, io: Io) -> None:
        super().__init__(logging.WARNING)
        self._io = io

    def emit(self, record: logging.LogRecord) -> None:
        facts = vars(record)
        error = f": {facts['swarm_error']}" if "swarm_error" in facts else ""
        said = f"{facts.get('swarm_agent', LEADER)}: {record.getMessage()}{error}"
        self._io.note(f"{local_time(format_time(time.time()))}  {printable(said)}")


@contextmanager
def complaints_told(io: Io) -> Iterator[None]:
    """While the block runs, print the leader's warnings in one line each, with whom they are about.

    What cannot be tidied up the run itself tells.
    """
    told = {_LEADER: _Notes(io), _QUIET: logging.NullHandler()}
    for name, handler in told.items():
        logging.getLogger(name).addHandler(handler)
    try:
        yield
    finally:
        for name, handler in told.items():
            logging.getLogger(name).removeHandler(handler)
