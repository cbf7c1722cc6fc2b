from __future__ import annotations

from pathlib import Path

from swarm.storage.layout import Layout, config_root, project_dir


def test_root_is_the_given_folder_made_absolute(monkeypatch, tmp_path: Path) -> None:
    """A worker may run in another folder than the one in which the root was given."""
    monkeypatch.chdir(tmp_path)
    assert config_root({"CLAUDE_CONFIG_DIR": "conf", "HOME": "/home/me"}) == f"{tmp_path}/conf"


def test_root_defaults_to_the_home_folder() -> None:
    assert config_root({"HOME": "/home/me"}) == "/home/me/.claude"
    assert config_root({"HOME": "/home/me", "CLAUDE_CONFIG_DIR": ""}) == "/home/me/.claude"
    assert config_root({}).endswith("/.claude")


def test_everything_of_a_team_is_where_the_documentation_says() -> None:
    team = Layout(root="/r").team("demo")
    assert team.config == "/r/teams/demo/config.json"
    assert team.agent("w1") == "/r/teams/demo/agents/w1.json"
    assert team.inbox("w1") == "/r/teams/demo/inboxes/w1.json"
    assert team.overflow("w1") == "/r/teams/demo/inboxes/w1.overflow.jsonl"
    assert team.history("w1") == "/r/teams/demo/history/w1.jsonl"
    assert team.pending_dir == "/r/teams/demo/permissions/pending"
    assert team.resolved_dir == "/r/teams/demo/permissions/resolved"
    assert team.rules == "/r/teams/demo/permissions/rules.json"
    assert team.events == "/r/teams/demo/events.jsonl"
    assert team.transcript("w1") == "/r/teams/demo/transcripts/w1.jsonl"
    assert team.tool_results("w1") == "/r/teams/demo/transcripts/w1/tool-results"
    assert team.log("w1") == "/r/teams/demo/logs/w1.log"
    assert team.team_file == "/r/teams/demo/team.yaml"
    assert team.report == "/r/teams/demo/report.md"
    assert team.costs == "/r/teams/demo/costs.jsonl"
    assert team.lock("tasks") == "/r/teams/demo/.locks/tasks"
    assert team.spawn_dir == "/r/teams/demo/.spawn"
    assert team.tasks_link == "/r/teams/demo/tasks"
    assert team.task("7") == "/r/tasks/demo/7.json"
    assert team.journal == "/r/tasks/demo/.journal.jsonl"
    assert team.highwatermark == "/r/tasks/demo/.highwatermark"


def test_project_folder_lies_under_the_root() -> None:
    assert project_dir("/r", "/srv/app").startswith("/r/projects/srv-app-")
