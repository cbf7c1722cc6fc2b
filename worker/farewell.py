"""What a worker does for the server of its pane when nobody else is left to do it."""

from __future__ import annotations

import os
import subprocess

_NUDGE = 'for round in 1 2 3 4 5 6 7 8 9 10; do sleep 0.3; kill -CHLD "$1" || exit 0; done'


def nudge_when_gone() -> None:
    """Leave a small program behind that has our parent look for ended children in the moments after our end.

    tmux was seen to miss that one of several has ended; its pane, and so the server, then stay for good. The
    program has a session of its own, nothing of our environment, and none of our terminal, which would keep
    the pane open.
    """
    subprocess.Popen(
        ["/bin/sh", "-c", _NUDGE, "sh", str(os.getppid())],
        env={"PATH": os.defpath},
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
