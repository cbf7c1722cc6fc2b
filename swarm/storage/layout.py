"""Where everything of a team lies: paths only, nothing is read or made here."""

from __future__ import annotations

import os
from collections.abc import Mapping

from swarm.core.identity import project_folder_name
from swarm.values import Value


def config_root(environ: Mapping[str, str]) -> str:
    """Return the root of all teams: `$CLAUDE_CONFIG_DIR`, else `.claude` in the home folder; absolute."""
    given = environ.get("CLAUDE_CONFIG_DIR") or ""
    if given:
        return os.path.abspath(given)
    home = environ.get("HOME") or os.path.expanduser("~")
    return os.path.abspath(os.path.join(home, ".claude"))


def project_dir(root: str, real_path: str) -> str:
    """Return the folder for what is kept about the project at `real_path`."""
    return f"{root}/projects/{project_folder_name(real_path)}"


class Layout(Value):
    """The folders under one root."""

    root: str

    @property
    def teams_dir(self) -> str:
        return f"{self.root}/teams"

    @property
    def tasks_root(self) -> str:
        return f"{self.root}/tasks"

    @property
    def plans_dir(self) -> str:
        return f"{self.root}/plans"

    @property
    def creation_lock(self) -> str:
        """Held while a team is made or deleted; hidden, so that no client takes it for a team."""
        return f"{self.teams_dir}/.locks/teams"

    def team(self, name: str) -> TeamLayout:
        return TeamLayout(root=self.root, team=name)


class TeamLayout(Value):
    """The files of one team. Names must have been checked: they become parts of paths as they are."""

    root: str
    team: str

    @property
    def team_dir(self) -> str:
        return f"{self.root}/teams/{self.team}"

    @property
    def config(self) -> str:
        return f"{self.team_dir}/config.json"

    @property
    def agents_dir(self) -> str:
        return f"{self.team_dir}/agents"

    def agent(self, name: str) -> str:
        return f"{self.agents_dir}/{name}.json"

    @property
    def inboxes_dir(self) -> str:
        return f"{self.team_dir}/inboxes"

    def inbox(self, name: str) -> str:
        return f"{self.inboxes_dir}/{name}.json"

    def overflow(self, name: str) -> str:
        return f"{self.inboxes_dir}/{name}.overflow.jsonl"

    @property
    def history_dir(self) -> str:
        return f"{self.team_dir}/history"

    def history(self, name: str) -> str:
        return f"{self.history_dir}/{name}.jsonl"

    @property
    def permissions_dir(self) -> str:
        return f"{self.team_dir}/permissions"

    @property
    def pending_dir(self) -> str:
        return f"{self.permissions_dir}/pending"

    @property
    def resolved_dir(self) -> str:
        return f"{self.permissions_dir}/resolved"

    @property
    def rules(self) -> str:
        return f"{self.permissions_dir}/rules.json"

    @property
    def numbers(self) -> str:
        """Who got the last number of a permission request."""
        return f"{self.permissions_dir}/numbers.json"

    @property
    def events(self) -> str:
        return f"{self.team_dir}/events.jsonl"

    @property
    def transcripts_dir(self) -> str:
        return f"{self.team_dir}/transcripts"

    def transcript(self, name: str) -> str:
        return f"{self.transcripts_dir}/{name}.jsonl"

    def tool_results(self, name: str) -> str:
        return f"{self.transcripts_dir}/{name}/tool-results"

    @property
    def logs_dir(self) -> str:
        return f"{self.team_dir}/logs"

    def log(self, name: str) -> str:
        return f"{self.logs_dir}/{name}.log"

    @property
    def team_file(self) -> str:
        return f"{self.team_dir}/team.yaml"

    @property
    def report(self) -> str:
        return f"{self.team_dir}/report.md"

    @property
    def costs(self) -> str:
        return f"{self.team_dir}/costs.jsonl"

    @property
    def locks_dir(self) -> str:
        return f"{self.team_dir}/.locks"

    def lock(self, name: str) -> str:
        return f"{self.locks_dir}/{name}"

    @property
    def spawn_dir(self) -> str:
        return f"{self.team_dir}/.spawn"

    def spawn_file(self, name: str) -> str:
        return f"{self.spawn_dir}/{name}.json"

    @property
    def tasks_link(self) -> str:
        return f"{self.team_dir}/tasks"

    @property
    def tasks_dir(self) -> str:
        return f"{self.root}/tasks/{self.team}"

    def task(self, task_id: str) -> str:
        return f"{self.tasks_dir}/{task_id}.json"

    @property
    def journal(self) -> str:
        return f"{self.tasks_dir}/.journal.jsonl"

    @property
    def highwatermark(self) -> str:
        return f"{self.tasks_dir}/.highwatermark"
