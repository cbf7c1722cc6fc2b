"""`status`, `events` and `logs`: looking at a team."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swarm.storage.questions import STOPPED_WAITING
from swarm.storage.team import Team
from tests.support.questions import ask
from tests.unit.cli.conftest import Swarm
from tests.unit.cli.steps import a_record, add, claimed
from tests.unit.cli.test_mail import interrupted_after

GONE_PID = 2**22 + 1


def agents(swarm: Swarm) -> Any:
    return {agent["name"]: agent for agent in swarm("status", "--json").json()["agents"]}


def test_status_counts_tasks_and_knows_every_teammate(demo: Swarm, team: Team) -> None:
    add(demo, "first")
    add(demo, "second", "--blocked-by", "1")
    team.agents.save(a_record("w1", task="1"))

    status = demo("status", "--json").json()
    assert list(status) == ["team", "native", "leader", "agents", "tasks", "permissions", "usd"]
    assert (status["team"], status["native"], status["permissions"], status["usd"]) == ("demo", True, 0, 0.0)
    assert status["tasks"] == {
        "pending": 2,
        "ready": 1,
        "blocked": 1,
        "in_progress": 0,
        "completed": 0,
        "failed": 0,
        "cancelled": 0,
    }
    w1 = agents(demo)["w1"]
    assert (w1["state"], w1["task"], w1["backend"], w1["pid"]) == ("working", "1", "in-process", os.getpid())
    assert (w1["model"], w1["permission_mode"], w1["unread"]) == ("scripted", "default", 0)
    assert 0 <= w1["heartbeat_age_seconds"] < 60


def test_status_works_states_out_from_what_is_there(demo: Swarm, team: Team) -> None:
    """A record says `working` to the last; whether that is so is for the reader to find out."""
    assert agents(demo)["w1"]["state"] == "unknown"
    team.agents.save(a_record("w1", pid=GONE_PID))
    assert agents(demo)["w1"]["state"] == "dead"
    team.agents.save(a_record("w1", silent=3600))
    assert agents(demo)["w1"]["state"] == "stalled"
    team.agents.save(a_record("w1").replace(host="elsewhere"))
    assert (agents(demo)["w1"]["state"], "pid" in agents(demo)["w1"]) == ("unknown", False)
    team.agents.save(a_record("w1", "stopped", pid=GONE_PID, reason="asked"))
    assert (agents(demo)["w1"]["state"], agents(demo)["w1"]["reason"]) == ("stopped", "asked")


def test_status_is_one_screen_for_people(demo: Swarm, team: Team) -> None:
    add(demo, "first")
    claimed(demo, "1", "w1")
    demo("send", "w2", "hi")
    team.agents.save(a_record("team-lead"))
    team.agents.save(a_record("w1", task="1"))
    team.agents.save(a_record("w2", "idle", reason="waiting_for_task", on="1"))
    lines = demo("status").lines

    assert lines[0] == "demo"
    assert lines[1].endswith("; leader alive")
    assert lines[3] == "1 task: ● 1 in progress"
    assert lines[5:] == [
        "  agent  state    does                since  where       heard",
        "  w1     working  task 1 first        2m     in-process  0s ago",
        "  w2     idle     waiting for task 1  2m     in-process  0s ago  1 unread",
    ]


@pytest.mark.parametrize(
    ("facts", "does"),
    [
        ({"pid": GONE_PID, "task": "9"}, "dead   its process is gone: task 9"),
        ({"silent": 3700, "task": "9"}, "stalled  no sign of life for 1h 01m: task 9"),
        ({"state": "waiting", "reason": "leader_gone"}, "waiting  its leader is gone"),
        ({"state": "paused", "task": "9"}, "paused   task 9"),
        ({"state": "orphaned", "task": "9"}, "orphaned  its leader is gone: task 9"),
        ({"state": "stopped", "reason": "failed"}, "stopped  failed"),
        ({"state": "stopped", "reason": "asked"}, "stopped  was asked to"),
        ({"state": "idle", "reason": "no_task"}, "idle     no task"),
    ],
)
def test_status_says_why(demo: Swarm, team: Team, facts: dict[str, Any], does: str) -> None:
    team.agents.save(a_record("w1", **facts))
    line = next(line for line in demo("status").lines if line.startswith("  w1 "))

    assert " ".join(does.split()) in " ".join(line.split())


def test_status_says_what_helps(demo: Swarm, team: Team) -> None:
    add(demo, "first")
    team.agents.save(a_record("w1", pid=GONE_PID))
    team.agents.save(a_record("w2", "paused"))
    assert demo("status").lines[-2:] == [
        "swarm restart w1 starts it anew",
        "swarm continue w2 lets it go on",
    ]
    team.agents.save(a_record("team-lead", pid=GONE_PID))
    assert demo("status").lines[-2] == (
        "swarm resume demo takes the run up again; its teammates wait 1.2 s for that, and then end"
    )
    assert demo("status", "--json").json()["leader"] == "gone"
    team.agents.save(a_record("w1"))
    team.agents.save(a_record("w2"))
    team.agents.save(a_record("team-lead"))
    assert demo("status").lines[-1].startswith("  w2 ")


def test_status_of_a_run_that_is_over_says_how_to_go_on(demo: Swarm, team: Team) -> None:
    """Not done, and nobody leads: the way on is the run's, not that of one teammate."""
    add(demo, "first")
    add(demo, "second", "--blocked-by", "1")
    token = claimed(demo, "1")
    team.agents.save(a_record("w1", pid=GONE_PID))
    Path(team.layout.team_file).write_text("name: demo\n")
    assert demo("status").lines[-1] == "swarm resume demo takes the run up again"

    assert demo("task", "fail", "1", "--as", "w1", "--token", token, "--reason", "no luck").code == 0
    assert demo("status", "-t", "demo").lines[-2:] == [
        "swarm task retry 1 -t demo lets task 1 be tried again",
        "swarm resume demo takes the run up again",
    ]
    team.agents.save(a_record("team-lead"))
    assert demo("status").lines[-1] == "swarm restart w1 starts it anew"


