"""What a teammate's commands see of the environment: what is listed passes, and nothing else."""

from __future__ import annotations

import pytest

from swarm.workspace.environment import child_environment, told_environment


def child(environ, task="7", root="/r"):
    return child_environment(environ, root=root, team="demo", agent="w1", run_id="k3v9qd7m.w1.1", task=task)


def test_a_child_knows_its_team_agent_life_and_task():
    """So that `swarm` in a command needs no options, and everything it starts can be found."""
    assert child({}) == {
        "CLAUDE_CONFIG_DIR": "/r",
        "SWARM_TEAM": "demo",
        "SWARM_AGENT": "w1",
        "SWARM_RUN_ID": "k3v9qd7m.w1.1",
        "SWARM_TASK": "7",
    }


def test_without_a_task_there_is_no_task_variable():
    """Nor an inherited one: a nested run must not speak of the outer task."""
    assert "SWARM_TASK" not in child({"SWARM_TASK": "3"}, task=None)


def test_the_root_is_absolute(monkeypatch, tmp_path):
    """A command may run in another folder."""
    monkeypatch.chdir(tmp_path)

    assert child({}, root="conf")["CLAUDE_CONFIG_DIR"] == f"{tmp_path}/conf"


@pytest.mark.parametrize(
    "name",
    "PATH HOME USER LOGNAME SHELL TERM COLORTERM LANG LC_ALL LC_CTYPE TZ TMPDIR SSL_CERT_FILE SSL_CERT_DIR "
    "http_proxy HTTPS_PROXY no_proxy ALL_PROXY".split(),
)
def test_what_programs_need_passes(name):
    assert child({name: "x"})[name] == "x"


@pytest.mark.parametrize(
    "name",
    "ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_MODEL SWARM_SPAWN_FILE TMUX TMUX_PANE GITHUB_TOKEN "
    "AWS_SECRET_ACCESS_KEY GIT_DIR PYTHONPATH BASH_ENV ENV LD_PRELOAD SSH_AUTH_SOCK SWARM_BACKEND".split(),
)
def test_secrets_and_surprises_stay_behind(name):
    """What is not on the list is not passed; these are the ones that would hurt."""
    assert name not in child({name: "x"})


def test_our_own_values_cannot_be_inherited():
    """A worker started inside another worker's command is itself."""
    names = ("SWARM_AGENT", "SWARM_TEAM", "SWARM_RUN_ID", "SWARM_TASK", "CLAUDE_CONFIG_DIR")
    inherited = dict.fromkeys(names, "/elsewhere")

    assert child(inherited) == child({})


def test_a_teammate_is_told_what_its_commands_get_and_the_keys_of_the_model():
    """Nothing else of the leader's environment is written to a file."""
    told = told_environment({"PATH": "/bin", "LC_ALL": "C", "ANTHROPIC_API_KEY": "k", "GITHUB_TOKEN": "t"})

    assert told == {"PATH": "/bin", "LC_ALL": "C", "ANTHROPIC_API_KEY": "k"}
