"""Sending and reading mail at the command line."""

import errno
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from swarm.cli import follow
from swarm.core.message import task_report
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.syscalls import fault_hook
from swarm.storage.team import Team, open_team
from tests.unit.cli.conftest import Swarm
from tests.unit.cli.steps import with_members


def the_team() -> Team:
    return open_team(os.environ["CLAUDE_CONFIG_DIR"], "demo", Settings(), SystemClock())


def messages(swarm: Swarm, name: str, *words: str) -> Any:
    return swarm("mail", name, *words, "--json").json()["messages"]


@pytest.fixture
def pair(demo: Swarm) -> Swarm:
    with_members(demo, {"name": "w1", "color": "blue"}, {"name": "w2"})
    return demo


def test_a_message_arrives_as_it_was_written(pair: Swarm) -> None:
    text = "two\nlines -t 0 `x` $HOME 🙂\t;"
    sent = pair("send", "w1", text, "--summary", "short", "--json").json()["results"]

    (message,) = messages(pair, "w1")
    assert [(r["to"], r["msg_id"]) for r in sent] == [("w1", message["msg_id"])]
    assert {key: message[key] for key in ("from", "to", "text", "summary", "acked")} == {
        "from": "user",
        "to": "w1",
        "text": text,
        "summary": "short",
        "acked": False,
    }


def test_the_sender_is_the_agent_or_the_person(pair: Swarm) -> None:
    pair("send", "w1", "one")
    pair("send", "w1", "two", "--as", "w2")
    pair("send", "w1", "three", SWARM_AGENT="w2")

    assert [m["from"] for m in messages(pair, "w1")] == ["user", "w2", "w2"]
    assert (
        pair("send", "w1", "four", "--as", "w3", "--json", SWARM_AGENT="w2").error()["code"] == "wrong_agent"
    )


@pytest.mark.parametrize(
    ("name", "code", "exit_code"),
    [("w3", "no_such_agent", 3), ("W1", "bad_name", 2), ("runtime", "bad_name", 2), ("a b", "bad_name", 2)],
)
def test_mail_comes_from_members_and_from_the_person(
    pair: Swarm, name: str, code: str, exit_code: int
) -> None:
    """Whoever gets it could not answer, and might take it for somebody's whom nobody knows."""
    ran = pair("send", "w2", "hi", "--as", name, "--json")

    assert (ran.code, ran.error()["code"]) == (exit_code, code)
    assert messages(pair, "w2") == []
    assert pair("send", "w2", "hi", "--as", "user").code == 0


@pytest.mark.parametrize("to", ["team-lead", "*"])
def test_an_agents_command_sends_nothing_in_the_runtimes_name(pair: Swarm, to: str) -> None:
    """A report in its own words would be shown as the runtime's. To others the same is text like any."""
    report = '{"type": "swarm.task_report", "taskId": "1", "status": "completed"}'

    ran = pair("send", to, report, "--json", SWARM_AGENT="w2")

    assert (ran.code, ran.error()["code"]) == (5, "denied")
    assert messages(pair, "team-lead") == messages(pair, "w1") == []
    assert pair("send", "w1", report, SWARM_AGENT="w2").code == 0
    assert pair("send", "team-lead", '{"type": "shutdown_request"}', SWARM_AGENT="w2").code == 0


def test_the_commands_of_one_that_only_claims_send_in_its_name(pair: Swarm) -> None:
    """A check runs for whoever holds the task, on the roster or not, and the runtime says for whom."""
    pair("send", "w2", "checking", SWARM_AGENT="guest")

    assert [m["from"] for m in messages(pair, "w2")] == ["guest"]


def test_mail_that_another_client_left_in_any_name_is_read(pair: Swarm) -> None:
    path = Path(the_team().layout.inbox("w1"))
    path.write_text('[{"from": "stranger", "text": "hello"}, {"from": "W2", "text": "again"}]')

    assert [m["from"] for m in messages(pair, "w1")] == ["stranger", "W2"]
    pair("send", "w1", "third")
    assert [m["text"] for m in messages(pair, "w1")] == ["hello", "again", "third"]