def test_status_does_not_wait_to_hear_from_one_who_has_stopped(demo: Swarm, team: Team) -> None:
    team.agents.save(a_record("w1", "stopped", reason="asked", silent=3600))

    assert "ago" not in demo("status").out


def test_status_tells_a_leader_that_went_from_one_that_never_was(demo: Swarm, team: Team) -> None:
    assert "no leader" in demo("status").out
    team.agents.save(a_record("team-lead", pid=GONE_PID))
    assert "leader gone" in demo("status").out
    team.agents.save(a_record("team-lead").replace(host="elsewhere"))
    assert "leader alive" in demo("status").out
    team.agents.save(a_record("team-lead", silent=3600).replace(host="elsewhere"))
    assert "leader gone" in demo("status").out
    team.agents.save(a_record("team-lead", "stopped", pid=GONE_PID))
    assert "no leader" in demo("status").out


def test_status_of_an_empty_team_says_what_to_do(demo: Swarm) -> None:
    assert "no tasks yet; add one with swarm task add" in demo("status").out


def test_status_tells_of_open_questions_and_how_to_answer(demo: Swarm, team: Team) -> None:
    ask(team)
    lines = demo("status").lines
    at = lines.index("1 open question: swarm permissions shows it")
    assert lines[at + 1] == "swarm approve 1 says yes, swarm deny 1 says no"
    named = demo("status", "-t", "demo").lines
    assert "swarm approve 1 -t demo says yes, swarm deny 1 -t demo says no" in named
    assert demo("status", "--json").json()["permissions"] == 1


def test_status_does_not_ask_for_answers_that_nobody_waits_for(demo: Swarm, team: Team) -> None:
    ask(team)
    team.agents.update("w1", state="stopped")
    assert "approve" not in demo("status").out


@pytest.mark.parametrize(
    ("kind", "facts", "line"),
    [
        ("agent_idle", {"reason": "waiting_for_task", "on": "1"}, "w1 is idle: waiting for task 1"),
        ("agent_idle", {"reason": "no_task"}, "w1 is idle: no task"),
        ("agent_paused", {}, "w1 is paused"),
        ("agent_continued", {}, "w1 goes on"),
        ("agent_restarted", {"backend": "tmux"}, "w1 was started anew: backend tmux"),
        ("agent_orphaned", {}, "w1 lost its leader"),
        ("agent_stopped", {"reason": "asked"}, "w1 stopped: was asked to"),
        ("agent_died", {"reason": "w1 died: no such_file"}, "w1 died: no such_file"),
    ],
)
def test_what_becomes_of_teammates_is_said_in_words(
    demo: Swarm, team: Team, kind: str, facts: dict[str, Any], line: str
) -> None:
    team.events.emit(kind, "w1", **facts)

    assert demo("events").lines[-1][21:] == line


