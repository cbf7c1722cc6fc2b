"""Every verb of the command line, as data: both parsers, the help pages and the completions are made from it.

Imports nothing but values, because the verbs marked `fast` are parsed from it without click.
"""

from __future__ import annotations

from swarm.cli.grammar import Option, Verb
from swarm.cli.table_file import FILE, FILE_VERBS
from swarm.cli.table_life import LIFE_VERBS
from swarm.cli.table_permissions import PERMISSION_VERBS
from swarm.cli.verb_parts import (
    AS,
    BACKEND,
    FOLLOW,
    FORMAT,
    JSON,
    MSG_ID,
    REASON,
    RULES,
    TOKEN,
    TRUST,
    choice,
    flag,
    place,
    text,
    typed,
)

STATUSES = ("pending", "in_progress", "completed", "failed", "cancelled")


_NAME = place("name", "Name of the team.")
_ID = place("id", "Number of the task.")
_IDS = place("ids", "Numbers of the tasks.", many=True)
_CLAIM_OPTIONS = (AS, TOKEN, REASON, JSON)

_RUN_VERBS = (
    Verb(
        path=("run",),
        help="Run a team file to the end, and say how each task ended.",
        handler="swarm.cli.run:run",
        positionals=(FILE,),
        options=(
            text("name", "Name of the new team; default the file's.", "NAME"),
            BACKEND,
            text("model", "Model of the teammates; default $ANTHROPIC_MODEL, then the file's.", "MODEL"),
            typed("teammates", "int", "N", "How many teammates to start."),
            text("permission_mode", "What teammates may do unasked; default the file's.", "MODE"),
            *RULES,
            TRUST,
            typed("timeout", "float", "SECONDS", "Stop when it takes longer than this."),
            typed("budget", "usd", "USD", "What it may cost in US dollars; default the file's."),
            flag("headless", "Nobody is there to ask: what needs asking is denied."),
            flag("allow_dirty", "Start although the workspace has uncommitted changes."),
            flag("resume", "Take up the run of this team if there is one."),
            JSON,
        ),
        not_built=("--detach",),
        detail=(
            "Exit code: 0 all completed; 1 a bug in swarm; 2 a wrong option or file; 4 refused, as for a "
            "name that is taken or changes that are not committed; 5 a task needed what was denied; 6 some "
            "task failed, or nobody is left who could do it; 7 the budget is spent; 75 busy, try again; 124 "
            "out of time; 130 interrupted."
        ),
    ),
    Verb(
        path=("resume",),
        help="Take up a run whose leader was killed, was interrupted, or left tasks undone.",
        handler="swarm.cli.resume:resume",
        positionals=(place("name", "Name of the team; default as for -t.", optional=True),),
        options=(
            BACKEND,
            typed("timeout", "float", "SECONDS", "Stop when it takes longer than this."),
            typed("budget", "usd", "USD", "What the team may cost in all, what is spent included."),
            *RULES,
            TRUST,
            flag("headless", "Nobody is there to ask: what needs asking is denied."),
            JSON,
        ),
        detail=(
            "Teammates that live go on, the others get their next life. What failed stays so: see "
            "swarm task retry. Rules are added to those of the team, for good; the mode stays. Without "
            "--budget the budget stays as it was. Exit code as of swarm run."
        ),
    ),
    Verb(
        path=("demo",),
        help="Watch the shipped example team do a real refactor; no model is called and no key is needed.",
        handler="swarm.cli.run:demo",
        options=(BACKEND, JSON),
    ),
)

_TEAM_VERBS = (
    Verb(
        path=("team", "create"),
        help="Make an empty team.",
        handler="swarm.cli.team:create",
        positionals=(_NAME,),
        options=(
            text("description", "What the team is for."),
            typed("workspace", "path", "DIR", "Folder that it works in; default the current one."),
            JSON,
        ),
    ),
    Verb(
        path=("team", "list"),
        help="List the teams, and whose run can be resumed.",
        handler="swarm.cli.team:list_all",
        options=(JSON,),
    ),
    Verb(
        path=("team", "show"),
        help="Show one team and its members.",
        handler="swarm.cli.team:show",
        positionals=(place("name", "Name of the team; default as for -t.", optional=True),),
        options=(JSON,),
    ),
    Verb(
        path=("team", "archive"),
        help="Put a team away, with all that it left; its name is free again.",
        handler="swarm.cli.team_end:archive",
        positionals=(_NAME,),
        options=(flag("force", "Also while tasks are in progress, or when another program made it."), JSON),
        detail="It goes to teams/.archive, as files to read. Refused while one of its teammates is alive.",
    ),
    Verb(
        path=("team", "prune"),
        help="Remove what a team needs only while it runs; tasks, results and events stay.",
        handler="swarm.cli.team_end:prune",
        positionals=(_NAME,),
        options=(flag("force", "Also while tasks are in progress, and all mail that was read."), JSON),
        detail=(
            "Removed are leftover temporary, lock and spawn files, long tool results, and mail that was read "
            "over 30 days ago. Refused while one of its teammates is alive."
        ),
    ),
    Verb(
        path=("team", "delete"),
        help="Delete a team with its tasks, mail and transcripts.",
        handler="swarm.cli.team_end:delete",
        positionals=(_NAME,),
        options=(flag("force", "Also when results would be lost, or another program made it."), JSON),
        detail="Refused while one of its teammates is alive.",
    ),
)

