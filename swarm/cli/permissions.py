"""`swarm permissions`, `approve` and `deny`: the questions of a team, and a person's answers to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from swarm.cli.alert import Alert
from swarm.cli.answer_desk import told
from swarm.cli.asked import (
    answered_line,
    answered_object,
    open_line,
    print_answered,
    print_question,
    question_object,
)
from swarm.cli.question import reference
from swarm.cli.session import Io, only_for_people, team_to_change, the_team
from swarm.core.permission import Resolution
from swarm.errors import ConfigError, NotFoundError, SwarmError
from swarm.leader.questions import Answer, Question, answer, open_questions
from swarm.storage.leadership import leader_state
from swarm.storage.questions import asker_of
from swarm.storage.team import Team


def permissions(args: Mapping[str, Any], io: Io) -> int:
    """Show the open questions, or one of them in full; nothing is changed by looking."""
    team = the_team(args, io)
    which = f" -t {team.name}" if args["team"] is not None else ""
    if args["ref"] is not None:
        if args["follow"] or args["all"]:
            raise ConfigError("give a question, or --follow or --all, not both", code="bad_usage")
        _show_one(team, args["ref"], io, which)
        return 0
    if args["follow"]:
        from swarm.cli.follow import follow

        with Alert(io.err, io.environ, io.note) as alert:
            print_new = _follower(team, io, alert, which, answered=args["all"])
            return follow(team, io, [team.layout.events], print_new, _end_of_run(team))
    questions = open_questions(team)
    resolved = team.permissions.list_resolved() if args["all"] else None
    if io.json:
        io.print_json(_as_object(team, questions, resolved))
        return 0
    for one in resolved or ():
        io.print(answered_line(one, io))
    for question in questions:
        io.print(open_line(question, io))
    _tell_how_to_go_on(questions, io, which)
    return 0


def approve(args: Mapping[str, Any], io: Io) -> int:
    """Allow what was asked for; the exit code is that of the first question that could not be answered."""
    return _answer_all(args, io, "allow", always=args["always"])


def deny(args: Mapping[str, Any], io: Io) -> int:
    """Refuse what was asked for; the exit code likewise."""
    return _answer_all(args, io, "deny", always=False)


def _answer_all(args: Mapping[str, Any], io: Io, outcome: Answer, *, always: bool) -> int:
    only_for_people(io, "answer questions")
    team = team_to_change(args, io)
    only_for_people(io, "answer questions", team)
    refs = tuple(dict.fromkeys(args["refs"]))
    if not refs:
        where = f"swarm permissions -t {team.name}"
        raise ConfigError(f"which question? give its number; {where} lists them", code="bad_usage")
    _all_known(team, refs, args["note"])
    done: list[tuple[str, Resolution | SwarmError]] = []
    for ref in refs:
        try:
            done.append((ref, answer(team, ref, outcome, note=args["note"], always=always)))
        except SwarmError as error:
            if len(refs) == 1:
                raise
            done.append((ref, error))
    if io.json:
        io.print_json({"team": team.name, "results": [_result_object(*one) for one in done]})
    else:
        _print_results(done, io)
    return next((one.exit_code for _, one in done if isinstance(one, SwarmError)), 0)


def _all_known(team: Team, refs: Sequence[str], note: str | None) -> None:
    """Refuse all where one names no question: what was meant as a reason would be lost for good."""
    for ref in refs:
        try:
            team.permissions.find(ref)
        except NotFoundError as error:
            if len(refs) == 1:
                raise
            hint = "" if note is not None or ref.isdigit() else "; a reason goes behind --note"
            raise NotFoundError(
                f"nothing was answered: {error.message}{hint}", code=error.code, details=error.details
            ) from error


def _print_results(done: Iterable[tuple[str, Resolution | SwarmError]], io: Io) -> None:
    from swarm.cli.render import print_error

    for _, one in done:
        if isinstance(one, SwarmError):
            print_error(one, io)
        else:
            io.print(told(one))


def _result_object(ref: str, one: Resolution | SwarmError) -> dict[str, Any]:
    return {"ref": ref, **one.as_json()} if isinstance(one, SwarmError) else answered_object(one)


def _as_object(
    team: Team, questions: Sequence[Question], resolved: Sequence[Resolution] | None = None
) -> dict[str, Any]:
    shown: dict[str, Any] = {"team": team.name, "pending": [question_object(one) for one in questions]}
    if resolved is not None:
        shown["resolved"] = [answered_object(one) for one in resolved]
    return shown


def _show_one(team: Team, ref: str, io: Io, which: str) -> None:
    found = team.permissions.find(ref)
    if isinstance(found, Resolution):
        if io.json:
            io.print_json(_as_object(team, (), (found,)))
        else:
            print_answered(found, io)
        return
    question = Question(request=found, asker=asker_of(team, found))
    if io.json:
        io.print_json(_as_object(team, (question,)))
    else:
        print_question(question, io, which)


def _tell_how_to_go_on(questions: Sequence[Question], io: Io, which: str) -> None:
    waiting = [question for question in questions if question.asker == "alive"]
    if not questions:
        io.note("no question is open")
    elif not waiting:
        io.note("nobody waits for an answer any more: who asked is gone")
    else:
        ref = reference(waiting[0].request)
        io.note(f"swarm permissions {ref}{which} shows all of it")
        io.note(f"swarm approve {ref}{which} says yes, swarm deny {ref}{which} says no")


def _end_of_run(team: Team) -> Callable[[], bool]:
    """Return a function that tells whether nobody leads any more whom it saw lead, and nobody waits."""
    was_led = False

    def has_ended() -> bool:
        nonlocal was_led
        with suppress(SwarmError):  # what cannot be read now proves nothing
            is_led = leader_state(team) == "alive"
            was_led = was_led or is_led
            return was_led and not is_led and all(one.asker == "gone" for one in open_questions(team))
        return False

    return has_ended


def _follower(team: Team, io: Io, alert: Alert, which: str, *, answered: bool) -> Callable[[], None]:
    """Return a function that prints in full each new question, and what became of it.

    With `answered` earlier answers are printed too; a program gets answers only then.
    """
    asked: set[str] = set()
    told: set[str] = set()

    def print_new() -> None:
        questions = open_questions(team)
        alert.look(team.name, [question.request for question in questions])
        for question in questions:
            if question.request.id not in asked:
                asked.add(question.request.id)
                if io.json:
                    io.print_json(question_object(question))
                else:
                    print_question(question, io, which)
                    io.print()
        if answered or (asked - told and not io.json):
            print_answers()

    def print_answers() -> None:
        for one in team.permissions.list_resolved():
            if one.id not in told and (answered or one.id in asked):
                told.add(one.id)
                asked.add(one.id)
                if io.json:
                    io.print_json(answered_object(one))
                else:
                    io.print(answered_line(one, io))

    return print_new