def test_a_task_that_was_given_back_has_no_zeros(demo: Swarm) -> None:
    add(demo, "first")
    claimed(demo, "1")
    demo("task", "release", "1", "--as", "w1", "--reason", "no time")

    assert demo("events").lines[-1][21:] == "w1 gave task 1 back: first; no time"


def test_every_kind_of_event_has_words() -> None:
    """An event without any would be shown by its name in the log."""
    from swarm.cli.events import _SAYINGS
    from swarm.core.event import EVENT_KINDS

    assert set(EVENT_KINDS) - set(_SAYINGS) == set()


def test_events_are_lines_for_people_and_objects_for_programs(demo: Swarm) -> None:
    add(demo, "first\x1b[2J")
    claimed(demo, "1")
    demo("task", "fail", "1", "--as", "w1", "--reason", "no luck")
    demo("send", "team-lead", "hi", "--summary", "short")

    lines = [line[21:] for line in demo("events").lines]
    objects = [json.loads(line) for line in demo("events", "--json").lines]
    assert lines[1:] == [
        "user added task 1: first\\x1b[2J",
        "w1 claimed task 1: first\\x1b[2J",
        "w1 ended task 1 as failed: first\\x1b[2J; no luck",
        "user sent mail: to team-lead; short",
    ]
    assert [e["event"] for e in objects][1:4] == ["task_created", "task_claimed", "task_failed"]
    assert [e["offset"] for e in objects] == sorted({e["offset"] for e in objects})
    assert objects[0]["offset"] == 0


def test_an_event_nobody_has_words_for_is_shown_all_the_same(demo: Swarm, team: Team) -> None:
    team.events.emit("moon_risen", "user", rule="Bash(ls)")

    assert demo("events").lines[-1].endswith("user moon risen: rule Bash(ls)")


def test_events_of_questions_say_who_asked_for_what_and_who_answered(demo: Swarm, team: Team) -> None:
    asked: dict[str, Any] = {"task": "7", "request": "perm-x", "number": 3, "tool": "Bash"}
    team.events.emit("permission_requested", "w1", **asked, why="No rule allows it.")
    answers: tuple[dict[str, Any], ...] = (
        {"outcome": "allow", "via": "human", "by": "user", "note": "once"},
        {"outcome": "allow", "via": "rule", "by": "team-lead"},
        {"outcome": "deny", "via": "human", "by": "user"},
        {"outcome": "deny", "via": "runtime", "by": "runtime"},
        {"outcome": "expired", "via": "runtime", "by": "runtime", "note": "nobody answered in time"},
        {"outcome": "expired", "via": "runtime", "by": "runtime", "note": STOPPED_WAITING},
        {"outcome": "new", "via": "human", "by": "user"},
    )
    for how in answers:
        team.events.emit("permission_resolved", "w1", **asked, **how)
    team.events.emit("permission_resolved", "w1", tool="Bash", outcome="deny", via="runtime")
    team.events.emit("rule_added", "w1", **asked, behavior="allow", rule="Bash(ls)", by="user")

    assert [line[21:] for line in demo("events").lines[1:]] == [
        "w1 asks for permission #3, task 7: tool Bash; No rule allows it.",
        "w1 was allowed #3 by user, task 7: tool Bash; note once",
        "w1 was allowed #3 by a rule, task 7: tool Bash",
        "w1 was denied #3 by user, task 7: tool Bash",
        "w1 was denied #3 by the runtime, task 7: tool Bash",
        "w1 got no answer to #3, task 7: tool Bash; note nobody answered in time",
        "w1 leaves #3 open, task 7: tool Bash; note the agent was stopped while it waited",
        "w1 got an answer, task 7: tool Bash",
        "w1 was denied a call by the runtime: tool Bash",
        "user added a rule for the whole team, task 7: tool Bash; behavior allow; rule Bash(ls)",
    ]


def test_events_of_one_task_or_teammate(demo: Swarm, team: Team) -> None:
    add(demo, "first")
    add(demo, "second")
    claimed(demo, "2", "w2")

    assert [line[21:] for line in demo("events", "--task", "2").lines] == [
        "user added task 2: second",
        "w2 claimed task 2: second",
    ]
    assert [line[21:] for line in demo("events", "--agent", "w2").lines] == ["w2 claimed task 2: second"]
    assert demo("events", "--agent", "w2", "--task", "1").lines == []
    assert [json.loads(line)["task"] for line in demo("events", "--task", "1", "--json").lines] == ["1"]


def test_watching_the_status_needs_a_terminal(demo: Swarm, team: Team) -> None:
    for words in (["--watch"], ["-w", "--json"]):
        ran = demo("status", *words)
        assert (ran.code, ran.out) == (2, "")
        assert "swarm events --follow" in ran.err


