"""The server as a process: `python -m tests.support.messages_api --script FILE --log FILE [--port N]`.

Its first line of output is its URL; it runs until it is terminated. The script file is described at
`scripts.script_from_file`; its `options` may hold `models`, `api_keys`, `thinking_types`,
`context_window`, `prefill`, `minimum` (tokens that a cached prefix must have) and `runs_count_once`.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from tests.support.messages_api.cache import PromptCache
from tests.support.messages_api.scripts import script_from_file
from tests.support.messages_api.server import MessagesApi


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    options: dict[str, Any] = json.loads(given.script.read_text()).get("options", {})
    cache = PromptCache(**{n: options.pop(n) for n in ("minimum", "runs_count_once") if n in options})
    script = script_from_file(given.script)
    with MessagesApi(script, cache=cache, log=given.log, port=given.port, **options) as api:
        sys.stdout.write(f"{api.url}\n")
        sys.stdout.flush()
        ended.wait()


main()
