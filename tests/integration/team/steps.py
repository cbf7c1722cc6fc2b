"""Tasks for a team of two, and what it told its leader."""

from __future__ import annotations

from swarm.core.message import parse_control
from tests.support.live_team import LiveTeam

W1, W2 = {"name": "w1"}, {"name": "w2"}
EDIT = {"file_path": "api.py", "old_string": "old", "new_string": "new"}


def calls(tool: str, **given) -> dict:
    """A turn with this one call."""
    return {"calls": [{tool: given}]}


WAITS_FOR_GO = [
    calls("Bash", command="touch began; while [ ! -e go ]; do sleep 0.05; done"),
    {"say": "Done."},
]
NEVER_ENDS = [calls("Bash", command="touch began; sleep 60"), {"say": "Done."}]


def says(text: str) -> list[dict]:
    return [{"say": text}]


def task(key: str, *after: str, script=None, **facts) -> dict:
    turns = script or says(f"{key} is done.")
    return {"key": key, "subject": f"Task {key}", "blocked_by": list(after), "script": turns} | facts


def controls(team: LiveTeam, sender: str) -> list[dict]:
    """What this teammate told the leader, in the order of arrival."""
    parsed = [parse_control(mail.text) for mail in team.mail() if mail.sender == sender]
    return [one for one in parsed if one is not None]


def kinds(team: LiveTeam, sender: str) -> list[str]:
    return [one["type"] for one in controls(team, sender)]


def reports_of(team: LiveTeam, sender: str) -> list[dict]:
    return [one for one in controls(team, sender) if one["type"] == "swarm.task_report"]


def state(team: LiveTeam, name: str) -> tuple:
    record = team.team.agents.load(name)
    return (record.state, record.reason, record.task) if record else ()