def test_what_cannot_be_drawn_on_is_no_terminal(
    demo: Swarm, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("swarm.cli.session.Io.is_terminal", lambda _: True)

    ran = demo("status", "--watch", TERM="dumb")

    assert (ran.code, ran.out) == (2, "")
    assert "swarm events --follow" in ran.err


def test_following_events_prints_each_once(demo: Swarm, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[Callable[[], object]] = [lambda: add(demo, "one"), lambda: None, lambda: add(demo, "two")]
    interrupted_after(monkeypatch, *steps)
    ran = demo("events", "-f", "--json")

    assert ran.code == 130
    assert [json.loads(line)["event"] for line in ran.lines] == [
        "team_created",
        "task_created",
        "task_created",
    ]


def line(kind: str, **fields: Any) -> str:
    base = {
        "session": "q7m2xk4d",
        "n": 1,
        "time": "2026-11-30T12:31:02.410Z",
        "task": "7",
        "run_id": "r.w1.1",
    }
    return json.dumps({"type": kind, **base, **fields}) + "\n"


def said(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


TRANSCRIPT = [
    line("start", cause="claim", model="scripted"),
    line("user", message=said("user", {"type": "text", "text": "\n".join(f"line {n}" for n in range(9))})),
    line(
        "assistant",
        message=said(
            "assistant",
            {"type": "text", "text": "Looking\x1b[2J\nfirst."},
            {
                "type": "tool_use",
                "id": "t1",
                "name": "Bash",
                "input": {"command": "pytest -q\n && true", "timeout": 3},
            },
            {"type": "tool_use", "id": "t2", "name": "Odd", "input": {"x": 1}},
            {"type": "tool_use", "id": "t3", "name": "Bare", "input": {}},
        ),
    ),
    line("result", block={"tool_use_id": "t1", "content": "----\n4\tpassed\nin 1s"}, elapsed_seconds=6.61),
    line(
        "result",
        block={"tool_use_id": "t2", "content": [{"type": "text", "text": "no"}], "is_error": True},
        elapsed_seconds=0,
    ),
    line("result", block={"tool_use_id": "t9", "content": ""}, elapsed_seconds=0),
    "rubbish\n",
    line("result"),
    line("unheard_of"),
    line("paint"),
    line("note", what="verify_failed", text="exit 1"),
    line("end", why="end_turn", outcome="completed"),
]
SHOWN = [
    "== task 7, session q7m2xk4d (claim, model scripted)",
    *(f"> line {number}" for number in range(6)),
    "> ... 3 more lines",
    "Looking\\x1b[2J",
    "first.",
    "* Bash pytest -q\\n && true",
    '* Odd {"x": 1}',
    "* Bare",
    "  Bash: 4 passed (+2 lines) [6.6s]",
    "  Odd failed: no [0.0s]",
    "  result:  [0.0s]",
    "! verify_failed: exit 1",
    "== completed (end_turn)",
]


def test_logs_are_made_from_the_transcript(demo: Swarm, team: Team) -> None:
    """One line for a call, one for its result; damaged lines and unknown ones are passed over."""
    Path(team.layout.transcript("w1")).write_text("".join(TRANSCRIPT))
    lines = demo("logs", "w1").lines

    assert [text[21:] for text in lines] == SHOWN
    assert all(text.isprintable() for text in lines)


def test_logs_fall_back_to_the_output(demo: Swarm, team: Team) -> None:
    Path(team.layout.log("w1")).write_bytes(b"one \x1b[31m\xff\ntwo\n")

    assert demo("logs", "w1").lines == ["one \\x1b[31m\ufffd", "two"]


def test_logs_of_one_who_said_nothing(demo: Swarm, team: Team) -> None:
    ran = demo("logs", "w1")

    assert (ran.code, ran.out, ran.err) == (0, "", "w1 has said nothing yet\n")
    assert demo("logs", "nobody").code == 3
    assert demo("logs", "../../x").code == 3


def test_following_logs_prints_each_line_once(
    demo: Swarm, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(team.layout.transcript("w1"))
    path.write_text(TRANSCRIPT[0])

    def more() -> None:
        with path.open("a") as file:
            file.write(TRANSCRIPT[-1])

    interrupted_after(monkeypatch, more, lambda: None)
    ran = demo("logs", "w1", "-f")

    assert [text[21:] for text in ran.lines] == [SHOWN[0], SHOWN[-1]]
