"""Logging as JSON lines, one file for each process. Only entry points call this.

Loggers say what happened in a constant text, with facts in `extra` under keys that begin with `swarm_`.
"""

from __future__ import annotations

import json
import logging
import os
import time
from contextlib import suppress
from io import TextIOWrapper
from typing import Any

ROOTS = ("swarm", "worker")
_FACT = "swarm_"


class JsonLines(logging.Formatter):
    """One record as one line: time, level, logger, event, and the facts under their own keys."""

    def format(self, record: logging.LogRecord) -> str:
        second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{second}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        line |= {key: value for key, value in vars(record).items() if key.startswith(_FACT)}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True, default=str)


class PrivateFile(logging.FileHandler):
    """Appends to a file that only its owner may read; it is made at the first record.

    A record that cannot be written, on a full disk for example, is dropped: a log never disturbs the work.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path, encoding="utf-8", delay=True)
        self.setFormatter(JsonLines())

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name of the library
        """Say nothing: the terminal belongs to the command."""

    def close(self) -> None:
        """Close the file; what could not be written to it is gone."""
        with suppress(OSError):
            super().close()

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        return os.fdopen(descriptor, "a", encoding="utf-8")


def configure_logging(path: str | None, *, level: str = "INFO") -> None:
    """Send what `swarm` and `worker` log to this file, in place of where it went before; None: nowhere."""
    for name in ROOTS:
        logger = logging.getLogger(name)
        for old in [*logger.handlers]:
            logger.removeHandler(old)
            old.close()
        logger.addHandler(PrivateFile(path) if path else logging.NullHandler())
        logger.setLevel(level)
        logger.propagate = False
