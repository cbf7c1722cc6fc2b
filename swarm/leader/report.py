"""`report.md`: what the team did, for a person; made to be pasted into a pull request as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from swarm.core.markdown import code, fenced, folded, inline, prose
from swarm.core.money import shown_usd
from swarm.core.task import Task, verified
from swarm.leader.going_on import going_on
from swarm.leader.outcome import RunResult, Spending
from swarm.leader.places import Places
from swarm.leader.report_questions import question_lines
from swarm.storage.files import encode, write_bytes
from swarm.storage.team import Team
from swarm.values import Value
from swarm.workspace.git import GitWorkspace, WorkspaceError

_ENDS = {
    "tasks_failed": "nothing that is left can be done now",
    "denied": "calls that tasks needed were denied",
    "budget_spent": "the budget was spent before all was done",
    "timed_out": "the time limit came first",
    "interrupted": "the run was interrupted",
}
_FOLD_CHARS, _FOLD_LINES = 1_000, 12
_TITLE_CHARS = 100
_POINT_CHARS = 300
_COMMIT = re.compile(r"[0-9a-f]{4,64}")
_TOTAL = re.compile(r"\d+ files? changed[a-z0-9 ,()+-]*")
_STANDS = {
    "failed": "failed",
    "cancelled": "was cancelled",
    "pending": "is pending",
    "in_progress": "is in progress",
}


class Findings(Value):
    """What the report is made of, beside the result itself. `diffstats` go by task.

    `is_repository` tells whether there is git at all.
    """

    result: RunResult
    description: str
    places: Places
    diffstats: Mapping[str, str]
    is_repository: bool


def write_report(team: Team, result: RunResult) -> None:
    """Write the report into the team's folder, over an older one."""
    write_bytes(team.layout.report, encode(render_report(_find(team, result))))


def _find(team: Team, result: RunResult) -> Findings:
    """Look into the repository; where there is none, or git does not work in it, the report says less."""
    roster = team.roster.load()
    workspace = roster.workspace or "."
    repository = GitWorkspace(workspace)
    diffstats: dict[str, str] = {}
    is_repository = False
    try:
        is_repository = repository.is_repository()
        if is_repository:
            for task in result.tasks:
                if task.result is not None and task.result.commit is not None:
                    diffstats[task.id] = repository.diffstat(task.result.commit)
    except WorkspaceError:
        pass
    return Findings(
        result=result,
        description=roster.description or "",
        places=Places.of(team.root, workspace),
        diffstats=diffstats,
        is_repository=is_repository,
    )


def render_report(findings: Findings) -> str:
    """Return the report as Markdown, in which nothing acts that others wrote. It follows from these alone."""
    findings = _at_home_everywhere(findings)
    result = findings.result
    lines = [
        f"# {_title(findings)}",
        "",
        *_paragraph(findings),
        "",
        *_table(result),
        *_to_look_at(findings),
        "",
        "## Tasks",
    ]
    for task in result.tasks:
        lines += ["", *_section(findings, task)]
    lines += [*question_lines(result.questions, findings.places), *_totals(result)]
    lines += [*_going_on(findings), *_undo(result)]
    return "\n".join(lines) + "\n"


def _at_home_everywhere(findings: Findings) -> Findings:
    """Return the findings without folders of this machine in what agents and people wrote."""
    hidden, result = findings.places.hidden, findings.result

    def known(task: Task) -> Task:
        made = task.result
        if made is not None:
            made = made.replace(
                summary=hidden(made.summary),
                files=tuple(map(hidden, made.files)),
                not_checked=tuple(map(hidden, made.not_checked)),
            )
        return task.replace(
            subject=hidden(task.subject),
            description=hidden(task.description),
            reason=None if task.reason is None else hidden(task.reason),
            verify=tuple(map(hidden, task.verify)),
            result=made,
        )

    return findings.replace(
        result=result.replace(
            tasks=tuple(map(known, result.tasks)),
            gone={name: hidden(why) for name, why in result.gone.items()},
            loose=tuple(map(hidden, result.loose)),
        ),
        description=hidden(findings.description),
    )