_TASK_READ_VERBS = (
    Verb(
        path=("task", "list"),
        help="List the tasks.",
        handler="swarm.cli.task:list_all",
        options=(
            flag("ready", "Only tasks that can be claimed now."),
            flag("blocked", "Only tasks that wait for others."),
            choice("status", "Only tasks with this status.", STATUSES),
            JSON,
        ),
        fast=True,
    ),
    Verb(
        path=("task", "show"),
        help="Show one task.",
        handler="swarm.cli.task:show",
        positionals=(_ID,),
        options=(JSON,),
        fast=True,
    ),
    Verb(
        path=("task", "graph"),
        help="Draw the tasks and what waits for what.",
        handler="swarm.cli.plan:graph",
        options=(FORMAT,),
    ),
    Verb(
        path=("task", "wait"),
        help="Wait until tasks are finished.",
        handler="swarm.cli.task_wait:wait",
        positionals=(place("ids", "Numbers of the tasks; default all.", many=True),),
        options=(typed("timeout", "float", "SECONDS", "Give up after this time."), JSON),
        detail=(
            "Exit code: 0 all completed, 3 there is none, 6 some failed, were cancelled or cannot go on, 124 "
            "out of time."
        ),
    ),
)

_TASK_EDIT_VERBS = (
    Verb(
        path=("task", "add"),
        help="Add a task.",
        handler="swarm.cli.task_edit:add",
        positionals=(place("subject", "What is to be done, in a few words."),),
        options=(
            text("description", "What is to be done, in full."),
            text("blocked_by", "Task that comes first; repeatable.", "ID", multiple=True),
            text("owner", "Who is to do it: a teammate's name, or a role such as builder.", "NAME"),
            text("verify", "Command that must pass before it is done; repeatable.", "CMD", multiple=True),
            JSON,
        ),
    ),
    Verb(
        path=("task", "edit"),
        help="Change what a task says, who is to do it or what it waits for.",
        handler="swarm.cli.task_edit:edit",
        positionals=(_ID,),
        options=(
            text("subject", "New subject."),
            text("description", "New description."),
            text("owner", "Who is to do it: a name or a role; an empty text lifts it.", "NAME"),
            text("verify", "New verify commands, in place of the old; repeatable.", "CMD", multiple=True),
            text("add_blocked_by", "Task that comes first; repeatable.", "ID", multiple=True),
            text("remove_blocked_by", "Task to wait for no longer; repeatable.", "ID", multiple=True),
            JSON,
        ),
        detail="The status changes only through the verbs for it.",
    ),
)

_TASK_LIFE_VERBS = (
    Verb(
        path=("task", "claim"),
        help="Take a task; without a number the first that can be had.",
        handler="swarm.cli.task:claim",
        positionals=(place("id", "Number of the task.", optional=True),),
        options=(AS, JSON),
        fast=True,
    ),
    Verb(
        path=("task", "complete"),
        help="Finish a task that you claimed; its verify commands run first.",
        handler="swarm.cli.task:complete",
        positionals=(_ID,),
        options=(
            AS,
            TOKEN,
            text("result", "What was done, for those who build on it."),
            flag("unverified", "Skip the verify commands; the task is marked as not verified."),
            JSON,
        ),
        fast=True,
    ),
    Verb(
        path=("task", "fail"),
        help="End a task that you claimed as failed.",
        handler="swarm.cli.task_end:fail",
        positionals=(_ID,),
        options=_CLAIM_OPTIONS,
    ),
    Verb(
        path=("task", "release"),
        help="Give a task that you claimed back to the others.",
        handler="swarm.cli.task_end:release",
        positionals=(_ID,),
        options=_CLAIM_OPTIONS,
    ),
    Verb(
        path=("task", "cancel"),
        help="Take a task off the plan; what waits for it goes on waiting.",
        handler="swarm.cli.task_end:cancel",
        positionals=(_ID,),
        options=(REASON, JSON),
    ),
    Verb(
        path=("task", "retry"),
        help="Make failed or cancelled tasks pending again.",
        handler="swarm.cli.task_end:retry",
        positionals=(_IDS,),
        options=(JSON,),
        detail="All of them are looked at before any is changed. Nothing is begun by it: see swarm resume.",
    ),
    Verb(
        path=("task", "delete"),
        help="Delete a task that nothing depends on.",
        handler="swarm.cli.task_end:delete",
        positionals=(_ID,),
        options=(JSON,),
    ),
)

