"""One agent's own log, also where several agents share a process."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from swarm.logs import ROOTS, PrivateFile
from worker.context.agent import AgentContext, current_agent


@contextmanager
def agent_log(path: str, agent: AgentContext) -> Iterator[None]:
    """While the block runs, append to this file what is logged on behalf of this life of this agent."""
    handler = PrivateFile(path)
    handler.addFilter(lambda _record: current_agent.get(None) is agent)
    loggers = [logging.getLogger(name) for name in ROOTS]
    for logger in loggers:
        logger.addHandler(handler)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        handler.close()
