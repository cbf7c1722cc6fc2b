"""The server refuses what the service refuses, and takes what it takes."""

from __future__ import annotations

import typing
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import anthropic
import pytest
from anthropic.types import message_create_params, tool_param

from tests.support.messages_api import MessagesApi, call, redacted, reply, text, thinking
from tests.support.messages_api.shapes import TOOL_FIELDS, TOP_LEVEL
from tests.unit.support.asking import TOOLS, ask, assistant, body_of, client_of, result, use, user

MARK = {"type": "ephemeral"}
LONG = {"type": "ephemeral", "ttl": "1h"}
SCHEMA = {"type": "object"}


def marked(said: str, mark=MARK) -> dict:
    return {"type": "text", "text": said, "cache_control": mark}


def thought(said: str = "Hm.", signature: str = "made-up") -> dict:
    return {"type": "thinking", "thinking": said, "signature": signature}


async def refusal(api: MessagesApi, *messages, **fields) -> str:
    """Return the message of the 400 that this request gets."""
    with pytest.raises(anthropic.BadRequestError) as caught:
        await ask(api, *messages, **fields)
    body = caught.value.body
    assert isinstance(body, dict)
    assert (body["type"], body["error"]["type"]) == ("error", "invalid_request_error")
    assert body["request_id"] == caught.value.request_id
    return str(body["error"]["message"])