_TALK_VERBS = (
    Verb(
        path=("send",),
        help="Send a message to a teammate, to team-lead, or to everybody (*).",
        handler="swarm.cli.mail:send",
        positionals=(
            place("to", "Name of the recipient; * for all."),
            place("text", "The message; - reads it from stdin."),
        ),
        options=(AS, text("summary", "The message in a few words, for lists."), MSG_ID, JSON),
        detail="It comes from the member that --as names, and from a person as `user`.",
        fast=True,
    ),
    Verb(
        path=("mail",),
        help="Read somebody's mail; nothing is marked as read by it.",
        handler="swarm.cli.mail:mail",
        positionals=(place("name", "Name of the teammate, or team-lead."),),
        options=(
            flag("unread", "Only mail that waits to be read (the default)."),
            flag("all", "Also mail that was read."),
            FOLLOW,
            JSON,
        ),
        fast=True,
    ),
)

_WATCH_VERBS = (
    Verb(
        path=("status",),
        help="Show who does what, and how far the tasks are.",
        handler="swarm.cli.status:status",
        options=(
            Option(
                name="watch", flags=("-w", "--watch"), help="Draw it anew each second, until interrupted."
            ),
            JSON,
        ),
        fast=True,
    ),
    Verb(
        path=("logs",),
        help="Read what a teammate said and did.",
        handler="swarm.cli.logs:logs",
        positionals=(place("name", "Name of the teammate."),),
        options=(FOLLOW,),
    ),
    Verb(
        path=("events",),
        help="Read what happened in the team, oldest first.",
        handler="swarm.cli.events:events",
        options=(
            text("task", "Only what happened to this task.", "ID"),
            text("agent", "Only what this teammate did, or team-lead.", "NAME"),
            FOLLOW,
            JSON,
        ),
    ),
    Verb(
        path=("cost",),
        help="Show what the calls of the team have cost, by teammate and by task.",
        handler="swarm.cli.cost:cost",
        options=(JSON,),
    ),
    Verb(
        path=("doctor",),
        help="Check the installation and what is on disk; mend what can be mended.",
        handler="swarm.cli.doctor:doctor",
        options=(flag("fix", "Mend it; what is damaged or odd is set aside, never removed."), JSON),
        detail=(
            "All teams are looked at, or with -t one. Without --fix nothing is written. "
            "Exit code: 0 nothing is wrong any more, 4 something is."
        ),
    ),
    Verb(
        path=("completion",),
        help="Print a completion script for a shell.",
        handler="swarm.cli.completion:completion",
        positionals=(place("shell", "bash, zsh or fish."),),
        detail='For bash: eval "$(swarm completion bash)"',
    ),
)

VERBS = (
    *_RUN_VERBS,
    *FILE_VERBS,
    *_TEAM_VERBS,
    *_TASK_READ_VERBS,
    *_TASK_EDIT_VERBS,
    *_TASK_LIFE_VERBS,
    *_TALK_VERBS,
    *PERMISSION_VERBS,
    *LIFE_VERBS,
    *_WATCH_VERBS,
)
"""All verbs, in the order of the help page."""

GROUPS = {
    "team": "Make, list, show, archive, prune and delete teams.",
    "task": "Add, list, claim, finish and edit tasks.",
}
"""First words that are followed by a verb, and what they are about."""

_NOT_BUILT_WORDS = "lead top"
NOT_BUILT = tuple((word,) for word in _NOT_BUILT_WORDS.split())
"""Verbs that are known, and refused by name."""


def find_verb(path: tuple[str, ...]) -> Verb | None:
    for verb in VERBS:
        if verb.path == path:
            return verb
    return None
