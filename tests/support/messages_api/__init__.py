"""A local Messages API for tests: as strict as the real one, with answers and faults by script.

    with MessagesApi([reply("Looking.", call("Read", {"file_path": "a"})), reply("Done.")]) as api:
        client = AsyncAnthropic(base_url=api.url, api_key="k", max_retries=0)
        ...
    assert api.refused == []

What it knows comes from the public documentation, the SDK's types and error messages that users reported.
"""

from tests.support.messages_api.cache import PromptCache
from tests.support.messages_api.child import ChildApi
from tests.support.messages_api.exchange import Exchange
from tests.support.messages_api.reply import (
    BEFORE_HEAD,
    Fault,
    Reply,
    call,
    close,
    cut,
    error_event,
    hold,
    http_error,
    odd_event,
    redacted,
    reply,
    reset,
    stall,
    text,
    thinking,
)
from tests.support.messages_api.scripts import team_script, with_changes
from tests.support.messages_api.server import MessagesApi
from tests.support.messages_api.stream import event_types

__all__ = [
    "BEFORE_HEAD",
    "ChildApi",
    "Exchange",
    "Fault",
    "MessagesApi",
    "PromptCache",
    "Reply",
    "call",
    "close",
    "cut",
    "error_event",
    "event_types",
    "hold",
    "http_error",
    "odd_event",
    "redacted",
    "reply",
    "reset",
    "stall",
    "team_script",
    "text",
    "thinking",
    "with_changes",
]