def describe_spending(spending: Spending) -> str:
    """Return what was spent, of how much, and what may come to it."""
    text = shown_usd(spending.micros)
    if spending.limit is not None:
        text += f" of {shown_usd(spending.limit)}"
    if spending.reserved:
        text += f"; up to {shown_usd(spending.reserved)} more for calls whose end nobody saw"
    if spending.unpriced:
        text += f"; without {spending.unpriced} calls of models whose price is not known"
    return text


# The top


def _title(findings: Findings) -> str:
    asked = " ".join(findings.description.split())
    if not asked:
        return inline(f"What team {findings.result.team} did")
    return inline(asked, at_most=_TITLE_CHARS)


def _paragraph(findings: Findings) -> Iterator[str]:
    result, asked = findings.result, findings.description.strip()
    if len(" ".join(asked.split())) > _TITLE_CHARS:
        yield from (*prose(asked), "")
    done = [task for task in result.tasks if task.status == "completed"]
    checked = sum(verified(task) for task in done)
    said = f"Team {code(result.team)}: {len(done)} of {_count(len(result.tasks), 'task')} completed"
    if done:
        said += ", all verified" if checked == len(done) else f", {checked or 'none'} of them verified"
    if result.outcome != "completed":
        said += f"; {_ENDS[result.outcome]}"
    yield f"{said}."


def _table(result: RunResult) -> Iterator[str]:
    yield "| task | | status | by | checked | commit | cost |"
    yield "| ---: | --- | --- | --- | --- | --- | ---: |"
    for task in result.tasks:
        commit = inline(task.result.commit or "", in_table=True) if task.result is not None else ""
        commit = code(commit) if _COMMIT.fullmatch(commit) else commit
        spent = result.spending.tasks.get(task.id)
        cost = "" if spent is None else f"\\{shown_usd(spent)}"
        texts = task.subject, task.owner or ""
        subject, owner = (inline(text, in_table=True, at_most=_TITLE_CHARS) for text in texts)
        cells = (task.id, subject, _status(task), owner, _checked(task), commit, cost)
        yield f"| {' | '.join(cells)} |"


def _status(task: Task) -> str:
    return (
        task.status.replace("_", " ")
        if task.status == "completed"
        else f"**{task.status.replace('_', ' ')}**"
    )


def _checked(task: Task) -> str:
    if task.status != "completed":
        return ""
    return "verified" if verified(task) else "**unverified**"


def _to_look_at(findings: Findings) -> Iterator[str]:
    """Yield what a reviewer should know before reading on; nothing where all is well."""
    result = findings.result
    points = []
    for task in result.tasks:
        if task.status != "completed":
            points.append(f"Task {task.id} {_STANDS[task.status]}{_because(task, at_most=_POINT_CHARS)}")
        elif not verified(task):
            points.append(f"Task {task.id} is unverified: no check of its own has passed")
        if task.result is not None:
            unchecked = (inline(one, at_most=_POINT_CHARS) for one in _unchecked(task))
            points += [f"Task {task.id}, not checked: {one}" for one in unchecked]
        if task.result is not None and task.result.commit in result.undone:
            points.append(f"The commit of task {task.id} is not on the branch any more")
    for name, why in result.gone.items():
        points.append(f"{code(name)} ended early: {inline(why, at_most=_POINT_CHARS)}")
    points += [f"Changed and not committed: {code(path)}" for path in result.loose]
    if points:
        yield from ("", "## To look at", "", *(f"- {point}" for point in points))


def _because(task: Task, at_most: int | None = None) -> str:
    return f": {inline(task.reason, at_most=at_most)}" if task.reason else ""


def _unchecked(task: Task) -> tuple[str, ...]:
    """Return what the agent says that nobody checked; `verify` in it only means that no check was run."""
    return tuple(one for one in task.result.not_checked if one != "verify") if task.result is not None else ()