INVALID_MESSAGES: dict[str, tuple[list, str]] = {
    "the first is not the user's": ([assistant("hi"), "go"], "first message must use the"),
    "a role of system": (["go", {"role": "system", "content": "be kind"}], 'Unexpected role "system"'),
    "an unknown role": (["go", {"role": "tool", "content": "x"}], "messages.1.role: Input should be"),
    "no content": ([{"role": "user", "content": []}], "must have non-empty content"),
    "an empty string": ([""], "messages.0: all messages must have non-empty content"),
    "a blank string": ([" \n"], "messages.0: text content blocks must contain non-whitespace"),
    "an empty text": ([user("a", "")], "messages.0.content.1: text content blocks must be non-empty"),
    "a blank text": ([user("a", "\t")], "messages.0.content.1: text content blocks must contain non-wh"),
    "an unknown field of a message": ([{**user("a"), "id": "1"}], "messages.0.id: Extra inputs"),
    "an unknown field of a block": ([user({**text("a"), "extra": 1})], "content.0.text.extra: Extra inputs"),
    "an unknown type of block": ([user({"type": "blob"})], "messages.0.content.0: Input tag 'blob' found"),
    "no type of block": ([user({"text": "a"})], "messages.0.content.0.type: Field required"),
    "a block without its text": ([user({"type": "text"})], "content.0.text.text: Field required"),
    "a call of the user": ([user(use("a"))], "`tool_use` blocks can only be in `assistant` messages"),
    "a result of the assistant": (["go", assistant(result("a")), "x"], "can only be in `user` messages"),
    "thinking of the user": ([user(thought())], "`thinking` blocks can only be in `assistant`"),
    "a call without a result": (
        ["go", assistant(use("a"), use("b")), user(result("b"))],
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a. Each",
    ),
    "a call at the end": (["go", assistant(use("a"))], "ids were found without `tool_result` blocks"),
    "a result too late": (
        ["go", assistant(use("a")), "wait", assistant("well"), user(result("a"))],
        "messages.1: `tool_use` ids were found without",
    ),
    "a result after a text": (["go", assistant(use("a")), user("so", result("a"))], "immediately after: a."),
    "a result without a call": (
        ["go", assistant("hi"), user(result("a"))],
        "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a.",
    ),
    "a result of an earlier call": (
        ["go", assistant(use("a")), user(result("a")), assistant("hi"), user(result("a"))],
        "messages.4.content.0: unexpected `tool_use_id`",
    ),
    "two results of one call": (
        ["go", assistant(use("a")), user(result("a"), result("a"))],
        "each tool_use must have a single result. Found multiple `tool_result` blocks with id: a",
    ),
    "two calls of one id": (["go", assistant(use("a"), use("a")), user(result("a"))], "ids must be unique"),
    "an id used again": (
        ["go", assistant(use("a")), user(result("a")), assistant(use("a")), user(result("a"))],
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    "an id of strange letters": (["go", assistant(use("a b")), user(result("a b"))], "tool_use.id: String"),
    "a call of a strange name": (["go", assistant(use("a", "R.d")), user(result("a"))], "tool_use.name: Str"),
    "an input that is no object": (
        ["go", assistant({**use("a"), "input": "x"}), user(result("a"))],
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    "an empty result": (["go", assistant(use("a")), user(result("a", ""))], "must be non-empty"),
    "a blank result": (["go", assistant(use("a")), user(result("a", " \n"))], "non-whitespace"),
    "a blank text in a result": (
        ["go", assistant(use("a")), user(result("a", [text(" ")]))],
        "messages.2.content.0.tool_result.content.0: text content blocks must contain non-whitespace",
    ),
    "an error without words": (
        ["go", assistant(use("a")), user(result("a", [], is_error=True))],
        "content cannot be empty if `is_error` is true",
    ),
    "an error that is no yes or no": (
        ["go", assistant(use("a")), user(result("a", is_error="no"))],
        "messages.2.content.0.tool_result.is_error: Input should be a valid boolean",
    ),
    "a result in a result": (
        ["go", assistant(use("a")), user(result("a", [result("a")]))],
        "Input tag 'tool_result' found using 'type' does not match any of the expected tags: 'text', 'image'",
    ),
    "a start for the assistant": (["go", assistant("So")], "does not support assistant message prefill"),
    "white space at the end": (["go", assistant("So ")], "cannot end with trailing whitespace"),
    "a mark on an empty text": ([user(marked(""))], "cache_control cannot be set for empty text blocks"),
    "a mark on thinking": (
        ["go", assistant({**thought(), "cache_control": MARK}, "a"), "x"],
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    ),
    "a mark of no known type": ([user(marked("a", {"type": "x"}))], "Input should be 'ephemeral'"),
    "a mark of no known time": ([user(marked("a", {**MARK, "ttl": "1d"}))], "should be '5m' or '1h'"),
    "a signature that nobody made": (
        ["go", assistant(thought(), "a"), "x"],
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
}


@pytest.mark.parametrize("case", INVALID_MESSAGES)
async def test_messages_that_are_not_valid_are_refused(case) -> None:
    messages, expected = INVALID_MESSAGES[case]
    with MessagesApi(["never"]) as api:
        assert expected in await refusal(api, *messages)
        assert [exchange.number for exchange in api.refused] == [1]


INVALID_FIELDS: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown one": ({"extra_body": {"temprature": 1}}, "temprature: Extra inputs are not permitted"),
    "no model": ({"extra_body": {"model": None}}, "model: Field required"),
    "no limit": ({"extra_body": {"max_tokens": None}}, "max_tokens: Field required"),
    "a limit below nothing": ({"max_tokens": -1}, "max_tokens: Input should be greater than or equal to 0"),
    "a limit that is no number": ({"extra_body": {"max_tokens": "9"}}, "should be a valid integer"),
    "no messages": ({"extra_body": {"messages": None}}, "messages: Field required"),
    "no message": ({"extra_body": {"messages": []}}, "messages: at least one message is required"),
    "a blank system prompt": ({"system": " "}, "system: text content blocks must contain non-whitespace"),
    "an empty system block": (
        {"system": [text("a"), text("")]},
        "system.1: text content blocks must be non-",
    ),
    "a system block of another type": ({"system": [use("a")]}, "system.0: Input tag 'tool_use' found"),
    "a tool with a dot": ({"tools": [{**TOOLS[0], "name": "a.b"}]}, "tools.0.custom.name: String should"),
    "a tool with a long name": ({"tools": [{**TOOLS[0], "name": "a" * 129}]}, "{1,128}"),
    "a tool without a schema": ({"tools": [{"name": "a"}]}, "tools.0.custom.input_schema: Field required"),
    "a schema of no object": ({"tools": [{"name": "a", "input_schema": {}}]}, "input_schema.type: Input"),
    "a tool of an unknown type": ({"tools": [{**TOOLS[0], "type": "magic"}]}, "tools.0: Input tag 'magic'"),
    "a tool with an unknown field": ({"tools": [{**TOOLS[0], "output": 1}]}, "custom.output: Extra inputs"),
    "two tools of one name": ({"tools": [TOOLS[0], TOOLS[0]]}, "Tool names must be unique"),
    "an unknown choice of tools": ({"tool_choice": {"type": "some"}}, "tool_choice: Input tag 'some'"),
    "a stream that is no yes or no": (
        {"extra_body": {"stream": "yes"}},
        "stream: Input should be a valid bool",
    ),
    "a choice without tools": ({"tool_choice": {"type": "any"}}, "only be specified while providing tools"),
    "calls without tools": (
        {"extra_body": {"messages": [user("go"), assistant(use("a")), user(result("a"))]}},
        "Requests which include `tool_use` or `tool_result` blocks must define tools.",
    ),
    "to think and to be forced": (
        {"tools": TOOLS, "tool_choice": {"type": "any"}, "thinking": {"type": "adaptive"}},
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    "an unknown way to think": ({"thinking": {"type": "hard"}}, "thinking: Input tag 'hard'"),
    "little room to think": (
        {"thinking": {"type": "enabled", "budget_tokens": 1023}},
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    "more to think than to say": (
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
}


@pytest.mark.parametrize("case", INVALID_FIELDS)
async def test_fields_that_are_not_valid_are_refused(case) -> None:
    fields, expected = INVALID_FIELDS[case]
    with MessagesApi(["never"]) as api:
        assert expected in await refusal(api, "go", **fields)


async def test_marks_in_all_places_are_counted_together() -> None:
    four = {
        "tools": [{**TOOLS[0], "cache_control": MARK}],
        "system": [marked("a"), marked("b")],
    }
    answered = assistant(use("a"))
    with MessagesApi(["well"]) as api:
        await ask(api, user(marked("go")), **four)
        for messages, fields in (
            ([user(marked("go"), marked("on"))], four),
            ([user(marked("go"))], {**four, "cache_control": MARK}),
            ([user(marked("go")), answered, user(result("a", [marked("x")]))], four),
            ([user(marked("go")), answered, user(result("a", cache_control=MARK))], four),
        ):
            found = await refusal(api, *messages, **fields)
            assert found == "A maximum of 4 blocks with cache_control may be provided. Found 5."


async def test_a_long_mark_comes_before_the_short_ones() -> None:
    with MessagesApi(["well"]) as api:
        await ask(api, user(marked("go")), system=[marked("a", LONG)])
        found = await refusal(api, user(marked("go", LONG)), system=[marked("a")])
        assert found.startswith("messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must")
        assert "differs" in await refusal(api, user(marked("go", LONG)), cache_control=MARK)


VALID: dict[str, Any] = {
    "a string": ["go"],
    "a system prompt of blocks": (["go"], {"system": [text("a"), marked("b")]}),
    "tools": (["go"], {"tools": TOOLS, "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
    "a result without content": [
        "go",
        assistant(use("a")),
        user({"type": "tool_result", "tool_use_id": "a"}),
    ],
    "a text after the results": [
        "go",
        assistant("x", use("a"), use("b")),
        user(result("b"), result("a"), "on"),
    ],
    "results in two messages": ["go", assistant(use("a"), use("b")), user(result("a")), user(result("b"))],
    "an image": [
        user({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}})
    ],
    "thinking": (["go"], {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000}),
    "effort": (["go"], {"output_config": {"effort": "low"}, "metadata": {"user_id": "u"}}),
}


@pytest.mark.parametrize("case", VALID)
async def test_what_is_valid_is_answered(case) -> None:
    given = VALID[case]
    messages, fields = given if isinstance(given, tuple) else (given, {})
    with MessagesApi(["well"]) as api:
        assert (await ask(api, *messages, **fields)).blocks == [text("well")]
        assert api.refused == []


async def test_neighbours_of_one_role_are_merged_and_noted() -> None:
    with MessagesApi(["well", "well"]) as api:
        await ask(api, "go", assistant("a"), "b")
        await ask(api, "go", "on", assistant("a"), assistant("b"), "c")

        assert api.merged_roles == [(2, 1), (2, 3)]


async def test_prefill_is_taken_when_the_model_has_it() -> None:
    with MessagesApi(["well"], prefill=True) as api:
        assert (await ask(api, "go", assistant("So"))).blocks == [text("well")]
        assert "trailing whitespace" in await refusal(api, "go", assistant("So\n"))


async def test_a_turn_that_was_paused_may_come_last() -> None:
    with MessagesApi([reply("Searching.", stop_reason="pause_turn"), "Found."]) as api:
        paused = await ask(api, "go")
        assert (await ask(api, "go", paused.message)).blocks == [text("Found.")]
        assert "prefill" in await refusal(api, "go", assistant("Searching!"))
        assert "prefill" in await refusal(api, "go", assistant("Found."))


async def test_only_known_keys_and_models_are_let_in() -> None:
    with MessagesApi(["well"] * 3, api_keys={"key-1"}, models={"claude-test-1"}) as api:
        async with client_of(api, api_key="key-2") as client:
            with pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key"):
                await client.messages.create(**body_of("go"))
        async with client_of(api, api_key=None, auth_token="key-1") as client:
            await client.messages.create(**body_of("go"))
        request = Request(f"{api.url}/v1/messages", data=b"{}", headers={"anthropic-version": "2023-06-01"})
        with pytest.raises(HTTPError, match="401") as caught:
            urlopen(request, timeout=10)
        caught.value.close()
        with pytest.raises(anthropic.NotFoundError, match="model: claude-0"):
            await ask(api, "go", model="claude-0")
        assert [exchange.status for exchange in api.refused] == [401, 401, 404]


async def test_a_model_may_not_know_every_way_to_think() -> None:
    with MessagesApi(["well"] * 2, thinking_types={"adaptive"}) as api:
        await ask(api, "go")
        await ask(api, "go", thinking={"type": "adaptive"})
        enabled = {"type": "enabled", "budget_tokens": 1024}
        found = await refusal(api, "go", thinking=enabled, max_tokens=2000)
        assert found == '"thinking.type.enabled" is not supported for this model.'


async def test_a_body_that_is_too_large_is_refused() -> None:
    with MessagesApi(["well"], bytes_max=500) as api:
        with pytest.raises(anthropic.RequestTooLargeError) as caught:
            await ask(api, "x" * 500)
        assert caught.value.body["error"]["type"] == "request_too_large"  # type: ignore[index]
        await ask(api, "x")


async def test_a_prompt_that_does_not_fit_is_an_answer_of_its_own() -> None:
    with MessagesApi(["well"], context_window=100) as api:
        assert "prompt is too long: 101 tokens > 100 maximum" in await refusal(api, "x" * 404)
        await ask(api, "x" * 400)
        assert api.refused == []


async def test_a_body_that_is_no_json_is_refused() -> None:
    with MessagesApi(["well"]) as api:
        async with client_of(api) as client:
            for content, expected in ((b'{"model": ', "not valid JSON"), (b"[]", "a valid dictionary")):
                with pytest.raises(anthropic.BadRequestError, match=expected):
                    await client.post("/v1/messages", cast_to=object, content=content)
            with pytest.raises(anthropic.NotFoundError):
                await client.post("/v1/other", cast_to=object, body={})
            headers = {"anthropic-version": anthropic.omit}
            with pytest.raises(anthropic.BadRequestError, match="anthropic-version: header is required"):
                await client.messages.create(**body_of("go"), extra_headers=headers)


async def test_thinking_comes_back_byte_for_byte() -> None:
    turn = reply(thinking("Is it so? é"), redacted("c2VjcmV0"), "Looking.", call("Read"))
    with MessagesApi([turn, thinking_turn(), "done", "done"]) as api:
        first = await ask(api, "go", tools=TOOLS)
        assert [block["type"] for block in first.blocks] == [block["type"] for block in turn.blocks]
        results = user(result(first.blocks[3]["id"]))
        second = await ask(api, "go", first.message, results)
        end = user(result(second.blocks[1]["id"]))
        await ask(api, "go", first.message, results, second.message, end)
        assert api.refused == []

        changed = {**first.blocks[0], "thinking": "Is it so? e"}
        for content in (
            [changed, *first.blocks[1:]],
            [{**first.blocks[0], "signature": second.blocks[0]["signature"]}, *first.blocks[1:]],
            [first.blocks[1], first.blocks[0], *first.blocks[2:]],
            [first.blocks[0], *first.blocks[2:]],
            [second.blocks[0], *first.blocks],
        ):
            found = await refusal(api, "go", assistant(*content), results, second.message, end)
            assert "in the latest assistant message cannot be modified" in found
        found = await refusal(api, "go", assistant(*first.blocks[2:]), results)
        assert found.startswith("messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but")


def thinking_turn():
    return reply(thinking("And now?"), call("Bash"))


async def test_thinking_of_a_closed_turn_may_be_left_out_but_not_changed() -> None:
    with MessagesApi([thinking_turn(), "done", "fine"]) as api:
        first = await ask(api, "go", tools=TOOLS)
        results = user(result(first.blocks[1]["id"]))
        await ask(api, "go", first.message, results)
        await ask(api, "go", assistant(first.blocks[1]), results, assistant("done"), "more")
        changed = assistant({**first.blocks[0], "thinking": "Else."}, first.blocks[1])
        found = await refusal(api, "go", changed, results, assistant("done"), "more")
        assert found == "messages.1.content.0: Invalid `signature` in `thinking` block"


async def test_a_turn_that_was_cut_off_counts_up_to_its_last_call() -> None:
    with MessagesApi([reply(thinking("Both."), call("Read"), call("Bash")), "done"]) as api:
        whole = await ask(api, "go", tools=TOOLS)
        cut_off = assistant(*whole.blocks[:2])
        await ask(api, "go", cut_off, user(result(whole.blocks[1]["id"])))
        assert api.refused == []


async def test_thinking_may_be_left_out_when_it_is_off_or_another_model_goes_on() -> None:
    with MessagesApi([thinking_turn(), "done", "done"]) as api:
        first = await ask(api, "go", tools=TOOLS)
        row = ["go", assistant(first.blocks[1]), user(result(first.blocks[1]["id"]))]
        await ask(api, *row, thinking={"type": "disabled"})
        await ask(api, *row, model="claude-test-2")
        assert api.refused == []


async def test_thinking_is_bound_to_all_before_it() -> None:
    turns = [reply(thinking("One."), call("Read")), reply("Well.", thinking("Two."), call("Read"))]
    with MessagesApi([*turns, *[reply("end")] * 3]) as api:
        base: dict[str, Any] = {"tools": TOOLS, "system": [text("Be kind.")]}
        first = await ask(api, user("go", "now"), **base)
        results = user(result(first.blocks[1]["id"]))
        second = await ask(api, user("go", "now"), first.message, results, **base)
        row = [
            user("go", "now"),
            first.message,
            results,
            second.message,
            user(result(second.blocks[2]["id"])),
        ]
        closed = [*row, assistant("So."), "more"]

        for kept in (
            {**base, "system": [marked("Be kind.")], "output_config": {"effort": "low"}},
            {**base, "tool_choice": {"type": "auto"}, "max_tokens": 5},
        ):
            await ask(api, *closed, **kept)
        without_first = [closed[0], assistant(first.blocks[1]), *closed[2:]]
        await ask(api, *without_first, **base)

        for messages, fields in (
            (closed, {**base, "system": [text("Be kind!")]}),
            (closed, {**base, "tools": TOOLS[:1]}),
            ([user("go"), *closed[1:]], base),
            ([*closed[:2], user(result(first.blocks[1]["id"], "else")), *closed[3:]], base),
            ([*closed[:3], assistant(*second.blocks[1:]), *closed[4:]], base),
        ):
            assert "bound to a different conversation" in await refusal(api, *messages, **fields)


async def test_blank_text_must_be_left_out_and_binds_nothing() -> None:
    with MessagesApi([reply(" ", thinking("Hm."), call("Read")), "end"]) as api:
        first = await ask(api, "go", tools=TOOLS)
        results = user(result(first.blocks[2]["id"]))
        assert "non-whitespace" in await refusal(api, "go", first.message, results)
        await ask(api, "go", assistant(*first.blocks[1:]), results)


async def test_a_thought_in_the_middle_may_not_be_left_out() -> None:
    thoughts = [reply(thinking(n), n) for n in ("One", "Two", "Three")]
    with MessagesApi([*thoughts, reply("end")]) as api:
        row: list[Any] = ["go"]
        for _ in range(3):
            row += [(await ask(api, *row)).message, "on"]
        row[3] = assistant(*row[3]["content"][1:])
        assert (await refusal(api, *row)).startswith("messages.5.content.0: Invalid `signature`")
        row[1] = assistant(*row[1]["content"][1:])
        await ask(api, *row)


def test_the_known_fields_are_those_of_the_sdk() -> None:
    by_header = {"user_profile_id", "workspace_id"}
    create = typing.get_type_hints(message_create_params.MessageCreateParamsStreaming)

    assert set(create) - by_header == TOP_LEVEL
    assert set(typing.get_type_hints(tool_param.ToolParam)) == TOOL_FIELDS
