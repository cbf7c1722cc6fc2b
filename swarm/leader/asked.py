"""What a run does about the questions of its teammates: those that nobody waits for, and those foreseen."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from swarm.core.identity import LEADER
from swarm.core.permission import PermissionRequest
from swarm.errors import StateError, SwarmError
from swarm.leader.questions import answer, close_stale, open_questions
from swarm.permissions.asked import speaks_of
from swarm.permissions.rules import Rule, parse_rule
from swarm.storage.team import Team
from swarm.teamfile.model import Answer

logger = logging.getLogger(__name__)

_SOURCE = "team file"
_MAY_PASS = ("io_error", "busy")
"""Errors after which the next look tries again."""


class AskedOfTheRun:
    """Looks at the open questions; those that the team file has no answer for wait for a person."""

    def __init__(self, team: Team, answers: Sequence[Answer], workspace: str, home: str) -> None:
        self._team = team
        self._answers = [(parse_rule(one.match, one.answer, _SOURCE), one) for one in answers]
        self._workspace = workspace
        self._home = home
        self._refused: set[str] = set()

    def look(self) -> bool:
        """Close what is stale, answer what the team file answers, and tell whether a question is open."""
        try:
            close_stale(self._team)
            left = [question.request for question in open_questions(self._team)]
            waiting = [request for request in left if not self._answer(request)]
        except StateError as error:  # the next look may do better
            logger.warning("questions not read", extra={"swarm_error": str(error)})
            return True
        return bool(waiting)

    def _answer(self, request: PermissionRequest) -> bool:
        """Tell whether the question is answered, by whomever."""
        fitting = next((one for rule, one in self._answers if self._fits(rule, request)), None)
        if fitting is None or request.id in self._refused:
            return False
        try:
            answer(self._team, request.id, fitting.answer, by=LEADER, via="rule", note=fitting.note)
        except SwarmError as error:
            if error.code == "already_resolved":
                return True
            if error.code not in _MAY_PASS:
                self._refused.add(request.id)
            logger.warning("question not answered", extra={"swarm_error": str(error)})
            return False
        return True

    def _fits(self, rule: Rule, request: PermissionRequest) -> bool:
        return speaks_of(
            rule, request.tool, request.input, request.cwd, workspace=self._workspace, home=self._home
        )
