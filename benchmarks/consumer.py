"""huey's own consumer at its defaults, with one task that tells when it runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from huey import SqliteHuey
from huey.consumer import Consumer


def wake_up_call(filename: str) -> tuple[Any, Callable[[], object]]:
    """Return the queue in this file, and what puts the task into it."""
    huey = SqliteHuey("waking", filename=filename)

    @huey.task(name="tell")  # type: ignore[untyped-decorator]
    def tell() -> None:
        print(time.monotonic(), flush=True)

    return huey, tell


def serve(filename: str) -> None:
    """Run what is put into the queue, until killed; say `ready` first."""
    huey, _ = wake_up_call(filename)
    consumer = Consumer(huey, workers=1, worker_type="process")
    print("ready", flush=True)
    consumer.run()
