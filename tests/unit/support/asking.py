"""Requests to the server by the real SDK, as a client that does not retry."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from anthropic import AsyncAnthropic, AsyncStream, DefaultAsyncHttpxClient

from swarm.values import Value
from tests.support.messages_api import ChildApi, MessagesApi

MODEL = "claude-test-1"
TOOLS = [
    {"name": name, "description": f"The tool {name}.", "input_schema": {"type": "object", "properties": {}}}
    for name in ("Read", "Bash")
]


class Answer(Value):
    """What came: all events as they were sent, and the blocks that they make."""

    events: list[dict[str, Any]]
    blocks: list[dict[str, Any]]
    stop_reason: str | None
    usage: dict[str, Any]

    @property
    def message(self) -> dict[str, Any]:
        return {"role": "assistant", "content": self.blocks}

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]


@asynccontextmanager
async def client_of(api: MessagesApi | ChildApi, **options: Any) -> AsyncIterator[AsyncAnthropic]:
    # To read certificates takes longer than a request, and a proxy of the caller must not come in between.
    plain_client = DefaultAsyncHttpxClient(verify=False, trust_env=False)
    plain = {"base_url": api.url, "api_key": "key-1", "max_retries": 0, "timeout": 10.0}
    given = {**plain, "http_client": plain_client, **options}
    async with AsyncAnthropic(**given) as client:
        yield client


def body_of(*messages: Any, **fields: Any) -> dict[str, Any]:
    """Return a request; a text is a message of the user. It has tools when it needs some."""
    row = [{"role": "user", "content": m} if isinstance(m, str) else m for m in messages]
    blocks = [b for m in row if isinstance(m["content"], list) for b in m["content"]]
    tools = {"tools": TOOLS} if any("tool" in b.get("type", "") for b in blocks) else {}
    return {"model": MODEL, "max_tokens": 1000, "messages": row, **tools, **fields}


def user(*blocks: Any) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks],
    }


def assistant(*blocks: Any) -> dict[str, Any]:
    return {**user(*blocks), "role": "assistant"}


def result(call_id: str, content: Any = "fine", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def use(call_id: str, name: str = "Read", **tool_input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": tool_input}


async def ask(api: MessagesApi | ChildApi, *messages: Any, **fields: Any) -> Answer:
    async with client_of(api) as client:
        return await ask_by(client, *messages, **fields)


async def ask_by(client: AsyncAnthropic, *messages: Any, **fields: Any) -> Answer:
    """Stream an answer and take it apart from its raw events."""
    stream = await open_stream(client, *messages, **fields)
    events = [json.loads(event.data) async for event in stream.raw_events(stream.response)]
    return answer_of(events)


async def open_stream(client: AsyncAnthropic, *messages: Any, **fields: Any) -> AsyncStream[Any]:
    stream = await client.messages.create(**body_of(*messages, **fields), stream=True)
    assert isinstance(stream, AsyncStream)
    return stream


def answer_of(events: Sequence[dict[str, Any]]) -> Answer:
    blocks: list[dict[str, Any]] = []
    inputs: dict[int, str] = {}
    usage: dict[str, Any] = {}
    stop_reason = None
    for event in events:
        if event["type"] == "message_start":
            usage = dict(event["message"]["usage"])
        elif event["type"] == "content_block_start":
            blocks.append(dict(event["content_block"]))
        elif event["type"] == "content_block_delta":
            _add(blocks[event["index"]], event["delta"], inputs, event["index"])
        elif event["type"] == "message_delta":
            usage.update(event["usage"])
            stop_reason = event["delta"]["stop_reason"]
    for index, text in inputs.items():
        blocks[index]["input"] = json.loads(text) if text else {}
    return Answer(events=list(events), blocks=blocks, stop_reason=stop_reason, usage=usage)


def _add(block: dict[str, Any], delta: dict[str, Any], inputs: dict[int, str], index: int) -> None:
    if delta["type"] == "input_json_delta":
        inputs[index] = inputs.get(index, "") + delta["partial_json"]
    else:
        field = delta["type"].removesuffix("_delta")
        block[field] += delta[field]