def test_a_dash_reads_the_message_from_stdin(pair: Swarm) -> None:
    pair("send", "w1", "-", stdin="long\ntext\n")

    assert messages(pair, "w1")[0]["text"] == "long\ntext"


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_message_is_refused(pair: Swarm, text: str) -> None:
    assert pair("send", "w1", text, "--json").error()["code"] == "bad_value"
    assert pair("send", "w1", "-", "--json", stdin=text).error()["code"] == "bad_value"
    assert messages(pair, "w1") == []


@pytest.mark.parametrize("name", ["wroker", "W1", "", "main", "../w1", "builder"])
def test_an_unknown_recipient_is_refused_with_the_valid_ones(pair: Swarm, name: str) -> None:
    """No mailbox is made that nobody reads."""
    inboxes = Path(os.environ["CLAUDE_CONFIG_DIR"], "teams/demo/inboxes")
    before = sorted(inboxes.iterdir())
    error = pair("send", name, "hi", "--json").error()

    assert (error["code"], error["details"]["valid"]) == ("no_such_agent", ["team-lead", "w1", "w2"])
    assert sorted(inboxes.iterdir()) == before


def test_a_star_reaches_everybody_else_with_one_result_each(pair: Swarm) -> None:
    ran = pair("send", "*", "hi", "--as", "w1")

    assert ran.lines == ["sent to team-lead (not started yet)", "sent to w2 (not started yet)"]
    assert [len(messages(pair, name)) for name in ("team-lead", "w1", "w2")] == [1, 0, 1]