# Tasks


def _section(findings: Findings, task: Task) -> Iterator[str]:
    yield f"### {task.id} · {inline(task.subject, at_most=_TITLE_CHARS)}"
    yield ""
    if task.result is not None:
        yield from _summary(task.result.summary)
    else:
        yield f"{task.status.replace('_', ' ').capitalize()}{_because(task) or '.'}"
    facts = [*_facts(findings, task)]
    if facts:
        yield from ("", *(f"- {fact}" for fact in facts))
    diffstat = findings.diffstats.get(task.id, "")
    if diffstat:
        total = diffstat.rsplit("\n", 1)[-1].strip()
        title = total if _TOTAL.fullmatch(total) else "What it changed"
        yield from ("", *folded(title, fenced(diffstat)))
    if task.description.strip():
        yield from ("", *folded("What was asked", prose(task.description)))


def _summary(text: str) -> Iterator[str]:
    lines = [*prose(text)]
    if len(text) <= _FOLD_CHARS and len(lines) <= _FOLD_LINES:
        yield from lines if any(lines) else ("(no summary)",)
        return
    first = " ".join(next((line for line in text.splitlines() if line.strip()), "").split())
    yield from prose(first if len(first) <= _FOLD_CHARS else f"{first[:_FOLD_CHARS].rstrip()}…")
    yield ""
    yield from folded("All that was reported", lines)


def _facts(findings: Findings, task: Task) -> Iterator[str]:
    result = task.result
    if task.verify:
        checks = ", ".join(code(command) for command in task.verify)
        yield f"{'Checked by' if verified(task) else 'Checks, not passed'}: {checks}"
    if result is not None:
        if result.files and not findings.diffstats.get(task.id):
            yield "Files: " + ", ".join(code(path) for path in result.files)
        if result.files and result.commit is None and findings.is_repository:
            yield "Not committed"
        if unchecked := _unchecked(task):
            yield "Not checked: " + "; ".join(inline(one) for one in unchecked)
    if task.attempts or task.crashes:
        yield f"Attempts that failed: {task.attempts}; deaths of its worker: {task.crashes}"


# The end


def _totals(result: RunResult) -> Iterator[str]:
    yield from ("", "## Totals", "")
    yield f"- time: {shown_duration(result.elapsed_seconds)}"
    yield f"- tokens: {result.input_tokens:,} read, {result.output_tokens:,} written"
    yield f"- cost: {inline(describe_spending(result.spending))}"
    yield f"- run {code(result.run)}, backend {result.backend}"


def shown_duration(seconds: float) -> str:
    """Return how long something took: `8.3 s`, `3 min 12 s`, `2 h 5 min`."""
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _going_on(findings: Findings) -> Iterator[str]:
    """Yield how the rest gets done, without rules that name folders of this machine."""
    hidden = findings.places.hidden
    rest = going_on(findings.result, lambda rule: hidden(rule) == rule)
    if rest is not None:
        yield from ("", "## How to go on", "", "Where it was run:", "", *fenced(" ".join(rest.words())))


def _undo(result: RunResult) -> Iterator[str]:
    """Yield how all of it goes away again, with swarm and without."""
    newest_first = sorted(result.tasks, key=lambda task: (task.updated_at, int(task.id)), reverse=True)
    found = [task.result.commit or "" for task in newest_first if task.result is not None]
    commits = dict.fromkeys(one for one in found if _COMMIT.fullmatch(one) and one not in result.undone)
    if not commits:
        return
    yield from ("", "## How to undo", "")
    yield f"Where it was run, {code(f'swarm undo -t {result.team}')} goes back to the start. Anywhere else:"
    yield from ("", *fenced(f"git revert --no-edit {' '.join(commits)}"))
    if result.loose:
        yield from ("", "Neither brings back what was changed and not committed; it is listed above.")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
