"""Warnings of a leader, in front of a person."""

from __future__ import annotations

import io
import logging
import re

from swarm.cli.leader_log import complaints_told
from swarm.cli.session import Io


def test_a_warning_says_when_of_whom_and_why() -> None:
    err = io.StringIO()
    facts = {"swarm_agent": "w1", "swarm_error": "no room"}
    with complaints_told(Io(io.StringIO(), err, io.StringIO(), {})):
        logging.getLogger("swarm.leader.teammates").warning("not started anew", extra=facts)
        logging.getLogger("swarm.leader.teammates").info("nothing to tell")
    logging.getLogger("swarm.leader.teammates").info("nor afterwards")

    assert re.fullmatch(r"[-0-9]{10} [:0-9]{8}  w1: not started anew: no room\n", err.getvalue())