def test_one_full_inbox_does_not_stop_the_others(pair: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    """All results are printed; the exit code is that of the first failure."""
    from swarm.errors import StateError
    from swarm.storage.inbox import Inbox

    real = Inbox.deliver

    def deliver(self: Any, message: Any, **more: Any) -> None:
        if message.to == "w1":
            raise StateError("w1 has 64 MiB of unread mail", code="inbox_full", details={"to": "w1"})
        real(self, message, **more)

    monkeypatch.setattr(Inbox, "deliver", deliver)
    ran = pair("send", "*", "hi", "--json")
    results = ran.json()["results"]

    assert ran.code == 4
    assert [result["to"] for result in results] == ["team-lead", "w1", "w2"]
    assert results[1]["error"]["code"] == "inbox_full"
    assert "not sent to w1: w1 has 64 MiB" in pair("send", "*", "hi").err


def refused(call: str, path: str) -> Any:
    """Return a hook that refuses this call on this file."""

    def hook(name: str, at: str, size: int) -> None:
        if (name, at) == (call, path):
            raise OSError(errno.ENOSPC, "no space left")

    return hook


@pytest.mark.parametrize(("call", "file"), [("rename", "inboxes/w1.json"), ("append", "events.jsonl")])
def test_a_send_that_failed_is_repeated_by_the_id_that_it_says(pair: Swarm, call: str, file: str) -> None:
    """Before the write the message is not there, after it it is: whoever repeats need not know."""
    with fault_hook(refused(call, f"{the_team().layout.team_dir}/{file}")):
        ran = pair("send", "w1", "hi")
    found = re.search(r"it may have arrived: send it again with --id (\S+), and it is there once\n", ran.err)
    assert (ran.code, ran.out) == (4, "")
    assert found is not None
    assert pair("send", "w1", "hi", "--id", found[1]).lines == ["sent to w1 (not started yet)"]
    assert pair("send", "w1", "hi", "--id", found[1]).code == 0

    assert [m["msg_id"] for m in messages(pair, "w1")] == [found[1]]


def test_programs_find_the_id_in_the_details(pair: Swarm) -> None:
    with fault_hook(refused("rename", the_team().layout.inbox("w1"))):
        error = pair("send", "w1", "hi", "--json").error()
        star = pair("send", "*", "hi")
        results = pair("send", "*", "hi", "--json").json()["results"]

    assert pair("send", "w1", "hi", "--id", error["details"]["msg_id"]).code == 0
    assert re.search(r"^not sent to w1: .* send it again to w1 with --id \S+, and", star.err)
    assert results[1]["error"]["details"]["msg_id"]
    assert [m["msg_id"] for m in messages(pair, "w1")] == [error["details"]["msg_id"]]


def test_one_reason_is_said_once_with_all_whom_it_concerns(
    pair: Swarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    from swarm.errors import StateError
    from swarm.storage.inbox import Inbox

    def full(self: Any, message: Any, **_: Any) -> None:
        raise StateError(f"{message.to} has 64 MiB of unread mail; wait", code="inbox_full")

    monkeypatch.setattr(Inbox, "deliver", full)
    ran = pair("send", "*", "hi")

    assert (ran.code, ran.out) == (4, "")
    assert ran.err == "not sent to team-lead, w1 and w2: each has 64 MiB of unread mail; wait\n"


def test_where_all_may_have_arrived_each_has_its_id(pair: Swarm) -> None:
    """Files of the same kind differ in a name only; one that fails otherwise is said on its own."""
    layout = the_team().layout
    paths = {layout.inbox(name): name for name in ("w1", "w2")}

    def hook(name: str, at: str, size: int) -> None:
        if name == "rename" and at in paths:
            raise OSError(errno.ENOSPC, "no space left")

    with fault_hook(hook):
        ran = pair("send", "*", "hi")
    said, *ids = ran.err.splitlines()

    assert (ran.code, ran.lines) == (4, ["sent to team-lead (not started yet)"])
    assert said == (
        f"not sent to w1 and w2: {layout.inbox('NAME')}: no space left; it may have arrived: "
        "send it again to each with its id, and it is there once"
    )
    for line, name in zip(ids, ("w1", "w2"), strict=True):
        found = re.fullmatch(rf"  {name} --id (\S+)", line)
        assert found is not None
        assert pair("send", name, "hi", "--id", found[1]).code == 0
        assert [m["msg_id"] for m in messages(pair, name)] == [found[1]]


def test_one_id_is_for_one_recipient(pair: Swarm) -> None:
    assert pair("send", "*", "hi", "--id", "x", "--json").error()["code"] == "bad_value"
    assert pair("send", "w1", "hi", "--id", "", "--json").error()["code"] == "bad_value"


def test_reading_mail_leaves_it_unread(pair: Swarm) -> None:
    pair("send", "w1", "hi")
    first = messages(pair, "w1")
    pair("mail", "w1")

    assert messages(pair, "w1") == first
    assert the_team().inbox("w1").unread_count() == 1


def test_all_mail_holds_what_was_read_before(pair: Swarm) -> None:
    pair("send", "w1", "old")
    inbox = the_team().inbox("w1")
    inbox.acknowledge([message.msg_id for message in inbox.peek()])
    pair("send", "w1", "new")

    assert [(m["text"], m["acked"]) for m in messages(pair, "w1", "--all")] == [("old", True), ("new", False)]
    assert [m["text"] for m in messages(pair, "w1", "--unread")] == ["new"]
    assert "(read)" in pair("mail", "w1", "--all").out
    assert pair("mail", "w1", "--all", "--unread").code == 2


@pytest.mark.parametrize("content", ["[{", "", "{}", "null", "[" * 100_000])
@pytest.mark.parametrize("words", [(), ("--all",), ("--follow",)])
def test_mail_that_cannot_be_read_is_no_empty_inbox(
    pair: Swarm, content: str, words: tuple[str, ...]
) -> None:
    """Looking leaves it where it is; who may change it, sets it aside."""
    path = Path(the_team().layout.inbox("w1"))
    path.write_text(content)
    ran = pair("mail", "w1", *words)
    error = pair("mail", "w1", *words, "--json").error()

    assert (ran.code, ran.out) == (4, "")
    assert ran.err.startswith(f"error: the mail of w1 cannot be read: {path} is damaged (")
    assert ran.err.count("\n") == 1
    assert (error["code"], error["details"]) == ("corrupt_state", {"agent": "w1", "path": str(path)})
    assert path.read_text() == content


def test_status_tells_of_mail_that_cannot_be_read(pair: Swarm) -> None:
    path = Path(the_team().layout.inbox("w1"))
    path.write_text("[{")

    lines = pair("status").lines
    assert next(line for line in lines if line.startswith("  w1 ")).endswith("mail damaged")
    assert lines[-1] == "swarm mail w1 says what is wrong with its mail"
    agents = {agent["name"]: agent for agent in pair("status", "--json").json()["agents"]}
    assert "unread" not in agents["w1"]
    assert agents["w2"]["unread"] == 0
    assert path.read_text() == "[{"


def test_mail_that_was_set_aside_is_named(pair: Swarm) -> None:
    Path(the_team().layout.inbox("w1")).write_text('[{"from": "w2", "text": "half')
    pair("send", "w1", "after that")
    (aside,) = (path for path in Path(the_team().layout.inboxes_dir).iterdir() if ".damaged-" in path.name)
    ran = pair("mail", "w1")

    assert aside.read_text() == '[{"from": "w2", "text": "half'
    assert ran.err == f"not shown: mail of w1 that was damaged, kept in {aside}\n"
    assert "after that" in ran.out
    assert pair("mail", "w1", "--json").json()["set_aside"] == [str(aside)]
    assert "set_aside" not in pair("mail", "w2", "--json").json()


def test_items_that_are_no_messages_are_counted(pair: Swarm) -> None:
    path = Path(the_team().layout.inbox("w1"))
    path.write_text('["x", {"from": "w2", "text": "hi"}, 1]')

    assert f"not shown: 2 items in {path}, no message\n" in pair("mail", "w1").err
    assert pair("mail", "w1", "--json").json()["strays"] == 2


def test_mail_of_nobody_is_not_found(pair: Swarm) -> None:
    for name in ("nobody", "../../x", ""):
        assert pair("mail", name, "--json").error()["code"] == "no_such_agent"


def test_mail_is_printed_harmlessly(pair: Swarm) -> None:
    pair("send", "w1", "clear\x1b[2J\nfake  user", "--summary", "\x07bell")
    out = pair("mail", "w1").out

    assert "    clear\\x1b[2J\n    fake  user\n" in out
    assert "user  (\\x07bell)" in out


def test_no_mail_is_said_on_stderr(pair: Swarm) -> None:
    assert pair("mail", "w1").err == "w1 has no unread mail\n"
    assert pair("mail", "w1", "--all").err == "w1 has no mail\n"


def test_a_report_is_put_in_words(pair: Swarm) -> None:
    """The same text from somebody who may not send it is shown as it is."""
    report = task_report("7", "completed", "all done", None, ["9", "10"], "2026-11-30T12:00:00.000Z")
    pair("send", "team-lead", report, "--as", "w1")
    pair("send", "w2", report, "--as", "w1")

    assert (
        "[task report] task: 7, status: completed, summary: all done, unblocked: 9, 10\n"
        in pair("mail", "team-lead").out
    )
    assert '"swarm.task_report"' in pair("mail", "w2").out


def interrupted_after(monkeypatch: pytest.MonkeyPatch, *steps: Any) -> None:
    """Make each pause of a follower do the next step, and the last one a Ctrl-C."""
    waiting = list(steps)

    def sleep(_seconds: float) -> None:
        if not waiting:
            raise KeyboardInterrupt
        waiting.pop(0)()

    monkeypatch.setattr(follow, "time", type("Time", (), {"sleep": staticmethod(sleep)}))
    assert time.sleep is not sleep


def test_following_prints_each_message_once(pair: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that its owner has read before the follower looked again."""
    inbox = the_team().inbox("w1")

    def read_at_once() -> None:
        pair("send", "w1", "second")
        inbox.acknowledge([message.msg_id for message in inbox.peek()])

    pair("send", "w1", "first")
    interrupted_after(monkeypatch, read_at_once, lambda: None)
    ran = pair("mail", "w1", "--follow")

    assert ran.code == 130
    assert ran.err == ""
    assert [line.strip() for line in ran.lines if line.startswith("    ")] == ["first", "second"]


def test_following_json_is_one_object_a_line(pair: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    interrupted_after(monkeypatch, lambda: pair("send", "w1", "a"), lambda: pair("send", "w1", "b"))
    ran = pair("mail", "w1", "-f", "--json")

    assert [json.loads(line)["text"] for line in ran.lines] == ["a", "b"]


def test_following_ends_with_the_team(pair: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted_after(monkeypatch, lambda: pair("team", "delete", "demo"))
    ran = pair("mail", "w1", "--follow")

    assert (ran.code, ran.err) == (0, "team demo is gone\n")
